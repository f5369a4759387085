/* The liveness steps: which program runs when.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "profile/profile_programs.h"

#include "base/failure.h"
#include "base/growth.h"

typedef struct reader {
    popliner_profile *profile;
    const pl_profile_ids *ids;
    size_t capacity;
} reader;

static popliner_status take_step(void *user, pl_rows *rows, popliner_error *error) {
    reader *r = user;
    popliner_profile *p = r->profile;
    uint64_t id = 0;
    uint64_t program_id = 0;
    uint64_t parent = 0;
    popliner_status status = pl_rows_number(rows, 0, INT64_MAX, &id, error);
    if (status == POPLINER_OK)
        status = pl_rows_number(rows, 1, INT64_MAX, &program_id, error);
    if (status == POPLINER_OK)
        status = pl_rows_number_or(rows, 2, INT64_MAX, PL_NONE, &parent, error);
    if (status != POPLINER_OK)
        return status;
    uint32_t program = pl_id_map_find(&r->ids->programs, program_id);
    if (id != p->num_steps)
        return pl_rows_fail(rows, 0, error, "is %llu, expected %zu: the steps have a gap",
                            (unsigned long long)id, p->num_steps);
    if (program == PL_NONE)
        return pl_rows_fail(rows, 1, error, "is %llu, which table programs does not have",
                            (unsigned long long)program_id);
    if (parent != PL_NONE && parent >= id)
        return pl_rows_fail(rows, 2, error, "is %llu, not before its own step %llu",
                            (unsigned long long)parent, (unsigned long long)id);
    const pl_column_room room[] = {PL_COLUMN_ROOM(p->step_program), PL_COLUMN_ROOM(p->step_parent)};
    if (p->num_steps >= PL_NONE - 1 || !pl_grow_columns(room, 2, &r->capacity, p->num_steps + 1))
        return pl_fail_memory(error, "the liveness steps");
    p->step_program[p->num_steps] = program;
    p->step_parent[p->num_steps++] = (uint32_t)parent;
    return POPLINER_OK;
}

popliner_status pl_profile_read_steps(const pl_database *database, popliner_profile *profile,
                                      const pl_profile_ids *ids, popliner_error *error) {
    static const pl_column columns[] = {
        {"id", true}, {"program_id", true}, {"parent_step_id", false}};
    static const pl_table table = {"depth_first_steps", PL_TABLE_REQUIRED, columns, 3,
                                   "ORDER BY id"};
    reader r = {.profile = profile, .ids = ids};
    return pl_table_read(database, &table, take_step, &r, error);
}
