/* Reads exchanges, programs, what each program touches, and the liveness steps.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "base/bounds.h"
#include "base/failure.h"
#include "base/growth.h"
#include "profile/profile_readers.h"

/* ---- Exchanges ---- */

/* The state of reading a table, which fills `exchanges` or `host_lists`. */
typedef struct exchange_reader {
    popliner_profile *profile;
    const pl_profile_ids *ids;
    pl_exchange_table *exchanges;
    pl_host_lists *host_lists;
} exchange_reader;

/* Sets *list to the list of the variables in a column of the current row, or PL_NONE. */
static popliner_status read_list(const exchange_reader *r, pl_rows *rows, int column,
                                 uint32_t *list, popliner_error *error) {
    uint64_t regions = 0;
    popliner_status status =
        pl_rows_number_or(rows, column, INT64_MAX, UINT64_MAX, &regions, error);
    *list = status != POPLINER_OK || regions == UINT64_MAX
                ? PL_NONE
                : pl_id_map_find(&r->ids->exchange_targets, regions);
    return status;
}

static popliner_status take_exchange(void *user, pl_rows *rows, popliner_error *error) {
    const exchange_reader *r = user;
    pl_exchange_table *exchanges = r->exchanges;
    uint64_t id = 0;
    pl_exchange entry = {.lists = {PL_NONE, PL_NONE}};
    popliner_status status = pl_rows_number(rows, 0, INT64_MAX, &id, error);
    if (status == POPLINER_OK)
        status = pl_profile_read_series(r->profile, rows, 1, &entry.code, error);
    if (status == POPLINER_OK)
        status = read_list(r, rows, 2, &entry.lists[0], error);
    if (status == POPLINER_OK)
        status = read_list(r, rows, 3, &entry.lists[1], error);
    if (status != POPLINER_OK)
        return status;
    if (!pl_grow(&exchanges->entries, &exchanges->capacity, exchanges->count + 1, sizeof entry) ||
        !pl_id_map_add(&exchanges->ids, id, exchanges->count))
        return pl_fail_memory(error, "the exchanges");
    exchanges->entries[exchanges->count++] = entry;
    return POPLINER_OK;
}

/* A missing column is called "-". */
static popliner_status read_exchanges(const pl_database *database, const char *name,
                                      const pl_column columns[4], exchange_reader *r,
                                      pl_exchange_table *exchanges, popliner_error *error) {
    const pl_table table = {name, PL_TABLE_OPTIONAL, columns, 4, ""};
    r->exchanges = exchanges;
    popliner_status status = pl_table_read(database, &table, take_exchange, r, error);
    pl_id_map_sort(&exchanges->ids);
    return status;
}

static popliner_status take_host_exchange(void *user, pl_rows *rows, popliner_error *error) {
    const exchange_reader *r = user;
    pl_host_lists *host = r->host_lists;
    uint64_t id = 0;
    uint32_t list = PL_NONE;
    popliner_status status = pl_rows_number(rows, 0, INT64_MAX, &id, error);
    if (status == POPLINER_OK)
        status = read_list(r, rows, 1, &list, error);
    if (status != POPLINER_OK || list == PL_NONE)
        return status;
    if (!pl_grow(&host->entries, &host->capacity, host->count + 1, sizeof *host->entries))
        return pl_fail_memory(error, "the host exchanges");
    host->entries[host->count++] = (pl_id_entry){id, list};
    return POPLINER_OK;
}

popliner_status pl_host_lists_read(const pl_database *database, const char *name,
                                   const pl_profile_ids *ids, pl_host_lists *host,
                                   popliner_error *error) {
    static const pl_column columns[] = {{"stream_copy_mid_id", true}, {"regions_id", false}};
    const pl_table table = {name, PL_TABLE_OPTIONAL, columns, 2, ""};
    exchange_reader r = {.ids = ids, .host_lists = host};
    popliner_status status = pl_table_read(database, &table, take_host_exchange, &r, error);
    if (status == POPLINER_OK && host->count > 0)
        qsort(host->entries, host->count, sizeof *host->entries, pl_id_entry_compare);
    return status;
}

popliner_status pl_exchanges_read(const pl_database *database, popliner_profile *profile,
                                  const pl_profile_ids *ids, pl_exchanges *exchanges,
                                  popliner_error *error) {
    static const pl_column do_exchange[] = {{"id", true},
                                            {"code_bytes_by_tile_rle", false},
                                            {"source_regions_id", false},
                                            {"destination_regions_id", false}};
    static const pl_column global_exchange[] = {{"id", true},
                                                {"-", false},
                                                {"source_regions_id", false},
                                                {"destination_regions_id", false}};
    static const pl_column code_copy[] = {
        {"id", true}, {"-", false}, {"-", false}, {"destination_regions_id", false}};
    exchange_reader r = {.profile = profile, .ids = ids};
    popliner_status status = read_exchanges(database, "program_type_do_exchange", do_exchange, &r,
                                            &exchanges->do_exchanges, error);
    if (status == POPLINER_OK)
        status = read_exchanges(database, "program_type_global_exchange", global_exchange, &r,
                                &exchanges->global_exchanges, error);
    if (status == POPLINER_OK)
        status = read_exchanges(database, "program_type_code_copy", code_copy, &r,
                                &exchanges->code_copies, error);
    if (status == POPLINER_OK)
        status = pl_host_lists_read(database, "host_exchange_from_host", ids, &exchanges->from_host,
                                    error);
    if (status == POPLINER_OK)
        status =
            pl_host_lists_read(database, "host_exchange_to_host", ids, &exchanges->to_host, error);
    return status;
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
    size_t num_ids;      /* programs whose ids have been read */
    size_t num_programs; /* programs that have been read */
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

static popliner_status take_program_type(void *user, pl_rows *rows, popliner_error *error) {
    reader *r = user;
    uint64_t id = 0;
    popliner_status status = pl_rows_number(rows, 0, INT64_MAX, &id, error);
    if (status != POPLINER_OK)
        return status;
    pl_string name = pl_profile_add_string(r->profile, pl_rows_text(rows, 1));
    const size_t type = (size_t)type_of_name(pl_rows_text(rows, 1));
    if (name == PL_NONE || !pl_id_map_add(&r->types, id, type) ||
        !pl_id_map_add(&r->type_names, id, name))
        return pl_fail_memory(error, "the program types");
    return POPLINER_OK;
}

/* The state of reading references: from the id of a row to the number of the item that it refers
 * to. */
typedef struct reference_reader {
    const pl_id_map *numbering;
    const char *must_have; /* the table that must have the ids; NULL: skip rows with other ids */
    pl_id_map *references;
} reference_reader;

static popliner_status take_reference(void *user, pl_rows *rows, popliner_error *error) {
    const reference_reader *r = user;
    uint64_t id = 0;
    uint64_t other = 0;
    popliner_status status = pl_rows_number(rows, 0, INT64_MAX, &id, error);
    if (status == POPLINER_OK)
        status = pl_rows_number(rows, 1, INT64_MAX, &other, error);
    if (status != POPLINER_OK)
        return status;
    uint32_t reference = pl_id_map_find(r->numbering, other);
    if (reference == PL_NONE && r->must_have != NULL)
        return pl_rows_fail(rows, 1, error, "is %llu, which table %s does not have",
                            (unsigned long long)other, r->must_have);
    return reference == PL_NONE || pl_id_map_add(r->references, id, reference)
               ? POPLINER_OK
               : pl_fail_memory(error, "the programs");
}

static popliner_status read_references(const pl_database *database, const pl_table *table,
                                       reference_reader r, popliner_error *error) {
    popliner_status status = pl_table_read(database, table, take_reference, &r, error);
    pl_id_map_sort(r.references);
    return status;
}

/* Reads which compute sets OnTileExecutes execute, and which programs Calls call. */
static popliner_status read_executed(const pl_database *database, reader *r,
                                     popliner_error *error) {
    static const pl_column execute[] = {{"id", true}, {"compute_set", true}};
    static const pl_column function[] = {{"id", true}, {"program", true}};
    static const pl_column call[] = {{"id", true}, {"function_id", true}};
    static const pl_table executes = {"program_type_on_tile_execute", PL_TABLE_OPTIONAL, execute, 2,
                                      ""};
    static const pl_table functions = {"function_programs", PL_TABLE_OPTIONAL, function, 2, ""};
    static const pl_table calls = {"program_type_call", PL_TABLE_OPTIONAL, call, 2, ""};
    reference_reader of_executes = {&r->ids->compute_sets, "compute_sets",
                                    &r->compute_set_of_execute};
    reference_reader of_functions = {&r->ids->programs, NULL, &r->program_of_function};
    reference_reader of_calls = {&r->program_of_function, NULL, &r->program_of_call};
    popliner_status status = read_references(database, &executes, of_executes, error);
    if (status == POPLINER_OK)
        status = read_references(database, &functions, of_functions, error);
    if (status == POPLINER_OK)
        status = read_references(database, &calls, of_calls, error);
    return status;
}

static popliner_status read_variants(const pl_database *database, reader *r,
                                     popliner_error *error) {
    static const pl_column type_columns[] = {{"id", true}, {"name", true}};
    static const pl_table types = {"program_types", PL_TABLE_REQUIRED, type_columns, 2, ""};
    popliner_status status = pl_table_read(database, &types, take_program_type, r, error);
    pl_id_map_sort(&r->types);
    pl_id_map_sort(&r->type_names);
    if (status == POPLINER_OK)
        status = read_executed(database, r, error);
    if (status == POPLINER_OK)
        status = pl_exchanges_read(database, r->profile, r->ids, &r->exchanges, error);
    return status;
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
static popliner_status resolve_variant(reader *r, const pl_rows *rows, size_t i,
                                       uint64_t variant_index, popliner_error *error) {
    popliner_profile *p = r->profile;
    const pl_exchanges *all = &r->exchanges;
    size_t first_list;
    bool memory = true;
    switch ((popliner_program_type)p->program_type[i]) {
    case POPLINER_PROGRAM_ON_TILE_EXECUTE:
        p->program_compute_set[i] = pl_id_map_find(&r->compute_set_of_execute, variant_index);
        if (p->program_compute_set[i] == PL_NONE)
            return pl_rows_fail(rows, 2, error,
                                "is not in table program_type_on_tile_execute: the program "
                                "executes no known compute set");
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
        first_list = p->num_program_lists;
        memory = add_host_exchanges(r, &all->from_host, variant_index) &&
                 add_fed_lists(r, first_list) &&
                 add_host_exchanges(r, &all->to_host, variant_index);
        /* one row may belong to any number of programs */
        if (memory)
            return pl_bounds_take(rows->database->bounds, rows->database->path,
                                  "the host exchanges of programs",
                                  p->num_program_lists - first_list,
                                  sizeof *p->program_list + sizeof *p->fed_list, error);
        break;
    case POPLINER_PROGRAM_CALL:
        p->program_called[i] = pl_id_map_find(&r->program_of_call, variant_index);
        break;
    default:
        break;
    }
    return memory ? POPLINER_OK : pl_fail_memory(error, "the programs");
}

/* Allocates every array of programs for `count` of them. */
static bool allocate_programs(popliner_profile *p, size_t count) {
    p->num_programs = count;
    p->program_children_start = pl_new_array(count + 1, sizeof *p->program_children_start);
    p->program_lists_start = pl_new_array(count + 1, sizeof *p->program_lists_start);
    return pl_profile_allocate(p, &p->num_programs) && p->program_children_start != NULL &&
           p->program_lists_start != NULL;
}

static popliner_status take_program_id(void *user, pl_rows *rows, popliner_error *error) {
    reader *r = user;
    uint64_t id = 0;
    popliner_status status = pl_rows_number(rows, 0, INT64_MAX, &id, error);
    if (status != POPLINER_OK)
        return status;
    if (r->num_ids >= PL_NONE - 1 || !pl_id_map_add(&r->ids->programs, id, r->num_ids++))
        return pl_fail_memory(error, "the programs");
    return POPLINER_OK;
}

/* Adds the children in a column of the current row. */
static popliner_status add_children(reader *r, pl_rows *rows, int column, popliner_error *error) {
    popliner_profile *p = r->profile;
    size_t size_bytes;
    const uint8_t *cursor = pl_rows_blob(rows, column, &size_bytes);
    const uint8_t *end = cursor + size_bytes;
    while (cursor < end) {
        uint64_t id;
        if (!pl_varint_read(&cursor, end, &id))
            return pl_rows_fail(rows, column, error, "is damaged: it ends inside a number");
        uint32_t child = pl_id_map_find(&r->ids->programs, id);
        if (child == PL_NONE)
            return pl_rows_fail(rows, column, error,
                                "holds %llu, which table programs does not have",
                                (unsigned long long)id);
        if (p->num_program_children >= PL_NONE - 1 ||
            !pl_grow(&p->program_child, &r->child_capacity, p->num_program_children + 1,
                     sizeof *p->program_child))
            return pl_fail_memory(error, "the programs");
        p->program_child[p->num_program_children++] = child;
    }
    return POPLINER_OK;
}

/* These columns come before those of the table of fields. */
enum { NUM_OWN_COLUMNS = 4 };

static popliner_status take_program(void *user, pl_rows *rows, popliner_error *error) {
    reader *r = user;
    popliner_profile *p = r->profile;
    size_t i = r->num_programs;
    uint64_t variant = 0;
    uint64_t variant_index = 0;
    if (i >= p->num_programs)
        return POPLINER_OK; /* more than the ids that were read: the file has changed */
    popliner_status status = pl_rows_number(rows, 1, INT64_MAX, &variant, error);
    if (status == POPLINER_OK)
        status = pl_rows_number_or(rows, 2, INT64_MAX, UINT64_MAX, &variant_index, error);
    if (status == POPLINER_OK)
        status = pl_reading_take(r->reading, rows, i, error);
    if (status == POPLINER_OK)
        status = add_children(r, rows, 3, error);
    if (status != POPLINER_OK)
        return status;
    uint32_t type = pl_id_map_find(&r->types, variant);
    p->program_type[i] = type == PL_NONE ? POPLINER_PROGRAM_OTHER : (uint8_t)type;
    uint32_t type_name = pl_id_map_find(&r->type_names, variant);
    if (type_name == PL_NONE)
        return pl_rows_fail(rows, 1, error,
                            "is not in table program_types: the program is of no known type");
    p->program_type_name[i] = type_name;
    p->program_compute_set[i] = PL_NONE;
    p->program_called[i] = PL_NONE;
    status = resolve_variant(r, rows, i, variant_index, error);
    p->program_children_start[++r->num_programs] = (uint32_t)p->num_program_children;
    p->program_lists_start[r->num_programs] = (uint32_t)p->num_program_lists;
    return status;
}

static popliner_status read_program_ids(const pl_database *database, reader *r,
                                        popliner_error *error) {
    static const pl_column column = {"id", true};
    static const pl_table table = {"programs", PL_TABLE_REQUIRED, &column, 1, "ORDER BY rowid"};
    popliner_status status = pl_table_read(database, &table, take_program_id, r, error);
    pl_id_map_sort(&r->ids->programs);
    return status;
}

static popliner_status read_programs(pl_reading *reading, reader *r, popliner_error *error) {
    static const pl_column columns[NUM_OWN_COLUMNS] = {
        {"id", true}, {"variant", true}, {"variant_index", true}, {"children", false}};
    static const pl_table table = {"programs", PL_TABLE_REQUIRED, columns, NUM_OWN_COLUMNS,
                                   "ORDER BY rowid"};
    popliner_profile *p = r->profile;
    if (!allocate_programs(p, r->num_ids))
        return pl_fail_memory(error, "the programs");
    popliner_status status =
        pl_reading_fields(reading, &table, &p->num_programs, take_program, r, error);
    if (status == POPLINER_OK && r->num_programs < p->num_programs)
        status = pl_fail(error, POPLINER_ERROR_INPUT, "%s: changed while it was being read",
                         reading->path);
    return status;
}

/* ---- Liveness steps ---- */

static popliner_status take_step(void *user, pl_rows *rows, popliner_error *error) {
    pl_reading *r = user;
    popliner_profile *p = r->profile;
    uint64_t id = 0;
    uint64_t parent = 0;
    uint32_t program = PL_NONE;
    popliner_status status = pl_rows_number(rows, 0, INT64_MAX, &id, error);
    if (status == POPLINER_OK)
        status = pl_rows_index(rows, 1, &r->ids.programs, "programs", &program, error);
    if (status == POPLINER_OK)
        status = pl_rows_number_or(rows, 2, INT64_MAX, PL_NONE, &parent, error);
    if (status != POPLINER_OK)
        return status;
    if (id != p->num_steps)
        return pl_rows_fail(rows, 0, error, "is %llu, expected %zu: the steps have a gap",
                            (unsigned long long)id, p->num_steps);
    if (parent != PL_NONE && parent >= id)
        return pl_rows_fail(rows, 2, error, "is %llu, not before its own step %llu",
                            (unsigned long long)parent, (unsigned long long)id);
    if (!pl_profile_reserve(p, &p->num_steps, &r->capacity))
        return pl_fail_memory(error, "the liveness steps");
    p->step_program[p->num_steps] = program;
    p->step_parent[p->num_steps++] = (uint32_t)parent;
    return POPLINER_OK;
}

static popliner_status read_steps(pl_reading *r, popliner_error *error) {
    static const pl_column columns[] = {
        {"id", true}, {"program_id", true}, {"parent_step_id", false}};
    static const pl_table table = {"depth_first_steps", PL_TABLE_REQUIRED, columns, 3,
                                   "ORDER BY id"};
    return pl_reading_table(r, &table, take_step, error);
}

/* ---- All programs ---- */

popliner_status pl_profile_read_programs(pl_reading *reading, popliner_error *error) {
    const pl_database *database = &reading->database;
    reader r = {.reading = reading, .profile = reading->profile, .ids = &reading->ids};
    popliner_status status = read_program_ids(database, &r, error);
    if (status == POPLINER_OK)
        status = read_variants(database, &r, error);
    if (status == POPLINER_OK)
        status = read_programs(reading, &r, error);
    if (status == POPLINER_OK)
        status = read_steps(reading, error);
    pl_id_map *const maps[] = {&r.types, &r.type_names, &r.compute_set_of_execute,
                               &r.program_of_function, &r.program_of_call};
    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++)
        pl_id_map_free(maps[i]);
    pl_exchanges_free(&r.exchanges);
    return status;
}
