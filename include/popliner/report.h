/* popliner: results as text, in the formats of PopLiner 1.0.0.
 *
 * Every function makes one NUL-terminated UTF-8 text, complete with its last line end, which the
 * caller frees with free(). Columns are separated by `delimiter` (a tab or a comma); nothing is
 * quoted, as in the original. Errors: MEMORY, beside those of the measurements.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef POPLINER_REPORT_H
#define POPLINER_REPORT_H

#include "popliner/chain.h"
#include "popliner/error.h"
#include "popliner/layers.h"
#include "popliner/operations.h"
#include "popliner/plan.h"
#include "popliner/profile.h"
#include "popliner/sharing.h"
#include "popliner/stage.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The total of all operations as one stage, then what the compiler counts as always live and not
 * always live on the first ten tiles. */
popliner_status popliner_report_memory_totals(const popliner_profile *profile,
                                              const popliner_operations *operations,
                                              popliner_stage_meter *meter, char delimiter,
                                              char **text, popliner_error *error);

/* One row per operation, an empty line before each change of layer. Sums over the tiles, measured
 * once per debug context: an outlined operation shows those of its first listing. */
popliner_status popliner_report_operations(const popliner_operations *operations,
                                           const popliner_layers *layers,
                                           popliner_stage_meter *meter, char delimiter, char **text,
                                           popliner_error *error);

/* One row per unit of the chain, and an empty line behind them. In the full memory model with one
 * column more: what no operation explains. */
popliner_status popliner_report_layers(const popliner_chain *chain, popliner_stage_meter *meter,
                                       char delimiter, char **text, popliner_error *error);

/* A square table over the layers, with their names: bytes[i * num_layers + j]. */
popliner_status popliner_report_square(const popliner_layers *layers, const uint64_t *bytes,
                                       char delimiter, char **text, popliner_error *error);

/* The stages of a plan over the chain as a JSON array of objects with layer_from, layer_to (null
 * for what is in no layer) and mem, measured by `meter`; in the full memory model also
 * mem.unexplained, and head and tail, which tell whether these units are in the stage. So every
 * stage is measured a second time, by itself; if its largest tile differs from the plan's, the
 * error is INTERNAL. */
popliner_status popliner_report_plan_json(const popliner_plan *plan, const popliner_chain *chain,
                                          popliner_stage_meter *meter, char **text,
                                          popliner_error *error);

/* The stages on one line, without a line end: "[ None 0 1 | 2 3 ]", "[ Head 0 1 | 2 3 Tail ]". */
popliner_status popliner_report_plan_line(const popliner_plan *plan, const popliner_chain *chain,
                                          char **text, popliner_error *error);

#ifdef __cplusplus
}
#endif

#endif
