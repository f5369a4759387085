/* Reads exchanges, programs, what each program touches, and the liveness steps.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "profile/profile_readers.h"

/* ---- Exchanges ---- */

/* Returns the list of the variables in a column of the current row, or PL_NONE. */
static uint32_t read_list(const pl_profile_ids *ids, pl_rows *rows, int column) {
    uint64_t regions = pl_rows_number_or(rows, column, INT64_MAX, UINT64_MAX);
    return regions == UINT64_MAX ? PL_NONE : pl_id_map_find(&ids->exchange_targets, regions);
}

/* A missing column is called "-". */
static void read_exchanges(pl_database *database, const pl_table *table, popliner_profile *profile,
                           const pl_profile_ids *ids, pl_exchange_table *exchanges) {
    pl_rows rows = pl_rows_open(database, table);
    while (pl_rows_next(&rows)) {
        uint64_t id = pl_rows_number(&rows, 0, INT64_MAX);
        pl_exchange entry = {.code = pl_profile_read_series(profile, &rows, 1)};
        for (int i = 0; i < 2; i++)
            entry.lists[i] = read_list(ids, &rows, 2 + i);
        const bool memory = pl_grow(&exchanges->entries, &exchanges->capacity, exchanges->count + 1,
                                    sizeof entry) &&
                            pl_id_map_add(&exchanges->ids, id, exchanges->count);
        if (pl_outcome_has(&database->outcome, memory, "the exchanges"))
            exchanges->entries[exchanges->count++] = entry;
    }
    pl_id_map_sort(&exchanges->ids);
}

void pl_host_lists_read(pl_database *database, const char *name, const pl_profile_ids *ids,
                        pl_host_lists *host) {
    static const pl_column columns[] = {{"stream_copy_mid_id", true}, {"regions_id", false}};
    const pl_table table = {name, PL_TABLE_OPTIONAL, columns, 2, ""};
    pl_rows rows = pl_rows_open(database, &table);
    while (pl_rows_next(&rows)) {
        uint64_t id = pl_rows_number(&rows, 0, INT64_MAX);
        uint32_t list = read_list(ids, &rows, 1);
        if (list != PL_NONE && pl_outcome_has(&database->outcome,
                                              pl_grow(&host->entries, &host->capacity,
                                                      host->count + 1, sizeof *host->entries),
                                              "the host exchanges"))
            host->entries[host->count++] = (pl_id_entry){id, list};
    }
    if (host->count > 0)
        qsort(host->entries, host->count, sizeof *host->entries, pl_id_entry_compare);
}

void pl_exchanges_read(pl_database *database, popliner_profile *profile, const pl_profile_ids *ids,
                       pl_exchanges *exchanges) {
    static const pl_column columns[][4] = {
        {{"id", true},
         {"code_bytes_by_tile_rle", false},
         {"source_regions_id", false},
         {"destination_regions_id", false}},
        {{"id", true},
         {"-", false},
         {"source_regions_id", false},
         {"destination_regions_id", false}},
        {{"id", true}, {"-", false}, {"-", false}, {"destination_regions_id", false}}};
    static const char *const names[] = {"program_type_do_exchange", "program_type_global_exchange",
                                        "program_type_code_copy"};
    pl_exchange_table *const tables[] = {&exchanges->do_exchanges, &exchanges->global_exchanges,
                                         &exchanges->code_copies};
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        const pl_table table = {names[i], PL_TABLE_OPTIONAL, columns[i], 4, ""};
        read_exchanges(database, &table, profile, ids, tables[i]);
    }
    pl_host_lists_read(database, "host_exchange_from_host", ids, &exchanges->from_host);
    pl_host_lists_read(database, "host_exchange_to_host", ids, &exchanges->to_host);
}

static void free_table(pl_exchange_table *table) {
    pl_id_map_free(&table->ids);
    free(table->entries);
}

void pl_exchanges_free(pl_exchanges *exchanges) {
    free_table(&exchanges->do_exchanges);
    free_table(&exchanges->global_exchanges);
    free_table(&exchanges->code_copies);
    free(exchanges->from_host.entries);
    free(exchanges->to_host.entries);
    *exchanges = (pl_exchanges){0};
}

const pl_exchange *pl_exchange_find(const pl_exchange_table *table, uint64_t id) {
    uint32_t place = pl_id_map_find(&table->ids, id);
    return place == PL_NONE ? NULL : &table->entries[place];
}

/* ---- Programs ---- */

/* The state of reading the programs, and the rows that their variant_index refers to. */
typedef struct reader {
    pl_reading *reading;
    popliner_profile *profile;
    pl_profile_ids *ids;
    pl_id_map types;      /* program_types.id to popliner_program_type */
    pl_id_map type_names; /* program_types.id to pl_string */
    pl_id_map compute_set_of_execute;
    pl_id_map program_of_function;
    pl_id_map program_of_call;
    pl_exchanges exchanges;
    size_t list_capacity;
    size_t fed_capacity;
    size_t child_capacity;
} reader;

static popliner_program_type type_of_name(const char *name) {
    static const struct {
        const char *name;
        popliner_program_type type;
    } known[] = {
        {"Sequence", POPLINER_PROGRAM_SEQUENCE},
        {"RepeatWhile", POPLINER_PROGRAM_REPEAT_WHILE},
        {"StreamCopyBegin", POPLINER_PROGRAM_STREAM_COPY_BEGIN},
        {"StreamCopyEnd", POPLINER_PROGRAM_STREAM_COPY_END},
        {"WriteUndef", POPLINER_PROGRAM_WRITE_UNDEF},
        {"SetLocalConsensusFromVar", POPLINER_PROGRAM_SET_LOCAL_CONSENSUS_FROM_VAR},
        {"Sync", POPLINER_PROGRAM_SYNC},
        {"Sans", POPLINER_PROGRAM_SANS},
        {"SyncAns", POPLINER_PROGRAM_SYNC_ANS},
        {"OnTileExecute", POPLINER_PROGRAM_ON_TILE_EXECUTE},
        {"DoExchange", POPLINER_PROGRAM_DO_EXCHANGE},
        {"GlobalExchange", POPLINER_PROGRAM_GLOBAL_EXCHANGE},
        {"CodeCopy", POPLINER_PROGRAM_CODE_COPY},
        {"StreamCopyMid", POPLINER_PROGRAM_STREAM_COPY_MID},
        {"Call", POPLINER_PROGRAM_CALL},
        {"Repeat", POPLINER_PROGRAM_REPEAT},
        {"OnEveryTileSwitch", POPLINER_PROGRAM_ON_EVERY_TILE_SWITCH},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strcmp(name, known[i].name) == 0)
            return known[i].type;
    }
    return POPLINER_PROGRAM_OTHER;
}

static void read_types(pl_database *database, reader *r) {
    static const pl_column columns[] = {{"id", true}, {"name", true}};
    static const pl_table table = {"program_types", PL_TABLE_REQUIRED, columns, 2, ""};
    pl_rows rows = pl_rows_open(database, &table);
    while (pl_rows_next(&rows)) {
        uint64_t id = pl_rows_number(&rows, 0, INT64_MAX);
        pl_string name = pl_profile_add_string(r->profile, pl_rows_text(&rows, 1));
        const size_t type = (size_t)type_of_name(pl_rows_text(&rows, 1));
        pl_outcome_has(&database->outcome,
                       name != PL_NONE && pl_id_map_add(&r->types, id, type) &&
                           pl_id_map_add(&r->type_names, id, name),
                       "the program types");
    }
    pl_id_map_sort(&r->types);
    pl_id_map_sort(&r->type_names);
}

/* Reads references, from the id of a row to the number of the item that it refers to. `must_have`
 * is the table that must have the ids of the items; NULL: skips rows with other ids. */
static void read_references(pl_database *database, const pl_table *table,
                            const pl_id_map *numbering, const char *must_have,
                            pl_id_map *references) {
    pl_rows rows = pl_rows_open(database, table);
    while (pl_rows_next(&rows)) {
        uint64_t id = pl_rows_number(&rows, 0, INT64_MAX);
        uint64_t other = pl_rows_number(&rows, 1, INT64_MAX);
        uint32_t reference = pl_id_map_find(numbering, other);
        if (reference != PL_NONE)
            pl_outcome_has(&database->outcome, pl_id_map_add(references, id, reference),
                           "the programs");
        else if (must_have != NULL)
            pl_rows_fail(&rows, 1, "is %llu, which table %s does not have",
                         (unsigned long long)other, must_have);
    }
    pl_id_map_sort(references);
}

/* Reads which compute sets OnTileExecutes execute, and which programs Calls call. */
static void read_executed(pl_database *database, reader *r) {
    static const pl_column execute[] = {{"id", true}, {"compute_set", true}};
    static const pl_column function[] = {{"id", true}, {"program", true}};
    static const pl_column call[] = {{"id", true}, {"function_id", true}};
    static const pl_table executes = {"program_type_on_tile_execute", PL_TABLE_OPTIONAL, execute, 2,
                                      ""};
    static const pl_table functions = {"function_programs", PL_TABLE_OPTIONAL, function, 2, ""};
    static const pl_table calls = {"program_type_call", PL_TABLE_OPTIONAL, call, 2, ""};
    read_references(database, &executes, &r->ids->compute_sets, "compute_sets",
                    &r->compute_set_of_execute);
    read_references(database, &functions, &r->ids->programs, NULL, &r->program_of_function);
    read_references(database, &calls, &r->program_of_function, NULL, &r->program_of_call);
}

static bool add_list(reader *r, uint32_t list) {
    popliner_profile *p = r->profile;
    if (list == PL_NONE)
        return true;
    if (p->num_program_lists >= PL_NONE - 1 ||
        !pl_grow(&p->program_list, &r->list_capacity, p->num_program_lists + 1,
                 sizeof *p->program_list))
        return false;
    p->program_list[p->num_program_lists++] = list;
    return true;
}

/* Sets what program i holds and touches if it is one of these exchanges. */
static bool add_exchange(reader *r, size_t i, const pl_exchange *exchange) {
    if (exchange == NULL)
        return true;
    r->profile->program_exchange_code[i] = exchange->code;
    return add_list(r, exchange->lists[0]) && add_list(r, exchange->lists[1]);
}

static bool add_host_exchanges(reader *r, const pl_host_lists *host, uint64_t id) {
    for (size_t k = pl_id_entries_place(host->entries, host->count, id); k < host->count; k++) {
        if (host->entries[k].id != id)
            break;
        if (!add_list(r, host->entries[k].index))
            return false;
    }
    return true;
}

/* Adds the lists of programs from first_list on to those that the host fills. */
static bool add_fed_lists(reader *r, size_t first_list) {
    popliner_profile *p = r->profile;
    if (!pl_grow(&p->fed_list, &r->fed_capacity,
                 p->num_fed_lists + p->num_program_lists - first_list, sizeof *p->fed_list))
        return false;
    for (size_t i = first_list; i < p->num_program_lists; i++)
        p->fed_list[p->num_fed_lists++] = p->program_list[i];
    return true;
}

/* Sets what program i touches and holds, from the row of its type's own table. */
static void resolve_variant(reader *r, const pl_rows *rows, size_t i, uint64_t variant_index) {
    popliner_profile *p = r->profile;
    const pl_exchanges *all = &r->exchanges;
    size_t first_list = p->num_program_lists;
    bool memory = true;
    switch ((popliner_program_type)p->program_type[i]) {
    case POPLINER_PROGRAM_ON_TILE_EXECUTE:
        p->program_compute_set[i] = pl_id_map_find(&r->compute_set_of_execute, variant_index);
        if (p->program_compute_set[i] == PL_NONE)
            pl_rows_fail(rows, 2,
                         "is not in table program_type_on_tile_execute: the program executes no "
                         "known compute set");
        /* the lists of the compute sets come first and in their order */
        memory = add_list(r, p->program_compute_set[i]);
        break;
    case POPLINER_PROGRAM_DO_EXCHANGE:
        memory = add_exchange(r, i, pl_exchange_find(&all->do_exchanges, variant_index));
        break;
    case POPLINER_PROGRAM_GLOBAL_EXCHANGE:
        memory = add_exchange(r, i, pl_exchange_find(&all->global_exchanges, variant_index));
        break;
    case POPLINER_PROGRAM_CODE_COPY:
        memory = add_exchange(r, i, pl_exchange_find(&all->code_copies, variant_index));
        break;
    case POPLINER_PROGRAM_STREAM_COPY_MID:
        memory = add_host_exchanges(r, &all->from_host, variant_index) &&
                 add_fed_lists(r, first_list) &&
                 add_host_exchanges(r, &all->to_host, variant_index);
        /* one row may belong to any number of programs */
        if (memory)
            pl_database_take_bytes(rows->database, "the host exchanges of programs",
                                   p->num_program_lists - first_list,
                                   sizeof *p->program_list + sizeof *p->fed_list);
        break;
    case POPLINER_PROGRAM_CALL:
        p->program_called[i] = pl_id_map_find(&r->program_of_call, variant_index);
        break;
    default:
        break;
    }
    pl_outcome_has(&rows->database->outcome, memory, "the programs");
}

/* Allocates every array of programs for `count` of them. */
static bool allocate_programs(popliner_profile *p, size_t count) {
    p->num_programs = count;
    p->program_children_start = pl_new_array(count + 1, sizeof *p->program_children_start);
    p->program_lists_start = pl_new_array(count + 1, sizeof *p->program_lists_start);
    return pl_profile_allocate(p, &p->num_programs) && p->program_children_start != NULL &&
           p->program_lists_start != NULL;
}

/* Adds the children in a column of the current row. */
static void add_children(reader *r, pl_rows *rows, int column) {
    popliner_profile *p = r->profile;
    size_t size_bytes;
    const uint8_t *cursor = pl_rows_blob(rows, column, &size_bytes);
    const uint8_t *end = cursor + size_bytes;
    while (cursor < end && pl_database_is_well(rows->database)) {
        uint64_t id;
        if (!pl_varint_read(&cursor, end, &id)) {
            pl_rows_fail(rows, column, "is damaged: it ends inside a number");
            return;
        }
        uint32_t child = pl_id_map_find(&r->ids->programs, id);
        if (child == PL_NONE)
            pl_rows_fail(rows, column, "holds %llu, which table programs does not have",
                         (unsigned long long)id);
        const bool memory = p->num_program_children < PL_NONE - 1 &&
                            pl_grow(&p->program_child, &r->child_capacity,
                                    p->num_program_children + 1, sizeof *p->program_child);
        if (pl_outcome_has(&rows->database->outcome, memory, "the programs"))
            p->program_child[p->num_program_children++] = child;
    }
}

/* These columns come before those of the table of fields. */
enum { NUM_OWN_COLUMNS = 4 };

static void take_program(reader *r, pl_rows *rows, size_t i) {
    popliner_profile *p = r->profile;
    uint64_t variant = pl_rows_number(rows, 1, INT64_MAX);
    uint64_t variant_index = pl_rows_number_or(rows, 2, INT64_MAX, UINT64_MAX);
    pl_reading_take(r->reading, rows, i);
    add_children(r, rows, 3);
    uint32_t type = pl_id_map_find(&r->types, variant);
    p->program_type[i] = type == PL_NONE ? POPLINER_PROGRAM_OTHER : (uint8_t)type;
    p->program_type_name[i] = pl_id_map_find(&r->type_names, variant);
    if (p->program_type_name[i] == PL_NONE)
        pl_rows_fail(rows, 1, "is not in table program_types: the program is of no known type");
    p->program_compute_set[i] = PL_NONE;
    p->program_called[i] = PL_NONE;
    resolve_variant(r, rows, i, variant_index);
    p->program_children_start[i + 1] = (uint32_t)p->num_program_children;
    p->program_lists_start[i + 1] = (uint32_t)p->num_program_lists;
}

/* Returns the number of programs. */
static size_t read_program_ids(pl_reading *r) {
    static const pl_column column = {"id", true};
    static const pl_table table = {"programs", PL_TABLE_REQUIRED, &column, 1, "ORDER BY rowid"};
    size_t count = 0;
    pl_rows rows = pl_rows_open(&r->database, &table);
    while (pl_rows_next(&rows)) {
        uint64_t id = pl_rows_number(&rows, 0, INT64_MAX);
        pl_outcome_has(&r->database.outcome,
                       count < PL_NONE - 1 && pl_id_map_add(&r->ids.programs, id, count++),
                       "the programs");
    }
    pl_id_map_sort(&r->ids.programs);
    return count;
}

static void read_programs(pl_reading *reading, reader *r, size_t count) {
    static const pl_column columns[NUM_OWN_COLUMNS] = {
        {"id", true}, {"variant", true}, {"variant_index", true}, {"children", false}};
    static const pl_table table = {"programs", PL_TABLE_REQUIRED, columns, NUM_OWN_COLUMNS,
                                   "ORDER BY rowid"};
    popliner_profile *p = r->profile;
    size_t i = 0;
    pl_outcome_has(&reading->database.outcome, allocate_programs(p, count), "the programs");
    pl_rows rows = pl_reading_open(reading, &table, &p->num_programs);
    while (pl_rows_next(&rows) && i < count)
        take_program(r, &rows, i++);
    pl_rows_close(&rows);
    if (i < count)
        pl_outcome_fail(&reading->database.outcome, POPLINER_ERROR_INPUT,
                        "%s: changed while it was being read", reading->path);
}

/* ---- Liveness steps ---- */

static void read_steps(pl_reading *r) {
    static const pl_column columns[] = {
        {"id", true}, {"program_id", true}, {"parent_step_id", false}};
    static const pl_table table = {"depth_first_steps", PL_TABLE_REQUIRED, columns, 3,
                                   "ORDER BY id"};
    popliner_profile *p = r->profile;
    size_t capacity = 0;
    pl_rows rows = pl_rows_open(&r->database, &table);
    while (pl_rows_next(&rows)) {
        uint64_t id = pl_rows_number(&rows, 0, INT64_MAX);
        uint32_t program = pl_rows_index(&rows, 1, &r->ids.programs, "programs");
        uint64_t parent = pl_rows_number_or(&rows, 2, INT64_MAX, PL_NONE);
        if (id != p->num_steps)
            pl_rows_fail(&rows, 0, "is %llu, expected %zu: the steps have a gap",
                         (unsigned long long)id, p->num_steps);
        if (parent != PL_NONE && parent >= id)
            pl_rows_fail(&rows, 2, "is %llu, not before its own step %llu",
                         (unsigned long long)parent, (unsigned long long)id);
        if (!pl_outcome_has(&r->database.outcome, pl_profile_reserve(p, &p->num_steps, &capacity),
                            "the liveness steps"))
            continue;
        p->step_program[p->num_steps] = program;
        p->step_parent[p->num_steps++] = (uint32_t)parent;
    }
}

/* ---- All programs ---- */

void pl_profile_read_programs(pl_reading *reading) {
    pl_database *database = &reading->database;
    reader r = {.reading = reading, .profile = reading->profile, .ids = &reading->ids};
    const size_t count = read_program_ids(reading);
    read_types(database, &r);
    read_executed(database, &r);
    pl_exchanges_read(database, r.profile, r.ids, &r.exchanges);
    read_programs(reading, &r, count);
    read_steps(reading);
    pl_id_map *const maps[] = {&r.types, &r.type_names, &r.compute_set_of_execute,
                               &r.program_of_function, &r.program_of_call};
    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++)
        pl_id_map_free(maps[i]);
    pl_exchanges_free(&r.exchanges);
}
