/* The section of advice: a row for each finding of a rule in docs/sections.md, with figures and a
 * suggestion.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "tables/sections.h"

#include <string.h>

#include "base/failure.h"
#include "base/growth.h"
#include "popliner/profile.h"
#include "profile/category.h"

enum { MOST_ROWS = 5 }; /* of a rule */

typedef enum rule {
    OVER_MEMORY,
    UNBALANCED,
    NEXT_TILE,
    ALWAYS_LIVE,
    FEW_TILES,
    COPIES,
    EXCHANGE_CODE,
    VERTEX_CODE,
    GAPS,
} rule;

static const struct {
    const char *name;
    const char *measured;
    const char *suggestion;
} rules[] = {
    [OVER_MEMORY] = {"over_memory",
                     "the highest address in use on the fullest tile, of what a tile has; count: "
                     "tiles that have too little",
                     "fewer layers on an IPU, a smaller batch, recomputing"},
    [UNBALANCED] = {"unbalanced",
                    "live on the fullest tile, against the mean of all tiles; count: tiles above "
                    "the mean",
                    "other tile mappings of what the fullest tile has more of than others"},
    [NEXT_TILE] = {"next_tile",
                   "live on the tile that would limit next, of what the fullest tile has; count: "
                   "tiles within 1% of the worst, and itself",
                   "balancing a single tile gains no more than this difference"},
    [ALWAYS_LIVE] = {"always_live",
                     "always live on the fullest tile, most of it of this category, of all that is "
                     "live there at its peak",
                     "recomputing does not help here: fewer parameters or less code on the IPU"},
    [FEW_TILES] = {"few_tiles",
                   "of this variable, at the peak of the fullest tile, of all that is live there; "
                   "count: tiles that have some of the variable",
                   "a tile mapping that spreads the variable over more tiles"},
    [COPIES] = {"copies",
                "messages and rearrangements at the peak of the fullest tile, of all that is live "
                "there",
                "tile mappings that need less moving, or exchanges of smaller parts"},
    [EXCHANGE_CODE] = {"exchange_code",
                       "code of exchanges on the fullest tile, of all that is live there",
                       "outlining, and layouts that repeat: each other pattern has code of its "
                       "own"},
    [VERTEX_CODE] = {"vertex_code",
                     "code of this vertex type on the fullest tile, of all that is live there; "
                     "count: tiles that have the code",
                     "fewer variants of vertices: one type and layout for what is alike"},
    [GAPS] = {"gaps",
              "unused below the highest address on the tile with most of it, of that address; "
              "count: tiles where it is 5% or more",
              "gaps and padding are of the compiler's layout: sizes that are multiples of the "
              "alignment, and fewer small variables"},
};

/* A row; SIZE_MAX for absent values. */
typedef struct advice {
    const char *subject; /* NULL: none */
    size_t tile;
    uint64_t bytes;
    uint64_t of_bytes;
    size_t count;
} advice;

/* State while the rules are applied. */
typedef struct look {
    const popliner_profile *profile;
    pl_sheet *sheet;
    pl_arrays *arrays;
    size_t worst;        /* the tile with most live memory in the compiler's account */
    uint64_t live_bytes; /* of that tile */
    size_t peak_step;    /* the step of its peak; SIZE_MAX: there are no steps */
} look;

static void add(const look *own, rule which, const advice *a) {
    pl_sheet *sheet = own->sheet;
    PL_COLUMN(sheet, text, "rule", rules[which].name);
    PL_COLUMN(sheet, text, "subject", a->subject);
    PL_COLUMN(sheet, index, "tile", a->tile);
    PL_COLUMN(sheet, number, "bytes", a->bytes);
    PL_COLUMN(sheet, number, "of_bytes", a->of_bytes);
    PL_COLUMN(sheet, index, "count", a->count);
    PL_COLUMN(sheet, text, "measured", rules[which].measured);
    PL_COLUMN(sheet, text, "suggestion", rules[which].suggestion);
}

/* Returns the next largest of the items after `last` (SIZE_MAX: the first); SIZE_MAX: none is left.
 * Equal ones are in their order. */
static size_t next_largest(const uint64_t *bytes, size_t count, size_t last) {
    size_t next = SIZE_MAX;
    for (size_t i = 0; i < count; i++) {
        const bool follows =
            last == SIZE_MAX || bytes[i] < bytes[last] || (i > last && bytes[i] == bytes[last]);
        if (follows && (next == SIZE_MAX || bytes[i] > bytes[next]))
            next = i;
    }
    return next;
}

/* Adds rows for the largest items that have at least one part in `parts` of the live bytes, and are
 * on at most most_tiles tiles. */
static void add_largest(const look *own, rule which, uint64_t parts, size_t most_tiles,
                        const pl_string *names, const uint64_t *bytes, const size_t *num_tiles,
                        size_t count) {
    size_t num_rows = 0;
    for (size_t i = next_largest(bytes, count, SIZE_MAX);
         i != SIZE_MAX && parts * bytes[i] >= own->live_bytes && num_rows < MOST_ROWS;
         i = next_largest(bytes, count, i)) {
        const char *name = pl_profile_string(own->profile, names[i]);
        const advice a = {*name == '\0' ? NULL : name, own->worst, bytes[i], own->live_bytes,
                          num_tiles[i]};
        if (num_tiles[i] > most_tiles)
            continue;
        add(own, which, &a);
        num_rows++;
    }
}

/* ---- rules of tiles ---- */

static uint64_t live_bytes(const popliner_profile *p, size_t tile) {
    return p->tile_always_live_bytes[tile] + p->tile_not_always_live_peak_bytes[tile];
}

static void check_memory(const look *own) {
    const popliner_profile *p = own->profile;
    const uint64_t *ends = p->tile_total_including_gaps_bytes;
    advice a = {NULL, 0, 0, p->target.bytes_per_tile, 0};
    for (size_t tile = 0; tile < p->target.num_tiles; tile++) {
        a.count += ends[tile] > p->target.bytes_per_tile;
        a.tile = ends[tile] > ends[a.tile] ? tile : a.tile;
    }
    a.bytes = ends[a.tile];
    if (a.count > 0)
        add(own, OVER_MEMORY, &a);
}

static void check_balance(const look *own) {
    const popliner_profile *p = own->profile;
    const size_t num_tiles = p->target.num_tiles;
    advice mean = {NULL, own->worst, own->live_bytes, 0, 0};
    advice next = {NULL, SIZE_MAX, 0, own->live_bytes, 0};
    uint64_t all_bytes = 0;
    for (size_t tile = 0; tile < num_tiles; tile++) {
        const uint64_t bytes = live_bytes(p, tile);
        all_bytes += bytes;
        next.count += 100 * bytes >= 99 * own->live_bytes;
        if (tile != own->worst && (next.tile == SIZE_MAX || bytes > next.bytes)) {
            next.tile = tile;
            next.bytes = bytes;
        }
    }
    for (size_t tile = 0; tile < num_tiles; tile++)
        mean.count += live_bytes(p, tile) * num_tiles > all_bytes;
    mean.of_bytes = all_bytes / num_tiles;
    if (own->live_bytes * num_tiles * 10 >= all_bytes * 11)
        add(own, UNBALANCED, &mean);
    if (next.tile != SIZE_MAX)
        add(own, NEXT_TILE, &next);
}

static void check_gaps(const look *own) {
    const popliner_profile *p = own->profile;
    advice a = {NULL, 0, 0, 0, 0};
    for (size_t tile = 0; tile < p->target.num_tiles; tile++) {
        const uint64_t end = p->tile_total_including_gaps_bytes[tile];
        const uint64_t gap = end > p->tile_total_bytes[tile] ? end - p->tile_total_bytes[tile] : 0;
        a.count += gap > 0 && 20 * gap >= end;
        if (gap > a.bytes) {
            a.tile = tile;
            a.bytes = gap;
            a.of_bytes = end;
        }
    }
    if (a.count > 0)
        add(own, GAPS, &a);
}

/* ---- rules of the variables on the fullest tile ---- */

/* Bytes on the fullest tile at its peak, by unlowered variable and category. */
typedef struct worst_tile {
    uint64_t *of_unlowered;              /* [num_unlowered] */
    uint64_t at_peak[PL_MAX_CATEGORIES]; /* by category */
    uint64_t always[PL_MAX_CATEGORIES];  /* the part that is always live */
} worst_tile;

static void sum_up_worst(const look *own, worst_tile *sums) {
    const popliner_profile *p = own->profile;
    for (uint64_t v = p->tile_variables_start[own->worst];
         v < p->tile_variables_start[own->worst + 1]; v++) {
        const uint32_t size = p->variable_size_bytes[v];
        const bool is_always = p->class_always_live[p->variable_class[v]] != 0;
        if (!is_always && !popliner_liveness_is_live(p, v, own->peak_step))
            continue;
        sums->at_peak[p->variable_category[v]] += size;
        sums->always[p->variable_category[v]] += is_always ? size : 0;
        if (p->variable_unlowered[v] != PL_NONE)
            sums->of_unlowered[p->variable_unlowered[v]] += size;
    }
}

static void check_always_live(const look *own, const worst_tile *sums) {
    const popliner_profile *p = own->profile;
    const uint64_t bytes = p->tile_always_live_bytes[own->worst];
    size_t most = 0;
    for (size_t i = 1; i < p->num_categories; i++)
        most = sums->always[i] > sums->always[most] ? i : most;
    const bool is_known = p->num_categories > 0 && sums->always[most] > 0;
    const advice a = {is_known ? pl_profile_string(p, p->category_name[most]) : NULL, own->worst,
                      bytes, own->live_bytes, SIZE_MAX};
    if (2 * bytes >= own->live_bytes)
        add(own, ALWAYS_LIVE, &a);
}

static void check_few_tiles(const look *own, const uint64_t *bytes) {
    const popliner_profile *p = own->profile;
    const size_t count = p->num_unlowered;
    size_t *num_tiles = pl_arrays_new(own->arrays, count, sizeof *num_tiles);
    size_t *last_tile = pl_arrays_new(own->arrays, count, sizeof *last_tile); /* plus one */
    for (size_t tile = 0; !own->arrays->failed && tile < p->target.num_tiles; tile++)
        for (uint64_t v = p->tile_variables_start[tile]; v < p->tile_variables_start[tile + 1];
             v++) {
            const uint32_t unlowered = p->variable_unlowered[v];
            if (unlowered == PL_NONE || p->variable_size_bytes[v] == 0)
                continue;
            num_tiles[unlowered] += last_tile[unlowered] != tile + 1;
            last_tile[unlowered] = tile + 1;
        }
    if (!own->arrays->failed)
        add_largest(own, FEW_TILES, 100, p->target.num_tiles / 8, p->unlowered_name, bytes,
                    num_tiles, count);
}

/* Adds a row if the bytes are at least a tenth of the live bytes of the fullest tile. */
static void check_share(const look *own, rule which, uint64_t bytes) {
    const advice a = {NULL, own->worst, bytes, own->live_bytes, SIZE_MAX};
    if (10 * bytes >= own->live_bytes)
        add(own, which, &a);
}

static void check_shares(const look *own, const worst_tile *sums) {
    const popliner_profile *p = own->profile;
    uint64_t copies = 0;
    uint64_t code = 0;
    for (size_t i = 0; i < p->num_categories; i++) {
        const char *name = pl_profile_string(p, p->category_name[i]);
        const pl_category category = (pl_category)p->category[i];
        if (category == PL_CATEGORY_MESSAGE || category == PL_CATEGORY_GLOBAL_MESSAGE ||
            category == PL_CATEGORY_REARRANGEMENT)
            copies += sums->at_peak[i];
        if (category == PL_CATEGORY_INTERNAL_EXCHANGE_CODE ||
            strcmp(name, "globalExchangeCode") == 0 || strcmp(name, "hostExchangeCode") == 0)
            code += sums->at_peak[i];
    }
    check_share(own, COPIES, copies);
    check_share(own, EXCHANGE_CODE, code);
}

static void check_worst_tile(const look *own) {
    worst_tile sums = {.of_unlowered = pl_arrays_new(own->arrays, own->profile->num_unlowered,
                                                     sizeof *sums.of_unlowered)};
    if (own->arrays->failed)
        return;
    sum_up_worst(own, &sums);
    check_always_live(own, &sums);
    check_few_tiles(own, sums.of_unlowered);
    check_shares(own, &sums);
}

static void check_vertex_code(const look *own) {
    const popliner_profile *p = own->profile;
    const size_t count = p->num_vertex_types;
    const size_t all_tiles = p->target.num_tiles;
    uint64_t *bytes = pl_arrays_new(own->arrays, count, sizeof *bytes);
    size_t *num_tiles = pl_arrays_new(own->arrays, count, sizeof *num_tiles);
    uint64_t *code = pl_arrays_new(own->arrays, all_tiles, sizeof *code); /* of one type */
    for (size_t i = 0; !own->arrays->failed && i < count; i++) {
        memset(code, 0, all_tiles * sizeof *code);
        pl_series_add(p, p->vertex_type_code[i], 1, code);
        bytes[i] = code[own->worst];
        for (size_t tile = 0; tile < all_tiles; tile++)
            num_tiles[i] += code[tile] > 0;
    }
    if (!own->arrays->failed)
        add_largest(own, VERTEX_CODE, 20, SIZE_MAX, p->vertex_type_name, bytes, num_tiles, count);
}

/* ---- all rules ---- */

/* Finds the first step at which most is live on the fullest tile. */
static popliner_status find_peak(look *own, popliner_error *error) {
    const popliner_profile *p = own->profile;
    uint64_t *bytes = pl_arrays_new(own->arrays, p->num_steps, sizeof *bytes);
    if (bytes == NULL)
        return pl_fail_memory(error, "the advice");
    PL_TRY(popliner_liveness_by_step(p, own->worst, NULL, 0, p->num_steps, bytes, error));
    for (size_t step = 0; step < p->num_steps; step++)
        if (step == 0 || bytes[step] > bytes[own->peak_step])
            own->peak_step = step;
    return POPLINER_OK;
}

popliner_status pl_section_advice(const pl_section_source *source, pl_sheet *sheet,
                                  popliner_error *error) {
    static void (*const checks[])(const look *own) = {check_memory, check_balance, check_worst_tile,
                                                      check_vertex_code, check_gaps};
    const popliner_profile *p = source->profile;
    look own = {p, sheet, source->arrays, pl_tiles_largest(p), 0, SIZE_MAX};
    add(&own, OVER_MEMORY, NULL);
    pl_sheet_end_names(sheet);
    PL_TRY(pl_profile_require_variables(p, error));
    PL_TRY(find_peak(&own, error));
    own.live_bytes = live_bytes(p, own.worst);
    /* with no live bytes there are no totals by tile */
    for (size_t i = 0; own.live_bytes > 0 && i < sizeof checks / sizeof *checks; i++)
        checks[i](&own);
    return own.arrays->failed ? pl_fail_memory(error, "the advice") : POPLINER_OK;
}
