/* Reads what a page tells of a profile, and answers in the place of functions that need more of it.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "wasm/told_profile.h"

#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "costs/triangle.h"

/* ---- reading ---- */

typedef struct reader {
    pl_told_profile *told;
    const uint64_t *next;
    size_t left; /* numbers */
    bool failed;
} reader;

/* The next number, which is whole. */
static uint64_t take(reader *r) {
    r->failed = r->failed || r->left == 0;
    if (r->failed)
        return 0;
    r->left--;
    return *r->next++;
}

static void *make(reader *r, size_t count, size_t item_size) {
    void *items = pl_arrays_new(&r->told->arrays, count + 1, item_size);
    r->failed = r->failed || items == NULL;
    return items;
}

static uint64_t *take_column(reader *r, size_t count) {
    uint64_t *numbers = make(r, count, sizeof *numbers);
    for (size_t i = 0; !r->failed && i < count; i++)
        numbers[i] = take(r);
    return numbers;
}

/* Columns of rows of `stride` numbers. */
static void take_columns(reader *r, size_t num_columns, uint64_t *numbers, size_t count,
                         size_t stride) {
    for (size_t k = 0; k < num_columns; k++)
        for (size_t i = 0; !r->failed && i < count; i++)
            numbers[i * stride + k] = take(r);
}

/* The IPUs of each unit, a number of them before each. */
static void take_ipus(reader *r, size_t num_units) {
    pl_told_profile *t = r->told;
    t->ipus_start = make(r, num_units + 1, sizeof *t->ipus_start);
    t->ipus = make(r, num_units * t->profile.target.num_ipus, sizeof *t->ipus);
    for (size_t unit = 0; !r->failed && unit < num_units; unit++) {
        const size_t count = (size_t)take(r);
        t->ipus_start[unit + 1] = t->ipus_start[unit] + count;
        for (size_t i = 0; !r->failed && i < count; i++)
            t->ipus[t->ipus_start[unit] + i] = (uint32_t)take(r);
    }
}

static void take_chain(reader *r, const char **unit_names, size_t num_units) {
    pl_told_profile *t = r->told;
    pl_chain *chain = &t->chain;
    t->profile.target.num_tiles = (size_t)take(r);
    t->profile.target.bytes_per_tile = take(r);
    t->profile.num_steps = chain->num_steps = (size_t)take(r);
    t->profile.num_categories = (size_t)take(r);
    t->profile.target.num_ipus = (size_t)take(r);
    chain->model = (popliner_memory_model)take(r);
    take(r); /* what follows from it: the chain has a unit without a layer, or an account */
    take(r);
    t->first_may_be_alone = take(r) != 0;
    chain->profile = &t->profile;
    chain->operations = &t->operations;
    chain->layers = &t->layers;
    chain->num_units = num_units;
    chain->labels = t->layers.names = unit_names;
    chain->kind = make(r, num_units, sizeof *chain->kind);
    chain->layer = make(r, num_units, sizeof *chain->layer);
    for (size_t unit = 0; !r->failed && unit < num_units; unit++) {
        chain->kind[unit] = (popliner_unit_kind)take(r);
        chain->layer[unit] = chain->kind[unit] == POPLINER_UNIT_LAYER ? unit + 1 : 0;
    }
    take_ipus(r, num_units);
    t->details.num_units = num_units;
    t->details.cuts_bytes = take_column(r, num_units);
}

static void take_envelope(reader *r, popliner_need need) {
    pl_peak_envelope *tiles = &r->told->details.largest[need];
    tiles->num_intervals = pl_triangle_size(r->told->details.num_units);
    tiles->start = make(r, tiles->num_intervals + 1, sizeof *tiles->start);
    for (size_t i = 0; !r->failed && i < tiles->num_intervals; i++) {
        tiles->num_pieces += (size_t)take(r);
        tiles->start[i + 1] = tiles->num_pieces;
        r->failed = r->failed || tiles->num_pieces > r->left;
    }
    tiles->pieces = make(r, r->failed ? 0 : tiles->num_pieces, sizeof *tiles->pieces);
    take_columns(r, pl_peak_piece_columns(need), (uint64_t *)tiles->pieces,
                 r->failed ? 0 : tiles->num_pieces, sizeof *tiles->pieces / sizeof(uint64_t));
}

/* Names of a column, which count from 1 in the page, by variable. */
static void take_variables(reader *r, size_t num_peaks) {
    pl_stage_details *d = &r->told->details;
    d->variables = make(r, num_peaks, sizeof *d->variables);
    for (size_t i = 0; !r->failed && i < num_peaks; i++) {
        d->variables[i].count = (uint32_t)take(r);
        r->failed = r->failed || d->variables[i].count > POPLINER_DETAIL_VARIABLES;
    }
    for (int column = 0; column < 3; column++)
        for (size_t i = 0; !r->failed && i < num_peaks; i++)
            for (size_t k = 0; k < d->variables[i].count; k++) {
                pl_detail_variables *own = &d->variables[i];
                const uint32_t number = (uint32_t)take(r);
                *(column == 0   ? &own->unlowered[k]
                  : column == 1 ? &own->size_bytes[k]
                                : &own->category[k]) = column == 0 ? number - 1 : number;
                r->failed = r->failed ||
                            (column == 2 && number >= r->told->profile.num_categories) ||
                            (column == 0 && number > r->told->profile.num_unlowered);
            }
}

/* The operations and programs at the steps of the peaks, by name: of others nobody asks. */
static void take_steps(reader *r, const pl_peak_envelope *peaks) {
    pl_told_profile *t = r->told;
    uint32_t *const places[] = {t->chain.operation_of_step, t->profile.step_program};
    for (size_t column = 0; column < 2; column++)
        for (size_t i = 0; !r->failed && i < peaks->num_pieces; i++) {
            const uint32_t number = (uint32_t)take(r);
            r->failed = peaks->pieces[i].step > t->profile.num_steps ||
                        number > t->profile.num_unlowered || r->failed;
            if (!r->failed)
                places[column][peaks->pieces[i].step] = number == 0 ? PL_NONE : number - 1;
        }
}

static void take_stages(reader *r) {
    pl_told_profile *t = r->told;
    pl_stage_details *d = &t->details;
    const size_t num_intervals = pl_triangle_size(d->num_units);
    d->key.max_stages = take(r);
    d->key.is_training = take(r) != 0;
    for (int need = 0; need < POPLINER_NUM_NEEDS; need++)
        d->largest[need].max_copies = (size_t)take(r);
    d->sums = make(r, num_intervals, sizeof *d->sums);
    take_columns(r, PL_NUM_DETAIL_SUMS, (uint64_t *)d->sums, r->failed ? 0 : num_intervals,
                 PL_NUM_DETAIL_SUMS);
    for (int need = 0; need < POPLINER_NUM_NEEDS; need++)
        take_envelope(r, (popliner_need)need);
    const pl_peak_envelope *peaks = &d->largest[POPLINER_NEED_EXPECTED];
    take_variables(r, peaks->num_pieces);
    take_steps(r, peaks);
}

/* Sets the texts, all of which variables, operations and programs share: all texts of some values
 * of the table, `json`. */
static void take_names(reader *r, const pl_json_token *const values[3], const char *json) {
    pl_told_profile *t = r->told;
    popliner_profile *p = &t->profile;
    size_t count = 0;
    for (size_t i = 0; i < 3; i++)
        count += values[i]->size;
    pl_string *at = make(r, count, sizeof *at);
    count = 0;
    for (size_t i = 0; !r->failed && i < 3; i++)
        for (const pl_json_token *own = values[i]; own < values[i] + values[i]->size; own++)
            if (own->kind == '"')
                at[count++] = (pl_string)(own->text - json);
    if (r->failed || count < 1 + p->num_categories) {
        r->failed = true;
        return;
    }
    p->strings = (char *)json;
    p->num_unlowered = p->num_programs = t->operations.count = count - 1 - p->num_categories;
    t->operations.items = make(r, t->operations.count, sizeof *t->operations.items);
    t->chain.operation_of_step = make(r, p->num_steps, sizeof(uint32_t));
    p->step_program = make(r, p->num_steps, sizeof(uint32_t));
    if (r->failed)
        return;
    memset(t->chain.operation_of_step, 0xff, (p->num_steps + 1) * sizeof(uint32_t));
    memset(p->step_program, 0xff, (p->num_steps + 1) * sizeof(uint32_t));
    p->category_name = at + 1;
    p->unlowered_name = p->program_name = at + 1 + p->num_categories;
    for (size_t i = 0; i < t->operations.count; i++)
        t->operations.items[i].name = p->strings + p->unlowered_name[i];
}

pl_told_profile *pl_told_profile_read(const pl_json_token *table, char *json,
                                      const char **unit_names, size_t num_units) {
    const pl_json_token *stages = pl_json_token_member(table, "stages");
    const pl_json_token *columns[] = {pl_json_token_member(table, "facts"),
                                      pl_json_token_member(table, "cuts"), stages};
    const pl_json_token *texts[] = {pl_json_token_member(table, "memory_model"),
                                    pl_json_token_member(table, "categories"),
                                    pl_json_token_member(table, "names_at_peaks")};
    pl_arrays arrays = {0};
    pl_json_token_numbers numbers = {.arrays = &arrays};
    reader r = {calloc(1, sizeof *r.told), NULL, 0, false};
    for (size_t i = 0; i < 3; i++) {
        r.failed = r.failed || columns[i] == NULL || texts[i] == NULL;
        if (!r.failed)
            pl_json_token_numbers_add(&numbers, columns[i]);
    }
    r.failed = r.failed || r.told == NULL || arrays.failed;
    r.next = numbers.items;
    r.left = numbers.count;
    if (!r.failed)
        take_chain(&r, unit_names, num_units);
    if (!r.failed)
        take_names(&r, texts, json);
    if (!r.failed)
        take_stages(&r);
    pl_arrays_free(&arrays);
    if (!r.failed && r.left == 0)
        return r.told;
    pl_told_profile_free(r.told);
    return NULL;
}

void pl_told_profile_free(pl_told_profile *told) {
    if (told != NULL)
        pl_arrays_free(&told->arrays);
    free(told);
}

/* ---- in place of others' functions ---- */

static const pl_told_profile *told_of(const pl_chain *chain) {
    return (const pl_told_profile *)(const void *)chain;
}

bool pl_chain_has_operations(const pl_chain *chain, size_t unit) {
    return unit > 0 || told_of(chain)->first_may_be_alone;
}

popliner_status pl_stage_ipus_count(const pl_chain *chain, const popliner_interval *stages,
                                    size_t num_stages, size_t *num_ipus, popliner_error *error) {
    const pl_told_profile *t = told_of(chain);
    uint8_t *is_used = pl_new_array(t->profile.target.num_ipus + 1, sizeof *is_used);
    *num_ipus = 0;
    if (is_used == NULL)
        return pl_fail_memory(error, "the IPUs of a stage");
    for (size_t i = 0; i < num_stages; i++)
        for (size_t k = t->ipus_start[stages[i].first_unit];
             k < t->ipus_start[stages[i].last_unit + 1]; k++) {
            *num_ipus += is_used[t->ipus[k]] == 0;
            is_used[t->ipus[k]] = 1;
        }
    free(is_used);
    return POPLINER_OK;
}

const char *pl_profile_program_name(const popliner_profile *p, size_t program) {
    return pl_profile_string(p, p->program_name[program]);
}
