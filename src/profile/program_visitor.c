/* Visiting the programs in the order of the tree.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "profile/walk.h"

#include <stdlib.h>

#include "base/failure.h"
#include "base/growth.h"

typedef struct visit {
    const popliner_profile *profile;
    popliner_program_type type;
    popliner_program_visitor visitor;
    void *user;
    uint8_t *visited; /* by program */
} visit;

/* Visits a program, unless it has been or is of another type. */
static popliner_status visit_program(visit *v, size_t program, popliner_error *error) {
    popliner_program_type type = (popliner_program_type)v->profile->program_type[program];
    if (v->visited[program] || (v->type != POPLINER_PROGRAM_ANY && v->type != type))
        return POPLINER_OK;
    v->visited[program] = 1;
    popliner_status status = v->visitor(v->user, program, type);
    if (status == POPLINER_OK)
        return POPLINER_OK;
    if ((int)status < 0 || status > POPLINER_ERROR_STOPPED)
        return pl_fail(error, POPLINER_ERROR_USAGE,
                       "the caller's function visitor returned %d, which is no status",
                       (int)status);
    return pl_fail(error, status, "the caller's function visitor failed at program %zu", program);
}

popliner_status popliner_profile_visit(const popliner_profile *p, popliner_program_type type,
                                       popliner_program_visitor visitor, void *user,
                                       popliner_error *error) {
    visit v = {.profile = p, .type = type, .visitor = visitor, .user = user};
    if (visitor == NULL)
        return pl_fail(error, POPLINER_ERROR_USAGE, "there is no function to visit programs with");
    if (type != POPLINER_PROGRAM_ANY && ((int)type < 0 || (int)type >= PL_NUM_PROGRAM_TYPES))
        return pl_fail(error, POPLINER_ERROR_USAGE, "%d is no popliner_program_type", (int)type);
    v.visited = pl_new_array(p->num_programs, sizeof *v.visited);
    if (v.visited == NULL)
        return pl_fail_memory(error, "a visit of the programs");
    popliner_status status = POPLINER_OK;
    for (size_t step = 0; status == POPLINER_OK && step < p->num_steps; step++)
        status = visit_program(&v, p->step_program[step], error);
    for (size_t program = 0; status == POPLINER_OK && program < p->num_programs; program++)
        status = visit_program(&v, program, error);
    free(v.visited);
    return status;
}
