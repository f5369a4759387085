/* Reads what a page tells of a profile, and answers in the place of functions that need more of it.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "wasm/told_profile.h"

#include <stdlib.h>
#include <string.h>

/* ---- reading ---- */

typedef struct reader {
    pl_told_profile *told;
    const uint64_t *next; /* facts of the chain */
    size_t left;
    pl_arrays arrays; /* own the numbers of lists */
    bool failed;
} reader;

/* Reads the numbers of a member; none on failure. */
static const uint64_t *numbers_of(reader *r, const pl_json_token *object, const char *name,
                                  size_t *count) {
    const pl_json_token *list = pl_json_token_member(object, name);
    const uint64_t *numbers =
        list == NULL || r->failed ? NULL : pl_json_token_numbers(&r->arrays, list, count);
    r->failed = numbers == NULL;
    if (r->failed)
        *count = 0;
    return numbers;
}

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

static void take_chain(reader *r, const char **unit_names, size_t num_units) {
    pl_told_profile *t = r->told;
    pl_chain *chain = &t->chain;
    t->profile.target.num_tiles = (size_t)take(r);
    t->profile.target.bytes_per_tile = take(r);
    t->profile.num_steps = chain->num_steps = (size_t)take(r);
    t->profile.target.num_ipus = (size_t)take(r);
    chain->model = (popliner_memory_model)take(r);
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
    const size_t num_marks = r->left;
    r->failed = r->failed || num_marks != num_units * t->profile.target.num_ipus;
    t->is_on_ipu = make(r, num_marks, sizeof *t->is_on_ipu);
    for (size_t i = 0; !r->failed && i < num_marks; i++)
        t->is_on_ipu[i] = take(r) != 0;
}

/* The texts of a member, which refer to `json`. */
static pl_string *take_texts(reader *r, const pl_json_token *table, const char *name,
                             const char *json, size_t *count) {
    const pl_json_token *list = pl_json_token_member(table, name);
    pl_string *texts = make(r, list == NULL ? 0 : list->size, sizeof *texts);
    *count = 0;
    r->failed = r->failed || list == NULL;
    for (const pl_json_token *own = NULL;
         !r->failed && (own = pl_json_token_next(list, own)) != NULL;) {
        r->failed = own->kind != '"';
        texts[(*count)++] = (pl_string)(own->text - json);
    }
    return texts;
}

/* Variables, operations and programs share all names at the peaks. */
static void take_names(reader *r, const pl_json_token *table, char *json) {
    pl_told_profile *t = r->told;
    popliner_profile *p = &t->profile;
    p->strings = json;
    p->category_name = take_texts(r, table, "categories", json, &p->num_categories);
    p->unlowered_name = p->program_name =
        take_texts(r, table, "names_at_peaks", json, &p->num_unlowered);
    p->num_programs = t->operations.count = p->num_unlowered;
    t->operations.items = make(r, t->operations.count, sizeof *t->operations.items);
    t->chain.operation_of_step = make(r, p->num_steps, sizeof(uint32_t));
    p->step_program = make(r, p->num_steps, sizeof(uint32_t));
    if (r->failed)
        return;
    memset(t->chain.operation_of_step, 0xff, (p->num_steps + 1) * sizeof(uint32_t));
    memset(p->step_program, 0xff, (p->num_steps + 1) * sizeof(uint32_t));
    for (size_t i = 0; i < t->operations.count; i++)
        t->operations.items[i].name = p->strings + p->unlowered_name[i];
}

/* Fills a field of the details with the columns of a member of its name, or this one. */
static void take_field(reader *r, const pl_field *field, const pl_json_token *object,
                       const char *name) {
    size_t num_numbers;
    const uint64_t *numbers = numbers_of(r, object, name, &num_numbers);
    const size_t num_columns = pl_details_columns(field);
    const size_t num_items = num_numbers / num_columns;
    const size_t count = num_items - field->extra_items;
    r->failed = r->failed || num_items < field->extra_items || num_numbers % num_columns != 0 ||
                (*field->count != SIZE_MAX && *field->count != count);
    *field->count = count;
    pl_field_set_items(field, make(r, r->failed ? 0 : num_items, field->item_size));
    for (size_t i = 0; !r->failed && i < num_numbers; i++)
        pl_details_set_number(field, i % num_items, i / num_items, numbers[i]);
}

/* The operations and programs at the steps of the peaks, by name: of others nobody asks. */
static void take_steps(reader *r, const pl_json_token *stages, const char *name,
                       uint32_t *of_step) {
    const pl_peak_envelope *peaks = &r->told->details.largest[POPLINER_NEED_EXPECTED];
    size_t count;
    const uint64_t *numbers = numbers_of(r, stages, name, &count);
    r->failed = r->failed || count != peaks->num_pieces;
    for (size_t i = 0; !r->failed && i < count; i++) {
        r->failed = numbers[i] > r->told->profile.num_unlowered;
        of_step[peaks->pieces[i].step] = (uint32_t)numbers[i] - 1;
    }
}

static void take_stages(reader *r, const pl_json_token *table, const pl_json_token *stages) {
    pl_told_profile *t = r->told;
    pl_stage_details *d = &t->details;
    pl_field fields[PL_DETAILS_FIELDS];
    const size_t num_fields = pl_details_fields(d, fields);
    size_t key_size;
    size_t num_needs;
    const uint64_t *key = numbers_of(r, stages, "key", &key_size);
    const uint64_t *max_copies = numbers_of(r, stages, "max_copies", &num_needs);
    r->failed =
        r->failed || key_size != sizeof d->key / sizeof *key || num_needs != POPLINER_NUM_NEEDS;
    if (r->failed)
        return;
    memcpy(&d->key, key, sizeof d->key);
    for (size_t need = 0; need < POPLINER_NUM_NEEDS; need++)
        d->largest[need].max_copies = (size_t)max_copies[need];
    for (size_t i = 0; i < num_fields; i++)
        *fields[i].count = SIZE_MAX;
    for (size_t i = 0; i + 1 < num_fields; i++)
        take_field(r, &fields[i], stages, fields[i].name);
    take_field(r, &fields[num_fields - 1], table, "cuts");
    for (size_t i = 0; !r->failed && i < d->largest[POPLINER_NEED_EXPECTED].num_pieces; i++)
        for (size_t k = 0; k < POPLINER_DETAIL_VARIABLES; k++)
            d->variables[i].unlowered[k]--; /* names count from 1 in the page */
    r->failed = r->failed || !pl_details_check(d, t->chain.num_units, &t->profile);
    take_steps(r, stages, "operations", t->chain.operation_of_step);
    take_steps(r, stages, "programs", t->profile.step_program);
}

pl_told_profile *pl_told_profile_read(const pl_json_token *table, char *json,
                                      const char **unit_names, size_t num_units) {
    const pl_json_token *stages = pl_json_token_member(table, "stages");
    reader r = {.told = calloc(1, sizeof *r.told)};
    r.next = numbers_of(&r, table, "facts", &r.left);
    r.failed = r.failed || r.told == NULL;
    if (!r.failed)
        take_chain(&r, unit_names, num_units);
    if (!r.failed)
        take_names(&r, table, json);
    if (!r.failed)
        take_stages(&r, table, stages);
    pl_arrays_free(&r.arrays);
    if (!r.failed)
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
    const size_t all_ipus = t->profile.target.num_ipus;
    (void)error;
    *num_ipus = 0;
    for (size_t ipu = 0; ipu < all_ipus; ipu++) {
        bool is_used = false;
        for (size_t i = 0; i < num_stages; i++)
            for (size_t unit = stages[i].first_unit; unit <= stages[i].last_unit; unit++)
                is_used = is_used || t->is_on_ipu[unit * all_ipus + ipu] != 0;
        *num_ipus += is_used;
    }
    return POPLINER_OK;
}

const char *pl_profile_program_name(const popliner_profile *p, size_t program) {
    return pl_profile_string(p, p->program_name[program]);
}
