/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "memory/rising_curve.h"

#include <stdlib.h>
#include <string.h>

#include "base/growth.h"

struct pl_rising_block {
    uint64_t whole_bytes; /* at each of its steps */
    uint64_t most_bytes;  /* beside these, at a step that counts */
    bool counts;          /* whether any does */
};

static size_t count_blocks(size_t num_steps) {
    return (num_steps + PL_RISING_BLOCK_STEPS - 1) / PL_RISING_BLOCK_STEPS;
}

bool pl_rising_curve_begin(pl_rising_curve *curve, size_t num_steps) {
    size_t num_blocks = count_blocks(num_steps);
    if (curve->bytes == NULL || curve->num_steps != num_steps) {
        pl_rising_curve_free(curve);
        curve->num_steps = num_steps;
        curve->bytes = pl_new_array(num_steps, sizeof *curve->bytes);
        curve->counts = pl_new_array(num_steps, 1);
        curve->blocks = pl_new_array(num_blocks, sizeof *curve->blocks);
        return curve->bytes != NULL && curve->counts != NULL && curve->blocks != NULL;
    }
    memset(curve->bytes, 0, num_steps * sizeof *curve->bytes);
    memset(curve->counts, 0, num_steps);
    memset(curve->blocks, 0, num_blocks * sizeof *curve->blocks);
    curve->peak_bytes = 0;
    return true;
}

void pl_rising_curve_free(pl_rising_curve *curve) {
    free(curve->bytes);
    free(curve->counts);
    free(curve->blocks);
    *curve = (pl_rising_curve){0};
}

void pl_rising_curve_copy(pl_rising_curve *curve, const pl_rising_curve *from) {
    memcpy(curve->bytes, from->bytes, from->num_steps * sizeof *curve->bytes);
    memset(curve->counts, 0, from->num_steps);
    for (size_t i = 0; i < count_blocks(from->num_steps); i++)
        curve->blocks[i] = (struct pl_rising_block){.whole_bytes = from->blocks[i].whole_bytes};
    curve->peak_bytes = 0;
}

/* The end of a block, or of the curve. */
static size_t block_end(const pl_rising_curve *curve, size_t block) {
    size_t end = (block + 1) * PL_RISING_BLOCK_STEPS;
    return end < curve->num_steps ? end : curve->num_steps;
}

/* Raises the peak to that of a block. */
static void raise_peak(pl_rising_curve *curve, const struct pl_rising_block *block) {
    uint64_t bytes = block->whole_bytes + block->most_bytes;
    if (block->counts && bytes > curve->peak_bytes)
        curve->peak_bytes = bytes;
}

void pl_rising_curve_add(pl_rising_curve *curve, size_t first_step, size_t end_step,
                         uint64_t bytes) {
    for (size_t step = first_step; step < end_step;) {
        size_t number = step / PL_RISING_BLOCK_STEPS;
        struct pl_rising_block *block = &curve->blocks[number];
        size_t end = block_end(curve, number);
        if (step == number * PL_RISING_BLOCK_STEPS && end <= end_step) {
            block->whole_bytes += bytes;
        } else {
            uint64_t most_bytes = block->most_bytes;
            end = end < end_step ? end : end_step;
            for (size_t i = step; i < end; i++) {
                uint64_t now_bytes = curve->bytes[i] += bytes;
                if (curve->counts[i] != 0 && now_bytes > most_bytes)
                    most_bytes = now_bytes;
            }
            block->most_bytes = most_bytes;
        }
        raise_peak(curve, block);
        step = end;
    }
}

void pl_rising_curve_count(pl_rising_curve *curve, size_t first_step, size_t end_step) {
    for (size_t step = first_step; step < end_step;) {
        size_t number = step / PL_RISING_BLOCK_STEPS;
        struct pl_rising_block *block = &curve->blocks[number];
        size_t end = block_end(curve, number);
        end = end < end_step ? end : end_step;
        block->counts = true;
        for (; step < end; step++) {
            curve->counts[step] = 1;
            if (curve->bytes[step] > block->most_bytes)
                block->most_bytes = curve->bytes[step];
        }
        raise_peak(curve, block);
    }
}

/* The first step of a block that counts and has the most of it. */
static size_t find_most(const pl_rising_curve *curve, size_t block) {
    size_t step = block * PL_RISING_BLOCK_STEPS;
    while (curve->counts[step] == 0 || curve->bytes[step] != curve->blocks[block].most_bytes)
        step++;
    return step;
}

size_t pl_rising_curve_peak_step(const pl_rising_curve *curve) {
    for (size_t i = 0; i < count_blocks(curve->num_steps); i++) {
        const struct pl_rising_block *block = &curve->blocks[i];
        if (block->counts && block->whole_bytes + block->most_bytes == curve->peak_bytes)
            return find_most(curve, i);
    }
    return 0;
}

uint64_t pl_rising_curve_peak_within(const pl_rising_curve *curve, size_t first_step,
                                     size_t end_step, size_t *peak_step) {
    uint64_t peak_bytes = 0;
    size_t peak_block = SIZE_MAX; /* the peak is the most of it */
    *peak_step = first_step;
    for (size_t step = first_step; step < end_step;) {
        size_t number = step / PL_RISING_BLOCK_STEPS;
        const struct pl_rising_block *block = &curve->blocks[number];
        size_t end = block_end(curve, number);
        if (step == number * PL_RISING_BLOCK_STEPS && end <= end_step) {
            if (block->whole_bytes + block->most_bytes > peak_bytes) {
                peak_bytes = block->whole_bytes + block->most_bytes;
                peak_block = number;
            }
            step = end;
            continue;
        }
        end = end < end_step ? end : end_step;
        for (; step < end; step++) {
            if (block->whole_bytes + curve->bytes[step] > peak_bytes) {
                peak_bytes = block->whole_bytes + curve->bytes[step];
                peak_block = SIZE_MAX;
                *peak_step = step;
            }
        }
    }
    if (peak_block != SIZE_MAX)
        *peak_step = find_most(curve, peak_block);
    return peak_bytes;
}
