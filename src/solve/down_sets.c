/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "solve/down_sets.h"

#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "base/growth.h"
#include "base/id_map.h"
#include "base/keys.h"
#include "base/numbers.h"
#include "costs/costs.h"
#include "solve/ipus.h"

enum { STEPS_TO_ASK = 1 << 14, MOST_BYTES = 1 << 29 };

/* The down-sets that were reached, by their number. */
typedef struct down_sets {
    size_t width;     /* max_stages + 1 */
    size_t most;      /* sets, for the budget */
    pl_keys keys;     /* their bits */
    uint64_t *cycles; /* of the units, without traffic */
    uint64_t *bytes;
    uint32_t *next;   /* of as many units */
    uint64_t *best;   /* [width] the least value with so many stages; UINT64_MAX: none */
    uint32_t *before; /* [width] the set without the last stage */
} down_sets;

typedef struct down_set_search {
    const pl_graph_rules *rules;
    const pl_limits *limits;
    const pl_unit_graph *units;
    pl_goal goal;
    bool by_cycles;
    bool is_sum; /* values are sums of cuts, not maxima */
    pl_graph_budget *budget;
    size_t num_units;
    size_t max_stages;
    bool is_alike; /* what a stage may be does not depend on its place */
    down_sets sets;
    uint32_t *first; /* [units + 1] the first set of so many units */

    /* for each place: the most cycles and bytes of a stage there, and of all from there on */
    uint64_t *speed; /* millionths */
    uint64_t *most_cycles;
    uint64_t *most_bytes;
    uint64_t *rest_cycles; /* [max_stages + 1] */
    uint64_t *rest_bytes;
    uint64_t total_cycles;
    uint64_t total_bytes;

    uint32_t *nets_from; /* [units + 1] of each unit */
    uint32_t *nets;
    uint32_t *num_waits; /* [units] units before it, some more than once */

    /* the set from which stages grow, and the stage */
    uint32_t from;
    size_t least_stages; /* with which it is reached */
    size_t most_stages;
    uint32_t *net_before; /* [nets] units in the set */
    uint64_t *bits;       /* of the set with the stage */
    uint64_t *ready;      /* units that may be next */
    uint32_t *waits;
    uint32_t *net_inside; /* [nets] units in the stage */
    uint32_t *path;       /* [units] the units of the stage */
    size_t depth;
    size_t num_before; /* units in the set */
    uint64_t cycles;
    uint64_t bytes;
    uint64_t received; /* traffic over the border that stays when the stage grows */
    uint64_t open;     /* other traffic over the border */
    uint64_t cut;      /* traffic over the cut after the stage */
    pl_arrays arrays;  /* own all of these */
} down_set_search;

static void flip(uint64_t *bits, size_t i) {
    bits[i / 64] ^= (uint64_t)1 << (i % 64);
}

/* ---- The sets ---- */

static size_t bytes_of_set(const down_sets *s) {
    return s->keys.key_size + s->width * (sizeof *s->best + sizeof *s->before) +
           3 * sizeof *s->cycles + 4 * sizeof *s->next;
}

static bool grow(down_set_search *w) {
    down_sets *s = &w->sets;
    const size_t count = s->keys.count;
    return pl_arrays_grow(&w->arrays, &s->cycles, count, sizeof *s->cycles) &&
           pl_arrays_grow(&w->arrays, &s->bytes, count, sizeof *s->bytes) &&
           pl_arrays_grow(&w->arrays, &s->next, count, sizeof *s->next) &&
           pl_arrays_grow(&w->arrays, &s->best, count * s->width, sizeof *s->best) &&
           pl_arrays_grow(&w->arrays, &s->before, count * s->width, sizeof *s->before);
}

/* Returns the number of the set that is walked through, a new one if it was not reached before;
 * PL_NONE if the budget is over or memory is short. */
static uint32_t number_of(down_set_search *w) {
    down_sets *s = &w->sets;
    const size_t count = s->keys.count;
    const uint32_t i = (uint32_t)pl_keys_number(&s->keys, w->bits);
    const size_t size = w->num_before + w->depth;
    if (i < count && !w->arrays.failed)
        return i;
    if (count >= s->most || !grow(w))
        return PL_NONE;
    s->cycles[i] = (i == 0 ? 0 : s->cycles[w->from]) + w->cycles;
    s->bytes[i] = (i == 0 ? 0 : s->bytes[w->from]) + w->bytes;
    s->next[i] = w->first[size];
    w->first[size] = i;
    memset(s->best + i * s->width, 0xff, s->width * sizeof *s->best);
    return i;
}

/* ---- A stage that grows ---- */

/* Counts a unit that is added to the stage, or removed from it: sums are modulo 2^64. */
static inline void count_unit(down_set_search *w, uint32_t unit, bool is_added) {
    const pl_unit_graph *u = w->units;
    const uint64_t sign = is_added ? 1 : UINT64_MAX;
    w->cycles += sign * u->cycles[unit];
    w->bytes += sign * u->memory_bytes[unit];
    flip(w->bits, unit);
    flip(w->ready, unit);
    for (size_t i = w->nets_from[unit]; i < w->nets_from[unit + 1]; ++i) {
        const uint32_t net = w->nets[i];
        const uint32_t before = w->net_before[net];
        const uint32_t inside = is_added ? w->net_inside[net]++ : --w->net_inside[net];
        const bool is_last = before + inside + 1 == u->nets_from[net + 1] - u->nets_from[net];
        const uint64_t traffic = sign * u->net_traffic[net];
        if (before > 0 && inside == 0)
            w->received += traffic;
        if (before == 0 && inside == 0)
            w->open += traffic;
        if (before == 0 && is_last)
            w->open -= traffic;
        if (before + inside == 0)
            w->cut += traffic;
        if (is_last)
            w->cut -= traffic;
    }
    for (size_t i = u->followers_from[unit]; i < u->followers_from[unit + 1]; ++i)
        if ((is_added ? --w->waits[u->followers[i]] : w->waits[u->followers[i]]++) == 0)
            flip(w->ready, u->followers[i]);
}

static void add_unit(down_set_search *w, uint32_t unit) {
    w->path[w->depth++] = unit;
    count_unit(w, unit, true);
}

static void remove_unit(down_set_search *w) {
    count_unit(w, w->path[--w->depth], false);
}

/* Begins stages after a set. */
static void begin_at(down_set_search *w, uint32_t set) {
    const pl_unit_graph *u = w->units;
    const down_sets *s = &w->sets;
    w->from = set;
    w->depth = 0;
    w->num_before = 0;
    w->cycles = w->bytes = w->received = w->open = w->cut = 0;
    memcpy(w->bits, pl_bits_at(&s->keys, set), s->keys.key_size);
    memcpy(w->waits, w->num_waits, w->num_units * sizeof *w->waits);
    memset(w->ready, 0, s->keys.key_size);
    memset(w->net_before, 0, u->num_nets * sizeof *w->net_before);
    for (size_t unit = 0; unit < w->num_units; ++unit) {
        if (!pl_bits_has(w->bits, unit))
            continue;
        ++w->num_before;
        for (size_t i = u->followers_from[unit]; i < u->followers_from[unit + 1]; ++i)
            --w->waits[u->followers[i]];
        for (size_t i = w->nets_from[unit]; i < w->nets_from[unit + 1]; ++i)
            ++w->net_before[w->nets[i]];
    }
    for (size_t unit = 0; unit < w->num_units; ++unit)
        if (w->waits[unit] == 0 && !pl_bits_has(w->bits, unit))
            flip(w->ready, unit);
    for (size_t net = 0; net < u->num_nets; ++net)
        if (w->net_before[net] > 0 &&
            w->net_before[net] < u->nets_from[net + 1] - u->nets_from[net])
            w->cut += u->net_traffic[net];
}

/* ---- The program ---- */

/* True if a cut after so many stages may have the set that is walked through before it. */
static bool may_cut(const down_set_search *w, size_t num_stages) {
    const pl_graph_rules *r = w->rules;
    for (size_t i = 0; i < r->problem->options->num_pairs; ++i)
        if (pl_bits_has(w->bits, r->pairs[i].unit) != pl_bits_has(w->bits, r->pairs[i].second_unit))
            return false;
    for (size_t unit = 0; r->place_of_unit != NULL && unit < w->num_units; ++unit)
        if (r->place_of_unit[unit] != SIZE_MAX &&
            pl_bits_has(w->bits, unit) != (r->place_of_unit[unit] < num_stages))
            return false;
    return true;
}

/* Returns the value of the partition with the stage that is walked through at `place`; UINT64_MAX
 * if it is not allowed there. */
static uint64_t value_at(const down_set_search *w, size_t place, uint64_t load) {
    const uint64_t so_far = w->sets.best[w->from * w->sets.width + place];
    if (so_far == UINT64_MAX || load > w->most_cycles[place] || w->bytes > w->most_bytes[place])
        return UINT64_MAX;
    if (!w->is_sum)
        return pl_larger(w->by_cycles ? pl_speed_cycles(w->speed[place], load) : w->bytes, so_far);
    const uint64_t sum = pl_add_cut_bytes(so_far, w->cut);
    return sum <= w->limits->max_cut_bytes ? sum : UINT64_MAX;
}

/* Ends the stage here, where that is allowed. False if the budget is over. */
static bool end_stage(down_set_search *w) {
    const pl_graph_rules *r = w->rules;
    const down_sets *s = &w->sets;
    const bool is_whole = w->num_before + w->depth == w->num_units;
    const uint64_t load = w->cycles + (r->traffic_takes_cycles ? w->received + w->open : 0);
    /* what is left, and what comes over the cut, which some later stage receives */
    const uint64_t rest_cycles =
        w->total_cycles - s->cycles[w->from] - w->cycles + (r->traffic_takes_cycles ? w->cut : 0);
    const uint64_t rest_bytes = w->total_bytes - s->bytes[w->from] - w->bytes;
    uint32_t set = PL_NONE;
    if (w->depth < r->problem->options->min_units)
        return true;
    for (size_t place = w->least_stages; place <= w->most_stages; ++place) {
        if (rest_cycles > w->rest_cycles[place + 1] || rest_bytes > w->rest_bytes[place + 1])
            return true; /* the more so with more stages */
        if (is_whole ? place + 1 < r->problem->min_stages : place + 1 == w->max_stages)
            continue;
        const uint64_t value = value_at(w, place, load);
        if (value == UINT64_MAX || !may_cut(w, place + 1))
            continue;
        if (set == PL_NONE)
            set = number_of(w);
        if (set == PL_NONE)
            return false;
        const size_t at = set * s->width + place + 1;
        if (value < s->best[at]) {
            s->best[at] = value;
            s->before[at] = w->from;
        }
    }
    return true;
}

/* True if no longer stage is allowed. */
static bool is_too_large(const down_set_search *w) {
    const size_t max_units = w->rules->problem->options->max_units;
    const uint64_t load = w->cycles + (w->rules->traffic_takes_cycles ? w->received : 0);
    for (size_t place = w->least_stages; place <= w->most_stages; ++place)
        if (load <= w->most_cycles[place] && w->bytes <= w->most_bytes[place])
            return max_units > 0 && w->depth > max_units;
    return true;
}

static bool may_go_on(down_set_search *w) {
    pl_graph_budget *b = w->budget;
    if (b->steps == 0)
        return false;
    --b->steps;
    return b->steps % STEPS_TO_ASK != 0 || !pl_stop_is_wanted(b->stop);
}

/* Tries all stages after the set at which the walk is: units are added by number, which is a
 * topological order, so that each set of units comes up once. False if the budget is over. */
static bool try_stages(down_set_search *w) {
    size_t at = 0;
    for (;;) {
        const uint32_t unit = (uint32_t)pl_bits_next(w->ready, at, w->num_units);
        if (unit == w->num_units) {
            if (w->depth == 0)
                return true;
            at = (size_t)w->path[w->depth - 1] + 1;
            remove_unit(w);
            continue;
        }
        at = (size_t)unit + 1;
        if (!may_go_on(w))
            return false;
        add_unit(w, unit);
        if (is_too_large(w))
            remove_unit(w);
        else if (!end_stage(w))
            return false;
    }
}

/* Finds with how many stages a set is reached. False if with none. Where all places are alike, more
 * stages that are no better are left out. */
static bool find_stages(down_set_search *w, uint32_t set) {
    uint64_t *best = w->sets.best + set * w->sets.width;
    uint64_t least = UINT64_MAX;
    w->least_stages = SIZE_MAX;
    for (size_t stages = 0; stages < w->max_stages; ++stages) {
        if (w->is_alike && best[stages] >= least)
            best[stages] = UINT64_MAX;
        if (best[stages] == UINT64_MAX)
            continue;
        if (w->least_stages == SIZE_MAX)
            w->least_stages = stages;
        w->most_stages = stages;
        least = best[stages];
    }
    return w->least_stages != SIZE_MAX;
}

static bool go_through(down_set_search *w) {
    for (size_t size = 0; size < w->num_units; ++size)
        for (uint32_t set = w->first[size]; set != PL_NONE; set = w->sets.next[set]) {
            if (!find_stages(w, set))
                continue;
            begin_at(w, set);
            if (!try_stages(w))
                return false;
        }
    return true;
}

/* ---- What is made ready ---- */

static bool allocate(down_set_search *w) {
    pl_arrays *arrays = &w->arrays;
    const size_t n = w->num_units;
    const size_t stages = w->max_stages;
    const size_t nets = w->units->num_nets;
    w->sets.keys = pl_bits_begin(arrays, n);
    w->sets.width = stages + 1;
    w->first = pl_arrays_new(arrays, n + 1, sizeof *w->first);
    w->speed = pl_arrays_new(arrays, stages, sizeof *w->speed);
    w->most_cycles = pl_arrays_new(arrays, stages, sizeof *w->most_cycles);
    w->most_bytes = pl_arrays_new(arrays, stages, sizeof *w->most_bytes);
    w->rest_cycles = pl_arrays_new(arrays, stages + 1, sizeof *w->rest_cycles);
    w->rest_bytes = pl_arrays_new(arrays, stages + 1, sizeof *w->rest_bytes);
    w->nets_from = pl_arrays_new(arrays, n + 1, sizeof *w->nets_from);
    w->nets = pl_arrays_new(arrays, nets == 0 ? 0 : w->units->nets_from[nets], sizeof *w->nets);
    w->num_waits = pl_arrays_new(arrays, n, sizeof *w->num_waits);
    w->waits = pl_arrays_new(arrays, n, sizeof *w->waits);
    w->bits = pl_arrays_new(arrays, 1, w->sets.keys.key_size);
    w->ready = pl_arrays_new(arrays, 1, w->sets.keys.key_size);
    w->path = pl_arrays_new(arrays, n, sizeof *w->path);
    w->net_before = pl_arrays_new(arrays, nets, sizeof *w->net_before);
    w->net_inside = pl_arrays_new(arrays, nets, sizeof *w->net_inside);
    w->sets.most = pl_fewer(MOST_BYTES / bytes_of_set(&w->sets), PL_NONE - 1);
    return !arrays->failed;
}

static void prepare_search(down_set_search *w) {
    const pl_unit_graph *u = w->units;
    const pl_problem *p = w->rules->problem;
    memset(w->first, 0xff, (w->num_units + 1) * sizeof *w->first);
    w->is_alike = p->min_stages <= 1 && w->rules->place_of_unit == NULL;
    for (size_t place = w->max_stages; place-- > 0;) {
        const size_t ipu = pl_problem_ipu(p, place);
        w->speed[place] = pl_speed_of(p->options, ipu);
        w->most_cycles[place] = pl_speed_most(w->speed[place], w->limits->max_cycles);
        w->most_bytes[place] = pl_limits_peak(p, w->limits, ipu);
        w->is_alike = w->is_alike && w->most_bytes[place] == w->most_bytes[w->max_stages - 1] &&
                      w->speed[place] == w->speed[w->max_stages - 1];
        w->rest_cycles[place] = pl_add_or_never(w->rest_cycles[place + 1], w->most_cycles[place]);
        w->rest_bytes[place] = pl_add_or_never(w->rest_bytes[place + 1], w->most_bytes[place]);
    }
    for (size_t unit = 0; unit < w->num_units; ++unit) {
        w->total_cycles += u->cycles[unit];
        w->total_bytes += u->memory_bytes[unit];
    }
    for (size_t i = 0; i < u->followers_from[w->num_units]; ++i)
        ++w->num_waits[u->followers[i]];
    const size_t num_ends = u->num_nets == 0 ? 0 : u->nets_from[u->num_nets];
    for (size_t i = 0; i < num_ends; ++i)
        ++w->nets_from[u->net_units[i]];
    for (size_t unit = 0; unit < w->num_units; ++unit)
        w->nets_from[unit + 1] += w->nets_from[unit];
    for (size_t net = u->num_nets; net-- > 0;)
        for (size_t i = u->nets_from[net]; i < u->nets_from[net + 1]; ++i)
            w->nets[--w->nets_from[u->net_units[i]]] = (uint32_t)net;
}

/* Goes back from the whole graph with the best number of stages. */
static void take_partition(const down_set_search *w, uint32_t *stage_of_unit, size_t *num_stages) {
    const down_sets *s = &w->sets;
    uint32_t set = w->first[w->num_units];
    *num_stages = 0;
    for (size_t stages = 1; set != PL_NONE && stages < s->width; ++stages) {
        const uint64_t value = s->best[set * s->width + stages];
        const bool is_enough = w->goal == PL_GOAL_FEWEST_STAGES && *num_stages > 0;
        if (value != UINT64_MAX && !is_enough &&
            (*num_stages == 0 || value < s->best[set * s->width + *num_stages]))
            *num_stages = stages;
    }
    for (size_t stage = *num_stages; stage-- > 0;) {
        const uint32_t before = s->before[set * s->width + stage + 1];
        for (size_t unit = 0; unit < w->num_units; ++unit)
            if (pl_bits_has(pl_bits_at(&s->keys, set), unit) &&
                !pl_bits_has(pl_bits_at(&s->keys, before), unit))
                stage_of_unit[unit] = (uint32_t)stage;
        set = before;
    }
}

popliner_status pl_down_sets_search(const pl_graph_rules *rules, const pl_limits *limits,
                                    pl_goal goal, bool by_cycles, pl_graph_budget *budget,
                                    uint32_t *stage_of_unit, size_t *num_stages,
                                    popliner_error *error) {
    const pl_problem *p = rules->problem;
    down_set_search w = {.rules = rules,
                         .limits = limits,
                         .units = rules->units,
                         .goal = goal,
                         .by_cycles = by_cycles,
                         .is_sum = goal != PL_GOAL_ANY || limits->max_cut_bytes < UINT64_MAX,
                         .budget = budget,
                         .num_units = rules->units->num_units,
                         .max_stages = (size_t)pl_smaller(limits->max_ipus, p->max_stages)};
    *num_stages = 0;
    budget->is_over = false;
    if (!allocate(&w)) {
        pl_arrays_free(&w.arrays);
        return pl_fail_memory(error, "the down-sets of the graph");
    }
    prepare_search(&w);
    if (w.total_cycles <= w.rest_cycles[0] && w.total_bytes <= w.rest_bytes[0]) {
        const uint32_t none = number_of(&w);
        if (none != PL_NONE)
            w.sets.best[0] = 0;
        budget->is_over = none == PL_NONE || !go_through(&w);
    }
    if (!budget->is_over)
        take_partition(&w, stage_of_unit, num_stages);
    budget->num_down_sets =
        pl_more(budget->num_down_sets, pl_fewer(w.sets.keys.count, w.sets.most));
    pl_arrays_free(&w.arrays);
    return POPLINER_OK;
}

popliner_status pl_graph_evaluate(const pl_graph_rules *rules, const uint32_t *stage_of_unit,
                                  size_t num_stages, pl_objective_values *values,
                                  popliner_error *error) {
    const pl_unit_graph *u = rules->units;
    uint64_t *loads = pl_new_array(3 * num_stages, sizeof *loads);
    *values = (pl_objective_values){.num_ipus = num_stages};
    if (loads == NULL)
        return pl_fail_memory(error, "the values of the graph's stages");
    uint64_t *bytes = loads + num_stages;
    uint64_t *marks = loads + 2 * num_stages; /* the last net that a stage has a unit of, plus 1 */
    for (size_t unit = 0; unit < u->num_units; ++unit) {
        loads[stage_of_unit[unit]] += u->cycles[unit];
        bytes[stage_of_unit[unit]] += u->memory_bytes[unit];
    }
    for (size_t net = 0; net < u->num_nets; ++net) {
        uint32_t first = PL_NONE;
        uint32_t last = 0;
        for (size_t i = u->nets_from[net]; i < u->nets_from[net + 1]; ++i) {
            const uint32_t stage = stage_of_unit[u->net_units[i]];
            first = stage < first ? stage : first;
            last = stage > last ? stage : last;
        }
        values->cut_bytes =
            pl_add_cut_bytes(values->cut_bytes, (last - first) * u->net_traffic[net]);
        for (size_t i = u->nets_from[net];
             rules->traffic_takes_cycles && first < last && i < u->nets_from[net + 1]; ++i) {
            const uint32_t stage = stage_of_unit[u->net_units[i]];
            if (marks[stage] != net + 1)
                loads[stage] += u->net_traffic[net];
            marks[stage] = net + 1;
        }
    }
    for (size_t stage = 0; stage < num_stages; ++stage) {
        const uint64_t speed =
            pl_speed_of(rules->problem->options, pl_problem_ipu(rules->problem, stage));
        values->cycles = pl_larger(values->cycles, pl_speed_cycles(speed, loads[stage]));
        values->peak_bytes = pl_larger(values->peak_bytes, bytes[stage]);
    }
    free(loads);
    return POPLINER_OK;
}
