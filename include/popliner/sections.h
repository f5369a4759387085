/* popliner: what is known of a profile, and of a plan, as plain tables for other programs.
 *
 * A section is one table: each row has a value for each column, and the columns are the same for
 * every profile, but that TILES has one for each category of memory. docs/sections.md describes
 * them; docs/sections.schema.json is the schema of their JSON.
 *
 * Threads: like the functions of popliner/analysis.h: while one thread works with an analysis,
 * others wait.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef POPLINER_SECTIONS_H
#define POPLINER_SECTIONS_H

#include "popliner/analysis.h"
#include "popliner/certificate.h"
#include "popliner/chain.h"
#include "popliner/error.h"
#include "popliner/report.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum popliner_section {
    POPLINER_SECTION_SUMMARY,    /* versions, device, counts, options of the engine */
    POPLINER_SECTION_PLAN,       /* a row for each stage of a certificate */
    POPLINER_SECTION_TILES,      /* each tile, with the bytes of each category */
    POPLINER_SECTION_CATEGORIES, /* each category of memory */
    POPLINER_SECTION_LIVENESS,   /* each liveness step */
    POPLINER_SECTION_VARIABLES,  /* each unlowered variable, by category */
    POPLINER_SECTION_OPERATIONS, /* each operation */
    POPLINER_SECTION_PROGRAMS,   /* each program, with its parent */
    POPLINER_SECTION_LAYERS,     /* each unit of the chain */
    POPLINER_SECTION_PAIRS,      /* each two layers */
    POPLINER_SECTION_EXECUTION,  /* each executed step, on each IPU; none if nothing ran */
    POPLINER_SECTION_CHECKS,     /* each relation that is checked */
    POPLINER_SECTION_VERTICES,   /* each vertex type */
    POPLINER_SECTION_EXCHANGES,  /* each program that exchanges */
    POPLINER_SECTION_ADVICE,     /* what stands out in memory, each with its figures */
    POPLINER_SECTION_DIAGNOSIS,  /* what the analysis explains, see popliner/diagnosis.h */
    POPLINER_SECTION_MISSING,    /* what it does not, and why */
    POPLINER_NUM_SECTIONS,
} popliner_section;

/* "summary", "plan", ...; NULL for one that there is not. */
const char *popliner_section_name(popliner_section section);

/* Makes the text of a section, complete with its last line end, which the caller frees with free():
 * as CSV by RFC 4180, as TSV, or as JSON with an object for each row. `certificate` is that of
 * PLAN, and must be one of `analysis`; for the others it may be NULL. `model` says which operations
 * are in which unit: of LIVENESS, VARIABLES, OPERATIONS, PROGRAMS, LAYERS, EXECUTION, EXCHANGES and
 * ADVICE; DIAGNOSIS and MISSING are of it. What a loaded analysis lacks is loaded. Errors: USAGE
 * for a section, format or model that there is not, or for PLAN without a certificate of a profile;
 * INPUT when a file that was loaded is damaged; MEMORY. Cost: for OPERATIONS and LAYERS a stage is
 * measured for each row; PAIRS are measured once, as is what DIAGNOSIS and MISSING share; the
 * others are a few passes over what they show, LIVENESS and VARIABLES over the lowered
 * variables. */
popliner_status popliner_section_text(popliner_analysis *analysis, popliner_section section,
                                      popliner_memory_model model,
                                      const popliner_certificate *certificate,
                                      popliner_format format, char **text, popliner_error *error);

#ifdef __cplusplus
}
#endif

#endif
