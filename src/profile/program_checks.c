/* Checks of programs and compute sets.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "profile/checks.h"

#include <stdlib.h>
#include <string.h>

/* ---- The roots ---- */

typedef struct program_list {
    uint32_t *programs;
    size_t count;
} program_list;

/* Reads the roots, in the order of their ids. */
static program_list read_roots(pl_reading *r) {
    enum { ID, PROGRAM };
    program_list list = {0};
    pl_table_rows t = pl_table_open(r, PL_TABLE_ROOTS);
    while (pl_table_next(&t)) {
        if (t.values[ID] != UINT64_MAX && t.values[PROGRAM] != UINT64_MAX &&
            pl_reading_grow(r, &list.programs, list.count + 1, sizeof *list.programs))
            list.programs[list.count++] =
                pl_id_map_find(&r->ids[PL_TABLE_PROGRAM_IDS], t.values[PROGRAM]);
    }
    return list;
}

/* ---- Relation 9 ---- */

/* A walk over the liveness steps: the steps around the current one, the outermost first. */
typedef struct step_walk {
    const popliner_profile *profile;
    const program_list *roots;
    const uint8_t
        *is_function; /* by program: the body of a function, which may also be at the top */
    size_t num_roots; /* that were visited */
    uint32_t *open;   /* [num_steps]: steps */
    size_t depth;
    uint8_t *is_open;     /* by step */
    uint32_t *num_inside; /* by step: programs that were visited inside it */
} step_walk;

/* Returns the next program inside a step: a child or, after the last child, the body of the called
 * function; PL_NONE if there is none left. */
static uint32_t next_inside(const step_walk *w, uint32_t step) {
    const popliner_profile *p = w->profile;
    uint32_t program = p->step_program[step];
    size_t num_children = pl_profile_num_children(p, program);
    uint32_t place = w->num_inside[step];
    if (place < num_children)
        return p->program_child[p->program_children_start[program] + place];
    return place == num_children ? p->program_called[program] : PL_NONE;
}

/* Ends the innermost step; false if a child of its program is missing. */
static bool close_step(step_walk *w) {
    uint32_t step = w->open[--w->depth];
    w->is_open[step] = 0;
    return w->num_inside[step] >=
           pl_profile_num_children(w->profile, w->profile->step_program[step]);
}

/* Moves on to a step; false if it is not at its position in pre-order. */
static bool enter_step(step_walk *w, uint32_t step) {
    const popliner_profile *p = w->profile;
    uint32_t parent = p->step_parent[step];
    uint32_t program = p->step_program[step];
    bool is_right = true;
    if (parent != PL_NONE && !w->is_open[parent])
        return false;
    while (w->depth > 0 && (parent == PL_NONE || w->open[w->depth - 1] != parent))
        is_right = close_step(w) && is_right;
    if (parent != PL_NONE) {
        is_right = next_inside(w, parent) == program && is_right;
        w->num_inside[parent]++;
    } else if (w->num_roots < w->roots->count && w->roots->programs[w->num_roots] == program) {
        w->num_roots++;
    } else {
        is_right = (w->is_function[program] || w->roots->count == 0) && is_right;
    }
    w->open[w->depth++] = step;
    w->is_open[step] = 1;
    return is_right;
}

static void walk_steps(step_walk *w, pl_tally *t) {
    for (size_t step = 0; step < w->profile->num_steps; step++) {
        pl_tally_begin(t, "step", step);
        if (!enter_step(w, (uint32_t)step))
            pl_tally_note(t, 1, "", "");
    }
    bool is_whole = w->num_roots >= w->roots->count;
    while (w->depth > 0)
        is_whole = close_step(w) && is_whole;
    if (!is_whole)
        pl_tally_note(t, 1, "the last that there is", "");
}

/* True if the file records the nesting of steps: a missing table or column has its own warning. */
static bool is_nesting_recorded(pl_database *database, const popliner_profile *p) {
    bool any_call = false;
    for (size_t i = 0; i < p->num_programs; i++)
        any_call = any_call || p->program_type[i] == POPLINER_PROGRAM_CALL;
    return pl_database_has_column(database, "depth_first_steps", "parent_step_id") &&
           pl_database_has_column(database, "programs", "children") &&
           (!any_call || (pl_database_has_table(database, "program_type_call") &&
                          pl_database_has_table(database, "function_programs")));
}

static void check_step_order(pl_reading *r, const program_list *roots, pl_tally *t) {
    const popliner_profile *p = r->profile;
    if (p->num_steps == 0 || !is_nesting_recorded(&r->database, p))
        return;
    step_walk w = {
        .profile = p,
        .roots = roots,
        .is_function = r->is_function,
        .open = pl_reading_new(r, p->num_steps, sizeof *w.open),
        .is_open = pl_reading_new(r, p->num_steps, 1),
        .num_inside = pl_reading_new(r, p->num_steps, sizeof *w.num_inside),
    };
    if (pl_database_is_well(&r->database))
        walk_steps(&w, t);
}

/* ---- Relation 20 ---- */

static void check_types(const popliner_profile *p, pl_tally *t) {
    for (size_t i = 0; i < p->num_programs; i++) {
        pl_tally_begin(t, "program", i);
        if (p->program_type[i] == POPLINER_PROGRAM_OTHER)
            pl_tally_note(t, 1, pl_profile_string(p, p->program_type_name[i]), "");
    }
}

/* ---- Relation 10 ---- */

/* Code of one program, and of its children together; [num_tiles] each. A child or compute set of
 * several programs counts only for the first, which limits the work; real programs have none. */
typedef struct control_code {
    const popliner_profile *profile;
    uint64_t *own;
    uint64_t *children;   /* for the roots, the bytes of the category */
    uint8_t *is_child;    /* by program */
    uint8_t *is_executed; /* by compute set */
} control_code;

/* Checks that a program has at least the code of its children on each tile. */
static void check_children(control_code *c, size_t program, pl_tally *t) {
    const popliner_profile *p = c->profile;
    size_t num_tiles = p->target.num_tiles;
    uint32_t end = p->program_children_start[program + 1];
    memset(c->children, 0, num_tiles * sizeof *c->children);
    for (uint32_t i = p->program_children_start[program]; i < end; i++) {
        uint32_t child = p->program_child[i];
        if (c->is_child[child] == 0)
            pl_series_add(p, p->program_control_code[child], 1, c->children);
        c->is_child[child] = 1;
    }
    pl_tally_compare_tiles(t, PL_AT_MOST, c->children, c->own, num_tiles,
                           "less than its children on");
}

/* Checks that a program that executes a compute set has code on each tile where the set has
 * vertices. */
static void check_executing(const control_code *c, size_t program, pl_tally *t) {
    const popliner_profile *p = c->profile;
    uint32_t set = p->program_compute_set[program];
    uint32_t end = c->is_executed[set] != 0 ? 0 : p->compute_set_vertices_start[set + 1];
    c->is_executed[set] = 1;
    for (uint32_t i = p->compute_set_vertices_start[set]; i < end; i++) {
        pl_tile_runs walk = pl_tile_runs_of(p, p->compute_set_vertex_instances[i]);
        size_t tile;
        size_t end_tile;
        while (pl_tile_runs_next(&walk, &tile, &end_tile)) {
            for (; tile < end_tile; tile++) {
                if (c->own[tile] == 0)
                    pl_tally_note_tile(t, 1, "none for its vertices on", tile);
            }
        }
    }
}

static void check_programs(control_code *c, pl_tally *t) {
    const popliner_profile *p = c->profile;
    for (size_t i = 0; i < p->num_programs; i++) {
        pl_tally_begin(t, "program", i);
        bool has_children = pl_profile_num_children(p, i) > 0;
        if (!has_children && p->program_compute_set[i] == PL_NONE)
            continue;
        memset(c->own, 0, p->target.num_tiles * sizeof *c->own);
        pl_series_add(p, p->program_control_code[i], 1, c->own);
        if (has_children)
            check_children(c, i, t);
        if (p->program_compute_set[i] != PL_NONE)
            check_executing(c, i, t);
    }
}

/* Checks that the code of the roots is within the variables of its category. */
static void check_roots(control_code *c, const program_list *roots, const pl_tile_sums *sums,
                        pl_tally *t) {
    const popliner_profile *p = c->profile;
    memset(c->own, 0, p->target.num_tiles * sizeof *c->own);
    for (size_t i = 0; i < roots->count; i++) {
        if (roots->programs[i] != PL_NONE)
            pl_series_add(p, p->program_control_code[roots->programs[i]], 1, c->own);
    }
    memset(c->children, 0, p->target.num_tiles * sizeof *c->children);
    pl_tile_sums_add_category(p, sums, PL_CATEGORY_CONTROL_CODE, c->children);
    const pl_compared compared = {PL_AT_MOST, c->own, c->children, "more than controlCode", ""};
    pl_tally_compare_all(t, "tile", p->target.num_tiles, &compared, 1);
}

static void check_control_code(pl_reading *r, const program_list *roots, const pl_tile_sums *sums,
                               pl_tally *t) {
    const popliner_profile *p = r->profile;
    size_t num_tiles = p->target.num_tiles;
    if (!pl_database_has_column(&r->database, "programs", "control_code_bytes_by_tile"))
        return;
    control_code c = {
        .profile = p,
        .own = pl_reading_new(r, num_tiles, sizeof *c.own),
        .children = pl_reading_new(r, num_tiles, sizeof *c.children),
        .is_child = pl_reading_new(r, p->num_programs, 1),
        .is_executed = pl_reading_new(r, p->num_compute_sets, 1),
    };
    if (pl_database_is_well(&r->database)) {
        check_programs(&c, t);
        if (sums != NULL)
            check_roots(&c, roots, sums, t);
    }
}

/* ---- Relations 19 and 21 ---- */

/* Prepares the checks of the lists. */
static void begin_lists(pl_reading *r, pl_list_checks *lists) {
    const popliner_profile *p = r->profile;
    lists->is_never_named = pl_reading_new(r, p->num_categories, sizeof(bool));
    lists->step = pl_reading_new(r, p->num_lists, sizeof *lists->step);
    lists->seen = pl_reading_new(r, p->num_classes, sizeof *lists->seen);
    if (!pl_database_is_well(&r->database))
        return;
    for (size_t i = 0; i < p->num_categories; i++)
        lists->is_never_named[i] =
            pl_category_is_never_named(pl_profile_string(p, p->category_name[i]));
    for (size_t i = 0; i < p->num_lists; i++)
        lists->step[i] = PL_NONE;
    for (size_t step = p->num_steps; step-- > 0;) {
        uint32_t program = p->step_program[step];
        uint32_t end = p->program_lists_start[program + 1];
        for (uint32_t i = p->program_lists_start[program]; i < end; i++)
            lists->step[p->program_list[i]] = (uint32_t)step;
    }
}

void pl_list_check(const pl_list_checks *c, uint32_t list, pl_tally *t, uint64_t *by_tile) {
    const popliner_profile *p = c->profile;
    uint32_t step = c->step[list];
    uint32_t before = 0;
    size_t tile = 0;
    size_t every = by_tile != NULL ? 1 : c->every;
    for (uint64_t i = p->list_start[list]; i < p->list_start[list + 1]; i += every) {
        uint32_t variable = p->list_variable[i];
        uint32_t size_bytes = p->variable_size_bytes[variable];
        uint32_t class_index = p->variable_class[variable];
        uint8_t category = p->variable_category[variable];
        if (by_tile != NULL) {
            tile = variable >= before ? pl_profile_tile_from(p, variable, tile)
                                      : pl_profile_tile_of(p, variable);
            before = variable;
            by_tile[tile] += size_bytes;
        }
        if (size_bytes == 0) /* it may not be allocated, without class or category */
            continue;
        if (c->is_never_named[category])
            pl_tally_note(t, size_bytes, "names a variable of",
                          pl_profile_string(p, p->category_name[category]));
        if (c->seen[class_index] == list + 1)
            continue;
        c->seen[class_index] = list + 1;
        if (step != PL_NONE && !pl_profile_lives_at(p, class_index, step))
            pl_tally_note(t, size_bytes, "names a variable that does not live then", "");
    }
    if (step == PL_NONE)
        pl_tally_note(t, 1, "no program runs it", "");
}

static void check_lists(pl_reading *r, const pl_tile_sums *sums, pl_tally *tallies) {
    enum { MOST_LOOKS = 1 << 20 }; /* more would take longer than all other checks */
    const popliner_profile *p = r->profile;
    pl_list_checks lists = {.profile = p, .every = p->num_list_variables / MOST_LOOKS + 1};
    pl_tally *t = &tallies[POPLINER_RELATION_COMPUTE_SETS];
    begin_lists(r, &lists);
    for (size_t set = 0; pl_database_is_well(&r->database) && set < p->num_compute_sets; set++) {
        pl_tally_begin(t, "compute set", set);
        pl_list_check(&lists, (uint32_t)set, t, NULL);
    }
    pl_exchange_checks_find(r, &lists, sums, tallies);
}

void pl_program_checks_find(pl_reading *r, const pl_tile_sums *sums, pl_tally *tallies) {
    program_list roots = read_roots(r);
    check_types(r->profile, &tallies[POPLINER_RELATION_PROGRAM_TYPES]);
    check_step_order(r, &roots, &tallies[POPLINER_RELATION_STEP_ORDER]);
    check_control_code(r, &roots, sums, &tallies[POPLINER_RELATION_CONTROL_CODE]);
    check_lists(r, sums, tallies);
}
