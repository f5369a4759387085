/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "memory/needs.h"

#include "profile/profile_data.h"

/* 1 + 3 * POPLINER_SPREAD, in thousandths */
enum { MOST_PER_THOUSAND = 1102, MILLION = 1000000 };

pl_layout pl_layout_of_tile(const popliner_profile *p, size_t tile) {
    uint64_t end_bytes = p->tile_total_including_gaps_bytes[tile];
    uint64_t live_bytes =
        p->tile_always_live_bytes[tile] + p->tile_not_always_live_peak_bytes[tile];
    /* where the profile tells no total, or one that contradicts itself */
    uint64_t total_bytes =
        p->tile_total_bytes[tile] > live_bytes ? p->tile_total_bytes[tile] : live_bytes;
    return (pl_layout){
        .unused_bytes = end_bytes > total_bytes ? end_bytes - total_bytes : 0,
        .fragmented_bytes = total_bytes - live_bytes,
        .live_bytes = live_bytes,
    };
}

/* Whether a larger share of the live bytes fragments. */
static bool fragments_more(const pl_layout *layout, const pl_layout *other) {
    return layout->live_bytes > 0 &&
           (other->live_bytes == 0 || layout->fragmented_bytes * other->live_bytes >
                                          other->fragmented_bytes * layout->live_bytes);
}

pl_layout pl_layout_worst(const popliner_profile *p) {
    pl_layout worst = {0, 0, 0};
    for (size_t tile = 0; tile < p->target.num_tiles; tile++) {
        pl_layout own = pl_layout_of_tile(p, tile);
        if (fragments_more(&own, &worst)) {
            worst.fragmented_bytes = own.fragmented_bytes;
            worst.live_bytes = own.live_bytes;
        }
        if (own.live_bytes > 0 && own.unused_bytes > worst.unused_bytes)
            worst.unused_bytes = own.unused_bytes;
    }
    return worst;
}

/* bytes * part / whole, rounded up, also where the product is beyond 64 bits. */
static uint64_t share_of(uint64_t bytes, uint64_t part, uint64_t whole) {
    uint64_t rest = bytes % whole;
    return bytes / whole * part + (rest * part + whole - 1) / whole;
}

uint64_t pl_layout_fragments(const pl_layout *layout, uint64_t live_bytes) {
    return layout->live_bytes == 0
               ? 0
               : share_of(live_bytes, layout->fragmented_bytes, layout->live_bytes);
}

/* The calibration of a need; of what is needed at least, only what makes it less. */
static popliner_calibration calibration_of(const pl_need_rule *rule, popliner_need need) {
    popliner_calibration c = rule->calibration;
    if (c.data_per_million == 0)
        return (popliner_calibration){0, MILLION, MILLION};
    if (need == POPLINER_NEED_LEAST) {
        c.offset_bytes = c.offset_bytes < 0 ? c.offset_bytes : 0;
        c.data_per_million = c.data_per_million < MILLION ? c.data_per_million : MILLION;
    }
    return c;
}

/* bytes + offset_bytes, but not below 0. */
static uint64_t offset_by(uint64_t bytes, int64_t offset_bytes) {
    if (offset_bytes >= 0)
        return bytes + (uint64_t)offset_bytes;
    uint64_t less = (uint64_t)-offset_bytes;
    return bytes > less ? bytes - less : 0;
}

static void lay_out(const pl_layout *layout, uint64_t per_million, pl_need_line *line) {
    if (layout->live_bytes == 0)
        return;
    line->bytes += share_of(layout->unused_bytes + pl_layout_fragments(layout, line->bytes),
                            per_million, MILLION);
    line->copy_bytes +=
        share_of(pl_layout_fragments(layout, line->copy_bytes), per_million, MILLION);
}

pl_need_line pl_need_of(const pl_need_rule *rule, popliner_need need, const pl_layout *layout,
                        uint64_t bytes, uint64_t code_bytes, uint64_t copy_bytes) {
    if (!rule->has_needs)
        return (pl_need_line){bytes, copy_bytes, bytes, copy_bytes};
    popliner_calibration c = calibration_of(rule, need);
    uint64_t data_bytes = share_of(bytes - code_bytes, c.data_per_million, MILLION);
    pl_need_line line = {.bytes = offset_by(code_bytes + data_bytes, c.offset_bytes),
                         .copy_bytes = share_of(copy_bytes, c.data_per_million, MILLION)};
    line.live_bytes = line.bytes;
    line.live_copy_bytes = line.copy_bytes;
    if (need == POPLINER_NEED_EXPECTED && rule->has_layout) {
        lay_out(layout, c.layout_per_million, &line);
    } else if (need == POPLINER_NEED_MOST) {
        lay_out(&rule->worst, c.layout_per_million, &line);
        line.bytes = share_of(line.bytes, MOST_PER_THOUSAND, 1000);
        line.copy_bytes = share_of(line.copy_bytes, MOST_PER_THOUSAND, 1000);
    }
    return line;
}
