/* Whether a split keeps each device within a step: a sweep from device to device.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>
#include <string.h>

#include "base/numbers.h"
#include "pipeline/pipeline.h"
#include "solve/step_game.h"

/* More gaps, and times of states, would take too much memory. */
enum { MAX_GAPS = 1 << 22, MAX_TIMES = 1 << 22, WORK_OF_MOVE = 2 };

/* The units that a cut may be before. */
typedef struct window {
    size_t low;
    size_t size;
} window;

/* A stage of the current device. */
typedef struct move {
    const struct move *next; /* another one from the same place */
    const pl_step_arc *arc;
    size_t first; /* unit, and end */
    size_t end;
    size_t to;
    double chained; /* what its passes add to the chain of the device */
    double reduced; /* by how much splits with it are longer for the mean path than the shortest */
} move;

/* The stages of a chunk that the current device may have: moves between places of two cuts, the
 * first of which is that of the devices before it. */
typedef struct lane {
    window from;
    window to;
    move *moves;
    const move **heads; /* [from.size] those from each place */
    double *least;      /* [from.size] the least that these add to the chain */
    size_t at;          /* the place of the current state */
    const move *now;    /* the current move */
} lane;

/* The splits of the stages of some devices, by the places of the cuts to the next device. */
typedef struct level {
    size_t num_states;
    double *reduced; /* [num_states] the least of them; INFINITY if there is none */
    uint64_t *begun; /* [num_states][num_words] where chunks began in those that lead there */
    double *times;   /* [num_states][num_times] the least of them */
} level;

/* Stages of other devices, between those of the current one, take so much at least: of its chain,
 * and of forward or backward passes in all and of the longest one. */
enum { OF_CHAIN, FORWARD, BACKWARD, LONGEST_FORWARD, LONGEST_BACKWARD, NUM_GAPS };

/* Which way passes of a chunk go from device to device: after those of the device before, or before
 * those. */
enum { ONWARD, BACK, NUM_WAYS };

/* A pass of the device. A gap is before the forward pass of each chunk, then between the last ones
 * of both kinds, then after the backward pass of each chunk; none is after all of them. */
typedef struct own_pass {
    uint32_t part;  /* its chunk * PL_NUM_PASS_KINDS + its kind */
    uint32_t needs; /* the earlier one that it waits for, from 1; 0: none */
    uint32_t gap;   /* between them */
    uint32_t time;  /* its place in the times of a state; UINT32_MAX: none, as it is of weights */
} own_pass;

/* Passes that go through other devices between two of the current one. */
typedef struct gap {
    double cycles;
    double longest; /* the next one comes so much later at least */
    double end;     /* when the last one ended */
} gap;

typedef struct sweep {
    pl_step_game *g;
    const pl_order *order;
    size_t num_chunks;
    size_t row;          /* places of a stage in the game */
    double most;         /* of a step */
    double spare;        /* of reduced cycles */
    size_t *arcs;        /* [num_stages + 1] the first one of each stage */
    lane *lanes;         /* [num_chunks] */
    double *gaps;        /* [NUM_GAPS][num_chunks + 1][row][row] by the cuts on both sides */
    const double *chain; /* [num_parts] of the device */
    double *rest;        /* [num_chunks + 1] the least that lanes from each on add to it */
    uint32_t *latest;    /* [micro-batches] of find_latest */
    bool is_in_turn;     /* each stage takes the micro-batches in turn */
    own_pass *passes;    /* of the device */
    size_t num_passes;
    uint32_t *numbers; /* [PL_NUM_PASS_KINDS][num_chunks][micro-batches] of them, from 1 */
    double *ends;      /* [num_passes + 1] */
    double *after;     /* [num_passes + 1] of each, from its end to that of the step at least */
    gap *waits;        /* [2 * num_chunks + 3] */
    double *cycles;    /* [num_chunks * PL_NUM_PASS_KINDS] of the device's stages */
    /* [NUM_WAYS][num_chunks][micro-batches] in a state: when the last device at least ends a pass
     * that goes onward; how long before the end of the step one that comes back to it begins. */
    size_t num_times; /* 0: there are none */
    size_t num_begun; /* sets of the first cuts of all chunks that have a bit each */
    size_t num_words; /* of 64 of them */
    level now;
    level then;
    size_t state; /* of `now` */
} sweep;

/* Like fmax and fmin, which take longer. */
static double later(double a, double b) {
    return a > b ? a : b;
}

static double sooner(double a, double b) {
    return a < b ? a : b;
}

static size_t stage_of(const sweep *s, size_t device, size_t chunk) {
    const size_t num_devices = s->order->num_devices;
    if (chunk == s->num_chunks)
        return s->g->graph->num_stages;
    return s->order->is_v && chunk == 1 ? 2 * num_devices - 1 - device
                                        : chunk * num_devices + device;
}

/* Returns the places of the cut before a stage. */
static window window_of(const sweep *s, size_t stage) {
    size_t low = s->g->num_units;
    size_t high = 0;
    if (stage == s->g->graph->num_stages)
        return (window){low, 1};
    for (size_t i = s->arcs[stage]; i < s->arcs[stage + 1]; ++i) {
        const size_t first = s->g->arcs[i].from % s->row;
        high = first > high ? first : high;
        low = pl_fewer(low, first);
    }
    return (window){low, high - low + 1};
}

/* ---- a device ---- */

static double *gaps_of(const sweep *s, size_t kind, size_t c) {
    return &s->gaps[(kind * (s->num_chunks + 1) + c) * s->row * s->row];
}

/* Returns the path through a stage between two of the device, before chunk c, and what it adds. */
static double extend(const sweep *s, size_t kind, size_t c, double path, const pl_step_arc *arc) {
    const double forward = arc->cycles[PL_PASS_FORWARD];
    const double backward = arc->cycles[PL_PASS_BACKWARD];
    const bool turns = c == s->num_chunks; /* from forward to backward passes */
    switch (kind) {
    case OF_CHAIN:
        return path + pl_step_game_take(s->g, s->chain, arc);
    case FORWARD:
        return path + forward + (turns ? backward : 0);
    case BACKWARD:
        return path + backward;
    case LONGEST_FORWARD:
        return later(path, turns ? backward : forward);
    default:
        return later(path, backward);
    }
}

/* Finds what the stages from `first` to that of chunk c take at least, between any cuts. */
static void fill_gaps(sweep *s, size_t kind, size_t c, size_t first, size_t last) {
    const window begin = window_of(s, first);
    double *gaps = gaps_of(s, kind, c);
    double *least = s->g->least[0];
    for (size_t unit = begin.low; unit < begin.low + begin.size; ++unit) {
        for (size_t i = first * s->row; i < (last + 1) * s->row; ++i)
            least[i] = INFINITY;
        least[first * s->row + unit] = 0;
        for (size_t i = s->arcs[first]; i < s->arcs[last]; ++i) {
            const pl_step_arc *arc = &s->g->arcs[i];
            const double path = extend(s, kind, c, least[arc->from], arc);
            least[arc->to] = path < least[arc->to] ? path : least[arc->to];
        }
        memcpy(&gaps[unit * s->row], &least[last * s->row], s->row * sizeof *gaps);
    }
    pl_step_game_work(s->g, begin.size * (s->arcs[last] - s->arcs[first]) / 4);
}

/* Finds the moves of a stage; from the later cut to the one before it if the lane goes back. */
static void fill_lane(sweep *s, lane *l, size_t stage, bool goes_back) {
    const window begin = window_of(s, stage);
    const window end = window_of(s, stage + 1);
    const double *after = s->g->least[1];
    move *last = l->moves;
    l->from = goes_back ? end : begin;
    l->to = goes_back ? begin : end;
    for (size_t place = 0; place < l->from.size; ++place) {
        l->heads[place] = NULL;
        l->least[place] = INFINITY;
    }
    for (size_t i = s->arcs[stage]; i < s->arcs[stage + 1]; ++i) {
        const pl_step_arc *arc = &s->g->arcs[i];
        move own = {.arc = arc,
                    .first = arc->from % s->row,
                    .end = arc->to % s->row,
                    .chained = pl_step_game_take(s->g, s->chain, arc),
                    .reduced = pl_step_game_take(s->g, s->g->passes, arc) + after[arc->to] -
                               after[arc->from]};
        const size_t place = (goes_back ? own.end : own.first) - l->from.low;
        own.to = (goes_back ? own.first : own.end) - l->to.low;
        if (own.reduced > s->spare || place >= l->from.size || own.to >= l->to.size)
            continue;
        own.next = l->heads[place];
        *last = own;
        l->heads[place] = last++;
        l->least[place] = sooner(l->least[place], own.chained);
    }
}

/* Finds the last micro-batch whose forward pass comes before each backward pass in the last stage,
 * and whether all stages take the micro-batches in turn. */
static void find_latest(sweep *s) {
    const size_t last = s->g->graph->num_stages - 1;
    pl_pass p;
    s->is_in_turn = true;
    for (size_t d = 0; d < s->order->num_devices; ++d) {
        pl_order_walk walk = pl_order_begin(s->order, d);
        uint32_t latest = 0;
        memset(s->numbers, 0, s->num_chunks * PL_NUM_PASS_KINDS * sizeof *s->numbers);
        while (pl_order_next(&walk, &p)) {
            uint32_t *next =
                &s->numbers[p.stage / s->order->num_devices * PL_NUM_PASS_KINDS + p.kind];
            s->is_in_turn = s->is_in_turn && p.micro_batch == (*next)++;
            if (p.stage == last && p.kind == PL_PASS_FORWARD)
                latest = (uint32_t)p.micro_batch;
            else if (p.stage == last && p.kind == PL_PASS_BACKWARD)
                s->latest[p.micro_batch] = latest;
        }
    }
}

/* Lists the passes of a device. */
static void list_passes(sweep *s, size_t device) {
    const bool has_weights = pl_copies_have_weights(&s->order->pipeline->copies);
    const size_t num_micro = s->order->num_micro_batches;
    const size_t v = s->num_chunks;
    const uint32_t none = (uint32_t)(2 * v + 2);
    pl_order_walk walk = pl_order_begin(s->order, device);
    pl_pass p;
    s->num_passes = 0;
    while (pl_order_next(&walk, &p)) {
        const size_t c = p.stage / s->order->num_devices;
        const uint32_t part = (uint32_t)(c * PL_NUM_PASS_KINDS);
        uint32_t *forward = &s->numbers[c * num_micro];
        uint32_t *backward = &s->numbers[(v + c) * num_micro];
        const size_t way =
            (p.kind == PL_PASS_FORWARD) == (s->order->is_v && c == 1) ? BACK : ONWARD;
        own_pass own = {part + p.kind, 0, none,
                        (uint32_t)((way * v + c) * num_micro + p.micro_batch)};
        if (p.kind == PL_PASS_FORWARD) {
            own.gap = (uint32_t)c;
            own.needs = c > 0 ? s->numbers[(c - 1) * num_micro + p.micro_batch] : 0;
        } else if (p.kind == PL_PASS_BACKWARD && c + 1 == v) {
            own.gap = (uint32_t)v;
            own.needs = forward[s->latest[p.micro_batch]];
        } else if (p.kind == PL_PASS_BACKWARD) {
            own.gap = (uint32_t)(v + 2 + c);
            own.needs = backward[num_micro + p.micro_batch];
        } else {
            own.time = UINT32_MAX;
        }
        s->passes[s->num_passes++] = own;
        if (p.kind != PL_PASS_WEIGHTS)
            (p.kind == PL_PASS_FORWARD ? forward : backward)[p.micro_batch] =
                (uint32_t)s->num_passes;
        if (p.kind == PL_PASS_BACKWARD && p.is_last && has_weights)
            s->passes[s->num_passes++] = (own_pass){part + PL_PASS_WEIGHTS, 0, none, UINT32_MAX};
    }
}

/* Prepares a device. */
static void begin_device(sweep *s, size_t device) {
    size_t first = 0;
    s->chain = &s->g->chains[device * s->g->num_parts];
    for (size_t c = 0; c <= s->num_chunks; ++c) {
        const size_t stage = stage_of(s, device, c);
        for (size_t kind = 0; kind < NUM_GAPS; ++kind)
            fill_gaps(s, kind, c, first, stage);
        if (c < s->num_chunks)
            fill_lane(s, &s->lanes[c], stage, s->order->is_v && c == 1);
        first = stage + 1;
    }
    list_passes(s, device);
}

static gap gap_of(const sweep *s, size_t kind, size_t c, size_t end, size_t first) {
    const size_t at = end * s->row + first;
    const size_t longest = kind + LONGEST_FORWARD - FORWARD;
    return (gap){gaps_of(s, kind, c)[at], s->is_in_turn ? gaps_of(s, longest, c)[at] : 0,
                 -INFINITY};
}

/* Finds how long before the end of the step each pass of the device ends, and returns when that is:
 * after the passes of the devices before it that follow, at least. */
static double find_after(sweep *s, const double *times) {
    double most = 0;
    if (s->num_times == 0)
        return 0;
    memset(s->after, 0, (s->num_passes + 1) * sizeof *s->after);
    for (size_t i = s->num_passes; i > 0; --i) {
        const own_pass *p = &s->passes[i - 1];
        if (p->time != UINT32_MAX && p->time >= s->num_times / NUM_WAYS)
            s->after[i] = later(s->after[i], times[p->time]);
        most = later(most, s->ends[i] + s->after[i]);
        const double own = s->cycles[p->part] + s->after[i];
        s->after[i - 1] = later(s->after[i - 1], own);
        s->after[p->needs] = later(s->after[p->needs], own + s->waits[p->gap].cycles);
    }
    pl_step_game_work(s->g, s->num_passes / 4);
    return most;
}

/* Keeps the least times of the passes that lead to a state. */
static void keep_times(sweep *s, double *times) {
    const size_t num_onward = s->num_times / NUM_WAYS;
    for (size_t i = 0; s->num_times > 0 && i < s->num_passes; ++i) {
        const own_pass *p = &s->passes[i];
        if (p->time == UINT32_MAX)
            continue;
        const double own =
            p->time < num_onward ? s->ends[i + 1] : s->cycles[p->part] + s->after[i + 1];
        times[p->time] = sooner(times[p->time], own);
    }
}

/* Returns when the passes of the device, and those after it, end if no other device waits. */
static double run_passes(sweep *s) {
    const size_t v = s->num_chunks;
    gap *tail = &s->waits[v + 1]; /* after the backward passes of chunk 0 */
    double last = 0;
    double most = 0;
    for (size_t c = 0, end = 0; c <= v; ++c) {
        const size_t first = c < v ? s->lanes[c].now->first : s->g->num_units;
        s->waits[c] = gap_of(s, FORWARD, c, end, first);
        s->waits[v + 1 + c] = gap_of(s, BACKWARD, c, end, first);
        if (c == v)
            break;
        end = s->lanes[c].now->end;
        memcpy(&s->cycles[c * PL_NUM_PASS_KINDS], s->lanes[c].now->arc->cycles,
               PL_NUM_PASS_KINDS * sizeof *s->cycles);
    }
    s->waits[2 * v + 2] = (gap){0, 0, 0};
    const double *times = s->now.times + s->state * s->num_times;
    const size_t num_onward = s->num_times / NUM_WAYS;
    for (size_t i = 0; i < s->num_passes; ++i) {
        const own_pass *p = &s->passes[i];
        gap *before = &s->waits[p->gap];
        before->end = later(s->ends[p->needs] + before->cycles, before->end + before->longest);
        last = later(last, before->end);
        if (p->time < num_onward)
            last = later(last, times[p->time]);
        last += s->cycles[p->part];
        s->ends[i + 1] = last;
        if (p->part == PL_PASS_BACKWARD)
            tail->end = later(last + tail->cycles, tail->end + tail->longest);
        else if (p->part == (v - 1) * PL_NUM_PASS_KINDS + PL_PASS_FORWARD)
            most = later(most, last + s->waits[v].cycles);
    }
    pl_step_game_work(s->g, s->num_passes / 2);
    return later(later(last, find_after(s, times)), later(most, tail->end));
}

/* ---- states ---- */

/* Continues the current state by the current moves. */
static void reach(sweep *s, double chained, double reduced, size_t to) {
    const uint64_t *from = s->now.begun + s->state * s->num_words;
    uint64_t *begun = s->then.begun + to * s->num_words;
    bool adds = s->num_times > 0 || reduced < s->then.reduced[to];
    for (size_t i = 0; !adds && i < s->num_words; ++i)
        adds = (from[i] & ~begun[i]) != 0;
    pl_step_game_work(s->g, s->num_words / 4);
    if (!adds || chained * PL_STEP_CERTAIN > s->most || run_passes(s) * PL_STEP_CERTAIN > s->most)
        return;
    for (size_t i = 0; i < s->num_words; ++i)
        begun[i] |= from[i];
    keep_times(s, s->then.times + to * s->num_times);
    s->then.reduced[to] = sooner(s->then.reduced[to], reduced);
}

/* Continues the current state by the moves of all lanes from c on. */
static void go_on(sweep *s, size_t c, double chained, double reduced, size_t to) {
    const size_t end = c > 0 ? s->lanes[c - 1].now->end : 0;
    const double *gaps = &gaps_of(s, OF_CHAIN, c)[end * s->row];
    if (c == s->num_chunks) {
        reach(s, chained + gaps[s->g->num_units], reduced, to);
        return;
    }
    lane *l = &s->lanes[c];
    for (const move *m = l->heads[l->at]; m != NULL; m = m->next) {
        const double with = chained + gaps[m->first] + m->chained;
        l->now = m;
        pl_step_game_work(s->g, WORK_OF_MOVE);
        if ((with + s->rest[c + 1]) * PL_STEP_CERTAIN <= s->most &&
            reduced + m->reduced <= s->spare)
            go_on(s, c + 1, with, reduced + m->reduced, to * l->to.size + m->to);
    }
}

/* Continues all states by a device. */
static void run_device(sweep *s) {
    for (s->state = 0; s->state<s->now.num_states && * s->g->work> 0; ++s->state) {
        size_t places = s->state;
        if (s->now.reduced[s->state] == INFINITY)
            continue;
        for (size_t c = s->num_chunks; c-- > 0; places /= s->lanes[c].from.size) {
            s->lanes[c].at = places % s->lanes[c].from.size;
            s->rest[c] = s->rest[c + 1] + s->lanes[c].least[s->lanes[c].at];
        }
        go_on(s, 0, 0, s->now.reduced[s->state], 0);
    }
}

/* Returns the number of the states between two devices; more than MAX_TIMES are one more. */
static size_t count_states(const sweep *s, size_t num_before) {
    const bool is_last = num_before == s->order->num_devices;
    size_t count = 1;
    for (size_t c = 0; c < s->num_chunks; ++c) {
        const bool is_end = is_last != (s->order->is_v && c == 1);
        count *= window_of(s, stage_of(s, num_before - is_last, c) + is_end).size;
        count = pl_fewer(count, MAX_TIMES + 1);
    }
    return count;
}

static level make_level(const sweep *s, size_t num_before, pl_arrays *arrays) {
    level own = {.num_states = count_states(s, num_before)};
    own.reduced = pl_arrays_new(arrays, own.num_states, sizeof *own.reduced);
    own.begun = pl_arrays_new(arrays, own.num_states * s->num_words, sizeof *own.begun);
    own.times = pl_arrays_new(arrays, own.num_states * s->num_times, sizeof *own.times);
    for (size_t i = 0; !arrays->failed && i < own.num_states; ++i)
        own.reduced[i] = INFINITY;
    for (size_t i = 0; !arrays->failed && i < own.num_states * s->num_times; ++i)
        own.times[i] = num_before == 0 ? 0 : INFINITY;
    return own;
}

/* Returns the bit of the first, or last, cuts of all chunks: the one is the other except for the
 * ends of the chain. In a V there is one. */
static size_t bit_of(const sweep *s, size_t state, size_t num_states) {
    return s->order->is_v ? 0 : state * s->num_begun / num_states;
}

/* True if each chunk ends where the next one begins, in one of the last states. */
static bool has_split(const sweep *s) {
    const size_t size = s->lanes[0].to.size;
    bool has = false;
    for (size_t i = 0; !has && i < s->now.num_states; ++i) {
        const size_t bit = bit_of(s, i, s->now.num_states);
        has = (!s->order->is_v || i / size == i % size) &&
              (s->now.begun[i * s->num_words + bit / 64] >> bit % 64 & 1) != 0;
    }
    return has;
}

/* Begins with the states before the first device; false if all states need too much memory. */
static bool begin_states(sweep *s, pl_arrays *arrays) {
    size_t most_states = 1;
    for (size_t d = 0; d <= s->order->num_devices; ++d)
        most_states = pl_more(most_states, count_states(s, d));
    if (most_states > MAX_TIMES / (2 + s->num_times))
        return false;
    s->num_words = pl_fewer((count_states(s, 0) + 63) / 64, MAX_TIMES / 2 / most_states);
    s->num_begun = pl_fewer(count_states(s, 0), 64 * s->num_words);
    s->now = make_level(s, 0, arrays);
    for (size_t i = 0; !arrays->failed && i < s->now.num_states; ++i) {
        const size_t bit = bit_of(s, i, s->now.num_states);
        s->now.reduced[i] = 0;
        s->now.begun[i * s->num_words + bit / 64] |= UINT64_C(1) << bit % 64;
    }
    return !arrays->failed;
}

/* Makes the arrays, and sets what all devices have; false if they need too much memory. */
static bool begin_sweep(sweep *s, pl_arrays *arrays) {
    const size_t v = s->num_chunks;
    const size_t num_places = PL_NUM_PASS_KINDS * v * s->order->num_micro_batches;
    if (NUM_GAPS * (v + 1) * s->row > MAX_GAPS / s->row)
        return false;
    s->arcs = pl_arrays_new(arrays, s->g->graph->num_stages + 1, sizeof *s->arcs);
    s->lanes = pl_arrays_new(arrays, v, sizeof *s->lanes);
    s->gaps = pl_arrays_new(arrays, NUM_GAPS * (v + 1) * s->row * s->row, sizeof *s->gaps);
    s->rest = pl_arrays_new(arrays, v + 1, sizeof *s->rest);
    s->latest = pl_arrays_new(arrays, s->order->num_micro_batches, sizeof *s->latest);
    s->passes = pl_arrays_new(arrays, num_places, sizeof *s->passes);
    s->numbers = pl_arrays_new(arrays, num_places, sizeof *s->numbers);
    s->ends = pl_arrays_new(arrays, num_places + 1, sizeof *s->ends);
    s->after = pl_arrays_new(arrays, num_places + 1, sizeof *s->after);
    s->waits = pl_arrays_new(arrays, 2 * v + 3, sizeof *s->waits);
    s->cycles = pl_arrays_new(arrays, v * PL_NUM_PASS_KINDS, sizeof *s->cycles);
    for (size_t c = 0; !arrays->failed && c < v; ++c) {
        s->lanes[c].moves = pl_arrays_new(arrays, s->g->num_arcs, sizeof *s->lanes[c].moves);
        s->lanes[c].heads = pl_arrays_new(arrays, s->row, sizeof *s->lanes[c].heads);
        s->lanes[c].least = pl_arrays_new(arrays, s->row, sizeof *s->lanes[c].least);
    }
    if (arrays->failed)
        return false;
    for (size_t i = 0; i < s->g->num_arcs; ++i)
        s->arcs[s->g->arcs[i].from / s->row + 1] = i + 1;
    find_latest(s);
    return begin_states(s, arrays);
}

/* True if the stages that are left have no split within a target, as far as each device shows
 * alone, or with the times of those before it. */
static bool run_sweep(pl_step_game *g, uint64_t target, bool has_times) {
    pl_arrays arrays = {0};
    pl_arrays of_level = {0};
    sweep s = {.g = g,
               .order = g->order,
               .num_chunks = g->order->num_chunks,
               .row = g->num_units + 1,
               .most = (double)target,
               .spare = (double)target / PL_STEP_CERTAIN - g->least[1][0],
               .num_times =
                   has_times ? NUM_WAYS * g->order->num_chunks * g->order->num_micro_batches : 0};
    bool goes_on = begin_sweep(&s, &arrays);
    for (size_t d = 0; goes_on && d < g->order->num_devices; ++d) {
        pl_arrays next = {0};
        begin_device(&s, d);
        s.then = make_level(&s, d + 1, &next);
        if (!next.failed)
            run_device(&s);
        goes_on = !next.failed && *g->work > 0 && !pl_stop_is_wanted(g->stop);
        s.now = s.then;
        pl_arrays_end(&of_level, &arrays);
        of_level = next;
    }
    const bool is_refuted = goes_on && !has_split(&s);
    pl_arrays_end(&of_level, &arrays);
    pl_arrays_end(&arrays, g->arrays);
    return is_refuted;
}

/* Keeps the stages with which a chunk ends, or the next one begins, if that is at one place. */
static void keep_cut(pl_step_game *g, const pl_step_arc *arcs, size_t num_arcs, uint32_t place) {
    const size_t row = g->num_units + 1;
    g->num_arcs = 0;
    for (size_t i = 0; i < num_arcs; ++i)
        if (arcs[i].to / row != place / row || arcs[i].to == place)
            g->arcs[g->num_arcs++] = arcs[i];
}

/* Sweeps for all units with which a chunk, and those after it, may begin; with times, which takes
 * longer, where that is needed. */
static bool refutes_from(pl_step_game *g, uint64_t target, size_t chunk) {
    pl_arrays arrays = {0};
    const size_t place = chunk * g->order->num_devices * (g->num_units + 1);
    if (!pl_step_game_leave_out(g, target))
        return true;
    if (chunk == g->order->num_chunks || g->order->is_v)
        return run_sweep(g, target, false) || run_sweep(g, target, true);
    if (chunk == 1 && g->order->num_chunks > 2 && run_sweep(g, target, false))
        return true;
    const size_t num_arcs = g->num_arcs;
    pl_step_arc *all = pl_arrays_new(&arrays, num_arcs, sizeof *all);
    bool is_refuted = !arrays.failed;
    if (is_refuted)
        memcpy(all, g->arcs, num_arcs * sizeof *all);
    for (size_t i = 0; is_refuted && i < g->num_units; ++i) {
        const size_t unit = (g->hard_unit + i) % g->num_units;
        if (chunk == 1 && g->refuted[unit] >= target)
            continue;
        keep_cut(g, all, num_arcs, (uint32_t)(place + unit));
        is_refuted = refutes_from(g, target, chunk + 1) && *g->work > 0;
        if (chunk > 1)
            continue;
        if (is_refuted)
            g->refuted[unit] = target;
        else
            g->hard_unit = unit;
    }
    if (all != NULL)
        memcpy(g->arcs, all, num_arcs * sizeof *all);
    g->num_arcs = num_arcs;
    pl_arrays_end(&arrays, g->arrays);
    return is_refuted;
}

bool pl_step_sweep_refutes(pl_step_game *g, uint64_t target) {
    return refutes_from(g, target, 1);
}
