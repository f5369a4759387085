/* popliner: results as text, in the formats of PopLiner 1.0.0.
 *
 * Every function makes one NUL-terminated UTF-8 text, complete with its last line end, which the
 * caller frees with free(); *text is NULL after an error. Columns are separated by tabs or commas;
 * nothing is quoted, as in the original. Errors: MEMORY.
 *
 * Threads: like the functions of popliner/analysis.h: while one thread works with an analysis,
 * others wait.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef POPLINER_REPORT_H
#define POPLINER_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "popliner/analysis.h"
#include "popliner/certificate.h"
#include "popliner/diagnosis.h"
#include "popliner/error.h"
#include "popliner/operations.h"
#include "popliner/replicas.h"
#include "popliner/solver.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How a report looks. */
typedef enum popliner_format {
    POPLINER_FORMAT_TSV,
    POPLINER_FORMAT_CSV,
    POPLINER_FORMAT_JSON,
} popliner_format;

/* The tables of an analysis. All but the second are in TSV or CSV alone. */
typedef enum popliner_table {
    /* The total of all operations as one stage in PopLiner's memory model, then what the compiler
     * counts as always live and not always live on the first ten tiles. */
    POPLINER_TABLE_MEMORY_TOTALS,
    /* The compiler's account of every tile: what is always live, the most that is live beside it,
     * the addresses in use, what the layout leaves unused between them, and the bytes of each
     * category. First each of these with its smallest, mean and largest value and its sum over the
     * tiles, then the ten tiles with most live memory, then all tiles. In every format. */
    POPLINER_TABLE_TILES,
    /* One row per operation, an empty line before each change of layer. Sums over the tiles,
     * measured once per debug context: an outlined operation shows those of its first listing. In
     * the full memory model with one column more: the label of the unit that counts the operation,
     * which for one in no layer, or in a guessed one, tells where it was placed. */
    POPLINER_TABLE_OPERATIONS,
    /* One row per unit of the chain, and an empty line behind them. In the full memory model with
     * one column more: what no operation explains. */
    POPLINER_TABLE_LAYERS,
    /* Each one of the two tables of popliner_layer_pairs, with the names of the layers. */
    POPLINER_TABLE_AFFINITY,
    POPLINER_TABLE_COMMUNICATION,
} popliner_table;

/* Makes one table. `model` is that of operations and layers; the other tables do not look at it.
 * What a loaded analysis lacks is loaded. Errors: also USAGE for a table or format that there is
 * not, or a format that the table does not have; those of popliner_analysis_chain. Cost: a stage is
 * measured for each row of operations and layers; pairs of layers are measured for the first of
 * their tables. */
popliner_status popliner_report_table(popliner_analysis *analysis, popliner_table table,
                                      popliner_memory_model model, popliner_format format,
                                      char **text, popliner_error *error);

/* The stages of a certificate against the limits that it was made for: total, worst tile, the step
 * of its peak, headroom, and the five largest variables there; of stages that share an IPU, what
 * all of them need there together. As text for reading, or as a JSON array. With a device map the
 * IPU of each stage is told. Errors: also USAGE for a certificate that is of no profile. */
popliner_status popliner_report_evaluation(const popliner_certificate *certificate,
                                           popliner_format format, char **text,
                                           popliner_error *error);

/* A diagnosis as text for reading, or as a JSON object. `max_rows` is how many missing variables
 * are listed at each place, and how many parts of each; in text also how many programs, which JSON
 * lists all. */
popliner_status popliner_report_diagnosis(const popliner_diagnosis *diagnosis,
                                          popliner_format format, size_t max_rows, char **text,
                                          popliner_error *error);

/* The best splits for several values of something. Begin with POPLINER_SWEEP_INIT. */
typedef struct popliner_sweep {
    size_t struct_size;
    const char *what; /* that has these values: the head of their column */
    const uint64_t *values;
    const popliner_plan *const *plans; /* one for each value */
    size_t num_values;
} popliner_sweep;

#define POPLINER_SWEEP_INIT                                                                        \
    { sizeof(popliner_sweep), NULL, NULL, NULL, 0 }

/* A row or an object for each value, with status, objectives and their bounds, IPUs used, and
 * split. `names` tells how units and numbers are called; its plan is not looked at. Errors: also
 * USAGE (struct_size). */
popliner_status popliner_report_sweep(const popliner_sweep *sweep,
                                      const popliner_certificate_input *names,
                                      popliner_format format, char **text, popliner_error *error);

/* A row or an object for each point, with status, objectives and their bounds, IPUs used, and
 * split; as JSON also which two objectives these are of, and whether the points are all. `names`
 * as for a sweep, with the objectives that were asked for. Errors: also USAGE (struct_size). */
popliner_status popliner_report_pareto(const popliner_pareto *pareto,
                                       const popliner_certificate_input *names,
                                       popliner_format format, char **text, popliner_error *error);

/* A row or an object for each number of stages: the best number of replicas with its times,
 * throughput (micro-batches in a unit of time) and split. `names` as above. Errors: USAGE,
 * MEMORY. */
popliner_status popliner_report_replicas(const popliner_replicas *replicas,
                                         const popliner_certificate_input *names,
                                         popliner_format format, char **text,
                                         popliner_error *error);

/* One split of several profiles of a model, as of its training and its inference. Begin with
 * POPLINER_TOGETHER_INIT. */
typedef struct popliner_together {
    size_t struct_size;
    const char *const *names; /* [num_reports]: what each is called */
    const bool *are_training; /* [num_reports]: as popliner_analysis_is_training tells */
    /* [num_reports]: of popliner_analysis_evaluate, of the same cuts, and with the same limits.
     * NULL where there is no split. */
    const popliner_certificate *const *evaluations;
    size_t num_reports;
    /* [num_stages]: the first and the last unit of each stage. A report may lack units that are no
     * layers, such as a tail, and so have others. */
    const char *const *first_units;
    const char *const *last_units;
    size_t num_stages;                  /* 0 where there is no split */
    const popliner_certificate *answer; /* of solving for all of them; NULL: the split was given */
} popliner_together;

#define POPLINER_TOGETHER_INIT                                                                     \
    { sizeof(popliner_together), NULL, NULL, NULL, 0, NULL, NULL, 0, NULL }

/* A row for each stage: its limit, what its largest tile needs in each report, and whether that
 * fits. As JSON one object, as docs/reports.schema.json describes it: also each report's stages as
 * popliner_report_evaluation has them, and the answer. The caller frees *text. Errors: USAGE
 * (struct_size; evaluations of another number of stages, or of no profile), MEMORY. O(stages *
 * reports). */
popliner_status popliner_report_together(const popliner_together *together, popliner_format format,
                                         char **text, popliner_error *error);

/* ---- Sections ---- *
 *
 * What is known of a profile, and of a plan, as plain tables for other programs.
 *
 * A section is one table: each row has a value for each column, and the columns are the same for
 * every profile, but that TILES has one for each category of memory. docs/sections.md describes
 * them; docs/sections.schema.json is the schema of their JSON. */

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

/* ---- Plots ---- *
 *
 * Plots of bytes for a terminal, made of characters. */

typedef enum popliner_plot {
    POPLINER_PLOT_TILES,    /* what is live on each tile by the compiler's account */
    POPLINER_PLOT_LIVENESS, /* what is live on all tiles at each step, and the units of the chain */
    POPLINER_PLOT_PLAN,     /* what each stage of a certificate needs, against its limit */
} popliner_plot;

/* How a plot looks. Begin with POPLINER_PLOT_OPTIONS_INIT. */
typedef struct popliner_plot_options {
    size_t struct_size;
    size_t width;    /* of a line, in characters; from 40 to 1000 */
    size_t height;   /* of what is drawn, without axes and captions, in lines; from 4 to 200 */
    bool is_ascii;   /* else blocks of Unicode in UTF-8 */
    bool has_colour; /* by the escape sequences of ECMA-48 */
} popliner_plot_options;

#define POPLINER_PLOT_OPTIONS_INIT                                                                 \
    { sizeof(popliner_plot_options), 80, 16, false, false }

/* Makes a plot, complete with its last line end, which the caller frees with free(). `model` says
 * what the units of LIVENESS are; `certificate` is that of PLAN, else NULL. `options` may be NULL.
 * Where there are more tiles or steps than columns, each column is the largest of several. What a
 * loaded analysis lacks is loaded. Errors: USAGE for a plot, model or size that there is not, or
 * for PLAN without a certificate of a profile; INPUT when a file that was loaded is damaged;
 * MEMORY. Cost: LIVENESS takes a pass over the variables. */
popliner_status popliner_plot_text(popliner_analysis *analysis, popliner_plot plot,
                                   popliner_memory_model model,
                                   const popliner_certificate *certificate,
                                   const popliner_plot_options *options, char **text,
                                   popliner_error *error);

/* ---- Traces ---- *
 *
 * Programs, cycles and memory along the steps of a profile, as a trace that Perfetto
 * (ui.perfetto.dev) and Chrome's about:tracing open. */

/* Makes one JSON object in the Trace Event Format, complete with its last line end, which the
 * caller frees with free(). docs/trace.md tells what is in it: the tree of programs, the units of
 * the chain in this memory model, what is live; the stages of `certificate`, unless that is NULL,
 * and then the units are its own; and what was executed on each IPU. What a loaded analysis lacks
 * is loaded. Errors: USAGE for a model that there is not, or a certificate that is of no profile;
 * INPUT when a file that was loaded is damaged; MEMORY. Cost: a pass over the variables for each
 * stage, and O(steps * stages); some 200 bytes for each step. */
popliner_status popliner_trace_text(popliner_analysis *analysis, popliner_memory_model model,
                                    const popliner_certificate *certificate, char **text,
                                    popliner_error *error);

#ifdef __cplusplus
}
#endif

#endif
