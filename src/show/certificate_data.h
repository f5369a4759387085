/* What a certificate is inside the library.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_SHOW_CERTIFICATE_DATA_H
#define PL_SHOW_CERTIFICATE_DATA_H

#include <stdbool.h>

#include <jansson.h>

#include "base/growth.h"
#include "base/option_names.h"
#include "popliner/certificate.h"
#include "popliner/stage.h"

struct popliner_certificate {
    popliner_certificate_input input;
    bool is_measured; /* there are details */
    bool has_stash;
    popliner_stage_detail *details; /* [stages of the plan], of the IPU of each */
    popliner_stage_detail unit;     /* of the unit that is too large, if there is one */
    size_t bottleneck; /* the stage with the largest tile, or with most cycles if these are what
                                 was asked for first */
};

/* A copy in which nothing is left out that has a default. */
popliner_certificate_input
pl_certificate_input_with_defaults(const popliner_certificate_input *input);

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

/* How many texts there are on the constraints that contradict each other, at least one; and one of
 * them: "cut-after 3". */
size_t pl_certificate_num_constraints(const popliner_certificate *certificate);
void pl_certificate_add_constraint(const popliner_certificate *certificate, size_t i,
                                   pl_text *text);

/* The values of the objectives of the plan as a JSON array. NULL without memory. */
json_t *pl_certificate_objectives_json(const popliner_certificate *certificate);

/* "optimal", "feasible" or "infeasible". */
const char *pl_certificate_status(const popliner_plan *plan);

#endif
