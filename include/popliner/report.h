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

#include <stddef.h>
#include <stdint.h>

#include "popliner/analysis.h"
#include "popliner/certificate.h"
#include "popliner/chain.h"
#include "popliner/diagnosis.h"
#include "popliner/error.h"
#include "popliner/pareto.h"
#include "popliner/replicas.h"

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

#ifdef __cplusplus
}
#endif

#endif
