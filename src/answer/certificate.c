/* Makes an answer: measures the stages of a plan, compares them with their limits, and finds the
 * verdicts.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "answer/certificate_data.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "base/growth.h"
#include "base/numbers.h"
#include "base/structs.h"
#include "base/text.h"
#include "costs/costs.h"
#include "costs/unit_graph.h"
#include "memory/chain_data.h"
#include "pipeline/pipeline.h"
#include "solve/ipus.h"
#include "solve/options.h"
#include "solve/step_solve.h"

/* ---- whether a stage fits ---- */

double pl_margin_spreads(const popliner_stage_detail *detail, uint64_t limit_bytes) {
    double expected_bytes = (double)detail->need_bytes[POPLINER_NEED_EXPECTED];
    return expected_bytes > 0
               ? ((double)limit_bytes - expected_bytes) / (POPLINER_SPREAD * expected_bytes)
               : 0;
}

popliner_verdict popliner_verdict_of(const popliner_stage_detail *detail, uint64_t limit_bytes,
                                     double *margin_spreads) {
    if (margin_spreads != NULL)
        *margin_spreads = pl_margin_spreads(detail, limit_bytes);
    if (detail->num_ipus > 1 && detail->need_bytes[POPLINER_NEED_LEAST] <= limit_bytes)
        return POPLINER_FITS_UNKNOWN;
    if (detail->need_bytes[POPLINER_NEED_MOST] <= limit_bytes)
        return POPLINER_FITS;
    if (detail->need_bytes[POPLINER_NEED_EXPECTED] <= limit_bytes)
        return POPLINER_FITS_LIKELY;
    return detail->need_bytes[POPLINER_NEED_LEAST] <= limit_bytes ? POPLINER_FITS_PERHAPS
                                                                  : POPLINER_FITS_NOT;
}

/* By docs/benchmarks.md ("Random models, laid out by the rule"): limits within 15 % of what each
 * stage was expected to need. */
static const pl_verdict_row verdicts[] = {
    [POPLINER_FITS] = {"fits", "1,372 of 1,373", 1372, 1373},
    [POPLINER_FITS_LIKELY] = {"likely fits", "1,937 of 2,421", 1937, 2421},
    [POPLINER_FITS_PERHAPS] = {"may not fit", "458 of 3,700", 458, 3700},
    [POPLINER_FITS_UNKNOWN] = {"is not known to fit", NULL, 0, 0},
    [POPLINER_FITS_NOT] = {"does not fit", "0 of 71", 0, 71},
};

const pl_verdict_row *pl_verdict_of_number(size_t verdict) {
    return verdict < sizeof verdicts / sizeof *verdicts ? &verdicts[verdict] : NULL;
}

const char *pl_verdict_text(popliner_verdict verdict) {
    const pl_verdict_row *row = pl_verdict_of_number((size_t)verdict);
    return row == NULL ? "" : row->words;
}

/* ---- measuring ---- */

/* The stages of the plan that run on the IPU of one of them, as intervals. */
static size_t list_ipu(const pl_certificate *c, size_t ipu, popliner_interval *stages) {
    const popliner_plan *plan = &c->plan;
    size_t count = 0;
    for (size_t i = 0; i < plan->num_stages; i++) {
        const popliner_plan_stage *stage = &plan->stages[i];
        if (stage->ipu == ipu)
            stages[count++] =
                (popliner_interval){stage->first_unit, stage->last_unit,
                                    pl_pipeline_place(&c->input.pipeline, plan->num_stages, i)};
    }
    return count;
}

/* Fills the details of stages on one IPU that recompute in one way. */
static popliner_status tell_ipu(const pl_certificate *c, popliner_recompute recompute,
                                const popliner_interval *stages, size_t num_stages,
                                popliner_stage_detail *detail, popliner_error *error) {
    const pl_certificate_input *in = &c->input;
    popliner_pipeline pipeline = in->pipeline;
    pipeline.recompute = recompute;
    const pl_stage_details *details = in->stages_of_ways[recompute];
    if (details != NULL && details->variables != NULL && num_stages == 1)
        *detail = pl_stage_details_get(details, in->chain->profile, &pipeline, stages);
    else if (in->meter == NULL)
        return pl_fail(error, POPLINER_ERROR_USAGE,
                       "a certificate of %zu stages on one IPU needs a meter", num_stages);
    else
        PL_TRY(pl_stage_measure(in->meter, &pipeline, stages, num_stages, NULL, detail, error));
    return pl_stage_ipus_count(in->chain, stages, num_stages, &detail->num_ipus, error);
}

/* Returns how a stage recomputes. */
static popliner_recompute recompute_of(const pl_certificate *c, size_t stage) {
    const pl_certificate_input *in = &c->input;
    return in->stage_recomputes == NULL ? in->pipeline.recompute : in->stage_recomputes[stage];
}

/* Whether stages are measured in that way at all. */
static bool may_recompute(const pl_certificate *c, popliner_recompute way) {
    const pl_certificate_input *in = &c->input;
    if (in->pipeline.recompute != POPLINER_RECOMPUTE_AUTO)
        return way == in->pipeline.recompute;
    return in->meter != NULL || in->stages_of_ways[way] != NULL;
}

static bool has_large_unit(const popliner_infeasibility *why) {
    return why->obstacle == POPLINER_OBSTACLE_UNIT || why->obstacle == POPLINER_OBSTACLE_PLACE;
}

/* Measures the unit that is too large, where in the pipeline, and recomputing what, it needs as
 * much as was found. */
static popliner_status measure_unit(pl_certificate *c, popliner_error *error) {
    const popliner_infeasibility *why = &c->plan.infeasibility;
    size_t longest = pl_pipeline_keeps(&c->input.pipeline) ? c->input.num_units : 1;
    if (c->input.options->num_mapped_stages > longest)
        longest = c->input.options->num_mapped_stages;
    for (int way = 0; way < POPLINER_RECOMPUTE_AUTO; way++)
        for (size_t to_end = 1; may_recompute(c, (popliner_recompute)way) && to_end <= longest;
             to_end++) {
            popliner_interval unit = {why->unit, why->unit, to_end};
            popliner_status status =
                tell_ipu(c, (popliner_recompute)way, &unit, 1, &c->unit, error);
            if (status != POPLINER_OK || c->unit.need_bytes[c->input.need] == why->unit_bytes)
                return status;
        }
    return pl_fail(error, POPLINER_ERROR_INTERNAL,
                   "unit %zu was planned with %" PRIu64 " bytes on its fullest tile, but measures "
                   "%" PRIu64 "; please report this",
                   why->unit, why->unit_bytes, c->unit.need_bytes[c->input.need]);
}

/* Measures the IPU of every stage; except for an evaluation it checks the peak of the plan. */
static popliner_status measure(pl_certificate *c, popliner_error *error) {
    popliner_plan *plan = &c->plan;
    popliner_interval *stages = pl_arrays_new(&c->arrays, plan->num_stages, sizeof *stages);
    c->details = pl_arrays_new(&c->arrays, plan->num_stages, sizeof *c->details);
    if (c->arrays.failed)
        return pl_fail_memory(error, "a report");
    for (size_t i = 0; i < plan->num_stages; i++) {
        size_t first = 0;
        while (plan->stages[first].ipu != plan->stages[i].ipu)
            first++;
        if (first < i) {
            c->details[i] = c->details[first];
            continue;
        }
        const size_t count = list_ipu(c, plan->stages[i].ipu, stages);
        PL_TRY(tell_ipu(c, recompute_of(c, i), stages, count, &c->details[i], error));
        if (!c->is_evaluation &&
            c->details[i].need_bytes[c->input.need] != plan->stages[i].peak_bytes)
            return pl_fail(error, POPLINER_ERROR_INTERNAL,
                           "stage %zu was planned with %" PRIu64 " bytes on its fullest tile, but "
                           "measures %" PRIu64 "; please report this",
                           i, plan->stages[i].peak_bytes, c->details[i].need_bytes[c->input.need]);
    }
    return has_large_unit(&plan->infeasibility) ? measure_unit(c, error) : POPLINER_OK;
}

uint64_t pl_certificate_limit(const pl_certificate *certificate, size_t ipu) {
    const popliner_solver_options *options = &certificate->options.options;
    return pl_limit_of(options, ipu, options->mem_per_tile);
}

pl_fit pl_certificate_fit_of(const pl_certificate *certificate, size_t stage) {
    const pl_certificate *c = certificate;
    const popliner_plan_stage *own = &c->plan.stages[stage];
    return own->peak_bytes > pl_certificate_limit(c, own->ipu) ? PL_FITS_NOT
           : c->is_measured && c->details[stage].num_ipus > 1  ? PL_FIT_UNKNOWN
                                                               : PL_FITS;
}

/* Completes a plan that was given with what was measured of its IPUs, and with the costs. */
static popliner_status finish_evaluation(pl_certificate *c, const popliner_costs *costs,
                                         popliner_error *error) {
    popliner_plan *plan = &c->plan;
    plan->status = POPLINER_PLAN_FEASIBLE;
    for (size_t i = 0; i < plan->num_stages; i++) {
        plan->stages[i].peak_bytes = c->details[i].need_bytes[c->input.need];
        if (pl_certificate_fit_of(c, i) != PL_FITS)
            plan->status = POPLINER_PLAN_INFEASIBLE;
    }
    return pl_plan_complete(costs, c->input.options, plan, error);
}

/* Leaves out what would help but for changes of memory: the constraints are the given split. */
static void forget_constraints(popliner_infeasibility *why) {
    const popliner_infeasibility had = *why;
    free(had.constraints);
    free(had.remedies);
    free(had.left_out);
    *why = (popliner_infeasibility){
        .obstacle = has_large_unit(&had) ? POPLINER_OBSTACLE_CAPACITY : had.obstacle,
        .enough_bytes = had.enough_bytes,
        .enough_bytes_bound = had.enough_bytes_bound,
        .has_all_remedies = had.has_all_remedies,
        .needs_costs = had.needs_costs,
    };
}

/* The cycles of all stages on an IPU. */
static uint64_t cycles_on(const popliner_plan *plan, size_t ipu) {
    uint64_t cycles = 0;
    for (size_t i = 0; i < plan->num_stages; i++)
        cycles += plan->stages[i].ipu == ipu ? plan->stages[i].cycles : 0;
    return cycles;
}

/* The bytes that so many tokens more take on an IPU. */
static uint64_t bytes_of_tokens(const pl_certificate *c, size_t ipu, uint64_t tokens) {
    uint64_t bytes = 0;
    for (size_t i = 0; i < c->plan.num_stages; i++) {
        const popliner_plan_stage *stage = &c->plan.stages[i];
        for (size_t unit = stage->first_unit; stage->ipu == ipu && unit <= stage->last_unit;
             unit++) {
            const uint64_t most =
                c->input.kv_tokens != NULL ? c->input.kv_tokens[unit] : UINT64_MAX;
            bytes = pl_add_or_never(
                bytes, pl_multiply_or_never(pl_smaller(tokens, most), c->input.kv_bytes[unit]));
        }
    }
    return bytes;
}

/* Returns how many tokens more an IPU has room for; UINT64_MAX for any number. */
static uint64_t count_tokens(const pl_certificate *c, size_t ipu, uint64_t bytes) {
    uint64_t least = 0;
    uint64_t most = UINT64_MAX;
    while (least < most) {
        const uint64_t middle = least + (most - least - 1) / 2 + 1;
        if (bytes_of_tokens(c, ipu, middle) <= bytes)
            least = middle;
        else
            most = middle - 1;
    }
    return least;
}

/* Lowers *tokens to what the IPU of a stage that needs so many bytes has room for. True if that is
 * less. */
static bool has_fewer_tokens(const pl_certificate *c, size_t stage, uint64_t used_bytes,
                             uint64_t *tokens) {
    const size_t ipu = c->plan.stages[stage].ipu;
    const uint64_t limit_bytes = pl_certificate_limit(c, ipu);
    if (c->input.kv_bytes == NULL || limit_bytes >= INT64_MAX)
        return false;
    const uint64_t own =
        count_tokens(c, ipu, used_bytes > limit_bytes ? 0 : limit_bytes - used_bytes);
    const bool is_less = own < *tokens;
    *tokens = pl_smaller(*tokens, own);
    return is_less;
}

/* The most tokens more that every IPU has room for, and the IPU that has the least. */
static void find_headroom(pl_certificate *c) {
    for (size_t i = 0; i < c->plan.num_stages; i++)
        if (has_fewer_tokens(c, i, c->plan.stages[i].peak_bytes, &c->info.headroom_tokens))
            c->info.headroom_ipu = c->plan.stages[i].ipu;
}

/* Copies which nodes of a graph each unit has. */
static void copy_nodes(pl_certificate *c, const pl_graph_chain *graph) {
    const size_t num_units = graph->units->num_units;
    const size_t num_nodes = graph->graph->num_nodes;
    c->node_names = pl_arrays_new(&c->arrays, num_nodes, sizeof *c->node_names);
    c->nodes_from = pl_arrays_new(&c->arrays, num_units + 1, sizeof *c->nodes_from);
    if (c->arrays.failed)
        return;
    for (size_t i = 0; i < num_nodes; i++)
        c->nodes_from[graph->place[graph->units->unit_of_node[i]]]++;
    for (size_t unit = 0; unit < num_units; unit++)
        c->nodes_from[unit + 1] += c->nodes_from[unit];
    for (size_t i = num_nodes; i-- > 0;)
        c->node_names[--c->nodes_from[graph->place[graph->units->unit_of_node[i]]]] =
            pl_arrays_text(&c->arrays, graph->graph->nodes[i].name);
}

/* Takes back a remedy of more IPUs where some have limits of their own and there is none for all
 * others: what an IPU that is added has is unknown, and without a limit it would hold anything. */
static void forget_unlimited(pl_certificate *c) {
    popliner_infeasibility *why = &c->plan.infeasibility;
    const popliner_solver_options *o = &c->options.options;
    bool is_known = why->enough_stages == 0 || why->obstacle == POPLINER_OBSTACLE_CONSTRAINTS ||
                    o->num_ipu_limits == 0 || o->mem_per_tile < POPLINER_PEAK_FORBIDDEN - 1;
    for (size_t ipu = 0; !is_known && pl_limit_of(o, ipu, UINT64_MAX) < UINT64_MAX; ipu++)
        is_known = ipu + 1 == why->enough_stages;
    why->is_longer_unknown = why->is_longer_unknown || !is_known;
    why->enough_stages = is_known ? why->enough_stages : 0;
}

/* Copies what the certificate is about, so that it needs the caller's no more. */
static popliner_status copy_input(pl_certificate *c, const pl_certificate_input *input,
                                  popliner_error *error) {
    const size_t num_units = input->num_units;
    c->input = *input;
    c->is_measured = input->chain != NULL;
    PL_TRY(pl_owned_options_copy(&c->options, input->options, num_units, error));
    const char **names = pl_arrays_new(&c->arrays, num_units, sizeof *names);
    for (size_t unit = 0; names != NULL && unit < num_units; unit++)
        names[unit] = pl_arrays_text(&c->arrays, input->unit_names[unit]);
    c->input.unit_names = names;
    if (input->graph != NULL)
        copy_nodes(c, input->graph);
    c->input.kv_bytes =
        pl_arrays_copy(&c->arrays, input->kv_bytes, num_units, sizeof *input->kv_bytes);
    c->input.kv_tokens =
        pl_arrays_copy(&c->arrays, input->kv_tokens, num_units, sizeof *input->kv_tokens);
    c->input.not_counted = pl_arrays_text(&c->arrays, input->not_counted);
    c->input.unit_kinds =
        pl_arrays_copy(&c->arrays, input->unit_kinds, num_units, sizeof *input->unit_kinds);
    c->input.graph = NULL; /* the caller's */
    c->input.options = &c->options.options;
    if (!c->arrays.failed)
        c->name_ends =
            pl_names_shared_ends(c->input.unit_names, c->options.options.counted_units, num_units);
    c->input.time_unit = pl_arrays_text(&c->arrays, input->time_unit);
    return c->arrays.failed ? pl_fail_memory(error, "a report") : POPLINER_OK;
}

/* True if the IPU of `own` has less free memory than that of `least`. */
static bool has_less_room(const popliner_solver_options *o, const popliner_plan_stage *own,
                          const popliner_plan_stage *least) {
    return pl_add_or_never(own->peak_bytes, pl_limit_of(o, least->ipu, o->mem_per_tile)) >
           pl_add_or_never(least->peak_bytes, pl_limit_of(o, own->ipu, o->mem_per_tile));
}

bool pl_certificate_has_verdicts(const pl_certificate *c) {
    return c->is_measured && pl_chain_is_full(c->input.chain);
}

size_t pl_certificate_tightest(const pl_certificate *c) {
    const bool has_verdicts = pl_certificate_has_verdicts(c);
    size_t worst = 0;
    double most = -1;
    for (size_t i = 0; i < c->plan.num_stages; i++) {
        const uint64_t limit = pl_certificate_limit(c, c->plan.stages[i].ipu);
        const double share =
            (double)c->plan.stages[i].peak_bytes / (double)(limit == 0 ? 1 : limit);
        const bool is_worse = has_verdicts && c->verdicts[i] > c->verdicts[worst];
        const bool is_as_bad = !has_verdicts || c->verdicts[i] == c->verdicts[worst];
        if (is_worse || (is_as_bad && share > most)) {
            worst = i;
            most = share;
        }
    }
    return worst;
}

/* Finds the largest units of a stage that does not fit, where no profile tells its parts. */
static void find_large_units(pl_certificate *c, const popliner_costs *costs) {
    const size_t stage = pl_certificate_tightest(c);
    if (c->plan.status != POPLINER_PLAN_INFEASIBLE || c->is_measured || costs == NULL ||
        c->plan.num_stages == 0 || pl_certificate_fit_of(c, stage) != PL_FITS_NOT ||
        c->input.pipeline.recompute == POPLINER_RECOMPUTE_AUTO)
        return;
    const popliner_plan_stage *own = &c->plan.stages[stage];
    const size_t place = pl_costs_place(costs, c->plan.num_stages, stage);
    for (size_t unit = own->first_unit; unit <= own->last_unit; unit++) {
        const uint64_t bytes = popliner_costs_peak(costs, unit, unit, place);
        const bool has_room = c->num_large_units < PL_LARGE_UNITS;
        size_t at = has_room ? c->num_large_units : PL_LARGE_UNITS;
        if (bytes == 0 || bytes == UINT64_MAX) /* forbidden alone */
            continue;
        c->num_large_units += has_room;
        for (; at > 0 && c->large_units[at - 1].bytes < bytes; at--)
            if (at < PL_LARGE_UNITS)
                c->large_units[at] = c->large_units[at - 1];
        if (at < PL_LARGE_UNITS)
            c->large_units[at] = (pl_large_unit){unit, bytes};
    }
    /* the last stage keeps nothing for later micro-batches */
    if (costs->max_stages_to_end > 1 && costs->peaks.lines != NULL && !costs->follows_split &&
        costs->peaks.copies[0] == 0)
        c->large_stash_bytes =
            own->peak_bytes - popliner_costs_peak(costs, own->first_unit, own->last_unit, 1);
}

const char *const pl_stage_part_names[PL_NUM_STAGE_PARTS] = {"states", "cache", "stash",
                                                             "workspace", "reserve"};

bool pl_certificate_fits_at_most(const pl_certificate *c) {
    bool does_fit = true;
    for (size_t i = 0; c->most_bytes != NULL && i < c->plan.num_stages; i++)
        does_fit = does_fit && c->most_bytes[i] <= pl_certificate_limit(c, c->plan.stages[i].ipu);
    return does_fit;
}

/* Finds what the IPU of each stage may need at most, if the costs say that. */
static popliner_status find_most(pl_certificate *c, const popliner_costs *costs,
                                 popliner_error *error) {
    const popliner_plan *plan = &c->plan;
    const popliner_costs *most = costs == NULL ? NULL : costs->most;
    const pl_variants *v =
        costs == NULL || costs->choices == NULL ? NULL : costs->choices->variants;
    c->lacks_choice = v != NULL && !v->has_full && v->count == v->num_units;
    c->most_tokens = UINT64_MAX;
    c->counted_need = costs == NULL ? POPLINER_NEED_EXPECTED : costs->need;
    if (most == NULL || c->is_measured)
        return POPLINER_OK;
    for (size_t i = 0; plan->choices != NULL && i < plan->num_stages; i++)
        c->lacks_most =
            c->lacks_most || (c->counted_need != POPLINER_NEED_MOST &&
                              pl_certificate_limit(c, plan->stages[i].ipu) < PL_NO_LIMIT);
    if (plan->choices != NULL)
        return POPLINER_OK;
    popliner_interval *together = pl_arrays_new(&c->arrays, plan->num_stages, sizeof *together);
    c->most_bytes = pl_arrays_new(&c->arrays, plan->num_stages, sizeof *c->most_bytes);
    if (c->arrays.failed)
        return pl_fail_memory(error, "a report");
    for (size_t i = 0; i < plan->num_stages; i++) {
        size_t count = 0;
        for (size_t k = 0; k < plan->num_stages; k++)
            if (plan->stages[k].ipu == plan->stages[i].ipu)
                together[count++] =
                    (popliner_interval){plan->stages[k].first_unit, plan->stages[k].last_unit,
                                        pl_costs_place(most, plan->num_stages, k)};
        PL_TRY(pl_costs_shared_peak(most, together, count, &c->most_bytes[i], error));
        has_fewer_tokens(c, i, c->most_bytes[i], &c->most_tokens);
    }
    return POPLINER_OK;
}

/* Divides what each stage needs into its parts. */
static popliner_status find_parts(pl_certificate *c, const popliner_costs *costs,
                                  popliner_error *error) {
    const popliner_plan *plan = &c->plan;
    const bool shares = plan->num_ipus < plan->num_stages;
    /* peaks by place do not say what of them is stored */
    const bool has_lines =
        costs != NULL && (costs->peaks.lines != NULL || costs->max_stages_to_end == 1);
    if (!has_lines || c->is_measured || plan->choices != NULL || shares)
        return POPLINER_OK;
    c->parts = pl_arrays_new(&c->arrays, plan->num_stages, sizeof *c->parts);
    for (size_t i = 0; c->parts != NULL && i < plan->num_stages; i++) {
        const popliner_plan_stage *stage = &plan->stages[i];
        uint64_t *parts = c->parts[i];
        uint64_t limit = pl_certificate_limit(c, stage->ipu);
        parts[PL_STAGE_STASH] = pl_costs_copies_bytes(costs, stage->first_unit, stage->last_unit,
                                                      pl_costs_place(costs, plan->num_stages, i));
        for (size_t unit = stage->first_unit; unit <= stage->last_unit; unit++) {
            parts[PL_STAGE_CACHE] += costs->cache_bytes == NULL ? 0 : costs->cache_bytes[unit];
            if (costs->workspace != NULL)
                parts[PL_STAGE_WORKSPACE] =
                    pl_larger(parts[PL_STAGE_WORKSPACE], costs->workspace[unit]);
        }
        parts[PL_STAGE_STATES] = stage->peak_bytes;
        for (pl_stage_part k = PL_STAGE_CACHE; k <= PL_STAGE_WORKSPACE; k++)
            parts[PL_STAGE_STATES] -= pl_smaller(parts[PL_STAGE_STATES], parts[k]);
        if (popliner_reserve_memory(c->input.options, stage->ipu, limit, &parts[PL_STAGE_RESERVE]))
            parts[PL_STAGE_RESERVE] -= limit;
        for (pl_stage_part k = 0; k < PL_NUM_STAGE_PARTS; k++)
            c->has_part[k] = c->has_part[k] || parts[k] > 0;
    }
    return c->arrays.failed ? pl_fail_memory(error, "a report") : POPLINER_OK;
}

/* Finds the stage that is worst by the first objective; where nothing fits, the one with the least
 * room. */
static size_t find_bottleneck(const pl_certificate *c) {
    const popliner_plan *plan = &c->plan;
    const popliner_solver_options *options = c->input.options;
    if (plan->status == POPLINER_PLAN_INFEASIBLE)
        return pl_certificate_tightest(c);
    bool by_room = plan->num_values > 0 && plan->values[0].objective == POPLINER_OBJECTIVE_HEADROOM;
    bool by_cycles = plan->num_values > 0 && plan->values[0].objective == POPLINER_OBJECTIVE_CYCLES;
    size_t bottleneck = 0;
    for (size_t i = 1; i < plan->num_stages; i++) {
        const popliner_plan_stage *most = &plan->stages[bottleneck];
        const popliner_plan_stage *own = &plan->stages[i];
        if (by_room     ? has_less_room(options, own, most)
            : by_cycles ? cycles_on(plan, own->ipu) > cycles_on(plan, most->ipu)
                        : own->peak_bytes > most->peak_bytes)
            bottleneck = i;
    }
    return bottleneck;
}

/* The greatest share of the plan's fullest tile that no operation explains. */
static double find_unexplained_share(const pl_certificate *c) {
    double share = 0;
    for (size_t i = 0; c->is_measured && i < c->plan.num_stages; i++) {
        const popliner_stage_detail *d = &c->details[i];
        if (d->tile_bytes != c->plan.peak_bytes || d->tile_bytes == 0)
            continue;
        double own = (double)d->tile_unexplained_bytes / (double)d->tile_bytes;
        if (own > share)
            share = own;
    }
    return share;
}

/* Adds how the stages of a profile recompute, if that was given, as the choices of the plan. */
static popliner_status add_choices(popliner_plan *plan, const popliner_recompute *recomputes,
                                   popliner_error *error) {
    if (recomputes == NULL || plan->choices != NULL)
        return POPLINER_OK;
    plan->choices = pl_new_array(plan->num_stages, sizeof *plan->choices);
    bool has_memory = plan->choices != NULL;
    for (size_t i = 0; has_memory && i < plan->num_stages; i++) {
        const char *name = pl_recompute_name(recomputes[i]);
        plan->choices[i] = strdup(name);
        has_memory = plan->choices[i] != NULL;
    }
    return has_memory ? POPLINER_OK : pl_fail_memory(error, "a report");
}

static popliner_status find_verdicts(pl_certificate *c, popliner_error *error) {
    if (!c->is_measured)
        return POPLINER_OK;
    c->verdicts = pl_arrays_new(&c->arrays, c->plan.num_stages, sizeof *c->verdicts);
    if (c->verdicts == NULL)
        return pl_fail_memory(error, "a report");
    for (size_t i = 0; i < c->plan.num_stages; i++)
        c->verdicts[i] = popliner_verdict_of(&c->details[i],
                                             pl_certificate_limit(c, c->plan.stages[i].ipu), NULL);
    return POPLINER_OK;
}

static popliner_status find_passes(pl_certificate *c, const popliner_costs *costs,
                                   popliner_error *error) {
    c->pass_cycles =
        pl_arrays_new(&c->arrays, c->plan.num_stages * PL_NUM_PASS_KINDS, sizeof *c->pass_cycles);
    if (c->pass_cycles == NULL)
        return pl_fail_memory(error, "the passes of a step");
    pl_step_divide(&c->plan, c->input.options, &c->input.pipeline, costs, c->pass_cycles);
    return POPLINER_OK;
}

/* Measures what the input is about, and copies it. */
static popliner_status begin(pl_certificate *c, const pl_certificate_input *input,
                             popliner_plan *plan, popliner_error *error) {
    PL_TRY(copy_input(c, input, error));
    PL_TRY(add_choices(plan, input->stage_recomputes, error));
    c->plan = *plan;
    return c->is_measured ? measure(c, error) : POPLINER_OK;
}

/* Finds what follows from the plan and its stages, which are measured. */
static popliner_status complete(pl_certificate *c, const pl_certificate_input *input,
                                popliner_error *error) {
    if (c->is_evaluation && c->is_measured)
        PL_TRY(finish_evaluation(c, input->costs, error));
    else if (c->is_evaluation)
        forget_constraints(&c->plan.infeasibility);
    forget_unlimited(c);
    PL_TRY(find_verdicts(c, error));
    c->bottleneck = find_bottleneck(c);
    c->info = (popliner_certificate){.plan = &c->plan,
                                     .costs = c->costs,
                                     .unexplained_share = find_unexplained_share(c),
                                     .details = c->is_measured ? c->details : NULL,
                                     .verdicts = c->verdicts,
                                     .headroom_tokens = UINT64_MAX,
                                     .lacks_schedule = input->lacks_schedule};
    find_headroom(c);
    for (size_t i = 0; c->plan.num_values > 0 && i < c->plan.num_stages; i++)
        if (c->plan.values[0].objective == POPLINER_OBJECTIVE_TOKENS &&
            c->plan.status != POPLINER_PLAN_INFEASIBLE &&
            c->plan.stages[i].ipu == c->info.headroom_ipu)
            c->bottleneck = i;
    find_large_units(c, input->costs);
    PL_TRY(find_parts(c, input->costs, error));
    PL_TRY(find_most(c, input->costs, error));
    PL_TRY(pl_step_find(&c->plan, c->input.options, &c->input.pipeline, input->costs, &c->info.step,
                        error));
    if (c->info.step.order != NULL)
        PL_TRY(find_passes(c, input->costs, error));
    if (!c->is_evaluation && c->plan.status != POPLINER_PLAN_INFEASIBLE && input->costs != NULL &&
        c->info.step.order != NULL)
        PL_TRY(pl_step_of_even_stages(&c->plan, c->input.options, &c->input.pipeline, input->costs,
                                      &c->even_step_cycles, error));
    return pl_certificate_make_messages(c, error);
}

popliner_status pl_certificate_create(const pl_certificate_input *input, bool is_evaluation,
                                      popliner_plan *plan, popliner_costs *costs,
                                      popliner_certificate **certificate, popliner_error *error) {
    *certificate = NULL;
    pl_certificate *c = calloc(1, sizeof *c);
    if (c == NULL)
        return pl_fail_memory(error, "a report");
    c->is_evaluation = is_evaluation;
    c->is_of_ipus = input->costs != NULL && input->costs->is_of_ipus;
    popliner_status status = begin(c, input, plan, error);
    c->input.stage_recomputes = NULL; /* the caller's */
    c->input.costs = NULL;
    if (status == POPLINER_OK) {
        c->costs = costs;
        status = complete(c, input, error);
        *plan = c->plan;
    }
    if (status == POPLINER_OK) {
        *plan = (popliner_plan){0};
        *certificate = &c->info;
        return status;
    }
    c->plan = (popliner_plan){0}; /* still the caller's, like the costs */
    c->costs = NULL;
    popliner_certificate_free(&c->info);
    return status;
}

/* Returns how many units at the beginning need no memory. Buffers are none of a unit, and neither
 * is a thousandth of the whole, such as factors of rotary positions. */
static size_t count_empty_units(const popliner_costs *costs) {
    enum { PARTS = 1024 };
    const uint64_t *workspace = costs->workspace;
    const size_t num_units = popliner_costs_num_units(costs);
    const uint64_t whole = popliner_costs_peak(costs, 0, num_units - 1, 1);
    const uint64_t few_bytes = whole == POPLINER_PEAK_FORBIDDEN ? 0 : whole / PARTS;
    uint64_t most = 0; /* workspace so far */
    for (size_t count = 0; count < num_units; count++) {
        most = workspace == NULL ? 0 : pl_larger(most, workspace[count]);
        if (popliner_costs_peak(costs, 0, count, 1) > pl_add_or_never(most, few_bytes))
            return count;
    }
    return num_units;
}

popliner_status pl_certificate_take_input(const popliner_certificate_input *callers,
                                          pl_certificate_input *input, popliner_error *error) {
    popliner_solver_options options;
    popliner_certificate_input own = POPLINER_CERTIFICATE_INPUT_INIT;
    PL_TRY(pl_struct_take(&own, sizeof own, callers, "popliner_certificate_input", error));
    if (own.costs == NULL || own.unit_names == NULL)
        return pl_fail(error, POPLINER_ERROR_USAGE,
                       "a certificate needs costs and the names of their units");
    const popliner_pipeline pipeline = {.schedule = own.schedule,
                                        .recompute = own.recompute,
                                        .max_stages = 1,
                                        .copies = own.copies};
    PL_TRY(pl_pipeline_check(&pipeline, error));
    /* where stages choose, each way has costs of its own */
    if (own.recompute != POPLINER_RECOMPUTE_AUTO)
        PL_TRY(popliner_costs_check_pipeline(own.costs, &pipeline, error));
    PL_TRY(pl_solver_options_take(own.options, own.costs, &options, &input->own_listener, error));
    PL_TRY(pl_options_check(&options, popliner_costs_num_units(own.costs), NULL, error));
    options.option_names = NULL; /* need not outlive the call */
    *input = (pl_certificate_input){
        .options = &input->own_options,
        .own_options = options,
        .own_listener = input->own_listener,
        .pipeline = pl_pipeline_of_any_split(&pipeline),
        .num_units = popliner_costs_num_units(own.costs),
        .unit_names = own.unit_names,
        .time_unit = own.time_unit == NULL ? "cycles" : own.time_unit,
        .cycles_per_time_unit = own.cycles_per_time_unit == 0 ? 1 : own.cycles_per_time_unit,
        .cuts_per_unit = own.cuts_per_unit == 0 ? 1 : own.cuts_per_unit,
        .has_cycles = popliner_costs_has_cycles(own.costs),
        .costs = own.costs,
        .kv_bytes = own.costs->kv_bytes,
        .kv_tokens = own.costs->kv_tokens,
        .not_counted = own.costs->not_counted,
        .unit_kinds = own.costs->unit_kinds,
        .num_empty_units = count_empty_units(own.costs),
        .unit_order = own.costs->unit_order,
        .graph = own.costs->graph,
    };
    return pl_option_names_take(own.option_names, &input->option_names, error);
}

/* An input that may be shorter; it was checked. */
static popliner_certificate_input whole_input(const popliner_certificate_input *input) {
    popliner_certificate_input own = POPLINER_CERTIFICATE_INPUT_INIT;
    pl_struct_take(&own, sizeof own, input, "popliner_certificate_input", NULL);
    return own;
}

popliner_status pl_certificate_check_plan(const pl_certificate_input *input,
                                          const popliner_plan *plan, popliner_error *error) {
    if (plan == NULL || plan->num_units == 0 || plan->num_units == input->num_units)
        return POPLINER_OK;
    return pl_fail(error, POPLINER_ERROR_USAGE,
                   "the plan is of costs of %zu units, but these have %zu; give the costs that "
                   "were solved",
                   plan->num_units, input->num_units);
}

popliner_status popliner_certificate_create(const popliner_certificate_input *input,
                                            popliner_certificate **certificate,
                                            popliner_error *error) {
    pl_certificate_input own;
    *certificate = NULL;
    PL_TRY(pl_certificate_take_input(input, &own, error));
    if (input->plan == NULL)
        return pl_fail(error, POPLINER_ERROR_USAGE, "a certificate needs a plan");
    PL_TRY(pl_certificate_check_plan(&own, input->plan, error));
    PL_TRY(pl_certificate_create(&own, whole_input(input).is_evaluation, input->plan, NULL,
                                 certificate, error));
    popliner_plan_free(input->plan);
    return POPLINER_OK;
}

void popliner_certificate_free(popliner_certificate *callers) {
    pl_certificate *c = (pl_certificate *)callers;
    if (c == NULL)
        return;
    pl_plan_clear(&c->plan);
    pl_arrays_free(&c->arrays);
    pl_owned_options_free(&c->options);
    popliner_costs_free(c->costs);
    pl_messages_clear(&c->messages);
    free(c);
}

const char *pl_certificate_status(const popliner_plan *plan) {
    static const char *const states[] = {"optimal", "feasible", "infeasible"};
    const bool is_unknown = plan->status == POPLINER_PLAN_INFEASIBLE &&
                            plan->infeasibility.obstacle == POPLINER_OBSTACLE_UNKNOWN &&
                            plan->proof == POPLINER_PROOF_NONE;
    return is_unknown ? "unknown" : states[plan->status];
}
