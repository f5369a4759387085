/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "command/solving.h"

#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "command/question.h"
#include "command/sweep.h"
#include "popliner/certificate.h"
#include "popliner/costs_file.h"
#include "popliner/diagnosis.h"
#include "popliner/intervals.h"
#include "popliner/report.h"
#include "popliner/solver.h"

/* ---- Ctrl-C and SIGTERM ---- */

static volatile sig_atomic_t num_interrupts;

/* What is shown while something is solved. */
typedef struct waiting {
    log_state *log; /* NULL: nothing */
    double start_seconds;
    double most_seconds; /* 0: without a limit */
} waiting;

/* A terminal, or timeout(1), may send one signal twice: only the third one ends as usual. */
static void on_interrupt(int number) {
    num_interrupts++;
    if (num_interrupts > 2) {
        signal(number, SIG_DFL);
        raise(number);
    }
}

/* Asked all the time while something is solved. */
static bool should_stop(void *user) {
    const waiting *w = user;
    if (w->log != NULL)
        log_waiting(w->log, "Solving", w->start_seconds, w->most_seconds,
                    " (Ctrl-C for the best answer that is known)");
    return num_interrupts > 0;
}

/* What signals did before they were caught. */
typedef struct caught_signals {
    struct sigaction interrupt;
    struct sigaction terminate;
} caught_signals;

/* While something is solved, Ctrl-C asks for the best known answer, and so does whoever ends the
 * command from outside, as a job's time limit does. */
static void catch_signals(caught_signals *before) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_interrupt;
    sigaction(SIGINT, &action, &before->interrupt);
    sigaction(SIGTERM, &action, &before->terminate);
}

static void release_signals(const caught_signals *before) {
    sigaction(SIGINT, &before->interrupt, NULL);
    sigaction(SIGTERM, &before->terminate, NULL);
}

/* ---- what is solved ---- */

/* Costs and the question about them, from a profile or from a file. Zero-initialise; free with
 * free_task. */
typedef struct task {
    session *s;
    question question;
    popliner_costs_file *file;
    popliner_costs *costs;            /* the file's, or those below */
    popliner_costs *measured_costs;   /* owned */
    const pl_measured_stages *stored; /* the session's: they were measured before, or NULL */
    popliner_memory_model model;
    popliner_shared_stages shared;
    waiting waiting;
    const char *time_unit;
    uint64_t cycles_per_time_unit;
    uint64_t cuts_per_unit;
} task;

static void free_task(task *t) {
    popliner_costs_free(t->measured_costs);
    popliner_costs_file_free(t->file);
    question_free(&t->question);
}

enum { USUAL_IPUS = 16 };

static size_t most_ipus(const session *s, const popliner_costs_file *file) {
    if (s->options.num_ipus > 0)
        return s->options.num_ipus;
    size_t told = file == NULL ? 0 : popliner_costs_file_num_ipus(file);
    return told > 0 ? told : USUAL_IPUS;
}

/* The largest number of IPUs that is going to be asked for. */
static popliner_status largest_ipus(const session *s, const popliner_costs_file *file, size_t *most,
                                    popliner_error *error) {
    sweep_range range;
    *most = most_ipus(s, file);
    if (s->options.sweep == NULL)
        return POPLINER_OK;
    popliner_status status = sweep_parse(s->options.sweep, &range, error);
    if (status == POPLINER_OK && range.of_ipus && range.last > *most)
        *most = (size_t)range.last;
    return status;
}

/* Takes --reserve off the limits of single IPUs. */
static popliner_status reserve_on_ipus(task *t, popliner_error *error) {
    popliner_status status = POPLINER_OK;
    for (size_t i = 0; status == POPLINER_OK && i < t->question.solver.num_ipu_limits; i++) {
        popliner_ipu_limit *limit = &t->question.ipu_limits[i];
        status = session_less_reserve(t->s, limit->bytes, &limit->bytes, error);
    }
    return status;
}

/* Warns of limits of IPUs that are not used. */
static void warn_limits(const task *t) {
    const popliner_solver_options *o = &t->question.solver;
    for (size_t i = 0; i < o->num_ipu_limits; i++) {
        bool is_used = o->num_mapped_stages == 0 && o->ipu_limits[i].ipu < o->max_stages;
        for (size_t stage = 0; stage < o->num_mapped_stages; stage++)
            is_used = is_used || o->device_map[stage] == o->ipu_limits[i].ipu;
        if (!is_used && t->s->options.sweep == NULL)
            log_message(&t->s->log, POPLINER_LEVEL_WARNING,
                        "The limit of IPU %zu does nothing: no stage can run there.",
                        o->ipu_limits[i].ipu);
    }
}

static popliner_status ask(task *t, uint64_t limit_bytes, popliner_objective usual,
                           popliner_error *error) {
    popliner_status status = question_ask(&t->question, &t->s->options, limit_bytes,
                                          most_ipus(t->s, t->file), usual, t->file, error);
    t->question.solver.listener = &t->s->listener;
    t->question.solver.should_stop = should_stop;
    t->question.solver.should_stop_user = &t->waiting;
    t->question.solver.unit_name = question_unit_name;
    t->question.solver.unit_name_user = &t->question;
    if (status == POPLINER_OK)
        status = reserve_on_ipus(t, error);
    if (status == POPLINER_OK)
        warn_limits(t);
    return status;
}

/* Whether an objective is asked for. */
static bool wants(const task *t, popliner_objective objective) {
    for (size_t i = 0; i < t->question.solver.num_objectives; i++)
        if (t->question.solver.objectives[i] == objective)
            return true;
    return false;
}

/* Reads a file of costs and asks for the best split of it. */
static popliner_status read_costs(task *t, popliner_error *error) {
    const options *o = &t->s->options;
    popliner_pipeline pipeline;
    double start = log_seconds();
    popliner_status status = question_find_pipeline(o, SIZE_MAX, &pipeline, error);
    if (status == POPLINER_OK)
        status = session_check_programs(t->s, o->costs, NULL, error);
    if (status == POPLINER_OK)
        status = popliner_costs_file_read(o->costs, &pipeline, &t->file, error);
    if (status != POPLINER_OK)
        return status;
    log_step(&t->s->log, "Reading the costs", start);
    t->costs = popliner_costs_file_costs(t->file);
    t->time_unit = popliner_costs_file_time_unit(t->file);
    t->cycles_per_time_unit = popliner_costs_file_cycles_per_time_unit(t->file);
    t->cuts_per_unit = popliner_costs_file_cuts_per_unit(t->file);
    uint64_t memory = o->mem_per_tile_bytes;
    uint64_t limit_bytes = UINT64_MAX - 1;
    if (memory == 0)
        memory = popliner_costs_file_bytes_per_tile(t->file);
    if (memory > 0)
        status = session_less_reserve(t->s, memory, &limit_bytes, error);
    if (status == POPLINER_OK)
        status = question_name_file(&t->question, t->file, error);
    if (status == POPLINER_OK)
        status = ask(t, limit_bytes,
                     popliner_costs_file_is_graph(t->file) ? POPLINER_OBJECTIVE_CYCLES
                                                           : POPLINER_NUM_OBJECTIVES,
                     error);
    return status;
}

/* How many stages a pipeline may have for the one that fits to be found: as many as there are units,
 * as long as the table, of which there is one for each, stays below half a GiB. */
static size_t longest_pipeline(const task *t, size_t most_stages) {
    enum { MOST_NUMBERS = 1 << 26 };
    size_t num_units = t->question.num_units;
    size_t affordable = MOST_NUMBERS / (num_units * (num_units + 1) / 2);
    size_t longest = num_units < affordable ? num_units : affordable;
    if (t->question.pipeline.schedule != POPLINER_SCHEDULE_TRAINING || longest <= most_stages)
        return most_stages;
    if (longest < num_units)
        log_message(&t->s->log, POPLINER_LEVEL_WARNING,
                    "Pipelines of more than %zu stages are not looked at.", longest);
    return longest;
}

/* Measures all stages of a profile, if they were not before. Those that are above most_bytes are not
 * measured further; without such a limit, all pipelines are measured that may be enough when nothing
 * fits. */
static popliner_status measure_costs(task *t, uint64_t most_bytes, popliner_error *error) {
    session *s = t->s;
    popliner_interval_options interval_options = POPLINER_INTERVAL_OPTIONS_INIT;
    double start = log_seconds();
    interval_options.pipeline = t->question.pipeline;
    interval_options.most_bytes = most_bytes;
    interval_options.with_cycles = true;
    interval_options.num_threads = s->options.num_threads;
    popliner_status status = largest_ipus(s, NULL, &interval_options.pipeline.most_stages, error);
    if (most_bytes == UINT64_MAX)
        interval_options.pipeline.most_stages =
            longest_pipeline(t, interval_options.pipeline.most_stages);
    /* why nothing fits may be found without the map, in a longer pipeline */
    size_t num_mapped = t->question.solver.num_mapped_stages;
    if (num_mapped > 0 &&
        (most_bytes < UINT64_MAX || interval_options.pipeline.most_stages < num_mapped))
        interval_options.pipeline.most_stages = num_mapped;
    popliner_costs_free(t->measured_costs);
    t->measured_costs = NULL;
    if (status == POPLINER_OK && t->stored != NULL) {
        status =
            popliner_stage_details_costs(t->stored->details, t->stored->chain,
                                         &interval_options.pipeline, &t->measured_costs, error);
    } else if (status == POPLINER_OK) {
        status = popliner_intervals_measure(s->profile, s->operations, s->chain[t->model],
                                            &interval_options, &s->listener, &t->measured_costs,
                                            NULL, error);
        if (status == POPLINER_OK)
            log_step(&s->log, "Measuring all stages", start);
    }
    t->costs = t->measured_costs;
    if (status == POPLINER_OK && s->meter[t->model] != NULL) {
        t->shared = (popliner_shared_stages){s->meter[t->model], t->question.pipeline};
        popliner_costs_set_shared_peak(t->costs, popliner_intervals_shared_peak, &t->shared,
                                       t->question.pipeline.recompute != POPLINER_RECOMPUTE_FULL);
    }
    return status;
}

/* The largest limit of any IPU. */
static uint64_t largest_limit(const popliner_solver_options *o) {
    uint64_t most = o->max_stage_bytes;
    for (size_t i = 0; i < o->num_ipu_limits; i++)
        most = o->ipu_limits[i].bytes > most ? o->ipu_limits[i].bytes : most;
    return most;
}

/* The original's algorithm goes with the original's memory. */
static popliner_memory_model solving_model(const session *s) {
    return session_memory_model(s, s->options.solver == SOLVER_GREEDY
                                       ? POPLINER_MEMORY_MODEL_POPLINER
                                       : POPLINER_MEMORY_MODEL_FULL);
}

popliner_status solve_find_stored(session *s, const pl_measured_stages **stages,
                                  popliner_error *error) {
    popliner_pipeline pipeline;
    *stages = NULL;
    if (s->options.solver == SOLVER_GREEDY)
        return POPLINER_OK;
    popliner_status status =
        question_find_pipeline(&s->options, most_ipus(s, NULL), &pipeline, error);
    if (status == POPLINER_OK)
        status = session_find_stages(s, solving_model(s), &pipeline, stages, error);
    return status;
}

/* Whether stages are together on an IPU. */
static bool shares_an_ipu(const popliner_solver_options *o) {
    for (size_t i = 0; i < o->num_mapped_stages; i++)
        for (size_t k = i + 1; k < o->num_mapped_stages; k++)
            if (o->device_map[i] == o->device_map[k])
                return true;
    return false;
}

static popliner_status prepare_profile(task *t, popliner_error *error) {
    session *s = t->s;
    uint64_t limit_bytes = 0;
    t->time_unit = "cycles";
    t->cycles_per_time_unit = 1;
    t->cuts_per_unit = 1;
    t->model = solving_model(s);
    popliner_status status = session_limit(s, &limit_bytes, error);
    if (status == POPLINER_OK)
        status = solve_find_stored(s, &t->stored, error);
    if (status == POPLINER_OK && t->stored == NULL && s->analysis != NULL &&
        s->options.solver != SOLVER_GREEDY)
        log_message(&s->log, POPLINER_LEVEL_INFO,
                    "The stages of these layers, or of this memory model, were not stored with the "
                    "analysis: they are measured now.");
    /* where variables are, every stage of the answer is measured once more */
    if (status == POPLINER_OK && (t->stored == NULL || s->has_variables))
        status = session_prepare(s, t->model, error);
    if (status == POPLINER_OK)
        status = question_name_chain(&t->question, s->chain[t->model], error);
    if (status == POPLINER_OK)
        status = ask(t, limit_bytes, POPLINER_NUM_OBJECTIVES, error);
    /* what stages need together is not stored */
    if (status == POPLINER_OK && shares_an_ipu(&t->question.solver))
        status = session_prepare(s, t->model, error);
    if (status == POPLINER_OK && wants(t, POPLINER_OBJECTIVE_CYCLES) &&
        popliner_profile_cycles_source(s->profile) < POPLINER_CYCLES_ESTIMATED)
        status = session_fail(error, POPLINER_ERROR_USAGE,
                              "--objective %s: the profile has no cycles of computing; compile "
                              "with the engine option profiler.includeCycleEstimates set to true",
                              s->options.objective);
    bool trains = true;
    if (status == POPLINER_OK && s->options.schedule == POPLINER_SCHEDULE_TRAINING)
        status =
            popliner_intervals_train(s->profile, s->operations, s->chain[t->model], &trains, error);
    if (status == POPLINER_OK && !trains)
        log_message(&s->log, POPLINER_LEVEL_WARNING,
                    "--schedule training: no layer computes again behind the last one, so nothing "
                    "is kept for a backward pass.");
    return status;
}

/* ---- solving ---- */

/* The peak of a stage as PopLiner's greedy solver sees it. */
static popliner_status measure_peak(void *user, size_t first_unit, size_t last_unit,
                                    uint64_t *peak_bytes, popliner_error *error) {
    popliner_stage_meter *meter = user;
    popliner_stage_memory memory = {0};
    popliner_status status =
        popliner_stage_measure_units(meter, first_unit, last_unit, &memory, error);
    if (status == POPLINER_OK)
        *peak_bytes = popliner_largest_of_tiles(memory.total_bytes, memory.num_tiles);
    popliner_stage_memory_clear(&memory);
    return status;
}

/* Solves with signals caught. */
static popliner_status solve(task *t, popliner_plan *plan, popliner_error *error) {
    caught_signals before;
    double start = log_seconds();
    t->waiting = (waiting){&t->s->log, start, t->question.solver.time_limit_seconds};
    catch_signals(&before);
    popliner_status status = popliner_solve(t->costs, &t->question.solver, plan, error);
    release_signals(&before);
    if (status == POPLINER_OK)
        log_step(&t->s->log, "Solving", start);
    return status;
}

static popliner_status find_plan(task *t, popliner_plan *plan, popliner_error *error) {
    session *s = t->s;
    if (t->file != NULL)
        return solve(t, plan, error);
    if (s->options.solver == SOLVER_GREEDY) {
        double start = log_seconds();
        popliner_stage_meter_remember_peaks(s->meter[t->model]);
        popliner_status status =
            popliner_solve_greedily(t->question.num_units, measure_peak, s->meter[t->model],
                                    &t->question.solver, plan, error);
        if (status == POPLINER_OK)
            log_step(&s->log, "Solving", start);
        return status;
    }
    uint64_t most_bytes = largest_limit(&t->question.solver);
    popliner_status status = measure_costs(t, most_bytes, error);
    t->question.solver.without_reasons = true; /* they are not to be had of what was not measured */
    if (status == POPLINER_OK)
        status = solve(t, plan, error);
    t->question.solver.without_reasons = false;
    /* what is beyond the limit matters only now: to tell how far */
    if (status == POPLINER_OK && plan->status == POPLINER_PLAN_INFEASIBLE && !plan->is_stopped) {
        popliner_plan_clear(plan);
        status = measure_costs(t, UINT64_MAX, error);
        if (status == POPLINER_OK)
            status = solve(t, plan, error);
    }
    return status;
}

/* ---- telling ---- */

static popliner_certificate_input certificate_input(const task *t, popliner_plan *plan) {
    session *s = t->s;
    bool has_profile = t->file == NULL;
    return (popliner_certificate_input){
        .plan = plan,
        .options = &t->question.solver,
        .pipeline = &t->question.pipeline,
        .num_units = t->question.num_units,
        .unit_names = t->question.unit_names,
        .time_unit = t->time_unit,
        .cycles_per_time_unit = t->cycles_per_time_unit,
        .cuts_per_unit = t->cuts_per_unit,
        .has_cycles = t->costs != NULL && popliner_costs_has_cycles(t->costs),
        .profile = has_profile ? s->profile : NULL,
        .operations = has_profile ? s->operations : NULL,
        .chain = has_profile ? s->chain[t->model] : NULL,
        .meter = has_profile ? s->meter[t->model] : NULL,
        .stage_details = t->stored == NULL ? NULL : t->stored->details,
    };
}

/* Logs a text line by line, and frees it. */
static void log_lines(session *s, popliner_level level, char *text) {
    for (char *line = text; line != NULL && *line != '\0';) {
        char *end = strchr(line, '\n');
        if (end != NULL)
            *end = '\0';
        log_message(&s->log, level, "%s", line);
        line = end == NULL ? NULL : end + 1;
    }
    free(text);
}

/* Logs the evaluation of a plan, line by line, for -v. */
static popliner_status log_evaluation(const task *t, const popliner_plan *plan,
                                      const popliner_certificate *certificate,
                                      popliner_error *error) {
    session *s = t->s;
    char *text = NULL;
    popliner_status status = popliner_report_evaluation(
        plan, popliner_certificate_details(certificate), s->chain[t->model],
        t->question.solver.max_stage_bytes, POPLINER_FORMAT_TSV, &text, error);
    if (status == POPLINER_OK)
        log_lines(s, POPLINER_LEVEL_DEBUG, text);
    return status;
}

static popliner_status tell_plan(const task *t, const popliner_plan *plan,
                                 const popliner_certificate *certificate, popliner_error *error) {
    enum { MOST_UNEXPLAINED_PERCENT = 20 };
    session *s = t->s;
    char *line = NULL;
    char *text = NULL;
    double share = popliner_certificate_unexplained_share(certificate);
    popliner_status status = popliner_certificate_line(plan, t->question.unit_names, &line, error);
    if (status == POPLINER_OK)
        status = popliner_certificate_text(certificate, &text, error);
    if (status != POPLINER_OK)
        goto done;
    if (plan->status == POPLINER_PLAN_INFEASIBLE) {
        log_message(&s->log, POPLINER_LEVEL_INFO,
                    plan->infeasibility.obstacle == POPLINER_OBSTACLE_UNKNOWN
                        ? "STOPPED: no split was found yet, and none is ruled out."
                    : plan->num_stages == 0 && s->options.solver != SOLVER_GREEDY
                        ? "FAILURE: Unable to fit model on IPUs."
                        : "FAILURE: Unable to fit model on IPUs. Best effort printed.");
        log_lines(s, POPLINER_LEVEL_WARNING, text);
        s->failed_softly = true;
    } else {
        log_message(&s->log, POPLINER_LEVEL_INFO, "SUCCESS: %s", line);
        size_t requested = t->question.solver.max_stages;
        /* nobody asked for the 16 that are usual; the original's algorithm says it all the same */
        bool was_requested = s->options.num_ipus > 0 || s->options.solver == SOLVER_GREEDY;
        if (t->question.solver.num_mapped_stages == 0 && was_requested &&
            plan->num_stages < requested)
            log_message(&s->log, POPLINER_LEVEL_WARNING,
                        "Used %zu IPUs instead of the %zu requested.", plan->num_stages, requested);
        log_lines(s, POPLINER_LEVEL_INFO, text);
    }
    text = NULL;
    if (share * 100 > MOST_UNEXPLAINED_PERCENT)
        log_message(&s->log, POPLINER_LEVEL_WARNING,
                    "%.0f%% of the largest tile is explained by no operation and counted in every "
                    "stage; see --diagnose for what is missing.",
                    share * 100);
done:
    free(line);
    free(text);
    return status;
}

static popliner_status write_programs(const task *t, popliner_error *error) {
    const options *o = &t->s->options;
    popliner_status status = POPLINER_OK;
    if (o->write_lp != NULL)
        status = popliner_solver_write(t->costs, &t->question.solver, POPLINER_PROGRAM_LP,
                                       o->write_lp, error);
    if (status == POPLINER_OK && o->write_mps != NULL)
        status = popliner_solver_write(t->costs, &t->question.solver, POPLINER_PROGRAM_MPS,
                                       o->write_mps, error);
    return status;
}

/* The answer in the form that was asked for: an object, the original's array, or a table. */
static popliner_status print_plan(const task *t, const popliner_certificate *certificate,
                                  popliner_error *error) {
    popliner_format format = t->s->options.format;
    char *text = NULL;
    popliner_status status;
    if (format == POPLINER_FORMAT_JSON)
        status = popliner_certificate_json(certificate, &text, error);
    else if (t->file != NULL)
        status = popliner_certificate_table(certificate, format == POPLINER_FORMAT_CSV ? ',' : '\t',
                                            &text, error);
    else
        status = popliner_certificate_stages_json(certificate, &text, error);
    return status == POPLINER_OK ? session_print(text, error) : status;
}

static popliner_status solve_once(task *t, popliner_error *error) {
    popliner_plan found = {0};
    const popliner_plan *plan = NULL;
    popliner_certificate *certificate = NULL;
    popliner_status status = find_plan(t, &found, error);
    popliner_certificate_input input = certificate_input(t, &found);
    if (status == POPLINER_OK)
        status = popliner_certificate_create(&input, &certificate, error);
    if (status == POPLINER_OK)
        plan = popliner_certificate_plan(certificate);
    /* where stages share an IPU, the details are of the IPU, which the certificate tells */
    if (status == POPLINER_OK && t->file == NULL && t->s->options.verbose &&
        !shares_an_ipu(&t->question.solver))
        status = log_evaluation(t, plan, certificate, error);
    if (status == POPLINER_OK)
        status = tell_plan(t, plan, certificate, error);
    if (status == POPLINER_OK)
        status = print_plan(t, certificate, error);
    /* the answer comes first: it is not to be lost for a program that cannot be written */
    if (status == POPLINER_OK && t->costs != NULL && plan->status != POPLINER_PLAN_INFEASIBLE)
        status = write_programs(t, error);
    else if (status == POPLINER_OK &&
             (t->s->options.write_lp != NULL || t->s->options.write_mps != NULL))
        log_message(&t->s->log, POPLINER_LEVEL_WARNING,
                    "--write-lp, --write-mps: not written, for no split is within the limits.");
    popliner_certificate_free(certificate);
    popliner_plan_clear(&found);
    return status;
}

/* Solves for every value of --sweep. */
static popliner_status solve_sweep(task *t, popliner_error *error) {
    session *s = t->s;
    popliner_plan none = {0};
    caught_signals before;
    popliner_status status = POPLINER_OK;
    if (t->file == NULL)
        status = measure_costs(t, UINT64_MAX, error);
    if (status != POPLINER_OK)
        return status;
    popliner_certificate_input input = certificate_input(t, &none);
    t->waiting = (waiting){&s->log, log_seconds(), 0};
    catch_signals(&before);
    status = sweep_print(s, t->costs, &t->question.solver, &input, error);
    release_signals(&before);
    return status;
}

popliner_status solve_and_print(session *s, popliner_error *error) {
    task t = {.s = s};
    popliner_status status =
        s->options.costs != NULL ? read_costs(&t, error) : prepare_profile(&t, error);
    if (status == POPLINER_OK)
        status = s->options.sweep != NULL ? solve_sweep(&t, error) : solve_once(&t, error);
    free_task(&t);
    return status;
}

/* The stages of a split that is given by the last layers of all stages but the last. */
static popliner_status parse_split(const question *q, const char *split, popliner_plan *plan,
                                   popliner_error *error) {
    size_t num_units = q->num_units;
    plan->stages = calloc(num_units, sizeof *plan->stages);
    if (plan->stages == NULL)
        return session_fail(error, POPLINER_ERROR_MEMORY, "not enough memory for the split");
    size_t next_unit = 0;
    bool is_whole = strcmp(split, "whole") == 0 && question_find_unit(q, "whole", 5) == SIZE_MAX;
    for (const char *name = is_whole ? NULL : split; name != NULL;) {
        const char *end = strchr(name, '|');
        size_t length = end == NULL ? strlen(name) : (size_t)(end - name);
        size_t unit = question_find_unit(q, name, length);
        if (unit == SIZE_MAX)
            return session_fail(error, POPLINER_ERROR_USAGE, "--evaluate %s: no layer '%.*s'",
                                split, (int)length, name);
        if (unit < next_unit || unit + 1 == num_units)
            return session_fail(error, POPLINER_ERROR_USAGE,
                                "--evaluate %s: nothing is left for a stage %s layer '%.*s'", split,
                                unit < next_unit ? "that ends with" : "behind", (int)length, name);
        plan->stages[plan->num_stages++] =
            (popliner_plan_stage){.first_unit = next_unit, .last_unit = unit};
        next_unit = unit + 1;
        name = end == NULL ? NULL : end + 1;
    }
    plan->stages[plan->num_stages++] =
        (popliner_plan_stage){.first_unit = next_unit, .last_unit = num_units - 1};
    return POPLINER_OK;
}

/* Measures each stage of a split by itself. */
static popliner_status measure_split(const popliner_plan *plan, popliner_stage_meter *meter,
                                     const popliner_pipeline *pipeline,
                                     popliner_stage_detail **result, popliner_error *error) {
    popliner_status status = POPLINER_OK;
    popliner_stage_detail *details = calloc(plan->num_stages, sizeof *details);
    if (details == NULL)
        status = session_fail(error, POPLINER_ERROR_MEMORY, "not enough memory for the split");
    for (size_t i = 0; status == POPLINER_OK && i < plan->num_stages; i++) {
        const popliner_plan_stage *stage = &plan->stages[i];
        popliner_interval interval = {stage->first_unit, stage->last_unit, plan->num_stages - i};
        status = popliner_stage_detail_measure(meter, pipeline, &interval, 1, &details[i], error);
    }
    *result = details;
    return status;
}

popliner_status evaluate_and_print(session *s, popliner_error *error) {
    popliner_memory_model model = session_memory_model(s, POPLINER_MEMORY_MODEL_FULL);
    popliner_pipeline pipeline = {s->options.schedule, s->options.recompute, 1};
    popliner_plan plan = {0};
    question q = {0};
    popliner_stage_detail *details = NULL;
    uint64_t limit_bytes = 0;
    char *text = NULL;
    popliner_status status = session_limit(s, &limit_bytes, error);
    if (status == POPLINER_OK)
        status = session_prepare(s, model, error);
    if (status == POPLINER_OK)
        status = question_name_chain(&q, s->chain[model], error);
    if (status == POPLINER_OK)
        status = parse_split(&q, s->options.evaluate, &plan, error);
    if (status == POPLINER_OK)
        status = measure_split(&plan, s->meter[model], &pipeline, &details, error);
    if (status == POPLINER_OK)
        status = popliner_report_evaluation(&plan, details, s->chain[model], limit_bytes,
                                            s->options.format, &text, error);
    for (size_t i = 0; status == POPLINER_OK && i < plan.num_stages; i++)
        s->failed_softly = s->failed_softly || details[i].tile_bytes > limit_bytes;
    if (status == POPLINER_OK)
        status = session_print(text, error);
    popliner_plan_clear(&plan);
    question_free(&q);
    free(details);
    return status;
}

/* The units of "A-B" or "A"; names may hold dashes, too, so every dash is tried. */
static popliner_status parse_layers(const question *q, const char *layers, size_t *first,
                                    size_t *last, popliner_error *error) {
    *first = question_find_unit(q, layers, strlen(layers));
    *last = *first;
    for (const char *dash = strchr(layers, '-'); *first == SIZE_MAX && dash != NULL;
         dash = strchr(dash + 1, '-')) {
        *last = question_find_unit(q, dash + 1, strlen(dash + 1));
        *first =
            *last == SIZE_MAX ? SIZE_MAX : question_find_unit(q, layers, (size_t)(dash - layers));
    }
    if (*first == SIZE_MAX || *last < *first)
        return session_fail(error, POPLINER_ERROR_USAGE,
                            "--layers %s: expected the names of two layers in their order, like "
                            "2-5, or of one",
                            layers);
    return POPLINER_OK;
}

popliner_status diagnose_and_print(session *s, popliner_error *error) {
    enum { SHOWN = 20 };
    popliner_memory_model model = session_memory_model(s, POPLINER_MEMORY_MODEL_FULL);
    popliner_diagnosis diagnosis = {0};
    question q = {0};
    popliner_diagnosis_options diagnosis_options = {
        .layer_operations_only = s->options.layer_operations_only, .last_unit = SIZE_MAX};
    bool shows_all = s->options.verbose || s->options.format == POPLINER_FORMAT_JSON;
    char *text = NULL;
    double start = log_seconds();
    popliner_status status = session_prepare(s, model, error);
    if (status == POPLINER_OK && s->options.layers != NULL)
        status = question_name_chain(&q, s->chain[model], error);
    if (status == POPLINER_OK && s->options.layers != NULL)
        status = parse_layers(&q, s->options.layers, &diagnosis_options.first_unit,
                              &diagnosis_options.last_unit, error);
    if (status == POPLINER_OK)
        status = popliner_diagnose(s->profile, s->operations, s->layers, s->chain[model],
                                   s->meter[model], &diagnosis_options, &diagnosis, error);
    if (status == POPLINER_OK) {
        log_step(&s->log, "Diagnosing", start);
        status = popliner_report_diagnosis(&diagnosis, s->profile, s->operations, s->info,
                                           s->options.format, shows_all ? SIZE_MAX : SHOWN, &text,
                                           error);
    }
    if (status == POPLINER_OK) {
        double difference = (double)diagnosis.truth_bytes - (double)diagnosis.explained_bytes;
        double allowed = (double)diagnosis.truth_bytes * s->options.tolerance_percent / 100;
        if (difference > allowed || -difference > allowed) {
            s->failed_softly = true;
            log_message(&s->log, POPLINER_LEVEL_WARNING,
                        "%llu of %llu bytes are explained at the bottleneck: that is not within "
                        "--tolerance %g (percent), so the exit status is 1.",
                        (unsigned long long)diagnosis.explained_bytes,
                        (unsigned long long)diagnosis.truth_bytes, s->options.tolerance_percent);
        }
        status = session_print(text, error);
    }
    popliner_diagnosis_clear(&diagnosis);
    question_free(&q);
    return status;
}
