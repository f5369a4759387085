/* The relations of programs, compute sets and exchanges, place by place.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "profile/checks.h"

#include <string.h>

#include "base/numbers.h"

/* To look at more regions, whose text is parsed, or at more variables of lists would take longer
 * than all other checks. */
enum { MOST_REGIONS = 1 << 13, MOST_VARIABLES = 1 << 20 };

/* Columns of both tables of exchanges; the last three are only of those between tiles. */
enum { ID, SENT, RECEIVED, CODE, SOURCE, DESTINATION };

/* Numbers by tile of the current program or exchange. */
enum { OWN, CHILDREN, FOUND = CODE + 1, NUM_SERIES };

typedef struct checker {
    pl_checks *checks;
    const pl_reading *reading;
    const popliner_profile *profile;
    pl_database *database;
    size_t num_tiles;
    uint32_t *roots; /* programs, or PL_NONE, in the order of their ids */
    size_t num_roots;

    /* the walk over the liveness steps */
    size_t num_roots_passed;
    uint32_t inner;       /* the innermost step that is open, or PL_NONE */
    uint8_t *is_open;     /* by step: it is around the current one */
    uint32_t *num_inside; /* by step: programs that were passed inside it */

    uint64_t *by_tile[NUM_SERIES];
    /* A program, compute set or list that belongs to several others counts only for the first,
     * which limits the work; in real files none does. */
    uint8_t *is_child; /* by program */
    uint8_t *is_seen;  /* by list; those of compute sets come first */

    /* the lists, which must name only data that is live when the program runs */
    bool *is_never_named; /* by category */
    uint32_t *first_step; /* by list: of a program that has it, or PL_NONE */
    uint32_t *seen_in;    /* by class: the last list that it was checked for, plus 1 */
    size_t every;         /* of long lists only every n-th variable is checked */

    bool has_lists[2][2];  /* of exchanges and of host copies: sent, received */
    sqlite3_stmt *regions; /* of one target; NULL: the text of regions is not parsed */
    size_t stride;         /* the text of every stride-th side is parsed */
    size_t num_sides;
    size_t regions_left;
} checker;

/* Returns numbers of the current program or exchange, which become 0. */
static uint64_t *zeros(const checker *c, int series) {
    return memset(c->by_tile[series], 0, c->num_tiles * sizeof(uint64_t));
}

/* ---- Relation 9 ---- */

/* Returns the next program inside a step: a child or, after the last child, the body of the called
 * function; PL_NONE if there is none left. */
static uint32_t next_inside(const checker *c, uint32_t step) {
    const popliner_profile *p = c->profile;
    const uint32_t program = p->step_program[step];
    const size_t num_children = pl_profile_num_children(p, program);
    const uint32_t place = c->num_inside[step];
    if (place < num_children)
        return p->program_child[p->program_children_start[program] + place];
    return place == num_children ? p->program_called[program] : PL_NONE;
}

/* Ends the open steps up to one, or all; false if a child of one is missing. */
static bool leave_steps(checker *c, uint32_t up_to) {
    const popliner_profile *p = c->profile;
    bool is_whole = true;
    for (; c->inner != up_to; c->inner = p->step_parent[c->inner]) {
        c->is_open[c->inner] = 0;
        is_whole = is_whole &&
                   c->num_inside[c->inner] >= pl_profile_num_children(p, p->step_program[c->inner]);
    }
    return is_whole;
}

/* Moves on to a step; false if it is not at its position in pre-order. */
static bool enter_step(checker *c, uint32_t step) {
    const popliner_profile *p = c->profile;
    const uint32_t parent = p->step_parent[step];
    const uint32_t program = p->step_program[step];
    if (parent != PL_NONE && !c->is_open[parent])
        return false;
    bool is_right = leave_steps(c, parent);
    if (parent != PL_NONE) {
        is_right = next_inside(c, parent) == program && is_right;
        c->num_inside[parent]++;
    } else if (c->num_roots_passed < c->num_roots && c->roots[c->num_roots_passed] == program) {
        c->num_roots_passed++;
    } else {
        /* the body of a function may also be at the top */
        is_right = (c->reading->is_function[program] || c->num_roots == 0) && is_right;
    }
    c->inner = step;
    c->is_open[step] = 1;
    return is_right;
}

/* True if the file records the nesting of steps: a missing table or column has its own warning. */
static bool is_nesting_recorded(const checker *c) {
    const popliner_profile *p = c->profile;
    const bool any_call = p->num_programs > 0 &&
                          memchr(p->program_type, POPLINER_PROGRAM_CALL, p->num_programs) != NULL;
    return pl_database_has_column(c->database, "depth_first_steps", "parent_step_id") &&
           pl_database_has_column(c->database, "programs", "children") &&
           (!any_call || (pl_database_has_table(c->database, "program_type_call") &&
                          pl_database_has_table(c->database, "function_programs")));
}

static void check_step_order(checker *c) {
    pl_tally *t = &c->checks->tallies[POPLINER_RELATION_STEP_ORDER];
    if (c->profile->num_steps == 0 || !is_nesting_recorded(c))
        return;
    for (size_t step = 0; step < c->profile->num_steps; step++) {
        pl_tally_begin(t, "step", step);
        if (!enter_step(c, (uint32_t)step))
            pl_tally_note(t, 1, "");
    }
    if (!leave_steps(c, PL_NONE) || c->num_roots_passed < c->num_roots)
        pl_tally_note(t, 1, "the last that there is");
}

/* ---- Relations 10 and 20 ---- */

/* Checks that a program that executes a compute set has code on each tile where the set has
 * vertices. */
static void check_executing(const checker *c, uint32_t set, const uint64_t *code, pl_tally *t) {
    const popliner_profile *p = c->profile;
    const uint32_t end = c->is_seen[set] != 0 ? 0 : p->compute_set_vertices_start[set + 1];
    c->is_seen[set] = 1;
    for (uint32_t i = p->compute_set_vertices_start[set]; i < end; i++) {
        pl_tile_runs walk = pl_tile_runs_of(p, p->compute_set_vertex_instances[i]);
        size_t tile;
        size_t end_tile;
        while (pl_tile_runs_next(&walk, &tile, &end_tile)) {
            for (; tile < end_tile; tile++)
                if (code[tile] == 0)
                    pl_tally_note(t, 1, "none for its vertices on tile %zu", tile);
        }
    }
}

/* Checks that a program has at least the code of its children on each tile, and the code of its
 * compute set. */
static void check_control_code(checker *c, size_t program) {
    const popliner_profile *p = c->profile;
    pl_tally *t = &c->checks->tallies[POPLINER_RELATION_CONTROL_CODE];
    const uint32_t set = p->program_compute_set[program];
    const uint32_t first = p->program_children_start[program];
    const uint32_t end = p->program_children_start[program + 1];
    pl_tally_begin(t, "program", program);
    if (first == end && set == PL_NONE)
        return;
    uint64_t *own = zeros(c, OWN);
    pl_series_add(p, p->program_control_code[program], 1, own);
    if (first < end) {
        uint64_t *children = zeros(c, CHILDREN);
        for (uint32_t i = first; i < end; i++) {
            const uint32_t child = p->program_child[i];
            if (c->is_child[child] == 0)
                pl_series_add(p, p->program_control_code[child], 1, children);
            c->is_child[child] = 1;
        }
        pl_compare_tiles(t, PL_AT_MOST, children, own, c->num_tiles, "less than its children on");
    }
    if (set != PL_NONE)
        check_executing(c, set, own, t);
}

static void check_programs(checker *c) {
    const popliner_profile *p = c->profile;
    pl_tally *types = &c->checks->tallies[POPLINER_RELATION_PROGRAM_TYPES];
    const bool has_code =
        pl_database_has_column(c->database, "programs", "control_code_bytes_by_tile");
    for (size_t i = 0; i < p->num_programs; i++) {
        pl_tally_begin(types, "program", i);
        if (p->program_type[i] == POPLINER_PROGRAM_OTHER)
            pl_tally_note(types, 1, "%s", pl_profile_string(p, p->program_type_name[i]));
        if (has_code)
            check_control_code(c, i);
    }
    c->checks->root_code = has_code ? pl_checks_new(c->checks, c->num_tiles) : NULL;
    for (size_t i = 0; c->checks->root_code != NULL && i < c->num_roots; i++)
        if (c->roots[i] != PL_NONE)
            pl_series_add(p, p->program_control_code[c->roots[i]], 1, c->checks->root_code);
}

/* ---- Relations 19 and 21 ---- */

/* Checks a list, and adds the sizes of its variables to by_tile[] unless NULL. O(its variables). */
static void check_list(const checker *c, uint32_t list, pl_tally *t, uint64_t *by_tile) {
    const popliner_profile *p = c->profile;
    const uint32_t step = c->first_step[list];
    const size_t every = by_tile != NULL ? 1 : c->every;
    uint32_t before = 0;
    size_t tile = 0;
    for (uint64_t i = p->list_start[list]; i < p->list_start[list + 1]; i += every) {
        const uint32_t variable = p->list_variable[i];
        const uint32_t size_bytes = p->variable_size_bytes[variable];
        const uint32_t class_index = p->variable_class[variable];
        const uint8_t category = p->variable_category[variable];
        if (by_tile != NULL) {
            tile = variable >= before ? pl_profile_tile_from(p, variable, tile)
                                      : pl_profile_tile_of(p, variable);
            before = variable;
            by_tile[tile] += size_bytes;
        }
        if (size_bytes == 0) /* it may not be allocated, without class or category */
            continue;
        if (c->is_never_named[category])
            pl_tally_note(t, size_bytes, "names a variable of %s",
                          pl_profile_string(p, p->category_name[category]));
        if (c->seen_in[class_index] == list + 1)
            continue;
        c->seen_in[class_index] = list + 1;
        if (step != PL_NONE && !pl_profile_lives_at(p, class_index, step))
            pl_tally_note(t, size_bytes, "names a variable that does not live then");
    }
    if (step == PL_NONE)
        pl_tally_note(t, 1, "no program runs it");
}

static void check_sets(checker *c) {
    pl_tally *t = &c->checks->tallies[POPLINER_RELATION_COMPUTE_SETS];
    for (size_t set = 0; set < c->profile->num_compute_sets; set++) {
        pl_tally_begin(t, "compute set", set);
        check_list(c, (uint32_t)set, t, NULL);
    }
}

/* ---- Relation 13 ---- */

/* Adds up "[0,12),[12,24)" and sets *end to the largest end; false for any other text. */
static bool read_regions(const char *text, uint64_t *bytes, uint64_t *end) {
    *bytes = *end = 0;
    for (;; text++) {
        uint64_t limits[2] = {0};
        for (int i = 0; i < 2; i++) {
            if (*text++ != "[,"[i] || *text < '0' || *text > '9')
                return false;
            for (; *text >= '0' && *text <= '9' && limits[i] < UINT32_MAX; text++)
                limits[i] = limits[i] * 10 + (uint64_t)(*text - '0');
        }
        if (*text++ != ')' || limits[1] < limits[0])
            return false;
        *bytes += limits[1] - limits[0];
        *end = pl_larger(*end, limits[1]);
        if (*text != ',')
            return *text == '\0';
    }
}

/* Adds the bytes of a list's regions by tile, from their text. */
static void add_regions(checker *c, uint32_t list, pl_tally *t, uint64_t *by_tile) {
    const popliner_profile *p = c->profile;
    const pl_id_map *variables = &c->reading->ids[PL_TABLE_VARIABLES];
    const pl_id_map *targets = &c->reading->ids[PL_TABLE_REGIONS];
    const size_t target = list - p->num_compute_sets; /* they were added in the order of ids */
    assert(targets->entries == NULL || targets->entries[target].index == list);
    const uint64_t id =
        targets->entries == NULL ? targets->first_id + target : targets->entries[target].id;
    int code;
    sqlite3_reset(c->regions);
    sqlite3_bind_int64(c->regions, 1, (sqlite3_int64)id);
    while ((code = sqlite3_step(c->regions)) == SQLITE_ROW) {
        const uint32_t variable =
            pl_id_map_find(variables, (uint64_t)sqlite3_column_int64(c->regions, 0));
        const char *text = (const char *)sqlite3_column_text(c->regions, 1);
        uint64_t bytes = 0;
        uint64_t end = 0;
        if (variable == PL_NONE)
            continue; /* the file cannot have changed */
        const size_t tile = pl_profile_tile_of(p, variable);
        const uint64_t size_bytes = p->variable_size_bytes[variable];
        if (text == NULL || !read_regions(text, &bytes, &end)) {
            pl_tally_note(t, 0, "regions that cannot be read on tile %zu", tile);
            continue;
        }
        if (end > size_bytes)
            pl_tally_note(t, end - size_bytes, "regions beyond their variable on tile %zu", tile);
        by_tile[tile] += bytes;
    }
    if (code != SQLITE_DONE)
        pl_database_fail(c->database, "reading exchange_regions");
}

/* Checks what the current exchange sends, or receives, by its lists. For regions that are not
 * parsed, adds up the sizes of their variables, an upper bound. */
static void check_side(checker *c, int side, const pl_id_entry *lists, size_t num_lists) {
    const popliner_profile *p = c->profile;
    pl_tally *t = &c->checks->tallies[POPLINER_RELATION_EXCHANGES];
    size_t num_variables = 0;
    bool is_seen = false;
    for (size_t i = 0; i < num_lists; i++) {
        const uint32_t list = lists[i].index;
        is_seen = is_seen || c->is_seen[list] != 0;
        c->is_seen[list] = 1;
        num_variables += (size_t)(p->list_start[list + 1] - p->list_start[list]);
    }
    if (is_seen)
        return;
    const bool is_exact =
        c->regions != NULL && c->num_sides++ % c->stride == 0 && num_variables <= c->regions_left;
    if (!is_exact && num_lists > 0 && c->num_sides % c->every != 0)
        return;
    c->regions_left -= is_exact ? num_variables : 0;
    uint64_t *found = zeros(c, FOUND);
    for (size_t i = 0; i < num_lists; i++) {
        check_list(c, lists[i].index, t, is_exact ? NULL : found);
        if (is_exact)
            add_regions(c, lists[i].index, t, found);
    }
    pl_compare_tiles(t, is_exact ? PL_EQUAL : PL_BOUNDED, c->by_tile[side], found, c->num_tiles,
                     side == SENT ? "bytes sent by" : "bytes received by");
}

/* Checks that exactly the tiles that send or receive, if that is known, have code. */
static void check_code(const checker *c, bool is_known) {
    pl_checks *all = c->checks;
    pl_tally *t = &all->tallies[POPLINER_RELATION_EXCHANGES];
    if (all->exchange_code == NULL) {
        all->exchange_code = pl_checks_new(all, c->num_tiles);
        all->num_with_code = pl_checks_new(all, c->num_tiles);
    }
    for (size_t tile = 0; all->num_with_code != NULL && tile < c->num_tiles; tile++) {
        const uint64_t code = c->by_tile[CODE][tile];
        const bool takes_part = c->by_tile[SENT][tile] > 0 || c->by_tile[RECEIVED][tile] > 0;
        all->exchange_code[tile] += code;
        all->num_with_code[tile] += code > 0;
        if (is_known && takes_part != (code > 0))
            pl_tally_note(t, takes_part ? 1 : code, "%s code on tile %zu",
                          takes_part ? "no" : "only", tile);
    }
}

/* Checks a row of exchanges, or of host copies, of which the lists of all rows are consecutive. */
static void check_exchange(checker *c, pl_table_rows *rows, bool is_host) {
    const uint64_t id = rows->values[ID];
    pl_tally *t = &c->checks->tallies[POPLINER_RELATION_EXCHANGES];
    bool is_recorded[CODE + 1] = {false};
    for (int i = SENT; i <= (is_host ? RECEIVED : CODE); i++)
        is_recorded[i] = pl_tally_add_column(t, rows, i, zeros(c, i));
    pl_tally_begin(t, is_host ? "host copy" : "exchange", id);
    if (is_recorded[CODE])
        check_code(c, is_recorded[SENT] && is_recorded[RECEIVED]);
    for (int i = 0; i < 2; i++) {
        const pl_host_lists *host = &c->reading->host[i];
        const pl_id_entry own = {id, (uint32_t)rows->values[SOURCE + i]};
        const pl_id_entry *lists = &own;
        size_t count = own.index != PL_NONE;
        if (!is_recorded[SENT + i] || !c->has_lists[is_host][i])
            continue;
        if (is_host) {
            const size_t first = pl_id_entries_place(host->entries, host->count, id);
            lists = host->count > 0 ? host->entries + first : lists;
            for (count = 0; first + count < host->count && lists[count].id == id;)
                count++;
        }
        check_side(c, SENT + i, lists, count);
    }
}

static void check_exchanges(checker *c) {
    const pl_table_number tables[] = {PL_TABLE_CHECKED_EXCHANGES, PL_TABLE_CHECKED_HOST_COPIES};
    for (int is_host = 0; is_host < 2; is_host++) {
        pl_table_rows t = pl_table_open(c->checks->reading, tables[is_host]);
        while (pl_table_next(&t))
            if (!is_host || t.values[ID] != UINT64_MAX)
                check_exchange(c, &t, is_host);
    }
}

/* ---- All of them ---- */

static void read_roots(checker *c) {
    enum { PROGRAM = 1 };
    pl_table_rows t = pl_table_open(c->checks->reading, PL_TABLE_ROOTS);
    while (pl_table_next(&t)) {
        const uint64_t id = t.values[PROGRAM];
        if (t.values[ID] != UINT64_MAX && id != UINT64_MAX &&
            pl_reading_grow(c->checks->reading, &c->roots, c->num_roots + 1, sizeof *c->roots))
            c->roots[c->num_roots++] = pl_id_map_find(&c->reading->ids[PL_TABLE_PROGRAM_IDS], id);
    }
}

/* Prepares the checks of lists. */
static void begin_lists(checker *c) {
    const popliner_profile *p = c->profile;
    c->every = p->num_list_variables / MOST_VARIABLES + 1;
    for (size_t i = 0; i < p->num_categories; i++)
        c->is_never_named[i] =
            pl_category_is_never_named(pl_profile_string(p, p->category_name[i]));
    for (size_t i = 0; i < p->num_lists; i++)
        c->first_step[i] = PL_NONE;
    for (size_t step = p->num_steps; step-- > 0;) {
        const uint32_t program = p->step_program[step];
        const uint32_t end = p->program_lists_start[program + 1];
        for (uint32_t i = p->program_lists_start[program]; i < end; i++)
            c->first_step[p->program_list[i]] = (uint32_t)step;
    }
}

/* Finds out which lists the file has, and prepares to parse the text of their regions. If a table
 * or column is missing, nothing records what is sent or received. */
static void begin_regions(checker *c) {
    static const char *const tables[2][2] = {
        {"program_type_do_exchange", "program_type_do_exchange"},
        {"host_exchange_to_host", "host_exchange_from_host"}};
    static const char *const columns[2][2] = {{"source_regions_id", "destination_regions_id"},
                                              {"regions_id", "regions_id"}};
    const popliner_profile *p = c->profile;
    if (!pl_database_has_table(c->database, "exchange_regions"))
        return;
    for (int i = 0; i < 4; i++)
        c->has_lists[i / 2][i % 2] =
            pl_database_has_column(c->database, tables[i / 2][i % 2], columns[i / 2][i % 2]);
    if (!pl_database_has_column(c->database, "exchange_regions", "regions") ||
        c->reading->ids[PL_TABLE_REGIONS].count == 0)
        return;
    c->stride = (p->num_list_variables - p->list_start[p->num_compute_sets]) / MOST_REGIONS + 1;
    c->regions_left = MOST_REGIONS;
    if (sqlite3_prepare_v2(c->database->sqlite,
                           "SELECT var_id, regions FROM exchange_regions WHERE id = ?1 "
                           "ORDER BY var_id",
                           -1, &c->regions, NULL) != SQLITE_OK)
        pl_database_fail(c->database, "reading exchange_regions");
}

void pl_checks_of_programs(pl_checks *checks) {
    pl_reading *r = checks->reading;
    const popliner_profile *p = checks->profile;
    checker c = {.checks = checks,
                 .reading = r,
                 .profile = p,
                 .database = &r->database,
                 .num_tiles = checks->num_tiles,
                 .inner = PL_NONE,
                 .is_open = pl_reading_new(r, p->num_steps, 1),
                 .num_inside = pl_reading_new(r, p->num_steps, sizeof *c.num_inside),
                 .is_child = pl_reading_new(r, p->num_programs, 1),
                 .is_seen = pl_reading_new(r, p->num_lists, 1),
                 .is_never_named = pl_reading_new(r, p->num_categories, sizeof(bool)),
                 .first_step = pl_reading_new(r, p->num_lists, sizeof *c.first_step),
                 .seen_in = pl_reading_new(r, p->num_classes, sizeof *c.seen_in)};
    for (int i = 0; i < NUM_SERIES; i++)
        c.by_tile[i] = pl_checks_new(checks, c.num_tiles);
    read_roots(&c);
    if (!pl_database_is_well(c.database))
        return;
    begin_lists(&c);
    begin_regions(&c);
    check_step_order(&c);
    check_programs(&c);
    check_sets(&c);
    check_exchanges(&c);
    sqlite3_finalize(c.regions);
}
