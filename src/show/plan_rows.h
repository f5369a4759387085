/* Plans as rows of a table, or as objects: of sweeps, of the best compromises, of replicas.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_SHOW_PLAN_ROWS_H
#define PL_SHOW_PLAN_ROWS_H

#include "show/certificate_data.h"

/* "status", the objectives, "used" and "split", up to the end of the line. */
void pl_plan_rows_add_header(const pl_certificate_input *names, char delimiter, pl_text *text);

/* The row of a plan, behind what may stand there already. */
void pl_plan_rows_add(const pl_certificate_input *names, const popliner_plan *plan, char delimiter,
                      pl_text *text);

/* The last field of such a row: the split. */
void pl_plan_rows_add_split(const pl_certificate_input *names, const popliner_plan *plan,
                            char delimiter, pl_text *text);

/* The members of an object that tell where a stage runs, and from which unit to which. */
void pl_plan_rows_put_stage(const pl_certificate_input *names, const popliner_plan_stage *stage,
                            pl_json *json);

/* Those of a row's object: the same, with stages and bounds. */
void pl_plan_rows_put(const pl_certificate_input *names, const popliner_plan *plan, pl_json *json);

#endif
