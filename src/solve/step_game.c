/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "solve/step_game.h"

#include <math.h>
#include <string.h>

#include "base/failure.h"
#include "base/numbers.h"

/* Turns of one play, all of them whose choices weigh less the more there are, and after how many
 * stages are left out; targets of a proof, and which part of the work that is left a sweep, and a
 * play, may do. With 3,000 turns instead of 300 bounds are up to 3 % closer. */
enum {
    NUM_TURNS = 3000,
    MOST_WEIGHED_TURNS = 10000,
    TURNS_OF_ROUND = 20,
    TURNS_OF_CHAINS = 100,
    NUM_TARGETS = 24,
    PARTS_OF_WORK = 2,
    PARTS_OF_WORK_OF_PLAY = 32
};

/* The most that paths take in integers, so that no sum overflows. */
#define LONGEST 1e18

/* ---- splits for a mean path ---- */

/* Finds the least that the stages after each place take for these passes; returns that of all. */
static double find_after(pl_step_game *g, const double *passes) {
    const size_t num_places = (g->graph->num_stages + 1) * (g->num_units + 1);
    double *least = g->least[1];
    for (size_t i = 0; i + 1 < num_places; ++i)
        least[i] = INFINITY;
    least[num_places - 1] = 0;
    for (size_t i = g->num_arcs; i-- > 0;) {
        const pl_step_arc *arc = &g->arcs[i];
        const double own = pl_step_game_take(g, passes, arc) + least[arc->to];
        if (own < least[arc->from]) {
            least[arc->from] = own;
            g->next[arc->from] = (uint32_t)i;
        }
    }
    pl_step_game_work(g, g->num_arcs / 2 + num_places / 8);
    return least[0];
}

/* Leaves out the stages that no split within the target has for these passes. */
static void leave_out(pl_step_game *g, const double *passes, double target) {
    const size_t num_places = (g->graph->num_stages + 1) * (g->num_units + 1);
    double *before = g->least[0];
    size_t num_left = 0;
    find_after(g, passes);
    for (size_t i = 1; i < num_places; ++i)
        before[i] = INFINITY;
    before[0] = 0;
    for (size_t i = 0; i < g->num_arcs; ++i) {
        const pl_step_arc arc = g->arcs[i];
        const double end = before[arc.from] + pl_step_game_take(g, passes, &arc);
        before[arc.to] = end < before[arc.to] ? end : before[arc.to];
        if ((end + g->least[1][arc.to]) * PL_STEP_CERTAIN <= target)
            g->arcs[num_left++] = arc;
    }
    g->num_arcs = num_left;
    pl_step_game_work(g, num_left / 2);
}

/* Leaves out stages for the mean path, and with_chains for its mixtures with that of each
 * device. */
static void leave_out_all(pl_step_game *g, double target, bool with_chains) {
    static const double shares[] = {0.15, 0.4, 1};
    leave_out(g, g->passes, target);
    for (size_t d = 0; with_chains && d < g->order->num_devices; ++d)
        for (size_t i = 0; i < sizeof shares / sizeof *shares; ++i) {
            const double *chain = &g->chains[d * g->num_parts];
            for (size_t part = 0; part < g->num_parts; ++part)
                g->mixed[part] = g->passes[part] + shares[i] * (chain[part] - g->passes[part]);
            leave_out(g, g->mixed, target);
        }
}

bool pl_step_game_leave_out(pl_step_game *g, uint64_t target) {
    leave_out_all(g, (double)target, true);
    return find_after(g, g->passes) < INFINITY;
}

/* ---- turns ---- */

/* Moves a mean towards values by a share. */
static void mix(double *mean, const double *values, size_t count, double share) {
    for (size_t i = 0; i < count; ++i)
        mean[i] += share * (values[i] - mean[i]);
}

/* Moves the mean path towards the longest one of the mean split. */
static void draw_path(pl_step_game *g, double share) {
    double sum = 1;
    for (size_t i = 0; i < g->num_parts; ++i)
        sum += g->mean[i] * (double)g->order->num_micro_batches;
    for (size_t i = 0; i < g->num_parts; ++i)
        g->of_parts[i] = (uint64_t)(g->mean[i] * (LONGEST / sum));
    pl_step_run(g->graph, g->of_parts);
    pl_step_count_path(g->graph, g->counts);
    for (size_t i = 0; i < g->num_parts; ++i)
        g->mixed[i] = g->counts[i];
    mix(g->passes, g->mixed, g->num_parts, share);
    pl_step_game_work(g, g->graph->num_passes / 2);
}

/* Moves the mean split towards the shortest one of the mean path, for which find_after has been
 * called, and keeps that if it is the shortest so far. */
static void draw_split(pl_step_game *g, double share) {
    const size_t row = g->num_units + 1;
    size_t at = 0;
    for (size_t k = 0; k < g->graph->num_stages; ++k, at = g->arcs[g->next[at]].to)
        for (size_t kind = 0; kind < PL_NUM_PASS_KINDS; ++kind) {
            const double own = g->arcs[g->next[at]].cycles[kind];
            g->mixed[k * PL_NUM_PASS_KINDS + kind] = own;
            g->of_parts[k * PL_NUM_PASS_KINDS + kind] = (uint64_t)own;
        }
    mix(g->mean, g->mixed, g->num_parts, share);
    const uint64_t cycles = pl_step_run(g->graph, g->of_parts);
    if (cycles >= g->cycles)
        return;
    g->cycles = cycles;
    at = 0;
    for (size_t k = 0; k < g->graph->num_stages; ++k, at = g->arcs[g->next[at]].to)
        g->first_units[k] = at % row;
}

/* Returns the value of the best mean path; INFINITY if no split is within the target. Goes on from
 * the means of the play before, which are good also for fewer stages. */
static double play(pl_step_game *g, double target) {
    const uint64_t least_work = *g->work - *g->work / PARTS_OF_WORK_OF_PLAY;
    double best = 0;
    for (size_t d = 0; g->num_turns == 0 && d < g->order->num_devices; ++d)
        mix(g->passes, &g->chains[d * g->num_parts], g->num_parts, 1.0 / (double)(d + 1));
    for (size_t turn = 0; turn < NUM_TURNS; ++turn) {
        const double share = g->num_turns == 0 ? 1 : 2.0 / (double)(g->num_turns + TURNS_OF_ROUND);
        if (g->num_turns > 0)
            draw_path(g, share);
        g->num_turns += g->num_turns < MOST_WEIGHED_TURNS;
        if (target < INFINITY && turn % TURNS_OF_ROUND == 0)
            leave_out_all(g, target, turn % TURNS_OF_CHAINS == 0);
        const double value = find_after(g, g->passes);
        if (value * PL_STEP_CERTAIN > target)
            return INFINITY;
        best = value > best ? value : best;
        draw_split(g, share);
        if (*g->work <= least_work || pl_stop_is_wanted(g->stop))
            break;
    }
    return best;
}

/* Finds a path through all passes of each device, the longest of these for the mean split. */
static void find_chains(pl_step_game *g) {
    const double all = (double)(UINT64_C(1) << 32); /* of all other passes together */
    double sum = 1;
    for (size_t part = 0; part < g->num_parts; ++part)
        sum += g->mean[part] * (double)g->order->num_micro_batches;
    for (size_t d = 0; d < g->order->num_devices; ++d) {
        for (size_t part = 0; part < g->num_parts; ++part) {
            const bool is_own = pl_order_device(g->order, part / PL_NUM_PASS_KINDS) == d;
            g->of_parts[part] = (uint64_t)(g->mean[part] * (all / sum) + (is_own ? all : 0));
        }
        pl_step_run(g->graph, g->of_parts);
        pl_step_count_path(g->graph, g->counts);
        for (size_t part = 0; part < g->num_parts; ++part)
            g->chains[d * g->num_parts + part] = g->counts[part];
    }
}

/* Returns the least whole number that a value proves. */
static uint64_t whole_of(double value) {
    return value < LONGEST ? (uint64_t)ceil(value * PL_STEP_CERTAIN) : 0;
}

popliner_status pl_step_game_begin(pl_step_game *g, popliner_error *error) {
    const size_t num_places = (g->graph->num_stages + 1) * (g->num_units + 1);
    g->num_parts = g->graph->num_stages * PL_NUM_PASS_KINDS;
    g->open = pl_arrays_new(g->arrays, g->num_arcs, sizeof *g->open);
    g->first_units = pl_arrays_new(g->arrays, g->graph->num_stages, sizeof *g->first_units);
    g->passes = pl_arrays_new(g->arrays, g->num_parts, sizeof *g->passes);
    g->mean = pl_arrays_new(g->arrays, g->num_parts, sizeof *g->mean);
    for (int i = 0; i < 2; ++i)
        g->least[i] = pl_arrays_new(g->arrays, num_places, sizeof *g->least[i]);
    g->next = pl_arrays_new(g->arrays, num_places, sizeof *g->next);
    g->chains = pl_arrays_new(g->arrays, g->order->num_devices * g->num_parts, sizeof *g->chains);
    g->mixed = pl_arrays_new(g->arrays, g->num_parts, sizeof *g->mixed);
    g->of_parts = pl_arrays_new(g->arrays, g->num_parts, sizeof *g->of_parts);
    g->counts = pl_arrays_new(g->arrays, g->num_parts, sizeof *g->counts);
    g->refuted = pl_arrays_new(g->arrays, g->num_units, sizeof *g->refuted);
    if (g->arrays->failed)
        return pl_fail_memory(error, "the bounds of a step");
    memcpy(g->open, g->arcs, g->num_arcs * sizeof *g->open);
    g->num_open = g->num_arcs;
    g->cycles = UINT64_MAX;
    g->bound = UINT64_MAX;
    for (size_t part = 0; part < g->num_parts; ++part)
        g->passes[part] = 1;
    if (find_after(g, g->passes) == INFINITY)
        return POPLINER_OK;
    draw_split(g, 1);
    find_chains(g);
    g->bound = whole_of(play(g, INFINITY));
    g->hard_unit = g->order->num_chunks > 1 ? g->first_units[g->order->num_devices] : 0;
    return POPLINER_OK;
}

/* Sweeps with a part of the work that is left. */
static bool sweep(pl_step_game *g, uint64_t target) {
    uint64_t *work = g->work;
    const uint64_t most = *work / PARTS_OF_WORK;
    uint64_t left = most;
    g->work = &left;
    const bool is_refuted = pl_step_sweep_refutes(g, target);
    g->work = work;
    *work -= most - left;
    return is_refuted;
}

void pl_step_game_prove(pl_step_game *g, uint64_t step) {
    uint64_t most = step; /* the least target that was not refuted, plus 1 */
    find_chains(g);
    for (size_t i = 0; i < NUM_TARGETS && g->bound<most && * g->work> 0; ++i) {
        const uint64_t target = g->bound + (most - 1 - g->bound) / 2;
        memcpy(g->arcs, g->open, g->num_open * sizeof *g->open);
        g->num_arcs = g->num_open;
        const double value = play(g, (double)target);
        if (value == INFINITY || sweep(g, target)) {
            g->bound = target + 1;
            continue;
        }
        g->bound = pl_larger(g->bound, whole_of(value));
        most = target;
        memcpy(g->open, g->arcs, g->num_arcs * sizeof *g->open);
        g->num_open = g->num_arcs;
    }
}
