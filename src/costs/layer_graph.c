/* Makes costs from a graph of layers: chooses the chain of its units, and fills its table.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "costs/costs_file_data.h"

#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "base/growth.h"
#include "base/id_map.h"
#include "base/numbers.h"
#include "costs/costs.h"
#include "costs/triangle.h"

enum {
    /* A chain of more units is by number: comparing chains takes units^2 steps for each number
     * of stages. */
    MAX_UNITS_TO_COMPARE = 4096,
    /* The number of stages if neither the file nor the caller gives one. */
    USUAL_STAGES = 16,
};

/* The costs of a chain. */
typedef struct amounts {
    pl_interval_sums sums; /* 0: cycles, 1: bytes */
    uint64_t *cut_changes; /* [num_units + 1] */
    size_t *ends;          /* scratch */
} amounts;

/* Adds the traffic of a net to the cuts that it crosses and to the intervals that it leaves, which
 * have some of its units, but not all. */
static void add_traffic(amounts *a, const pl_unit_graph *units, size_t net, const uint32_t *place,
                        bool takes_cycles) {
    uint64_t traffic = units->net_traffic[net];
    size_t num_ends = 0;
    for (size_t i = units->nets_from[net]; i < units->nets_from[net + 1]; ++i)
        a->ends[num_ends++] = place[units->net_units[i]];
    qsort(a->ends, num_ends, sizeof *a->ends, pl_compare_counts);
    /* every edge begins at the node, so each cut between the outermost ends has one of them */
    a->cut_changes[a->ends[0] + 1] += traffic;
    a->cut_changes[a->ends[num_ends - 1] + 1] -= traffic;
    if (!takes_cycles)
        return;
    const size_t last = a->ends[num_ends - 1];
    pl_interval_sums_add(&a->sums, a->ends, num_ends, (uint64_t[]){traffic, 0});
    pl_interval_sums_add_arrival(&a->sums, &(pl_arrival){last, SIZE_MAX, 0 - traffic});
    pl_interval_sums_add_arrival(&a->sums, &(pl_arrival){last, a->ends[0], traffic});
}

static bool gather_amounts(amounts *a, const pl_unit_graph *units, const uint32_t *place,
                           bool traffic_takes_cycles) {
    *a = (amounts){
        .cut_changes = pl_new_array(units->num_units + 1, sizeof *a->cut_changes),
        .ends = pl_new_array(units->num_units, sizeof *a->ends),
    };
    pl_interval_sums_init(&a->sums, units->num_units, 2);
    if (a->cut_changes == NULL || a->ends == NULL)
        return false;
    for (size_t net = 0; net < units->num_nets; ++net)
        add_traffic(a, units, net, place, traffic_takes_cycles);
    for (size_t i = 0; i < units->num_units; ++i) {
        const size_t unit = place[i];
        pl_interval_sums_add(&a->sums, &unit, 1,
                             (uint64_t[]){units->cycles[i], units->memory_bytes[i]});
    }
    return !a->sums.arrays.failed;
}

static void free_amounts(amounts *a) {
    pl_arrays_free(&a->sums.arrays);
    free(a->cut_changes);
    free(a->ends);
}

/* ---- The chain ------------------------------------------------------------------------------ */

/* Returns the cycles of the slowest stage in the best split of a chain; UINT64_MAX if there is no
 * split. best[(num_units + 1) * (max_stages + 1)]: of the first units, by their stages. */
static uint64_t slowest_stage(amounts *a, size_t num_units, size_t max_stages, uint64_t limit_bytes,
                              uint64_t *best, pl_bounds *bounds) {
    const size_t width = max_stages + 1;
    for (size_t i = 0; i < (num_units + 1) * width; ++i)
        best[i] = UINT64_MAX;
    best[0] = 0;
    for (size_t first = 0; first < num_units && !pl_bounds_ask(bounds); ++first) {
        const uint64_t *before = &best[first * width];
        pl_interval_sums_begin(&a->sums);
        for (size_t last = first; last < num_units; ++last) {
            const uint64_t *totals = pl_interval_sums_extend(&a->sums);
            uint64_t *behind = &best[(last + 1) * width];
            if (totals[1] > limit_bytes)
                break;
            for (size_t stages = 0; stages < max_stages; ++stages) {
                const uint64_t slowest = before[stages] > totals[0] ? before[stages] : totals[0];
                if (slowest < behind[stages + 1])
                    behind[stages + 1] = slowest;
            }
        }
    }
    uint64_t least = UINT64_MAX;
    for (size_t stages = 1; stages < width; ++stages)
        if (best[num_units * width + stages] < least)
            least = best[num_units * width + stages];
    return least;
}

/* Sets place[num_units] to the chain whose best split has the faster slowest stage: by number or
 * breadth first, of equal ones the first. False when memory is short. */
static bool choose_chain(const pl_unit_graph *units, size_t max_stages, uint64_t limit_bytes,
                         pl_bounds *bounds, uint32_t *place, const char **order) {
    const size_t num_units = units->num_units;
    const size_t num_stages = max_stages < num_units ? max_stages : num_units;
    uint32_t *other = pl_new_array(num_units, sizeof *other);
    uint64_t *best = pl_new_array((num_units + 1) * (num_stages + 1), sizeof *best);
    bool done = other != NULL && best != NULL && pl_unit_graph_places(units, other);
    uint64_t slowest[2] = {0};
    for (size_t i = 0; done && i < 2; ++i) {
        amounts a = {0};
        done = gather_amounts(&a, units, i == 0 ? place : other, true);
        if (done)
            slowest[i] = slowest_stage(&a, num_units, num_stages, limit_bytes, best, bounds);
        free_amounts(&a);
    }
    if (done && slowest[1] < slowest[0]) {
        memcpy(place, other, num_units * sizeof *place);
        *order = "breadth first";
    }
    free(best);
    free(other);
    return done;
}

/* True if the units have no other order: each has to precede the next. */
static bool is_only_order(const pl_unit_graph *units, const uint32_t *place) {
    size_t num_followed = 0;
    for (size_t unit = 0; unit < units->num_units; ++unit) {
        bool is_followed = false;
        for (uint32_t i = units->followers_from[unit]; i < units->followers_from[unit + 1]; ++i)
            is_followed = is_followed || place[units->followers[i]] == place[unit] + 1;
        num_followed += is_followed;
    }
    return num_followed + 1 == units->num_units;
}

/* ---- The table ------------------------------------------------------------------------------ */

/* Fills the costs; not all of them if reading should stop. */
static void fill_table(popliner_costs *costs, amounts *a, pl_bounds *bounds) {
    size_t num_units = popliner_costs_num_units(costs);
    uint64_t cut = a->cut_changes[0];
    for (size_t unit = 1; unit < num_units; ++unit) {
        cut += a->cut_changes[unit];
        pl_costs_set_cut(costs, unit, cut);
    }
    for (size_t first = 0; first < num_units && !pl_bounds_ask(bounds); ++first) {
        pl_interval_sums_begin(&a->sums);
        for (size_t last = first; last < num_units; ++last) {
            const uint64_t *totals = pl_interval_sums_extend(&a->sums);
            pl_costs_set_cycles(costs, first, last, totals[0]);
            pl_costs_set_peak(costs, first, last, 1, totals[1]);
        }
    }
}

/* Tells the table what of the units' cycles is forward. */
static popliner_status fill_passes(const pl_layer_graph *graph, const pl_unit_graph *units,
                                   const uint32_t *place, popliner_costs *costs,
                                   popliner_error *error) {
    uint64_t *cycles = pl_new_array(2 * units->num_units, sizeof *cycles);
    if (cycles == NULL)
        return pl_fail_memory(error, "the passes of the units");
    uint64_t *forward = cycles + units->num_units;
    for (size_t i = 0; i < graph->num_nodes; ++i) {
        const size_t unit = place[units->unit_of_node[i]];
        cycles[unit] += graph->nodes[i].cycles;
        forward[unit] += graph->nodes[i].forward_cycles;
    }
    const pl_passes_source source = {1, cycles, forward, NULL, false};
    bool is_added = pl_costs_add_passes(costs, &source);
    free(cycles);
    return is_added ? POPLINER_OK : pl_fail_memory(error, "the passes of the units");
}

/* Names the units and fills their costs, in the order `place`. */
static popliner_status fill_file(const pl_layer_graph *graph, const pl_unit_graph *units,
                                 const uint32_t *place, pl_costs_file *file,
                                 popliner_error *error) {
    amounts a = {0};
    popliner_status status = POPLINER_OK;
    file->names = pl_arrays_new(&file->arrays, units->num_units, sizeof *file->names);
    for (size_t i = 0; file->names != NULL && i < units->num_units; ++i)
        file->names[place[i]] =
            pl_arrays_text(&file->arrays, graph->nodes[units->first_node[i]].name);
    const bool done =
        !file->arrays.failed && gather_amounts(&a, units, place, graph->traffic_takes_cycles);
    status = done ? popliner_costs_create(units->num_units, 1, &file->costs, error)
                  : pl_fail_memory(error, "the costs of the graph");
    if (status == POPLINER_OK) {
        file->costs->cycles_per_time_unit = PL_TIME_SCALE;
        status = pl_costs_add_cycles(file->costs, error);
    }
    if (status == POPLINER_OK)
        fill_table(file->costs, &a, &file->bounds);
    if (status == POPLINER_OK && graph->has_passes)
        status = fill_passes(graph, units, place, file->costs, error);
    free_amounts(&a);
    if (status != POPLINER_OK || !graph->is_of_parameters)
        return status;
    file->parameters = pl_arrays_new(&file->arrays, units->num_units, sizeof *file->parameters);
    if (file->parameters == NULL)
        return pl_fail_memory(error, "the parameters of the graph");
    for (size_t i = 0; i < units->num_units; ++i)
        file->parameters[place[i]] = units->memory_bytes[i];
    return POPLINER_OK;
}

popliner_status pl_layer_graph_fill(const pl_layer_graph *graph, const char *path,
                                    size_t max_stages, pl_costs_file *file, popliner_error *error) {
    pl_unit_graph units = {0};
    uint32_t *place = NULL;
    popliner_status status = POPLINER_OK;
    if (graph->num_nodes == 0)
        return pl_fail(error, POPLINER_ERROR_INPUT, "%s: the graph has no nodes", path);
    if (graph->num_edges >= PL_NONE - graph->num_nodes || !pl_unit_graph_find(&units, graph)) {
        status = pl_fail_memory(error, "the order of the graph's nodes");
        goto cleanup;
    }
    if (units.num_units > PL_MAX_UNITS) {
        status = pl_fail(error, POPLINER_ERROR_INPUT,
                         "%s: the graph makes a chain of %zu units, but %d are the most that can "
                         "be split; join some of its nodes",
                         path, units.num_units, PL_MAX_UNITS);
        goto cleanup;
    }

    /* where traffic takes no time, chains are nearly equal */
    const bool compares = graph->traffic_takes_cycles && units.num_units <= MAX_UNITS_TO_COMPARE;
    const size_t known_stages = max_stages != SIZE_MAX ? max_stages : file->info.num_ipus;
    const uint64_t limit_bytes =
        file->info.bytes_per_tile > 0 ? file->info.bytes_per_tile : UINT64_MAX;
    const char *order = "by number";
    place = pl_new_array(units.num_units, sizeof *place);
    for (size_t unit = 0; place != NULL && unit < units.num_units; ++unit)
        place[unit] = (uint32_t)unit;
    status = place == NULL || (compares &&
                               !choose_chain(&units, known_stages > 0 ? known_stages : USUAL_STAGES,
                                             limit_bytes, &file->bounds, place, &order))
                 ? pl_fail_memory(error, "the order of the graph's units")
                 : fill_file(graph, &units, place, file, error);
    if (status == POPLINER_OK)
        status = pl_costs_file_ask(file, path, error);
    if (status == POPLINER_OK && !is_only_order(&units, place)) {
        file->info.unit_order = order;
        file->costs->unit_order = file->info.unit_order;
        file->own_units = units;
        file->graph = (pl_graph_chain){&file->own_graph, &file->own_units, place, {0}};
        file->costs->graph = &file->graph;
        return POPLINER_OK;
    }

cleanup:
    pl_arrays_free(&units.arrays);
    free(place);
    return status;
}

popliner_status pl_layer_graph_arrange(const pl_costs_file *file, uint32_t *place,
                                       popliner_costs_file **arranged, popliner_error *error) {
    const pl_graph_chain *graph = &file->graph;
    pl_costs_file *made = calloc(1, sizeof *made);
    if (made == NULL) {
        free(place);
        return pl_fail_memory(error, "the costs of the graph");
    }
    made->info = file->info;
    made->graph = (pl_graph_chain){graph->graph, graph->units, place, {0}};
    popliner_status status = fill_file(graph->graph, graph->units, place, made, error);
    if (status != POPLINER_OK) {
        popliner_costs_file_free(&made->info);
        return status;
    }
    made->costs->graph = &made->graph;
    pl_costs_file_describe(made);
    *arranged = &made->info;
    return POPLINER_OK;
}
