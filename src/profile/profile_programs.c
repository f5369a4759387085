/* What runs: vertex types, compute sets, exchanges, programs and the liveness steps.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "profile/profile_data.h"

#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "base/growth.h"
#include "profile/blob_codec.h"
#include "profile/profile_lists.h"

static popliner_status read_vertex_types(const pl_database *database, popliner_profile *p,
                                         pl_profile_ids *ids, popliner_error *error) {
    static const pl_column columns[] = {{"id", true}, {"name", true}, {"size", true}};
    pl_rows rows = {0};
    bool more = false;
    size_t name_capacity = 0;
    size_t size_capacity = 0;
    popliner_status status =
        pl_rows_open(&rows, database, "vertex_types", true, columns, 3, "ORDER BY id", error);
    while (status == POPLINER_OK && (status = pl_rows_next(&rows, &more, error)) == POPLINER_OK &&
           more) {
        uint64_t id = 0;
        uint64_t size_bytes = 0;
        status = pl_rows_number(&rows, 0, INT64_MAX, &id, error);
        if (status == POPLINER_OK)
            status = pl_rows_number(&rows, 2, UINT32_MAX, &size_bytes, error);
        if (status != POPLINER_OK)
            break;
        void *names = p->vertex_type_name;
        void *sizes = p->vertex_type_size_bytes;
        bool room = pl_reserve(&names, &name_capacity, p->num_vertex_types + 1, sizeof(pl_string));
        p->vertex_type_name = names;
        room =
            room && pl_reserve(&sizes, &size_capacity, p->num_vertex_types + 1, sizeof(uint64_t));
        p->vertex_type_size_bytes = sizes;
        pl_string name = pl_profile_add_string(p, pl_rows_text(&rows, 1));
        if (!room || name == PL_NONE ||
            !pl_id_map_add(&ids->vertex_types, id, (uint32_t)p->num_vertex_types)) {
            status = pl_fail_memory(error, "the vertex types");
            break;
        }
        p->vertex_type_name[p->num_vertex_types] = name;
        p->vertex_type_size_bytes[p->num_vertex_types++] = size_bytes;
    }
    pl_rows_close(&rows);
    pl_id_map_sort(&ids->vertex_types);
    return status;
}

static popliner_status read_vertex_code(const pl_database *database, popliner_profile *p,
                                        pl_profile_ids *ids, popliner_error *error) {
    static const pl_column columns[] = {{"vertex_type", true}, {"code_bytes", true}};
    pl_rows rows = {0};
    bool more = false;
    p->vertex_type_code = pl_new_array(p->num_vertex_types, sizeof *p->vertex_type_code);
    if (p->vertex_type_code == NULL)
        return pl_fail_memory(error, "the vertex types");
    popliner_status status =
        pl_rows_open(&rows, database, "memory_by_vertex_type", false, columns, 2, "", error);
    while (status == POPLINER_OK && (status = pl_rows_next(&rows, &more, error)) == POPLINER_OK &&
           more) {
        uint64_t id = 0;
        status = pl_rows_number(&rows, 0, INT64_MAX, &id, error);
        if (status != POPLINER_OK)
            break;
        uint32_t type = pl_id_map_find(&ids->vertex_types, id);
        if (type == PL_NONE)
            status =
                pl_rows_fail(&rows, 0, error, "is %llu, which table vertex_types does not have",
                             (unsigned long long)id);
        else
            status = pl_profile_read_list_series(p, &rows, 1, &p->vertex_type_code[type], error);
    }
    pl_rows_close(&rows);
    return status;
}

static popliner_status read_compute_sets(const pl_database *database, popliner_profile *p,
                                         pl_profile_ids *ids, pl_list_room *room,
                                         popliner_error *error) {
    static const pl_column columns[] = {{"compute_set", true},
                                        {"name", false},
                                        {"debug_id", false},
                                        {"var_ids_diff_rle", false},
                                        {"edge_count", false}};
    pl_rows rows = {0};
    bool more = false;
    size_t name_capacity = 0;
    size_t context_capacity = 0;
    size_t edge_capacity = 0;
    popliner_status status = pl_rows_open(&rows, database, "compute_sets", true, columns, 5,
                                          "ORDER BY compute_set", error);
    while (status == POPLINER_OK && (status = pl_rows_next(&rows, &more, error)) == POPLINER_OK &&
           more) {
        uint64_t id = 0;
        uint64_t context = 0;
        status = pl_rows_number(&rows, 0, INT64_MAX, &id, error);
        if (status == POPLINER_OK)
            status = pl_rows_number_or(&rows, 2, INT64_MAX, 0, &context, error);
        if (status != POPLINER_OK)
            break;
        void *names = p->compute_set_name;
        void *contexts = p->compute_set_debug_context;
        void *edges = p->compute_set_num_edges;
        bool memory =
            pl_reserve(&names, &name_capacity, p->num_compute_sets + 1, sizeof(pl_string));
        p->compute_set_name = names;
        memory = memory && pl_reserve(&contexts, &context_capacity, p->num_compute_sets + 1,
                                      sizeof(uint64_t));
        p->compute_set_debug_context = contexts;
        memory =
            memory && pl_reserve(&edges, &edge_capacity, p->num_compute_sets + 1, sizeof(uint64_t));
        p->compute_set_num_edges = edges;
        pl_string name = pl_profile_add_string(p, pl_rows_text(&rows, 1));
        if (!memory || name == PL_NONE ||
            !pl_id_map_add(&ids->compute_sets, id, (uint32_t)p->num_compute_sets)) {
            status = pl_fail_memory(error, "the compute sets");
            break;
        }
        p->compute_set_name[p->num_compute_sets] = name;
        p->compute_set_num_edges[p->num_compute_sets] = 0;
        pl_rows_told(&rows, 4, &p->compute_set_num_edges[p->num_compute_sets]);
        p->compute_set_debug_context[p->num_compute_sets++] = context;
        status = pl_profile_read_list(&rows, 3, p, ids, room, error);
    }
    pl_rows_close(&rows);
    pl_id_map_sort(&ids->compute_sets);
    return status;
}

static popliner_status read_vertex_instances(const pl_database *database, popliner_profile *p,
                                             pl_profile_ids *ids, popliner_error *error) {
    static const pl_column columns[] = {
        {"compute_set", true}, {"vertex_type", true}, {"instances_by_tile", true}};
    pl_rows rows = {0};
    bool more = false;
    size_t type_capacity = 0;
    size_t series_capacity = 0;
    uint32_t current = 0; /* the compute set being filled */
    p->compute_set_vertices_start =
        pl_new_array(p->num_compute_sets + 1, sizeof *p->compute_set_vertices_start);
    if (p->compute_set_vertices_start == NULL)
        return pl_fail_memory(error, "the compute sets");
    popliner_status status = pl_rows_open(&rows, database, "vertex_instances", false, columns, 3,
                                          "ORDER BY compute_set, vertex_type", error);
    while (status == POPLINER_OK && (status = pl_rows_next(&rows, &more, error)) == POPLINER_OK &&
           more) {
        uint64_t set_id = 0;
        uint64_t type_id = 0;
        pl_series series = {0};
        status = pl_rows_number(&rows, 0, INT64_MAX, &set_id, error);
        if (status == POPLINER_OK)
            status = pl_rows_number(&rows, 1, INT64_MAX, &type_id, error);
        if (status == POPLINER_OK)
            status = pl_profile_read_series(p, &rows, 2, &series, error);
        if (status != POPLINER_OK)
            break;
        uint32_t set = pl_id_map_find(&ids->compute_sets, set_id);
        uint32_t type = pl_id_map_find(&ids->vertex_types, type_id);
        if (set == PL_NONE)
            status =
                pl_rows_fail(&rows, 0, error, "is %llu, which table compute_sets does not have",
                             (unsigned long long)set_id);
        else if (type == PL_NONE)
            status =
                pl_rows_fail(&rows, 1, error, "is %llu, which table vertex_types does not have",
                             (unsigned long long)type_id);
        if (status != POPLINER_OK)
            break;
        /* both tables are read in the order of their ids, so the sets come one after another */
        while (current < set)
            p->compute_set_vertices_start[++current] = (uint32_t)p->num_compute_set_vertices;
        void *types = p->compute_set_vertex_type;
        void *instances = p->compute_set_vertex_instances;
        bool room =
            pl_reserve(&types, &type_capacity, p->num_compute_set_vertices + 1, sizeof(uint32_t));
        p->compute_set_vertex_type = types;
        room = room && pl_reserve(&instances, &series_capacity, p->num_compute_set_vertices + 1,
                                  sizeof(pl_series));
        p->compute_set_vertex_instances = instances;
        if (!room || p->num_compute_set_vertices >= PL_NONE - 1) {
            status = pl_fail_memory(error, "the vertices");
            break;
        }
        p->compute_set_vertex_type[p->num_compute_set_vertices] = type;
        p->compute_set_vertex_instances[p->num_compute_set_vertices++] = series;
    }
    while (current < p->num_compute_sets)
        p->compute_set_vertices_start[++current] = (uint32_t)p->num_compute_set_vertices;
    pl_rows_close(&rows);
    return status;
}

/* The state of the vertices of compute sets, summed over what the compiler tells apart. */
static popliner_status read_compute_set_state(const pl_database *database, popliner_profile *p,
                                              const pl_profile_ids *ids, popliner_error *error) {
    static const pl_column columns[] = {{"compute_set", true},
                                        {"vertex_data_bytes", false},
                                        {"copy_ptr_bytes", false},
                                        {"edge_ptr_bytes", false},
                                        {"descriptor_bytes", false}};
    size_t num_tiles = p->target.num_tiles;
    pl_rows rows = {0};
    bool more = false;
    pl_blob rle = {0};
    uint64_t *by_tile = pl_new_array(num_tiles, sizeof *by_tile);
    p->compute_set_state = pl_new_array(p->num_compute_sets, sizeof *p->compute_set_state);
    p->compute_set_descriptors =
        pl_new_array(p->num_compute_sets, sizeof *p->compute_set_descriptors);
    popliner_status status =
        by_tile == NULL || p->compute_set_state == NULL || p->compute_set_descriptors == NULL
            ? pl_fail_memory(error, "the compute sets")
            : POPLINER_OK;
    if (status == POPLINER_OK)
        status =
            pl_rows_open(&rows, database, "memory_by_compute_set", false, columns, 5, "", error);
    while (status == POPLINER_OK && (status = pl_rows_next(&rows, &more, error)) == POPLINER_OK &&
           more) {
        uint64_t id = 0;
        status = pl_rows_number(&rows, 0, INT64_MAX, &id, error);
        uint32_t set = pl_id_map_find(&ids->compute_sets, id);
        if (status == POPLINER_OK && set == PL_NONE)
            status =
                pl_rows_fail(&rows, 0, error, "is %llu, which table compute_sets does not have",
                             (unsigned long long)id);
        memset(by_tile, 0, num_tiles * sizeof *by_tile);
        bool any = false;
        for (int column = 1; status == POPLINER_OK && column < 4; column++) {
            pl_series series = {0};
            status = pl_profile_read_series(p, &rows, column, &series, error);
            if (status == POPLINER_OK && series.size_bytes > 0) {
                pl_series_add(p, series, 1, by_tile);
                p->series_length = series.offset; /* it was needed for the sum alone */
                any = true;
            }
        }
        if (status != POPLINER_OK)
            break;
        p->num_compute_set_states = p->num_compute_sets;
        rle.size = 0;
        pl_rle_write(&rle, by_tile, num_tiles);
        if (rle.failed ||
            (any && !pl_profile_add_series(p, rle.data, rle.size, &p->compute_set_state[set])))
            status = pl_fail_memory(error, "the state of compute sets");
        if (status == POPLINER_OK)
            status = pl_profile_read_series(p, &rows, 4, &p->compute_set_descriptors[set], error);
    }
    pl_rows_close(&rows);
    free(rle.data);
    free(by_tile);
    return status;
}

/* A row of a program type's own table: exchange code and up to two lists of variables. */
typedef struct exchange_entry {
    pl_series code;
    uint32_t lists[2]; /* PL_NONE: none */
} exchange_entry;

typedef struct exchange_table {
    pl_id_map ids;
    exchange_entry *entries;
    size_t count;
    size_t capacity;
} exchange_table;

static void free_exchanges(exchange_table *exchanges) {
    pl_id_map_free(&exchanges->ids);
    free(exchanges->entries);
}

/* Reads an optional table `table`(id, code_column, first_list, second_list); columns that it does
 * not have are named "-". Of several rows of one id the first counts. */
static popliner_status read_exchanges(const pl_database *database, popliner_profile *p,
                                      const pl_profile_ids *ids, const char *table,
                                      const pl_column columns[4], exchange_table *exchanges,
                                      popliner_error *error) {
    pl_rows rows = {0};
    bool more = false;
    popliner_status status = pl_rows_open(&rows, database, table, false, columns, 4, "", error);
    while (status == POPLINER_OK && (status = pl_rows_next(&rows, &more, error)) == POPLINER_OK &&
           more) {
        uint64_t id = 0;
        exchange_entry entry = {.lists = {PL_NONE, PL_NONE}};
        status = pl_rows_number(&rows, 0, INT64_MAX, &id, error);
        if (status == POPLINER_OK)
            status = pl_profile_read_series(p, &rows, 1, &entry.code, error);
        for (int side = 0; status == POPLINER_OK && side < 2; side++) {
            uint64_t regions = 0;
            status = pl_rows_number_or(&rows, 2 + side, INT64_MAX, UINT64_MAX, &regions, error);
            if (status == POPLINER_OK && regions != UINT64_MAX)
                entry.lists[side] = pl_id_map_find(&ids->exchange_targets, regions);
        }
        if (status != POPLINER_OK)
            break;
        void *entries = exchanges->entries;
        if (!pl_reserve(&entries, &exchanges->capacity, exchanges->count + 1, sizeof entry) ||
            !pl_id_map_add(&exchanges->ids, id, (uint32_t)exchanges->count)) {
            status = pl_fail_memory(error, "the exchanges");
            break;
        }
        exchanges->entries = entries;
        exchanges->entries[exchanges->count++] = entry;
    }
    pl_rows_close(&rows);
    pl_id_map_sort(&exchanges->ids);
    return status;
}

/* The lists of the host exchanges, sorted by the StreamCopyMid that they belong to. */
typedef struct host_lists {
    pl_id_entry *entries; /* id: StreamCopyMid, index: list */
    size_t count;
    size_t capacity;
} host_lists;

static int compare_host_lists(const void *left, const void *right) {
    const pl_id_entry *a = left;
    const pl_id_entry *b = right;
    if (a->id != b->id)
        return a->id < b->id ? -1 : 1;
    return (a->index > b->index) - (a->index < b->index);
}

static popliner_status read_host_exchange(const pl_database *database, const pl_profile_ids *ids,
                                          const char *table, host_lists *lists,
                                          popliner_error *error) {
    static const pl_column columns[] = {{"stream_copy_mid_id", true}, {"regions_id", false}};
    pl_rows rows = {0};
    bool more = false;
    popliner_status status = pl_rows_open(&rows, database, table, false, columns, 2, "", error);
    while (status == POPLINER_OK && (status = pl_rows_next(&rows, &more, error)) == POPLINER_OK &&
           more) {
        uint64_t id = 0;
        uint64_t regions = 0;
        status = pl_rows_number(&rows, 0, INT64_MAX, &id, error);
        if (status == POPLINER_OK)
            status = pl_rows_number_or(&rows, 1, INT64_MAX, UINT64_MAX, &regions, error);
        if (status != POPLINER_OK)
            break;
        uint32_t list =
            regions == UINT64_MAX ? PL_NONE : pl_id_map_find(&ids->exchange_targets, regions);
        if (list == PL_NONE)
            continue;
        void *entries = lists->entries;
        if (!pl_reserve(&entries, &lists->capacity, lists->count + 1, sizeof *lists->entries)) {
            status = pl_fail_memory(error, "the host exchanges");
            break;
        }
        lists->entries = entries;
        lists->entries[lists->count++] = (pl_id_entry){id, list};
    }
    pl_rows_close(&rows);
    return status;
}

/* Everything that rows of `programs` refer to by their variant_index. */
typedef struct variants {
    pl_id_map types;      /* program_types.id to popliner_program_type */
    pl_id_map type_names; /* program_types.id to pl_string */
    pl_id_map compute_set_of_execute;
    pl_id_map program_of_function;
    pl_id_map program_of_call;
    exchange_table do_exchanges;
    exchange_table global_exchanges;
    exchange_table code_copies;
    host_lists host;
} variants;

static void free_variants(variants *v) {
    pl_id_map_free(&v->types);
    pl_id_map_free(&v->type_names);
    pl_id_map_free(&v->compute_set_of_execute);
    pl_id_map_free(&v->program_of_function);
    pl_id_map_free(&v->program_of_call);
    free_exchanges(&v->do_exchanges);
    free_exchanges(&v->global_exchanges);
    free_exchanges(&v->code_copies);
    free(v->host.entries);
}

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

static popliner_status read_program_types(const pl_database *database, popliner_profile *p,
                                          variants *v, popliner_error *error) {
    static const pl_column columns[] = {{"id", true}, {"name", true}};
    pl_rows rows = {0};
    bool more = false;
    popliner_status status =
        pl_rows_open(&rows, database, "program_types", true, columns, 2, "", error);
    while (status == POPLINER_OK && (status = pl_rows_next(&rows, &more, error)) == POPLINER_OK &&
           more) {
        uint64_t id = 0;
        status = pl_rows_number(&rows, 0, INT64_MAX, &id, error);
        pl_string name = pl_profile_add_string(p, pl_rows_text(&rows, 1));
        if (status == POPLINER_OK &&
            (name == PL_NONE ||
             !pl_id_map_add(&v->types, id, (uint32_t)type_of_name(pl_rows_text(&rows, 1))) ||
             !pl_id_map_add(&v->type_names, id, name)))
            status = pl_fail_memory(error, "the program types");
    }
    pl_rows_close(&rows);
    pl_id_map_sort(&v->types);
    pl_id_map_sort(&v->type_names);
    return status;
}

/* From the rows of the table `columns`: id and what the row refers to, as `numbering` knows it. Of
 * what it does not know the rows are left out, unless it is the ids of the table `must_have`. */
static popliner_status read_references(const pl_database *database, const char *table,
                                       const pl_column columns[2], const pl_id_map *numbering,
                                       const char *must_have, pl_id_map *references,
                                       popliner_error *error) {
    pl_rows rows = {0};
    bool more = false;
    popliner_status status = pl_rows_open(&rows, database, table, false, columns, 2, "", error);
    while (status == POPLINER_OK && (status = pl_rows_next(&rows, &more, error)) == POPLINER_OK &&
           more) {
        uint64_t id = 0;
        uint64_t other = 0;
        status = pl_rows_number(&rows, 0, INT64_MAX, &id, error);
        if (status == POPLINER_OK)
            status = pl_rows_number(&rows, 1, INT64_MAX, &other, error);
        if (status != POPLINER_OK)
            break;
        uint32_t reference = pl_id_map_find(numbering, other);
        if (reference == PL_NONE && must_have != NULL)
            status = pl_rows_fail(&rows, 1, error, "is %llu, which table %s does not have",
                                  (unsigned long long)other, must_have);
        else if (reference != PL_NONE && !pl_id_map_add(references, id, reference))
            status = pl_fail_memory(error, "the programs");
    }
    pl_rows_close(&rows);
    pl_id_map_sort(references);
    return status;
}

/* Which compute sets OnTileExecutes execute, and which programs Calls call. */
static popliner_status read_executed(const pl_database *database, const pl_profile_ids *ids,
                                     variants *v, popliner_error *error) {
    static const pl_column execute[] = {{"id", true}, {"compute_set", true}};
    static const pl_column function[] = {{"id", true}, {"program", true}};
    static const pl_column call[] = {{"id", true}, {"function_id", true}};
    popliner_status status =
        read_references(database, "program_type_on_tile_execute", execute, &ids->compute_sets,
                        "compute_sets", &v->compute_set_of_execute, error);
    if (status == POPLINER_OK)
        status = read_references(database, "function_programs", function, &ids->programs, NULL,
                                 &v->program_of_function, error);
    if (status == POPLINER_OK)
        status = read_references(database, "program_type_call", call, &v->program_of_function, NULL,
                                 &v->program_of_call, error);
    return status;
}

static popliner_status read_variants(const pl_database *database, popliner_profile *p,
                                     const pl_profile_ids *ids, variants *v,
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
    popliner_status status = read_program_types(database, p, v, error);
    if (status == POPLINER_OK)
        status = read_executed(database, ids, v, error);
    if (status == POPLINER_OK)
        status = read_exchanges(database, p, ids, "program_type_do_exchange", do_exchange,
                                &v->do_exchanges, error);
    if (status == POPLINER_OK)
        status = read_exchanges(database, p, ids, "program_type_global_exchange", global_exchange,
                                &v->global_exchanges, error);
    if (status == POPLINER_OK)
        status = read_exchanges(database, p, ids, "program_type_code_copy", code_copy,
                                &v->code_copies, error);
    if (status == POPLINER_OK)
        status = read_host_exchange(database, ids, "host_exchange_from_host", &v->host, error);
    if (status == POPLINER_OK)
        status = read_host_exchange(database, ids, "host_exchange_to_host", &v->host, error);
    if (status == POPLINER_OK && v->host.count > 0)
        qsort(v->host.entries, v->host.count, sizeof *v->host.entries, compare_host_lists);
    return status;
}

static bool add_program_list(popliner_profile *p, size_t *capacity, uint32_t list) {
    if (list == PL_NONE)
        return true;
    void *lists = p->program_list;
    if (!pl_reserve(&lists, capacity, p->num_program_lists + 1, sizeof *p->program_list))
        return false;
    p->program_list = lists;
    p->program_list[p->num_program_lists++] = list;
    return true;
}

/* What the program in place `i` touches and holds, from the row of its type's own table. */
static popliner_status resolve_variant(pl_rows *rows, popliner_profile *p, const variants *v,
                                       size_t i, uint64_t variant_index, size_t *list_capacity,
                                       popliner_error *error) {
    const exchange_table *exchanges = NULL;
    bool memory = true;
    switch ((popliner_program_type)p->program_type[i]) {
    case POPLINER_PROGRAM_ON_TILE_EXECUTE:
        p->program_compute_set[i] = pl_id_map_find(&v->compute_set_of_execute, variant_index);
        if (p->program_compute_set[i] == PL_NONE)
            return pl_rows_fail(rows, 2, error,
                                "is not in table program_type_on_tile_execute: the program "
                                "executes no known compute set");
        /* the lists of the compute sets come first and in their order */
        memory = add_program_list(p, list_capacity, p->program_compute_set[i]);
        break;
    case POPLINER_PROGRAM_DO_EXCHANGE:
        exchanges = &v->do_exchanges;
        break;
    case POPLINER_PROGRAM_GLOBAL_EXCHANGE:
        exchanges = &v->global_exchanges;
        break;
    case POPLINER_PROGRAM_CODE_COPY:
        exchanges = &v->code_copies;
        break;
    case POPLINER_PROGRAM_STREAM_COPY_MID: {
        size_t low = 0;
        size_t high = v->host.count;
        while (low < high) {
            size_t middle = low + (high - low) / 2;
            if (v->host.entries[middle].id < variant_index)
                low = middle + 1;
            else
                high = middle;
        }
        for (; memory && low < v->host.count && v->host.entries[low].id == variant_index; low++)
            memory = add_program_list(p, list_capacity, v->host.entries[low].index);
        break;
    }
    case POPLINER_PROGRAM_CALL:
        p->program_called[i] = pl_id_map_find(&v->program_of_call, variant_index);
        break;
    default:
        break;
    }
    uint32_t entry = exchanges == NULL ? PL_NONE : pl_id_map_find(&exchanges->ids, variant_index);
    if (entry != PL_NONE) {
        p->program_exchange_code[i] = exchanges->entries[entry].code;
        for (int side = 0; side < 2 && memory; side++)
            memory = add_program_list(p, list_capacity, exchanges->entries[entry].lists[side]);
    }
    return memory ? POPLINER_OK : pl_fail_memory(error, "the programs");
}

/* Makes every array of programs hold `count` of them. */
static bool allocate_programs(popliner_profile *p, size_t count) {
    p->program_type = pl_new_array(count, sizeof *p->program_type);
    p->program_type_name = pl_new_array(count, sizeof *p->program_type_name);
    p->program_children_start = pl_new_array(count + 1, sizeof *p->program_children_start);
    p->program_called = pl_new_array(count, sizeof *p->program_called);
    p->program_debug_context = pl_new_array(count, sizeof *p->program_debug_context);
    p->program_name = pl_new_array(count, sizeof *p->program_name);
    p->program_compute_set = pl_new_array(count, sizeof *p->program_compute_set);
    p->program_control_code = pl_new_array(count, sizeof *p->program_control_code);
    p->program_exchange_code = pl_new_array(count, sizeof *p->program_exchange_code);
    p->program_lists_start = pl_new_array(count + 1, sizeof *p->program_lists_start);
    return p->program_type != NULL && p->program_type_name != NULL &&
           p->program_children_start != NULL && p->program_called != NULL &&
           p->program_debug_context != NULL && p->program_name != NULL &&
           p->program_compute_set != NULL && p->program_control_code != NULL &&
           p->program_exchange_code != NULL && p->program_lists_start != NULL;
}

static popliner_status read_program_ids(const pl_database *database, pl_profile_ids *ids,
                                        size_t *count, popliner_error *error) {
    static const pl_column columns[] = {{"id", true}};
    pl_rows rows = {0};
    bool more = false;
    *count = 0;
    popliner_status status =
        pl_rows_open(&rows, database, "programs", true, columns, 1, "ORDER BY rowid", error);
    while (status == POPLINER_OK && (status = pl_rows_next(&rows, &more, error)) == POPLINER_OK &&
           more) {
        uint64_t id = 0;
        status = pl_rows_number(&rows, 0, INT64_MAX, &id, error);
        if (status == POPLINER_OK &&
            (*count >= PL_NONE - 1 || !pl_id_map_add(&ids->programs, id, (uint32_t)(*count)++)))
            status = pl_fail_memory(error, "the programs");
    }
    pl_rows_close(&rows);
    pl_id_map_sort(&ids->programs);
    return status;
}

/* Adds the children in a column of the current row. */
static popliner_status add_children(pl_rows *rows, int column, popliner_profile *p,
                                    const pl_id_map *programs, size_t *capacity,
                                    popliner_error *error) {
    size_t size_bytes;
    const uint8_t *cursor = pl_rows_blob(rows, column, &size_bytes);
    const uint8_t *end = cursor + size_bytes;
    while (cursor < end) {
        uint64_t id;
        if (!pl_varint_read(&cursor, end, &id))
            return pl_rows_fail(rows, column, error, "is damaged: it ends inside a number");
        uint32_t child = pl_id_map_find(programs, id);
        if (child == PL_NONE)
            return pl_rows_fail(rows, column, error,
                                "holds %llu, which table programs does not have",
                                (unsigned long long)id);
        void *children = p->program_child;
        if (p->num_program_children >= PL_NONE - 1 ||
            !pl_reserve(&children, capacity, p->num_program_children + 1, sizeof *p->program_child))
            return pl_fail_memory(error, "the programs");
        p->program_child = children;
        p->program_child[p->num_program_children++] = child;
    }
    return POPLINER_OK;
}

static popliner_status read_programs(const pl_database *database, popliner_profile *p,
                                     const pl_profile_ids *ids, const variants *v,
                                     popliner_error *error) {
    static const pl_column columns[] = {{"id", true},
                                        {"variant", true},
                                        {"variant_index", true},
                                        {"children", false},
                                        {"name", false},
                                        {"debug_id", false},
                                        {"control_code_bytes_by_tile", false}};
    pl_rows rows = {0};
    bool more = false;
    size_t list_capacity = 0;
    size_t child_capacity = 0;
    size_t i = 0;
    popliner_status status =
        pl_rows_open(&rows, database, "programs", true, columns, 7, "ORDER BY rowid", error);
    while (status == POPLINER_OK && (status = pl_rows_next(&rows, &more, error)) == POPLINER_OK &&
           more && i < p->num_programs) {
        uint64_t variant = 0;
        uint64_t variant_index = 0;
        status = pl_rows_number(&rows, 1, INT64_MAX, &variant, error);
        if (status == POPLINER_OK)
            status = pl_rows_number_or(&rows, 2, INT64_MAX, UINT64_MAX, &variant_index, error);
        if (status == POPLINER_OK)
            status = pl_rows_number_or(&rows, 5, INT64_MAX, 0, &p->program_debug_context[i], error);
        if (status == POPLINER_OK)
            status = pl_profile_read_series(p, &rows, 6, &p->program_control_code[i], error);
        if (status == POPLINER_OK)
            status = add_children(&rows, 3, p, &ids->programs, &child_capacity, error);
        if (status != POPLINER_OK)
            break;
        p->program_name[i] = pl_profile_add_string(p, pl_rows_text(&rows, 4));
        if (p->program_name[i] == PL_NONE) {
            status = pl_fail_memory(error, "the programs");
            break;
        }
        uint32_t type = pl_id_map_find(&v->types, variant);
        p->program_type[i] = type == PL_NONE ? POPLINER_PROGRAM_OTHER : (uint8_t)type;
        uint32_t type_name = pl_id_map_find(&v->type_names, variant);
        p->program_type_name[i] = type_name == PL_NONE ? 0 : type_name;
        p->program_compute_set[i] = PL_NONE;
        p->program_called[i] = PL_NONE;
        status = resolve_variant(&rows, p, v, i, variant_index, &list_capacity, error);
        p->program_children_start[++i] = (uint32_t)p->num_program_children;
        p->program_lists_start[i] = (uint32_t)p->num_program_lists;
    }
    pl_rows_close(&rows);
    if (status == POPLINER_OK && i < p->num_programs)
        status = pl_fail(error, POPLINER_ERROR_INPUT, "%s: changed while it was being read",
                         database->path);
    return status;
}

static popliner_status read_steps(const pl_database *database, popliner_profile *p,
                                  const pl_profile_ids *ids, popliner_error *error) {
    static const pl_column columns[] = {
        {"id", true}, {"program_id", true}, {"parent_step_id", false}};
    pl_rows rows = {0};
    bool more = false;
    size_t program_capacity = 0;
    size_t parent_capacity = 0;
    popliner_status status =
        pl_rows_open(&rows, database, "depth_first_steps", true, columns, 3, "ORDER BY id", error);
    while (status == POPLINER_OK && (status = pl_rows_next(&rows, &more, error)) == POPLINER_OK &&
           more) {
        uint64_t id = 0;
        uint64_t program_id = 0;
        uint64_t parent = 0;
        status = pl_rows_number(&rows, 0, INT64_MAX, &id, error);
        if (status == POPLINER_OK)
            status = pl_rows_number(&rows, 1, INT64_MAX, &program_id, error);
        if (status == POPLINER_OK)
            status = pl_rows_number_or(&rows, 2, INT64_MAX, PL_NONE, &parent, error);
        if (status != POPLINER_OK)
            break;
        uint32_t program = pl_id_map_find(&ids->programs, program_id);
        if (id != p->num_steps)
            status = pl_rows_fail(&rows, 0, error, "is %llu, expected %zu: the steps have a gap",
                                  (unsigned long long)id, p->num_steps);
        else if (program == PL_NONE)
            status = pl_rows_fail(&rows, 1, error, "is %llu, which table programs does not have",
                                  (unsigned long long)program_id);
        else if (parent != PL_NONE && parent >= id)
            status = pl_rows_fail(&rows, 2, error, "is %llu, not before its own step %llu",
                                  (unsigned long long)parent, (unsigned long long)id);
        if (status != POPLINER_OK)
            break;
        void *programs = p->step_program;
        void *parents = p->step_parent;
        bool room = p->num_steps < PL_NONE - 1 &&
                    pl_reserve(&programs, &program_capacity, p->num_steps + 1, sizeof(uint32_t));
        p->step_program = programs;
        room = room && pl_reserve(&parents, &parent_capacity, p->num_steps + 1, sizeof(uint32_t));
        p->step_parent = parents;
        if (!room) {
            status = pl_fail_memory(error, "the liveness steps");
            break;
        }
        p->step_program[p->num_steps] = program;
        p->step_parent[p->num_steps++] = (uint32_t)parent;
    }
    pl_rows_close(&rows);
    return status;
}

popliner_status pl_profile_read_programs(const pl_database *database, popliner_profile *p,
                                         pl_profile_ids *ids, popliner_error *error) {
    variants v = {0};
    pl_list_room room = {0};
    size_t num_programs = 0;
    popliner_status status = read_vertex_types(database, p, ids, error);
    if (status == POPLINER_OK)
        status = read_vertex_code(database, p, ids, error);
    if (status == POPLINER_OK)
        status = read_compute_sets(database, p, ids, &room, error);
    if (status == POPLINER_OK)
        status = read_vertex_instances(database, p, ids, error);
    if (status == POPLINER_OK)
        status = read_compute_set_state(database, p, ids, error);
    if (status == POPLINER_OK)
        status = pl_profile_read_exchange_lists(database, p, ids, &room, error);
    if (status == POPLINER_OK)
        status = read_program_ids(database, ids, &num_programs, error);
    if (status == POPLINER_OK)
        status = read_variants(database, p, ids, &v, error);
    if (status == POPLINER_OK && !allocate_programs(p, num_programs))
        status = pl_fail_memory(error, "the programs");
    if (status == POPLINER_OK) {
        p->num_programs = num_programs;
        status = read_programs(database, p, ids, &v, error);
    }
    if (status == POPLINER_OK)
        status = read_steps(database, p, ids, error);
    free_variants(&v);
    return status;
}
