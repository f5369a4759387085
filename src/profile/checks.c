/* Results of relations: counting, storing, reporting.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "profile/checks.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/failure.h"

void pl_tally_begin(pl_tally *t, const char *kind, uint64_t number) {
    t->checked++;
    t->kind = kind;
    t->number = number;
    t->is_off = false;
}

void pl_tally_note(pl_tally *t, uint64_t difference, const char *format, ...) {
    char *text = t->where;
    va_list arguments;
    t->breached += !t->is_off;
    t->is_off = true;
    if (difference <= t->largest && t->where[0] != '\0')
        return;
    t->largest = difference;
    if (t->kind != NULL)
        text += snprintf(text, sizeof t->where, "%s %" PRIu64 ", ", t->kind, t->number);
    va_start(arguments, format);
    if (vsnprintf(text, sizeof t->where - (size_t)(text - t->where), format, arguments) == 0 &&
        t->kind != NULL)
        text[-2] = '\0'; /* no comma */
    va_end(arguments);
}

/* ---- Series ---- */

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

void pl_compare_all(pl_tally *tallies, const char *kind, size_t count, const pl_compared *rows,
                    size_t num_rows) {
    const pl_compared *const end = rows + num_rows;
    for (const pl_compared *first = rows, *next = rows; first < end; first = next) {
        pl_tally *t = &tallies[first->relation];
        bool any_known = false;
        for (; next < end && next->relation == first->relation; next++)
            any_known = any_known || (next->recorded != NULL && next->found != NULL);
        for (size_t place = 0; any_known && place < count; place++) {
            pl_tally_begin(t, kind, place);
            for (const pl_compared *c = first; c < next; c++)
                if (c->recorded != NULL && c->found != NULL &&
                    !holds(c->how, c->recorded[place], c->found[place]))
                    pl_tally_note(t, pl_tally_difference(c->recorded[place], c->found[place]),
                                  c->part != NULL ? "%s %s" : "%s", c->what, c->part);
        }
    }
}

void pl_compare_tiles(pl_tally *t, pl_comparison how, const uint64_t *recorded,
                      const uint64_t *found, size_t num_tiles, const char *what) {
    for (size_t tile = 0; tile < num_tiles; tile++)
        if (!holds(how, recorded[tile], found[tile]))
            pl_tally_note(t, pl_tally_difference(recorded[tile], found[tile]), "%s tile %zu", what,
                          tile);
}

/* Adds the numbers of a blob, one for each tile; false if it does not hold that. */
static bool add_blob(const uint8_t *blob, size_t size, bool is_list, size_t num_tiles,
                     uint64_t *by_tile) {
    pl_runs runs = pl_runs_begin(blob, size);
    uint64_t value;
    uint64_t length;
    size_t tile = 0;
    if (is_list && pl_varint_list_is_zero(blob, size, num_tiles))
        return true; /* as most lists are */
    if (is_list)
        runs.literals_left = num_tiles; /* a list is a run of literals without its header */
    while (tile < num_tiles && pl_runs_next(&runs, &value, &length) > 0 &&
           length <= num_tiles - tile) {
        for (size_t end = tile + (size_t)length; value > 0 && tile < end; tile++)
            by_tile[tile] += value;
        tile += value > 0 ? 0 : (size_t)length;
    }
    return tile == num_tiles &&
           (is_list ? runs.cursor == runs.end : pl_runs_next(&runs, &value, &length) == 0);
}

bool pl_tally_add_column(pl_tally *t, pl_table_rows *rows, int column, uint64_t *by_tile) {
    const pl_table *table = rows->rows.table;
    const size_t num_tiles = rows->reading->profile->target.num_tiles;
    size_t size;
    const uint8_t *blob = pl_rows_blob(&rows->rows, column, &size);
    if (size == 0 ||
        add_blob(blob, size, table->columns[column].kind == PL_LIST, num_tiles, by_tile))
        return !pl_rows_is_null(&rows->rows, column);
    pl_tally_begin(t, "row", rows->rows.row);
    pl_tally_note(t, 0, "%s.%s is damaged", table->name, table->columns[column].name);
    return false;
}

/* ---- Reporting ---- */

/* In the order of popliner_relation. */
const pl_relation pl_relations[] = {
    {"always_live", "tiles", " bytes", "the always-live memory of stages"},
    {"not_always_live", "tiles", " bytes", "the peaks of stages and the bottleneck"},
    {"layout", "tiles", " bytes", "addresses of variables and gaps between them"},
    {"categories", "tiles", " bytes", "memory by category"},
    {"steps", "steps", " bytes", "which variables live at which step"},
    {"vertex_counts", "compute sets", " vertices",
     "how many vertices compute sets have, and their state"},
    {"totals", "totals", "", "totals: rows may be missing"},
    {"vertex_memory", "tiles", " bytes", "the vertex state of operations"},
    {"vertex_state", "tiles", " bytes", "the vertex state of operations"},
    {"vertex_code", "tiles", " bytes", "the vertex code of operations"},
    {"debug_info", "programs", "", "layers and splits"},
    {"step_order", "steps", "", "the order of operations and live memory"},
    {"program_types", "programs", "", "the code, calls and variables of these programs"},
    {"control_code", "programs and tiles", " bytes", "the control code of operations"},
    {"exchange_code", "tiles", " bytes", "the exchange code of operations"},
    {"exchanges", "exchanges", " bytes", "which operation uses which variable"},
    {"compute_sets", "compute sets", " bytes", "which operation uses which variable"},
};
static_assert(sizeof pl_relations / sizeof *pl_relations == PL_NUM_RELATIONS, "one for each");

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
                    check->breached, check->checked, pl_relations[i].untrusted);
        else if (check->breached > 0)
            pl_tell(listener, POPLINER_LEVEL_WARNING,
                    "The profile is inconsistent: relation %s does not hold for %" PRIu64
                    " of %" PRIu64 " %s, by up to %" PRIu64 "%s (%s). Do not trust %s.",
                    pl_relations[i].name, check->breached, check->checked, pl_relations[i].places,
                    check->largest_bytes, pl_relations[i].unit,
                    pl_profile_string(p, (pl_string)check->where), pl_relations[i].untrusted);
    }
}
