/* --total-ipus, and --device-map replicas: the best number of replicas, or of devices for each
 * stage.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "command/commands.h"

#include <stdlib.h>
#include <string.h>

#include "command/progress.h"
#include "command/screen.h"
#include "command/session.h"
#include "command/values.h"
#include "popliner/replicas.h"

/* The fewest IPUs of a pipeline: a V has two ends. */
static size_t least_ipus(const options *o) {
    const size_t least = o->device_map.is_v ? 2 : 1;
    return o->num_ipus.range.first > least ? (size_t)o->num_ipus.range.first : least;
}

/* The request, except for costs and parameters. The bandwidth was checked. */
static popliner_replicas_options ask(const session *s, const request *r,
                                     const popliner_pipeline *pipeline) {
    const options *o = &s->options;
    popliner_replicas_options asked = POPLINER_REPLICAS_OPTIONS_INIT;
    asked.solver = &r->solver;
    asked.pipeline = pipeline;
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

/* ---- telling ---- */

/* Options as the user gave them, or might. */
static popliner_option_names replicas_names_of(const options *o) {
    popliner_option_names names = option_names;
    if (o->num_ipus.number == 0) {
        names.num_ipus = "--total-ipus";
        names.constraints[POPLINER_CONSTRAINT_NUM_IPUS] = "total-ipus";
    }
    if (o->num_ipus.range.first > 1)
        names.constraints[POPLINER_CONSTRAINT_DEVICE_MAP] = "a least length";
    return names;
}

/* Tells why nothing fits. */
static popliner_status explain(session *s, const request *r, popliner_replicas *replicas,
                               const popliner_certificate_input *names, popliner_error *error) {
    popliner_option_names own_names = replicas_names_of(&s->options);
    popliner_certificate_input input = *names;
    popliner_certificate *certificate = NULL;
    bool is_known = replicas->closest < SIZE_MAX;
    const size_t place = is_known ? replicas->closest : replicas->num_candidates - 1;
    const size_t num_ipus =
        replicas->num_candidates == 0 ? 0 : replicas->candidates[place].num_ipus;
    popliner_solver_options asked = r->solver;
    popliner_status status = POPLINER_OK;
    size_t *map = NULL;
    input.plan = replicas->reason;
    replicas->reason = NULL; /* taken */
    if (input.plan == NULL)
        return POPLINER_OK;
    asked.num_ipus = num_ipus;
    if (options_chunks(&s->options) > 1 || least_ipus(&s->options) > 1)
        status = request_make_map(&s->options, num_ipus, &map, &asked.num_mapped_stages, error);
    if (status != POPLINER_OK) {
        popliner_plan_free(input.plan);
        return status;
    }
    asked.device_map = map != NULL ? map : asked.device_map;
    if (s->options.num_ipus.number > 0 &&
        input.plan->infeasibility.enough_stages > s->options.total_ipus)
        own_names.num_ipus = "--total-ipus and --num-ipus"; /* one of them is not enough */
    input.options = &asked;
    input.option_names = &own_names;
    if (is_known)
        log_message(&s->log, POPLINER_LEVEL_WARNING,
                    "A pipeline on %zu %s comes closest: what follows is of it.", num_ipus,
                    session_devices(s, num_ipus));
    status = answer_certify(&input, &certificate, error);
    if (status == POPLINER_OK)
        answer_log(s, certificate);
    popliner_certificate_free(certificate);
    free(map);
    return status;
}

/* Tells that nothing fits. */
static popliner_status tell_failure(session *s, const request *r, popliner_replicas *replicas,
                                    const popliner_certificate_input *names,
                                    popliner_error *error) {
    if (replicas->is_stopped)
        log_message(&s->log, POPLINER_LEVEL_WARNING,
                    "Stopped: no pipeline was found yet, and none is ruled out.");
    if (replicas->num_candidates == 0)
        log_message(&s->log, POPLINER_LEVEL_WARNING,
                    "There are only %zu units for the stages of a pipeline, at least %zu.",
                    r->num_units, options_chunks(&s->options) * least_ipus(&s->options));
    return replicas->is_stopped ? POPLINER_OK : explain(s, r, replicas, names, error);
}

/* Whether the best pipeline, or any of a front, is known to fit. */
static bool is_known_to_fit(const session *s, const request *r, const popliner_replicas *replicas) {
    bool fits = false;
    for (size_t i = 0; replicas->best != SIZE_MAX && !fits && i < replicas->num_candidates; i++)
        fits = (replicas->is_front || i == replicas->best) &&
               answer_fits(s, r, replicas->candidates[i].plan);
    return fits;
}

bool replicas_fit(const session *s, const request *r, const popliner_replicas *replicas,
                  size_t *num_open) {
    *num_open +=
        replicas->best == SIZE_MAX ? replicas->is_stopped : popliner_replicas_gap(replicas) != 0;
    return is_known_to_fit(s, r, replicas);
}

static popliner_status tell(session *s, const request *r, popliner_replicas *replicas,
                            const popliner_certificate_input *names, popliner_error *error) {
    const popliner_replicas_candidate *best =
        replicas->best == SIZE_MAX ? NULL : &replicas->candidates[replicas->best];
    const bool fits = is_known_to_fit(s, r, replicas);
    s->failed_softly = s->failed_softly || !fits;
    if (replicas->is_front && best != NULL) {
        front_tell(s, replicas->num_candidates, "throughput", "memory", replicas->is_proven,
                   replicas->is_stopped);
        return POPLINER_OK;
    }
    if (best == NULL)
        return tell_failure(s, r, replicas, names, error);
    if (replicas->is_stopped)
        log_message(&s->log, POPLINER_LEVEL_WARNING,
                    "Stopped: another number of stages or replicas may be better.");
    const popliner_pipeline_step *step = &best->step;
    if (step->order != NULL)
        log_message(&s->log, POPLINER_LEVEL_INFO,
                    "In a step (%s) devices wait %.1f %% of the time%s.", step->order,
                    100 * step->idle_share,
                    step->is_third_assumed ? ", if a third of it is forward" : "");
    else if (step->obstacle != NULL)
        log_message(&s->log, POPLINER_LEVEL_INFO,
                    "The step is computed by a formula and not simulated: %s.", step->obstacle);
    return POPLINER_OK;
}

/* Prints the candidates, and tells of them. */
static popliner_status print(session *s, const request *r, popliner_replicas *replicas,
                             const popliner_certificate_input *names, popliner_error *error) {
    /* the reason why there is none is in the answer, and then told */
    popliner_status status = splits_print(s, r, names, NULL, NULL, replicas, error);
    return status == POPLINER_OK ? tell(s, r, replicas, names, error) : status;
}

/* ---- what is solved ---- */

/* A search, and where its costs come from. */
typedef struct replicas_question {
    session *s;
    const request *r;
    popliner_replicas_options asked;
    const popliner_costs *costs; /* NULL: those of the profile */
    const popliner_certificate_input *names;
} replicas_question;

static popliner_status solve(const replicas_question *q, const popliner_solver_options *o,
                             popliner_replicas **replicas, popliner_error *error) {
    popliner_replicas_options asked = q->asked;
    popliner_request of_profile = q->r->asked;
    asked.solver = o;
    of_profile.solver = o;
    return q->costs != NULL ? popliner_replicas_solve(q->costs, &asked, replicas, error)
                            : popliner_analysis_solve_replicas(q->s->analysis, &of_profile, &asked,
                                                               replicas, error);
}

/* A replicas_solve: for a value of a range of memory. */
static popliner_status solve_value(const void *user, uint64_t value, popliner_replicas **replicas,
                                   popliner_error *error) {
    const replicas_question *q = user;
    popliner_solver_options o = q->r->solver;
    o.without_reasons = true;
    popliner_status status = session_less_reserve(q->s, value, &o.mem_per_tile, error);
    return status == POPLINER_OK ? solve(q, &o, replicas, error) : status;
}

/* ---- of a file of costs ---- */

/* Where the costs of each pipeline come from. */
typedef struct source {
    session *s;
    const request *r;
    size_t most_stages;
    bool has_sharded;
    popliner_costs_file *file; /* of the last one, or NULL */
    popliner_pipeline pipeline;
} source;

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
    source *own = user;
    popliner_pipeline pipeline = {
        .schedule = own->s->options.schedule.order,
        .recompute = own->s->options.recompute.way,
        .max_stages = num_stages,
        .copies = own->r->asked.copies,
        .num_replicas = own->has_sharded ? num_replicas : 0,
    };
    pipeline.copies.num_stages = num_stages;
    pipeline.copies.num_ipus = num_stages / options_chunks(&own->s->options);
    pipeline.copies.num_micro_batches = (size_t)num_micro_batches;
    if (own->file != NULL && are_copies_equal(&own->pipeline, &pipeline, num_stages)) {
        *costs = own->file->costs;
        return POPLINER_OK;
    }
    if (pipeline.copies.rule == POPLINER_COPIES_1F1B && num_stages < own->most_stages &&
        pipeline.recompute != POPLINER_RECOMPUTE_AUTO)
        pipeline.max_stages = own->most_stages; /* also for longer pipelines */
    own->pipeline = pipeline;
    popliner_costs_file_free(own->file);
    own->file = NULL;
    popliner_status status = costs_read_again(own->s, &pipeline, &own->file, error);
    if (status == POPLINER_OK)
        *costs = own->file->costs;
    return status;
}

/* Whether what stages need depends on how many there are, on replicas or on micro-batches. */
static bool is_costs_of_each(const request *r, const popliner_costs_file *info) {
    popliner_copies_rule rule = r->asked.copies.rule;
    return info->has_sharded ||
           (rule != POPLINER_COPIES_OF_SCHEDULE && rule != POPLINER_COPIES_LIST);
}

/* Warns of a bandwidth for which there are no parameters. */
static void warn_without_parameters(session *s) {
    if (s->options.lists[LIST_LINKS].replicas.bytes > 0)
        log_message(&s->log, POPLINER_LEVEL_WARNING,
                    "--bandwidth replicas: no parameters are trained, so the all-reduce takes no "
                    "time.");
}

popliner_status replicas_of_stages(session *s, const request *r, const popliner_costs_file *info,
                                   popliner_plan **plan, popliner_error *error) {
    const popliner_solver_options *o = &r->solver;
    popliner_replicas_options asked = ask(s, r, NULL);
    if (o->num_ipu_limits + o->num_ipu_speeds + o->num_ipu_links > 0)
        return fail_usage(error,
                          "--device-map replicas: the costs have memories, speeds or links of "
                          "single devices; leave them out");
    if (info->parameter_bytes == NULL)
        warn_without_parameters(s);
    asked.parameter_bytes = info->parameter_bytes;
    interrupts_catch(&s->interrupts);
    popliner_status status = popliner_replicas_solve_stages(info->costs, &asked, plan, error);
    interrupts_release(&s->interrupts);
    return status;
}

/* Whether a candidate has parameters that are trained. */
static bool has_parameters(const popliner_replicas *replicas) {
    for (size_t i = 0; i < replicas->num_candidates; i++)
        if (replicas->candidates[i].parameter_bytes > 0)
            return true;
    return replicas->best == SIZE_MAX;
}

/* Solves, and prints, for a value or for each of a range; `info` is NULL for a profile, whose
 * solver logs and catches signals itself. */
static popliner_status solve_and_print(const replicas_question *q, const popliner_costs_file *info,
                                       popliner_error *error) {
    session *s = q->s;
    popliner_replicas *replicas = NULL;
    const double start = progress_seconds();
    if (info != NULL && info->parameter_bytes == NULL)
        warn_without_parameters(s);
    if (s->options.sweep != NULL)
        return sweep_print(s, q->r, q->names, solve_value, q, error);
    if (info != NULL)
        interrupts_catch(&s->interrupts);
    popliner_status status = solve(q, &q->r->solver, &replicas, error);
    interrupts_release(&s->interrupts);
    if (status == POPLINER_OK && info != NULL)
        log_step(&s->log, "Solving", start);
    if (status == POPLINER_OK && info == NULL && !has_parameters(replicas))
        warn_without_parameters(s);
    if (status == POPLINER_OK)
        status = print(s, q->r, replicas, q->names, error);
    popliner_replicas_free(replicas);
    return status;
}

popliner_status replicas_print(session *s, const request *r, const popliner_costs_file *info,
                               const popliner_certificate_input *names, popliner_error *error) {
    const options *o = &s->options;
    const size_t most_ipus = o->total_ipus < r->num_units ? o->total_ipus : r->num_units;
    source own = {s, r, most_ipus, info->has_sharded, NULL, {0}};
    const popliner_pipeline pipeline = {.schedule = o->schedule.order, .copies = r->asked.copies};
    replicas_question q = {s, r, ask(s, r, &pipeline), info->costs, names};
    q.asked.parameter_bytes = info->parameter_bytes;
    if (is_costs_of_each(r, info)) {
        q.asked.costs = find_costs;
        q.asked.costs_follow_replicas = info->has_sharded;
        q.asked.costs_user = &own;
    }
    popliner_status status = solve_and_print(&q, info, error);
    popliner_costs_file_free(own.file);
    return status;
}

popliner_status replicas_print_profile(session *s, const request *r, popliner_error *error) {
    const popliner_pipeline pipeline = {.copies = POPLINER_COPIES_UNSET};
    popliner_costs *costs = NULL;
    /* reports ask them only how many units there are */
    popliner_status status = popliner_costs_create(r->num_units, 1, &costs, error);
    popliner_certificate_input names = request_certificate_input(r, s, costs);
    const replicas_question q = {s, r, ask(s, r, &pipeline), NULL, &names};
    const popliner_pipeline asked_pipeline = {.schedule = names.schedule,
                                              .recompute = names.recompute,
                                              .max_stages = 1,
                                              .copies = names.copies};
    if (status == POPLINER_OK)
        status = popliner_costs_set_pipeline(costs, &asked_pipeline, error);
    names.cycles_per_time_unit = 1;
    if (status == POPLINER_OK)
        status = solve_and_print(&q, NULL, error);
    popliner_costs_free(costs);
    return status;
}
