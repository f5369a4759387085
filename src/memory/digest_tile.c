/* The digest of one tile.
 *
 * The steps of a unit count only in stages that have the unit, where a variable that the unit
 * touches always counts. So its bytes at those steps may be in the segments of all stages: a stage
 * without the unit ignores them. The variable must be a part of its own only between the first and
 * the last step of other units while it is live. Most variables have no such steps. The others are
 * mostly live between the same units, so that few parts have the bytes of many variables.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "memory/digest_inputs.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/numbers.h"
#include "memory/chain_data.h"
#include "profile/profile_data.h"

/* ---- Bytes by three numbers ------------------------------------------------------------------ */

enum { KEY_NUMBERS = 3 };

static const uint32_t *key_of(const pl_key_sums *tally, size_t i) {
    return pl_key_at(&tally->keys, i);
}

static void add_to_tally(pl_key_sums *tally, uint32_t a, uint32_t b, uint32_t c, uint64_t bytes) {
    pl_key_sums_add(tally, (const uint32_t[KEY_NUMBERS]){a, b, c}, bytes);
}

/* ---- A tile ---------------------------------------------------------------------------------- */

struct pl_digest_work {
    pl_arrays *arrays;  /* own this and all arrays */
    size_t live;        /* how live ranges count */
    bool is_new;        /* the tile lacks all that does not depend on it */
    pl_key_sums sums;   /* by set and sum */
    pl_key_sums parts;  /* by set, first and end step */
    pl_key_sums stored; /* by set of the pass usage, class, and whether the host fills it */
    pl_curve curve;
    uint8_t *is_break;           /* [num_steps + 1]: a segment begins here */
    uint32_t *segment_of_step;   /* [num_steps + 1] */
    uint64_t *step_bytes;        /* [num_steps] */
    uint64_t *unexplained_bytes; /* [num_steps]: part of it, by no operation */
    pl_digest_segment *segments; /* [num_steps] */
    pl_digest_unit *units;       /* [num_units] */
    uint64_t *sent_bytes[2];     /* [num_units + 1]: over each cut forward, backward */
    uint64_t *own_stash_bytes;   /* [num_units] */
    uint8_t *crosses;            /* [num_units]: it is live when the unit begins */
    uint32_t *last[2];           /* [num_units]: end of the last unit of a pass up to here */
    uint64_t *stash_bytes[PL_NUM_STASHES]; /* [num_units][num_units]: by start and unit */
};

pl_digest_work *pl_digest_work_new(pl_arrays *own, const pl_digest *digest) {
    const size_t num_units = digest->chain->num_units;
    const size_t num_steps = digest->chain->profile->num_steps;
    pl_digest_work *work = pl_arrays_new(own, 1, sizeof *work);
    if (work == NULL)
        return NULL;
    work->arrays = own;
    work->sums.keys = work->parts.keys = work->stored.keys =
        (pl_keys){.arrays = own, .key_size = KEY_NUMBERS * sizeof(uint32_t)};
    pl_curve_begin(&work->curve, own, 0, num_steps);
    work->is_break = pl_arrays_new(own, num_steps + 1, 1);
    work->segment_of_step = pl_arrays_new(own, num_steps + 1, sizeof *work->segment_of_step);
    work->step_bytes = pl_arrays_new(own, num_steps, sizeof *work->step_bytes);
    work->unexplained_bytes = pl_arrays_new(own, num_steps, sizeof *work->unexplained_bytes);
    work->segments = pl_arrays_new(own, num_steps, sizeof *work->segments);
    work->units = pl_arrays_new(own, num_units, sizeof *work->units);
    for (int pass = 0; digest->is_pipelined && pass < 2; pass++) {
        work->sent_bytes[pass] = pl_arrays_new(own, num_units + 1, sizeof(uint64_t));
        work->last[pass] = pl_arrays_new(own, num_units, sizeof(uint32_t));
    }
    if (digest->is_pipelined) {
        work->own_stash_bytes = pl_arrays_new(own, num_units, sizeof *work->own_stash_bytes);
        work->crosses = pl_arrays_new(own, num_units, 1);
    }
    for (int way = 0; digest->is_pipelined && way < PL_NUM_STASHES; way++)
        work->stash_bytes[way] = pl_arrays_new(own, num_units * num_units, sizeof(uint64_t));
    return own->failed ? NULL : work;
}

/* ---- Code, and data that is always live ------------------------------------------------------ */

static void add_sum(pl_digest_work *work, uint32_t set, uint32_t sum, uint64_t bytes) {
    if (bytes > 0)
        add_to_tally(&work->sums, set, sum, 0, bytes);
}

static void add_code(pl_digest_work *work, const pl_digest *digest, size_t tile) {
    const pl_digest_inputs *inputs = digest->inputs;
    const popliner_profile *p = digest->chain->profile;
    const size_t num_tiles = p->target.num_tiles;
    for (uint32_t group = 0; group < PL_NUM_CODE_GROUPS; group++)
        for (size_t row = 0; row < inputs->rows.count; row++)
            add_sum(work, *(const uint32_t *)pl_key_at(&inputs->rows, row), group,
                    inputs->set_bytes[group][row * num_tiles + tile]);
    for (size_t type = 0; type < p->num_vertex_types; type++)
        if (inputs->type_set[type * num_tiles + tile] != 0)
            add_sum(work, inputs->type_set[type * num_tiles + tile], PL_VERTEX_CODE,
                    inputs->type_code_bytes[type * num_tiles + tile]);
}

static void add_always_live(pl_digest_work *work, const pl_digest *digest, uint64_t variable) {
    const popliner_profile *p = digest->chain->profile;
    const pl_pass_usage *own = digest->pass_usage;
    const uint64_t bytes = p->variable_size_bytes[variable];
    if (!pl_account_is_code(digest->account, variable))
        add_sum(work, pl_pass_use_of(own, variable)->counting.touching, PL_SUM_DATA, bytes);
    for (uint32_t i = 0; own->passes.is_training && i < PL_NUM_ADDED; i++) {
        const uint32_t set = pl_added_parts[i].units(own, p, digest->account, variable);
        if (set != 0)
            add_sum(work, set, PL_SUM_ADDED + i, bytes);
    }
}

/* ---- Live ranges ----------------------------------------------------------------------------- */

/* Divides a live range of data that the units of `set` count: its beginning and end, while one of
 * them runs, go into the segments; the rest is a part. */
static void divide_range(pl_digest_work *work, const pl_digest *digest, uint32_t set,
                         size_t first_step, size_t end_step, uint64_t bytes) {
    /* any number is correct, since what is not in the segments is a part; without a limit,
     * alternating units would make this quadratic */
    enum { MAX_RUNS = 8 };
    const pl_digest_inputs *inputs = digest->inputs;
    size_t first = first_step; /* of the part */
    size_t end = end_step;
    for (int i = 0; i < MAX_RUNS && first < end; i++) {
        const pl_step_run *run = &inputs->runs[inputs->run_of_step[first]];
        if (!pl_bits_has(pl_digest_bits(digest, set), run->unit))
            break;
        first = run->end_step < end ? run->end_step : end;
    }
    for (int i = 0; i < MAX_RUNS && first < end; i++) {
        const pl_step_run *run = &inputs->runs[inputs->run_of_step[end - 1]];
        if (!pl_bits_has(pl_digest_bits(digest, set), run->unit))
            break;
        end = run->first_step > first ? run->first_step : first;
    }
    if (first_step < first)
        pl_curve_add_steps(&work->curve, first_step, first, bytes);
    if (end < end_step)
        pl_curve_add_steps(&work->curve, end, end_step, bytes);
    if (first < end)
        add_to_tally(&work->parts, set, (uint32_t)first, (uint32_t)end, bytes);
}

/* Divides all live ranges of a variable, also at the turn if other units count it from then on. */
static void divide_ranges(pl_digest_work *work, const pl_digest *digest, uint64_t variable) {
    const popliner_profile *p = digest->chain->profile;
    const uint32_t class_index = p->variable_class[variable];
    const uint64_t bytes = p->variable_size_bytes[variable];
    const pl_counting *counting = &pl_pass_use_of(digest->pass_usage, variable)->counting;
    const uint32_t before = pl_digest_counting(digest, work->live, counting, class_index, true);
    const uint32_t after = pl_digest_counting(digest, work->live, counting, class_index, false);
    const size_t turn = digest->pass_usage->passes.turn_step;
    /* where accumulators are added, a gradient lives until it is complete */
    const pl_gradients *gradients = digest->gradients;
    const size_t complete = (work->live & PL_LIVE_ACCUMULATES) == 0
                                ? PL_NONE
                                : gradients->complete_step[gradients->variable_set[variable]];
    for (uint32_t k = p->class_ranges_start[class_index];
         k < p->class_ranges_start[class_index + 1]; k++) {
        const size_t first = p->range_first_step[k];
        size_t end = p->range_end_step[k];
        if (first < complete && complete < end)
            end = complete;
        if (before == after || end <= turn) {
            divide_range(work, digest, before, first, end, bytes);
            continue;
        }
        if (first < turn)
            divide_range(work, digest, before, first, turn, bytes);
        divide_range(work, digest, after, first < turn ? turn : first, end, bytes);
    }
}

/* Adds what no operation touches to the segments, wherever it is live. */
static void add_unexplained(pl_digest_work *work, const pl_digest *digest, size_t tile) {
    const popliner_profile *p = digest->chain->profile;
    for (uint64_t i = p->tile_variables_start[tile]; i < p->tile_variables_start[tile + 1]; i++)
        if (pl_account_is_unexplained(digest->account, i))
            pl_curve_add(&work->curve, p, p->variable_class[i], p->variable_size_bytes[i]);
    pl_curve_read(&work->curve, work->unexplained_bytes);
}

static void add_variables(pl_digest_work *work, const pl_digest *digest, size_t tile) {
    const popliner_profile *p = digest->chain->profile;
    const pl_digest_inputs *inputs = digest->inputs;
    pl_curve_begin(&work->curve, work->arrays, 0, p->num_steps);
    add_unexplained(work, digest, tile);
    for (uint64_t i = p->tile_variables_start[tile]; i < p->tile_variables_start[tile + 1]; i++) {
        const uint32_t class_index = p->variable_class[i];
        const uint32_t use = pl_unit_usage_of(&digest->pass_usage->usage, i);
        if (use == 0)
            continue;
        if (p->class_always_live[class_index]) {
            if (work->is_new)
                add_always_live(work, digest, i);
            continue;
        }
        divide_ranges(work, digest, i);
        if (work->is_new && digest->is_pipelined &&
            (inputs->class_matters[class_index] != 0 || inputs->is_fed[i] != 0))
            add_to_tally(&work->stored, use, class_index, inputs->is_fed[i],
                         p->variable_size_bytes[i]);
    }
}

/* Divides the steps into segments, also wherever a part begins or ends; returns their number. */
static size_t find_segments(pl_digest_work *work, const pl_digest *digest) {
    const pl_digest_inputs *inputs = digest->inputs;
    const size_t num_steps = digest->chain->profile->num_steps;
    size_t count = 0;
    memcpy(work->is_break, inputs->is_break, num_steps + 1);
    for (size_t i = 0; i < work->parts.keys.count; i++) {
        work->is_break[key_of(&work->parts, i)[1]] = 1;
        work->is_break[key_of(&work->parts, i)[2]] = 1;
    }
    pl_curve_read(&work->curve, work->step_bytes);
    for (size_t step = 0; step < num_steps; step++) {
        const bool is_first = work->is_break[step] != 0;
        count += is_first;
        assert(count > 0);
        if (is_first || work->step_bytes[step] > work->segments[count - 1].bytes)
            work->segments[count - 1] = (pl_digest_segment){
                work->step_bytes[step], inputs->runs[inputs->run_of_step[step]].unit,
                (uint32_t)step, work->unexplained_bytes[step]};
        work->segment_of_step[step] = (uint32_t)count - 1;
    }
    work->segment_of_step[num_steps] = (uint32_t)count;
    return count;
}

/* ---- What each unit has ---------------------------------------------------------------------- */

static void find_units(pl_digest_work *work, const pl_digest *digest, size_t tile) {
    const popliner_profile *p = digest->chain->profile;
    const size_t num_units = digest->chain->num_units;
    const uint32_t *apart;
    const size_t num_apart = pl_account_apart(digest->account, tile, &apart);
    memset(work->units, 0, num_units * sizeof *work->units);
    for (size_t i = 0; i < num_apart; i++) {
        const uint64_t *units =
            pl_digest_bits(digest, pl_pass_use_of(digest->pass_usage, apart[i])->counting.touching);
        for (size_t unit = pl_bits_next(units, 0, num_units); unit < num_units;
             unit = pl_bits_next(units, unit + 1, num_units))
            work->units[unit].apart_bytes =
                pl_larger(work->units[unit].apart_bytes, p->variable_size_bytes[apart[i]]);
    }
    if (!digest->is_pipelined)
        return;
    for (int pass = 0; pass < 2; pass++)
        memset(work->sent_bytes[pass], 0, (num_units + 1) * sizeof(uint64_t));
    pl_passes_add_tile_cuts(digest->pass_usage, p, tile, work->sent_bytes[0], work->sent_bytes[1]);
    pl_curve_begin(&work->curve, work->arrays, 0, p->num_steps);
    pl_waits_measure(&digest->inputs->waits, digest->pass_usage, digest->chain, tile, &work->curve,
                     work->own_stash_bytes);
    for (size_t unit = 0; unit < num_units; unit++) {
        work->units[unit].own_stash_bytes = work->own_stash_bytes[unit];
        work->units[unit].sent_forward_bytes = work->sent_bytes[0][unit + 1];
        work->units[unit].sent_backward_bytes = work->sent_bytes[1][unit + 1];
    }
}

/* ---- The stash ------------------------------------------------------------------------------- */

/* How a variable that is not always live is used around a stage, and where it is live: at a step
 * and at the one before it (pl_class_crosses). */
typedef struct stash_use {
    bool forward;  /* the stage touches it in its forward pass */
    bool backward; /* in its backward pass */
    bool before;   /* earlier units touch it forward */
    bool after;    /* later units touch it forward */
    bool is_fed;   /* a copy from the host fills it, at any time */
    bool at_loss;  /* it is live where the passes part */
    bool at_begin; /* when the stage begins its forward pass */
    bool at_end;   /* when the unit after the stage does */
} stash_use;

/* True if the stage stores it:
 *
 *   NONE      what both passes touch and is live at the loss
 *   FULL      what earlier units or the host leave for the forward pass
 *   STANDARD  both, and what the forward pass leaves for later units */
static bool is_stored(popliner_recompute recompute, const stash_use *use) {
    const bool is_activation = use->backward && use->at_loss;
    const bool is_input = use->is_fed || (use->before && use->at_begin);
    const bool is_output = use->after && use->at_end;
    return use->forward && ((recompute != POPLINER_RECOMPUTE_FULL && is_activation) ||
                            (recompute != POPLINER_RECOMPUTE_NONE && is_input) ||
                            (recompute == POPLINER_RECOMPUTE_STANDARD && is_output));
}

/* Variables that are stored in the same stages. */
typedef struct stored_group {
    uint32_t first; /* the units that touch them are first ... end - 1 */
    uint32_t end;
    uint32_t first_forward; /* num_units if none touches them forward */
    uint32_t last_forward;
    bool is_fed;
    bool at_loss;
} stored_group;

/* Finds the units that touch a group, and the last ones so far of each pass. */
static stored_group find_group(pl_digest_work *work, const pl_digest *digest, const uint32_t *key) {
    const popliner_profile *p = digest->chain->profile;
    const pl_pass_usage *own = digest->pass_usage;
    const pl_pass_use *use = &own->uses[key[0]];
    const uint64_t *members = pl_bits_at(&own->usage.sets, key[0]);
    const uint64_t *units = pl_digest_bits(digest, use->counting.touching);
    const size_t n = own->num_units;
    const uint32_t first_data_unit = pl_chain_first_data_unit(digest->chain);
    const bool is_forward = use->first_forward != PL_NO_UNIT;
    const bool is_backward = use->first_backward != PL_NO_UNIT;
    stored_group g = {.first = (uint32_t)pl_bits_next(units, 0, n),
                      .end = (uint32_t)pl_more(is_forward ? use->last_forward + 1 : 0,
                                               is_backward ? use->last_backward + 1 : 0),
                      .first_forward = is_forward ? use->first_forward : (uint32_t)n,
                      .last_forward = is_forward ? use->last_forward : 0,
                      .is_fed = key[2] != 0,
                      .at_loss = pl_class_crosses(p, key[1], own->passes.loss_step)};
    uint32_t last[2] = {0, 0};
    for (uint32_t unit = g.first; unit < g.end; unit++) {
        const bool is_both =
            own->passes.is_training && unit >= own->passes.last_layer && pl_bits_has(units, unit);
        for (size_t pass = 0; pass < 2; pass++) {
            if (unit >= first_data_unit && (is_both || pl_bits_has(members, pass * n + unit)))
                last[pass] = unit + 1;
            work->last[pass][unit] = last[pass];
        }
        work->crosses[unit] = pl_class_crosses(p, key[1], own->passes.forward_step[unit]);
    }
    return g;
}

/* Returns the ways to recompute with which the stage start ... last stores a group, as bits. */
static unsigned ways_of_stage(const pl_digest_work *work, const stored_group *g, uint32_t start,
                              uint32_t last) {
    const stash_use use = {
        .forward = work->last[0][last] > start,
        .backward = work->last[1][last] > start,
        .before = g->first_forward<start, .after = g->last_forward> last,
        .is_fed = g->is_fed,
        .at_loss = g->at_loss,
        .at_begin = work->crosses[start] != 0,
        .at_end = last + 1 < g->end && work->crosses[last + 1] != 0,
    };
    unsigned ways = 0;
    for (int way = 0; use.forward && way < PL_NUM_STASHES; way++)
        ways |= is_stored((popliner_recompute)way, &use) ? 1u << way : 0;
    return ways;
}

/* Adds the bytes of a group to the stages that store it, as differences: stages that begin before
 * its first unit are like those that begin with it, and no unit after its last one matters. */
static void add_group(pl_digest_work *work, const pl_digest *digest, const uint32_t *key,
                      uint64_t bytes) {
    const size_t num_units = digest->chain->num_units;
    const stored_group g = find_group(work, digest, key);
    for (uint32_t start = g.first; start < g.end; start++) {
        const bool is_first = start == g.first;
        unsigned ways = 0; /* of the stage that ends before `last` */
        unsigned longer_ways = is_first ? 0 : ways_of_stage(work, &g, start - 1, start - 1);
        for (uint32_t last = start; last < g.end; last++) {
            const unsigned now = ways_of_stage(work, &g, start, last);
            const unsigned longer_now = is_first ? 0 : ways_of_stage(work, &g, start - 1, last);
            for (int way = 0; now + longer_now + ways + longer_ways > 0 && way < PL_NUM_STASHES;
                 way++) {
                const uint64_t sign = (now >> way & 1) - (uint64_t)(ways >> way & 1) -
                                      (longer_now >> way & 1) + (longer_ways >> way & 1);
                work->stash_bytes[way][(is_first ? 0 : start) * num_units + last] += sign * bytes;
            }
            ways = now;
            longer_ways = longer_now;
        }
    }
}

static void find_stash(pl_digest_work *work, const pl_digest *digest) {
    const size_t num_units = digest->chain->num_units;
    for (int way = 0; way < PL_NUM_STASHES; way++)
        memset(work->stash_bytes[way], 0, num_units * num_units * sizeof(uint64_t));
    for (size_t i = 0; i < work->stored.keys.count; i++)
        add_group(work, digest, key_of(&work->stored, i), work->stored.bytes[i]);
}

/* ---- The lists ------------------------------------------------------------------------------- */

bool pl_digest_allocate_tile(pl_digest_tile *tile, size_t num_units) {
    size_t num_stash = 0;
    for (int way = 0; way < PL_NUM_STASHES; way++)
        num_stash += tile->num_stash[way];
    tile->units = malloc(num_units * sizeof *tile->units + tile->num_sums * sizeof *tile->sums +
                         num_stash * sizeof *tile->stash[0] + 1);
    if (tile->units == NULL)
        return false;
    tile->sums = (pl_digest_sum *)(void *)(tile->units + num_units);
    tile->stash[0] = (pl_digest_stash *)(void *)(tile->sums + tile->num_sums);
    for (int way = 1; way < PL_NUM_STASHES; way++)
        tile->stash[way] = tile->stash[way - 1] + tile->num_stash[way - 1];
    return true;
}

bool pl_digest_allocate_live(pl_digest_live *live) {
    live->parts = malloc(live->num_parts * sizeof *live->parts +
                         live->num_segments * sizeof *live->segments + 1);
    if (live->parts == NULL)
        return false;
    live->segments = (pl_digest_segment *)(void *)(live->parts + live->num_parts);
    return true;
}

/* Adds what is the same however live ranges count. */
static bool fill_tile(pl_digest_work *work, const pl_digest *digest, size_t number,
                      pl_digest_tile *made) {
    const size_t num_units = digest->chain->num_units;
    const size_t num_stages = num_units * num_units;
    const int num_ways = digest->is_pipelined ? PL_NUM_STASHES : 0;
    find_units(work, digest, number);
    if (digest->is_pipelined)
        find_stash(work, digest);
    made->num_sums = work->sums.keys.count;
    for (int way = 0; way < num_ways; way++) {
        made->num_stash[way] = 0;
        for (size_t i = 0; i < num_stages; i++)
            made->num_stash[way] += work->stash_bytes[way][i] != 0;
    }
    if (!pl_digest_allocate_tile(made, num_units))
        return false;
    for (size_t i = 0; i < made->num_sums; i++) {
        const uint32_t *key = key_of(&work->sums, i);
        made->sums[i] = (pl_digest_sum){work->sums.bytes[i], key[0], key[1]};
    }
    memcpy(made->units, work->units, num_units * sizeof *made->units);
    for (int way = 0; way < num_ways; way++) {
        pl_digest_stash *stash = made->stash[way];
        for (size_t i = 0; i < num_stages; i++)
            if (work->stash_bytes[way][i] != 0)
                *stash++ = (pl_digest_stash){work->stash_bytes[way][i], (uint32_t)(i / num_units),
                                             (uint32_t)(i % num_units)};
    }
    return true;
}

static bool fill_live(pl_digest_work *work, const pl_digest *digest, pl_digest_live *live) {
    const size_t turn = digest->pass_usage->passes.turn_step;
    live->num_parts = work->parts.keys.count;
    live->num_segments = find_segments(work, digest);
    live->turn_segment = turn <= digest->chain->profile->num_steps ? work->segment_of_step[turn]
                                                                   : live->num_segments;
    if (!pl_digest_allocate_live(live))
        return false;
    for (size_t i = 0; i < live->num_parts; i++) {
        const uint32_t *key = key_of(&work->parts, i);
        live->parts[i] =
            (pl_digest_part){work->parts.bytes[i], key[0], work->segment_of_step[key[1]],
                             work->segment_of_step[key[2]]};
        assert(live->parts[i].set < digest->pass_usage->sets.count);
        assert(live->parts[i].first_segment < live->parts[i].end_segment);
        assert(live->parts[i].end_segment <= live->num_segments);
    }
    for (size_t i = 0; i < live->num_segments; i++) {
        live->segments[i] = work->segments[i];
        assert(i == 0 || live->segments[i].step > live->segments[i - 1].step);
        assert(live->segments[i].unexplained_bytes <= live->segments[i].bytes);
    }
    return true;
}

bool pl_digest_make_tile(pl_digest *digest, pl_digest_work *work, size_t tile, size_t live) {
    pl_digest_tile *made = &digest->tiles[tile];
    work->live = live;
    work->is_new = made->units == NULL;
    if (made->live[live].parts != NULL)
        return true;
    assert(digest->inputs != NULL);
    pl_keys_empty(&work->sums.keys);
    pl_keys_empty(&work->parts.keys);
    pl_keys_empty(&work->stored.keys);
    if (work->is_new)
        add_code(work, digest, tile);
    add_variables(work, digest, tile);
    if (work->arrays->failed || !fill_live(work, digest, &made->live[live]))
        return false;
    if (!work->is_new || fill_tile(work, digest, tile, made))
        return true;
    free(made->live[live].parts);
    made->live[live].parts = NULL;
    return false;
}
