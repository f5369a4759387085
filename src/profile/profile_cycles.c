/* How long programs take: estimates of the compiler, or what the steps of the execution measured,
 * and how often Repeats repeat. All of it is optional.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "profile/profile_data.h"

#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "base/growth.h"
#include "profile/blob_codec.h"
#include "profile/profile_part.h"

/* So that sums and products of a few of them stay within 64 bits, and far from it. */
static const uint64_t max_cycles = UINT64_MAX / 4096;

static uint64_t add_cycles(uint64_t a, uint64_t b) {
    return b > max_cycles || a > max_cycles - b ? max_cycles : a + b;
}

/* Numbers by id: cycles of the rows of a table, for example. */
typedef struct numbers {
    pl_id_map ids;
    uint64_t *values;
    size_t count;
    size_t capacity;
} numbers;

static void free_numbers(numbers *n) {
    pl_id_map_free(&n->ids);
    free(n->values);
}

/* The ids must be sorted before they are looked for. */
static bool add_number(numbers *n, uint64_t id, uint64_t value) {
    if (n->count >= PL_NONE - 1 ||
        !pl_grow(&n->values, &n->capacity, n->count + 1, sizeof *n->values))
        return false;
    n->values[n->count] = value;
    return pl_id_map_add(&n->ids, id, n->count++);
}

static bool find_number(const numbers *n, uint64_t id, uint64_t *value) {
    uint32_t index = pl_id_map_find(&n->ids, id);
    if (index != PL_NONE)
        *value = n->values[index];
    return index != PL_NONE;
}

/* How many numbers runs have; 0 where they are damaged. */
static uint64_t count_runs(const uint8_t *rle, size_t size_bytes) {
    pl_runs runs = pl_runs_begin(rle, size_bytes);
    uint64_t count = 0;
    uint64_t value;
    uint64_t length;
    int got;
    while ((got = pl_runs_next(&runs, &value, &length)) > 0)
        count = length < UINT64_MAX - count ? count + length : UINT64_MAX;
    return got < 0 ? 0 : count;
}

/* The cycles of the slowest tile in each row of compilation_cycles_by_tile, by id. A row is of the
 * tiles of one IPU, as far as is known; of one that is of all tiles those of the part count. */
static popliner_status read_slowest_tiles(const pl_database *database, const pl_part *part,
                                          size_t num_tiles, numbers *slowest,
                                          popliner_error *error) {
    static const pl_column columns[] = {{"id", false}, {"cycles_by_tile_rle", false}};
    static const pl_table table = {"compilation_cycles_by_tile", PL_TABLE_OPTIONAL, columns, 2, ""};
    pl_rows rows = {0};
    bool more = false;
    popliner_status status = pl_rows_open(&rows, database, &table, error);
    while (status == POPLINER_OK && (status = pl_rows_next(&rows, &more, error)) == POPLINER_OK &&
           more) {
        uint64_t id;
        if (!pl_rows_told(&rows, 0, &id) || pl_rows_is_null(&rows, 1))
            continue;
        size_t size_bytes;
        const uint8_t *rle = pl_rows_blob(&rows, 1, &size_bytes);
        pl_runs runs = pl_runs_begin(rle, size_bytes);
        uint64_t most = 0;
        uint64_t value;
        uint64_t length;
        int got;
        bool is_cut = !part->is_all && count_runs(rle, size_bytes) == num_tiles;
        uint64_t tile = 0;
        while ((got = pl_runs_next(&runs, &value, &length)) > 0) {
            bool counts = !is_cut || (tile < part->end_tile && tile + length > part->first_tile);
            most = counts && value > most ? value : most;
            tile += is_cut ? length : 0;
        }
        if (got < 0)
            status = pl_rows_fail(&rows, 1, error, "is damaged: it ends inside a number or a run");
        else if (!add_number(slowest, id, most < max_cycles ? most : max_cycles))
            status = pl_fail_memory(error, "the cycles of the programs");
    }
    pl_rows_close(&rows);
    pl_id_map_sort(&slowest->ids);
    return status;
}

/* The estimates of a table whose rows refer to compilation_cycles_by_tile, one id per IPU: the
 * slowest IPU of the part counts. With `numbering` rows are known by the numbers that it gives to
 * ids. */
static popliner_status read_estimates(const pl_database *database, const pl_part *part,
                                      const pl_table *table, const pl_id_map *numbering,
                                      const numbers *slowest, numbers *estimates,
                                      popliner_error *error) {
    pl_rows rows = {0};
    bool more = false;
    popliner_status status = pl_rows_open(&rows, database, table, error);
    while (status == POPLINER_OK && (status = pl_rows_next(&rows, &more, error)) == POPLINER_OK &&
           more) {
        uint64_t id;
        size_t size_bytes;
        const uint8_t *cursor = pl_rows_blob(&rows, 1, &size_bytes);
        const uint8_t *end = cursor + size_bytes;
        uint64_t most = 0;
        bool is_known = false;
        size_t place = 0;
        size_t count = 0;
        if (!pl_rows_told(&rows, 0, &id))
            continue;
        pl_varint_list_count(cursor, size_bytes, &count);
        if (numbering != NULL)
            id = pl_id_map_find(numbering, id);
        while (status == POPLINER_OK && cursor < end) {
            uint64_t reference;
            uint64_t cycles;
            if (!pl_varint_read(&cursor, end, &reference)) {
                status = pl_rows_fail(&rows, 1, error, "is damaged: it ends inside a number");
            } else if (pl_part_has_place(part, place++, count) &&
                       find_number(slowest, reference, &cycles)) {
                is_known = true;
                most = cycles > most ? cycles : most;
            }
        }
        if (status == POPLINER_OK && is_known && !add_number(estimates, id, most))
            status = pl_fail_memory(error, "the cycles of the programs");
    }
    pl_rows_close(&rows);
    pl_id_map_sort(&estimates->ids);
    return status;
}

static popliner_status read_repeats(const pl_database *database, numbers *repeats,
                                    popliner_error *error) {
    static const pl_column columns[] = {{"id", false}, {"repeat_count", false}};
    static const pl_table table = {"program_type_repeat", PL_TABLE_OPTIONAL, columns, 2, ""};
    pl_rows rows = {0};
    bool more = false;
    popliner_status status = pl_rows_open(&rows, database, &table, error);
    while (status == POPLINER_OK && (status = pl_rows_next(&rows, &more, error)) == POPLINER_OK &&
           more) {
        uint64_t id;
        uint64_t count;
        if (pl_rows_told(&rows, 0, &id) && pl_rows_told(&rows, 1, &count) &&
            !add_number(repeats, id, count < UINT32_MAX ? count : UINT32_MAX))
            status = pl_fail_memory(error, "the repeats");
    }
    pl_rows_close(&rows);
    pl_id_map_sort(&repeats->ids);
    return status;
}

/* What the tables of program types tell, by the id of the row. */
enum { EXECUTES, DO_EXCHANGES, GLOBAL_EXCHANGES, CODE_COPIES, STREAM_COPIES, NUM_TABLES };

static const struct {
    const char *name;
    pl_column columns[2];
    popliner_program_type type;
} tables[NUM_TABLES] = {
    [EXECUTES] = {"compute_sets",
                  {{"compute_set", false}, {"cycles_by_tile_ids", false}},
                  POPLINER_PROGRAM_ON_TILE_EXECUTE},
    [DO_EXCHANGES] = {"program_type_do_exchange",
                      {{"id", false}, {"cycles_by_tile_ids", false}},
                      POPLINER_PROGRAM_DO_EXCHANGE},
    [GLOBAL_EXCHANGES] = {"program_type_global_exchange",
                          {{"id", false}, {"estimated_cycles_by_tile_ids", false}},
                          POPLINER_PROGRAM_GLOBAL_EXCHANGE},
    [CODE_COPIES] = {"program_type_code_copy",
                     {{"id", false}, {"cycles_by_tile_ids", false}},
                     POPLINER_PROGRAM_CODE_COPY},
    [STREAM_COPIES] = {"program_type_stream_copy_mid",
                       {{"id", false}, {"estimated_cycles_by_tile_ids", false}},
                       POPLINER_PROGRAM_STREAM_COPY_MID},
};

/* Gives every program its estimate, and its repeats. */
static popliner_status estimate_programs(const pl_database *database, popliner_profile *p,
                                         const numbers estimates[NUM_TABLES],
                                         const numbers *repeats, popliner_error *error) {
    static const pl_column columns[] = {{"variant_index", false}};
    static const pl_table programs = {"programs", PL_TABLE_REQUIRED, columns, 1, "ORDER BY rowid"};
    pl_rows rows = {0};
    bool more = false;
    size_t program = 0;
    popliner_status status = pl_rows_open(&rows, database, &programs, error);
    for (; status == POPLINER_OK && program < p->num_programs; program++) {
        if ((status = pl_rows_next(&rows, &more, error)) != POPLINER_OK || !more)
            break;
        popliner_program_type type = (popliner_program_type)p->program_type[program];
        uint64_t index = UINT64_MAX;
        uint64_t value;
        if (type == POPLINER_PROGRAM_ON_TILE_EXECUTE)
            index = p->program_compute_set[program];
        else
            pl_rows_told(&rows, 0, &index);
        if (type == POPLINER_PROGRAM_REPEAT && find_number(repeats, index, &value))
            p->program_repeats[program] = (uint32_t)value;
        for (int table = 0; table < NUM_TABLES; table++) {
            if (type == tables[table].type && find_number(&estimates[table], index, &value)) {
                p->program_cycles[program] = value;
                p->program_cycles_source[program] = POPLINER_CYCLES_ESTIMATED;
            }
        }
    }
    pl_rows_close(&rows);
    return status;
}

/* Replaces all estimates if anything was measured: the two are not to be mixed. A program takes the
 * mean of its executions, each as long as on its slowest IPU. */
static popliner_status measure_programs(popliner_profile *p, popliner_error *error) {
    uint64_t *cycles = pl_new_array(p->num_programs, sizeof *cycles);
    uint64_t *executions = pl_new_array(p->num_programs, sizeof *executions);
    bool is_measured = false;
    popliner_status status = cycles == NULL || executions == NULL
                                 ? pl_fail_memory(error, "the steps of the execution")
                                 : POPLINER_OK;
    for (size_t step = 0; status == POPLINER_OK && step < p->num_execution_steps; step++) {
        uint32_t program = p->execution_program[step];
        if (program == PL_NONE ||
            p->execution_ipus_start[step] == p->execution_ipus_start[step + 1])
            continue;
        cycles[program] = add_cycles(cycles[program], pl_profile_execution_cycles(p, step));
        executions[program]++;
        is_measured = true;
    }
    for (size_t i = 0; is_measured && i < p->num_programs; i++) {
        bool ran = executions[i] > 0;
        p->program_cycles[i] = ran ? (cycles[i] + executions[i] / 2) / executions[i] : 0;
        p->program_cycles_source[i] = ran ? POPLINER_CYCLES_MEASURED : POPLINER_CYCLES_NONE;
    }
    free(cycles);
    free(executions);
    return status;
}

popliner_status pl_profile_read_cycles(const pl_database *database, const pl_part *part,
                                       popliner_profile *p, const pl_profile_ids *ids,
                                       popliner_error *error) {
    numbers slowest = {0};
    numbers repeats = {0};
    numbers estimates[NUM_TABLES] = {{.count = 0}};
    p->program_cycles = pl_new_array(p->num_programs, sizeof *p->program_cycles);
    p->program_cycles_source = pl_new_array(p->num_programs, sizeof *p->program_cycles_source);
    p->program_repeats = pl_new_array(p->num_programs, sizeof *p->program_repeats);
    popliner_status status =
        p->program_cycles == NULL || p->program_cycles_source == NULL || p->program_repeats == NULL
            ? pl_fail_memory(error, "the cycles of the programs")
            : read_slowest_tiles(database, part, p->target.num_tiles, &slowest, error);
    for (size_t i = 0; status == POPLINER_OK && i < p->num_programs; i++)
        p->program_repeats[i] = 1;
    for (int i = 0; status == POPLINER_OK && i < NUM_TABLES; i++) {
        const pl_table table = {tables[i].name, PL_TABLE_OPTIONAL, tables[i].columns, 2, ""};
        status = read_estimates(database, part, &table, i == EXECUTES ? &ids->compute_sets : NULL,
                                &slowest, &estimates[i], error);
    }
    if (status == POPLINER_OK)
        status = read_repeats(database, &repeats, error);
    if (status == POPLINER_OK)
        status = estimate_programs(database, p, estimates, &repeats, error);
    if (status == POPLINER_OK)
        status = measure_programs(p, error);
    if (status == POPLINER_OK) {
        p->num_timed_programs = p->num_programs;
        /* without any cycles, nobody asks for the repeats either */
        if (pl_profile_cycles_source(p) == POPLINER_CYCLES_NONE)
            p->num_timed_programs = 0;
    }
    free_numbers(&slowest);
    free_numbers(&repeats);
    for (int table = 0; table < NUM_TABLES; table++)
        free_numbers(&estimates[table]);
    return status;
}
