/* Reports on parts of an analysis, see popliner/report.h.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_SHOW_REPORTS_H
#define PL_SHOW_REPORTS_H

#include "popliner/debug_info.h"
#include "popliner/report.h"

popliner_status pl_report_memory_totals(const popliner_profile *profile,
                                        const popliner_operations *operations,
                                        popliner_stage_meter *meter, char delimiter, char **text,
                                        popliner_error *error);

popliner_status pl_report_operations(const popliner_operations *operations,
                                     const popliner_layers *layers, popliner_stage_meter *meter,
                                     const popliner_listener *listener, char delimiter, char **text,
                                     popliner_error *error);

popliner_status pl_report_layers(const popliner_chain *chain, popliner_stage_meter *meter,
                                 char delimiter, char **text, popliner_error *error);

/* What a diagnosis is of. */
typedef struct pl_diagnosed {
    const popliner_diagnosis *diagnosis;
    const popliner_profile *profile;
    const popliner_operations *operations;
    const popliner_debug_info *info; /* may be NULL: gives the paths of debug contexts */
} pl_diagnosed;

popliner_status pl_report_diagnosis(const pl_diagnosed *diagnosed, popliner_format format,
                                    size_t max_rows, char **text, popliner_error *error);

#endif
