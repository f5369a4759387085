/* Several analyses of one model: their layers are the same, their units are put together, and one
 * table has the costs of all.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/analysis_data.h"
#include "base/growth.h"
#include "base/numbers.h"
#include "costs/costs.h"
#include "solve/objective.h"

/* The parts of a chain: its layers, and what is before and after them. */
enum { PART_LAYERS = 1, NUM_PARTS = 3 };

typedef struct group_member {
    const char *name;
    popliner_analysis *analysis;
    const popliner_chain *chain;
    size_t parts[NUM_PARTS + 1]; /* where each begins; last the number of units */
    size_t *units; /* [units of the group]: its own for each, SIZE_MAX where it has none */
    popliner_profile_info info;
} group_member;

typedef struct pl_group {
    popliner_group public; /* first */
    pl_arrays arrays;
    group_member *members; /* [public.num_analyses] */
    const char **unit_names;
    uint8_t *counted_units;
    size_t num_units;
} pl_group;

void popliner_group_free(popliner_group *callers) {
    pl_group *g = (pl_group *)callers;
    if (g == NULL)
        return;
    pl_arrays_free(&g->arrays);
    free(g);
}

/* ---- the same layers ---- */

static bool is_layer(const popliner_chain *chain, size_t unit) {
    return chain->unit_kinds[unit] == POPLINER_UNIT_LAYER;
}

static const char *label_of(const group_member *m, size_t unit) {
    return m->chain->unit_labels[unit];
}

/* Finds the layers of a chain, which other units are before and after. */
static void find_layers(group_member *m) {
    size_t begin = 0;
    size_t end = m->chain->num_units;
    while (begin < end && !is_layer(m->chain, begin))
        begin++;
    while (end > begin && !is_layer(m->chain, end - 1))
        end--;
    m->parts[PART_LAYERS] = begin;
    m->parts[PART_LAYERS + 1] = end;
    m->parts[NUM_PARTS] = m->chain->num_units;
}

static bool has_layer(const group_member *m, const char *label) {
    for (size_t i = m->parts[PART_LAYERS]; i < m->parts[PART_LAYERS + 1]; i++)
        if (strcmp(label_of(m, i), label) == 0)
            return true;
    return false;
}

/* The label of the i-th layer; NULL after the last. */
static const char *layer_at(const group_member *m, size_t i) {
    const size_t unit = m->parts[PART_LAYERS] + i;
    return unit < m->parts[PART_LAYERS + 1] ? label_of(m, unit) : NULL;
}

/* Whether two chains have the same layers. */
static popliner_status compare_layers(const group_member *a, const group_member *b,
                                      popliner_error *error) {
    size_t i = 0;
    while (layer_at(a, i) != NULL && layer_at(b, i) != NULL &&
           strcmp(layer_at(a, i), layer_at(b, i)) == 0)
        i++;
    const char *of_a = layer_at(a, i);
    const char *of_b = layer_at(b, i);
    if (of_a == NULL && of_b == NULL)
        return POPLINER_OK;
    /* of two that are in each other's place, one may be missing altogether */
    const bool a_lacks = of_a == NULL || (of_b != NULL && !has_layer(a, of_b));
    const char *label = a_lacks ? of_b : of_a;
    return pl_fail(error, POPLINER_ERROR_USAGE,
                   "%.200s has no layer %.200s, which %.200s has%s; profiles have one split where "
                   "they have the same layers in the same order: see %s, or leave one of them out",
                   a_lacks ? a->name : b->name, label, a_lacks ? b->name : a->name,
                   has_layer(a_lacks ? a : b, label) ? " at this place" : "",
                   a->analysis->option_names.layer_name_regex);
}

/* ---- the units of all ---- */

/* The place of a label among the units of the group from `place` on, or their number. */
static size_t find_unit(const pl_group *g, size_t place, const char *label) {
    while (place < g->num_units && strcmp(g->unit_names[place], label) != 0)
        place++;
    return place;
}

/* Takes the same part of each chain: what is in any of them, and whose it is. */
static void join_part(pl_group *g, int part) {
    const size_t place = g->num_units;
    const group_member *end = g->members + g->public.num_analyses;
    for (const group_member *m = g->members; m < end; m++)
        for (size_t own = m->parts[part]; own < m->parts[part + 1]; own++)
            if (find_unit(g, place, label_of(m, own)) == g->num_units) {
                g->unit_names[g->num_units] = label_of(m, own);
                g->counted_units[g->num_units++] = is_layer(m->chain, own);
            }
    for (const group_member *m = g->members; m < end; m++) {
        for (size_t unit = place; unit < g->num_units; unit++)
            m->units[unit] = SIZE_MAX;
        for (size_t own = m->parts[part]; own < m->parts[part + 1]; own++)
            m->units[find_unit(g, place, label_of(m, own))] = own;
    }
}

/* The chains have the same layers. */
static popliner_status join_units(pl_group *g, popliner_error *error) {
    size_t most = 1;
    for (size_t i = 0; i < g->public.num_analyses; i++)
        most += g->members[i].chain->num_units;
    g->unit_names = pl_arrays_new(&g->arrays, most, sizeof *g->unit_names);
    g->counted_units = pl_arrays_new(&g->arrays, most, sizeof *g->counted_units);
    for (size_t i = 0; i < g->public.num_analyses; i++)
        g->members[i].units = pl_arrays_new(&g->arrays, most, sizeof *g->members[i].units);
    if (g->arrays.failed)
        return pl_fail_memory(error, "the profiles");
    for (int part = 0; part < NUM_PARTS; part++)
        join_part(g, part);
    g->public.unit_names = g->unit_names;
    g->public.counted_units = g->counted_units;
    g->public.num_units = g->num_units;
    return POPLINER_OK;
}

/* ---- making ---- */

static popliner_status take_member(group_member *m, popliner_memory_model model, bool *is_training,
                                   popliner_error *error) {
    m->info = (popliner_profile_info)POPLINER_PROFILE_INFO_INIT;
    PL_TRY(popliner_profile_get_info(popliner_analysis_profile(m->analysis), &m->info, error));
    PL_TRY(popliner_analysis_chain(m->analysis, model, &m->chain, error));
    PL_TRY(popliner_analysis_is_training(m->analysis, model, is_training, error));
    find_layers(m);
    return POPLINER_OK;
}

static popliner_status fill(pl_group *g, popliner_analysis *const *analyses,
                            const char *const *names, popliner_memory_model model,
                            popliner_error *error) {
    const size_t count = g->public.num_analyses;
    bool *are_training = pl_arrays_new(&g->arrays, count, sizeof *are_training);
    g->members = pl_arrays_new(&g->arrays, count, sizeof *g->members);
    for (size_t i = 0; !g->arrays.failed && i < count; i++)
        g->members[i].name = pl_arrays_text(&g->arrays, names[i]);
    if (g->arrays.failed)
        return pl_fail_memory(error, "the profiles");
    g->public.are_training = are_training;
    for (size_t i = 0; i < count; i++) {
        group_member *m = &g->members[i];
        m->analysis = analyses[i];
        PL_TRY(take_member(m, model, &are_training[i], error));
        if (i > 0)
            PL_TRY(compare_layers(&g->members[0], m, error));
        g->public.bytes_per_tile = i == 0 || g->public.bytes_per_tile == m->info.bytes_per_tile
                                       ? m->info.bytes_per_tile
                                       : 0;
    }
    return join_units(g, error);
}

popliner_status popliner_group_create(popliner_analysis *const *analyses, const char *const *names,
                                      size_t num_analyses, popliner_memory_model model,
                                      popliner_group **group, popliner_error *error) {
    *group = NULL;
    if (num_analyses == 0)
        return pl_fail(error, POPLINER_ERROR_USAGE, "a group of profiles has at least one");
    pl_group *g = calloc(1, sizeof *g);
    if (g == NULL)
        return pl_fail_memory(error, "the profiles");
    g->public.num_analyses = num_analyses;
    popliner_status status = fill(g, analyses, names, model, error);
    if (status == POPLINER_OK)
        *group = &g->public;
    else
        popliner_group_free(&g->public);
    return status;
}

/* ---- requests ---- */

/* The member's own units of a stage, its empty ends left out; SIZE_MAX if it has none of them. */
typedef struct own_units {
    size_t first;
    size_t last;
} own_units;

static own_units own_units_of(const group_member *m, size_t first, size_t last) {
    while (first < last && m->units[first] == SIZE_MAX)
        first++;
    while (last > first && m->units[last] == SIZE_MAX)
        last--;
    return (own_units){m->units[first], m->units[last]};
}

/* A checked request, and what every member is asked: units may be others, so its solver only has
 * the limits. */
typedef struct group_request {
    popliner_request asked;
    popliner_solver_options solver; /* of `asked`, complete */
    popliner_request own;
    popliner_solver_options limits; /* of `own` */
} group_request;

/* Names two profiles that have tiles of different sizes, so that none is the limit of all. */
static popliner_status refuse_sizes(const pl_group *g, popliner_error *error) {
    const group_member *first = &g->members[0];
    const group_member *other = first + 1;
    while (other->info.bytes_per_tile == first->info.bytes_per_tile)
        other++;
    return pl_fail(error, POPLINER_ERROR_USAGE,
                   "tiles have %" PRIu64 " bytes in %.200s and %" PRIu64 " in %.200s; give %s",
                   first->info.bytes_per_tile, first->name, other->info.bytes_per_tile, other->name,
                   first->analysis->option_names.mem_per_tile);
}

/* Refuses what one table of all costs cannot say. */
static popliner_status check_of_one(const pl_group *g, const group_request *r,
                                    popliner_error *error) {
    const popliner_option_names *names = &g->members[0].analysis->option_names;
    const char *of_one = r->asked.stage_recomputes != NULL    ? "a recomputation for each stage"
                         : r->solver.num_mapped_stages > 0    ? names->device_map
                         : r->solver.num_ipu_links > 0        ? names->ipu_links
                         : r->solver.link_bandwidth.bytes > 0 ? names->link_bandwidth
                                                              : NULL;
    if (of_one != NULL)
        return pl_fail(error, POPLINER_ERROR_USAGE,
                       "%s is for one profile, and not for several together", of_one);
    if (g->public.bytes_per_tile == 0 && r->solver.mem_per_tile == 0)
        return refuse_sizes(g, error);
    return POPLINER_OK;
}

static popliner_status take_request(const pl_group *g, const popliner_request *callers,
                                    group_request *r, popliner_error *error) {
    popliner_listener listener;
    PL_TRY(pl_analysis_take_request(callers, &r->asked, error));
    PL_TRY(pl_solver_options_take(r->asked.solver, NULL, &r->solver, &listener, error));
    PL_TRY(check_of_one(g, r, error));
    r->own = r->asked;
    r->own.solver = &r->limits;
    r->limits = (popliner_solver_options)POPLINER_SOLVER_OPTIONS_INIT;
    r->limits.num_ipus = r->solver.num_ipus;
    r->limits.mem_per_tile = r->solver.mem_per_tile;
    r->limits.ipu_limits = r->solver.ipu_limits;
    r->limits.num_ipu_limits = r->solver.num_ipu_limits;
    r->limits.reserve_bytes = r->solver.reserve_bytes;
    r->limits.reserve_percent_hundredths = r->solver.reserve_percent_hundredths;
    r->limits.ipu_reserves = r->solver.ipu_reserves;
    r->limits.num_ipu_reserves = r->solver.num_ipu_reserves;
    return POPLINER_OK;
}

/* ---- the costs of all ---- */

/* The costs of each member, for one request. Zero-initialise; free with free_costs. */
typedef struct group_costs {
    const pl_group *group;
    popliner_costs **of; /* [public.num_analyses] */
    bool has_cycles;     /* which can be compared */
    size_t num_places;   /* up to how far from the end stages cost something of their own */
} group_costs;

static void free_costs(group_costs *c) {
    for (size_t i = 0; c->of != NULL && i < c->group->public.num_analyses; i++)
        popliner_costs_free(c->of[i]);
    free(c->of);
}

/* Finds whether cycles can be compared; refuses an objective that needs it. */
static popliner_status check_cycles(const pl_group *g, const group_request *r, bool *has_cycles,
                                    popliner_error *error) {
    const group_member *first = &g->members[0];
    const char *name = first->analysis->option_names.objectives;
    const bool are_wanted = pl_objectives_include(&r->solver, POPLINER_OBJECTIVE_CYCLES);
    *has_cycles = true;
    for (size_t i = 0; i < g->public.num_analyses; i++) {
        const group_member *m = &g->members[i];
        const bool has_own = m->info.cycles_source >= POPLINER_CYCLES_ESTIMATED;
        *has_cycles = *has_cycles && has_own && m->info.clock_hz == first->info.clock_hz;
        if (are_wanted && !has_own)
            return pl_fail(error, POPLINER_ERROR_USAGE,
                           "%s cycles: %.200s has no cycles of computing; compile with the engine "
                           "option profiler.includeCycleEstimates set to true",
                           name, m->name);
        if (are_wanted && !*has_cycles)
            return pl_fail(error, POPLINER_ERROR_USAGE,
                           "%s cycles: %.200s and %.200s have different clocks, so their cycles "
                           "cannot be compared",
                           name, first->name, m->name);
    }
    return POPLINER_OK;
}

/* The most that a member needs of a stage at this distance from the end, or its cycles if that is
 * 0. No member's stage is empty. */
static uint64_t most_of(const group_costs *c, size_t first, size_t last, size_t stages_to_end) {
    uint64_t most = 0;
    for (size_t i = 0; i < c->group->public.num_analyses; i++) {
        const own_units own = own_units_of(&c->group->members[i], first, last);
        const bool is_empty = own.first == SIZE_MAX;
        if (stages_to_end == 0)
            most = pl_larger(most,
                             is_empty ? 0 : popliner_costs_cycles(c->of[i], own.first, own.last));
        else
            most = pl_larger(
                most, is_empty ? POPLINER_PEAK_FORBIDDEN
                               : popliner_costs_peak(c->of[i], own.first, own.last, stages_to_end));
    }
    return most;
}

/* The bytes that all members send over a cut. A member that lacks the unit after it has an empty
 * stage there, and no such split is tried. */
static uint64_t cut_of(const group_costs *c, size_t unit) {
    uint64_t sum = 0;
    for (size_t i = 0; i < c->group->public.num_analyses; i++) {
        const size_t own = c->group->members[i].units[unit];
        sum = pl_add_or_never(sum, own == SIZE_MAX ? 0 : popliner_costs_cut(c->of[i], own));
    }
    return sum;
}

/* A member that has fewer units than all together has no stages so far from the end: then it
 * forbids them. */
static size_t count_places(const group_costs *c, const group_request *r) {
    const popliner_group *g = &c->group->public;
    const popliner_pipeline pipeline = pl_analysis_pipeline(&r->own);
    const size_t asked = r->solver.num_ipus > 0 ? r->solver.num_ipus : POPLINER_USUAL_IPUS;
    size_t num_places = g->num_units;
    bool trains = false;
    for (size_t i = 0; i < g->num_analyses; i++) {
        trains = trains || g->are_training[i];
        if (c->of[i]->max_stages_to_end > 1)
            num_places = pl_fewer(num_places, c->of[i]->max_stages_to_end);
    }
    return trains && pl_pipeline_keeps(&pipeline)
               ? pl_more(num_places, pl_fewer(asked, g->num_units))
               : 1;
}

static popliner_status combine(const group_costs *c, const group_request *r, popliner_costs **costs,
                               popliner_error *error) {
    const size_t num_units = c->group->num_units;
    const popliner_pipeline pipeline = {.schedule = r->asked.schedule,
                                        .recompute = r->asked.recompute,
                                        .max_stages = 1,
                                        .copies = r->asked.copies};
    PL_TRY(popliner_costs_create(num_units, c->num_places, costs, error));
    (*costs)->is_of_ipus = true;
    PL_TRY(popliner_costs_set_pipeline(*costs, &pipeline, error));
    if (!pl_costs_set_counted_units(*costs, c->group->public.counted_units))
        return pl_fail_memory(error, "the profiles");
    for (size_t first = 0; first < num_units; first++)
        for (size_t last = first; last < num_units; last++) {
            for (size_t place = 1; place <= c->num_places; place++)
                PL_TRY(popliner_costs_set_peak(*costs, first, last, place,
                                               most_of(c, first, last, place), error));
            if (c->has_cycles)
                PL_TRY(popliner_costs_set_cycles(*costs, first, last, most_of(c, first, last, 0),
                                                 error));
        }
    for (size_t unit = 1; unit < num_units; unit++)
        PL_TRY(popliner_costs_set_cut(*costs, unit, cut_of(c, unit), error));
    return POPLINER_OK;
}

popliner_status popliner_group_costs(const popliner_group *group, const popliner_request *request,
                                     popliner_costs **costs, popliner_error *error) {
    const pl_group *g = (const pl_group *)group;
    group_request r;
    group_costs c = {.group = g};
    *costs = NULL;
    PL_TRY(take_request(g, request, &r, error));
    PL_TRY(check_cycles(g, &r, &c.has_cycles, error));
    c.of = calloc(group->num_analyses, sizeof *c.of);
    if (c.of == NULL)
        return pl_fail_memory(error, "the profiles");
    popliner_status status = POPLINER_OK;
    for (size_t i = 0; status == POPLINER_OK && i < group->num_analyses; i++)
        status = popliner_analysis_costs(g->members[i].analysis, &r.own, &c.of[i], error);
    if (status == POPLINER_OK) {
        c.num_places = count_places(&c, &r);
        status = combine(&c, &r, costs, error);
    }
    if (status != POPLINER_OK) {
        popliner_costs_free(*costs);
        *costs = NULL;
    }
    free_costs(&c);
    return status;
}

/* ---- the split in each ---- */

static popliner_status evaluate_member(const pl_group *g, const group_member *m,
                                       const popliner_request *own, const size_t *first_units,
                                       size_t num_cuts, popliner_certificate **evaluation,
                                       popliner_error *error) {
    popliner_status status = POPLINER_OK;
    size_t *own_firsts = calloc(num_cuts + 1, sizeof *own_firsts);
    if (own_firsts == NULL)
        return pl_fail_memory(error, "the split");
    for (size_t stage = 0; status == POPLINER_OK && stage <= num_cuts; stage++) {
        const size_t begin = stage == 0 ? 0 : first_units[stage - 1];
        const size_t end = stage < num_cuts ? first_units[stage] : g->num_units;
        const bool has_units = begin < end && end <= g->num_units;
        own_firsts[stage] = has_units ? own_units_of(m, begin, end - 1).first : 0;
        if (!has_units)
            status =
                pl_fail(error, POPLINER_ERROR_USAGE, "stage %zu of the split has no unit", stage);
        else if (own_firsts[stage] == SIZE_MAX)
            status = pl_fail(error, POPLINER_ERROR_USAGE,
                             "stage %zu is %.200s alone, which %.200s has not; each profile has "
                             "something in each stage of a split",
                             stage, g->unit_names[begin], m->name);
    }
    if (status == POPLINER_OK)
        status = popliner_analysis_evaluate(m->analysis, own, own_firsts + 1, num_cuts, evaluation,
                                            error);
    free(own_firsts);
    return status;
}

popliner_status popliner_group_evaluate(const popliner_group *group,
                                        const popliner_request *request, const size_t *first_units,
                                        size_t num_cuts, popliner_certificate **evaluations,
                                        popliner_error *error) {
    const pl_group *g = (const pl_group *)group;
    group_request r;
    popliner_status status = take_request(g, request, &r, error);
    r.limits.num_ipus = num_cuts + 1;
    for (size_t i = 0; i < group->num_analyses; i++)
        evaluations[i] = NULL;
    for (size_t i = 0; status == POPLINER_OK && i < group->num_analyses; i++)
        status = evaluate_member(g, &g->members[i], &r.own, first_units, num_cuts, &evaluations[i],
                                 error);
    for (size_t i = 0; status != POPLINER_OK && i < group->num_analyses; i++) {
        popliner_certificate_free(evaluations[i]);
        evaluations[i] = NULL;
    }
    return status;
}
