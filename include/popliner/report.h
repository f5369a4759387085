/* popliner: results as text, in the formats of PopLiner 1.0.0.
 *
 * Every function makes one NUL-terminated UTF-8 text, complete with its last line end, which the
 * caller frees with free(), the same in every locale. Columns are separated by `delimiter` (a tab
 * or a comma); nothing is quoted, as in the original. Errors: MEMORY, beside those of the
 * measurements.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef POPLINER_REPORT_H
#define POPLINER_REPORT_H

#include "diagnosis/sharing.h"
#include "popliner/chain.h"
#include "popliner/diagnosis.h"
#include "popliner/error.h"
#include "popliner/listener.h"
#include "popliner/operations.h"
#include "popliner/option_names.h"
#include "popliner/profile.h"
#include "popliner/solver.h"
#include "popliner/stage.h"
#include "profile/debug_info.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The total of all operations as one stage, then what the compiler counts as always live and not
 * always live on the first ten tiles. */
popliner_status popliner_report_memory_totals(const popliner_profile *profile,
                                              const popliner_operations *operations,
                                              pl_stage_meter *meter, char delimiter, char **text,
                                              popliner_error *error);

/* How a report looks. */
typedef enum popliner_format {
    POPLINER_FORMAT_TSV,
    POPLINER_FORMAT_CSV,
    POPLINER_FORMAT_JSON,
} popliner_format;

/* The compiler's account of every tile: what is always live, the most that is live beside it, the
 * addresses in use, what the layout leaves unused between them, and the bytes of each category.
 * First each of these with its smallest, mean and largest value and its sum over the tiles, then the
 * ten tiles with most live memory, then all tiles. Errors: also USAGE if the variables are not
 * loaded. */
popliner_status popliner_report_tiles(const popliner_profile *profile, popliner_format format,
                                      char **text, popliner_error *error);

/* The stages of a plan against a limit: total, worst tile, the step of its peak, headroom, and the
 * five largest variables there, as details[stages of the plan] tell. As text for reading, or as a
 * JSON array. */
popliner_status popliner_report_evaluation(const popliner_plan *plan,
                                           const popliner_stage_detail *details,
                                           const popliner_chain *chain, uint64_t limit_bytes,
                                           popliner_format format, char **text,
                                           popliner_error *error);

/* A diagnosis as text for reading, or as a JSON object. `most` is how many missing variables are
 * listed at each place, in text also how many programs; JSON lists these all. `info` (may be NULL)
 * gives the debug context paths, `names` (may be NULL) what to change. */
popliner_status
popliner_report_diagnosis(const popliner_diagnosis *diagnosis, const popliner_profile *profile,
                          const popliner_operations *operations, const pl_debug_info *info,
                          const popliner_option_names *names, popliner_format format, size_t most,
                          char **text, popliner_error *error);

/* One row per operation, an empty line before each change of layer. Sums over the tiles, measured
 * once per debug context: an outlined operation shows those of its first listing. */
popliner_status popliner_report_operations(const popliner_operations *operations,
                                           const popliner_layers *layers, pl_stage_meter *meter,
                                           const popliner_listener *listener, char delimiter,
                                           char **text, popliner_error *error);

/* One row per unit of the chain, and an empty line behind them. In the full memory model with one
 * column more: what no operation explains. */
popliner_status popliner_report_layers(const popliner_chain *chain, pl_stage_meter *meter,
                                       char delimiter, char **text, popliner_error *error);

/* A square table over the layers, with their names: bytes[i * num_layers + j]. */
popliner_status popliner_report_square(const popliner_layers *layers, const uint64_t *bytes,
                                       char delimiter, char **text, popliner_error *error);

#ifdef __cplusplus
}
#endif

#endif
