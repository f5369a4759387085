/* Moves cuts at random, to worse splits too, but ever less so (Kirkpatrick, Gelatt and Vecchi,
 * Science 220, 1983). What IPUs hold is added up from tables, so a million moves take a tenth of a
 * second.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "solve/shared/shared.h"

#include <math.h>
#include <string.h>

#include "base/failure.h"
#include "base/growth.h"
#include "base/numbers.h"
#include "costs/costs.h"
#include "costs/triangle.h"

enum {
    MOST_NUMBERS = 1 << 23, /* of a table: 64 MiB */
    STEPS_PER_LOOK = 1 << 12,
    ITEMS_PER_TABLE = 8,
    SETS = 1 << ITEMS_PER_TABLE,
    FARTHEST_MOVE = 3,
    SINGLE_CUTS = 4, /* one of so many moves is of several cuts */
};

/* Measured on 100 random units, 3 stages on each of 8 IPUs and 4 on each of 4. */
static const double hottest = 0.1;
static const double coldest = 1e-3;

typedef struct annealing {
    const pl_annealing_wish *wish;
    const pl_problem *problem;
    size_t num_stages;
    size_t triangle_size;
    size_t num_rows; /* of `own`: the stages, or 1 if all are alike */
    uint64_t *own;   /* [rows][triangle]: what adds up */
    uint64_t *uses;  /* [triangle]: a bit for each shared item */
    /* [tables][SETS]: the bytes of each set of eight items */
    uint64_t *bytes_of_sets;
    size_t num_tables;
    size_t *next_on_ipu; /* [stages]: the next stage on the same IPU; 0: none */
    double *loads;       /* [stages], by first stage of the IPU */
    double *moved_loads; /* [stages] */
    size_t *touched;     /* [stages]: first stages of the IPUs that a move changes */
    size_t num_touched;
    double mean;
    size_t *cuts;      /* [stages + 1] */
    size_t *best_cuts; /* [stages + 1]: those of the smallest largest load */
    double best_load;
    pl_arrays arrays;
} annealing;

/* ---- what IPUs hold ---- */

static size_t place_of(const annealing *a, size_t stage) {
    return pl_triangle_place(a->problem->num_units, a->cuts[stage], a->cuts[stage + 1] - 1);
}

static double load_of(const annealing *a, size_t first_stage) {
    uint64_t sum = 0;
    uint64_t items = 0;
    size_t stage = first_stage;
    do {
        const size_t place = place_of(a, stage);
        sum += a->own[(a->num_rows > 1 ? stage * a->triangle_size : 0) + place];
        items |= a->uses[place];
        stage = a->next_on_ipu[stage];
    } while (stage != 0);
    for (size_t i = 0; i < a->num_tables; ++i)
        sum += a->bytes_of_sets[i * SETS + (items >> (i * ITEMS_PER_TABLE)) % SETS];
    return (double)sum;
}

/* Moves minimise the sum of these fourth powers. */
static double power_of(const annealing *a, double load) {
    const double x = load / a->mean;
    return x * x * (x * x);
}

static void fill_own(annealing *a) {
    const pl_problem *p = a->problem;
    uint64_t *own = a->own;
    for (size_t stage = 0; stage < a->num_rows; ++stage)
        for (size_t first = 0; first < p->num_units; ++first)
            for (size_t last = first; last < p->num_units; ++last) {
                const popliner_interval it = {first, last, a->num_stages - stage};
                *own++ = a->wish->is_of_cycles ? pl_problem_cycles(p, stage, first, last)
                                               : pl_costs_peak_parts(p->costs, &it).own_bytes;
            }
}

static void fill_items(annealing *a) {
    const pl_shared_items *items = &a->problem->costs->shared_items;
    const size_t n = a->problem->num_units;
    uint64_t *uses = a->uses;
    for (size_t first = 0; first < n; ++first)
        for (size_t last = first; last < n; ++last, ++uses)
            *uses = (last > first ? uses[-1] : 0) | items->uses[last];
    for (size_t i = 0; i < items->num_items; ++i)
        for (size_t set = 0; set < SETS; ++set)
            if (set >> i % ITEMS_PER_TABLE & 1)
                a->bytes_of_sets[i / ITEMS_PER_TABLE * SETS + set] += items->bytes[i];
}

static popliner_status prepare(annealing *a, popliner_error *error) {
    const pl_problem *p = a->problem;
    const bool has_items = !a->wish->is_of_cycles && p->costs->shared_items.num_items > 0;
    a->num_tables =
        has_items ? (p->costs->shared_items.num_items + ITEMS_PER_TABLE - 1) / ITEMS_PER_TABLE : 0;
    a->own = pl_arrays_new(&a->arrays, a->num_rows * a->triangle_size, sizeof *a->own);
    a->uses = pl_arrays_new(&a->arrays, a->triangle_size, sizeof *a->uses);
    a->bytes_of_sets =
        pl_arrays_new(&a->arrays, a->num_tables * SETS + 1, sizeof *a->bytes_of_sets);
    a->next_on_ipu = pl_arrays_new(&a->arrays, a->num_stages, sizeof *a->next_on_ipu);
    a->loads = pl_arrays_new(&a->arrays, a->num_stages, sizeof *a->loads);
    a->moved_loads = pl_arrays_new(&a->arrays, a->num_stages, sizeof *a->moved_loads);
    a->touched = pl_arrays_new(&a->arrays, a->num_stages, sizeof *a->touched);
    a->cuts = pl_arrays_new(&a->arrays, a->num_stages + 1, sizeof *a->cuts);
    if (a->arrays.failed)
        return pl_fail_memory(error, "the search for better splits");
    fill_own(a);
    if (has_items)
        fill_items(a);
    for (size_t stage = 0; stage < a->num_stages; ++stage)
        for (size_t later = a->num_stages - 1; later > stage; --later)
            if (p->first_on_ipu[later] == p->first_on_ipu[stage])
                a->next_on_ipu[stage] = later;
    return POPLINER_OK;
}

/* ---- moves ---- */

static void shift(annealing *a, size_t first, size_t last, ptrdiff_t by) {
    for (size_t stage = first; stage <= last; ++stage)
        a->cuts[stage] = (size_t)((ptrdiff_t)a->cuts[stage] + by);
}

/* True if the stages that a move changed are allowed. */
static bool are_ok(const annealing *a, size_t first, size_t last) {
    bool is_ok = true;
    for (size_t stage = first - 1; is_ok && stage <= last; ++stage)
        is_ok = a->wish->ok[stage * a->triangle_size + place_of(a, stage)] != 0;
    return is_ok;
}

/* Adds up the loads of the IPUs that a move changed. Returns by how much the sum of powers grows.
 */
static double measure(annealing *a, size_t first, size_t last) {
    const size_t *first_on_ipu = a->problem->first_on_ipu;
    double more = 0.0;
    a->num_touched = 0;
    for (size_t stage = first - 1; stage <= last; ++stage) {
        const size_t own = first_on_ipu[stage];
        size_t i = 0;
        while (i < a->num_touched && a->touched[i] != own)
            i++;
        if (i < a->num_touched)
            continue;
        a->touched[a->num_touched++] = own;
        a->moved_loads[own] = load_of(a, own);
        more += power_of(a, a->moved_loads[own]) - power_of(a, a->loads[own]);
    }
    return more;
}

static void remember(annealing *a) {
    double largest = 0.0;
    for (size_t stage = 0; stage < a->num_stages; ++stage)
        if (a->problem->first_on_ipu[stage] == stage && a->loads[stage] > largest)
            largest = a->loads[stage];
    if (largest >= a->best_load)
        return;
    a->best_load = largest;
    memcpy(a->best_cuts, a->cuts, (a->num_stages + 1) * sizeof *a->cuts);
}

/* One move; keeps it if it makes the sum of powers smaller, or by chance. */
static void step(annealing *a, double heat) {
    const uint64_t parts = 1 << 24;
    uint64_t *random = a->wish->random;
    const size_t first = 1 + (size_t)pl_random_below(random, a->num_stages - 1);
    size_t last = first;
    if (pl_random_below(random, SINGLE_CUTS) == 0)
        last += (size_t)pl_random_below(random, a->num_stages - first);
    ptrdiff_t by = 1 + (ptrdiff_t)pl_random_below(random, FARTHEST_MOVE);
    by = pl_random_below(random, 2) == 0 ? by : -by;
    if ((by < 0 && (ptrdiff_t)(a->cuts[first] - a->cuts[first - 1]) <= -by) ||
        (by > 0 && (ptrdiff_t)(a->cuts[last + 1] - a->cuts[last]) <= by))
        return;
    shift(a, first, last, by);
    if (are_ok(a, first, last)) {
        const double more = measure(a, first, last);
        if (more <= 0.0 ||
            (double)pl_random_below(random, parts) < exp(-more / heat) * (double)parts) {
            for (size_t i = 0; i < a->num_touched; ++i)
                a->loads[a->touched[i]] = a->moved_loads[a->touched[i]];
            remember(a);
            return;
        }
    }
    shift(a, first, last, -by);
}

static void begin(annealing *a) {
    size_t num_ipus = 0;
    memcpy(a->cuts, a->best_cuts, (a->num_stages + 1) * sizeof *a->cuts);
    a->mean = 0.0;
    for (size_t stage = 0; stage < a->num_stages; ++stage)
        if (a->problem->first_on_ipu[stage] == stage) {
            a->loads[stage] = load_of(a, stage);
            a->mean += a->loads[stage];
            num_ipus++;
        }
    a->mean = a->mean > 0.0 ? a->mean / (double)num_ipus : 1.0;
    remember(a);
}

/* Stages are alike unless what they hold depends on their place, or on their IPU. */
static size_t num_rows(const pl_problem *problem, bool is_of_cycles) {
    return problem->depends_on_end || is_of_cycles ? problem->options->num_mapped_stages : 1;
}

bool pl_anneal_can(const pl_problem *problem, bool is_of_cycles) {
    return problem->most_stages_of_ipu > 2 && pl_costs_shared_peak_is_quick(problem->costs) &&
           pl_triangle_size(problem->num_units) <= MOST_NUMBERS / num_rows(problem, is_of_cycles);
}

popliner_status pl_anneal(const pl_problem *problem, const pl_annealing_wish *wish, size_t *cuts,
                          popliner_error *error) {
    annealing a = {.wish = wish,
                   .problem = problem,
                   .num_stages = problem->options->num_mapped_stages,
                   .triangle_size = pl_triangle_size(problem->num_units),
                   .num_rows = num_rows(problem, wish->is_of_cycles),
                   .best_cuts = cuts,
                   .best_load = INFINITY};
    popliner_status status = prepare(&a, error);
    double heat = hottest;
    if (status != POPLINER_OK)
        goto done;
    begin(&a);
    for (size_t i = 0; i < wish->num_steps; ++i) {
        if (i % STEPS_PER_LOOK == 0) {
            heat = hottest * pow(coldest / hottest, (double)i / (double)wish->num_steps);
            if (pl_clock_seconds() >= wish->deadline_seconds || pl_stop_is_wanted(wish->stop))
                break;
        }
        step(&a, heat);
    }
done:
    pl_arrays_free(&a.arrays);
    return status;
}
