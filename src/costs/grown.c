/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "costs/grown.h"

#include "base/failure.h"
#include "costs/triangle.h"

#include <string.h>

bool pl_costs_grow(const popliner_costs *costs, uint64_t *most_tokens) {
    bool do_grow = false;
    *most_tokens = 0;
    for (size_t unit = 0; costs->kv_bytes != NULL && unit < costs->num_units; ++unit) {
        const uint64_t most = costs->kv_tokens != NULL ? costs->kv_tokens[unit] : UINT64_MAX;
        if (costs->kv_bytes[unit] == 0)
            continue;
        do_grow = true;
        *most_tokens = most > *most_tokens ? most : *most_tokens;
    }
    return do_grow;
}

/* Returns what a unit grows by, so limited that no sum of all units overflows. */
static uint64_t growth_of(const popliner_costs *costs, size_t unit, uint64_t tokens) {
    const uint64_t most = costs->kv_tokens != NULL ? costs->kv_tokens[unit] : UINT64_MAX;
    const uint64_t bytes = costs->kv_bytes[unit];
    const uint64_t limit = (POPLINER_PEAK_FORBIDDEN >> 2) / costs->num_units;
    tokens = tokens < most ? tokens : most;
    return bytes > 0 && tokens > limit / bytes ? limit : tokens * bytes;
}

uint64_t pl_grown_costs_bytes(const pl_grown_costs *grown, size_t first_unit, size_t last_unit) {
    return grown->before[last_unit + 1] - grown->before[first_unit];
}

/* A popliner_shared_peak_function: the peak of the table that grew, and the caches. */
static popliner_status shared_peak(void *user, const popliner_interval *stages, size_t num_stages,
                                   uint64_t *peak_bytes, popliner_error *error) {
    const pl_grown_costs *grown = user;
    popliner_status status =
        grown->of->shared_peak(grown->of->shared_peak_user, stages, num_stages, peak_bytes, error);
    for (size_t i = 0; status == POPLINER_OK && i < num_stages; ++i)
        *peak_bytes = pl_add_or_never(
            *peak_bytes, pl_grown_costs_bytes(grown, stages[i].first_unit, stages[i].last_unit));
    return status;
}

static void *copy_of(pl_grown_costs *grown, const void *items, size_t count, size_t size) {
    return pl_arrays_copy(&grown->arrays, items, count, size);
}

/* Grows a line, or the lines that it stands for. */
static void grow_line(pl_grown_costs *grown, pl_peak_line *line, uint64_t bytes) {
    if (line->copy_bytes != PL_SEVERAL_LINES) {
        line->bytes = pl_add_or_never(line->bytes, bytes);
        return;
    }
    pl_peak_line *lines = &grown->costs.more_lines[line->bytes];
    for (uint64_t i = 1; i <= lines[0].bytes; ++i)
        lines[i].bytes = pl_add_or_never(lines[i].bytes, bytes);
}

/* Grows the peaks of all intervals, which are a triangle for each place, or lines. */
static void grow_triangles(pl_grown_costs *grown) {
    popliner_costs *own = &grown->costs;
    const size_t places = own->peaks_bytes != NULL ? own->max_stages_to_end : 1;
    size_t at = 0;
    for (size_t place = 0; place < places; ++place)
        for (size_t first = 0; first < own->num_units; ++first)
            for (size_t last = first; last < own->num_units; ++last, ++at) {
                const uint64_t bytes = pl_grown_costs_bytes(grown, first, last);
                if (own->peaks_bytes != NULL)
                    own->peaks_bytes[at] = pl_add_or_never(own->peaks_bytes[at], bytes);
                else
                    grow_line(grown, &own->lines[at], bytes);
            }
}

static bool grow_peaks(pl_grown_costs *grown) {
    popliner_costs *own = &grown->costs;
    const size_t n = own->num_units;
    const size_t size = pl_triangle_size(n);
    if (own->line_bytes.ends != NULL) {
        own->line_bytes.ends = copy_of(grown, own->line_bytes.ends, n + 1, sizeof(uint64_t));
        own->line_bytes.begins = copy_of(grown, own->line_bytes.begins, n, sizeof(uint64_t));
        for (size_t i = 0; !grown->arrays.failed && i <= n; ++i) {
            own->line_bytes.ends[i] += grown->before[i];
            if (i < n)
                own->line_bytes.begins[i] += grown->before[i];
        }
        return !grown->arrays.failed;
    }
    if (own->peaks_bytes != NULL) {
        own->peaks_bytes = copy_of(grown, own->peaks_bytes, own->max_stages_to_end * size,
                                   sizeof *own->peaks_bytes);
    } else {
        own->lines = copy_of(grown, own->lines, size, sizeof *own->lines);
        if (own->num_more_lines > 0)
            own->more_lines =
                copy_of(grown, own->more_lines, own->num_more_lines, sizeof *own->more_lines);
    }
    if (!grown->arrays.failed)
        grow_triangles(grown);
    return !grown->arrays.failed;
}

/* Grows the variants of units, or of listed intervals. */
static bool grow_variants(pl_grown_costs *grown, const pl_choices *choices) {
    pl_variants *own = &grown->variants;
    *own = *choices->variants;
    own->items = copy_of(grown, own->items, own->count, sizeof *own->items);
    size_t at = 0;
    for (size_t first = 0; own->items != NULL && first < own->num_units; ++first) {
        const size_t end = own->is_listed ? own->num_units : first + 1;
        for (size_t last = first; last < end; ++last, ++at)
            for (size_t i = own->first[at]; i < own->first[at + 1]; ++i)
                own->items[i].memory_bytes = pl_add_or_never(
                    own->items[i].memory_bytes, pl_grown_costs_bytes(grown, first, last));
    }
    grown->choices = *choices;
    grown->choices.variants = own;
    grown->costs.choices = &grown->choices;
    return own->items != NULL;
}

popliner_status pl_grown_costs_create(pl_grown_costs *grown, const popliner_costs *costs,
                                      uint64_t tokens, popliner_error *error) {
    const pl_choices *choices = costs->choices;
    grown->of = costs;
    grown->costs = *costs;
    grown->before = pl_arrays_new(&grown->arrays, costs->num_units + 1, sizeof *grown->before);
    for (size_t unit = 0; grown->before != NULL && unit < costs->num_units; ++unit)
        grown->before[unit + 1] = grown->before[unit] + growth_of(costs, unit, tokens);
    if (grown->before == NULL || !grow_peaks(grown) ||
        (choices != NULL && choices->variants != NULL && !grow_variants(grown, choices)))
        return pl_fail_memory(error, "the costs of more tokens");
    if (costs->shared_peak != NULL) {
        grown->costs.shared_peak = shared_peak;
        grown->costs.shared_peak_user = grown;
        grown->costs.peak_parts = NULL; /* of the table that grew */
    }
    return POPLINER_OK;
}

void pl_grown_costs_free(pl_grown_costs *grown) {
    pl_arrays_free(&grown->arrays);
    *grown = (pl_grown_costs){0};
}
