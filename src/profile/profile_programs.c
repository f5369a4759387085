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

/* The state of reading the programs. */
typedef struct reader {
    pl_reading *reading;
    popliner_profile *profile;
    uint8_t *types; /* by row of the types: popliner_program_type */
    pl_string *type_names;
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

static void read_types(reader *r) {
    pl_table_rows t = pl_table_open(r->reading, PL_TABLE_PROGRAM_TYPES);
    while (pl_table_next(&t)) {
        const char *text = pl_rows_text(&t.rows, 1);
        const pl_string name = pl_profile_add_string(r->profile, text);
        if (!pl_reading_grow(r->reading, &r->types, t.place + 1, 1) ||
            !pl_reading_grow(r->reading, &r->type_names, t.place + 1, sizeof name))
            continue;
        r->types[t.place] = (uint8_t)type_of_name(text);
        r->type_names[t.place] = name;
    }
}

static void read_functions(pl_reading *r) {
    enum { PROGRAM = 1 };
    r->is_function = pl_reading_new(r, r->profile->num_programs, 1);
    pl_table_rows t = pl_table_open(r, PL_TABLE_FUNCTIONS);
    while (pl_table_next(&t))
        r->is_function[t.values[PROGRAM]] = 1;
}

static void add_list(popliner_profile *p, uint32_t list) {
    const size_t count = p->num_program_lists;
    if (list == PL_NONE)
        return;
    p->arrays.failed = p->arrays.failed || count >= PL_NONE - 1;
    if (pl_arrays_grow(&p->arrays, &p->program_list, count + 1, sizeof *p->program_list))
        p->program_list[p->num_program_lists++] = list;
}

/* Sets what program i holds and touches, and its cycles, from a row of its table of exchanges. */
static void add_exchange(reader *r, size_t i, pl_table_number number, uint64_t id) {
    const pl_exchange *all = r->reading->exchanges[number - PL_TABLE_EXCHANGES];
    const uint32_t row = pl_id_map_find(&r->reading->ids[number], id);
    if (row == PL_NONE)
        return;
    r->profile->program_exchange_code[i] = all[row].code;
    r->profile->program_cycles[i] = all[row].cycles;
    add_list(r->profile, all[row].lists[0]);
    add_list(r->profile, all[row].lists[1]);
}

static void add_host_exchanges(popliner_profile *p, const pl_host_lists *host, uint64_t id) {
    for (size_t k = pl_id_entries_place(host->entries, host->count, id);
         k < host->count && host->entries[k].id == id; k++)
        add_list(p, host->entries[k].index);
}

/* Adds the lists of programs from first_list on to those that the host fills. */
static void add_fed_lists(popliner_profile *p, size_t first_list) {
    if (!pl_arrays_grow(&p->arrays, &p->fed_list,
                        p->num_fed_lists + p->num_program_lists - first_list, sizeof *p->fed_list))
        return;
    for (size_t i = first_list; i < p->num_program_lists; i++)
        p->fed_list[p->num_fed_lists++] = p->program_list[i];
}

/* Sets what program i touches and holds, from the row of its type's own table. */
static void resolve_variant(reader *r, const pl_rows *rows, size_t i, uint64_t variant_index) {
    popliner_profile *p = r->profile;
    const pl_reading *reading = r->reading;
    size_t first_list = p->num_program_lists;
    uint32_t repeats;
    switch ((popliner_program_type)p->program_type[i]) {
    case POPLINER_PROGRAM_ON_TILE_EXECUTE:
        p->program_compute_set[i] = pl_id_map_find(&reading->ids[PL_TABLE_EXECUTES], variant_index);
        if (p->program_compute_set[i] == PL_NONE)
            pl_rows_fail(rows, 2,
                         "is not in table program_type_on_tile_execute: the program executes no "
                         "known compute set");
        /* the lists of the compute sets come first and in their order */
        assert(p->program_compute_set[i] == PL_NONE || p->program_compute_set[i] < p->num_lists);
        add_list(p, p->program_compute_set[i]);
        if (p->program_compute_set[i] != PL_NONE)
            p->program_cycles[i] = reading->set_cycles[p->program_compute_set[i]];
        break;
    case POPLINER_PROGRAM_DO_EXCHANGE:
        add_exchange(r, i, PL_TABLE_EXCHANGES, variant_index);
        break;
    case POPLINER_PROGRAM_GLOBAL_EXCHANGE:
        add_exchange(r, i, PL_TABLE_GLOBAL_EXCHANGES, variant_index);
        break;
    case POPLINER_PROGRAM_CODE_COPY:
        add_exchange(r, i, PL_TABLE_CODE_COPIES, variant_index);
        break;
    case POPLINER_PROGRAM_STREAM_COPY_MID:
        add_exchange(r, i, PL_TABLE_HOST_COPIES, variant_index);
        add_host_exchanges(p, &reading->host[1], variant_index);
        add_fed_lists(p, first_list);
        add_host_exchanges(p, &reading->host[0], variant_index);
        /* one row may belong to any number of programs */
        pl_database_take_bytes(rows->database, "the host exchanges of programs",
                               p->num_program_lists - first_list,
                               sizeof *p->program_list + sizeof *p->fed_list);
        break;
    case POPLINER_PROGRAM_CALL:
        p->program_called[i] = pl_id_map_find(&reading->ids[PL_TABLE_CALLS], variant_index);
        break;
    case POPLINER_PROGRAM_REPEAT:
        repeats = pl_id_map_find(&reading->ids[PL_TABLE_REPEATS], variant_index);
        p->program_repeats[i] = repeats == PL_NONE ? 1 : repeats;
        break;
    default:
        break;
    }
}

/* Adds the children in a column of the current row. */
static void add_children(reader *r, pl_rows *rows, int column) {
    popliner_profile *p = r->profile;
    size_t size_bytes;
    const uint8_t *cursor = pl_rows_blob(rows, column, &size_bytes);
    const uint8_t *end = cursor + size_bytes;
    while (cursor < end && pl_reading_has(r->reading, true)) {
        uint64_t id;
        if (!pl_varint_read(&cursor, end, &id)) {
            pl_rows_fail(rows, column, "is damaged: it ends inside a number");
            return;
        }
        uint32_t child = pl_id_map_find(&r->reading->ids[PL_TABLE_PROGRAM_IDS], id);
        if (child == PL_NONE)
            pl_rows_fail(rows, column, "holds %llu, which table programs does not have",
                         (unsigned long long)id);
        const size_t count = p->num_program_children;
        p->arrays.failed = p->arrays.failed || count >= PL_NONE - 1;
        if (pl_arrays_grow(&p->arrays, &p->program_child, count + 1, sizeof *p->program_child))
            p->program_child[p->num_program_children++] = child;
    }
}

static void take_program(reader *r, pl_table_rows *t) {
    enum { TYPE = 1, VARIANT_INDEX, CHILDREN };
    popliner_profile *p = r->profile;
    const size_t i = t->place;
    add_children(r, &t->rows, CHILDREN);
    p->program_type[i] = r->types[t->values[TYPE]];
    p->program_type_name[i] = r->type_names[t->values[TYPE]];
    p->program_compute_set[i] = PL_NONE;
    p->program_called[i] = PL_NONE;
    p->program_repeats[i] = 1;
    p->program_cycles[i] = UINT64_MAX;
    resolve_variant(r, &t->rows, i, t->values[VARIANT_INDEX]);
    if (p->program_cycles[i] == UINT64_MAX)
        p->program_cycles[i] = 0;
    else
        p->program_cycles_source[i] = POPLINER_CYCLES_ESTIMATED;
    p->program_children_start[i + 1] = (uint32_t)p->num_program_children;
    p->program_lists_start[i + 1] = (uint32_t)p->num_program_lists;
}

/* Reads the programs, whose ids are known. */
static void read_programs(reader *r) {
    popliner_profile *p = r->profile;
    pl_outcome *outcome = &r->reading->database.outcome;
    const size_t count = p->num_timed_programs = p->num_programs;
    p->program_children_start = pl_arrays_new(&p->arrays, count + 1, sizeof(uint32_t));
    p->program_lists_start = pl_arrays_new(&p->arrays, count + 1, sizeof(uint32_t));
    pl_profile_allocate(p, &p->num_timed_programs);
    pl_table_rows t = pl_table_open(r->reading, PL_TABLE_PROGRAMS);
    while (t.num_rows < count && pl_table_next(&t))
        take_program(r, &t);
    pl_table_close(&t);
    if (t.num_rows < count)
        pl_outcome_fail(outcome, POPLINER_ERROR_INPUT, "%s: changed while it was being read",
                        r->reading->path);
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

void pl_profile_read_programs(pl_reading *reading) {
    reader r = {.reading = reading, .profile = reading->profile};
    pl_table_read(reading, PL_TABLE_PROGRAM_IDS);
    read_types(&r);
    pl_table_read(reading, PL_TABLE_EXECUTES);
    read_functions(reading);
    pl_table_read(reading, PL_TABLE_CALLS);
    pl_table_read(reading, PL_TABLE_REPEATS);
    for (int number = PL_TABLE_EXCHANGES; number <= PL_TABLE_HOST_COPIES; number++)
        read_exchanges(reading, (pl_table_number)number);
    read_host_lists(reading, PL_TABLE_FROM_HOST, &reading->host[1]);
    read_host_lists(reading, PL_TABLE_TO_HOST, &reading->host[0]);
    read_programs(&r);
    read_steps(reading);
}
