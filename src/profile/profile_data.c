/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profile/profile_data.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/failure.h"

popliner_status pl_profile_require_variables(const popliner_profile *profile,
                                             popliner_error *error) {
    if (!profile->lacks_variables)
        return POPLINER_OK;
    return pl_fail(error, POPLINER_ERROR_USAGE,
                   "a stored analysis has no lowered variables; use the profile instead");
}

size_t pl_owner_of(const uint64_t *starts, size_t count, uint64_t place) {
    size_t low = 0; /* the first owner that ends after the place is at or after `low` */
    size_t high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (starts[middle + 1] <= place)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

size_t pl_profile_tile_of(const popliner_profile *profile, size_t variable) {
    return pl_owner_of(profile->tile_variables_start, profile->target.num_tiles, variable);
}

void pl_pieces_find(pl_pieces *own, pl_arrays *arrays, const popliner_profile *p) {
    own->start = pl_arrays_new(arrays, p->num_unlowered + 3, sizeof *own->start);
    own->piece = pl_arrays_new(arrays, p->num_variables, sizeof *own->piece);
    for (int is_counted = 0; !arrays->failed && is_counted < 2; is_counted++) {
        for (size_t i = 0; i < p->num_variables; i++) {
            const size_t of =
                p->variable_unlowered[i] == PL_NONE ? p->num_unlowered : p->variable_unlowered[i];
            if (p->variable_size_bytes[i] == 0) /* not allocated */
                continue;
            if (is_counted)
                own->piece[own->start[of + 1]++] = (uint32_t)i;
            else
                own->start[of + 2]++;
        }
        for (size_t of = 0; !is_counted && of < p->num_unlowered + 2; of++)
            own->start[of + 1] += own->start[of];
    }
}

const char *pl_profile_program_name(const popliner_profile *profile, size_t program) {
    const char *name = pl_profile_string(profile, profile->program_name[program]);
    uint32_t set = profile->program_compute_set[program];
    if (*name == '\0' && set != PL_NONE)
        name = pl_profile_string(profile, profile->compute_set_name[set]);
    return name;
}

popliner_cycles_source pl_profile_cycles_source(const popliner_profile *p) {
    popliner_cycles_source source = POPLINER_CYCLES_NONE;
    for (size_t i = 0; i < p->num_timed_programs; i++) {
        popliner_cycles_source of_program = (popliner_cycles_source)p->program_cycles_source[i];
        if (of_program == POPLINER_CYCLES_ESTIMATED &&
            p->program_type[i] != POPLINER_PROGRAM_ON_TILE_EXECUTE)
            of_program = POPLINER_CYCLES_EXCHANGES;
        source = of_program > source ? of_program : source;
    }
    return source;
}

pl_string pl_profile_add_string(popliner_profile *p, const char *text) {
    const pl_string string = (pl_string)p->strings_length;
    const size_t length = strlen(text) + 1;
    if (string > 0 && *text == '\0')
        return 0; /* the first string is "" */
    p->arrays.failed =
        p->arrays.failed || length > UINT32_MAX || p->strings_length >= PL_NONE - length;
    if (!pl_arrays_grow(&p->arrays, &p->strings, p->strings_length + length, 1))
        return 0;
    memcpy(p->strings + string, text, length);
    p->strings_length += length;
    return string;
}

pl_series pl_profile_add_series(popliner_profile *p, const uint8_t *rle, size_t size_bytes) {
    const pl_series series = {p->series_length, size_bytes};
    if (size_bytes == 0 ||
        !pl_arrays_grow(&p->arrays, &p->series_bytes, p->series_length + size_bytes, 1))
        return (pl_series){0};
    memcpy(p->series_bytes + p->series_length, rle, size_bytes);
    p->series_length += size_bytes;
    return series;
}

pl_series pl_profile_add_numbers(popliner_profile *p, const uint64_t *by_tile, size_t num_tiles) {
    pl_blob rle = {0};
    size_t tile = 0;
    while (tile < num_tiles && by_tile[tile] == 0)
        tile++;
    if (tile < num_tiles)
        pl_rle_write(&rle, by_tile, num_tiles);
    p->arrays.failed = p->arrays.failed || rle.failed;
    const pl_series series = pl_profile_add_series(p, rle.data, rle.failed ? 0 : rle.size);
    free(rle.data);
    return series;
}

void pl_series_add(const popliner_profile *profile, pl_series series, uint64_t factor,
                   uint64_t *by_tile) {
    pl_runs runs = pl_series_runs(profile, series);
    size_t tile = 0;
    uint64_t value;
    uint64_t length;
    while (pl_runs_next(&runs, &value, &length) > 0) {
        uint64_t amount = value * factor;
        assert(length <= profile->target.num_tiles - tile);
        for (size_t end = tile + length; tile < end; tile++)
            by_tile[tile] += amount;
    }
}

uint64_t pl_series_sum(const popliner_profile *profile, pl_series series) {
    pl_runs runs = pl_series_runs(profile, series);
    uint64_t sum = 0;
    uint64_t value;
    uint64_t length;
    while (pl_runs_next(&runs, &value, &length) > 0)
        sum += value * length;
    return sum;
}

bool pl_profile_vertices_fit(const popliner_profile *profile, pl_series instances,
                             uint64_t size_bytes) {
    pl_runs runs = pl_series_runs(profile, instances);
    uint64_t count;
    uint64_t length;
    while (pl_runs_next(&runs, &count, &length) > 0) {
        if (count > 0 && size_bytes > PL_MAX_TILE_BYTES / count)
            return false;
    }
    return true;
}
