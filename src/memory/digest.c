/* The digest of a profile: first what all its tiles share, then the tiles.
 *
 * The steps of a unit count only in stages that have the unit, where a variable that the unit
 * touches always counts. So its bytes at those steps may be in the segments of all stages: a stage
 * without the unit ignores them. The variable must be a part of its own only between the first and
 * the last step of other units while it is live. Most variables have no such steps. The others are
 * mostly live between the same units, so that few parts have the bytes of many variables.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "memory/digest.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "base/numbers.h"
#include "base/threads.h"
#include "memory/chain_data.h"
#include "model/operations.h"
#include "profile/profile_data.h"

/* Consecutive liveness steps of one unit. */
typedef struct step_run {
    uint32_t first_step;
    uint32_t end_step;
    uint32_t unit;
} step_run;

/* The keys that bytes are added up by. */
typedef struct sum_key {
    uint32_t set;
    uint32_t sum;
} sum_key;

typedef struct pl_digest_inputs {
    pl_arrays *arrays; /* own all arrays */
    /* State and code of all programs of the same units but vertex code: a sum_key by row, and
     * [rows][tiles]. */
    pl_keys rows;
    uint64_t *row_bytes;
    /* The units that need each kind of vertex types on each tile, [types][tiles], and its code
     * there. */
    pl_vertex_kinds kinds;
    uint32_t *type_set;
    uint64_t *type_code_bytes;
    step_run *runs;
    uint32_t *run_of_step; /* [num_steps] */
    uint8_t *is_break;     /* [num_steps + 1]: a segment begins on every tile */
    /* The next ones only of a profile that trains: the variables that a copy from the host fills,
     * [num_variables]. */
    uint8_t *is_fed;
    /* The steps at which a class waits for the backward pass, [num_classes]: from its last user
     * before the loss to the first from it on; not above wait_step if it never waits. */
    uint32_t *wait_step;
    uint32_t *end_wait_step;
} pl_digest_inputs;

/* ---- Code ------------------------------------------------------------------------------------ */

/* Returns the units of a set of operations. */
static uint32_t units_of(const pl_digest *digest, uint32_t operations) {
    const pl_pass_usage *own = digest->pass_usage;
    return own->uses[own->usage.units_of_set[operations]].units;
}

/* Returns the bytes by tile of a group of code of the units of a set of operations, until the next
 * call; NULL if the set is empty, or memory is short. */
static uint64_t *row_of(pl_digest_inputs *inputs, const pl_digest *digest, uint32_t operations,
                        uint32_t group) {
    const size_t num_tiles = digest->chain->profile->target.num_tiles;
    const size_t count = inputs->rows.count;
    const sum_key key = {units_of(digest, operations), group};
    if (operations == 0)
        return NULL;
    const size_t first = pl_keys_number(&inputs->rows, &key) * num_tiles;
    if (inputs->rows.count > count &&
        pl_arrays_grow(inputs->arrays, &inputs->row_bytes, first + num_tiles, sizeof(uint64_t)))
        memset(inputs->row_bytes + first, 0, num_tiles * sizeof(uint64_t));
    return inputs->arrays->failed ? NULL : inputs->row_bytes + first;
}

static void add_series(pl_digest_inputs *inputs, const pl_digest *digest, uint32_t operations,
                       uint32_t group, pl_series series) {
    uint64_t *row = series.size_bytes > 0 ? row_of(inputs, digest, operations, group) : NULL;
    if (row != NULL)
        pl_series_add(digest->chain->profile, series, 1, row);
}

static void add_state(pl_digest_inputs *inputs, const pl_digest *digest, uint32_t operations,
                      uint32_t compute_set) {
    uint64_t *row = row_of(inputs, digest, operations, PL_VERTEX_STATE);
    if (row != NULL)
        pl_add_vertex_state(digest->chain->model, digest->chain->profile, compute_set, row);
}

/* Sums control code, exchange code and vertex state of the programs by the units that have them. In
 * PopLiner's model a compute set has its state for every program that executes it. */
static void sum_programs(pl_digest_inputs *inputs, const pl_digest *digest) {
    const popliner_profile *p = digest->chain->profile;
    const pl_operation_usage *usage = digest->chain->usage;
    const bool is_full = pl_chain_is_full(digest->chain);
    inputs->rows = (pl_keys){.arrays = inputs->arrays, .key_size = sizeof(sum_key)};
    for (uint32_t program = 0; program < p->num_programs; program++) {
        const uint32_t set = usage->program_set[program];
        if (pl_profile_num_children(p, program) == 0)
            add_series(inputs, digest, set, PL_CONTROL_CODE, p->program_control_code[program]);
        add_series(inputs, digest, set, PL_EXCHANGE_CODE, p->program_exchange_code[program]);
        if (!is_full && p->program_compute_set[program] != PL_NONE)
            add_state(inputs, digest, set, p->program_compute_set[program]);
    }
    for (uint32_t i = 0; is_full && i < p->num_compute_sets; i++)
        add_state(inputs, digest, usage->compute_set_set[i], i);
}

/* Adds a unit to bits[tiles][words], on the tiles of vertices. */
static void add_unit(uint64_t *bits, size_t words, const popliner_profile *p, uint32_t vertices,
                     size_t unit) {
    pl_tile_runs walk = pl_tile_runs_of(p, p->compute_set_vertex_instances[vertices]);
    size_t tile;
    size_t end;
    while (pl_tile_runs_next(&walk, &tile, &end))
        for (; tile < end; tile++)
            pl_bits_add(bits + tile * words, unit);
}

/* The vertices of one type in a compute set. */
typedef struct vertex_use {
    uint32_t vertices; /* their number in the profile */
    uint32_t compute_set;
} vertex_use;

/* Lists the vertices of all compute sets by kind of their type: those of a kind from start[kind]
 * on. start[types + 1] is 0 before. NULL if memory is short. */
static vertex_use *list_by_kind(const pl_digest_inputs *inputs, const popliner_profile *p,
                                uint32_t *start) {
    const uint32_t *of_set = p->compute_set_vertices_start;
    const uint32_t *kind = inputs->kinds.kind;
    if (inputs->arrays->failed)
        return NULL;
    for (uint32_t set = 0; set < p->num_compute_sets; set++)
        for (uint32_t i = of_set[set]; i < of_set[set + 1]; i++)
            start[kind[p->compute_set_vertex_type[i]]]++;
    for (size_t i = 1; i <= p->num_vertex_types; i++)
        start[i] += start[i - 1]; /* the ends, until all are listed */
    vertex_use *uses = pl_arrays_new(inputs->arrays, start[p->num_vertex_types], sizeof *uses);
    for (uint32_t set = 0; uses != NULL && set < p->num_compute_sets; set++)
        for (uint32_t i = of_set[set]; i < of_set[set + 1]; i++)
            uses[--start[kind[p->compute_set_vertex_type[i]]]] = (vertex_use){i, set};
    return uses;
}

/* Finds the units that need each kind of vertex types on each tile, and its code there. */
static void find_vertex_code(pl_digest_inputs *inputs, pl_digest *digest) {
    const popliner_profile *p = digest->chain->profile;
    const size_t num_tiles = p->target.num_tiles;
    const size_t end = digest->chain->num_units;
    pl_keys *sets = &digest->pass_usage->sets;
    const size_t words = sets->key_size / sizeof(uint64_t);
    uint64_t *bits = pl_arrays_new(inputs->arrays, num_tiles, sets->key_size);
    uint32_t *start = pl_arrays_new(inputs->arrays, p->num_vertex_types + 1, sizeof *start);
    const vertex_use *uses = list_by_kind(inputs, p, start);
    for (uint32_t kind = 0; uses != NULL && kind < p->num_vertex_types; kind++) {
        if (inputs->kinds.kind[kind] != kind)
            continue;
        memset(bits, 0, num_tiles * sets->key_size);
        for (const vertex_use *it = uses + start[kind]; it < uses + start[kind + 1]; it++) {
            const uint32_t operations = digest->chain->usage->compute_set_set[it->compute_set];
            const uint64_t *units = pl_digest_bits(digest, units_of(digest, operations));
            for (size_t unit = pl_bits_next(units, 0, end); unit < end;
                 unit = pl_bits_next(units, unit + 1, end))
                add_unit(bits, words, p, it->vertices, unit);
        }
        for (size_t tile = 0; tile < num_tiles; tile++)
            inputs->type_set[kind * num_tiles + tile] =
                (uint32_t)pl_keys_number(sets, bits + tile * words);
        pl_series_add(p, p->vertex_type_code[inputs->kinds.code[kind]], 1,
                      inputs->type_code_bytes + kind * num_tiles);
    }
    inputs->arrays->failed = inputs->arrays->failed || sets->arrays->failed;
}

/* ---- Steps ----------------------------------------------------------------------------------- */

static uint32_t unit_of_step(const pl_chain *chain, size_t step) {
    const uint32_t operation = chain->operation_of_step[step];
    return operation == PL_NONE ? 0 : chain->unit_of_operation[operation];
}

/* Lists the runs of steps of one unit, and where segments begin on every tile: with such runs, and
 * with the turn, from which on other units may count a variable, and other buffers exist. */
static void find_runs(pl_digest_inputs *inputs, const pl_digest *digest) {
    const size_t num_steps = digest->chain->profile->num_steps;
    const size_t turn_step = digest->pass_usage->passes.turn_step;
    size_t count = 0;
    for (size_t step = 0; step < num_steps; step++) {
        const uint32_t unit = unit_of_step(digest->chain, step);
        if (step == 0 || unit != inputs->runs[count - 1].unit) {
            inputs->runs[count++] = (step_run){(uint32_t)step, (uint32_t)step, unit};
            inputs->is_break[step] = 1;
        }
        inputs->runs[count - 1].end_step = (uint32_t)step + 1;
        inputs->run_of_step[step] = (uint32_t)count - 1;
    }
    if (turn_step <= num_steps)
        inputs->is_break[turn_step] = 1;
}

/* ---- A digest -------------------------------------------------------------------------------- */

static void mark_fed(uint8_t *is_fed, const popliner_profile *p) {
    for (size_t i = 0; i < p->num_fed_lists; i++) {
        const uint32_t list = p->fed_list[i];
        for (uint64_t place = p->list_start[list]; place < p->list_start[list + 1]; place++)
            is_fed[p->list_variable[place]] = 1;
    }
}

/* Finds when classes wait: end[program] is the step after its last one before the loss,
 * first[program] its first one from the loss on. Copies from and to the host use nothing. */
static void find_waits(pl_digest_inputs *inputs, const popliner_profile *p, size_t loss_step) {
    uint32_t *end = pl_arrays_new(inputs->arrays, p->num_programs, sizeof *end);
    uint32_t *first = pl_arrays_new(inputs->arrays, p->num_programs, sizeof *first);
    if (inputs->arrays->failed)
        return;
    for (size_t i = 0; i < p->num_classes; i++)
        inputs->end_wait_step[i] = (uint32_t)p->num_steps;
    for (size_t program = 0; program < p->num_programs; program++)
        first[program] = (uint32_t)p->num_steps;
    for (size_t step = p->num_steps; step-- > 0;) {
        const uint32_t program = p->step_program[step];
        if (step >= loss_step)
            first[program] = (uint32_t)step;
        else if (end[program] == 0)
            end[program] = (uint32_t)step + 1;
    }
    for (uint32_t program = 0; program < p->num_programs; program++) {
        pl_touches touches = pl_touches_of(p, program);
        uint32_t variable;
        while (p->program_type[program] != POPLINER_PROGRAM_STREAM_COPY_MID &&
               pl_touches_next(&touches, &variable)) {
            uint32_t *wait = &inputs->wait_step[p->variable_class[variable]];
            uint32_t *end_wait = &inputs->end_wait_step[p->variable_class[variable]];
            *wait = *wait < end[program] ? end[program] : *wait;
            *end_wait = *end_wait > first[program] ? first[program] : *end_wait;
        }
    }
}

static void find_inputs(pl_digest *digest) {
    const popliner_profile *p = digest->chain->profile;
    const size_t num_tiles = p->target.num_tiles;
    pl_digest_inputs *inputs = digest->inputs;
    pl_arrays *own = inputs->arrays;
    inputs->type_set = pl_arrays_new(own, p->num_vertex_types * num_tiles, sizeof(uint32_t));
    inputs->type_code_bytes = pl_arrays_new(own, p->num_vertex_types * num_tiles, sizeof(uint64_t));
    inputs->runs = pl_arrays_new(own, p->num_steps, sizeof *inputs->runs);
    inputs->run_of_step = pl_arrays_new(own, p->num_steps, sizeof *inputs->run_of_step);
    inputs->is_break = pl_arrays_new(own, p->num_steps + 1, 1);
    pl_vertex_kinds_find(&inputs->kinds, own, digest->chain->model, p);
    const bool is_training = digest->pass_usage->passes.is_training;
    if (is_training) {
        inputs->is_fed = pl_arrays_new(own, p->num_variables, 1);
        inputs->wait_step = pl_arrays_new(own, p->num_classes, sizeof *inputs->wait_step);
        inputs->end_wait_step = pl_arrays_new(own, p->num_classes, sizeof *inputs->end_wait_step);
    }
    if (own->failed)
        return;
    find_vertex_code(inputs, digest);
    sum_programs(inputs, digest);
    find_runs(inputs, digest);
    if (!is_training)
        return;
    mark_fed(inputs->is_fed, p);
    find_waits(inputs, p, digest->pass_usage->passes.loss_step);
}

void pl_digest_begin(pl_digest *digest, pl_arrays *arrays, const pl_chain *chain,
                     const pl_account *account, pl_pass_usage *pass_usage,
                     const pl_gradients *gradients) {
    *digest = (pl_digest){
        .chain = chain,
        .account = account,
        .pass_usage = pass_usage,
        .gradients = gradients,
        .tiles = pl_arrays_new(arrays, chain->profile->target.num_tiles, sizeof *digest->tiles),
    };
}

/* Frees a tile, which can be made again. */
static void drop_tile(pl_digest *digest, size_t tile) {
    pl_digest_tile *own = &digest->tiles[tile];
    free(own->units);
    *own = (pl_digest_tile){0};
}

void pl_digest_free(pl_digest *digest) {
    for (size_t i = 0; digest->tiles != NULL && i < digest->chain->profile->target.num_tiles; i++)
        drop_tile(digest, i);
}

/* ---- A tile ---------------------------------------------------------------------------------- */

/* True if the chain's units have passes, so that something may be sent between them. */
static bool has_passes(const pl_digest *digest) {
    return digest->pass_usage->passes.forward_step != NULL;
}

/* More keys that bytes are added up by. */
typedef struct part_key {
    uint32_t sets[PL_NUM_LIVES]; /* as in pl_digest_part */
    uint32_t first_step;
    uint32_t end_step;
} part_key;

typedef struct stored_key {
    uint32_t use; /* set of the pass usage */
    uint32_t class_index;
    uint32_t is_fed; /* a copy from the host fills it, at any time */
} stored_key;

typedef struct stash_key {
    uint32_t start; /* as in pl_digest_stash */
    uint32_t unit;
    uint32_t way;
} stash_key;

/* The work space of one thread. */
typedef struct digest_work {
    pl_arrays *arrays;                             /* own this and all arrays */
    pl_key_sums sums;                              /* by set and sum */
    pl_key_sums parts;                             /* by part_key */
    pl_key_sums stored;                            /* by stored_key */
    pl_key_sums stash;                             /* by stash_key */
    size_t num_ends;                               /* 2 if gradients may end early */
    pl_curve curves[PL_LIVE_ACCUMULATES + 1];      /* by whether they do, like step_bytes */
    uint64_t *step_bytes[PL_LIVE_ACCUMULATES + 1]; /* [num_steps] */
    uint8_t *is_break;                             /* [num_steps + 1]: a segment begins here */
    uint32_t *segment_of_step;                     /* [num_steps + 1] */
    uint64_t *unexplained_bytes; /* [num_steps]: part of step_bytes, by no operation */
    uint64_t *sent_bytes[2];     /* [num_units + 1]: over each cut forward, backward */
    uint8_t *crosses;            /* [num_units]: it is live when the unit begins */
    uint32_t *last[2];           /* [num_units]: end of the last unit of a pass up to here */
    uint8_t *ways; /* [num_units]: how stages that begin one unit earlier store it, by their end */
} digest_work;

static digest_work *new_work(pl_arrays *own, const pl_digest *digest) {
    const size_t num_steps = digest->chain->profile->num_steps;
    const size_t num_stored = has_passes(digest) ? digest->chain->num_units : 0; /* units */
    digest_work *work = pl_arrays_new(own, 1, sizeof *work);
    if (work == NULL)
        return NULL;
    work->arrays = own;
    work->sums.keys = (pl_keys){.arrays = own, .key_size = sizeof(sum_key)};
    work->parts.keys = (pl_keys){.arrays = own, .key_size = sizeof(part_key)};
    work->stored.keys = (pl_keys){.arrays = own, .key_size = sizeof(stored_key)};
    work->stash.keys = (pl_keys){.arrays = own, .key_size = sizeof(stash_key)};
    work->num_ends = pl_has_gradients(digest->gradients) ? 2 : 1;
    for (size_t ends = 0; ends < work->num_ends; ends++)
        work->step_bytes[ends] = pl_arrays_new(own, num_steps, sizeof(uint64_t));
    work->is_break = pl_arrays_new(own, num_steps + 1, 1);
    work->segment_of_step = pl_arrays_new(own, num_steps + 1, sizeof *work->segment_of_step);
    work->unexplained_bytes = pl_arrays_new(own, num_steps, sizeof *work->unexplained_bytes);
    for (int pass = 0; pass < 2; pass++) {
        work->sent_bytes[pass] = pl_arrays_new(own, num_stored + 1, sizeof(uint64_t));
        work->last[pass] = pl_arrays_new(own, num_stored, sizeof(uint32_t));
    }
    work->crosses = pl_arrays_new(own, num_stored, 1);
    work->ways = pl_arrays_new(own, num_stored, 1);
    return own->failed ? NULL : work;
}

/* ---- Code, and data that is always live ------------------------------------------------------ */

/* Returns the step if it is in the range, else the end of the range that is nearer. */
static uint32_t within(size_t step, uint32_t first, uint32_t end) {
    return step < first ? first : step < end ? (uint32_t)step : end;
}

static uint64_t add_sum(digest_work *work, uint32_t set, uint32_t sum, uint64_t bytes) {
    if (bytes > 0)
        pl_key_sums_add(&work->sums, &(sum_key){set, sum}, bytes);
    return bytes;
}

static void add_code(digest_work *work, const pl_digest *digest, size_t number,
                     pl_digest_tile *tile) {
    const pl_digest_inputs *inputs = digest->inputs;
    const popliner_profile *p = digest->chain->profile;
    const size_t num_tiles = p->target.num_tiles;
    uint64_t explained_bytes[PL_NUM_CODE_GROUPS] = {0};
    for (size_t row = 0; row < inputs->rows.count; row++) {
        const sum_key *key = pl_key_at(&inputs->rows, row);
        explained_bytes[key->sum] +=
            add_sum(work, key->set, key->sum, inputs->row_bytes[row * num_tiles + number]);
    }
    for (size_t type = 0; type < p->num_vertex_types; type++)
        if (inputs->type_set[type * num_tiles + number] != 0)
            explained_bytes[PL_VERTEX_CODE] +=
                add_sum(work, inputs->type_set[type * num_tiles + number], PL_VERTEX_CODE,
                        inputs->type_code_bytes[type * num_tiles + number]);
    for (int group = 0; group < PL_NUM_CODE_GROUPS; group++) {
        const uint64_t truth_bytes = digest->account->truth_bytes[group][number];
        tile->fixed_code_bytes[group] =
            truth_bytes - pl_smaller(explained_bytes[group], truth_bytes);
    }
}

static void add_always_live(digest_work *work, const pl_digest *digest, uint64_t variable) {
    const popliner_profile *p = digest->chain->profile;
    const pl_pass_usage *own = digest->pass_usage;
    const uint64_t bytes = p->variable_size_bytes[variable];
    const uint32_t touching = pl_pass_use_of(own, variable)->counting.touching;
    if (pl_chain_is_full(digest->chain) && !pl_account_is_code(digest->account, variable))
        add_sum(work, touching, PL_SUM_DATA, bytes);
    if (pl_is_parameter(p, variable))
        add_sum(work, touching, PL_SUM_PARAMETERS, bytes);
    const uint32_t training =
        own->passes.is_training ? pl_training_units(own, p, digest->account, variable) : 0;
    if (training != 0)
        add_sum(work, training, PL_SUM_TRAINED, bytes);
}

/* ---- Live ranges ----------------------------------------------------------------------------- */

/* A live range of data, and the units that count it. */
typedef struct counted_range {
    uint32_t touching; /* a set: those that touch it */
    uint32_t passed;   /* and those that it passes through */
    unsigned ends;     /* bits: it is live if gradients end late (1), early (2) */
    uint32_t first_step;
    uint32_t end_step;
} counted_range;

static void add_to_segments(digest_work *work, const counted_range *range, size_t first_step,
                            size_t end_step, uint64_t bytes) {
    for (size_t ends = 0; first_step < end_step && ends < work->num_ends; ends++)
        if ((range->ends >> ends & 1) != 0)
            pl_curve_add_steps(&work->curves[ends], first_step, end_step, bytes);
}

/* Divides a live range: its beginning and end, while a unit runs that touches it, go into the
 * segments; the rest is a part. */
static void divide_range(digest_work *work, const pl_digest *digest, const counted_range *range,
                         uint64_t bytes) {
    /* any number is correct, since what is not in the segments is a part; without a limit,
     * alternating units would make this quadratic */
    enum { MAX_RUNS = 8 };
    const pl_digest_inputs *inputs = digest->inputs;
    const uint64_t *units = pl_digest_bits(digest, range->touching);
    part_key part = {{0}, range->first_step, range->end_step};
    for (int i = 0; i < MAX_RUNS && part.first_step < part.end_step; i++) {
        const step_run *run = &inputs->runs[inputs->run_of_step[part.first_step]];
        if (!pl_bits_has(units, run->unit))
            break;
        part.first_step = run->end_step < part.end_step ? run->end_step : part.end_step;
    }
    for (int i = 0; i < MAX_RUNS && part.first_step < part.end_step; i++) {
        const step_run *run = &inputs->runs[inputs->run_of_step[part.end_step - 1]];
        if (!pl_bits_has(units, run->unit))
            break;
        part.end_step = run->first_step > part.first_step ? run->first_step : part.first_step;
    }
    add_to_segments(work, range, range->first_step, part.first_step, bytes);
    add_to_segments(work, range, part.end_step, range->end_step, bytes);
    for (unsigned live = 0; live < PL_NUM_LIVES; live++)
        if ((range->ends >> (live & PL_LIVE_ACCUMULATES) & 1) != 0)
            part.sets[live] =
                (live & PL_LIVE_PASSES_THROUGH) != 0 ? range->passed : range->touching;
    if (part.first_step < part.end_step)
        pl_key_sums_add(&work->parts, &part, bytes);
}

/* Divides a live range also at the turn if other units count it from then on. */
static void divide_at_turn(digest_work *work, const pl_digest *digest, const pl_counting *counting,
                           unsigned ends, uint32_t first_step, uint32_t end_step, uint64_t bytes) {
    const size_t turn = digest->pass_usage->passes.turn_step;
    const uint32_t middle =
        counting->before == counting->after ? end_step : within(turn, first_step, end_step);
    const counted_range before = {counting->touching, counting->before, ends, first_step, middle};
    const counted_range after = {counting->touching, counting->after, ends, middle, end_step};
    divide_range(work, digest, &before, bytes);
    divide_range(work, digest, &after, bytes);
}

/* Divides all live ranges of a variable. */
static void divide_ranges(digest_work *work, const pl_digest *digest, uint64_t variable) {
    const popliner_profile *p = digest->chain->profile;
    const uint32_t class_index = p->variable_class[variable];
    const uint64_t bytes = p->variable_size_bytes[variable];
    const pl_counting counting = pl_counting_of(digest->pass_usage, p, variable);
    /* where accumulators are added, a gradient lives until it is complete */
    const uint32_t complete = pl_complete_step(digest->gradients, digest->chain, variable);
    for (uint32_t k = p->class_ranges_start[class_index];
         k < p->class_ranges_start[class_index + 1]; k++) {
        const uint32_t first = p->range_first_step[k];
        const uint32_t end = p->range_end_step[k];
        const bool is_complete = first < complete && complete < end;
        divide_at_turn(work, digest, &counting, is_complete ? 1 : 3, first, end, bytes);
        if (is_complete)
            divide_at_turn(work, digest, &counting, 2, first, complete, bytes);
    }
}

/* Adds what no operation touches to the segments, wherever it is live. */
static void add_unexplained(digest_work *work, const pl_digest *digest, size_t tile) {
    const popliner_profile *p = digest->chain->profile;
    for (uint64_t i = p->tile_variables_start[tile]; i < p->tile_variables_start[tile + 1]; i++)
        for (size_t ends = 0;
             pl_account_is_unexplained(digest->account, i) && ends < work->num_ends; ends++)
            pl_curve_add(&work->curves[ends], p, p->variable_class[i], p->variable_size_bytes[i]);
    pl_curve_read(&work->curves[0], work->unexplained_bytes);
}

/* True if stages may store or send what is used like this: two units use it, or both passes. */
static bool may_wait(const pl_pass_use *use) {
    return use->first_forward != use->last_forward || use->first_backward != use->last_backward ||
           (use->first_forward != PL_NO_UNIT && use->first_backward != PL_NO_UNIT);
}

static void add_variables(digest_work *work, const pl_digest *digest, size_t tile) {
    const popliner_profile *p = digest->chain->profile;
    const pl_digest_inputs *inputs = digest->inputs;
    for (size_t ends = 0; ends < work->num_ends; ends++)
        pl_curve_begin(&work->curves[ends], work->arrays, 0, p->num_steps);
    if (work->arrays->failed)
        return;
    add_unexplained(work, digest, tile);
    for (uint64_t i = p->tile_variables_start[tile]; i < p->tile_variables_start[tile + 1]; i++) {
        const uint32_t class_index = p->variable_class[i];
        const uint32_t use = pl_unit_usage_of(&digest->pass_usage->usage, i);
        if (use == 0)
            continue;
        if (p->class_always_live[class_index]) {
            add_always_live(work, digest, i);
            continue;
        }
        if (pl_chain_is_full(digest->chain)) /* else these are in no digest: popliner_model.h */
            divide_ranges(work, digest, i);
        const bool is_fed = inputs->is_fed != NULL && inputs->is_fed[i] != 0;
        if (has_passes(digest) && (is_fed || may_wait(&digest->pass_usage->uses[use])))
            pl_key_sums_add(&work->stored, &(stored_key){use, class_index, is_fed},
                            p->variable_size_bytes[i]);
    }
    for (size_t ends = 0; ends < work->num_ends; ends++)
        pl_curve_read(&work->curves[ends], work->step_bytes[ends]);
}

/* ---- The stash ------------------------------------------------------------------------------- */

/* Variables that are stored in the same stages. */
typedef struct stored_group {
    const pl_pass_use *use;
    uint32_t first; /* the units that touch them are first ... end - 1 */
    uint32_t end;
    bool is_fed;  /* a copy from the host fills them, at any time */
    bool at_loss; /* they are live where the passes part */
} stored_group;

/* Finds the units that touch a group, and the last ones so far of each pass. */
static stored_group find_group(digest_work *work, const pl_digest *digest, const stored_key *key) {
    const popliner_profile *p = digest->chain->profile;
    const pl_pass_usage *own = digest->pass_usage;
    const pl_pass_use *use = &own->uses[key->use];
    const uint64_t *members = pl_bits_at(&own->usage.sets, key->use);
    const uint64_t *units = pl_digest_bits(digest, use->counting.touching);
    /* 0 is the one after PL_NO_UNIT */
    const stored_group g = {use, (uint32_t)pl_fewer(use->first_forward, use->first_backward),
                            (uint32_t)pl_more(use->last_forward + 1, use->last_backward + 1),
                            key->is_fed != 0,
                            pl_class_crosses(p, key->class_index, own->passes.loss_step)};
    uint32_t last[2] = {0, 0};
    for (uint32_t unit = g.first; unit < g.end; unit++) {
        const bool is_one = pl_passes_are_one(&own->passes, unit);
        for (size_t pass = 0; pass < 2; pass++) {
            if (pl_bits_has(units, unit) &&
                (is_one || pl_bits_has(members, pass * own->num_units + unit)))
                last[pass] = unit + 1;
            work->last[pass][unit] = last[pass];
        }
        work->crosses[unit] = pl_class_crosses(p, key->class_index, own->passes.forward_step[unit]);
        work->ways[unit] = 0;
    }
    return g;
}

/* Returns the ways to recompute with which the stage start ... last stores a group, which its
 * forward pass touches, as bits:
 *
 *   NONE      what both passes touch and is live at the loss
 *   FULL      what earlier units or the host leave for the forward pass
 *   STANDARD  both, and what the forward pass leaves for later units */
static uint8_t ways_of_stage(const digest_work *work, const stored_group *g, uint32_t start,
                             uint32_t last) {
    if (work->last[0][last] <= start)
        return 0;
    const bool is_activation = work->last[1][last] > start && g->at_loss;
    const bool is_input = g->is_fed || (g->use->first_forward < start && work->crosses[start] != 0);
    const bool is_output =
        g->use->last_forward > last && last + 1 < g->end && work->crosses[last + 1] != 0;
    return (uint8_t)(is_activation << POPLINER_RECOMPUTE_NONE |
                     is_input << POPLINER_RECOMPUTE_FULL |
                     (is_activation || is_input || is_output) << POPLINER_RECOMPUTE_STANDARD);
}

/* Adds the bytes of a group to the stages that store it, as differences: stages that begin before
 * its first unit are like those that begin with it, and no unit after its last one matters. */
static void add_group(digest_work *work, const pl_digest *digest, const stored_key *key,
                      uint64_t bytes) {
    const stored_group g = find_group(work, digest, key);
    for (uint32_t start = g.first; start < g.end; start++) {
        const bool is_first = start == g.first;
        unsigned ways =
            0; /* of the stage that ends before `last`; and one unit longer at its start */
        unsigned longer_ways = is_first ? 0 : work->ways[start - 1];
        for (uint32_t last = start; last < g.end; last++) {
            const unsigned longer_now = work->ways[last];
            const unsigned now = work->ways[last] = ways_of_stage(work, &g, start, last);
            for (uint32_t way = 0;
                 now + longer_now + ways + longer_ways > 0 && way < PL_NUM_STASHES; way++) {
                const uint64_t sign = (now >> way & 1) - (uint64_t)(ways >> way & 1) -
                                      (longer_now >> way & 1) + (longer_ways >> way & 1);
                const stash_key place = {is_first ? 0 : start, last, way};
                if (sign != 0)
                    pl_key_sums_add(&work->stash, &place, sign * bytes);
            }
            ways = now;
            longer_ways = longer_now;
        }
    }
}

/* Adds what a group has live, across the loss, while it does not wait, if both passes use it. */
static void add_waiting(digest_work *work, const pl_digest *digest, const stored_key *key,
                        uint64_t bytes) {
    const popliner_profile *p = digest->chain->profile;
    const pl_pass_use *use = &digest->pass_usage->uses[key->use];
    const uint32_t c = key->class_index;
    if (use->first_forward == PL_NO_UNIT || use->first_backward == PL_NO_UNIT ||
        !pl_class_crosses(p, c, digest->pass_usage->passes.loss_step))
        return;
    for (uint32_t k = p->class_ranges_start[c]; k < p->class_ranges_start[c + 1]; k++) {
        const uint32_t first = p->range_first_step[k];
        const uint32_t end = p->range_end_step[k];
        const uint32_t wait = within(digest->inputs->wait_step[c], first, end);
        const uint32_t end_wait = within(digest->inputs->end_wait_step[c], wait, end);
        pl_curve_add_steps(&work->curves[0], first, wait, bytes);
        pl_curve_add_steps(&work->curves[0], end_wait, end, bytes);
    }
}

/* Finds how stages store what is stored, or carried over a cut, and what of it is live itself. */
static void find_stored(digest_work *work, const pl_digest *digest) {
    const pl_pass_usage *own = digest->pass_usage;
    const size_t num_units = digest->chain->num_units;
    for (int pass = 0; pass < 2; pass++)
        memset(work->sent_bytes[pass], 0, (num_units + 1) * sizeof(uint64_t));
    pl_curve_begin(&work->curves[0], work->arrays, 0, digest->chain->profile->num_steps);
    for (size_t i = 0; i < work->stored.keys.count; i++) {
        const stored_key *key = pl_key_at(&work->stored.keys, i);
        const uint64_t bytes = work->stored.bytes[i];
        if (own->passes.is_training) {
            add_group(work, digest, key, bytes);
            add_waiting(work, digest, key, bytes);
        }
        pl_passes_add_carried(&own->passes, digest->chain->profile, key->class_index, bytes,
                              &own->uses[key->use], work->sent_bytes[0], work->sent_bytes[1]);
    }
}

static void find_units(digest_work *work, const pl_digest *digest, size_t tile,
                       pl_digest_unit *units) {
    const popliner_profile *p = digest->chain->profile;
    const pl_digest_inputs *inputs = digest->inputs;
    const size_t num_units = digest->chain->num_units;
    const size_t num_steps = digest->pass_usage->passes.is_training ? p->num_steps : 0;
    const uint32_t *apart;
    const size_t num_apart = pl_account_apart(digest->account, tile, &apart);
    int64_t bytes = 0;
    memset(units, 0, num_units * sizeof *units);
    for (size_t i = 0; i < num_apart; i++) {
        const uint64_t *touching =
            pl_digest_bits(digest, pl_pass_use_of(digest->pass_usage, apart[i])->counting.touching);
        for (size_t unit = pl_bits_next(touching, 0, num_units); unit < num_units;
             unit = pl_bits_next(touching, unit + 1, num_units))
            units[unit].apart_bytes =
                pl_larger(units[unit].apart_bytes, p->variable_size_bytes[apart[i]]);
    }
    for (size_t step = 0; step < num_steps; step++) {
        pl_digest_unit *unit = &units[inputs->runs[inputs->run_of_step[step]].unit];
        bytes += work->curves[0].change_bytes[step];
        unit->own_stash_bytes = pl_larger(unit->own_stash_bytes, (uint64_t)bytes);
    }
    for (size_t unit = 0; has_passes(digest) && unit < num_units; unit++) {
        units[unit].sent_forward_bytes = work->sent_bytes[0][unit + 1];
        units[unit].sent_backward_bytes = work->sent_bytes[1][unit + 1];
    }
}

/* ---- The lists ------------------------------------------------------------------------------- */

bool pl_digest_allocate_tile(pl_digest_tile *tile, size_t num_units) {
    tile->units =
        malloc(num_units * sizeof *tile->units + tile->num_sums * sizeof *tile->sums +
               tile->num_stash * sizeof *tile->stash + tile->num_parts * sizeof *tile->parts +
               tile->num_segments * sizeof *tile->segments + 1);
    if (tile->units == NULL)
        return false;
    tile->sums = (pl_digest_sum *)(void *)(tile->units + num_units);
    tile->stash = (pl_digest_stash *)(void *)(tile->sums + tile->num_sums);
    tile->parts = (pl_digest_part *)(void *)(tile->stash + tile->num_stash);
    tile->segments = (pl_digest_segment *)(void *)(tile->parts + tile->num_parts);
    return true;
}

/* Divides the steps into segments, also wherever a part begins or ends; returns their number. */
static size_t number_segments(digest_work *work, const pl_digest *digest) {
    const size_t num_steps = digest->chain->profile->num_steps;
    size_t count = 0;
    memcpy(work->is_break, digest->inputs->is_break, num_steps + 1);
    for (size_t i = 0; i < work->parts.keys.count; i++) {
        const part_key *key = pl_key_at(&work->parts.keys, i);
        work->is_break[key->first_step] = work->is_break[key->end_step] = 1;
    }
    for (size_t step = 0; step < num_steps; step++) {
        count += work->is_break[step] != 0;
        assert(count > 0);
        work->segment_of_step[step] = (uint32_t)count - 1;
    }
    work->segment_of_step[num_steps] = (uint32_t)count;
    return count;
}

static void fill_parts(const digest_work *work, pl_digest_tile *made) {
    for (size_t i = 0; i < made->num_parts; i++) {
        const part_key *key = pl_key_at(&work->parts.keys, i);
        pl_digest_part *part = &made->parts[i];
        *part = (pl_digest_part){.bytes = work->parts.bytes[i],
                                 .first_segment = work->segment_of_step[key->first_step],
                                 .end_segment = work->segment_of_step[key->end_step]};
        memcpy(part->sets, key->sets, sizeof part->sets);
        assert(part->first_segment < part->end_segment);
        assert(part->end_segment <= made->num_segments);
    }
}

static void fill_segments(const digest_work *work, const pl_digest *digest, pl_digest_tile *made) {
    const pl_digest_inputs *inputs = digest->inputs;
    for (size_t step = 0; step < digest->chain->profile->num_steps; step++) {
        pl_digest_segment *segment = &made->segments[work->segment_of_step[step]];
        segment->unit = inputs->runs[inputs->run_of_step[step]].unit;
        for (size_t ends = 0; ends <= PL_LIVE_ACCUMULATES; ends++) {
            const uint64_t bytes = work->step_bytes[pl_fewer(ends, work->num_ends - 1)][step];
            if (work->is_break[step] != 0 || bytes > segment->peaks[ends].bytes)
                segment->peaks[ends] = (pl_digest_peak){bytes, work->unexplained_bytes[step], step};
            assert(segment->peaks[ends].unexplained_bytes <= segment->peaks[ends].bytes);
        }
    }
}

static bool fill_tile(digest_work *work, const pl_digest *digest, size_t number,
                      pl_digest_tile *made) {
    const size_t num_units = digest->chain->num_units;
    const size_t turn = digest->pass_usage->passes.turn_step;
    if (has_passes(digest))
        find_stored(work, digest);
    made->num_sums = work->sums.keys.count;
    made->num_stash = work->stash.keys.count;
    made->num_parts = work->parts.keys.count;
    made->num_segments = number_segments(work, digest);
    made->turn_segment = turn <= digest->chain->profile->num_steps ? work->segment_of_step[turn]
                                                                   : made->num_segments;
    if (work->arrays->failed || !pl_digest_allocate_tile(made, num_units))
        return false;
    find_units(work, digest, number, made->units);
    for (size_t i = 0; i < made->num_sums; i++) {
        const sum_key *key = pl_key_at(&work->sums.keys, i);
        made->sums[i] = (pl_digest_sum){work->sums.bytes[i], key->set, key->sum};
    }
    for (size_t i = 0; i < made->num_stash; i++) {
        const stash_key *key = pl_key_at(&work->stash.keys, i);
        made->stash[i] = (pl_digest_stash){work->stash.bytes[i], key->start, key->unit, key->way};
    }
    fill_parts(work, made);
    fill_segments(work, digest, made);
    return true;
}

static bool make_lists(pl_digest *digest, digest_work *work, size_t tile) {
    pl_digest_tile *made = &digest->tiles[tile];
    if (made->units != NULL)
        return true;
    pl_keys_empty(&work->sums.keys);
    pl_keys_empty(&work->parts.keys);
    pl_keys_empty(&work->stored.keys);
    pl_keys_empty(&work->stash.keys);
    *made = (pl_digest_tile){0};
    add_code(work, digest, tile, made);
    add_variables(work, digest, tile);
    return !work->arrays->failed && fill_tile(work, digest, tile, made);
}

/* ---- All tiles ------------------------------------------------------------------------------- */

typedef struct worker {
    pl_arrays arrays;  /* own the work */
    digest_work *work; /* made with its first tile */
} worker;

typedef struct task {
    pl_digest *digest;
    const pl_digest_making *how;
    worker *workers;
} task;

static bool make_tile(void *user, size_t number, size_t tile) {
    const task *t = user;
    worker *w = &t->workers[number];
    if (w->work == NULL)
        w->work = new_work(&w->arrays, t->digest);
    /* only worker 0 is the calling thread */
    if (number == 0 && tile % 16 == 15)
        pl_progress(t->how->listener, "Measuring the tiles", tile,
                    t->digest->chain->profile->target.num_tiles);
    if (w->work == NULL || !make_lists(t->digest, w->work, tile))
        return false;
    if (t->how->visit == NULL)
        return true;
    t->how->visit(t->how->user, tile);
    drop_tile(t->digest, tile);
    return true;
}

bool pl_digest_make(pl_digest *digest, const pl_digest_making *how, pl_arrays *arrays) {
    const size_t num_tiles = digest->chain->profile->target.num_tiles;
    pl_arrays own = {0};
    pl_digest_inputs inputs = {.arrays = &own};
    task t = {digest, how, NULL};
    const pl_parallel tasks = {.num_threads = how->num_threads,
                               .count = num_tiles,
                               .task = make_tile,
                               .user = &t,
                               .bounds = how->bounds};
    if (arrays->failed || digest->is_made)
        return !arrays->failed;
    t.workers = pl_arrays_new(&own, how->num_threads, sizeof *t.workers);
    digest->inputs = &inputs;
    find_inputs(digest);
    digest->is_made = !own.failed && pl_parallel_run(&tasks) == num_tiles;
    const bool is_stopped =
        !digest->is_made && how->bounds != NULL && pl_bounds_are_over(how->bounds);
    own.failed = own.failed || (!digest->is_made && !is_stopped);
    for (size_t i = 0; t.workers != NULL && i < how->num_threads; i++)
        pl_arrays_free(&t.workers[i].arrays);
    digest->inputs = NULL;
    pl_arrays_end(&own, arrays);
    return digest->is_made;
}
