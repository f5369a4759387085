/* Plans as rows of a table, or as objects: of sweeps, of the best compromises, of replicas.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "answer/certificate_data.h"
#include "base/sheet.h"
#include "base/structs.h"
#include "base/text.h"
#include "popliner/replicas.h"
#include "solve/objective.h"
#include "solve/step.h"

/* The plan as a certificate of which nothing is measured. */
static pl_certificate of_plan(const pl_certificate_input *names, const popliner_plan *plan) {
    pl_certificate c = {.input = *names, .plan = *plan};
    return c;
}

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

/* The columns of a plan; of what it has no values, nothing is known. */
static void add_plan(const pl_certificate_input *names, const popliner_plan *plan,
                     pl_sheet *sheet) {
    static const popliner_objective usual[] = {POPLINER_OBJECTIVE_MEMORY,
                                               POPLINER_OBJECTIVE_TRAFFIC};
    static const popliner_plan none = {0};
    const pl_certificate c = of_plan(names, sheet->is_naming ? &none : plan);
    const size_t num_objectives = names->options->num_objectives;
    const popliner_objective *objectives = num_objectives > 0 ? names->options->objectives : usual;
    PL_COLUMN(sheet, text, "status", pl_certificate_status(plan));
    for (size_t i = 0; i < (num_objectives > 0 ? num_objectives : 2); i++) {
        const popliner_plan_value *own = NULL;
        for (size_t k = 0; own == NULL && k < c.plan.num_values; k++)
            own = c.plan.values[k].objective == objectives[i] ? &c.plan.values[k] : NULL;
        PL_COLUMN(sheet, known_ratio, pl_objective_name(objectives[i]), own != NULL,
                  own != NULL ? own->value : 0,
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

/* Where the object of a plan differs from that of its certificate. */
typedef struct row_facts {
    bool is_of_costs; /* the costs of the names are those of the plan */
    bool has_cycles;
    uint64_t limit_bytes; /* of each IPU; POPLINER_TARGET_BYTES: that of the options */
    popliner_pipeline_step step;
    const uint64_t *reduced_bytes; /* [num_stages]: that replicas add up; NULL: there are none */
    const char *status;            /* NULL: that of the plan, and its bounds */
    bool is_stopped;               /* with a status */
} row_facts;

/* Puts the members of a plan, which stays the caller's. */
static popliner_status put_plan(const pl_certificate_input *names, const popliner_plan *plan,
                                const row_facts *facts, pl_json *json, popliner_error *error) {
    pl_certificate_input input = *names;
    popliner_solver_options options = *names->options;
    popliner_certificate *certificate = NULL;
    popliner_plan lent = *plan;
    if (facts->limit_bytes != POPLINER_TARGET_BYTES)
        options.mem_per_tile = facts->limit_bytes;
    input.options = &options;
    input.costs = facts->is_of_costs ? names->costs : NULL;
    input.has_cycles = facts->has_cycles;
    popliner_status status = pl_certificate_create(&input, false, &lent, NULL, &certificate, error);
    if (status != POPLINER_OK)
        return status;
    pl_certificate *c = (pl_certificate *)certificate;
    c->info.step = facts->step;
    c->reduced_bytes = facts->reduced_bytes;
    c->has_no_bounds = facts->status != NULL;
    c->plan.is_stopped = facts->status != NULL ? facts->is_stopped : c->plan.is_stopped;
    pl_certificate_step_json(&facts->step, input.cycles_per_time_unit, json);
    pl_certificate_plan_json(c, facts->status != NULL ? facts->status : pl_certificate_status(plan),
                             json);
    c->plan = (popliner_plan){0};
    popliner_certificate_free(certificate);
    return POPLINER_OK;
}

/* ---- what the reports share ---- */

/* A report of several plans: of what, and how a plan of them is found and written. */
typedef struct report {
    const void *of;
    size_t num_plans;
    const popliner_plan *(*plan_at)(const void *of, size_t i);
    void (*add_row)(const void *of, size_t i, const pl_certificate_input *names, pl_sheet *sheet);
    popliner_status (*put)(const void *of, const pl_certificate_input *names, pl_json *json,
                           popliner_error *error);
} report;

/* Takes the objectives of the first plan that has values: without those of the caller they depend
 * on the limits, which a range sets for each of its values. */
static void take_objectives(const report *r, popliner_objective *objectives,
                            popliner_solver_options *options) {
    for (size_t i = 0; i < r->num_plans; i++) {
        const popliner_plan *plan = r->plan_at(r->of, i);
        if (plan == NULL || plan->num_values == 0)
            continue;
        for (size_t k = 0; k < plan->num_values; k++)
            objectives[k] = plan->values[k].objective;
        options->objectives = objectives;
        options->num_objectives = plan->num_values;
        return;
    }
}

/* Writes a report, with what the caller says of the costs. */
static popliner_status write_report(const report *r, const popliner_certificate_input *names,
                                    popliner_format format, char **result, popliner_error *error) {
    pl_certificate_input input;
    popliner_solver_options options;
    popliner_listener listener;
    popliner_objective objectives[POPLINER_NUM_OBJECTIVES];
    pl_text text = {0};
    pl_sheet sheet;
    *result = NULL;
    popliner_status status = pl_certificate_take_input(names, &input, &options, &listener, error);
    for (size_t i = 0; status == POPLINER_OK && i < r->num_plans; i++)
        status = pl_certificate_check_plan(&input, r->plan_at(r->of, i), error);
    if (status != POPLINER_OK)
        return status;
    take_objectives(r, objectives, &options);
    if (format == POPLINER_FORMAT_JSON) {
        status = r->put(r->of, &input, &(pl_json){.text = &text}, error);
        return pl_text_finish_printable(&text, status, result, error);
    }
    pl_sheet_begin(&sheet, format, "");
    r->add_row(r->of, 0, &input, &sheet);
    pl_sheet_end_names(&sheet);
    for (size_t i = 0; i < r->num_plans; i++)
        r->add_row(r->of, i, &input, &sheet);
    return pl_sheet_finish(&sheet, POPLINER_OK, result, error);
}

/* ---- sweeps ---- */

static const popliner_plan *sweep_plan_at(const void *of, size_t i) {
    const popliner_sweep *sweep = of;
    return sweep->plans[i];
}

static void add_sweep_row(const void *of, size_t i, const pl_certificate_input *names,
                          pl_sheet *sheet) {
    const popliner_sweep *sweep = of;
    PL_COLUMN(sheet, number, sweep->what, sweep->values[i]);
    add_plan(names, sheet->is_naming ? NULL : sweep->plans[i], sheet);
}

/* ---- the best compromises ---- */

static const popliner_plan *pareto_plan_at(const void *of, size_t i) {
    const popliner_pareto *summary = of;
    return summary->plans[i];
}

static void add_pareto_row(const void *of, size_t i, const pl_certificate_input *names,
                           pl_sheet *sheet) {
    add_plan(names, sheet->is_naming ? NULL : pareto_plan_at(of, i), sheet);
}

/* Writes what the objects of fronts begin with. */
static void open_front(const char *const objectives[2], bool is_complete,
                       const pl_certificate_input *names, pl_json *json) {
    pl_put_open(json, NULL, '{');
    pl_put_texts(json, "pareto", objectives, 2);
    pl_put_flag(json, "complete", is_complete);
    pl_put_text(json, "order", names->unit_order);
    pl_put_text(json, "time_unit", names->time_unit);
    pl_put_open(json, "results", '[');
}

static popliner_status put_pareto(const void *of, const pl_certificate_input *names, pl_json *json,
                                  popliner_error *error) {
    const popliner_pareto *summary = of;
    popliner_status status = POPLINER_OK;
    const char *const objectives[] = {pl_objective_name(summary->objectives[0]),
                                      pl_objective_name(summary->objectives[1])};
    open_front(objectives, summary->is_complete, names, json);
    for (size_t i = 0; status == POPLINER_OK && i < summary->num_points; i++) {
        const row_facts facts = {.is_of_costs = true,
                                 .has_cycles = names->has_cycles,
                                 .limit_bytes = POPLINER_TARGET_BYTES,
                                 .step = step_of(names, summary->plans[i])};
        pl_put_open(json, NULL, '{');
        status = put_plan(names, summary->plans[i], &facts, json, error);
        pl_put_close(json);
    }
    pl_put_close(json);
    pl_put_close(json);
    return status;
}

popliner_status popliner_report_pareto(const popliner_pareto *pareto,
                                       const popliner_certificate_input *names,
                                       popliner_format format, char **result,
                                       popliner_error *error) {
    const report r = {pareto, pareto->num_points, pareto_plan_at, add_pareto_row, put_pareto};
    return write_report(&r, names, format, result, error);
}

/* ---- replicas ---- */

/* Micro-batches in a unit of time; 0 if the time is unknown. */
static double throughput(const popliner_replicas_candidate *c, uint64_t divisor) {
    double step = (double)c->step_cycles / (double)divisor;
    return c->step_cycles == 0 || c->step_cycles == UINT64_MAX
               ? 0.0
               : (double)c->num_replicas * (double)c->micro_batches / step;
}

/* Returns a share with four digits. */
static pl_text share_text(double share) {
    pl_text text = {0};
    pl_text_format(&text, "%.4f", share);
    return text;
}

static const popliner_replicas_candidate no_candidate = {0};

/* Returns the status of a number of stages, unknown if it was not tried. */
static const char *tried_status(const popliner_replicas_candidate *c, bool is_tried) {
    return !is_tried              ? "unknown"
           : c->num_replicas == 0 ? "infeasible"
           : c->is_proven         ? "optimal"
                                  : "feasible";
}

static const popliner_plan *candidate_plan_at(const void *of, size_t i) {
    const popliner_replicas *summary = of;
    return summary->candidates[i].plan;
}

/* Adds the columns of a candidate; one that is impossible has the status alone. `best`: whether it
 * is that; NULL: without this column. */
static void add_pipeline(const popliner_replicas_candidate *c, const char *status, const char *best,
                         const pl_certificate_input *names, pl_sheet *sheet) {
    const bool is_had = c->num_replicas > 0;
    const bool has_step = is_had && c->step.order != NULL;
    const uint64_t divisor = names->cycles_per_time_unit;
    pl_text shown = {0};
    if (is_had)
        pl_text_format(&shown, "%.9g", throughput(c, divisor));
    PL_COLUMN(sheet, number, "stages", c->num_ipus);
    PL_COLUMN(sheet, number, "replicas", c->num_replicas);
    PL_COLUMN(sheet, number, "ipus", c->num_ipus * c->num_replicas);
    PL_COLUMN(sheet, text, "status", status);
    if (best != NULL)
        PL_COLUMN(sheet, text, "best", best);
    PL_COLUMN(sheet, known, "micro_batches", is_had, c->micro_batches);
    PL_COLUMN(sheet, known, "parameters", is_had, c->parameter_bytes);
    PL_COLUMN(sheet, known_ratio, "cycles", is_had, c->cycles, divisor);
    PL_COLUMN(sheet, known_ratio, "pipeline_cycles", is_had, c->pipeline_cycles, divisor);
    PL_COLUMN(sheet, known_ratio, "all_reduce", is_had, c->reduce_cycles, divisor);
    PL_COLUMN(sheet, known_ratio, "step_cycles", is_had, c->step_cycles, divisor);
    PL_COLUMN(sheet, made, "throughput", shown);
    PL_COLUMN(sheet, made, "idle_share", has_step ? share_text(c->step.idle_share) : (pl_text){0});
    PL_COLUMN(sheet, made, "gap", is_had ? share_text(c->gap) : (pl_text){0});
    add_split(names, is_had ? c->plan : NULL, sheet);
}

static void add_candidate(const void *of, size_t i, const pl_certificate_input *names,
                          pl_sheet *sheet) {
    const popliner_replicas *summary = of;
    const popliner_replicas_candidate *c =
        sheet->is_naming ? &no_candidate : &summary->candidates[i];
    if (summary->is_front)
        PL_COLUMN(sheet, number, "memory", sheet->is_naming ? 0 : c->plan->peak_bytes);
    const char *best = summary->is_front ? NULL : i == summary->best ? "yes" : "no";
    add_pipeline(c, tried_status(c, c->plan != NULL), best, names, sheet);
}

/* A candidate of a summary. What is proven of it is its throughput. */
static popliner_status put_candidate(const char *name, const popliner_replicas *summary,
                                     const popliner_replicas_candidate *c,
                                     const pl_certificate_input *names, uint64_t limit_bytes,
                                     pl_json *json, popliner_error *error) {
    static const popliner_plan none = {.status = POPLINER_PLAN_INFEASIBLE};
    const uint64_t divisor = names->cycles_per_time_unit;
    const bool is_had = c->num_replicas > 0;
    const row_facts facts = {.has_cycles = true,
                             .limit_bytes = limit_bytes,
                             .step = c->step,
                             .reduced_bytes = c->stage_parameter_bytes,
                             .status = tried_status(c, c->plan != NULL),
                             .is_stopped = summary->is_stopped};
    pl_put_open(json, name, '{');
    pl_put_number(json, "num_ipus", c->num_ipus);
    pl_put_number(json, "replicas", c->num_replicas);
    pl_certificate_known_json(json, "micro_batches", is_had, c->micro_batches, 1);
    pl_certificate_known_json(json, "reduced_bytes", is_had, c->parameter_bytes, 1);
    pl_certificate_known_json(json, "pipeline_cycles", is_had, c->pipeline_cycles, divisor);
    pl_certificate_known_json(json, "all_reduce_cycles", is_had, c->reduce_cycles, divisor);
    pl_certificate_known_json(json, "step_cycles", is_had, c->step_cycles, divisor);
    pl_put_real(json, "throughput", is_had ? throughput(c, divisor) : (double)NAN);
    pl_put_real(json, "gap", is_had ? c->gap : (double)NAN);
    popliner_status status =
        put_plan(names, c->plan != NULL ? c->plan : &none, &facts, json, error);
    pl_put_close(json);
    return status;
}

static popliner_status put_replicas(const void *of, const pl_certificate_input *names,
                                    pl_json *json, popliner_error *error) {
    const popliner_replicas *summary = of;
    popliner_status status = POPLINER_OK;
    /* why nothing fits, as a certificate of it would have it */
    pl_certificate reason = {.input = *names};
    if (summary->reason != NULL)
        reason.plan = *summary->reason;
    pl_put_open(json, NULL, '{');
    pl_put_text(json, "order", names->unit_order);
    pl_put_text(json, "time_unit", names->time_unit);
    pl_put_flag(json, "stopped", summary->is_stopped);
    pl_put_index(json, "best", summary->best);
    pl_put_open(json, "candidates", '[');
    for (size_t i = 0; status == POPLINER_OK && i < summary->num_candidates; i++)
        status = put_candidate(NULL, summary, &summary->candidates[i], names, POPLINER_TARGET_BYTES,
                               json, error);
    pl_put_close(json);
    pl_put_index(json, "closest", summary->closest);
    pl_certificate_infeasibility_json(&reason, json);
    pl_put_close(json);
    return status;
}

static popliner_status put_points(const void *of, const pl_certificate_input *names, pl_json *json,
                                  popliner_error *error) {
    static const char *const objectives[] = {"throughput", "memory"};
    const popliner_replicas *summary = of;
    popliner_status status = POPLINER_OK;
    open_front(objectives, summary->is_proven, names, json);
    for (size_t i = 0;
         status == POPLINER_OK && summary->best < SIZE_MAX && i < summary->num_candidates; i++)
        status = put_candidate(NULL, summary, &summary->candidates[i], names, POPLINER_TARGET_BYTES,
                               json, error);
    pl_put_close(json);
    pl_put_close(json);
    return status;
}

popliner_status popliner_report_replicas(const popliner_replicas *replicas,
                                         const popliner_certificate_input *names,
                                         popliner_format format, char **result,
                                         popliner_error *error) {
    const bool is_empty = replicas->is_front && replicas->best == SIZE_MAX;
    const report r = {replicas, is_empty ? 0 : replicas->num_candidates, candidate_plan_at,
                      add_candidate, replicas->is_front ? put_points : put_replicas};
    return write_report(&r, names, format, result, error);
}

/* ---- sweeps of replicas ---- */

/* Returns the best pipeline for a value; NULL: there is none. */
static const popliner_replicas_candidate *best_at(const popliner_sweep *sweep, size_t i) {
    const popliner_replicas *summary = sweep->replicas[i];
    return summary->best < summary->num_candidates ? &summary->candidates[summary->best] : NULL;
}

static const popliner_plan *best_plan_at(const void *of, size_t i) {
    const popliner_replicas_candidate *best = best_at(of, i);
    return best == NULL ? NULL : best->plan;
}

static void add_best(const void *of, size_t i, const pl_certificate_input *names, pl_sheet *sheet) {
    const popliner_sweep *sweep = of;
    const popliner_replicas_candidate *best = sheet->is_naming ? NULL : best_at(sweep, i);
    const bool is_tried = best != NULL || sheet->is_naming || !sweep->replicas[i]->is_stopped;
    if (best == NULL)
        best = &no_candidate;
    PL_COLUMN(sheet, number, sweep->what, sweep->values[i]);
    add_pipeline(best, tried_status(best, is_tried), NULL, names, sheet);
}

uint64_t pl_sweep_limit(const popliner_sweep *sweep, size_t i, const pl_certificate_input *names) {
    uint64_t limit_bytes = POPLINER_TARGET_BYTES;
    if (sweep->is_of_memory)
        popliner_reserve_limit(names->options, SIZE_MAX, sweep->values[i], &limit_bytes);
    return limit_bytes;
}

/* False where the copies of stages, and so their costs, depend on the number of IPUs of a map. */
static bool have_rows_equal_costs(const popliner_sweep *sweep, const pl_certificate_input *names) {
    const popliner_copies *copies = &names->pipeline.copies;
    return sweep->is_of_memory || names->options->num_mapped_stages == 0 ||
           copies->rule == POPLINER_COPIES_LIST || popliner_copies_max_stages(copies) == SIZE_MAX;
}

static popliner_status put_row(const popliner_sweep *sweep, size_t i,
                               const pl_certificate_input *names, pl_json *json,
                               popliner_error *error) {
    const uint64_t limit_bytes = pl_sweep_limit(sweep, i, names);
    if (sweep->replicas == NULL) {
        const row_facts facts = {.is_of_costs = have_rows_equal_costs(sweep, names),
                                 .has_cycles = names->has_cycles,
                                 .limit_bytes = limit_bytes,
                                 .step = step_of(names, sweep->plans[i])};
        return put_plan(names, sweep->plans[i], &facts, json, error);
    }
    const popliner_replicas_candidate *best = best_at(sweep, i);
    pl_put_flag(json, "stopped", sweep->replicas[i]->is_stopped);
    if (best != NULL)
        return put_candidate("best", sweep->replicas[i], best, names, limit_bytes, json, error);
    pl_put_null(json, "best");
    return POPLINER_OK;
}

static popliner_status put_sweep(const void *of, const pl_certificate_input *names, pl_json *json,
                                 popliner_error *error) {
    const popliner_sweep *sweep = of;
    popliner_status status = POPLINER_OK;
    pl_put_open(json, NULL, '{');
    pl_put_text(json, "sweep", sweep->what);
    pl_put_text(json, "order", names->unit_order);
    pl_put_text(json, "time_unit", names->time_unit);
    pl_put_open(json, "results", '[');
    for (size_t i = 0; status == POPLINER_OK && i < sweep->num_values; i++) {
        pl_put_open(json, NULL, '{');
        pl_put_number(json, "value", sweep->values[i]);
        status = put_row(sweep, i, names, json, error);
        pl_put_close(json);
    }
    pl_put_close(json);
    pl_put_close(json);
    return status;
}

popliner_status popliner_report_sweep(const popliner_sweep *sweep,
                                      const popliner_certificate_input *names,
                                      popliner_format format, char **result,
                                      popliner_error *error) {
    popliner_sweep own = POPLINER_SWEEP_INIT;
    *result = NULL;
    popliner_status status = pl_struct_take(&own, sizeof own, sweep, "popliner_sweep", error);
    const report r = own.replicas != NULL
                         ? (report){&own, own.num_values, best_plan_at, add_best, put_sweep}
                         : (report){&own, own.num_values, sweep_plan_at, add_sweep_row, put_sweep};
    return status == POPLINER_OK ? write_report(&r, names, format, result, error) : status;
}
