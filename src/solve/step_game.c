/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "solve/step_game.h"

#include <math.h>
#include <string.h>

#include "base/failure.h"
#include "base/numbers.h"

/* Turns of a game, and after how many of them stages are left out; targets of a proof. */
enum { NUM_TURNS = 300, TURNS_OF_ROUND = 20, TURNS_OF_CHAINS = 100, NUM_TARGETS = 8 };

/* A sum of a split is at least so much of what the rounded one says. */
#define CERTAIN (1 - 1e-9)

/* The most that paths take in integers, so that no sum overflows. */
#define LONGEST 1e18

/* ---- splits for a mean path ---- */

static double take(const pl_step_game *g, const double *passes, const pl_step_arc *arc) {
    const double *of = &passes[arc->from / (g->num_units + 1) * PL_NUM_PASS_KINDS];
    return of[0] * arc->cycles[0] + of[1] * arc->cycles[1] + of[2] * arc->cycles[2];
}

/* Finds the least that the stages after each place take for these passes; returns that of all. */
static double find_after(pl_step_game *g, const double *passes) {
    const size_t num_places = (g->graph->num_stages + 1) * (g->num_units + 1);
    double *least = g->least[1];
    for (size_t i = 0; i + 1 < num_places; ++i)
        least[i] = INFINITY;
    least[num_places - 1] = 0;
    for (size_t i = g->num_arcs; i-- > 0;) {
        const pl_step_arc *arc = &g->arcs[i];
        const double own = take(g, passes, arc) + least[arc->to];
        if (own < least[arc->from]) {
            least[arc->from] = own;
            g->next[arc->from] = (uint32_t)i;
        }
    }
    *g->work -= pl_smaller(*g->work, g->num_arcs / 2 + num_places / 8);
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
        const double end = before[arc.from] + take(g, passes, &arc);
        before[arc.to] = end < before[arc.to] ? end : before[arc.to];
        if ((end + g->least[1][arc.to]) * CERTAIN <= target)
            g->arcs[num_left++] = arc;
    }
    g->num_arcs = num_left;
    *g->work -= pl_smaller(*g->work, num_left / 2);
}

/* Leaves out stages for the mean path, and with_chains for its mixtures with that of each device. */
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
    *g->work -= pl_smaller(*g->work, g->graph->num_passes / 2);
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

/* Returns the value of the best mean path; INFINITY if no split is within the target. */
static double play(pl_step_game *g, double target) {
    double best = 0;
    memset(g->passes, 0, g->num_parts * sizeof *g->passes);
    for (size_t d = 0; d < g->order->num_devices; ++d)
        mix(g->passes, &g->chains[d * g->num_parts], g->num_parts, 1.0 / (double)(d + 1));
    for (size_t turn = 0; turn < NUM_TURNS; ++turn) {
        const double share = turn == 0 ? 1 : 2.0 / (double)(turn + TURNS_OF_ROUND);
        if (turn > 0)
            draw_path(g, share);
        if (target < INFINITY && turn % TURNS_OF_ROUND == 0)
            leave_out_all(g, target, turn % TURNS_OF_CHAINS == 0);
        const double value = find_after(g, g->passes);
        if (value * CERTAIN > target)
            return INFINITY;
        best = value > best ? value : best;
        draw_split(g, share);
        if (*g->work == 0 || pl_stop_is_wanted(g->stop))
            break;
    }
    return best;
}

/* Finds a path through all passes of each device: they take longer than all others together. */
static void find_chains(pl_step_game *g) {
    for (size_t d = 0; d < g->order->num_devices; ++d) {
        for (size_t part = 0; part < g->num_parts; ++part)
            g->of_parts[part] = pl_order_device(g->order, part / PL_NUM_PASS_KINDS) == d
                                    ? g->graph->num_passes + 1
                                    : 1;
        pl_step_run(g->graph, g->of_parts);
        pl_step_count_path(g->graph, g->counts);
        for (size_t part = 0; part < g->num_parts; ++part)
            g->chains[d * g->num_parts + part] = g->counts[part];
    }
}

/* Returns the least whole number that a value proves. */
static uint64_t whole_of(double value) {
    return value < LONGEST ? (uint64_t)ceil(value * CERTAIN) : 0;
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
    if (g->arrays->failed)
        return pl_fail_memory(error, "the bounds of a step");
    memcpy(g->open, g->arcs, g->num_arcs * sizeof *g->open);
    g->num_open = g->num_arcs;
    g->cycles = UINT64_MAX;
    find_chains(g);
    g->bound = find_after(g, g->passes) < INFINITY ? whole_of(play(g, INFINITY)) : 0;
    return POPLINER_OK;
}

void pl_step_game_prove(pl_step_game *g, uint64_t cycles) {
    uint64_t most = cycles; /* the least target that was not refuted, plus 1 */
    for (size_t i = 0; i < NUM_TARGETS && g->bound<most && * g->work> 0; ++i) {
        const uint64_t target = g->bound + (most - 1 - g->bound) / 2;
        memcpy(g->arcs, g->open, g->num_open * sizeof *g->open);
        g->num_arcs = g->num_open;
        const double value = play(g, (double)target);
        if (value == INFINITY) {
            g->bound = target + 1;
            continue;
        }
        g->bound = pl_larger(g->bound, whole_of(value));
        most = target;
        memcpy(g->open, g->arcs, g->num_arcs * sizeof *g->open);
        g->num_open = g->num_arcs;
    }
}
