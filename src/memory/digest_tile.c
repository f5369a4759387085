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
    uint8_t *passes;             /* [num_units]: that touch a variable; all 0 between two */
    uint8_t *crosses;            /* [num_units]: it is live when the unit begins */
    uint32_t *last[2];           /* [num_units]: end of the last unit of a pass up to here */
    uint64_t *stash_bytes[PL_NUM_STASHES]; /* [num_units][num_units]: by start and unit */
};

enum { FORWARD = 1, BACKWARD = 2 };

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
    for (int pass = 0; digest->key.is_pipelined && pass < 2; pass++) {
        work->sent_bytes[pass] = pl_arrays_new(own, num_units + 1, sizeof(uint64_t));
        work->last[pass] = pl_arrays_new(own, num_units, sizeof(uint32_t));
    }
    if (digest->key.is_pipelined) {
        work->own_stash_bytes = pl_arrays_new(own, num_units, sizeof *work->own_stash_bytes);
        work->passes = pl_arrays_new(own, num_units, 1);
        work->crosses = pl_arrays_new(own, num_units, 1);
    }
    for (int way = 0; digest->key.is_pipelined && way < PL_NUM_STASHES; way++)
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
    const uint64_t bytes = p->variable_size_bytes[variable];
    if (!pl_account_is_code(digest->account, variable))
        add_sum(work, pl_digest_touching(digest, variable), PL_SUM_DATA, bytes);
    if (!digest->pass_usage->passes.is_training)
        return;
    for (uint32_t i = 0; i < PL_NUM_ADDED; i++) {
        const uint32_t set =
            pl_added_parts[i].units(digest->pass_usage, p, digest->account, variable);
        if (set != 0)
            add_sum(work, digest->passing.touching[set], PL_SUM_ADDED + i, bytes);
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
        if (!pl_digest_set_has(digest, set, run->unit))
            break;
        first = run->end_step < end ? run->end_step : end;
    }
    for (int i = 0; i < MAX_RUNS && first < end; i++) {
        const pl_step_run *run = &inputs->runs[inputs->run_of_step[end - 1]];
        if (!pl_digest_set_has(digest, set, run->unit))
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
    const uint32_t before = pl_digest_counting(digest, variable, true);
    const uint32_t after = pl_digest_counting(digest, variable, false);
    const size_t turn = digest->pass_usage->passes.turn_step;
    /* where accumulators are added, a gradient lives until it is complete */
    const pl_gradients *gradients = digest->gradients;
    const size_t complete =
        gradients == NULL ? PL_NONE : gradients->complete_step[gradients->variable_set[variable]];
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
    const uint32_t *unexplained;
    const size_t count = pl_account_unexplained(digest->account, tile, &unexplained);
    for (size_t i = 0; i < count; i++)
        pl_curve_add(&work->curve, p, p->variable_class[unexplained[i]],
                     p->variable_size_bytes[unexplained[i]]);
    pl_curve_read(&work->curve, work->unexplained_bytes);
}

static void add_variables(pl_digest_work *work, const pl_digest *digest, size_t tile) {
    const popliner_profile *p = digest->chain->profile;
    const pl_digest_inputs *inputs = digest->inputs;
    pl_curve_begin(&work->curve, work->arrays, 0, p->num_steps);
    add_unexplained(work, digest, tile);
    for (uint64_t i = p->tile_variables_start[tile]; i < p->tile_variables_start[tile + 1]; i++) {
        const uint32_t class_index = p->variable_class[i];
        const uint32_t set = pl_unit_usage_of(&digest->pass_usage->usage, i);
        if (set == 0)
            continue;
        if (p->class_always_live[class_index]) {
            add_always_live(work, digest, i);
            continue;
        }
        divide_ranges(work, digest, i);
        if (digest->key.is_pipelined &&
            (inputs->class_matters[class_index] != 0 || inputs->is_fed[i] != 0))
            add_to_tally(&work->stored, set, class_index, inputs->is_fed[i],
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
    for (size_t i = 0; i < num_apart; i++)
        for (uint32_t unit = 0; unit < num_units; unit++)
            if (pl_digest_set_has(digest, pl_digest_touching(digest, apart[i]), unit))
                work->units[unit].apart_bytes =
                    pl_larger(work->units[unit].apart_bytes, p->variable_size_bytes[apart[i]]);
    if (!digest->key.is_pipelined)
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
    const pl_passes *passes = &digest->pass_usage->passes;
    const pl_unit_sets *sets = &digest->pass_usage->usage.sets;
    const uint32_t num_units = (uint32_t)digest->chain->num_units;
    const uint32_t first_data_unit = pl_chain_first_data_unit(digest->chain);
    stored_group g = {.first = num_units,
                      .first_forward = num_units,
                      .is_fed = key[2] != 0,
                      .at_loss = pl_class_crosses(p, key[1], passes->loss_step)};
    for (uint32_t set = key[0]; set != 0; set = sets->rest[set]) {
        const pl_pass_member m = pl_pass_member_of(passes, num_units, sets->last_unit[set]);
        work->passes[m.unit] |= (m.is_forward ? FORWARD : 0) | (m.is_backward ? BACKWARD : 0);
        g.first = m.unit < g.first ? m.unit : g.first;
        g.end = m.unit >= g.end ? m.unit + 1 : g.end;
    }
    uint32_t last[2] = {0, 0};
    for (uint32_t unit = g.first; unit < g.end; unit++) {
        if ((work->passes[unit] & FORWARD) != 0) {
            last[0] = unit < first_data_unit ? 0 : unit + 1;
            g.last_forward = unit;
            g.first_forward = g.first_forward < unit ? g.first_forward : unit;
        }
        if ((work->passes[unit] & BACKWARD) != 0 && unit >= first_data_unit)
            last[1] = unit + 1;
        work->last[0][unit] = last[0];
        work->last[1][unit] = last[1];
        work->crosses[unit] = pl_class_crosses(p, key[1], passes->forward_step[unit]);
        work->passes[unit] = 0;
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

/* Returns the next list of a block, and moves on. */
static void *next_list(uint64_t **at, size_t count, size_t item_size) {
    void *list = *at;
    assert(item_size % sizeof **at == 0);
    *at += count * item_size / sizeof **at;
    return list;
}

bool pl_digest_allocate_tile(pl_digest_tile *tile, size_t num_units) {
    size_t bytes = tile->num_sums * sizeof *tile->sums + tile->num_parts * sizeof *tile->parts +
                   tile->num_segments * sizeof *tile->segments + num_units * sizeof *tile->units;
    for (int way = 0; way < PL_NUM_STASHES; way++)
        bytes += tile->num_stash[way] * sizeof *tile->stash[way];
    uint64_t *at = tile->block = malloc(bytes + 1);
    if (at == NULL)
        return false;
    tile->sums = next_list(&at, tile->num_sums, sizeof *tile->sums);
    tile->parts = next_list(&at, tile->num_parts, sizeof *tile->parts);
    tile->segments = next_list(&at, tile->num_segments, sizeof *tile->segments);
    tile->units = next_list(&at, num_units, sizeof *tile->units);
    for (int way = 0; way < PL_NUM_STASHES; way++)
        tile->stash[way] = next_list(&at, tile->num_stash[way], sizeof *tile->stash[way]);
    return true;
}

static void fill_lists(const pl_digest_work *work, const pl_digest *digest, pl_digest_tile *made) {
    const size_t num_units = digest->chain->num_units;
    for (size_t i = 0; i < made->num_sums; i++) {
        const uint32_t *key = key_of(&work->sums, i);
        made->sums[i] = (pl_digest_sum){work->sums.bytes[i], key[0], key[1]};
    }
    for (size_t i = 0; i < made->num_parts; i++) {
        const uint32_t *key = key_of(&work->parts, i);
        made->parts[i] =
            (pl_digest_part){work->parts.bytes[i], key[0], work->segment_of_step[key[1]],
                             work->segment_of_step[key[2]], 0};
        assert(made->parts[i].set < digest->passing.sets.count);
        assert(made->parts[i].first_segment < made->parts[i].end_segment);
        assert(made->parts[i].end_segment <= made->num_segments);
    }
    for (size_t i = 0; i < made->num_segments; i++) {
        made->segments[i] = work->segments[i];
        assert(i == 0 || made->segments[i].step > made->segments[i - 1].step);
        assert(made->segments[i].unexplained_bytes <= made->segments[i].bytes);
    }
    memcpy(made->units, work->units, num_units * sizeof *made->units);
    for (int way = 0; digest->key.is_pipelined && way < PL_NUM_STASHES; way++) {
        pl_digest_stash *stash = made->stash[way];
        for (size_t i = 0; i < num_units * num_units; i++)
            if (work->stash_bytes[way][i] != 0)
                *stash++ = (pl_digest_stash){work->stash_bytes[way][i], (uint32_t)(i / num_units),
                                             (uint32_t)(i % num_units)};
    }
}

bool pl_digest_make_tile(pl_digest *digest, pl_digest_work *work, size_t tile) {
    const size_t num_units = digest->chain->num_units;
    const size_t turn = digest->pass_usage->passes.turn_step;
    pl_digest_tile *made = &digest->tiles[tile];
    if (made->block != NULL)
        return true;
    pl_keys_empty(&work->sums.keys);
    pl_keys_empty(&work->parts.keys);
    pl_keys_empty(&work->stored.keys);
    add_code(work, digest, tile);
    add_variables(work, digest, tile);
    if (work->arrays->failed)
        return false;
    made->num_sums = work->sums.keys.count;
    made->num_parts = work->parts.keys.count;
    made->num_segments = find_segments(work, digest);
    made->turn_segment = turn <= digest->chain->profile->num_steps ? work->segment_of_step[turn]
                                                                   : made->num_segments;
    find_units(work, digest, tile);
    if (digest->key.is_pipelined)
        find_stash(work, digest);
    for (int way = 0; digest->key.is_pipelined && way < PL_NUM_STASHES; way++) {
        made->num_stash[way] = 0;
        for (size_t i = 0; i < num_units * num_units; i++)
            made->num_stash[way] += work->stash_bytes[way][i] != 0;
    }
    if (!pl_digest_allocate_tile(made, num_units))
        return false;
    fill_lists(work, digest, made);
    return true;
}
