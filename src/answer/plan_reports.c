/* Plans as rows of a table, or as objects: of sweeps, of the best compromises, of replicas.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>
#include <stdlib.h>

#include "answer/certificate_data.h"
#include "base/sheet.h"
#include "base/structs.h"
#include "base/text.h"
#include "solve/objective.h"
#include "solve/step.h"

/* The units of all stages. */
static pl_text split_text(const pl_certificate_input *names, const popliner_plan *plan) {
    pl_text line = {0};
    pl_certificate_add_line(&line, plan, names->unit_names);
    return line;
}

/* Adds the stages, and what each chose if they choose. */
static void add_split(const pl_certificate_input *names, const popliner_plan *plan,
                      pl_sheet *sheet) {
    PL_COLUMN(sheet, made, "split", plan != NULL ? split_text(names, plan) : (pl_text){0});
    if (names->pipeline.recompute == POPLINER_RECOMPUTE_AUTO)
        PL_COLUMN(sheet, made, "recompute",
                  plan != NULL ? pl_certificate_choices(plan) : (pl_text){0});
}

/* Returns the step of a plan; without an order if it is unknown. */
static popliner_pipeline_step step_of(const pl_certificate_input *names,
                                      const popliner_plan *plan) {
    popliner_pipeline_step step = {.num_micro_batches = names->pipeline.copies.num_micro_batches};
    popliner_error ignored;
    if (plan->num_stages > 0 && pl_step_find(plan, names->options, &names->pipeline, names->costs,
                                             &step, &ignored) != POPLINER_OK)
        step.order = NULL;
    return step;
}

/* ---- the splits of a range, of a front, of replicas ---- */

/* The limit of a row of a range, less the reserve; POPLINER_TARGET_BYTES: that of the options. */
static uint64_t sweep_limit(const popliner_sweep *sweep, size_t i,
                            const pl_certificate_input *names) {
    uint64_t limit_bytes = POPLINER_TARGET_BYTES;
    if (sweep->is_of_memory)
        popliner_reserve_limit(names->options, SIZE_MAX, sweep->values[i], &limit_bytes);
    return limit_bytes;
}

size_t pl_listed_splits_count(const popliner_split_table *of) {
    return of->sweep != NULL    ? of->sweep->num_values
           : of->pareto != NULL ? of->pareto->num_points
                                : of->replicas->num_candidates;
}

/* Returns the status of a number of stages, unknown if it was not tried. */
static const char *tried_status(const popliner_replicas_candidate *c, bool is_tried) {
    return !is_tried              ? "unknown"
           : c->num_replicas == 0 ? "infeasible"
           : c->is_proven         ? "optimal"
                                  : "feasible";
}

pl_listed_split pl_listed_split_at(const popliner_split_table *of, size_t i,
                                   const pl_certificate_input *names) {
    static const popliner_replicas_candidate none = {0};
    const popliner_sweep *sweep = of->sweep;
    pl_listed_split own = {.summary = of->replicas, .limit_bytes = POPLINER_TARGET_BYTES};
    if (sweep != NULL) {
        own.summary = sweep->replicas == NULL ? NULL : sweep->replicas[i];
        own.limit_bytes = sweep_limit(sweep, i, names);
    }
    const size_t at = sweep != NULL && own.summary != NULL ? own.summary->best : i;
    if (own.summary == NULL) {
        own.plan = sweep != NULL ? sweep->plans[i] : of->pareto->plans[i];
        own.status = pl_certificate_status(own.plan);
    } else if (at < own.summary->num_candidates) {
        own.candidate = &own.summary->candidates[at];
        own.plan = own.candidate->plan;
        own.status = tried_status(own.candidate, sweep != NULL || own.plan != NULL);
    } else {
        own.status = tried_status(&none, !own.summary->is_stopped);
    }
    return own;
}

static bool has_replicas(const popliner_split_table *of) {
    return of->replicas != NULL || (of->sweep != NULL && of->sweep->replicas != NULL);
}

static bool is_front(const popliner_split_table *of) {
    return of->pareto != NULL || (of->replicas != NULL && of->replicas->is_front);
}

/* False where the copies of stages, and so their costs, depend on the number of IPUs of a map. */
static bool have_rows_equal_costs(const popliner_sweep *sweep, const pl_certificate_input *names) {
    const popliner_copies *copies = &names->pipeline.copies;
    return sweep->is_of_memory || names->options->num_mapped_stages == 0 ||
           copies->rule == POPLINER_COPIES_LIST || popliner_copies_max_stages(copies) == SIZE_MAX;
}

double pl_listed_throughput(const popliner_replicas_candidate *c, uint64_t divisor) {
    double step = (double)c->step_cycles / (double)divisor;
    return c->step_cycles == 0 || c->step_cycles == UINT64_MAX
               ? 0.0
               : (double)c->num_replicas * (double)c->micro_batches / step;
}

/* ---- a table ---- */

/* Writes a time, whose column ends with the name of its unit. */
static void add_time(const char *what, bool is_known, uint64_t time,
                     const pl_certificate_input *names, pl_sheet *sheet) {
    pl_text name = {0};
    pl_text_format(&name, "%s%s", what, names->time_unit);
    PL_COLUMN(sheet, known_ratio, pl_text_string(&name), is_known, time,
              names->cycles_per_time_unit);
    sheet->text.failed = sheet->text.failed || name.failed;
    free(name.data);
}

/* The columns of a plan; of what it has no values, nothing is known. */
static void add_plan(const pl_certificate_input *names, const popliner_plan *plan,
                     pl_sheet *sheet) {
    static const popliner_objective usual[] = {POPLINER_OBJECTIVE_MEMORY,
                                               POPLINER_OBJECTIVE_TRAFFIC};
    static const popliner_plan none = {0};
    const pl_certificate c = {.input = *names, .plan = sheet->is_naming ? none : *plan};
    const size_t num_objectives = names->options->num_objectives;
    const popliner_objective *objectives = num_objectives > 0 ? names->options->objectives : usual;
    PL_COLUMN(sheet, text, "status", pl_certificate_status(plan));
    for (size_t i = 0; i < (num_objectives > 0 ? num_objectives : 2); i++) {
        const popliner_plan_value *own = NULL;
        for (size_t k = 0; own == NULL && k < c.plan.num_values; k++)
            own = c.plan.values[k].objective == objectives[i] ? &c.plan.values[k] : NULL;
        PL_COLUMN(sheet, known_ratio,
                  objectives[i] == POPLINER_OBJECTIVE_CYCLES ? names->time_unit
                                                             : pl_objective_name(objectives[i]),
                  own != NULL, own != NULL ? own->value : 0,
                  own != NULL ? pl_certificate_divisor(&c, own->objective) : 1);
    }
    PL_COLUMN(sheet, number, "used", plan->num_ipus);
    if (names->pipeline.copies.num_micro_batches > 0) {
        const popliner_pipeline_step step = step_of(names, &c.plan);
        PL_COLUMN(sheet, known_ratio, "step", step.order != NULL, step.cycles,
                  names->cycles_per_time_unit);
    }
    add_split(names, plan, sheet);
}

/* Adds the columns of a candidate; one that is impossible has the status alone. `best`: whether it
 * is that; NULL: without this column. */
static void add_pipeline(const pl_listed_split *own, const char *best,
                         const pl_certificate_input *names, pl_sheet *sheet) {
    static const popliner_replicas_candidate none = {0};
    const popliner_replicas_candidate *c = own->candidate == NULL ? &none : own->candidate;
    const bool is_had = c->num_replicas > 0;
    const bool has_step = is_had && c->step.order != NULL;
    const uint64_t divisor = names->cycles_per_time_unit;
    PL_COLUMN(sheet, number, "stages", c->num_ipus);
    PL_COLUMN(sheet, number, "replicas", c->num_replicas);
    PL_COLUMN(sheet, number, "ipus", c->num_ipus * c->num_replicas);
    PL_COLUMN(sheet, text, "status", own->status);
    if (best != NULL)
        PL_COLUMN(sheet, text, "best", best);
    PL_COLUMN(sheet, known, "micro_batches", is_had, c->micro_batches);
    PL_COLUMN(sheet, known, "parameters", is_had, c->parameter_bytes);
    add_time("", is_had, c->cycles, names, sheet);
    add_time("pipeline_", is_had, c->pipeline_cycles, names, sheet);
    PL_COLUMN(sheet, known_ratio, "all_reduce", is_had, c->reduce_cycles, divisor);
    add_time("step_", is_had, c->step_cycles, names, sheet);
    PL_COLUMN(sheet, made, "throughput",
              is_had ? pl_text_of("%.9g", pl_listed_throughput(c, divisor)) : (pl_text){0});
    PL_COLUMN(sheet, share, "idle_share", has_step, c->step.idle_share);
    PL_COLUMN(sheet, share, "gap", is_had, c->gap);
    add_split(names, is_had ? c->plan : NULL, sheet);
}

static void add_row(const popliner_split_table *of, size_t i, const pl_certificate_input *names,
                    pl_sheet *sheet) {
    static const pl_listed_split nothing = {0};
    const pl_listed_split own = sheet->is_naming ? nothing : pl_listed_split_at(of, i, names);
    const bool has_best = of->sweep == NULL && !is_front(of);
    if (of->sweep != NULL)
        PL_COLUMN(sheet, number, of->sweep->what, of->sweep->values[i]);
    if (!has_replicas(of)) {
        add_plan(names, own.plan, sheet);
        return;
    }
    if (is_front(of))
        PL_COLUMN(sheet, number, "memory", own.plan->peak_bytes);
    add_pipeline(&own, !has_best ? NULL : i == of->replicas->best ? "yes" : "no", names, sheet);
}

/* ---- JSON ---- */

/* The members of a candidate; what is proven of it is its throughput. */
static void put_candidate(const popliner_replicas_candidate *c, uint64_t divisor, pl_json *json) {
    const bool is_had = c->num_replicas > 0;
    pl_put_number(json, "num_ipus", c->num_ipus);
    pl_put_number(json, "replicas", c->num_replicas);
    pl_certificate_known_json(json, "micro_batches", is_had, c->micro_batches, 1);
    pl_certificate_known_json(json, "reduced_bytes", is_had, c->parameter_bytes, 1);
    pl_certificate_known_json(json, "pipeline_cycles", is_had, c->pipeline_cycles, divisor);
    pl_certificate_known_json(json, "all_reduce_cycles", is_had, c->reduce_cycles, divisor);
    pl_certificate_known_json(json, "step_cycles", is_had, c->step_cycles, divisor);
    pl_put_real(json, "throughput", is_had ? pl_listed_throughput(c, divisor) : (double)NAN);
    pl_put_real(json, "gap", is_had ? c->gap : (double)NAN);
}

/* Puts the members of a plan, which stays the caller's, as a certificate has them. */
static popliner_status put_plan(const popliner_split_table *of, const pl_listed_split *own,
                                const pl_certificate_input *names, pl_json *json,
                                popliner_error *error) {
    static const popliner_plan none = {.status = POPLINER_PLAN_INFEASIBLE};
    const popliner_replicas_candidate *candidate = own->candidate;
    pl_certificate_input input = *names;
    popliner_solver_options options = *names->options;
    popliner_certificate *certificate = NULL;
    popliner_plan lent = own->plan != NULL ? *own->plan : none;
    if (own->limit_bytes != POPLINER_TARGET_BYTES)
        options.mem_per_tile = own->limit_bytes;
    input.options = &options;
    if (candidate != NULL || (of->sweep != NULL && !have_rows_equal_costs(of->sweep, names)))
        input.costs = NULL;
    input.has_cycles = candidate != NULL || names->has_cycles;
    PL_TRY(pl_certificate_create(&input, false, &lent, NULL, &certificate, error));
    pl_certificate *c = (pl_certificate *)certificate;
    c->info.step = candidate != NULL ? candidate->step : step_of(names, own->plan);
    if (candidate != NULL) {
        c->reduced_bytes = candidate->stage_parameter_bytes;
        c->has_no_bounds = true;
        c->plan.is_stopped = own->summary->is_stopped;
    }
    pl_certificate_step_json(&c->info.step, input.cycles_per_time_unit, json);
    pl_certificate_plan_json(c, own->status, json);
    c->plan = (popliner_plan){0};
    popliner_certificate_free(certificate);
    return POPLINER_OK;
}

static popliner_status put_split(const popliner_split_table *of, size_t i,
                                 const pl_certificate_input *names, pl_json *json,
                                 popliner_error *error) {
    const pl_listed_split own = pl_listed_split_at(of, i, names);
    const bool is_within = of->sweep != NULL && own.summary != NULL; /* the object of its value */
    popliner_status status = POPLINER_OK;
    pl_put_open(json, NULL, '{');
    if (of->sweep != NULL)
        pl_put_number(json, "value", of->sweep->values[i]);
    if (is_within)
        pl_put_flag(json, "stopped", own.summary->is_stopped);
    if (!is_within || pl_put_open_if(json, own.candidate != NULL, "best", '{')) {
        if (own.candidate != NULL)
            put_candidate(own.candidate, names->cycles_per_time_unit, json);
        status = put_plan(of, &own, names, json, error);
        if (is_within)
            pl_put_close(json);
    }
    pl_put_close(json);
    return status;
}

static popliner_status put_splits(const popliner_split_table *of, size_t count,
                                  const pl_certificate_input *names, pl_json *json,
                                  popliner_error *error) {
    const popliner_pareto *pareto = of->pareto;
    const popliner_replicas *replicas = is_front(of) ? NULL : of->replicas;
    const char *const objectives[] = {
        pareto != NULL ? pl_objective_name(pareto->objectives[0]) : "throughput",
        pareto != NULL ? pl_objective_name(pareto->objectives[1]) : "memory"};
    popliner_status status = POPLINER_OK;
    pl_put_open(json, NULL, '{');
    if (of->sweep != NULL)
        pl_put_text(json, "sweep", of->sweep->what);
    if (is_front(of)) {
        pl_put_texts(json, "pareto", objectives, 2);
        pl_put_flag(json, "complete",
                    pareto != NULL ? pareto->is_complete : of->replicas->is_proven);
    }
    pl_put_text(json, "order", names->unit_order);
    pl_put_text(json, "time_unit", names->time_unit);
    if (replicas != NULL) {
        pl_put_flag(json, "stopped", replicas->is_stopped);
        pl_put_known(json, "best", replicas->best != SIZE_MAX, replicas->best);
    }
    pl_put_open(json, replicas != NULL ? "candidates" : "results", '[');
    for (size_t i = 0; status == POPLINER_OK && i < count; i++)
        status = put_split(of, i, names, json, error);
    pl_put_close(json);
    if (replicas != NULL) {
        /* why nothing fits, as a certificate of it would have it */
        pl_certificate reason = {.input = *names};
        if (replicas->reason != NULL)
            reason.plan = *replicas->reason;
        pl_put_known(json, "closest", replicas->closest != SIZE_MAX, replicas->closest);
        pl_certificate_infeasibility_json(&reason, json);
    }
    pl_put_close(json);
    return status;
}

/* ---- the reports ---- */

/* Takes the objectives of the first plan that has values: without those of the caller they depend
 * on the limits, which a range sets for each of its values. */
static void take_objectives(const popliner_split_table *of, size_t count,
                            const pl_certificate_input *names, popliner_objective *objectives,
                            popliner_solver_options *options) {
    for (size_t i = 0; i < count; i++) {
        const popliner_plan *plan = pl_listed_split_at(of, i, names).plan;
        if (plan == NULL || plan->num_values == 0)
            continue;
        for (size_t k = 0; k < plan->num_values; k++)
            objectives[k] = plan->values[k].objective;
        options->objectives = objectives;
        options->num_objectives = plan->num_values;
        return;
    }
}

popliner_status popliner_report_splits(const popliner_split_table *callers,
                                       const popliner_certificate_input *names,
                                       popliner_format format, char **result,
                                       popliner_error *error) {
    popliner_split_table of = POPLINER_SPLIT_TABLE_INIT;
    popliner_sweep sweep = POPLINER_SWEEP_INIT;
    pl_certificate_input input;
    popliner_objective objectives[POPLINER_NUM_OBJECTIVES];
    pl_text text = {0};
    pl_sheet sheet;
    *result = NULL;
    PL_TRY(pl_struct_take(&of, sizeof of, callers, "popliner_split_table", error));
    if (of.sweep != NULL) {
        PL_TRY(pl_struct_take(&sweep, sizeof sweep, of.sweep, "popliner_sweep", error));
        of.sweep = &sweep;
    }
    PL_TRY(pl_certificate_take_input(names, &input, error));
    const bool is_empty = of.replicas != NULL && is_front(&of) && of.replicas->best == SIZE_MAX;
    const size_t count = is_empty ? 0 : pl_listed_splits_count(&of);
    for (size_t i = 0; i < count; i++)
        PL_TRY(pl_certificate_check_plan(&input, pl_listed_split_at(&of, i, &input).plan, error));
    take_objectives(&of, count, &input, objectives, &input.own_options);
    if (format == POPLINER_FORMAT_JSON) {
        const popliner_status status =
            put_splits(&of, count, &input, &(pl_json){.text = &text}, error);
        return pl_text_finish(&text, status, result, error);
    }
    pl_sheet_begin(&sheet, format, "");
    add_row(&of, 0, &input, &sheet);
    pl_sheet_end_names(&sheet);
    for (size_t i = 0; i < count; i++)
        add_row(&of, i, &input, &sheet);
    return pl_sheet_finish(&sheet, POPLINER_OK, result, error);
}
