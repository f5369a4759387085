/* The memory that compiling stages separately adds, for every interval and for two of them on one
 * IPU: measured at once, measured separately, and by a simple evaluation of the rules in
 * docs/internals/memory-models.md.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "golden_case.h"
#include "made_profile.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "costs/costs.h"
#include "memory/chain_data.h"
#include "memory/intervals.h"
#include "memory/parameters.h"
#include "memory/stage.h"
#include "memory/stage_details.h"
#include "memory/stage_meter.h"
#include "model/layers.h"
#include "naive_passes.h"
#include "pipeline/pipeline.h"
#include "profile/profile_data.h"
#include "same_detail.h"
#include "test_data.h"
#include "test_sql.h"

/* factors of the estimates for fewer than 128 tiles, in thousandths */
enum { LEAST = 850, MOST = 1020, MEAN = 1135, DEVIATIONS = 1500, MOST_CODE = 1170 };
enum { NUM_SCHEDULES = POPLINER_SCHEDULE_SEQUENTIAL + 1 };

static const unsigned effect_sets[] = {0, POPLINER_EFFECT_LAYOUT, POPLINER_EFFECT_PASSING,
                                       POPLINER_EFFECT_BUFFERS, POPLINER_EFFECTS_ALL};

enum { NUM_EFFECT_SETS = sizeof effect_sets / sizeof *effect_sets };

/* How many intervals each effect changed, so that no test is of nothing. */
static size_t num_laid_out, num_passed, num_buffered, num_accumulated, num_completed, num_shared,
    num_apart, num_own, num_of_all, num_freed;

/* ---- The simple evaluation ------------------------------------------------------------------ */

typedef struct naive_needs {
    size_t num_tiles;
    uint64_t *bytes[POPLINER_NUM_NEEDS]; /* [num_tiles] */
    uint64_t *layout;                    /* [num_tiles]: of what is expected */
} naive_needs;

static void begin_needs(naive_needs *needs, size_t num_tiles) {
    needs->num_tiles = num_tiles;
    needs->layout = test_new_array(num_tiles, sizeof *needs->layout);
    for (int need = 0; need < POPLINER_NUM_NEEDS; need++)
        needs->bytes[need] = test_new_array(num_tiles, sizeof *needs->bytes[need]);
}

static void end_needs(naive_needs *needs) {
    free(needs->layout);
    for (int need = 0; need < POPLINER_NUM_NEEDS; need++)
        free(needs->bytes[need]);
}

static bool is_in(const popliner_interval *stage, size_t unit) {
    return unit >= stage->first_unit && unit <= stage->last_unit;
}

static bool has_unit(const popliner_interval *stages, size_t num_stages, size_t unit) {
    for (size_t i = 0; i < num_stages; i++)
        if (is_in(&stages[i], unit))
            return true;
    return false;
}

/* Whether a variable that units touch in a pass goes through one of the stages. */
static bool goes_through(const naive_passes *n, size_t variable, uint8_t pass,
                         const popliner_interval *stages, size_t num_stages) {
    size_t first = SIZE_MAX;
    size_t last = 0;
    for (size_t unit = 0; unit < n->num_units; unit++)
        if ((n->touches[variable * n->num_units + unit] & pass) != 0) {
            first = first == SIZE_MAX ? unit : first;
            last = unit;
        }
    for (size_t unit = first == SIZE_MAX ? last : first + 1; unit < last; unit++)
        if (has_unit(stages, num_stages, unit))
            return true;
    return false;
}

/* Whether the variable counts at the step, if ranges that begin before or at `complete` end after
 * it. */
static bool counts(const popliner_profile *p, size_t variable, size_t step, size_t complete) {
    uint32_t class_index = p->variable_class[variable];
    for (uint32_t k = p->class_ranges_start[class_index];
         k < p->class_ranges_start[class_index + 1]; k++)
        if (p->range_first_step[k] <= step && step < p->range_end_step[k] &&
            (p->range_first_step[k] > complete || step <= complete))
            return true;
    return false;
}

static bool is_live(const popliner_profile *p, size_t variable, size_t step) {
    return counts(p, variable, step, SIZE_MAX);
}

/* The live bytes of each tile at each step, [num_tiles][num_steps]. */
typedef struct live_bytes {
    uint64_t *whole;       /* as `touched`, with all of every range */
    uint64_t *touched;     /* and what no operation touches */
    uint64_t *unexplained; /* that alone */
    uint64_t *passing;
} live_bytes;

static void add_live(const popliner_profile *p, size_t variable, size_t first_step, size_t end_step,
                     size_t complete, uint64_t *bytes) {
    uint64_t *tile = &bytes[pl_profile_tile_of(p, variable) * p->num_steps];
    for (size_t step = first_step; step < end_step; step++)
        if (counts(p, variable, step, complete))
            tile[step] += p->variable_size_bytes[variable];
}

/* until_complete: whether gradients count until they are complete. */
static live_bytes find_live(const naive_passes *n, const popliner_interval *stages,
                            size_t num_stages, bool until_complete) {
    const popliner_profile *p = n->c->profile;
    size_t count = p->target.num_tiles * p->num_steps;
    size_t turn = n->turn < p->num_steps ? n->turn : p->num_steps;
    live_bytes live = {
        test_new_array(count, sizeof(uint64_t)), test_new_array(count, sizeof(uint64_t)),
        test_new_array(count, sizeof(uint64_t)), test_new_array(count, sizeof(uint64_t))};
    for (size_t v = 0; v < p->num_variables; v++) {
        bool by_any = false;
        bool by_own = false;
        if (p->class_always_live[p->variable_class[v]])
            continue;
        for (size_t unit = 0; unit < n->num_units; unit++)
            if (n->touches[v * n->num_units + unit] != 0) {
                by_any = true;
                by_own = by_own || has_unit(stages, num_stages, unit);
            }
        size_t complete = until_complete ? n->complete[v] : SIZE_MAX;
        if (by_own || !by_any) {
            add_live(p, v, 0, p->num_steps, SIZE_MAX, live.whole);
            add_live(p, v, 0, p->num_steps, complete, live.touched);
        }
        if (!by_any)
            add_live(p, v, 0, p->num_steps, complete, live.unexplained);
        if (by_own)
            continue;
        if (goes_through(n, v, NAIVE_FORWARD, stages, num_stages))
            add_live(p, v, 0, turn, complete, live.passing);
        bool was_kept =
            turn > 0 && turn < p->num_steps && is_live(p, v, turn - 1) && is_live(p, v, turn);
        if (!was_kept && goes_through(n, v, NAIVE_BACKWARD, stages, num_stages))
            add_live(p, v, turn, p->num_steps, complete, live.passing);
    }
    return live;
}

/* part of whole for bytes, rounded up */
static uint64_t share(uint64_t bytes, uint64_t part, uint64_t whole) {
    return (bytes * part + whole - 1) / whole;
}

typedef struct tile_layout {
    uint64_t unused;
    uint64_t fragmented;
    uint64_t live;
    uint64_t code;        /* executable, with what lies between it */
    uint64_t group_bytes; /* of the groups of code but vertex state */
} tile_layout;

/* What code leaves of its last element, with the 16 bytes below it. */
static uint64_t left(const popliner_profile *p, uint64_t code) {
    uint64_t end = code + 16;
    for (size_t i = p->num_elements; i-- > 0;)
        if (p->element_offset[i] >= code + 16)
            end = p->element_offset[i];
    return code == 0 ? 0 : end - code;
}

/* The address from which on no element has data that ends at `end`. */
static uint64_t element_after(const popliner_profile *p, uint64_t end) {
    uint64_t begin = UINT64_MAX;
    for (size_t i = 0; i < p->num_elements; i++)
        if (p->element_offset[i] >= end && p->element_offset[i] < begin)
            begin = p->element_offset[i];
    return begin == UINT64_MAX ? end : begin;
}

static bool is_data(const popliner_profile *p, uint64_t variable, bool always_live) {
    return (p->variable_placing[variable] & PL_PLACING_EXECUTABLE) == 0 &&
           (p->class_always_live[p->variable_class[variable]] != 0) == always_live;
}

/* Whether it is data that is not always live, and must not be in an element with data that is. */
static bool lies_apart(const popliner_profile *p, uint64_t variable) {
    for (size_t i = 0; i < p->num_apart; i++)
        if (p->apart_variable[i] == variable && is_data(p, variable, false) &&
            is_data(p, p->apart_from[i], true))
            return true;
    return false;
}

/* What is unused below the variables that lie apart, at the end of a tile. */
static uint64_t unused_below(const popliner_profile *p, size_t tile) {
    uint64_t end = 0;
    uint64_t begin = UINT64_MAX;
    for (uint64_t v = p->tile_variables_start[tile]; v < p->tile_variables_start[tile + 1]; v++)
        if (!lies_apart(p, v) && p->variable_offset[v] + p->variable_size_bytes[v] > end)
            end = p->variable_offset[v] + p->variable_size_bytes[v];
    for (uint64_t v = p->tile_variables_start[tile]; v < p->tile_variables_start[tile + 1]; v++)
        if (lies_apart(p, v) && p->variable_offset[v] >= end && p->variable_offset[v] < begin)
            begin = p->variable_offset[v];
    return begin == UINT64_MAX ? 0 : begin - end;
}

static tile_layout layout_of(const popliner_profile *p, size_t tile) {
    uint64_t live = p->tile_always_live_bytes[tile] + p->tile_not_always_live_peak_bytes[tile];
    uint64_t total = p->tile_total_bytes[tile] < live ? live : p->tile_total_bytes[tile];
    uint64_t end = p->tile_total_including_gaps_bytes[tile];
    tile_layout result = {end > total ? end - total : 0, total - live, live, 0, 0};
    uint64_t lowest = UINT64_MAX; /* of what is not executable */
    uint64_t highest = 0;         /* end of what is */
    for (uint64_t v = p->tile_variables_start[tile]; v < p->tile_variables_start[tile + 1]; v++) {
        uint8_t category = p->category[p->variable_category[v]];
        bool is_code = category == PL_CATEGORY_VERTEX_CODE ||
                       category == PL_CATEGORY_CONTROL_CODE ||
                       category == PL_CATEGORY_INTERNAL_EXCHANGE_CODE;
        bool runs = (p->variable_placing[v] & PL_PLACING_EXECUTABLE) != 0;
        result.code += runs ? p->variable_size_bytes[v] : 0;
        if (runs && p->variable_offset[v] + p->variable_size_bytes[v] > highest)
            highest = p->variable_offset[v] + p->variable_size_bytes[v];
        if (!runs && p->variable_size_bytes[v] > 0 && p->variable_offset[v] < lowest)
            lowest = p->variable_offset[v];
        if (is_code && p->class_always_live[p->variable_class[v]])
            result.group_bytes += p->variable_size_bytes[v];
    }
    if (highest <= lowest && highest > result.code + 16)
        result.code = highest - 16;
    uint64_t by_code = left(p, result.code);
    uint64_t below = unused_below(p, tile);
    if (p->num_elements == 0 || result.code == 0 || by_code + below > result.unused ||
        lowest < result.code + by_code)
        result.code = by_code = below = 0;
    result.unused -= by_code + below;
    return result;
}

/* Returns the executable bytes of a stage on a tile. */
static uint64_t code_of(const pl_stage_meter *meter, const popliner_stage_memory *stage,
                        const tile_layout *l, size_t tile) {
    uint64_t bytes = l->code;
    for (int group = 0; group < PL_NUM_CODE_GROUPS; group++)
        bytes += group == PL_VERTEX_STATE ? 0 : pl_stage_code_bytes(meter, stage, group, tile);
    return l->code == 0 || bytes < l->group_bytes ? 0 : bytes - l->group_bytes;
}

/* The largest variable on a tile that lies apart and that the stages touch. */
static uint64_t apart_of(const naive_passes *n, size_t tile, const popliner_interval *stages,
                         size_t num_stages) {
    const popliner_profile *p = n->c->profile;
    uint64_t largest = 0;
    for (uint64_t v = p->tile_variables_start[tile]; v < p->tile_variables_start[tile + 1]; v++)
        for (size_t unit = 0; unit < n->num_units; unit++)
            if (n->touches[v * n->num_units + unit] != 0 && has_unit(stages, num_stages, unit) &&
                lies_apart(p, v) && p->variable_size_bytes[v] > largest)
                largest = p->variable_size_bytes[v];
    return largest;
}

/* A tile of a stage with its own layout. */
typedef struct naive_tile {
    const popliner_profile *profile;
    tile_layout layout; /* live 0: none */
    uint64_t code;      /* of the stage */
    uint64_t more_code; /* that may be missing */
    uint64_t always;    /* data */
    uint64_t apart;
} naive_tile;

/* The need of B bytes, and in *copy that of each copy of K bytes. */
static uint64_t lay_out(const naive_tile *t, uint64_t bytes, uint64_t copy_bytes, uint64_t *copy) {
    const tile_layout *l = &t->layout;
    *copy = copy_bytes;
    if (l->live == 0)
        return bytes;
    *copy += share(copy_bytes, l->fragmented, l->live);
    const uint64_t code = t->code + t->more_code;
    uint64_t need = bytes + l->unused + share(bytes, l->fragmented, l->live);
    need += left(t->profile, code) + t->more_code;
    const uint64_t pushed =
        element_after(t->profile, code + left(t->profile, code) + t->always) + t->apart;
    return t->apart > 0 && code > 0 && pushed > need ? pushed : need;
}

/* mean * (the mean of all + DEVIATIONS * their standard deviation) */
static uint64_t most_of_all(const uint64_t *bytes, size_t count) {
    double sum = 0;
    double units = 0;
    double variance = 0;
    for (size_t i = 0; i < count; i++) {
        sum += (double)bytes[i];
        units += floor((double)bytes[i] / 64 + 0.5);
    }
    for (size_t i = 0; i < count; i++) {
        const double apart = floor((double)bytes[i] / 64 + 0.5) - units / (double)count;
        variance += apart * apart / (double)count;
    }
    const double mean = sum / (double)count;
    const double deviation = variance > 0 ? 64 * sqrt(variance) : 0;
    return (uint64_t)ceil((mean + deviation * (double)DEVIATIONS / 1000) * (double)MEAN / 1000);
}

static uint64_t factor_of(const naive_passes *n, const popliner_pipeline *pipeline) {
    bool trains = n->trains && pipeline->schedule != POPLINER_SCHEDULE_NONE &&
                  pipeline->schedule != POPLINER_SCHEDULE_INFERENCE;
    return !trains                                                ? 0
           : pipeline->accumulators == POPLINER_ACCUMULATORS_FP32 ? 2
           : pipeline->accumulators == POPLINER_ACCUMULATORS_FP16 ? 1
                                                                  : 0;
}

/* Copies that a stage keeps, see pipeline_test.c. */
static size_t copies_of(const naive_passes *n, const popliner_pipeline *pipeline,
                        popliner_need need, size_t stages_to_end) {
    return n->trains ? pl_pipeline_copies_for(pipeline, need, stages_to_end) : 0;
}

/* Sets whether each class is used at each step, [num_classes][num_steps], by other programs than
 * copies from and to the host. */
static uint8_t *find_uses(const popliner_profile *p) {
    uint8_t *uses = test_new_array(p->num_classes * p->num_steps, 1);
    for (size_t step = 0; step < p->num_steps; step++) {
        const uint32_t program = p->step_program[step];
        pl_touches touches = pl_touches_of(p, program);
        uint32_t variable;
        while (p->program_type[program] != POPLINER_PROGRAM_STREAM_COPY_MID &&
               pl_touches_next(&touches, &variable))
            uses[p->variable_class[variable] * p->num_steps + step] = 1;
    }
    return uses;
}

static bool has_pass(const naive_passes *n, size_t variable, uint8_t pass) {
    for (size_t unit = 0; unit < n->num_units; unit++)
        if ((n->touches[variable * n->num_units + unit] & pass) != 0)
            return true;
    return false;
}

/* Adds the bytes of a variable at the steps at which it is live and does not wait: something still
 * uses it in the pass of the step, or it is of the backward pass and something has used it there.
 */
static void add_at_work(const naive_passes *n, size_t variable, const uint8_t *uses,
                        uint64_t *step_bytes) {
    const popliner_profile *p = n->c->profile;
    size_t last = 0; /* the step after it, before the loss */
    size_t next = n->loss;
    for (size_t step = 0; step < n->loss; step++)
        last = uses[step] != 0 ? step + 1 : last;
    while (next < p->num_steps && uses[next] == 0)
        next++;
    for (size_t step = 0; step < p->num_steps; step++)
        if (is_live(p, variable, step) && (step < last || step >= next))
            step_bytes[step] += p->variable_size_bytes[variable];
}

/* Adds what PopART frees between the passes of a stage with copies: all that it keeps one of but
 * for the most that is at work at one of its steps. */
static void add_freed(const naive_passes *n, const popliner_pipeline *pipeline,
                      const popliner_interval *stage, const uint64_t *stash, uint64_t *freed) {
    const popliner_profile *p = n->c->profile;
    if (!n->trains || pipeline->schedule != POPLINER_SCHEDULE_POPART ||
        pipeline->recompute != POPLINER_RECOMPUTE_NONE || stage->stages_to_end == 1)
        return;
    uint8_t *uses = find_uses(p);
    uint64_t *step_bytes = test_new_array(p->target.num_tiles * p->num_steps, sizeof *step_bytes);
    for (size_t v = 0; v < p->num_variables; v++)
        if (!p->class_always_live[p->variable_class[v]] && has_pass(n, v, NAIVE_FORWARD) &&
            has_pass(n, v, NAIVE_BACKWARD) && is_live(p, v, n->loss - 1) && is_live(p, v, n->loss))
            add_at_work(n, v, &uses[p->variable_class[v] * p->num_steps],
                        &step_bytes[pl_profile_tile_of(p, v) * p->num_steps]);
    for (size_t tile = 0; tile < p->target.num_tiles; tile++) {
        uint64_t most = 0;
        for (size_t step = 0; step < p->num_steps; step++) {
            const size_t operation = pl_chain_operation_at(n->chain, step);
            if (operation == SIZE_MAX || is_in(stage, pl_chain_unit_of(n->chain, operation)))
                most = step_bytes[tile * p->num_steps + step] > most
                           ? step_bytes[tile * p->num_steps + step]
                           : most;
        }
        freed[tile] += stash[tile] > most ? stash[tile] - most : 0;
        num_freed += most > 0 && most < stash[tile];
    }
    free(uses);
    free(step_bytes);
}

static void evaluate(const naive_passes *n, pl_stage_meter *meter,
                     const popliner_pipeline *pipeline, const popliner_interval *stages,
                     size_t num_stages, naive_needs *needs) {
    const popliner_profile *p = n->c->profile;
    size_t num_tiles = p->target.num_tiles;
    bool in_cycles = n->trains && (pipeline->schedule == POPLINER_SCHEDULE_POPART ||
                                   pipeline->schedule == POPLINER_SCHEDULE_TF_GROUPED);
    bool passes = (pipeline->effects & POPLINER_EFFECT_PASSING) != 0;
    bool has_layout = (pipeline->effects & POPLINER_EFFECT_LAYOUT) != 0;
    uint64_t *work = test_new_array(num_tiles, sizeof *work);
    uint64_t *other_work = test_new_array(num_tiles, sizeof *work);
    uint64_t *sent_forward = test_new_array(num_tiles, sizeof *sent_forward);
    uint64_t *sent_backward = test_new_array(num_tiles, sizeof *sent_backward);
    uint64_t *accumulators = test_new_array(num_tiles, sizeof *accumulators);
    uint64_t *stash = test_new_array(num_stages * num_tiles, sizeof *stash);
    uint64_t *freed = test_new_array(num_tiles, sizeof *freed);
    live_bytes live =
        find_live(n, stages, num_stages, factor_of(n, pipeline) > 0 && !pl_has_accumulators(p));
    uint64_t *most_bytes = test_new_array(num_tiles, sizeof *most_bytes);
    uint64_t *most_whole = test_new_array(num_tiles, sizeof *most_whole);
    uint64_t *most_copy = test_new_array(num_tiles, sizeof *most_copy);
    uint64_t most_copies = 0;
    popliner_stage_memory plain = {0};
    assert_int_equal(pl_stage_measure_ipu(meter, NULL, stages, num_stages, &plain, NULL),
                     POPLINER_OK);
    for (size_t i = 0; i < num_stages; i++) {
        naive_stash(n, pipeline->recompute, stages[i].first_unit, stages[i].last_unit,
                    &stash[i * num_tiles]);
        add_freed(n, pipeline, &stages[i], &stash[i * num_tiles], freed);
        if (stages[i].last_unit + 1 < n->num_units) {
            naive_cut_by_tile(n, stages[i].last_unit + 1, work, other_work);
            for (size_t tile = 0; tile < num_tiles; tile++) {
                sent_forward[tile] += in_cycles ? work[tile] : 0;
                sent_backward[tile] += in_cycles ? other_work[tile] : 0;
            }
        }
    }
    naive_parameters(n, stages, num_stages, accumulators);
    for (size_t tile = 0; tile < num_tiles; tile++)
        accumulators[tile] *= factor_of(n, pipeline);
    for (size_t tile = 0; tile < num_tiles; tile++) {
        uint64_t plain_peak = 0;
        uint64_t peak = 0;
        uint64_t buffered_peak = 0;
        size_t peak_step = SIZE_MAX;
        for (size_t step = 0; step < p->num_steps; step++) {
            size_t at = tile * p->num_steps + step;
            size_t operation = pl_chain_operation_at(n->chain, step);
            if (operation != SIZE_MAX &&
                !has_unit(stages, num_stages, pl_chain_unit_of(n->chain, operation)))
                continue;
            uint64_t bytes = live.touched[at];
            plain_peak = live.whole[at] > plain_peak ? live.whole[at] : plain_peak;
            bytes += passes ? live.passing[at] : 0;
            if (bytes > peak) {
                peak = bytes;
                peak_step = step;
            }
            bytes += step < n->turn ? sent_backward[tile] : sent_forward[tile];
            buffered_peak = bytes > buffered_peak ? bytes : buffered_peak;
        }
        uint64_t rest = plain.need_bytes[POPLINER_NEED_EXPECTED][tile] - plain_peak;
        num_completed += !passes && peak < plain_peak;
        uint64_t unexplained =
            peak_step == SIZE_MAX ? 0 : live.unexplained[tile * p->num_steps + peak_step];
        needs->bytes[POPLINER_NEED_LEAST][tile] = (rest + peak - unexplained) * LEAST / 1000;
        uint64_t expected =
            rest + accumulators[tile] +
            ((pipeline->effects & POPLINER_EFFECT_BUFFERS) != 0 ? buffered_peak : peak);
        if ((pipeline->effects & POPLINER_EFFECT_BUFFERS) != 0)
            expected -= freed[tile] < expected ? freed[tile] : expected;
        naive_tile t = {.profile = p, .layout = layout_of(p, tile)};
        t.code = code_of(meter, &plain, &t.layout, tile);
        t.always = plain.always_live_bytes[tile] + accumulators[tile] +
                   plain.part_bytes[POPLINER_PART_UNEXPLAINED_ALWAYS_LIVE][tile];
        for (int group = 0; group < PL_NUM_CODE_GROUPS; group++)
            t.always -= pl_account_fixed_code(&meter->account, group, tile);
        t.apart = apart_of(n, tile, stages, num_stages);
        num_apart += has_layout && t.apart > 0;
        naive_tile most = t;
        if (!has_layout)
            t.layout.live = 0;
        uint64_t copy;
        needs->bytes[POPLINER_NEED_EXPECTED][tile] = lay_out(&t, expected, 0, &copy);
        needs->layout[tile] = needs->bytes[POPLINER_NEED_EXPECTED][tile] - expected;
        most.more_code = share(t.code, MOST_CODE, 1000) - t.code;
        most_copies = num_stages == 1
                          ? copies_of(n, pipeline, POPLINER_NEED_MOST, stages[0].stages_to_end)
                          : 1;
        /* each copy is laid out by itself */
        for (size_t i = 0; i < num_stages; i++) {
            const uint64_t kept = stash[i * num_tiles + tile];
            uint64_t copies[POPLINER_NUM_NEEDS];
            for (int need = 0; need < POPLINER_NUM_NEEDS; need++)
                copies[need] = copies_of(n, pipeline, (popliner_need)need, stages[i].stages_to_end);
            needs->bytes[POPLINER_NEED_LEAST][tile] +=
                copies[POPLINER_NEED_LEAST] * (kept * LEAST / 1000);
            lay_out(&t, 0, kept, &copy);
            needs->bytes[POPLINER_NEED_EXPECTED][tile] += copies[POPLINER_NEED_EXPECTED] * copy;
            needs->layout[tile] += copies[POPLINER_NEED_EXPECTED] * (copy - kept);
            lay_out(&most, 0, kept, &copy);
            most_copy[tile] +=
                (num_stages == 1 ? 1 : copies[POPLINER_NEED_MOST]) * share(copy, MOST, 1000);
        }
        const uint64_t whole = rest + accumulators[tile] + buffered_peak;
        const uint64_t left = freed[tile] < whole ? whole - freed[tile] : 0;
        most_whole[tile] = share(lay_out(&most, whole, 0, &copy), MOST, 1000);
        most_bytes[tile] = share(lay_out(&most, left, 0, &copy), MOST, 1000);
    }
    for (size_t tile = 0; tile < num_tiles; tile++) {
        const uint64_t once = most_of_all(most_whole, num_tiles);
        const uint64_t left = most_of_all(most_bytes, num_tiles);
        const uint64_t stored = most_copies * most_of_all(most_copy, num_tiles);
        const uint64_t all = stored + (left < once ? left : once) > once
                                 ? stored + (left < once ? left : once)
                                 : once;
        uint64_t own = most_bytes[tile] + most_copies * most_copy[tile];
        needs->bytes[POPLINER_NEED_MOST][tile] = own > all ? own : all;
        num_own += own > all;
        num_of_all += own < all;
    }
    free(most_bytes);
    free(most_whole);
    free(most_copy);
    pl_stage_memory_clear(&plain);
    free(live.whole);
    free(live.touched);
    free(live.unexplained);
    free(live.passing);
    free(work);
    free(other_work);
    free(sent_forward);
    free(sent_backward);
    free(accumulators);
    free(stash);
    free(freed);
}

/* At most what all stages need alone, and at least what one does. */
static void limit_most(const naive_passes *n, pl_stage_meter *meter,
                       const popliner_pipeline *pipeline, const popliner_interval *stages,
                       size_t num_stages, naive_needs *needs) {
    const size_t num_tiles = n->c->profile->target.num_tiles;
    uint64_t *bytes = needs->bytes[POPLINER_NEED_MOST];
    uint64_t sum = 0;
    uint64_t largest = 0;
    for (size_t i = 0; i < num_stages; i++) {
        naive_needs alone;
        begin_needs(&alone, num_tiles);
        evaluate(n, meter, pipeline, &stages[i], 1, &alone);
        const uint64_t own = pl_tiles_max(alone.bytes[POPLINER_NEED_MOST], num_tiles);
        sum += own;
        largest = own > largest ? own : largest;
        end_needs(&alone);
    }
    for (size_t tile = 0; tile < num_tiles && num_stages > 1; tile++) {
        bytes[tile] = bytes[tile] < sum ? bytes[tile] : sum;
        bytes[tile] = bytes[tile] > largest ? bytes[tile] : largest;
    }
}

/* ---- Measured by themselves ----------------------------------------------------------------- */

static void assert_evaluated(const naive_passes *n, pl_stage_meter *meter,
                             const popliner_pipeline *pipeline, const popliner_interval *stages,
                             size_t num_stages) {
    static const char *const names[] = {"expected", "least", "most"};
    size_t num_tiles = n->c->profile->target.num_tiles;
    popliner_stage_memory memory = {0};
    naive_needs needs;
    begin_needs(&needs, num_tiles);
    evaluate(n, meter, pipeline, stages, num_stages, &needs);
    limit_most(n, meter, pipeline, stages, num_stages, &needs);
    assert_int_equal(pl_stage_measure_ipu(meter, pipeline, stages, num_stages, &memory, NULL),
                     POPLINER_OK);
    for (int need = 0; need < POPLINER_NUM_NEEDS; need++)
        if (!same_numbers(names[need], memory.need_bytes[need], needs.bytes[need], num_tiles))
            fail_msg("%s: units %zu ... %zu of %zu, schedule %d, recompute %d, effects %u, "
                     "accumulators %d",
                     n->c->name, stages[0].first_unit, stages[0].last_unit, n->num_units,
                     (int)pipeline->schedule, (int)pipeline->recompute, pipeline->effects,
                     (int)pipeline->accumulators);
    assert_true(
        same_numbers("layout", memory.part_bytes[POPLINER_PART_LAYOUT], needs.layout, num_tiles));
    for (size_t tile = 0; tile < num_tiles; tile++) {
        uint64_t bytes = 0;
        for (int part = 0; part < POPLINER_NUM_PARTS; part++)
            bytes += (POPLINER_PARTS_WITHIN >> part & 1) != 0 ? 0 : memory.part_bytes[part][tile];
        assert_int_equal(memory.need_bytes[POPLINER_NEED_EXPECTED][tile], bytes);
    }
    end_needs(&needs);
    pl_stage_memory_clear(&memory);
}

/* Checks properties that do not depend on the details of the rules. */
static void assert_properties(const naive_passes *n, pl_stage_meter *meter,
                              const popliner_pipeline *pipeline, const popliner_interval *stage) {
    popliner_pipeline other = *pipeline;
    popliner_stage_detail own;
    popliner_stage_detail without;
    popliner_stage_memory plain = {0};
    size_t num_tiles = n->c->profile->target.num_tiles;
    uint64_t *stash = test_new_array(num_tiles, sizeof *stash);
    assert_int_equal(pl_stage_detail_measure(meter, pipeline, stage, 1, &own, NULL), POPLINER_OK);
    const uint64_t *need = own.need_bytes;
    assert_true(need[POPLINER_NEED_LEAST] <= need[POPLINER_NEED_EXPECTED]);
    assert_true(need[POPLINER_NEED_EXPECTED] <= need[POPLINER_NEED_MOST]);
    assert_int_equal(need[POPLINER_NEED_EXPECTED], own.tile_bytes);
    /* the parts are all there is */
    assert_int_equal(
        own.total_bytes,
        own.part_bytes[POPLINER_PART_VARIABLES] + own.part_bytes[POPLINER_PART_VERTEX_CODE] +
            own.part_bytes[POPLINER_PART_VERTEX_STATE] +
            own.part_bytes[POPLINER_PART_EXCHANGE_CODE] +
            own.part_bytes[POPLINER_PART_CONTROL_CODE] + own.part_bytes[POPLINER_PART_UNEXPLAINED] +
            own.part_bytes[POPLINER_PART_STASH] + own.part_bytes[POPLINER_PART_BUFFERS] +
            own.part_bytes[POPLINER_PART_ACCUMULATORS] + own.part_bytes[POPLINER_PART_LAYOUT]);
    /* with no effects it is the model of the stage, and copies */
    other.effects = 0;
    other.accumulators = POPLINER_ACCUMULATORS_NONE;
    assert_int_equal(pl_stage_detail_measure(meter, &other, stage, 1, &without, NULL), POPLINER_OK);
    assert_int_equal(without.part_bytes[POPLINER_PART_BUFFERS] +
                         without.part_bytes[POPLINER_PART_ACCUMULATORS] +
                         without.part_bytes[POPLINER_PART_LAYOUT],
                     0);
    assert_int_equal(
        pl_stage_measure_units(meter, stage->first_unit, stage->last_unit, &plain, NULL),
        POPLINER_OK);
    measure_stash(meter, pipeline->recompute, stage->first_unit, stage->last_unit, stash);
    uint64_t largest = 0;
    for (size_t tile = 0; tile < num_tiles; tile++) {
        uint64_t bytes = plain.need_bytes[POPLINER_NEED_EXPECTED][tile] +
                         pl_pipeline_copies(&other, stage->stages_to_end) * stash[tile];
        largest = bytes > largest ? bytes : largest;
    }
    assert_int_equal(without.tile_bytes, largest);
    /* layout only adds, and is nothing but layout */
    other = *pipeline;
    other.effects &= ~(unsigned)POPLINER_EFFECT_LAYOUT;
    assert_int_equal(pl_stage_detail_measure(meter, &other, stage, 1, &without, NULL), POPLINER_OK);
    assert_int_equal(own.total_bytes, without.total_bytes + own.part_bytes[POPLINER_PART_LAYOUT]);
    assert_true(own.tile_bytes >= without.tile_bytes);
    assert_int_equal(without.need_bytes[POPLINER_NEED_LEAST], need[POPLINER_NEED_LEAST]);
    assert_int_equal(without.need_bytes[POPLINER_NEED_MOST], need[POPLINER_NEED_MOST]);
    num_laid_out += own.part_bytes[POPLINER_PART_LAYOUT] > 0;
    /* passing only adds, but to what is of all tiles at most, which may become more even */
    other = *pipeline;
    other.effects &= ~(unsigned)POPLINER_EFFECT_PASSING;
    assert_int_equal(pl_stage_detail_measure(meter, &other, stage, 1, &without, NULL), POPLINER_OK);
    for (int k = 0; k < POPLINER_NUM_NEEDS; k++)
        assert_true(k != POPLINER_NEED_EXPECTED || need[k] >= without.need_bytes[k]);
    num_passed += own.total_bytes > without.total_bytes;
    num_buffered += own.part_bytes[POPLINER_PART_BUFFERS] > 0;
    num_accumulated += own.part_bytes[POPLINER_PART_ACCUMULATORS] > 0;
    pl_stage_memory_clear(&plain);
    free(stash);
}

/* Stages at random, of which two or three share an IPU: their peaks, and some of them against the
 * simple evaluation. */
static void assert_shared(const naive_passes *n, pl_stage_meter *meter,
                          const popliner_pipeline *pipeline, uint64_t *random) {
    enum { MOST_STAGES = 3 };
    popliner_stage_memory memory = {0};
    for (int round = 0; round < 8; round++) {
        popliner_interval stages[MOST_STAGES];
        size_t count = 0;
        for (size_t unit = test_below(random, 3); unit < n->num_units && count < MOST_STAGES;
             unit += 1 + test_below(random, 2)) {
            const size_t last = unit + test_below(random, n->num_units - unit) / 2;
            stages[count++] = (popliner_interval){unit, last, 1 + test_below(random, 4)};
            unit = last;
        }
        if (count < 2)
            continue;
        assert_int_equal(pl_stage_measure_ipu(meter, pipeline, stages, count, &memory, NULL),
                         POPLINER_OK);
        for (int need = 0; need < POPLINER_NUM_NEEDS; need++) {
            uint64_t peak_bytes;
            assert_int_equal(pl_stage_measure_peak(meter, pipeline, (popliner_need)need, stages,
                                                   count, &peak_bytes, NULL),
                             POPLINER_OK);
            assert_int_equal(
                peak_bytes, pl_tiles_max(memory.need_bytes[need], n->c->profile->target.num_tiles));
        }
        if (num_shared++ % 8 == 1)
            assert_evaluated(n, meter, pipeline, stages, count);
        num_buffered +=
            pl_tiles_sum(memory.part_bytes[POPLINER_PART_BUFFERS], memory.num_tiles) > 0;
    }
    pl_stage_memory_clear(&memory);
}

/* ---- At once -------------------------------------------------------------------------------- */

/* All tables and details of a chain in a pipeline, against each stage by itself; a few of these
 * against the simple evaluation. */
static void check_pipeline(const naive_passes *n, const popliner_pipeline *pipeline,
                           uint64_t *random) {
    const golden_case *c = n->c;
    size_t num_units = n->num_units;
    popliner_costs *costs[POPLINER_NUM_NEEDS];
    popliner_costs *from_details[POPLINER_NUM_NEEDS];
    pl_stage_details *details = NULL;
    pl_stage_meter *meter;
    for (int need = 0; need < POPLINER_NUM_NEEDS; need++) {
        pl_interval_options options = PL_INTERVAL_OPTIONS_INIT;
        options.pipeline = *pipeline;
        options.need = (popliner_need)need;
        options.num_threads = 1 + (size_t)need;
        if (need == 0)
            assert_int_equal(pl_intervals_measure(n->chain, &options, NULL, &details, NULL),
                             POPLINER_OK);
        assert_int_equal(pl_intervals_measure(n->chain, &options, &costs[need], NULL, NULL),
                         POPLINER_OK);
        assert_true(pl_details_serve(&details->key, pipeline) || num_units == 1);
        assert_int_equal(pl_stage_details_costs(details, n->chain, pipeline, (popliner_need)need,
                                                &from_details[need], NULL),
                         POPLINER_OK);
    }
    assert_int_equal(pl_stage_meter_create(n->chain, 0, &meter, NULL), POPLINER_OK);
    size_t most = costs[0]->max_stages_to_end;
    bool keeps = n->trains && pl_pipeline_keeps(pipeline);
    assert_int_equal(most, !keeps                             ? 1
                           : pipeline->max_stages < num_units ? pipeline->max_stages
                                                              : num_units);
    for (int need = 0; need < POPLINER_NUM_NEEDS; need++) {
        assert_int_equal(costs[need]->max_stages_to_end, most);
        assert_int_equal(from_details[need]->max_stages_to_end, most);
    }
    for (size_t first = 0; first < num_units; first++)
        for (size_t last = first; last < num_units; last++) {
            if (num_units > 8 && test_below(random, 16) != 0)
                continue; /* a sixteenth of the many will do */
            for (size_t to_end = 1; to_end <= most; to_end++) {
                const popliner_interval stage = {first, last, to_end};
                popliner_stage_detail own;
                assert_int_equal(pl_stage_detail_measure(meter, pipeline, &stage, 1, &own, NULL),
                                 POPLINER_OK);
                popliner_stage_detail got =
                    pl_stage_details_get(details, c->profile, pipeline, &stage);
                assert_same_detail(&got, &own);
                for (int need = 0; need < POPLINER_NUM_NEEDS; need++) {
                    uint64_t peak = popliner_costs_peak(costs[need], first, last, to_end);
                    assert_true(peak == own.need_bytes[need] || peak == POPLINER_PEAK_FORBIDDEN);
                    assert_true(popliner_costs_peak(from_details[need], first, last, to_end) ==
                                peak);
                    assert_true(peak != POPLINER_PEAK_FORBIDDEN || last == 0);
                }
            }
            if (test_below(random, test_takes_all() ? 4 : 12) == 0) {
                const popliner_interval stage = {first, last, 1 + test_below(random, 4)};
                assert_properties(n, meter, pipeline, &stage);
                assert_evaluated(n, meter, pipeline, &stage, 1);
            }
        }
    if (num_units > 2) {
        size_t last = test_below(random, num_units - 2);
        size_t first = last + 2;
        const popliner_interval two[] = {{test_below(random, last + 1), last, 3},
                                         {first, first + test_below(random, num_units - first), 1}};
        assert_evaluated(n, meter, pipeline, two, 2);
    }
    assert_shared(n, meter, pipeline, random);
    for (int need = 0; need < POPLINER_NUM_NEEDS; need++) {
        popliner_costs_free(costs[need]);
        popliner_costs_free(from_details[need]);
    }
    pl_stage_details_free(details);
    pl_stage_meter_free(meter);
}

/* One pipeline of so many in the quick run, and of a tenth of that in the nightly run: all would
 * take an hour. */
static void check_chain(const golden_case *c, const pl_chain *chain, size_t every,
                        uint64_t *random) {
    static size_t number = 0;
    naive_passes n;
    naive_begin(&n, c, chain);
    for (int schedule = 0; schedule < NUM_SCHEDULES; schedule++)
        for (int recompute = 0; recompute <= POPLINER_RECOMPUTE_FULL; recompute++)
            for (size_t effects = 0; effects < NUM_EFFECT_SETS; effects++)
                for (int wide = 0; wide < 2; wide++) {
                    const popliner_pipeline pipeline = {
                        .schedule = (popliner_schedule)schedule,
                        .recompute = (popliner_recompute)recompute,
                        .max_stages = 3,
                        .effects = effect_sets[effects],
                        .accumulators =
                            wide != 0 ? POPLINER_ACCUMULATORS_FP32 : POPLINER_ACCUMULATORS_NONE,
                    };
                    const size_t step = test_chosen(every, every / 2, every / 10);
                    if (number % step == 0 && test_takes_case(number / step, 1))
                        check_pipeline(&n, &pipeline, random);
                    number++;
                }
    naive_end(&n);
}

static void check_golden(const golden_case *c) {
    uint64_t random = 83;
    pl_layers *layers = assign_layers(c, NULL, POPLINER_LAYER_ORDER_STEPS);
    pl_chain *chain = make_chain(c, layers, POPLINER_MEMORY_MODEL_FULL);
    check_chain(c, chain, 67, &random);
    pl_chain_free(chain);
    pl_layers_free(layers);
}

static void golden_cases_agree(void **state) {
    (void)state;
    golden_for_each(check_golden);
}

static void layers_at_random_agree(void **state) {
    (void)state;
    golden_case c;
    uint64_t random = 89;
    golden_load(&c, "popart-train");
    for (size_t i = 0; i < (test_takes_all() ? 6 : 2); i++) {
        pl_layers *layers = assign_at_random(&c, 3 + i, &random);
        pl_chain *chain = make_chain(&c, layers, POPLINER_MEMORY_MODEL_FULL);
        check_chain(&c, chain, 71, &random);
        pl_chain_free(chain);
        pl_layers_free(layers);
    }
    golden_free(&c);
}

static void the_model_made_by_hand_agrees(void **state) {
    (void)state;
    golden_case c = made_case();
    uint64_t random = 97;
    for (size_t i = 0; i < 40; i++) {
        pl_layers *layers = assign_at_random(&c, 1 + i % 5, &random);
        pl_chain *chain = make_chain(&c, layers, POPLINER_MEMORY_MODEL_FULL);
        check_chain(&c, chain, 13, &random);
        pl_chain_free(chain);
        pl_layers_free(layers);
    }
}

static void made_models_agree(void **state) {
    static const char *const models[] = {
        "--training --skips 2 --layers 5",
        "--training --outline --layers 4",
        "--inference --skips 2 --layers 5",
        "--framework tensorflow --training --skips 1 --layers 4",
        "--framework tensorflow --training --outline --layers 4",
        "--training --accumulate --layers 4",
    };
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        if (!test_takes_case(i, 2))
            continue;
        char *directory = test_path(*state, "made");
        golden_case c;
        uint64_t random = 101 + i;
        make_profile(directory, "--tiles 4 --hidden 16 --sequence 8 --vocabulary 60 %s", models[i]);
        golden_load_directory(&c, directory);
        pl_layers *layers = assign_layers(&c, NULL, POPLINER_LAYER_ORDER_NATURAL);
        pl_chain *chain = make_chain(&c, layers, POPLINER_MEMORY_MODEL_FULL);
        check_chain(&c, chain, 43, &random);
        pl_chain_free(chain);
        pl_layers_free(layers);
        golden_free(&c);
        free(directory);
    }
}

/* Few of the pipelines above store tensors that wait meanwhile. */
static void waiting_tensors_agree(void **state) {
    const popliner_pipeline pipeline = {.schedule = POPLINER_SCHEDULE_POPART,
                                        .recompute = POPLINER_RECOMPUTE_NONE,
                                        .max_stages = 3,
                                        .effects = POPLINER_EFFECTS_ALL};
    popliner_pipeline without_effects = pipeline;
    without_effects.effects = 0;
    static const char *const models[] = {"--skips 1 --layers 3", "--outline --layers 4"};
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        char *directory = test_path(*state, "made");
        golden_case c;
        naive_passes n;
        uint64_t random = 127 + i;
        make_profile(directory, "--training --tiles 4 --hidden 16 --sequence 8 --vocabulary 60 %s",
                     models[i]);
        golden_load_directory(&c, directory);
        pl_layers *layers = assign_layers(&c, NULL, POPLINER_LAYER_ORDER_NATURAL);
        pl_chain *chain = make_chain(&c, layers, POPLINER_MEMORY_MODEL_FULL);
        naive_begin(&n, &c, chain);
        check_pipeline(&n, &pipeline, &random);
        pl_stage_meter *meter;
        assert_int_equal(pl_stage_meter_create(chain, 0, &meter, NULL), POPLINER_OK);
        for (size_t first = 0; first < n.num_units; first++)
            for (size_t last = first; last < n.num_units; last++) {
                const popliner_interval stage = {first, last, 2};
                assert_evaluated(&n, meter, &pipeline, &stage, 1);
                assert_evaluated(&n, meter, &without_effects, &stage, 1);
            }
        pl_stage_meter_free(meter);
        naive_end(&n);
        pl_chain_free(chain);
        pl_layers_free(layers);
        golden_free(&c);
        free(directory);
    }
}

/* With one micro-batch no stage stores copies: what was found for it must not serve more. */
static void digests_serve_pipelines_that_store_more(void **state) {
    (void)state;
    golden_case c;
    golden_load(&c, "popart-train");
    pl_layers *layers = assign_layers(&c, NULL, POPLINER_LAYER_ORDER_STEPS);
    pl_chain *chain = make_chain(&c, layers, POPLINER_MEMORY_MODEL_FULL);
    const popliner_interval two[] = {{1, 1, 3}, {3, 3, 1}};
    popliner_pipeline pipeline = {.max_stages = 3, .effects = POPLINER_EFFECTS_ALL};
    popliner_stage_detail details[2][3];
    assert_int_equal(popliner_copies_parse("1f1b", &pipeline.copies, NULL), POPLINER_OK);
    for (int order = 0; order < 2; order++) {
        pl_stage_meter *meter;
        assert_int_equal(pl_stage_meter_create(chain, 0, &meter, NULL), POPLINER_OK);
        for (size_t i = 0; i < 3; i++) {
            const size_t k = order == 0 ? i : 2 - i;
            pipeline.copies.num_micro_batches = k + 1;
            assert_int_equal(
                pl_stage_detail_measure(meter, &pipeline, two, 2, &details[order][k], NULL),
                POPLINER_OK);
        }
        pl_stage_meter_free(meter);
    }
    for (size_t k = 0; k < 3; k++)
        assert_same_detail(&details[0][k], &details[1][k]);
    assert_int_equal(details[0][0].part_bytes[POPLINER_PART_STASH], 0);
    assert_true(details[0][1].part_bytes[POPLINER_PART_STASH] > 0);
    pl_chain_free(chain);
    pl_layers_free(layers);
    golden_free(&c);
}

/* PopLiner's model knows no effects: all needs are one. */
static void popliners_model_has_one_need(void **state) {
    (void)state;
    golden_case c;
    pl_stage_meter *meter;
    golden_load(&c, "popart-train");
    pl_layers *layers = assign_layers(&c, NULL, POPLINER_LAYER_ORDER_STEPS);
    pl_chain *chain = make_chain(&c, layers, POPLINER_MEMORY_MODEL_POPLINER);
    const popliner_interval stage = {1, 2, 2};
    popliner_stage_detail details[2];
    assert_int_equal(pl_stage_meter_create(chain, 0, &meter, NULL), POPLINER_OK);
    for (size_t i = 0; i < 2; i++) {
        popliner_pipeline pipeline = {
            .schedule = POPLINER_SCHEDULE_TF_INTERLEAVED,
            .max_stages = 3,
            .effects = i == 0 ? 0 : POPLINER_EFFECT_LAYOUT | POPLINER_EFFECT_PASSING};
        assert_int_equal(pl_stage_detail_measure(meter, &pipeline, &stage, 1, &details[i], NULL),
                         POPLINER_OK);
        for (int need = 0; need < POPLINER_NUM_NEEDS; need++)
            assert_int_equal(details[i].need_bytes[need], details[0].tile_bytes);
    }
    assert_same_detail(&details[0], &details[1]);
    pl_stage_meter_free(meter);
    pl_chain_free(chain);
    pl_layers_free(layers);
    golden_free(&c);
}

/* Where a third of the programs belong to no operation, some data does not either. */
static void sums_have_what_no_operation_touches(void **state) {
    static const char *const passes[] = {"--training", "--inference"};
    for (size_t i = 0; i < 2; i++) {
        char *directory = test_path(*state, "made");
        char *file = test_path(directory, "profile.pop");
        golden_case c;
        naive_passes n;
        pl_stage_meter *meter;
        uint64_t random = 109 + i;
        make_profile(directory, "--tiles 4 --hidden 16 --sequence 8 --vocabulary 60 --layers 5 %s",
                     passes[i]);
        test_alter(file, "UPDATE programs SET debug_id = NULL WHERE id % 3 = 0");
        golden_load_directory(&c, directory);
        pl_layers *layers = assign_layers(&c, NULL, POPLINER_LAYER_ORDER_NATURAL);
        pl_chain *chain = make_chain(&c, layers, POPLINER_MEMORY_MODEL_FULL);
        naive_begin(&n, &c, chain);
        assert_int_equal(pl_stage_meter_create(chain, 0, &meter, NULL), POPLINER_OK);
        for (int schedule = 0; schedule < NUM_SCHEDULES; schedule++)
            for (int recompute = 0; recompute <= POPLINER_RECOMPUTE_FULL; recompute++) {
                const popliner_pipeline pipeline = {.schedule = (popliner_schedule)schedule,
                                                    .recompute = (popliner_recompute)recompute,
                                                    .max_stages = 3,
                                                    .effects = POPLINER_EFFECTS_ALL,
                                                    .accumulators = POPLINER_ACCUMULATORS_FP16};
                assert_shared(&n, meter, &pipeline, &random);
            }
        pl_stage_meter_free(meter);
        naive_end(&n);
        pl_chain_free(chain);
        pl_layers_free(layers);
        golden_free(&c);
        free(file);
        free(directory);
    }
}

/* Every effect was there in some stage above. */
static void saw_every_effect(void **state) {
    (void)state;
    assert_met(num_laid_out > 5);
    assert_met(num_apart > 5 && num_own > 5 && num_of_all > 5 && num_freed > 50);
    assert_met(num_passed > 0);
    assert_met(num_buffered > 0);
    assert_met(num_accumulated > 0);
    assert_met(num_completed > 0);
    assert_met(num_shared > 20);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(golden_cases_agree),
        cmocka_unit_test(layers_at_random_agree),
        cmocka_unit_test(the_model_made_by_hand_agrees),
        IN_DIRECTORY(made_models_agree),
        IN_DIRECTORY(waiting_tensors_agree),
        IN_DIRECTORY(sums_have_what_no_operation_touches),
        cmocka_unit_test(digests_serve_pipelines_that_store_more),
        cmocka_unit_test(popliners_model_has_one_need),
        cmocka_unit_test(saw_every_effect),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
