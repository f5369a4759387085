/* The sections and the tables of popliner/report.h: a function for each.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_TABLES_SECTIONS_H
#define PL_TABLES_SECTIONS_H

#include "base/sheet.h"
#include "diagnosis/diagnosis.h"
#include "memory/stage.h"
#include "popliner/certificate.h"
#include "popliner/diagnosis.h"
#include "popliner/error.h"
#include "popliner/report.h"
#include "profile/debug_info.h"
#include "profile/profile_data.h"

/* The sources of the sections. */
typedef struct pl_section_source {
    const popliner_profile *profile;
    const pl_chain *chain;
    pl_stage_meter *meter; /* of the chain */
    const uint32_t
        *operation_of;         /* [programs]: the first, or PL_NONE; for those of programs only */
    const pl_debug_info *info; /* NULL: there is no debug information */
    const pl_sharing *pairs;   /* for PAIRS only */
    const struct pl_diagnosis *diagnosis;     /* for DIAGNOSIS and MISSING only */
    const struct pl_certificate *certificate; /* for PLAN only */
    const popliner_listener *listener;
    pl_arrays *arrays; /* own what a section needs while it is written */
} pl_section_source;

/* Names the columns of a sheet, which has begun, and writes all rows. Errors: MEMORY; USAGE if the
 * variables are not loaded. */
typedef popliner_status pl_section_writer(const pl_section_source *source, pl_sheet *sheet,
                                          popliner_error *error);

pl_section_writer pl_section_summary;
pl_section_writer pl_section_plan;
pl_section_writer pl_section_tiles;
pl_section_writer pl_section_categories;
pl_section_writer pl_section_liveness;
pl_section_writer pl_section_variables;
pl_section_writer pl_section_operations;
pl_section_writer pl_section_programs;
pl_section_writer pl_section_layers;
pl_section_writer pl_section_pairs;
pl_section_writer pl_section_execution;
pl_section_writer pl_section_checks;
pl_section_writer pl_section_vertices;
pl_section_writer pl_section_exchanges;
pl_section_writer pl_section_advice;
pl_section_writer pl_section_diagnosis;
pl_section_writer pl_section_missing;
pl_section_writer pl_section_addresses;

/* Sums of the executions, for pages, which have no long tables: PL_SECTION_EXECUTION_SUMS. */
pl_section_writer pl_section_execution_sums;

/* Returns the label of an operation's unit; NULL for SIZE_MAX. */
const char *pl_section_unit(const pl_section_source *source, size_t operation);

/* Returns "measured", "estimated", "exchanges" or "none". */
const char *pl_cycles_source_name(popliner_cycles_source source);

/* ---- The tables of popliner_report_table ---- */

/* Appends a table whose columns a delimiter separates. Errors: MEMORY. */
typedef popliner_status pl_table_writer(const pl_section_source *source, char delimiter,
                                        pl_text *text, popliner_error *error);

pl_table_writer pl_report_memory_totals;
pl_table_writer pl_report_operations;
pl_table_writer pl_report_layers;
pl_table_writer pl_report_affinity;
pl_table_writer pl_report_communication;

/* ---- Bytes by tile ---- */

/* Returns the tile with most live memory in the compiler's account, the first of equals.
 * O(tiles). */
size_t pl_tiles_largest(const popliner_profile *profile);

/* Returns the bytes of always-live variables of a tile, or of POPLINER_ALL_TILES, that are marked
 * in `selection` (NULL: all). O(variables). */
uint64_t pl_tiles_always_live(const popliner_profile *profile, size_t tile,
                              const uint8_t *selection);

#endif
