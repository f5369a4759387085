/* Compares two tables row by row and column by column; checks bounds of growth.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/growth.h"
#include "base/keys.h"
#include "base/numbers.h"
#include "tables/changes_data.h"

/* ---- stored tables ---- */

size_t pl_kept_num_rows(const pl_sheet *sheet) {
    return sheet->num_columns == 0 ? 0 : sheet->num_cells / sheet->num_columns;
}

static const char *text_of(const pl_sheet *sheet, const pl_cell *cell) {
    return cell->kind == PL_CELL_TEXT ? sheet->names.items[cell->value.number] : "";
}

size_t pl_kept_column(const pl_sheet *sheet, const char *name) {
    for (size_t i = 0; i < sheet->num_columns; i++)
        if (strcmp(sheet->columns[i], name) == 0)
            return i;
    return SIZE_MAX;
}

static const pl_cell *cell_of(const pl_sheet *sheet, size_t row, size_t column) {
    return &sheet->cells[row * sheet->num_columns + column];
}

const char *pl_kept_text(const pl_sheet *sheet, size_t row, size_t column) {
    return text_of(sheet, cell_of(sheet, row, column));
}

bool pl_kept_number(const pl_sheet *sheet, size_t row, size_t column, int64_t *number) {
    const pl_cell *cell = cell_of(sheet, row, column);
    *number = 0;
    if (cell->kind == PL_CELL_NUMBER) /* numbers of profiles are never larger */
        *number = cell->value.number > INT64_MAX ? INT64_MAX : (int64_t)cell->value.number;
    else if (cell->kind == PL_CELL_SIGNED)
        *number = cell->value.signed_number;
    return cell->kind == PL_CELL_NUMBER || cell->kind == PL_CELL_SIGNED;
}

/* ---- differences ---- */

int64_t pl_change_of(const popliner_change *d) {
    if (d->before < 0 && d->now > INT64_MAX + d->before)
        return INT64_MAX;
    if (d->before > 0 && d->now < INT64_MIN + d->before)
        return INT64_MIN;
    return d->now - d->before;
}

bool pl_change_percent(const popliner_change *d, double *percent) {
    if (!d->has_before || !d->has_now || d->before <= 0)
        return false;
    *percent = (double)pl_change_of(d) / (double)d->before * 100;
    return true;
}

bool pl_change_is_one(const popliner_change *d) {
    return d->presence != POPLINER_ON_BOTH_SIDES || d->has_before != d->has_now ||
           (d->has_before && d->before != d->now);
}

const char *pl_changes_name(pl_changes *changes, const char *name) {
    size_t number = pl_names_number(&changes->names, name);
    if (number != SIZE_MAX)
        return changes->names.items[number];
    changes->arrays.failed = true;
    return "";
}

void pl_changes_add(pl_changes *c, const popliner_change *difference) {
    if (!pl_arrays_grow(&c->arrays, &c->items, c->info.num_changes + 1, sizeof *c->items))
        return;
    c->items[c->info.num_changes++] = *difference;
    c->info.num_changed += pl_change_is_one(difference);
}

/* ---- rows of two tables ---- */

/* Returns a row's text or number in a column, as a name. */
static const char *row_name(pl_changes *c, const pl_sheet *sheet, size_t row, size_t column) {
    const pl_cell *cell = cell_of(sheet, row, column);
    char digits[24];
    if (cell->kind != PL_CELL_NUMBER)
        return pl_changes_name(c, text_of(sheet, cell));
    snprintf(digits, sizeof digits, "%" PRIu64, cell->value.number);
    return pl_changes_name(c, digits);
}

/* The key by which a row is matched: names of the comparison, and how many rows before it have the
 * same. */
typedef struct row_key {
    const char *kind; /* NULL: rows are matched without it */
    const char *name;
    size_t number;
} row_key;

/* The rows of both tables that are matched, plus 1; 0: absent. */
typedef struct row_pair {
    size_t rows[PL_NUM_SIDES];
} row_pair;

/* Finds the pair of each row: those of `now` in their order, then those that only `before` has. */
static row_pair *pair_rows(pl_changes *c, pl_keys *keys, const pl_pairing *pairing,
                           const pl_sheet *const sheets[PL_NUM_SIDES]) {
    row_pair *pairs = NULL;
    for (int side = PL_NUM_SIDES; side-- > 0;) {
        const pl_sheet *sheet = sheets[side];
        const size_t kind = pairing->kind == NULL ? 0 : pl_kept_column(sheet, pairing->kind);
        const size_t name = pl_kept_column(sheet, pairing->name);
        for (size_t row = 0; row < pl_kept_num_rows(sheet); row++) {
            row_key key = {pairing->kind == NULL ? NULL : row_name(c, sheet, row, kind),
                           row_name(c, sheet, row, name), 0};
            size_t *own;
            do {
                const size_t count = keys->count;
                const size_t pair = pl_keys_number(keys, &key);
                if (!pl_arrays_grow(keys->arrays, &pairs, keys->count, sizeof *pairs))
                    return NULL;
                if (pair == count)
                    pairs[pair] = (row_pair){{0}};
                own = &pairs[pair].rows[side];
                key.number++;
            } while (*own != 0);
            *own = row + 1;
        }
    }
    return pairs;
}

static bool is_quantity(const char *column) {
    static const char bytes[] = "_bytes";
    const size_t end = sizeof bytes - 1;
    size_t length = strlen(column);
    return (length > end && strcmp(column + length - end, bytes) == 0) ||
           strcmp(column, "cycles") == 0 || strcmp(column, "num_operations") == 0;
}

/* A column of quantities, and its index in each table; SIZE_MAX: absent. */
typedef struct compared_column {
    const char *name;
    size_t place[PL_NUM_SIDES];
} compared_column;

/* Returns the columns of `now`, then those that only `before` has; NULL when memory is short. */
static compared_column *find_columns(pl_changes *c, pl_arrays *arrays,
                                     const pl_sheet *const sheets[PL_NUM_SIDES], size_t *count) {
    compared_column *columns = pl_arrays_new(
        arrays, sheets[PL_BEFORE]->num_columns + sheets[PL_NOW]->num_columns, sizeof *columns);
    *count = 0;
    for (int side = PL_NUM_SIDES; side-- > 0;)
        for (size_t i = 0; columns != NULL && i < sheets[side]->num_columns; i++) {
            const char *name = sheets[side]->columns[i];
            const size_t before = pl_kept_column(sheets[PL_BEFORE], name);
            const size_t now = pl_kept_column(sheets[PL_NOW], name);
            if (is_quantity(name) && (side == PL_NOW || now == SIZE_MAX))
                columns[(*count)++] = (compared_column){pl_changes_name(c, name), {before, now}};
        }
    return columns;
}

/* Reads the quantity of a row, which counts from 1: 0 in a column that its table lacks. */
static bool take_number(const pl_sheet *sheet, size_t row, size_t column, int64_t *number) {
    *number = 0;
    return row != 0 && (column == SIZE_MAX || pl_kept_number(sheet, row - 1, column, number));
}

void pl_changes_add_tables(pl_changes *c, const pl_pairing *pairing, const pl_sheet *before,
                           const pl_sheet *now) {
    const pl_sheet *const sheets[PL_NUM_SIDES] = {[PL_BEFORE] = before, [PL_NOW] = now};
    pl_arrays own = {0};
    pl_keys keys = {.arrays = &own, .key_size = sizeof(row_key)};
    const char *what = pairing->what == NULL ? NULL : pl_changes_name(c, pairing->what);
    size_t num_columns = 0;
    const compared_column *columns = find_columns(c, &own, sheets, &num_columns);
    const row_pair *pairs = pair_rows(c, &keys, pairing, sheets);
    c->arrays.failed = c->arrays.failed || own.failed;
    for (size_t i = 0; !c->arrays.failed && i < keys.count * num_columns; i++) {
        const row_key *key = pl_key_at(&keys, i / num_columns);
        const size_t *rows = pairs[i / num_columns].rows;
        const compared_column *column = &columns[i % num_columns];
        popliner_change d = {
            .what = what != NULL ? what : key->kind,
            .name = key->name,
            .quantity = column->name,
            .presence = rows[PL_NOW] == 0      ? POPLINER_ONLY_BEFORE
                        : rows[PL_BEFORE] == 0 ? POPLINER_ONLY_NOW
                                               : POPLINER_ON_BOTH_SIDES,
        };
        d.has_before = take_number(before, rows[PL_BEFORE], column->place[PL_BEFORE], &d.before);
        d.has_now = take_number(now, rows[PL_NOW], column->place[PL_NOW], &d.now);
        pl_changes_add(c, &d);
    }
    pl_arrays_free(&own);
}

/* ---- the public interface ---- */

void popliner_changes_free(popliner_changes *callers) {
    pl_changes *changes = (pl_changes *)callers;
    if (changes == NULL)
        return;
    pl_arrays_free(&changes->arrays);
    pl_names_free(&changes->names);
    free(changes);
}

/* ---- bounds of growth ---- */

/* The quantities that each kind of bound limits. */
static const struct {
    const char *name;
    const char *what; /* NULL: units of any kind */
    const char *quantity;
} kinds[POPLINER_NUM_GROWTHS] = {
    [POPLINER_GROWTH_LARGEST_TILE] = {"largest-tile", "", ""}, /* the quantity that decides */
    [POPLINER_GROWTH_TILES] = {"tiles", "tile", "live_bytes"},
    [POPLINER_GROWTH_CATEGORIES] = {"categories", "category", "variables_bytes"},
    [POPLINER_GROWTH_LAYERS] = {"layers", NULL, "total_bytes"},
    [POPLINER_GROWTH_STAGES] = {"stages", "stage", "need_bytes"},
    [POPLINER_GROWTH_CYCLES] = {"cycles", "device", "cycles"},
};

const char *pl_growth_name(popliner_growth of) {
    return (unsigned)of < POPLINER_NUM_GROWTHS ? kinds[of].name : NULL;
}

static bool is_of_unit(const char *what) {
    return strcmp(what, "head") == 0 || strcmp(what, "layer") == 0 || strcmp(what, "tail") == 0 ||
           strcmp(what, "unlayered") == 0;
}

bool pl_change_grew(const popliner_change *d, double max_percent) {
    static const uint64_t parts_of_one = 100000000; /* millionths of a percent */
    if (!d->has_before || !d->has_now || d->now <= d->before)
        return false;
    const double parts = max_percent * 1e6 + 0.5;
    if (!(parts < 1e19)) /* also false for NaN */
        return false;
    const uint64_t grown[] = {(uint64_t)pl_change_of(d), parts_of_one};
    const uint64_t allowed[] = {d->before < 0 ? 0 : (uint64_t)d->before,
                                parts < 0 ? 0 : (uint64_t)parts};
    const pl_product left = pl_product_of(grown, 2);
    const pl_product right = pl_product_of(allowed, 2);
    return pl_product_compare(&left, &right) > 0;
}

static bool is_of(const pl_changes *c, size_t place, popliner_growth of) {
    const popliner_change *d = &c->items[place];
    if (of == POPLINER_GROWTH_LARGEST_TILE)
        return place == c->deciding;
    return strcmp(d->quantity, kinds[of].quantity) == 0 &&
           (kinds[of].what == NULL ? is_of_unit(d->what) : strcmp(d->what, kinds[of].what) == 0);
}

/* Sorts by the share grown / before, the largest first, by products. The items of a list are in one
 * array. */
static int compare_shares(const void *left, const void *right) {
    const popliner_change *a = *(const popliner_change *const *)left;
    const popliner_change *b = *(const popliner_change *const *)right;
    const uint64_t own[] = {(uint64_t)pl_change_of(a), b->before < 0 ? 0 : (uint64_t)b->before};
    const uint64_t other[] = {(uint64_t)pl_change_of(b), a->before < 0 ? 0 : (uint64_t)a->before};
    const pl_product own_share = pl_product_of(own, 2);
    const pl_product other_share = pl_product_of(other, 2);
    int order = pl_product_compare(&other_share, &own_share);
    if ((a->before <= 0) != (b->before <= 0))
        order = a->before <= 0 ? -1 : 1;
    return order != 0 ? order : (a > b) - (a < b);
}

static void hold(pl_changes *c, popliner_growth of) {
    popliner_changes *info = &c->info;
    const popliner_change **exceeded = NULL;
    for (size_t i = 0; i < c->info.num_changes; i++) {
        if (!is_of(c, i, of))
            continue;
        info->num_compared[of] += c->items[i].has_before && c->items[i].has_now;
        if (!pl_change_grew(&c->items[i], info->max_percents[of]))
            continue;
        if (!pl_arrays_grow(&c->arrays, &exceeded, info->num_exceeded[of] + 1, sizeof *exceeded))
            return;
        exceeded[info->num_exceeded[of]++] = &c->items[i];
        info->exceeded[of] = exceeded;
    }
    if (info->num_exceeded[of] > 0)
        qsort(exceeded, info->num_exceeded[of], sizeof *exceeded, compare_shares);
}

void pl_changes_hold(pl_changes *c, const double max_percents[POPLINER_NUM_GROWTHS]) {
    memcpy(c->info.max_percents, max_percents, sizeof c->info.max_percents);
    c->info.changes = c->items;
    c->info.deciding = c->items == NULL ? NULL : &c->items[c->deciding];
    for (int of = 0; of < POPLINER_NUM_GROWTHS; of++)
        if (max_percents[of] >= 0)
            hold(c, (popliner_growth)of);
}
