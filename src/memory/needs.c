/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "memory/needs.h"

#include <assert.h>
#include <math.h>

#include "base/numbers.h"
#include "memory/parts.h"
#include "profile/profile_data.h"

/* A stage may have so much more code than was measured: that of stashes and of copies between IPUs
 * is missing. */
enum { MOST_CODE_PER_THOUSAND = 1170 };

/* How much the peak of a stage was seen to vary with planning and mapping
 * (docs/internals/memory-models.md): factors of each tile at least and at most, and at most also of
 * the mean of all tiles plus a number of standard deviations. */
enum { LEAST_OF_FEW_TILES = 850, LEAST = 880, MOST = 1020, MEAN = 1135, DEVIATIONS = 1500 };
enum { FEW_TILES = 128 };

uint64_t pl_need_least_per_thousand(size_t tiles_per_ipu) {
    return tiles_per_ipu < FEW_TILES ? LEAST_OF_FEW_TILES : LEAST;
}

/* The first bytes of each tile are kept free: docs/internals/layout.md. */
enum { RESERVED_BYTES = 16 };

/* Returns the first address from this one on at which a memory element begins; the address if there
 * is none. O(elements). */
static uint64_t element_from(const popliner_profile *p, uint64_t address) {
    for (size_t i = 0; i < p->num_elements; i++) {
        if (p->element_offset[i] >= address)
            return p->element_offset[i];
    }
    return address;
}

/* Returns what code leaves of its last memory element, and the bytes that are kept free below it;
 * 0 without code, which then begins nowhere; after the last element the latter alone. */
static uint64_t left_by_code(const popliner_profile *p, uint64_t executable_bytes) {
    return p == NULL || executable_bytes == 0
               ? 0
               : element_from(p, RESERVED_BYTES + executable_bytes) - executable_bytes;
}

/* The variables of a tile. */
typedef struct tile_code {
    uint64_t executable_bytes;
    uint64_t group_bytes;         /* of the groups of code but vertex state */
    uint64_t lowest_data_address; /* UINT64_MAX: there is none */
    uint64_t end;                 /* of what does not lie apart */
} tile_code;

static tile_code find_code(const popliner_profile *p, size_t tile, const uint32_t *apart,
                           size_t num_apart) {
    tile_code code = {0, 0, UINT64_MAX, 0};
    uint64_t executable_end = 0;
    if (p->num_variables == 0)
        return code;
    for (uint64_t i = p->tile_variables_start[tile]; i < p->tile_variables_start[tile + 1]; i++) {
        const int group = pl_code_group(p, p->variable_category[i]);
        const uint64_t end = p->variable_offset[i] + p->variable_size_bytes[i];
        if (num_apart > 0 && *apart == i) {
            apart++;
            num_apart--;
        } else {
            code.end = pl_larger(code.end, end);
        }
        const bool is_executable = (p->variable_placing[i] & PL_PLACING_EXECUTABLE) != 0;
        if (is_executable) {
            code.executable_bytes += p->variable_size_bytes[i];
            executable_end = pl_larger(executable_end, end);
        } else if (p->variable_size_bytes[i] > 0 &&
                   p->variable_offset[i] < code.lowest_data_address) {
            code.lowest_data_address = p->variable_offset[i];
        }
        if (group < PL_NUM_CODE_GROUPS && group != PL_VERTEX_STATE &&
            p->class_always_live[p->variable_class[i]])
            code.group_bytes += p->variable_size_bytes[i];
    }
    /* with what alignment leaves between them */
    const uint64_t extent_bytes =
        executable_end > RESERVED_BYTES ? executable_end - RESERVED_BYTES : 0;
    if (executable_end <= code.lowest_data_address && extent_bytes > code.executable_bytes)
        code.executable_bytes = extent_bytes;
    return code;
}

/* Returns what is unused below the variables that lie apart, if they are the last of the tile. */
static uint64_t unused_below(const popliner_profile *p, uint64_t end, const uint32_t *apart,
                             size_t num_apart) {
    uint64_t lowest = UINT64_MAX;
    for (size_t i = 0; i < num_apart; i++) {
        const uint64_t offset = p->variable_offset[apart[i]];
        if (offset >= end && offset < lowest)
            lowest = offset;
    }
    return lowest == UINT64_MAX ? 0 : lowest - end;
}

pl_overhead pl_overhead_of_tile(const popliner_profile *p, size_t tile, const uint32_t *apart,
                                size_t num_apart) {
    uint64_t end_bytes = p->tile_total_including_gaps_bytes[tile];
    uint64_t live_bytes =
        p->tile_always_live_bytes[tile] + p->tile_not_always_live_peak_bytes[tile];
    /* if the profile has no total, or an inconsistent one */
    uint64_t total_bytes =
        p->tile_total_bytes[tile] > live_bytes ? p->tile_total_bytes[tile] : live_bytes;
    uint64_t unused_bytes = end_bytes > total_bytes ? end_bytes - total_bytes : 0;
    const tile_code code = find_code(p, tile, apart, num_apart);
    const uint64_t left_bytes = left_by_code(p, code.executable_bytes);
    const uint64_t below_bytes = unused_below(p, code.end, apart, num_apart);
    /* otherwise the tile is not laid out by the rule */
    const bool is_by_rule = code.executable_bytes > 0 && p->num_elements > 0 &&
                            left_bytes + below_bytes <= unused_bytes &&
                            code.lowest_data_address >= code.executable_bytes + left_bytes;
    return (pl_overhead){
        .unused_bytes = is_by_rule ? unused_bytes - left_bytes - below_bytes : unused_bytes,
        .fragmented_bytes = total_bytes - live_bytes,
        .live_bytes = live_bytes,
        .more_executable_bytes =
            is_by_rule ? (int64_t)code.executable_bytes - (int64_t)code.group_bytes : INT64_MIN,
    };
}

/* Returns bytes * part / whole, rounded up, also if the product exceeds 64 bits. */
static uint64_t share_of(uint64_t bytes, uint64_t part, uint64_t whole) {
    if (part == whole || bytes == 0) /* as for most calls */
        return bytes;
    uint64_t rest = bytes % whole;
    return bytes / whole * part + (rest * part + whole - 1) / whole;
}

/* Returns bytes * per_thousand / 1000, rounded down. */
static uint64_t thousandths_of(uint64_t bytes, uint64_t per_thousand) {
    return bytes / 1000 * per_thousand + bytes % 1000 * per_thousand / 1000;
}

uint64_t pl_overhead_fragments(const pl_overhead *layout, uint64_t live_bytes) {
    return layout->live_bytes == 0
               ? 0
               : share_of(live_bytes, layout->fragmented_bytes, layout->live_bytes);
}

/* Returns the executable bytes of a stage with this code. */
static uint64_t executable_of(const pl_overhead *layout, const pl_placed_bytes *placed) {
    /* with INT64_MIN negative for any code */
    const int64_t bytes = (int64_t)(placed->code - placed->state) + layout->more_executable_bytes;
    return bytes > 0 ? (uint64_t)bytes : 0;
}

/* Adds the layout of a tile with so many executable bytes, of which more_bytes are not in the line;
 * a variable that lies apart begins in an element after the data that is always live. */
static void lay_out_stage(const pl_need_rule *rule, const pl_overhead *layout,
                          uint64_t executable_bytes, uint64_t more_bytes,
                          const pl_placed_bytes *placed, pl_need_line *line) {
    if (layout->live_bytes == 0)
        return;
    line->bytes += layout->unused_bytes + pl_overhead_fragments(layout, line->bytes);
    line->copy_bytes += pl_overhead_fragments(layout, line->copy_bytes);
    if (rule->profile == NULL || executable_bytes == 0)
        return;
    const uint64_t left_bytes = left_by_code(rule->profile, executable_bytes);
    line->bytes += left_bytes + more_bytes;
    if (placed->apart == 0)
        return;
    const uint64_t apart =
        element_from(rule->profile, executable_bytes + left_bytes + placed->always);
    line->bytes = pl_larger(line->bytes, apart + placed->apart);
}

/* Sets the line of a stage from which nothing is freed. */
static void set_line(const pl_need_rule *rule, popliner_need need, const pl_overhead *layout,
                     uint64_t bytes, const pl_placed_bytes *placed, uint64_t copy_bytes,
                     pl_need_line *line) {
    const uint64_t executable_bytes = executable_of(layout, placed);
    if (need == POPLINER_NEED_LEAST) {
        const uint64_t factor = pl_need_least_per_thousand(rule->tiles_per_ipu);
        bytes = thousandths_of(bytes, factor);
        copy_bytes = thousandths_of(copy_bytes, factor);
    }
    line->bytes = bytes;
    line->copy_bytes = copy_bytes;
    if (need == POPLINER_NEED_EXPECTED && rule->has_layout) {
        lay_out_stage(rule, layout, executable_bytes, 0, placed, line);
    } else if (need == POPLINER_NEED_MOST) {
        const uint64_t most_bytes = share_of(executable_bytes, MOST_CODE_PER_THOUSAND, 1000);
        lay_out_stage(rule, layout, most_bytes, most_bytes - executable_bytes, placed, line);
        line->bytes = share_of(line->bytes, MOST, 1000);
        line->copy_bytes = share_of(line->copy_bytes, MOST, 1000);
    }
    line->layout_bytes = line->bytes - bytes;
    line->copy_layout_bytes = line->copy_bytes - copy_bytes;
}

void pl_need_of(const pl_need_rule *rule, popliner_need need, const pl_overhead *layout,
                uint64_t bytes, pl_placed_bytes placed, uint64_t copy_bytes, pl_need_line *lines) {
    pl_need_line *with_copies = &lines[PL_LINE_WITH_COPIES];
    pl_need_line *without = &lines[PL_LINE_WITHOUT_COPIES];
    const uint64_t freed_bytes = placed.freed < bytes ? placed.freed : bytes;
    assert(rule->has_needs || freed_bytes == 0);
    *without = *with_copies = (pl_need_line){.bytes = bytes, .copy_bytes = copy_bytes};
    if (rule->has_needs)
        set_line(rule, need, layout, bytes - freed_bytes, &placed, copy_bytes, with_copies);
    if (freed_bytes > 0)
        set_line(rule, need, layout, bytes, &placed, 0, without);
    else
        *without = *with_copies;
    without->copy_bytes = without->copy_layout_bytes = 0;
    with_copies->freed_bytes = freed_bytes;
    assert(with_copies->bytes <= without->bytes);
}

/* The unit of squares, so that their sum over the tiles of an IPU fits 64 bits. */
enum { SQUARE_UNIT = 64 };

void pl_need_spread_add(pl_need_spread *spread, const pl_need_line lines[PL_NUM_LINES]) {
    const pl_need_line *with_copies = &lines[PL_LINE_WITH_COPIES];
    const uint64_t bytes[] = {lines[PL_LINE_WITHOUT_COPIES].bytes, with_copies->bytes,
                              with_copies->copy_bytes};
    for (int i = 0; i < 3; i++) {
        const uint64_t units = (bytes[i] + SQUARE_UNIT / 2) / SQUARE_UNIT;
        spread->sums[i].bytes += bytes[i];
        spread->sums[i].units += units;
        spread->sums[i].squares += units * units;
    }
}

/* Returns what the fullest tile of any mapping has. */
static uint64_t most_of(const pl_tile_spread *spread, size_t num_tiles) {
    const double count = (double)num_tiles;
    const double units = (double)spread->units / count;
    const double variance = (double)spread->squares / count - units * units;
    const double deviation = variance > 0 ? sqrt(variance) * (double)SQUARE_UNIT : 0;
    return (uint64_t)ceil(((double)spread->bytes / count + deviation * (double)DEVIATIONS / 1000) *
                          (double)MEAN / 1000);
}

void pl_need_spread_lines(const pl_need_spread *spread, const pl_need_rule *rule, size_t num_tiles,
                          pl_need_line *lines) {
    uint64_t bytes[3] = {0};
    for (int i = 0; rule->has_needs && num_tiles > 0 && i < 3; i++)
        bytes[i] = most_of(&spread->sums[i], num_tiles);
    lines[PL_LINE_WITHOUT_COPIES] = (pl_need_line){.bytes = bytes[0]};
    /* without what is freed, the tiles may be less even */
    lines[PL_LINE_WITH_COPIES] =
        (pl_need_line){.bytes = pl_smaller(bytes[0], bytes[1]), .copy_bytes = bytes[2]};
}
