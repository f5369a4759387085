/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "solve/step_game.h"

#include <math.h>

#include "base/failure.h"
#include "base/growth.h"
#include "base/numbers.h"

/* Turns of a game, after how many a choice counts half as much, and after how many stages are left
 * out. With 3,000 turns instead of 300 bounds are up to 3 % closer. */
enum { NUM_TURNS = 3000, TURNS_OF_HALF = 20, TURNS_OF_ROUND = 100 };

/* The most that paths take in integers, so that no sum overflows. */
#define LONGEST 1e18

/* A sum of a split is at least so much of what the rounded one says: each turn mixes passes with an
 * error of 2^-52 at most, and sums have one of 2^-53 for each part. */
#define CERTAIN (1 - 1e-11)

typedef struct play {
    pl_step_game *g;
    size_t num_places; /* `from` and `to` of arcs */
    size_t num_parts;
    double *passes; /* [num_parts] of the mean path */
    double *mean;   /* [num_parts] cycles of the mean split */
    double *before; /* [num_places] the least that the stages before a place take, and after it */
    double *after;
    uint32_t *next;     /* [num_places] the first one of those after it */
    uint64_t *of_parts; /* [num_parts] scratch, as those below */
    uint32_t *counts;
    double *mixed;
} play;

/* Returns the cycles of a stage's passes, each so many times. */
static double take(const play *p, const double *passes, const pl_step_arc *arc) {
    const double *own = &passes[arc->from / (p->g->num_units + 1) * PL_NUM_PASS_KINDS];
    return own[0] * arc->cycles[0] + own[1] * arc->cycles[1] + own[2] * arc->cycles[2];
}

/* Finds the least that the stages after each place take for these passes; returns that of all. */
static double find_after(play *p, const double *passes) {
    pl_step_game *g = p->g;
    for (size_t i = 0; i + 1 < p->num_places; ++i)
        p->after[i] = INFINITY;
    p->after[p->num_places - 1] = 0;
    for (size_t i = g->num_arcs; i-- > 0;) {
        const pl_step_arc *arc = &g->arcs[i];
        const double own = take(p, passes, arc) + p->after[arc->to];
        if (own < p->after[arc->from]) {
            p->after[arc->from] = own;
            p->next[arc->from] = (uint32_t)i;
        }
    }
    *g->work -= pl_smaller(*g->work, g->num_arcs / 2 + p->num_places / 8);
    return p->after[0];
}

/* Leaves out the stages that no split has which counts, for these passes. */
static void leave_out(play *p, const double *passes) {
    pl_step_game *g = p->g;
    size_t num_left = 0;
    find_after(p, passes);
    for (size_t i = 1; i < p->num_places; ++i)
        p->before[i] = INFINITY;
    p->before[0] = 0;
    for (size_t i = 0; i < g->num_arcs; ++i) {
        const pl_step_arc arc = g->arcs[i];
        const double end = p->before[arc.from] + take(p, passes, &arc);
        p->before[arc.to] = fmin(p->before[arc.to], end);
        if ((end + p->after[arc.to]) * CERTAIN <= (double)g->most)
            g->arcs[num_left++] = arc;
    }
    g->num_arcs = num_left;
}

/* Finds the longest path of the mean split; of a device, unless there are as many, the longest one
 * through all its passes. */
static void find_path(play *p, size_t device) {
    const pl_step_graph *graph = p->g->graph;
    double most = 1;
    for (size_t i = 0; i < p->num_parts; ++i)
        most = fmax(most, p->mean[i]);
    const double scale = LONGEST / most / (double)graph->num_passes;
    for (size_t i = 0; i < p->num_parts; ++i) {
        const bool is_own = pl_order_device(p->g->order, i / PL_NUM_PASS_KINDS) == device;
        const double all = device < p->g->order->num_devices ? (double)graph->num_passes : 1;
        p->of_parts[i] = (uint64_t)(p->mean[i] * (scale / all) + (is_own ? most * scale : 0));
    }
    pl_step_run(graph, p->of_parts);
    pl_step_count_path(graph, p->counts);
    *p->g->work -= pl_smaller(*p->g->work, graph->num_passes / 2);
}

/* Leaves out stages for the mean path, and for its mixtures with that of each device. */
static void leave_out_all(play *p) {
    static const double shares[] = {0.15, 0.4, 1};
    leave_out(p, p->passes);
    for (size_t d = 0; d < p->g->order->num_devices; ++d) {
        find_path(p, d);
        for (size_t i = 0; i < sizeof shares / sizeof *shares; ++i) {
            for (size_t part = 0; part < p->num_parts; ++part)
                p->mixed[part] = p->passes[part] + shares[i] * (p->counts[part] - p->passes[part]);
            leave_out(p, p->mixed);
        }
    }
}

/* Moves the mean split by a share towards the shortest one of the mean path, which find_after has
 * found. */
static void draw_split(play *p, double share) {
    size_t at = 0;
    for (size_t k = 0; k < p->g->graph->num_stages; ++k) {
        const pl_step_arc *arc = &p->g->arcs[p->next[at]];
        double *mean = &p->mean[k * PL_NUM_PASS_KINDS];
        for (size_t kind = 0; kind < PL_NUM_PASS_KINDS; ++kind)
            mean[kind] += share * (arc->cycles[kind] - mean[kind]);
        at = arc->to;
    }
}

/* Moves the mean path by a share towards the longest one of the mean split. */
static void draw_path(play *p, double share) {
    find_path(p, p->g->order->num_devices);
    for (size_t i = 0; i < p->num_parts; ++i)
        p->passes[i] += share * (p->counts[i] - p->passes[i]);
}

/* Returns the value of the best mean path; INFINITY if no step counts. */
static double run(play *p) {
    const pl_step_game *g = p->g;
    double best = 0;
    for (size_t i = 0; i < p->num_parts; ++i)
        p->passes[i] = 1; /* which are no path: they give a first split, and no bound */
    if (find_after(p, p->passes) == INFINITY)
        return INFINITY;
    draw_split(p, 1);
    draw_path(p, 1);
    for (size_t turn = 1; turn <= NUM_TURNS && *g->work > 0; ++turn) {
        const double share = 2.0 / (double)(turn + TURNS_OF_HALF);
        if (turn % TURNS_OF_ROUND == 1)
            leave_out_all(p);
        const double least = find_after(p, p->passes);
        if (least * CERTAIN > (double)g->most)
            return INFINITY;
        best = fmax(best, least);
        if (pl_stop_is_wanted(g->stop))
            break;
        draw_split(p, share);
        draw_path(p, share);
    }
    return best;
}

popliner_status pl_step_game_play(pl_step_game *game, uint64_t *bound, popliner_error *error) {
    pl_arrays arrays = {0};
    play p = {.g = game,
              .num_places = (game->graph->num_stages + 1) * (game->num_units + 1),
              .num_parts = game->graph->num_stages * PL_NUM_PASS_KINDS};
    p.passes = pl_arrays_new(&arrays, p.num_parts, sizeof *p.passes);
    p.mean = pl_arrays_new(&arrays, p.num_parts, sizeof *p.mean);
    p.before = pl_arrays_new(&arrays, p.num_places, sizeof *p.before);
    p.after = pl_arrays_new(&arrays, p.num_places, sizeof *p.after);
    p.next = pl_arrays_new(&arrays, p.num_places, sizeof *p.next);
    p.of_parts = pl_arrays_new(&arrays, p.num_parts, sizeof *p.of_parts);
    p.counts = pl_arrays_new(&arrays, p.num_parts, sizeof *p.counts);
    p.mixed = pl_arrays_new(&arrays, p.num_parts, sizeof *p.mixed);
    *bound = 0;
    const double value = arrays.failed ? 0 : run(&p);
    const uint64_t known = game->most + 1; /* 0: none */
    if (value < LONGEST && known > 0 && value >= (double)known * CERTAIN * CERTAIN)
        *bound = known; /* only times in fractions have that many digits */
    else if (value < LONGEST)
        *bound = (uint64_t)ceil(value * CERTAIN);
    else if (value == INFINITY)
        *bound = UINT64_MAX;
    const bool failed = arrays.failed;
    pl_arrays_free(&arrays);
    return failed ? pl_fail_memory(error, "the bounds of a step") : POPLINER_OK;
}
