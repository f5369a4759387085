/* The memory of all intervals at once, one tile after another.
 *
 * A thing that the units u1 < u2 < ... use is in the stage i ... j exactly if one of them lies in
 * it, and the first one that does is the one where the stage, grown from i to the right, meets it.
 * So each u_k is an "arrival": it adds the thing to the stages that begin behind u_(k-1), at most
 * at u_k, and reach u_k. Costs that add up (code and state) are summed in a table of arrivals; live
 * variables are added to a curve, and the peak is read after every unit.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "popliner/intervals.h"

#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "base/growth.h"
#include "memory/liveness.h"
#include "memory/unit_sets.h"
#include "memory/vertex_code.h"
#include "read/blob_codec.h"
#include "read/profile_data.h"

/* A variable arriving at a unit. */
typedef struct arrival {
    uint32_t first_start; /* the smallest first unit of a stage that it arrives in at this unit */
    uint32_t class_index;
    uint64_t size_bytes;
} arrival;

typedef struct sweep {
    const popliner_profile *profile;
    const popliner_operations *operations;
    pl_usage usage;
    pl_vertex_kinds kinds;
    popliner_costs *costs;

    /* Code and state of all programs with the same set of units: [sets][tiles]. */
    uint64_t *program_bytes;
    /* The units that need each vertex kind on each tile: [types][tiles], sets of kind_sets. */
    uint32_t *kind_set;
    pl_unit_sets kind_sets;
    /* Code of each vertex kind: [types][tiles]. */
    uint64_t *kind_code_bytes;

    /* For one tile: bytes that arrive at unit u in stages beginning at s, as differences over s.
     * Unsigned, so that absurd sizes wrap around as they do in popliner_stage_measure. */
    uint64_t *arriving_bytes; /* [num_units + 1][num_units] */
    arrival *arrivals;        /* by unit */
    size_t arrivals_capacity;
    size_t *arrivals_start; /* [num_units + 1] */
    pl_curve curve;
} sweep;

static void free_sweep(sweep *s) {
    pl_usage_free(&s->usage);
    pl_vertex_kinds_free(&s->kinds);
    pl_unit_sets_free(&s->kind_sets);
    free(s->program_bytes);
    free(s->kind_set);
    free(s->kind_code_bytes);
    free(s->arriving_bytes);
    free(s->arrivals);
    free(s->arrivals_start);
    free(s->curve.change_bytes);
}

/* Sums control code, exchange code and vertex state of the programs by their set of units. */
static popliner_status sum_programs(sweep *s, popliner_error *error) {
    const popliner_profile *p = s->profile;
    size_t num_tiles = p->target.num_tiles;
    s->program_bytes = pl_new_array(s->usage.sets.count * num_tiles, sizeof *s->program_bytes);
    if (s->program_bytes == NULL)
        return pl_fail_memory(error, "the memory of the layers");
    for (size_t program = 0; program < p->num_programs; program++) {
        uint32_t set = s->usage.program_set[program];
        if (set == 0)
            continue;
        uint64_t *by_tile = s->program_bytes + set * num_tiles;
        if (!p->program_has_children[program])
            pl_series_add(p, p->program_control_code[program], 1, by_tile);
        pl_series_add(p, p->program_exchange_code[program], 1, by_tile);
        uint32_t compute_set = p->program_compute_set[program];
        for (uint32_t i = compute_set == PL_NONE ? 0 : p->compute_set_vertices_start[compute_set];
             compute_set != PL_NONE && i < p->compute_set_vertices_start[compute_set + 1]; i++)
            pl_series_add(p, p->compute_set_vertex_instances[i],
                          p->vertex_type_size_bytes[p->compute_set_vertex_type[i]], by_tile);
    }
    return POPLINER_OK;
}

/* Adds the current unit to the kinds that a compute set has instances of, on their tiles. */
static bool add_compute_set(sweep *s, uint32_t compute_set) {
    const popliner_profile *p = s->profile;
    size_t num_tiles = p->target.num_tiles;
    for (uint32_t i = p->compute_set_vertices_start[compute_set];
         i < p->compute_set_vertices_start[compute_set + 1]; i++) {
        uint32_t kind = s->kinds.kind_of_type[p->compute_set_vertex_type[i]];
        pl_series instances = p->compute_set_vertex_instances[i];
        pl_runs runs = pl_runs_begin(p->series_bytes + instances.offset, instances.size_bytes);
        uint32_t *set = s->kind_set + kind * num_tiles;
        uint64_t value;
        uint64_t length;
        while (pl_runs_next(&runs, &value, &length) > 0) {
            for (uint64_t tile = 0; value > 0 && tile < length; tile++) {
                if (!pl_unit_sets_add(&s->kind_sets, &set[tile]))
                    return false;
            }
            set += length;
        }
    }
    return true;
}

static popliner_status find_vertex_code(sweep *s, popliner_error *error) {
    const popliner_profile *p = s->profile;
    size_t num_tiles = p->target.num_tiles;
    s->kind_set = pl_new_array(p->num_vertex_types * num_tiles, sizeof *s->kind_set);
    s->kind_code_bytes = pl_new_array(p->num_vertex_types * num_tiles, sizeof *s->kind_code_bytes);
    popliner_status status = pl_vertex_kinds_find(&s->kinds, p, error);
    if (status != POPLINER_OK)
        return status;
    if (s->kind_set == NULL || s->kind_code_bytes == NULL || !pl_unit_sets_begin(&s->kind_sets))
        return pl_fail_memory(error, "the vertex code of the layers");
    for (size_t type = 0; type < p->num_vertex_types; type++)
        pl_series_add(p, p->vertex_type_code[s->kinds.code_of_type[type]], 1,
                      s->kind_code_bytes + type * num_tiles);
    const pl_usage *usage = &s->usage;
    for (size_t unit = 0; unit < usage->num_units; unit++) {
        pl_unit_sets_begin_unit(&s->kind_sets, (uint32_t)unit);
        for (size_t i = usage->unit_operations_start[unit];
             i < usage->unit_operations_start[unit + 1]; i++) {
            popliner_operation operation =
                popliner_operations_get(s->operations, usage->unit_operation[i]);
            for (size_t k = 0; k < operation.num_programs; k++) {
                uint32_t compute_set = p->program_compute_set[operation.programs[k]];
                if (compute_set != PL_NONE && !add_compute_set(s, compute_set))
                    return pl_fail_memory(error, "the vertex code of the layers");
            }
        }
    }
    return POPLINER_OK;
}

/* The bytes of variables that would have to travel over each cut. */
static popliner_status measure_cuts(const sweep *s, popliner_error *error) {
    const popliner_profile *p = s->profile;
    const pl_unit_sets *sets = &s->usage.sets;
    size_t num_units = s->usage.num_units;
    uint64_t *set_bytes = pl_new_array(sets->count, sizeof *set_bytes);
    int64_t *change = pl_new_array(num_units + 1, sizeof *change);
    popliner_status status = POPLINER_OK;
    if (set_bytes == NULL || change == NULL) {
        status = pl_fail_memory(error, "the cuts");
        goto done;
    }
    for (size_t i = 0; i < p->num_variables; i++) {
        if (!p->class_always_live[p->variable_class[i]])
            set_bytes[s->usage.variable_set[i]] += p->variable_size_bytes[i];
    }
    for (uint32_t set = 1; set < sets->count; set++) {
        uint32_t smallest = set;
        while (sets->rest[smallest] != 0)
            smallest = sets->rest[smallest];
        change[sets->last_unit[smallest] + 1] += (int64_t)set_bytes[set];
        change[sets->last_unit[set] + 1] -= (int64_t)set_bytes[set];
    }
    int64_t bytes = 0;
    for (size_t unit = 1; unit < num_units; unit++) {
        bytes += change[unit];
        popliner_costs_set_cut(s->costs, unit, (uint64_t)bytes);
    }
done:
    free(set_bytes);
    free(change);
    return status;
}

/* Enters something of the units of `set` into the table of arrivals. */
static void add_arrivals(sweep *s, const pl_unit_sets *sets, uint32_t set, uint64_t bytes) {
    size_t num_units = s->usage.num_units;
    for (; set != 0 && bytes > 0; set = sets->rest[set]) {
        uint32_t unit = sets->last_unit[set];
        uint32_t rest = sets->rest[set];
        uint32_t first_start = rest == 0 ? 0 : sets->last_unit[rest] + 1;
        s->arriving_bytes[first_start * num_units + unit] += bytes;
        s->arriving_bytes[(unit + 1) * num_units + unit] -= bytes;
    }
}

/* Lists the arrivals of the tile's variables by unit. In this model what unit 0 touches does not
 * count: variables of operations in no layer are assumed to be distributed. */
static popliner_status list_arrivals(sweep *s, size_t tile, popliner_error *error) {
    const popliner_profile *p = s->profile;
    const pl_unit_sets *sets = &s->usage.sets;
    size_t num_units = s->usage.num_units;
    memset(s->arrivals_start, 0, (num_units + 1) * sizeof *s->arrivals_start);
    for (uint64_t i = p->tile_variables_start[tile]; i < p->tile_variables_start[tile + 1]; i++) {
        for (uint32_t set = s->usage.variable_set[i]; set != 0; set = sets->rest[set])
            s->arrivals_start[sets->last_unit[set] + 1] += sets->last_unit[set] > 0;
    }
    for (size_t unit = 0; unit < num_units; unit++)
        s->arrivals_start[unit + 1] += s->arrivals_start[unit];
    size_t num_arrivals = s->arrivals_start[num_units];
    void *arrivals = s->arrivals;
    if (!pl_reserve(&arrivals, &s->arrivals_capacity, num_arrivals, sizeof *s->arrivals))
        return pl_fail_memory(error, "the variables of a tile");
    s->arrivals = arrivals;
    for (uint64_t i = p->tile_variables_start[tile]; i < p->tile_variables_start[tile + 1]; i++) {
        for (uint32_t set = s->usage.variable_set[i]; set != 0; set = sets->rest[set]) {
            uint32_t unit = sets->last_unit[set];
            if (unit == 0)
                break;
            /* filling from the end of each unit's part turns its start into the right one */
            uint32_t rest = sets->rest[set];
            bool is_first = rest == 0 || sets->last_unit[rest] == 0;
            s->arrivals[--s->arrivals_start[unit + 1]] = (arrival){
                .first_start = is_first ? 0 : sets->last_unit[rest] + 1,
                .class_index = p->variable_class[i],
                .size_bytes = p->variable_size_bytes[i],
            };
        }
    }
    /* now arrivals_start[u + 1] is where unit u begins */
    memmove(s->arrivals_start, s->arrivals_start + 1, num_units * sizeof *s->arrivals_start);
    s->arrivals_start[num_units] = num_arrivals;
    return POPLINER_OK;
}

/* The first and last step of a stage that grows to the right, by the rules of
 * popliner_stage_measure. */
typedef struct stage_steps {
    size_t first_operation; /* in a layer if there is one; SIZE_MAX for none */
    size_t last_operation;
    bool in_layer;
} stage_steps;

static void add_unit_steps(stage_steps *steps, const pl_usage *usage, size_t unit) {
    size_t start = usage->unit_operations_start[unit];
    size_t end = usage->unit_operations_start[unit + 1];
    if (start == end)
        return;
    size_t first = usage->unit_operation[start];
    size_t last = usage->unit_operation[end - 1];
    bool replaces = unit > 0 && !steps->in_layer;
    if (steps->first_operation == SIZE_MAX || replaces ||
        (first < steps->first_operation && (unit > 0 || !steps->in_layer)))
        steps->first_operation = first;
    steps->in_layer = steps->in_layer || unit > 0;
    if (steps->last_operation == SIZE_MAX || last > steps->last_operation)
        steps->last_operation = last;
}

/* Raises the peaks of all intervals to those of this tile. */
static popliner_status sweep_tile(sweep *s, size_t tile, popliner_error *error) {
    const popliner_profile *p = s->profile;
    const pl_usage *usage = &s->usage;
    size_t num_tiles = p->target.num_tiles;
    size_t num_units = usage->num_units;
    memset(s->arriving_bytes, 0, (num_units + 1) * num_units * sizeof *s->arriving_bytes);
    for (uint32_t set = 1; set < usage->sets.count; set++)
        add_arrivals(s, &usage->sets, set, s->program_bytes[set * num_tiles + tile]);
    for (size_t type = 0; type < p->num_vertex_types; type++)
        add_arrivals(s, &s->kind_sets, s->kind_set[type * num_tiles + tile],
                     s->kind_code_bytes[type * num_tiles + tile]);
    popliner_status status = list_arrivals(s, tile, error);
    for (size_t start = 0; status == POPLINER_OK && start < num_units; start++) {
        uint64_t *arriving = s->arriving_bytes + start * num_units;
        const uint64_t *before = start > 0 ? arriving - num_units : NULL;
        for (size_t unit = 0; before != NULL && unit < num_units; unit++)
            arriving[unit] += before[unit]; /* from differences to bytes */
        if (!pl_curve_begin(&s->curve, 0, p->num_steps))
            return pl_fail_memory(error, "the liveness of a tile");
        stage_steps steps = {SIZE_MAX, SIZE_MAX, false};
        uint64_t code_bytes = 0;
        for (size_t unit = start; unit < num_units; unit++) {
            code_bytes += arriving[unit];
            for (size_t i = s->arrivals_start[unit]; i < s->arrivals_start[unit + 1]; i++) {
                const arrival *a = &s->arrivals[i];
                if (a->first_start <= start)
                    pl_curve_add(&s->curve, p, a->class_index, a->size_bytes);
            }
            add_unit_steps(&steps, usage, unit);
            uint64_t peak = code_bytes;
            if (steps.first_operation != SIZE_MAX)
                peak += pl_curve_peak(
                    &s->curve,
                    popliner_operations_get(s->operations, steps.first_operation).first_step,
                    popliner_operations_get(s->operations, steps.last_operation).last_step + 1);
            if (peak > popliner_costs_peak(s->costs, start, unit))
                popliner_costs_set_peak(s->costs, start, unit, peak);
        }
    }
    return status;
}

popliner_status popliner_intervals_measure(const popliner_profile *profile,
                                           const popliner_operations *operations,
                                           const popliner_layers *layers,
                                           const popliner_listener *listener,
                                           popliner_costs **costs, popliner_error *error) {
    sweep s = {.profile = profile, .operations = operations};
    size_t num_units = popliner_layers_num_units(layers);
    size_t num_tiles = profile->target.num_tiles;
    *costs = NULL;
    popliner_status status = popliner_costs_create(num_units, &s.costs, error);
    if (status == POPLINER_OK)
        status = pl_usage_find(&s.usage, profile, operations, layers, error);
    if (status == POPLINER_OK)
        status = sum_programs(&s, error);
    if (status == POPLINER_OK)
        status = find_vertex_code(&s, error);
    if (status == POPLINER_OK)
        status = measure_cuts(&s, error);
    if (status == POPLINER_OK) {
        s.arriving_bytes = pl_new_array((num_units + 1) * num_units, sizeof *s.arriving_bytes);
        s.arrivals_start = pl_new_array(num_units + 1, sizeof *s.arrivals_start);
        if (s.arriving_bytes == NULL || s.arrivals_start == NULL)
            status = pl_fail_memory(error, "the intervals");
    }
    for (size_t tile = 0; status == POPLINER_OK && tile < num_tiles; tile++) {
        status = sweep_tile(&s, tile, error);
        if (tile % 16 == 15 || tile + 1 == num_tiles)
            pl_progress(listener, "Measuring all stages", tile + 1, num_tiles);
    }
    if (status == POPLINER_OK && s.usage.unit_operations_start[1] == 0)
        popliner_costs_set_peak(s.costs, 0, 0, POPLINER_PEAK_FORBIDDEN);
    if (status == POPLINER_OK)
        *costs = s.costs;
    else
        popliner_costs_free(s.costs);
    free_sweep(&s);
    return status;
}
