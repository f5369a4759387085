/* The tables of popliner_report_table. Columns are separated by `delimiter`.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_SHOW_REPORTS_H
#define PL_SHOW_REPORTS_H

#include "memory/stage.h"
#include "popliner/report.h"

popliner_status pl_report_memory_totals(const popliner_profile *profile,
                                        const popliner_operations *operations,
                                        pl_stage_meter *meter, char delimiter, char **text,
                                        popliner_error *error);

popliner_status pl_report_operations(const popliner_operations *operations,
                                     const popliner_layers *layers, const popliner_chain *chain,
                                     pl_stage_meter *meter, const popliner_listener *listener,
                                     char delimiter, char **text, popliner_error *error);

popliner_status pl_report_layers(const popliner_chain *chain, pl_stage_meter *meter, char delimiter,
                                 char **text, popliner_error *error);

/* A square table over the layers: row i, column j is bytes[i * num_layers + j]. */
popliner_status pl_report_layer_pairs(const popliner_layers *layers, const uint64_t *bytes,
                                      char delimiter, char **text, popliner_error *error);

/* Errors: also USAGE if the variables are not loaded. */
popliner_status pl_report_tiles(const popliner_profile *profile, popliner_format format,
                                char **text, popliner_error *error);

#endif
