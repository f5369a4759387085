/* Several splits in one table: ranges, --pareto, and --total-ipus: how many stages, and how many
 * replicas; and --device-map replicas: how many devices each stage has.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "command/commands.h"

#include <stdlib.h>

#include "popliner/utilities.h"

/* ---- what replicas cost ---- */

/* A search, and where the costs of its pipelines come from. */
typedef struct search {
    session *s;
    popliner_costs *measured;           /* of a profile; with --total-ipus only their shape */
    popliner_replicas_options replicas; /* of --total-ipus */
    /* of a file whose costs are read for each pipeline: the last ones, and for which */
    popliner_costs_file *file;
    popliner_pipeline of_file;
} search;

/* The fewest IPUs of a pipeline: a V has two ends. */
static size_t least_ipus(const options *o) {
    const size_t least = o->device_map.is_v ? 2 : 1;
    return o->num_ipus.range.first > least ? (size_t)o->num_ipus.range.first : least;
}

/* The request, except for costs and parameters. The bandwidth was checked. */
static popliner_replicas_options ask(const options *o, const request *r) {
    popliner_replicas_options asked = POPLINER_REPLICAS_OPTIONS_INIT;
    asked.solver = &r->solver;
    asked.total_ipus = o->total_ipus;
    asked.micro_batches = o->micro_batches;
    asked.batch =
        o->batch.of_micro_batch > 0 ? o->batch.samples / o->batch.of_micro_batch : o->batch.samples;
    asked.chunks = options_chunks(o);
    asked.min_ipus = least_ipus(o);
    asked.is_v = o->device_map.is_v;
    asked.bandwidth_bytes = o->lists[LIST_LINKS].replicas.bytes;
    asked.is_front = o->pareto.count > 0;
    if (asked.bandwidth_bytes > 0)
        asked.bandwidth_cycles = o->lists[LIST_LINKS].replicas.cycles;
    return asked;
}

/* True if the costs of a pipeline are also those of another one: as many replicas divide them, no
 * stages share an IPU, and they store as many copies in each place, by the rule of the place. */
static bool are_copies_equal(const popliner_pipeline *one, const popliner_pipeline *other,
                             size_t num_stages) {
    bool are_equal = one->copies.rule == POPLINER_COPIES_1F1B && num_stages <= one->max_stages &&
                     one->recompute != POPLINER_RECOMPUTE_AUTO &&
                     one->num_replicas == other->num_replicas &&
                     other->copies.num_ipus == num_stages;
    for (size_t to_end = 1; are_equal && to_end <= num_stages; to_end++)
        are_equal =
            popliner_copies_at(&one->copies, to_end) == popliner_copies_at(&other->copies, to_end);
    return are_equal;
}

/* A popliner_replicas_costs. Reading is most of the time of long chains: it is done once for all
 * pipelines with equal costs. */
static popliner_status find_costs(void *user, size_t num_stages, size_t num_replicas,
                                  uint64_t num_micro_batches, const popliner_costs **costs,
                                  popliner_error *error) {
    search *own = user;
    const options *o = &own->s->options;
    const request *r = &own->s->request;
    const size_t most_stages = o->total_ipus < r->num_units ? o->total_ipus : r->num_units;
    popliner_pipeline pipeline = request_pipeline(r, num_stages);
    pipeline.num_replicas = own->s->file->has_sharded ? num_replicas : 0;
    pipeline.copies.num_stages = num_stages;
    pipeline.copies.num_ipus = num_stages / options_chunks(o);
    pipeline.copies.num_micro_batches = (size_t)num_micro_batches;
    if (own->file != NULL && are_copies_equal(&own->of_file, &pipeline, num_stages)) {
        *costs = own->file->costs;
        return POPLINER_OK;
    }
    if (pipeline.copies.rule == POPLINER_COPIES_1F1B && num_stages < most_stages &&
        pipeline.recompute != POPLINER_RECOMPUTE_AUTO)
        pipeline.max_stages = most_stages; /* also for longer pipelines */
    own->of_file = pipeline;
    popliner_costs_file_free(own->file);
    own->file = NULL;
    TRY(costs_read_again(own->s, &pipeline, &own->file, error));
    *costs = own->file->costs;
    return POPLINER_OK;
}

/* Warns of a bandwidth for which there are no parameters. */
static void warn_without_parameters(session *s) {
    if (s->options.lists[LIST_LINKS].replicas.bytes > 0)
        session_warn(s,
                     "--bandwidth replicas: no parameters are trained, so the all-reduce takes no "
                     "time.");
}

static bool has_parameters(const popliner_replicas *replicas) {
    for (size_t i = 0; i < replicas->num_candidates; i++)
        if (replicas->candidates[i].parameter_bytes > 0)
            return true;
    return replicas->best == SIZE_MAX;
}

popliner_status replicas_of_stages(session *s, popliner_plan **plan, popliner_error *error) {
    const popliner_solver_options *o = &s->request.solver;
    popliner_replicas_options asked = ask(&s->options, &s->request);
    if (o->num_ipu_limits + o->num_ipu_speeds + o->num_ipu_links > 0)
        return fail_usage(error,
                          "--device-map replicas: the costs have memories, speeds or links of "
                          "single devices; leave them out");
    if (s->file->parameter_bytes == NULL)
        warn_without_parameters(s);
    asked.parameter_bytes = s->file->parameter_bytes;
    solving_begin(s);
    return solving_end(s, NULL,
                       popliner_replicas_solve_stages(s->file->costs, &asked, plan, error));
}

/* ---- searching ---- */

/* Finds the costs, and what answers call things. */
static popliner_status begin(search *w, popliner_error *error) {
    static const popliner_pipeline unset = {.copies = POPLINER_COPIES_UNSET};
    session *s = w->s;
    const options *o = &s->options;
    const request *r = &s->request;
    const popliner_costs_file *file = s->file;
    if (o->total_ipus > 0) {
        const popliner_copies_rule rule = r->asked.copies.rule;
        w->replicas = ask(o, r);
        w->replicas.pipeline = file != NULL ? &r->pipeline : &unset;
        if (file != NULL)
            w->replicas.parameter_bytes = file->parameter_bytes;
        if (file != NULL && (file->has_sharded || (rule != POPLINER_COPIES_OF_SCHEDULE &&
                                                   rule != POPLINER_COPIES_LIST))) {
            w->replicas.costs = find_costs;
            w->replicas.costs_follow_replicas = file->has_sharded;
            w->replicas.costs_user = w;
        }
        if (file != NULL && file->parameter_bytes == NULL)
            warn_without_parameters(s);
    }
    if (file != NULL)
        return POPLINER_OK;
    if (o->total_ipus > 0) {
        const popliner_pipeline pipeline = request_pipeline(r, 1);
        /* reports ask them only how many units there are */
        TRY(popliner_costs_create(r->num_units, 1, &w->measured, error));
        TRY(popliner_costs_set_pipeline(w->measured, &pipeline, error));
    } else { /* once, for the most IPUs of a range */
        popliner_request asked = r->asked;
        popliner_solver_options solver = r->solver;
        asked.solver = &solver;
        if (o->sweep != NULL && o->sweep->of_ipus && o->sweep->last > solver.num_ipus)
            solver.num_ipus = (size_t)o->sweep->last;
        TRY(popliner_analysis_costs(s->analysis, &asked, &w->measured, error));
    }
    s->input = request_certificate_input(r, s, w->measured, NULL);
    if (o->total_ipus > 0)
        s->input.cycles_per_time_unit = 1;
    return POPLINER_OK;
}

static popliner_status solve_replicas(const search *w, const popliner_solver_options *o,
                                      popliner_replicas **replicas, popliner_error *error) {
    const session *s = w->s;
    popliner_replicas_options asked = w->replicas;
    popliner_request of_profile = s->request.asked;
    asked.solver = o;
    of_profile.solver = o;
    return s->file != NULL ? popliner_replicas_solve(s->file->costs, &asked, replicas, error)
                           : popliner_analysis_solve_replicas(s->analysis, &of_profile, &asked,
                                                              replicas, error);
}

/* Solves a row whose copies depend on its number of IPUs, by costs of its own. */
static popliner_status solve_with_copies(session *s, const popliner_solver_options *o,
                                         popliner_plan **plan, popliner_error *error) {
    popliner_request asked = s->request.asked;
    popliner_costs *measured = NULL;
    popliner_costs_file *file = NULL;
    asked.solver = o;
    popliner_copies_set_map(&asked.copies, o->device_map, o->num_mapped_stages);
    popliner_pipeline pipeline = request_pipeline(&s->request, o->num_mapped_stages);
    pipeline.copies = asked.copies;
    popliner_status status = s->file == NULL
                                 ? popliner_analysis_costs(s->analysis, &asked, &measured, error)
                                 : costs_read_again(s, &pipeline, &file, error);
    if (status == POPLINER_OK)
        status = popliner_solve(file != NULL ? file->costs : measured, o, plan, error);
    popliner_costs_free(measured);
    popliner_costs_file_free(file);
    return status;
}

/* Solves for one value of the range, by the costs of all. */
static popliner_status solve_row(search *w, uint64_t value, popliner_plan **plan,
                                 popliner_replicas **replicas, popliner_error *error) {
    session *s = w->s;
    const popliner_copies *copies = &s->request.asked.copies;
    const bool of_ipus = s->options.sweep->of_ipus;
    popliner_solver_options o = s->request.solver;
    size_t *map = NULL;
    if (of_ipus)
        o.num_ipus = (size_t)value;
    else
        TRY(request_less_reserve(&o, SIZE_MAX, value, &o.mem_per_tile, error));
    o.without_reasons = s->options.total_ipus > 0;
    if (s->options.total_ipus > 0)
        return solve_replicas(w, &o, replicas, error);
    o.without_second_proof = true;
    const bool is_mapped = of_ipus && o.num_mapped_stages > 0;
    if (is_mapped) {
        TRY(request_make_map(&s->options, o.num_ipus, &map, &o.num_mapped_stages, error));
        o.device_map = map;
    }
    const popliner_status status = is_mapped && copies->rule != POPLINER_COPIES_LIST &&
                                           popliner_copies_max_stages(copies) < SIZE_MAX
                                       ? solve_with_copies(s, &o, plan, error)
                                       : popliner_solve(s->input.costs, &o, plan, error);
    free(map);
    return status;
}

/* ---- telling ---- */

/* Warns unless a front of two objectives is known to have no more points than these. */
static void tell_front(session *s, size_t num_points, const char *first, const char *second,
                       bool is_complete, bool is_stopped) {
    if (!is_complete)
        session_warn(s,
                     "%s: there may be more than these %zu Pareto-optimal splits of %s and %s; one "
                     "that is only feasible may not be Pareto-optimal.",
                     is_stopped ? "Stopped" : "Not all is proven", num_points, first, second);
}

static popliner_status tell_why_no_pipeline(session *s, popliner_replicas *replicas,
                                            popliner_error *error) {
    const options *o = &s->options;
    popliner_option_names own_names = option_names;
    popliner_certificate_input input = s->input;
    const bool is_known = replicas->closest < SIZE_MAX;
    const size_t place = is_known ? replicas->closest : replicas->num_candidates - 1;
    const size_t num_ipus =
        replicas->num_candidates == 0 ? 0 : replicas->candidates[place].num_ipus;
    popliner_solver_options asked = s->request.solver;
    size_t *map = NULL;
    if (replicas->is_stopped)
        session_warn(s, "Stopped: no pipeline was found yet, and none is ruled out.");
    if (replicas->num_candidates == 0)
        session_warn(s, "There are only %zu units for the stages of a pipeline, at least %zu.",
                     s->request.num_units, options_chunks(o) * least_ipus(o));
    if (replicas->is_stopped || replicas->reason == NULL)
        return POPLINER_OK;
    if (options_chunks(o) > 1 || least_ipus(o) > 1)
        TRY(request_make_map(o, num_ipus, &map, &asked.num_mapped_stages, error));
    asked.device_map = map != NULL ? map : asked.device_map;
    if (o->num_ipus.number == 0) {
        own_names.num_ipus = "--total-ipus";
        own_names.constraints[POPLINER_CONSTRAINT_NUM_IPUS] = "total-ipus";
    } else if (replicas->reason->infeasibility.enough_stages > o->total_ipus) {
        own_names.num_ipus = "--total-ipus and --num-ipus"; /* one of them is not enough */
    }
    if (o->num_ipus.range.first > 1)
        own_names.constraints[POPLINER_CONSTRAINT_DEVICE_MAP] = "a least length";
    input.options = &asked;
    input.option_names = &own_names;
    input.plan = replicas->reason;
    replicas->reason = NULL; /* taken */
    if (is_known)
        session_warn(s, "A pipeline on %zu %s comes closest: what follows is of it.", num_ipus,
                     session_devices(s, num_ipus));
    const popliner_status status = answer_certify(s, &input, error);
    if (status == POPLINER_OK)
        answer_log(s);
    free(map);
    return status;
}

/* Whether the best pipeline, or any of a front, is known to fit. */
static bool replicas_fit(const session *s, const popliner_replicas *replicas) {
    bool fits = false;
    for (size_t i = 0; replicas->best != SIZE_MAX && !fits && i < replicas->num_candidates; i++)
        fits = (replicas->is_front || i == replicas->best) &&
               answer_fits(s, replicas->candidates[i].plan);
    return fits;
}

static popliner_status tell_replicas(session *s, popliner_replicas *replicas,
                                     popliner_error *error) {
    if (!replicas_fit(s, replicas))
        s->failed_softly = true;
    if (replicas->best == SIZE_MAX)
        return tell_why_no_pipeline(s, replicas, error);
    if (replicas->is_front)
        tell_front(s, replicas->num_candidates, "throughput", "memory", replicas->is_proven,
                   replicas->is_stopped);
    else if (replicas->is_stopped)
        session_warn(s, "Stopped: another number of stages or replicas may be better.");
    return POPLINER_OK;
}

/* Warns of what is open, before the table is printed. Returns whether any value is known to fit. */
static bool tell_range(session *s, const popliner_sweep *sweep) {
    const size_t count = range_count(s->options.sweep);
    size_t num_open = 0;
    bool fits = false;
    if (sweep->num_values < count)
        session_warn(s, "Stopped: %zu of %zu values were not solved for.",
                     count - sweep->num_values, count);
    for (size_t i = 0; i < sweep->num_values; i++) {
        const popliner_replicas *own = sweep->replicas == NULL ? NULL : sweep->replicas[i];
        fits = fits || (own == NULL ? answer_fits(s, sweep->plans[i]) : replicas_fit(s, own));
        if (own != NULL)
            num_open += own->best == SIZE_MAX ? own->is_stopped : popliner_replicas_gap(own) != 0;
    }
    if (num_open > 0)
        session_warn(s, "Not all is proven: for %zu of %zu values another pipeline may be better.",
                     num_open, sweep->num_values);
    return fits && sweep->num_values == count;
}

/* ---- the tables ---- */

/* A row for each value of the range; as soon as the user wants it to stop, what there is. */
static popliner_status print_range(search *w, popliner_error *error) {
    session *s = w->s;
    const value_range *range = s->options.sweep;
    const bool of_replicas = s->options.total_ipus > 0;
    const size_t count = range_count(range);
    uint64_t *values = calloc(count, sizeof *values);
    popliner_plan **plans = calloc(count, sizeof *plans);
    popliner_replicas **replicas = calloc(count, sizeof *replicas);
    popliner_sweep sweep = POPLINER_SWEEP_INIT;
    popliner_split_table table = POPLINER_SPLIT_TABLE_INIT;
    popliner_status status = values == NULL || plans == NULL || replicas == NULL
                                 ? fail_memory(error, "the table")
                                 : POPLINER_OK;
    bool is_stopped = false;
    solving_begin(s);
    while (status == POPLINER_OK && sweep.num_values < count && !is_stopped) {
        const size_t i = sweep.num_values;
        values[i] = range_value(range, i);
        status = solve_row(w, values[i], &plans[i], &replicas[i], error);
        is_stopped = solving_should_stop(NULL);
        sweep.num_values += status == POPLINER_OK;
    }
    solving_end(s, NULL, status);
    sweep.what = range->of_ipus ? "num-ipus" : "mem-per-tile";
    sweep.is_of_memory = !range->of_ipus;
    sweep.values = values;
    sweep.plans = (const popliner_plan *const *)plans;
    if (of_replicas)
        sweep.replicas = (const popliner_replicas *const *)replicas;
    table.sweep = &sweep;
    if (status == POPLINER_OK && !tell_range(s, &sweep))
        s->failed_softly = true;
    if (status == POPLINER_OK)
        status = splits_print(s, &table, error);
    for (size_t i = 0; i < sweep.num_values; i++) {
        popliner_plan_free(plans[i]);
        popliner_replicas_free(replicas[i]);
    }
    free(values);
    free(plans);
    free(replicas);
    return status;
}

static popliner_status print_front(session *s, popliner_error *error) {
    popliner_pareto *front = NULL;
    popliner_split_table table = POPLINER_SPLIT_TABLE_INIT;
    solving_begin(s);
    TRY(solving_end(s, "Solving",
                    popliner_pareto_solve(s->input.costs, &s->request.solver, &front, error)));
    popliner_status status = POPLINER_OK;
    bool fits = false;
    for (size_t i = 0; !fits && i < front->num_points; i++)
        fits = answer_fits(s, front->plans[i]);
    s->failed_softly = s->failed_softly || !fits;
    if (front->num_points > 0)
        tell_front(s, front->num_points,
                   popliner_name_of(POPLINER_NAMED_OBJECTIVE, front->objectives[0]),
                   popliner_name_of(POPLINER_NAMED_OBJECTIVE, front->objectives[1]),
                   front->is_complete, front->is_stopped);
    else if (front->is_stopped)
        session_warn(s, "Stopped: no split was found yet, and none is ruled out.");
    else if ((status = answer_solve(s, error)) == POPLINER_OK) /* which says why */
        status = answer_tell(s, s->input.costs, error);
    table.pareto = front;
    if (status == POPLINER_OK)
        status = splits_print(s, &table, error);
    popliner_pareto_free(front);
    return status;
}

/* The candidates of --total-ipus. The solver of a profile logs and catches signals itself. */
static popliner_status print_replicas(search *w, popliner_error *error) {
    session *s = w->s;
    popliner_replicas *replicas = NULL;
    popliner_split_table table = POPLINER_SPLIT_TABLE_INIT;
    const bool is_file = s->file != NULL;
    if (is_file)
        solving_begin(s);
    TRY(solving_end(s, is_file ? "Solving" : NULL,
                    solve_replicas(w, &s->request.solver, &replicas, error)));
    if (!is_file && !has_parameters(replicas))
        warn_without_parameters(s);
    table.replicas = replicas;
    /* the reason why there is none is in the answer, and then told */
    popliner_status status = splits_print(s, &table, error);
    if (status == POPLINER_OK)
        status = tell_replicas(s, replicas, error);
    popliner_replicas_free(replicas);
    return status;
}

popliner_status several_print(session *s, popliner_error *error) {
    search w = {.s = s};
    popliner_status status = begin(&w, error);
    if (status == POPLINER_OK)
        status = s->options.sweep != NULL    ? print_range(&w, error)
                 : s->options.total_ipus > 0 ? print_replicas(&w, error)
                                             : print_front(s, error);
    popliner_costs_free(w.measured);
    popliner_costs_file_free(w.file);
    return status;
}
