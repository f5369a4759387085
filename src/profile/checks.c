/* Results of relations: counting, storing, reporting.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "profile/checks.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "base/numbers.h"

void pl_tally_begin(pl_tally *t, const char *kind, uint64_t number) {
    t->checked++;
    t->kind = kind;
    t->number = number;
    t->is_off = false;
}

void pl_tally_note(pl_tally *t, uint64_t difference, const char *what, const char *part) {
    if (!t->is_off)
        t->breached++;
    t->is_off = true;
    if (difference <= t->largest && t->where[0] != '\0')
        return;
    t->largest = difference;
    if (t->kind == NULL)
        snprintf(t->where, sizeof t->where, "%s", what);
    else
        snprintf(t->where, sizeof t->where, "%s %" PRIu64 "%s%s%s%s", t->kind, t->number,
                 *what == '\0' ? "" : ", ", what, *part == '\0' ? "" : " ", part);
}

void pl_tally_note_tile(pl_tally *t, uint64_t difference, const char *what, size_t tile) {
    char part[40];
    snprintf(part, sizeof part, "tile %zu", tile);
    pl_tally_note(t, difference, what, part);
}

void pl_tally_compare(pl_tally *t, uint64_t recorded, uint64_t found, const char *what,
                      const char *part) {
    const uint64_t difference = recorded - found; /* above INT64_MAX: negative */
    if (recorded != found)
        pl_tally_note(t, difference > INT64_MAX ? 0 - difference : difference, what, part);
}

static bool holds(pl_comparison how, uint64_t recorded, uint64_t found) {
    switch (how) {
    case PL_AT_MOST:
        return recorded <= found;
    case PL_BOUNDED:
        return recorded <= found && (recorded > 0 || found == 0);
    case PL_BOTH_OR_NONE:
        return (recorded == 0) == (found == 0);
    case PL_EQUAL:
        break;
    }
    return recorded == found;
}

void pl_tally_compare_all(pl_tally *t, const char *kind, size_t count, const pl_compared *compared,
                          size_t num_compared) {
    size_t num_known = 0;
    for (size_t i = 0; i < num_compared; i++)
        num_known += compared[i].recorded != NULL && compared[i].found != NULL;
    for (size_t place = 0; num_known > 0 && place < count; place++) {
        pl_tally_begin(t, kind, place);
        for (const pl_compared *c = compared; c < compared + num_compared; c++)
            if (c->recorded != NULL && c->found != NULL &&
                !holds(c->how, c->recorded[place], c->found[place]))
                pl_tally_compare(t, c->recorded[place], c->found[place], c->what, c->part);
    }
}

void pl_tally_compare_tiles(pl_tally *t, pl_comparison how, const uint64_t *recorded,
                            const uint64_t *found, size_t num_tiles, const char *what) {
    for (size_t tile = 0; tile < num_tiles; tile++)
        if (!holds(how, recorded[tile], found[tile]))
            pl_tally_note_tile(t,
                               recorded[tile] > found[tile] ? recorded[tile] - found[tile]
                                                            : found[tile] - recorded[tile],
                               what, tile);
}

/* Returns the most frequent number, the smallest of several; 0 for none. Sorts them. */
static uint64_t most_frequent(uint64_t *numbers, size_t count) {
    size_t most = 0;
    uint64_t number = 0;
    qsort(numbers, count, sizeof *numbers, pl_compare_numbers);
    for (size_t i = 0, start = 0; i < count; i++) {
        start = numbers[i] != numbers[start] ? i : start;
        if (i - start + 1 > most) {
            most = i - start + 1;
            number = numbers[i];
        }
    }
    return number;
}

void pl_tally_compare_rest(pl_tally *t, pl_reading *reading, const uint64_t *recorded,
                           const uint64_t *found, const uint64_t *weights, const char *what) {
    const size_t num_tiles = reading->profile->target.num_tiles;
    uint64_t *rests = pl_reading_new(reading, num_tiles, sizeof *rests);
    size_t count = 0;
    size_t num_with_each = 0;
    size_t num_with_same = 0;
    for (size_t tile = 0; rests != NULL && tile < num_tiles; tile++)
        if (found[tile] >= recorded[tile])
            rests[count++] = found[tile] - recorded[tile];
    if (rests == NULL)
        return;
    const uint64_t same = most_frequent(rests, count);
    count = 0;
    for (size_t tile = 0; weights != NULL && tile < num_tiles; tile++)
        if (found[tile] >= recorded[tile] && weights[tile] > 0)
            rests[count++] = (found[tile] - recorded[tile]) / weights[tile];
    const uint64_t each = most_frequent(rests, count);
    for (size_t tile = 0; weights != NULL && tile < num_tiles; tile++) {
        num_with_same += found[tile] - recorded[tile] == same;
        num_with_each += found[tile] - recorded[tile] == each * weights[tile];
    }
    const bool is_each = weights != NULL && num_with_each >= num_with_same;
    for (size_t tile = 0; tile < num_tiles; tile++) {
        pl_tally_begin(t, "tile", tile);
        if (recorded[tile] > found[tile])
            pl_tally_note(t, recorded[tile] - found[tile], what, "");
        else
            pl_tally_compare(t, found[tile] - recorded[tile], is_each ? each * weights[tile] : same,
                             "", "");
    }
}

/* Adds the runs of a blob, one number per tile; false if the blob does not hold that. */
static bool add_runs(const uint8_t *blob, size_t size, size_t num_tiles, uint64_t *by_tile) {
    pl_runs runs = pl_runs_begin(blob, size);
    uint64_t value;
    uint64_t length;
    size_t tile = 0;
    int more;
    while ((more = pl_runs_next(&runs, &value, &length)) > 0) {
        if (length > num_tiles - tile)
            return false;
        for (size_t end = tile + (size_t)length; value > 0 && tile < end; tile++)
            by_tile[tile] += value;
        tile += value > 0 ? 0 : (size_t)length;
    }
    return more == 0 && tile == num_tiles;
}

/* Like add_runs, for a list of varints. */
static bool add_list(const uint8_t *blob, size_t size, size_t num_tiles, uint64_t *by_tile) {
    const uint8_t *end = blob + size;
    uint64_t value;
    if (pl_varint_list_is_zero(blob, size, num_tiles))
        return true; /* as most lists are */
    for (size_t tile = 0; tile < num_tiles; tile++) {
        if (!pl_varint_read(&blob, end, &value))
            return false;
        by_tile[tile] += value;
    }
    return blob == end;
}

bool pl_tally_add_column(pl_tally *t, pl_table_rows *rows, int column, uint64_t *by_tile) {
    const pl_table *table = rows->rows.table;
    const size_t num_tiles = rows->reading->profile->target.num_tiles;
    const bool is_list = table->columns[column].kind == PL_LIST;
    size_t size;
    const uint8_t *blob = pl_rows_blob(&rows->rows, column, &size);
    char what[80];
    if (size == 0 || (is_list ? add_list : add_runs)(blob, size, num_tiles, by_tile))
        return !pl_rows_is_null(&rows->rows, column);
    snprintf(what, sizeof what, "%s.%s", table->name, table->columns[column].name);
    pl_tally_begin(t, "row", rows->rows.row);
    pl_tally_note(t, 0, what, "is damaged");
    return false;
}

/* ---- Relations ---- */

/* The words for a relation in messages. */
typedef struct relation_text {
    const char *name;
    const char *places;
    const char *unit;      /* of the largest difference */
    const char *untrusted; /* results that a breach makes unreliable */
} relation_text;

static const relation_text texts[PL_NUM_RELATIONS] = {
    [POPLINER_RELATION_ALWAYS_LIVE] = {"always_live", "tiles", " bytes",
                                       "the always-live memory of stages"},
    [POPLINER_RELATION_NOT_ALWAYS_LIVE] = {"not_always_live", "tiles", " bytes",
                                           "the peaks of stages and the bottleneck"},
    [POPLINER_RELATION_LAYOUT] = {"layout", "tiles", " bytes",
                                  "addresses of variables and gaps between them"},
    [POPLINER_RELATION_CATEGORIES] = {"categories", "tiles", " bytes", "memory by category"},
    [POPLINER_RELATION_STEPS] = {"steps", "steps", " bytes", "which variables live at which step"},
    [POPLINER_RELATION_VERTEX_COUNTS] = {"vertex_counts", "compute sets", " vertices",
                                         "how many vertices compute sets have, and their state"},
    [POPLINER_RELATION_TOTALS] = {"totals", "totals", "", "totals: rows may be missing"},
    [POPLINER_RELATION_VERTEX_MEMORY] = {"vertex_memory", "tiles", " bytes",
                                         "the vertex state of operations"},
    [POPLINER_RELATION_VERTEX_STATE] = {"vertex_state", "tiles", " bytes",
                                        "the vertex state of operations"},
    [POPLINER_RELATION_VERTEX_CODE] = {"vertex_code", "tiles", " bytes",
                                       "the vertex code of operations"},
    [POPLINER_RELATION_DEBUG_INFO] = {"debug_info", "programs", "", "layers and splits"},
    [POPLINER_RELATION_STEP_ORDER] = {"step_order", "steps", "",
                                      "the order of operations and live memory"},
    [POPLINER_RELATION_PROGRAM_TYPES] = {"program_types", "programs", "",
                                         "the code, calls and variables of these programs"},
    [POPLINER_RELATION_CONTROL_CODE] = {"control_code", "programs and tiles", " bytes",
                                        "the control code of operations"},
    [POPLINER_RELATION_EXCHANGE_CODE] = {"exchange_code", "tiles", " bytes",
                                         "the exchange code of operations"},
    [POPLINER_RELATION_EXCHANGES] = {"exchanges", "exchanges", " bytes",
                                     "which operation uses which variable"},
    [POPLINER_RELATION_COMPUTE_SETS] = {"compute_sets", "compute sets", " bytes",
                                        "which operation uses which variable"},
};

void pl_tally_keep(const pl_tally *t, popliner_profile *p, popliner_relation relation) {
    p->checks[relation] =
        (pl_check){t->checked, t->breached, t->largest, pl_profile_add_string(p, t->where)};
}

/* True if the debug information has the program's context, and, for a program that executes a
 * compute set, if Poplar wrote that context. Ids are small numbers, so ids of another compilation
 * usually exist, but belong to anything. */
static bool is_known(const popliner_profile *p, const pl_debug_info *info, size_t program) {
    uint32_t context = pl_debug_find(info, p->program_debug_context[program]);
    if (context == PL_NONE || p->program_type[program] != POPLINER_PROGRAM_ON_TILE_EXECUTE)
        return context != PL_NONE;
    return info->contexts[context].layer == PL_DEBUG_LAYER_POPLAR ||
           info->contexts[context].layer == PL_DEBUG_LAYER_UNKNOWN;
}

popliner_status pl_profile_check_contexts(popliner_profile *p, const pl_debug_info *info,
                                          popliner_error *error) {
    pl_tally t = {0};
    if (p->num_checks == 0)
        return POPLINER_OK;
    for (size_t i = 0; i < p->num_programs; i++) {
        if (p->program_debug_context[i] == 0)
            continue;
        pl_tally_begin(&t, "program", i);
        if (!is_known(p, info, i))
            pl_tally_note(&t, 1, "", "");
    }
    pl_tally_keep(&t, p, POPLINER_RELATION_DEBUG_INFO);
    return p->arrays.failed ? pl_fail_memory(error, "the checks of the profile") : POPLINER_OK;
}

pl_check_result pl_profile_check_of(const popliner_profile *p, popliner_relation relation) {
    const pl_check none = {0};
    const pl_check *check = p->num_checks == 0 ? &none : &p->checks[relation];
    return (pl_check_result){
        .name = texts[relation].name,
        .checked = (size_t)check->checked,
        .breached = (size_t)check->breached,
        .largest_bytes = check->largest_bytes,
        .where = pl_profile_string(p, (pl_string)check->where),
        .untrusted = texts[relation].untrusted,
    };
}

size_t pl_profile_num_breaches(const popliner_profile *p) {
    size_t count = 0;
    for (size_t i = 0; i < p->num_checks; i++)
        count += p->checks[i].breached > 0;
    return count;
}

void pl_profile_tell_checks(const popliner_profile *p, const popliner_listener *listener) {
    for (size_t i = 0; i < p->num_checks; i++) {
        const pl_check *check = &p->checks[i];
        if (check->breached > 0 && i == POPLINER_RELATION_DEBUG_INFO)
            pl_tell(listener, POPLINER_LEVEL_WARNING,
                    "The debug.cbor does not match %" PRIu64 " of %" PRIu64
                    " programs. Do not trust %s; use the one of this profile.",
                    check->breached, check->checked, texts[i].untrusted);
        else if (check->breached > 0)
            pl_tell(listener, POPLINER_LEVEL_WARNING,
                    "The profile is inconsistent: relation %s does not hold for %" PRIu64
                    " of %" PRIu64 " %s, by up to %" PRIu64 "%s (%s). Do not trust %s.",
                    texts[i].name, check->breached, check->checked, texts[i].places,
                    check->largest_bytes, texts[i].unit,
                    pl_profile_string(p, (pl_string)check->where), texts[i].untrusted);
    }
}
