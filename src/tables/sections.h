/* The sections of popliner/report.h: a function for each.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_TABLES_SECTIONS_H
#define PL_TABLES_SECTIONS_H

#include "base/sheet.h"
#include "memory/stage.h"
#include "popliner/certificate.h"
#include "popliner/diagnosis.h"
#include "popliner/error.h"
#include "popliner/report.h"
#include "profile/debug_info.h"

/* The sources of the sections. */
typedef struct pl_section_source {
    const popliner_profile *profile;
    const popliner_operations *operations;
    const popliner_layers *layers;
    const popliner_chain *chain;
    pl_stage_meter *meter;        /* of the chain */
    const pl_debug_info *info;    /* NULL: there is no debug information */
    const popliner_check *checks; /* [num_checks] */
    size_t num_checks;
    const popliner_layer_pairs *pairs;        /* for PAIRS only */
    const struct pl_diagnosis *diagnosis;     /* for DIAGNOSIS and MISSING only */
    const struct pl_certificate *certificate; /* for PLAN only */
    const popliner_listener *listener;
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

/* Returns the first operation of each program, or PL_NONE: [programs]. The caller frees it; NULL
 * when memory is short. */
uint32_t *pl_section_operations_of(const pl_section_source *source);

/* Returns the label of an operation's unit; NULL for SIZE_MAX. */
const char *pl_section_unit(const pl_section_source *source, size_t operation);

#endif
