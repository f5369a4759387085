/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "memory/needs.h"

#include "memory/parts.h"
#include "memory/placement.h"
#include "profile/profile_data.h"

enum { MILLION = 1000000 };

pl_need_width pl_need_width_for(size_t tiles_per_ipu) {
    static const pl_need_width widths[] = {
        {0, 850, 1170},
        {128, 880, 1130},
    };
    size_t row = sizeof widths / sizeof *widths - 1;
    while (widths[row].min_tiles > tiles_per_ipu)
        row--;
    return widths[row];
}

/* Returns what code leaves of its last memory element, and the bytes that are kept free below it;
 * 0 without code, which then begins nowhere. */
static uint64_t left_by_code(const popliner_profile *p, uint64_t executable_bytes) {
    if (p == NULL || executable_bytes == 0)
        return 0;
    return pl_placer_data_begin(p, executable_bytes) - executable_bytes;
}

/* The variables of a tile. */
typedef struct tile_code {
    uint64_t executable_bytes;
    uint64_t group_bytes;         /* of the groups of code but vertex state */
    uint64_t lowest_data_address; /* UINT64_MAX: there is none */
} tile_code;

static tile_code find_code(const popliner_profile *p, size_t tile) {
    tile_code code = {0, 0, UINT64_MAX};
    if (p->num_variables == 0)
        return code;
    for (uint64_t i = p->tile_variables_start[tile]; i < p->tile_variables_start[tile + 1]; i++) {
        const int group = pl_code_group(p, p->variable_category[i]);
        if ((p->variable_placing[i] & PL_PLACING_EXECUTABLE) != 0)
            code.executable_bytes += p->variable_size_bytes[i];
        else if (p->variable_size_bytes[i] > 0 && p->variable_offset[i] < code.lowest_data_address)
            code.lowest_data_address = p->variable_offset[i];
        if (group < PL_NUM_CODE_GROUPS && group != PL_VERTEX_STATE &&
            p->class_always_live[p->variable_class[i]])
            code.group_bytes += p->variable_size_bytes[i];
    }
    return code;
}

pl_overhead pl_overhead_of_tile(const popliner_profile *p, size_t tile) {
    uint64_t end_bytes = p->tile_total_including_gaps_bytes[tile];
    uint64_t live_bytes =
        p->tile_always_live_bytes[tile] + p->tile_not_always_live_peak_bytes[tile];
    /* if the profile has no total, or an inconsistent one */
    uint64_t total_bytes =
        p->tile_total_bytes[tile] > live_bytes ? p->tile_total_bytes[tile] : live_bytes;
    uint64_t unused_bytes = end_bytes > total_bytes ? end_bytes - total_bytes : 0;
    const tile_code code = find_code(p, tile);
    const uint64_t left_bytes = left_by_code(p, code.executable_bytes);
    /* otherwise the tile is not laid out by the rule */
    const bool is_by_rule = code.executable_bytes > 0 && p->num_elements > 0 &&
                            left_bytes <= unused_bytes &&
                            code.lowest_data_address >= code.executable_bytes + left_bytes;
    return (pl_overhead){
        .unused_bytes = is_by_rule ? unused_bytes - left_bytes : unused_bytes,
        .fragmented_bytes = total_bytes - live_bytes,
        .live_bytes = live_bytes,
        .more_executable_bytes =
            is_by_rule ? (int64_t)code.executable_bytes - (int64_t)code.group_bytes : INT64_MIN,
    };
}

/* True if a larger share of the live bytes fragments. */
static bool fragments_more(const pl_overhead *layout, const pl_overhead *other) {
    if (layout->live_bytes == 0)
        return false;
    if (other->live_bytes == 0 || other->fragmented_bytes == 0)
        return other->live_bytes == 0 || layout->fragmented_bytes > 0;
    /* a tile has both less than 2^32 bytes, so the products fit 64 bits */
    return layout->fragmented_bytes * other->live_bytes >
           other->fragmented_bytes * layout->live_bytes;
}

pl_overhead pl_overhead_worst(const pl_overhead *overheads, size_t num_tiles) {
    pl_overhead worst = {0};
    uint64_t most_live_bytes = 0;
    for (size_t tile = 0; tile < num_tiles; tile++) {
        uint64_t live_bytes = overheads[tile].live_bytes;
        most_live_bytes = live_bytes > most_live_bytes ? live_bytes : most_live_bytes;
    }
    for (size_t tile = 0; tile < num_tiles; tile++) {
        pl_overhead own = overheads[tile];
        /* the layout overhead of an almost empty tile is not typical */
        if (own.live_bytes >= most_live_bytes / 2 && fragments_more(&own, &worst)) {
            worst.fragmented_bytes = own.fragmented_bytes;
            worst.live_bytes = own.live_bytes;
        }
        if (own.live_bytes > 0 && own.unused_bytes > worst.unused_bytes)
            worst.unused_bytes = own.unused_bytes;
    }
    return worst;
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

static uint64_t at_most_one(uint64_t per_million) {
    return per_million < MILLION ? per_million : MILLION;
}

/* Returns the factors for a need; for NEED_LEAST only those that reduce it. */
static popliner_scales scales_of(const pl_need_rule *rule, popliner_need need) {
    popliner_scales s = rule->scales;
    if (s.data_per_million == 0)
        return (popliner_scales){MILLION, MILLION, MILLION};
    if (need == POPLINER_NEED_LEAST) {
        s.code_per_million = at_most_one(s.code_per_million);
        s.data_per_million = at_most_one(s.data_per_million);
    }
    return s;
}

static void lay_out(const pl_overhead *layout, uint64_t per_million, pl_need_line *line) {
    if (layout->live_bytes == 0)
        return;
    line->bytes += share_of(layout->unused_bytes + pl_overhead_fragments(layout, line->bytes),
                            per_million, MILLION);
    line->copy_bytes +=
        share_of(pl_overhead_fragments(layout, line->copy_bytes), per_million, MILLION);
}

/* Returns the worst layout for a tile with its own layout, which may be worse if the tile is almost
 * empty. So NEED_MOST is never less than NEED_EXPECTED. */
static pl_overhead worst_of_tile(const pl_overhead *worst, const pl_overhead *own) {
    pl_overhead result = *worst;
    if (fragments_more(own, worst)) {
        result.fragmented_bytes = own->fragmented_bytes;
        result.live_bytes = own->live_bytes;
    }
    return result;
}

bool pl_need_may_shrink(const pl_need_rule *rule) {
    return rule->scales.layout_per_million > MILLION;
}

/* Returns the executable bytes of a stage with this code. */
static uint64_t executable_of(const pl_overhead *layout, pl_code_bytes code) {
    /* with INT64_MIN negative for any code */
    const int64_t bytes = (int64_t)(code.all - code.state) + layout->more_executable_bytes;
    return bytes > 0 ? (uint64_t)bytes : 0;
}

pl_need_line pl_need_of(const pl_need_rule *rule, popliner_need need, const pl_overhead *layout,
                        uint64_t bytes, pl_code_bytes code, uint64_t copy_bytes) {
    if (!rule->has_needs)
        return (pl_need_line){bytes, copy_bytes, bytes, copy_bytes};
    const pl_need_width width = pl_need_width_for(rule->tiles_per_ipu);
    popliner_scales s = scales_of(rule, need);
    const uint64_t code_bytes = code.all < bytes ? code.all : bytes;
    uint64_t executable_bytes = share_of(executable_of(layout, code), s.code_per_million, MILLION);
    pl_need_line line = {
        .bytes = share_of(code_bytes, s.code_per_million, MILLION) +
                 share_of(bytes - code_bytes, s.data_per_million, MILLION),
        .copy_bytes = share_of(copy_bytes, s.data_per_million, MILLION),
    };
    if (need == POPLINER_NEED_LEAST) {
        line.bytes = thousandths_of(line.bytes, width.least_per_thousand);
        line.copy_bytes = thousandths_of(line.copy_bytes, width.least_per_thousand);
    }
    line.live_bytes = line.bytes;
    line.live_copy_bytes = line.copy_bytes;
    if (need == POPLINER_NEED_EXPECTED && rule->has_layout) {
        lay_out(layout, s.layout_per_million, &line);
        if (layout->live_bytes > 0)
            line.bytes += share_of(left_by_code(rule->profile, executable_bytes),
                                   s.layout_per_million, MILLION);
    } else if (need == POPLINER_NEED_MOST) {
        const pl_overhead worst = worst_of_tile(&rule->worst, layout);
        lay_out(&worst, s.layout_per_million, &line);
        line.bytes = share_of(line.bytes, width.most_per_thousand, 1000);
        line.copy_bytes = share_of(line.copy_bytes, width.most_per_thousand, 1000);
        executable_bytes = share_of(executable_bytes, width.most_per_thousand, 1000);
        line.bytes +=
            share_of(left_by_code(rule->profile, executable_bytes), s.layout_per_million, MILLION);
    }
    return line;
}
