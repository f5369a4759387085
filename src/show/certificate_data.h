/* What a certificate is inside the library.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_SHOW_CERTIFICATE_DATA_H
#define PL_SHOW_CERTIFICATE_DATA_H

#include <stdbool.h>

#include <jansson.h>

#include "base/growth.h"
#include "popliner/certificate.h"
#include "popliner/stage_detail.h"
#include "solve/owned_options.h"

struct popliner_certificate {
    popliner_certificate_input input; /* its plan, options, pipeline and texts are the next ones */
    popliner_plan plan;
    pl_owned_options options;
    popliner_pipeline pipeline;
    char **unit_names;
    char *time_unit;
    popliner_costs *costs; /* NULL: none, or not its own */
    bool is_measured;      /* there are details */
    bool has_stash;
    popliner_stage_detail *details; /* [stages of the plan], of the IPU of each */
    popliner_stage_detail unit;     /* of the unit that is too large, if there is one */
    size_t bottleneck; /* the stage with the largest tile, or with most cycles if these are what
                                 was asked for first */
};

/* As popliner_certificate_create, but takes over plan and costs (NULL: none): *plan is empty then.
 * With is_evaluation the plan says what is on which IPU, and gets peaks and status from the
 * certificate. */
popliner_status pl_certificate_create(const popliner_certificate_input *input, bool is_evaluation,
                                      popliner_plan *plan, popliner_costs *costs,
                                      popliner_certificate **certificate, popliner_error *error);

/* The name of a stage's first or last unit; NULL for what is in no layer. */
const char *pl_certificate_layer(const popliner_certificate *certificate, size_t unit);

/* The last unit of a stage that layer_to tells: not the tail behind it. */
size_t pl_certificate_last_layer(const popliner_certificate *certificate,
                                 const popliner_plan_stage *stage);

/* A number of an objective in the unit in which it is shown: cycles and the spread of cycles in the
 * time unit. *divisor becomes 1 if it is a whole number of these. */
uint64_t pl_certificate_divisor(const popliner_certificate *certificate,
                                popliner_objective objective);

/* A number in the unit that a divisor stands for, as text with six digits behind the point unless it
 * is whole, and as JSON (NULL without memory). */
void pl_certificate_add_number(pl_text *text, uint64_t value, uint64_t divisor);
json_t *pl_certificate_number_json(uint64_t value, uint64_t divisor);

/* A text as one field of a table: within quotes where CSV needs them. */
void pl_certificate_add_field(pl_text *text, const char *field, char delimiter);

/* The values of the objectives of the plan as a JSON array. NULL without memory. */
json_t *pl_certificate_objectives_json(const popliner_certificate *certificate);

/* popliner_certificate_line for a plan. */
popliner_status pl_certificate_line(const popliner_plan *plan, const char *const *unit_names,
                                    char **text, popliner_error *error);

/* "optimal", "feasible" or "infeasible". */
const char *pl_certificate_status(const popliner_plan *plan);

#endif
