/* Results of relations: counting, storing, reporting.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "profile/checks.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/failure.h"

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

void pl_tally_compare(pl_tally *t, uint64_t told, uint64_t found, const char *what,
                      const char *part) {
    if (told != found)
        pl_tally_note(t, told > found ? told - found : found - told, what, part);
}

void pl_tally_note_damage(pl_tally *t, const pl_rows *rows, int column) {
    char what[80];
    snprintf(what, sizeof what, "%s.%s", rows->table->name, rows->table->columns[column].name);
    pl_tally_begin(t, "row", rows->row);
    pl_tally_note(t, 0, what, "is damaged");
}

bool pl_tally_add_runs(const uint8_t *blob, size_t size, size_t num_tiles, uint64_t *by_tile) {
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

static int compare_numbers(const void *left, const void *right) {
    const int64_t *a = left;
    const int64_t *b = right;
    return (*a > *b) - (*a < *b);
}

int64_t pl_most_frequent(int64_t *numbers, size_t count) {
    size_t most = 0;
    int64_t number = 0;
    qsort(numbers, count, sizeof *numbers, compare_numbers);
    for (size_t i = 0, start = 0; i < count; i++) {
        start = numbers[i] != numbers[start] ? i : start;
        if (i - start + 1 > most) {
            most = i - start + 1;
            number = numbers[i];
        }
    }
    return number;
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

bool pl_tally_keep(const pl_tally *t, popliner_profile *p, popliner_relation relation) {
    pl_string where = pl_profile_add_string(p, t->where);
    p->checks[relation] = (pl_check){t->checked, t->breached, t->largest, where};
    return where != PL_NONE;
}

/* True if the debug information has the program's context, and, for a program that executes a
 * compute set, if Poplar wrote that context. Ids are small numbers, so ids of another compilation
 * usually exist, but belong to anything. */
static bool is_known(const popliner_profile *p, const pl_debug_info *info, size_t program) {
    uint32_t context = pl_debug_find(info, p->program_debug_context[program]);
    if (context == PL_NONE || p->program_type[program] != POPLINER_PROGRAM_ON_TILE_EXECUTE)
        return context != PL_NONE;
    return info->context_layer[context] == PL_DEBUG_LAYER_POPLAR ||
           info->context_layer[context] == PL_DEBUG_LAYER_UNTOLD;
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
    return pl_tally_keep(&t, p, POPLINER_RELATION_DEBUG_INFO)
               ? POPLINER_OK
               : pl_fail_memory(error, "the checks of the profile");
}

pl_told_check pl_profile_check_of(const popliner_profile *p, popliner_relation relation) {
    const pl_check none = {0};
    const pl_check *check = p->num_checks == 0 ? &none : &p->checks[relation];
    return (pl_told_check){
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
