/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "solve/objective.h"

#include "costs/costs.h"

#include <string.h>

#define OF(of, limit_of)                                                                           \
    .value = offsetof(pl_objective_values, of), .limit = offsetof(pl_limits, limit_of)

static const pl_objective objectives[POPLINER_NUM_OBJECTIVES] = {
    [POPLINER_OBJECTIVE_MEMORY] = {.name = "memory",
                                   .meaning = "the peak memory of a tile",
                                   .title = "fullest tile",
                                   .words = "peak %/",
                                   .better = "a lower peak",
                                   .kind = PL_OBJECTIVE_LARGEST,
                                   .unit = PL_UNIT_BYTES,
                                   .is_everywhere = true,
                                   .is_grown = true,
                                   OF(peak_bytes, max_peak_bytes)},
    [POPLINER_OBJECTIVE_CYCLES] = {.name = "cycles",
                                   .meaning = "the cycles of the slowest IPU",
                                   .title = "slowest IPU",
                                   .words = "slowest IPU %",
                                   .better = "less time on the slowest one",
                                   .kind = PL_OBJECTIVE_LARGEST,
                                   .unit = PL_UNIT_CYCLES,
                                   .measure = PL_MEASURE_CYCLES,
                                   .is_everywhere = true,
                                   OF(cycles, max_cycles)},
    [POPLINER_OBJECTIVE_TRAFFIC] = {.name = "traffic",
                                    .meaning = "the bytes that cross the cuts",
                                    .title = "bytes cut",
                                    .words = "% over the cuts",
                                    .better = "fewer bytes over its cuts",
                                    .kind = PL_OBJECTIVE_SUM,
                                    .unit = PL_UNIT_CUTS,
                                    .goal = PL_GOAL_FEWEST_CUT_BYTES,
                                    .is_everywhere = true,
                                    OF(cut_bytes, max_cut_bytes)},
    [POPLINER_OBJECTIVE_IPUS] = {.name = "ipus",
                                 .meaning = "the number of IPUs",
                                 .title = "IPUs",
                                 .words = "%",
                                 .better = "fewer in use",
                                 .kind = PL_OBJECTIVE_SUM,
                                 .unit = PL_UNIT_COUNT,
                                 .goal = PL_GOAL_FEWEST_STAGES,
                                 .is_mapped = true,
                                 .is_everywhere = true,
                                 OF(num_ipus, max_ipus)},
    [POPLINER_OBJECTIVE_BALANCE] =
        {.name = "balance",
         .meaning = "fullest minus emptiest IPU; with cycles before it, their times",
         .title = "imbalance of the IPUs",
         .words = "imbalance %",
         .better = "a smaller imbalance",
         .kind = PL_OBJECTIVE_SPREAD,
         .goal = PL_GOAL_SMALLEST_SPREAD,
         .unit = PL_UNIT_BYTES,
         .is_grown = true},
    [POPLINER_OBJECTIVE_HEADROOM] =
        {.name = "headroom",
         .meaning = "the least free memory of an IPU: made as large as possible",
         .title = "least free memory",
         .words = "at least % free",
         .better = "more free memory",
         .kind = PL_OBJECTIVE_LARGEST,
         .unit = PL_UNIT_BYTES,
         .measure = PL_MEASURE_SHORTFALL,
         .is_grown = true,
         .is_more_better = true,
         OF(shortfall_bytes, max_shortfall_bytes)},
    /* no search has it: solve/tokens.h asks for one number of tokens after another */
    [POPLINER_OBJECTIVE_TOKENS] = {.name = "tokens",
                                   .meaning = "the tokens that all IPUs have room for: as many as "
                                              "possible",
                                   .title = "more tokens",
                                   .words = "room for % more",
                                   .better = "room for more tokens",
                                   .kind = PL_OBJECTIVE_LARGEST,
                                   .unit = PL_UNIT_TOKENS,
                                   .is_grown = true,
                                   .is_more_better = true,
                                   .has_own_search = true,
                                   OF(shortfall_bytes, max_shortfall_bytes)},
    /* as tokens: solve/step_solve.h simulates */
    [POPLINER_OBJECTIVE_STEP] = {.name = "step",
                                 .meaning = "the time of a step of all its micro-batches",
                                 .title = "time of a step",
                                 .words = "step %",
                                 .better = "a shorter step",
                                 .kind = PL_OBJECTIVE_LARGEST,
                                 .unit = PL_UNIT_CYCLES,
                                 .measure = PL_MEASURE_CYCLES,
                                 .has_own_search = true,
                                 OF(cycles, max_cycles)},
};

const pl_objective *pl_objective_of(popliner_objective objective) {
    return &objectives[objective];
}

const char *pl_objective_name(size_t objective) {
    return objective < POPLINER_NUM_OBJECTIVES ? objectives[objective].name : NULL;
}

/* True for graphs and for costs without memory, where the time comes first. */
static bool are_of_time(const popliner_costs *costs) {
    return costs != NULL && popliner_costs_has_cycles(costs) &&
           (costs->is_of_time || popliner_costs_peak(costs, 0, costs->num_units - 1, 1) == 0);
}

size_t popliner_objectives_complete(popliner_objective *list, size_t num_objectives,
                                    const popliner_costs *costs) {
    const popliner_objective first =
        are_of_time(costs) ? POPLINER_OBJECTIVE_CYCLES : POPLINER_OBJECTIVE_MEMORY;
    if (num_objectives == 0 || objectives[list[0]].kind != PL_OBJECTIVE_SPREAD)
        return num_objectives;
    /* a single IPU has no spread */
    size_t end = 1; /* of the objectives that move one place to the end, as far as `first` was */
    while (end < num_objectives && list[end] != first)
        end++;
    memmove(&list[1], list, end * sizeof *list);
    list[0] = first;
    return end < num_objectives ? num_objectives : num_objectives + 1;
}

const popliner_objective *pl_objectives_of(const popliner_solver_options *options, size_t *count) {
    static const popliner_objective usual[] = {POPLINER_OBJECTIVE_MEMORY,
                                               POPLINER_OBJECTIVE_TRAFFIC};
    const bool is_given = options->num_objectives > 0; /* *count may be that number */
    *count = is_given ? options->num_objectives : sizeof usual / sizeof *usual;
    return is_given ? options->objectives : usual;
}

const char *pl_objectives_need_cycles(const popliner_solver_options *options) {
    for (size_t i = 0; i < options->num_objectives; ++i)
        if (objectives[options->objectives[i]].measure == PL_MEASURE_CYCLES)
            return objectives[options->objectives[i]].name;
    return NULL;
}

bool pl_objectives_include(const popliner_solver_options *options, popliner_objective objective) {
    for (size_t i = 0; i < options->num_objectives; ++i)
        if (options->objectives[i] == objective)
            return true;
    return false;
}

const pl_objective *pl_objectives_beyond(const popliner_solver_options *options) {
    for (size_t i = 0; options->objectives != NULL && i < options->num_objectives; ++i) {
        const size_t objective = (size_t)options->objectives[i];
        if (objective < POPLINER_NUM_OBJECTIVES && !objectives[objective].is_everywhere)
            return &objectives[objective];
    }
    return NULL;
}

bool pl_spread_is_of_cycles(const popliner_solver_options *options) {
    bool has_cycles = false;
    for (size_t i = 0; i < options->num_objectives; ++i) {
        has_cycles = has_cycles || options->objectives[i] == POPLINER_OBJECTIVE_CYCLES;
        if (options->objectives[i] == POPLINER_OBJECTIVE_BALANCE)
            return has_cycles;
    }
    return false;
}

bool pl_objective_is_of_cycles(popliner_objective objective, bool spread_is_of_cycles) {
    return pl_objective_measure(objective, spread_is_of_cycles) == PL_MEASURE_CYCLES;
}

pl_measure pl_objective_measure(popliner_objective objective, bool spread_is_of_cycles) {
    return objectives[objective].kind != PL_OBJECTIVE_SPREAD ? objectives[objective].measure
           : spread_is_of_cycles                             ? PL_MEASURE_CYCLES
                                                             : PL_MEASURE_PEAK;
}

/* ---- values ---- */

uint64_t pl_objective_values_spread(const pl_objective_values *values, bool is_of_cycles) {
    return is_of_cycles ? values->cycles - values->min_cycles
                        : values->peak_bytes - values->min_peak_bytes;
}

uint64_t pl_objective_value(const pl_objective_values *values, popliner_objective objective,
                            bool spread_is_of_cycles) {
    const pl_objective *o = &objectives[objective];
    if (o->kind == PL_OBJECTIVE_SPREAD)
        return pl_objective_values_spread(values, spread_is_of_cycles);
    return *(const uint64_t *)(const void *)((const char *)values + o->value);
}

/* ---- limits ---- */

pl_filter pl_filter_limited(const pl_filter *filter, popliner_objective objective, uint64_t max) {
    const pl_objective *o = &objectives[objective];
    pl_filter result = *filter;
    if (o->kind == PL_OBJECTIVE_SPREAD) /* UINT64_MAX would mean no limit */
        result.max_spread = max < UINT64_MAX ? max : UINT64_MAX - 1;
    else
        *(uint64_t *)(void *)((char *)&result.limits + o->limit) = max;
    return result;
}

bool pl_filter_admits(const pl_filter *filter, const pl_objective_values *values) {
    const pl_limits *limits = &filter->limits;
    return values->peak_bytes <= limits->max_peak_bytes &&
           values->min_peak_bytes >= limits->min_peak_bytes &&
           values->cycles <= limits->max_cycles && values->min_cycles >= limits->min_cycles &&
           values->cut_bytes <= limits->max_cut_bytes && values->num_ipus <= limits->max_ipus &&
           values->shortfall_bytes <= limits->max_shortfall_bytes &&
           pl_objective_values_spread(values, filter->spread_is_of_cycles) <= filter->max_spread;
}

/* ---- windows ---- */

pl_limits pl_windows_limits(const pl_windows *windows, uint64_t width, const pl_filter *filter) {
    pl_limits limits = filter->limits;
    uint64_t max_value = pl_add_or_never(windows->at, pl_add_or_never(width, windows->step));
    uint64_t *min_of = filter->spread_is_of_cycles ? &limits.min_cycles : &limits.min_peak_bytes;
    uint64_t *max_of = filter->spread_is_of_cycles ? &limits.max_cycles : &limits.max_peak_bytes;
    *min_of = windows->at > *min_of ? windows->at : *min_of;
    *max_of = max_value < *max_of ? max_value : *max_of;
    return limits;
}

void pl_windows_skip(pl_windows *windows, uint64_t width) {
    uint64_t next = pl_add_or_never(windows->at, pl_add_or_never(windows->step, 1));
    windows->is_over = pl_add_or_never(next, width) == UINT64_MAX;
    windows->at = next;
    windows->step = pl_add_or_never(windows->step, pl_add_or_never(windows->step, 1));
}

void pl_windows_narrow(pl_windows *windows, uint64_t width, uint64_t max_value) {
    uint64_t without = max_value - windows->at - width - 1;
    windows->step /= 2;
    if (without < windows->step)
        windows->step = without;
}
