/* Reads exchanges, programs, what each program touches, and the liveness steps.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "profile/profile_readers.h"

/* ---- Exchanges ---- */

static void read_exchanges(pl_reading *r, pl_table_number number) {
    enum { CODE = 1, SOURCE, DESTINATION, CYCLES };
    pl_exchange **rows = &r->exchanges[number - PL_TABLE_EXCHANGES];
    pl_table_rows t = pl_table_open(r, number);
    while (pl_table_next(&t)) {
        const pl_exchange row = {
            .code = pl_read_runs(r->profile, &t.rows, CODE),
            .lists = {(uint32_t)t.values[SOURCE], (uint32_t)t.values[DESTINATION]},
            .cycles = pl_reading_cycles(r, &t.rows, CYCLES)};
        if (pl_reading_grow(r, rows, t.place + 1, sizeof row))
            (*rows)[t.place] = row;
    }
}

/* Reads the lists of one direction. */
static void read_host_lists(pl_reading *r, pl_table_number number, pl_host_lists *host) {
    enum { ID, LIST };
    pl_table_rows t = pl_table_open(r, number);
    while (pl_table_next(&t)) {
        if (t.values[LIST] != PL_NONE &&
            pl_reading_grow(r, &host->entries, host->count + 1, sizeof *host->entries))
            host->entries[host->count++] = (pl_id_entry){t.values[ID], (uint32_t)t.values[LIST]};
    }
    if (host->count > 0)
        qsort(host->entries, host->count, sizeof *host->entries, pl_id_entry_compare);
}

/* ---- Programs ---- */

/* The known types, the most frequent ones first, and the tables of what such a program does, to
 * which its variant_index leads. */
static const struct known_type {
    const char *name;
    popliner_program_type type;
    pl_table_number table; /* 0: none, which has no ids */
} known_types[] = {
    {"OnTileExecute", POPLINER_PROGRAM_ON_TILE_EXECUTE, PL_TABLE_EXECUTES},
    {"DoExchange", POPLINER_PROGRAM_DO_EXCHANGE, PL_TABLE_EXCHANGES},
    {"Sequence", POPLINER_PROGRAM_SEQUENCE, 0},
    {"Call", POPLINER_PROGRAM_CALL, PL_TABLE_CALLS},
    {"GlobalExchange", POPLINER_PROGRAM_GLOBAL_EXCHANGE, PL_TABLE_GLOBAL_EXCHANGES},
    {"CodeCopy", POPLINER_PROGRAM_CODE_COPY, PL_TABLE_CODE_COPIES},
    {"StreamCopyBegin", POPLINER_PROGRAM_STREAM_COPY_BEGIN, 0},
    {"StreamCopyMid", POPLINER_PROGRAM_STREAM_COPY_MID, PL_TABLE_HOST_COPIES},
    {"StreamCopyEnd", POPLINER_PROGRAM_STREAM_COPY_END, 0},
    {"Repeat", POPLINER_PROGRAM_REPEAT, PL_TABLE_REPEATS},
    {"RepeatWhile", POPLINER_PROGRAM_REPEAT_WHILE, 0},
    {"OnEveryTileSwitch", POPLINER_PROGRAM_ON_EVERY_TILE_SWITCH, 0},
    {"WriteUndef", POPLINER_PROGRAM_WRITE_UNDEF, 0},
    {"SetLocalConsensusFromVar", POPLINER_PROGRAM_SET_LOCAL_CONSENSUS_FROM_VAR, 0},
    {"Sync", POPLINER_PROGRAM_SYNC, 0},
    {"Sans", POPLINER_PROGRAM_SANS, 0},
    {"SyncAns", POPLINER_PROGRAM_SYNC_ANS, 0},
    {NULL, POPLINER_PROGRAM_OTHER, 0},
};

static const struct known_type *find_type(const char *name) {
    const struct known_type *type = known_types;
    while (type->name != NULL && strcmp(name, type->name) != 0)
        type++;
    return type;
}

static void read_functions(pl_reading *r) {
    enum { PROGRAM = 1 };
    r->is_function = pl_reading_new(r, r->profile->num_programs, 1);
    pl_table_rows t = pl_table_open(r, PL_TABLE_FUNCTIONS);
    while (pl_table_next(&t))
        r->is_function[t.values[PROGRAM]] = 1;
}

static void append(popliner_profile *p, uint32_t **items, size_t *count, uint32_t item) {
    p->arrays.failed = p->arrays.failed || *count >= PL_NONE - 1;
    if (pl_arrays_grow(&p->arrays, items, *count + 1, sizeof **items))
        (*items)[(*count)++] = item;
}

static void add_list(popliner_profile *p, uint32_t list) {
    if (list != PL_NONE)
        append(p, &p->program_list, &p->num_program_lists, list);
}

static void add_host_exchanges(popliner_profile *p, const pl_host_lists *host, uint64_t id) {
    for (size_t k = pl_id_entries_place(host->entries, host->count, id);
         k < host->count && host->entries[k].id == id; k++)
        add_list(p, host->entries[k].index);
}

/* Sets what program i touches and holds, and its cycles, from the row of its type's own table. */
static void resolve_variant(pl_reading *r, const pl_rows *rows, size_t i, pl_table_number table,
                            uint64_t variant_index) {
    popliner_profile *p = r->profile;
    const size_t first_list = p->num_program_lists;
    const uint32_t row = pl_id_map_find(&r->ids[table], variant_index);
    if (table == PL_TABLE_EXECUTES && row == PL_NONE) {
        pl_rows_fail(rows, 2,
                     "is not in table program_type_on_tile_execute: the program "
                     "executes no known "
                     "compute set");
    } else if (table == PL_TABLE_EXECUTES) {
        /* the lists of the compute sets come first and in their order */
        assert(row < p->num_lists);
        p->program_compute_set[i] = row;
        p->program_cycles[i] = r->set_cycles[row];
        add_list(p, row);
    } else if (table == PL_TABLE_CALLS) {
        p->program_called[i] = row;
    } else if (table == PL_TABLE_REPEATS) {
        p->program_repeats[i] = row == PL_NONE ? 1 : row;
    } else if (row != PL_NONE) {
        const pl_exchange *exchange = &r->exchanges[table - PL_TABLE_EXCHANGES][row];
        p->program_exchange_code[i] = exchange->code;
        p->program_cycles[i] = exchange->cycles;
        add_list(p, exchange->lists[0]);
        add_list(p, exchange->lists[1]);
    }
    if (table == PL_TABLE_HOST_COPIES) {
        add_host_exchanges(p, &r->host[1], variant_index);
        for (size_t k = first_list; k < p->num_program_lists; k++)
            append(p, &p->fed_list, &p->num_fed_lists, p->program_list[k]);
        add_host_exchanges(p, &r->host[0], variant_index);
        /* one row may belong to any number of programs */
        pl_database_take_bytes(rows->database, "the host exchanges of programs",
                               p->num_program_lists - first_list,
                               sizeof *p->program_list + sizeof *p->fed_list);
    }
}

/* Adds the children in a column of the current row. */
static void add_children(pl_reading *r, pl_rows *rows, int column) {
    popliner_profile *p = r->profile;
    size_t size_bytes;
    const uint8_t *cursor = pl_rows_blob(rows, column, &size_bytes);
    const uint8_t *end = cursor + size_bytes;
    while (cursor < end && pl_reading_has(r, true)) {
        uint64_t id;
        if (!pl_varint_read(&cursor, end, &id)) {
            pl_rows_fail(rows, column, "is damaged: it ends inside a number");
            return;
        }
        uint32_t child = pl_id_map_find(&r->ids[PL_TABLE_PROGRAM_IDS], id);
        if (child == PL_NONE)
            pl_rows_fail(rows, column, "holds %llu, which table programs does not have",
                         (unsigned long long)id);
        append(p, &p->program_child, &p->num_program_children, child);
    }
}

static void take_program(pl_reading *r, pl_table_rows *t) {
    enum { VARIANT_INDEX = 2, CHILDREN };
    popliner_profile *p = r->profile;
    const size_t i = t->place;
    const struct known_type *type = find_type(pl_profile_string(p, p->program_type_name[i]));
    add_children(r, &t->rows, CHILDREN);
    p->program_type[i] = (uint8_t)type->type;
    p->program_compute_set[i] = PL_NONE;
    p->program_called[i] = PL_NONE;
    p->program_repeats[i] = 1;
    p->program_cycles[i] = UINT64_MAX;
    resolve_variant(r, &t->rows, i, type->table, t->values[VARIANT_INDEX]);
    if (p->program_cycles[i] == UINT64_MAX)
        p->program_cycles[i] = 0;
    else
        p->program_cycles_source[i] = POPLINER_CYCLES_ESTIMATED;
    p->program_children_start[i + 1] = (uint32_t)p->num_program_children;
    p->program_lists_start[i + 1] = (uint32_t)p->num_program_lists;
}

/* Reads the programs, whose ids are known. */
static void read_programs(pl_reading *r) {
    popliner_profile *p = r->profile;
    const size_t count = p->num_timed_programs = p->num_programs;
    p->program_children_start = pl_arrays_new(&p->arrays, count + 1, sizeof(uint32_t));
    p->program_lists_start = pl_arrays_new(&p->arrays, count + 1, sizeof(uint32_t));
    pl_profile_allocate(p, &p->num_timed_programs);
    pl_table_rows t = pl_table_open(r, PL_TABLE_PROGRAMS);
    while (t.num_rows < count && pl_table_next(&t))
        take_program(r, &t);
    pl_rows_close(&t.rows);
    if (t.num_rows < count)
        pl_outcome_fail(&r->database.outcome, POPLINER_ERROR_INPUT,
                        "%s: changed while it was being read", r->path);
}

/* ---- Liveness steps ---- */

static void read_steps(pl_reading *r) {
    enum { ID, PROGRAM, PARENT };
    pl_table_rows t = pl_table_open(r, PL_TABLE_STEPS);
    while (pl_table_next(&t)) {
        const uint64_t id = t.values[ID];
        if (id != t.place)
            pl_rows_fail(&t.rows, ID, "is %llu, expected %zu: the steps have a gap",
                         (unsigned long long)id, t.place);
        if (t.values[PARENT] != UINT64_MAX && t.values[PARENT] >= id)
            pl_rows_fail(&t.rows, PARENT, "is %llu, not before its own step %llu",
                         (unsigned long long)t.values[PARENT], (unsigned long long)id);
    }
}

/* ---- All programs ---- */

void pl_profile_read_programs(pl_reading *r) {
    pl_table_read(r, PL_TABLE_PROGRAM_IDS);
    pl_table_read(r, PL_TABLE_PROGRAM_TYPES);
    pl_table_read(r, PL_TABLE_EXECUTES);
    read_functions(r);
    pl_table_read(r, PL_TABLE_CALLS);
    pl_table_read(r, PL_TABLE_REPEATS);
    for (int number = PL_TABLE_EXCHANGES; number <= PL_TABLE_HOST_COPIES; number++)
        read_exchanges(r, (pl_table_number)number);
    read_host_lists(r, PL_TABLE_FROM_HOST, &r->host[1]);
    read_host_lists(r, PL_TABLE_TO_HOST, &r->host[0]);
    read_programs(r);
    read_steps(r);
}
