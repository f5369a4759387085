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
enum { ID, SENT, RECEIVED, CODE, SOURCE };

/* Series of the current program; or of the current exchange, with the columns above. */
enum { OWN = SENT, CHILDREN, FOUND = CODE + 1, NUM_SERIES };

/* Returns a series of the current program or exchange. */
static uint64_t *series_of(const pl_checks *c, size_t series) {
    return c->by_tile + series * c->num_tiles;
}

/* Returns such a series, which becomes 0. */
static uint64_t *zeros(const pl_checks *c, size_t series) {
    return memset(series_of(c, series), 0, c->num_tiles * sizeof(uint64_t));
}

/* ---- Relation 9 ---- */

/* Ends the open steps up to one, or all; false if a child of one is missing. */
static bool leave_steps(pl_checks *c, uint32_t up_to) {
    const popliner_profile *p = c->profile;
    bool is_whole = true;
    for (; c->inner != up_to; c->inner = p->step_parent[c->inner]) {
        c->is_open[c->inner] = false;
        is_whole = is_whole &&
                   c->num_inside[c->inner] >= pl_profile_num_children(p, p->step_program[c->inner]);
    }
    return is_whole;
}

/* Moves on to a step; false if it is not at its position in pre-order. */
static bool enter_step(pl_checks *c, uint32_t step) {
    const popliner_profile *p = c->profile;
    const uint32_t parent = p->step_parent[step];
    const uint32_t program = p->step_program[step];
    if (parent != PL_NONE && !c->is_open[parent])
        return false;
    bool is_right = leave_steps(c, parent);
    if (parent != PL_NONE) {
        /* the next child or, after the last one, the body of the called function */
        const uint32_t outer = p->step_program[parent];
        const uint32_t next = p->program_children_start[outer] + c->num_inside[parent];
        const uint32_t end = p->program_children_start[outer + 1];
        const uint32_t last = next == end ? p->program_called[outer] : PL_NONE;
        is_right = program == (next < end ? p->program_child[next] : last) && is_right;
        c->num_inside[parent]++;
    } else if (c->num_roots_passed < c->num_roots && c->roots[c->num_roots_passed] == program) {
        c->num_roots_passed++;
    } else {
        /* the body of a function may also be at the top */
        is_right = (c->reading->is_function[program] || c->num_roots == 0) && is_right;
    }
    c->inner = step;
    c->is_open[step] = true;
    return is_right;
}

/* Checks nothing if the file does not record the nesting of steps: a missing table or column has
 * its own warning. */
static void check_step_order(pl_checks *c) {
    const popliner_profile *p = c->profile;
    pl_tally *t = &c->tallies[POPLINER_RELATION_STEP_ORDER];
    const bool any_call = p->num_programs > 0 &&
                          memchr(p->program_type, POPLINER_PROGRAM_CALL, p->num_programs) != NULL;
    if (p->num_steps == 0 ||
        !pl_database_has_column(c->database, "depth_first_steps", "parent_step_id") ||
        !pl_database_has_column(c->database, "programs", "children") ||
        (any_call && !(pl_database_has_table(c->database, "program_type_call") &&
                       pl_database_has_table(c->database, "function_programs"))))
        return;
    for (size_t step = 0; step < p->num_steps; step++) {
        pl_tally_begin(t, "step", step);
        if (!enter_step(c, (uint32_t)step))
            pl_tally_note(t, 1, "");
    }
    if (!leave_steps(c, PL_NONE) || c->num_roots_passed < c->num_roots)
        pl_tally_note(t, 1, "the last that there is");
}

/* ---- Relations 10 and 20 ---- */

/* Checks that a program has at least the code of its children on each tile, and code on each tile
 * where the compute set that it executes has vertices. */
static void check_control_code(pl_checks *c, size_t program, pl_tally *t) {
    const popliner_profile *p = c->profile;
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
            if (!c->is_child[child])
                pl_series_add(p, p->program_control_code[child], 1, children);
            c->is_child[child] = true;
        }
        pl_compare_tiles(t, PL_AT_MOST, children, own, c->num_tiles, "less than its children on");
    }
    if (set == PL_NONE || c->is_seen[set])
        return;
    c->is_seen[set] = true;
    for (uint32_t i = p->compute_set_vertices_start[set];
         i < p->compute_set_vertices_start[set + 1]; i++) {
        pl_tile_runs vertices = pl_tile_runs_of(p, p->compute_set_vertex_instances[i]);
        size_t tile;
        size_t end_tile;
        while (pl_tile_runs_next(&vertices, &tile, &end_tile))
            for (; tile < end_tile; tile++)
                if (own[tile] == 0)
                    pl_tally_note(t, 1, "none for its vertices on tile %zu", tile);
    }
}

static void check_programs(pl_checks *c) {
    const popliner_profile *p = c->profile;
    pl_tally *types = &c->tallies[POPLINER_RELATION_PROGRAM_TYPES];
    for (size_t i = 0; i < p->num_programs; i++) {
        pl_tally_begin(types, "program", i);
        if (p->program_type[i] == POPLINER_PROGRAM_OTHER)
            pl_tally_note(types, 1, "%s", pl_profile_string(p, p->program_type_name[i]));
    }
    if (!pl_database_has_column(&c->reading->database, "programs", "control_code_bytes_by_tile"))
        return;
    for (size_t i = 0; i < p->num_programs; i++)
        check_control_code(c, i, &c->tallies[POPLINER_RELATION_CONTROL_CODE]);
    c->root_code = pl_checks_new(c, c->num_tiles);
    for (size_t i = 0; c->root_code != NULL && i < c->num_roots; i++)
        if (c->roots[i] != PL_NONE)
            pl_series_add(p, p->program_control_code[c->roots[i]], 1, c->root_code);
}

/* ---- Relations 19 and 21 ---- */

/* Checks a list, and adds the sizes of its variables to by_tile[] unless NULL. O(its variables). */
static void check_list(const pl_checks *c, uint32_t list, pl_tally *t, uint64_t *by_tile) {
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
static void add_regions(pl_checks *c, uint32_t list, pl_tally *t, uint64_t *by_tile) {
    const popliner_profile *p = c->profile;
    const pl_id_map *variables = &c->reading->ids[PL_TABLE_VARIABLES];
    int code;
    sqlite3_reset(c->regions);
    sqlite3_bind_int64(c->regions, 1, (sqlite3_int64)c->list_id[list]);
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
static void check_side(pl_checks *c, size_t side, const pl_id_entry *lists, size_t num_lists) {
    const popliner_profile *p = c->profile;
    pl_tally *t = &c->tallies[POPLINER_RELATION_EXCHANGES];
    size_t num_variables = 0;
    bool is_seen = false;
    for (size_t i = 0; i < num_lists; i++) {
        const uint32_t list = lists[i].index;
        is_seen = is_seen || c->is_seen[list];
        c->is_seen[list] = true;
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
    pl_compare_tiles(t, is_exact ? PL_EQUAL : PL_BOUNDED, series_of(c, side), found, c->num_tiles,
                     side == SENT ? "bytes sent by" : "bytes received by");
}

/* Adds up the code of exchanges, and checks that exactly the tiles that send or receive, if that is
 * known, have it. */
static void check_code(pl_checks *c, bool is_known, pl_tally *t) {
    const uint64_t *sent = series_of(c, SENT);
    const uint64_t *received = series_of(c, RECEIVED);
    const uint64_t *code = series_of(c, CODE);
    if (c->exchange_code == NULL) {
        c->exchange_code = pl_checks_new(c, c->num_tiles);
        c->num_with_code = pl_checks_new(c, c->num_tiles);
    }
    for (size_t tile = 0; c->num_with_code != NULL && tile < c->num_tiles; tile++) {
        const bool takes_part = sent[tile] > 0 || received[tile] > 0;
        c->exchange_code[tile] += code[tile];
        c->num_with_code[tile] += code[tile] > 0;
        if (is_known && takes_part && code[tile] == 0)
            pl_tally_note(t, 1, "no code on tile %zu", tile);
        else if (is_known && !takes_part && code[tile] > 0)
            pl_tally_note(t, code[tile], "only code on tile %zu", tile);
    }
}

/* Checks a row of exchanges, or of host copies, of which the lists of all rows are consecutive. */
static void check_exchange(pl_checks *c, pl_table_rows *rows, bool is_host, const bool *has_lists) {
    const uint64_t id = rows->values[ID];
    pl_tally *t = &c->tallies[POPLINER_RELATION_EXCHANGES];
    bool is_recorded[CODE + 1] = {false};
    for (int i = SENT; i < (int)rows->num_columns && i <= CODE; i++)
        is_recorded[i] = pl_tally_add_column(t, rows, i, zeros(c, (size_t)i));
    pl_tally_begin(t, is_host ? "host copy" : "exchange", id);
    if (is_recorded[CODE])
        check_code(c, is_recorded[SENT] && is_recorded[RECEIVED], t);
    for (size_t i = 0; i < 2; i++) {
        const pl_host_lists *host = &c->reading->host[i];
        const pl_id_entry own = {id, (uint32_t)rows->values[SOURCE + i]};
        const pl_id_entry *lists = &own;
        size_t count = !is_host && own.index != PL_NONE;
        if (is_host && host->count > 0) {
            const size_t first = pl_id_entries_place(host->entries, host->count, id);
            lists = host->entries + first;
            while (first + count < host->count && lists[count].id == id)
                count++;
        }
        if (is_recorded[SENT + i] && has_lists[i])
            check_side(c, SENT + i, lists, count);
    }
}

/* Prepares to parse the text of regions, if the file has it. */
static void open_regions(pl_checks *c) {
    const popliner_profile *p = c->profile;
    const pl_id_map *targets = &c->reading->ids[PL_TABLE_REGIONS];
    c->list_id = pl_checks_new(c, p->num_lists);
    if (c->list_id == NULL || targets->count == 0 ||
        !pl_database_has_column(c->database, "exchange_regions", "regions"))
        return;
    for (size_t i = 0; i < targets->count; i++)
        c->list_id[targets->entries != NULL ? targets->entries[i].index : i] =
            targets->entries != NULL ? targets->entries[i].id : targets->first_id + i;
    c->stride = (p->num_list_variables - p->list_start[p->num_compute_sets]) / MOST_REGIONS + 1;
    c->regions_left = MOST_REGIONS;
    if (sqlite3_prepare_v2(c->database->sqlite,
                           "SELECT var_id, regions FROM exchange_regions WHERE id = ?1 "
                           "ORDER BY var_id",
                           -1, &c->regions, NULL) != SQLITE_OK)
        pl_database_fail(c->database, "reading exchange_regions");
}

static void check_exchanges(pl_checks *c) {
    static const pl_table_number numbers[] = {PL_TABLE_CHECKED_EXCHANGES,
                                              PL_TABLE_CHECKED_HOST_COPIES};
    const pl_table *exchanges = &pl_tables[PL_TABLE_CHECKED_EXCHANGES];
    const pl_table *host[] = {&pl_tables[PL_TABLE_TO_HOST], &pl_tables[PL_TABLE_FROM_HOST]};
    const bool has_regions = pl_database_has_table(c->database, "exchange_regions");
    bool has_lists[2][2]; /* else nothing records what is sent or received */
    for (int i = 0; i < 2; i++) {
        const char *column = exchanges->columns[SOURCE + i].name;
        has_lists[0][i] =
            has_regions && pl_database_has_column(c->database, exchanges->name, column);
        has_lists[1][i] =
            has_regions && pl_database_has_column(c->database, host[i]->name, "regions_id");
    }
    open_regions(c);
    for (int is_host = 0; is_host < 2; is_host++) {
        pl_table_rows t = pl_table_open(c->reading, numbers[is_host]);
        while (pl_table_next(&t))
            if (!is_host || t.values[ID] != UINT64_MAX)
                check_exchange(c, &t, is_host, has_lists[is_host]);
    }
    sqlite3_finalize(c->regions);
}

/* ---- All of them ---- */

static void read_roots(pl_checks *c) {
    enum { PROGRAM = 1 };
    pl_table_rows t = pl_table_open(c->reading, PL_TABLE_ROOTS);
    while (pl_table_next(&t)) {
        const uint64_t id = t.values[PROGRAM];
        if (t.values[ID] != UINT64_MAX && id != UINT64_MAX &&
            pl_reading_grow(c->reading, &c->roots, c->num_roots + 1, sizeof *c->roots))
            c->roots[c->num_roots++] = pl_id_map_find(&c->reading->ids[PL_TABLE_PROGRAM_IDS], id);
    }
}

/* Prepares the checks of lists. */
static void begin_lists(pl_checks *c) {
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

void pl_checks_of_programs(pl_checks *c) {
    const popliner_profile *p = c->profile;
    pl_tally *sets = &c->tallies[POPLINER_RELATION_COMPUTE_SETS];
    c->inner = PL_NONE;
    c->is_open = pl_reading_new(c->reading, p->num_steps, sizeof *c->is_open);
    c->num_inside = pl_reading_new(c->reading, p->num_steps, sizeof *c->num_inside);
    c->is_child = pl_reading_new(c->reading, p->num_programs, sizeof *c->is_child);
    c->is_seen = pl_reading_new(c->reading, p->num_lists, sizeof *c->is_seen);
    c->first_step = pl_reading_new(c->reading, p->num_lists, sizeof *c->first_step);
    c->seen_in = pl_reading_new(c->reading, p->num_classes, sizeof *c->seen_in);
    c->by_tile = pl_checks_new(c, NUM_SERIES * c->num_tiles);
    read_roots(c);
    if (!pl_database_is_well(c->database))
        return;
    check_step_order(c);
    check_programs(c);
    begin_lists(c);
    for (size_t set = 0; set < p->num_compute_sets; set++) {
        pl_tally_begin(sets, "compute set", set);
        check_list(c, (uint32_t)set, sets, NULL);
    }
    check_exchanges(c);
}
