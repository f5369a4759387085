/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "command/replicas.h"

#include <stdlib.h>
#include <string.h>

#include "command/sizes.h"
#include "popliner/replicas.h"
#include "popliner/report.h"

static bool parse_bandwidth(const char *text, uint64_t *bytes, uint64_t *times) {
    const char *end = bandwidth_take(text, bytes, times);
    return end != NULL && *end == '\0';
}

popliner_status replicas_check(const options *o, popliner_error *error) {
    uint64_t bytes;
    uint64_t times;
    if (o->replica_bandwidth != NULL && !parse_bandwidth(o->replica_bandwidth, &bytes, &times))
        return session_fail(error, POPLINER_ERROR_USAGE,
                            "--replica-bandwidth %s: expected bytes in a unit of time above 0, "
                            "like 64, 34.6 or 64K",
                            o->replica_bandwidth);
    if (o->micro_batch_size > 0 && o->batch % o->micro_batch_size != 0)
        return session_fail(error, POPLINER_ERROR_USAGE,
                            "--batch %zu: is no multiple of --micro-batch-size %zu", o->batch,
                            o->micro_batch_size);
    return POPLINER_OK;
}

/* Where the costs of each pipeline come from. */
typedef struct source {
    session *s;
    const request *r;
    replicas_read read;
    popliner_costs_file *file; /* of the last one, or NULL */
} source;

/* A popliner_replicas_costs. */
static popliner_status find_costs(void *user, size_t num_stages, uint64_t num_micro_batches,
                                  const popliner_costs **costs, popliner_error *error) {
    source *own = user;
    popliner_pipeline pipeline = {
        .schedule = own->s->options.schedule,
        .recompute = own->s->options.recompute,
        .max_stages = num_stages,
        .copies = own->r->asked.copies,
    };
    pipeline.copies.num_stages = num_stages;
    pipeline.copies.num_micro_batches = (size_t)num_micro_batches;
    popliner_costs_file_free(own->file);
    own->file = NULL;
    popliner_status status = own->read(own->s, &pipeline, &own->file, error);
    if (status == POPLINER_OK)
        *costs = popliner_costs_file_get_info(own->file)->costs;
    return status;
}

/* Whether what stages keep depends on how many there are, or on micro-batches. */
static bool is_costs_of_each(const request *r) {
    popliner_copies_rule rule = r->asked.copies.rule;
    return rule != POPLINER_COPIES_OF_SCHEDULE && rule != POPLINER_COPIES_LIST;
}

static void tell(session *s, const popliner_replicas *replicas,
                 const popliner_certificate_input *names) {
    const popliner_replicas_summary *summary = popliner_replicas_get_summary(replicas);
    const popliner_replicas_candidate *best =
        popliner_replicas_candidate_at(replicas, summary->best);
    if (summary->is_stopped)
        log_message(&s->log, POPLINER_LEVEL_WARNING,
                    "Stopped: another number of stages or replicas may be better.");
    if (best == NULL) {
        log_message(&s->log, POPLINER_LEVEL_INFO,
                    summary->is_stopped
                        ? "STOPPED: no pipeline was found yet, and none is ruled out."
                        : "FAILURE: Unable to fit model on IPUs, with any number of stages. Solve "
                          "without --total-ipus for the reason.");
        s->failed_softly = true;
        return;
    }
    double time = (double)best->step_cycles / (double)names->cycles_per_time_unit;
    log_message(&s->log, POPLINER_LEVEL_INFO,
                "SUCCESS: %zu %s on %zu %s each: %llu micro-batches in %.9g %s%s.",
                best->num_replicas, best->num_replicas == 1 ? "pipeline" : "pipelines",
                best->num_ipus, best->num_ipus == 1 ? "IPU" : "IPUs",
                (unsigned long long)(best->num_replicas * best->micro_batches), time,
                names->time_unit == NULL ? "cycles" : names->time_unit,
                summary->is_proven ? ", which is the best" : "");
}

popliner_status replicas_print(session *s, const request *r, const popliner_costs_file_info *info,
                               const popliner_certificate_input *names, replicas_read read,
                               popliner_error *error) {
    const options *o = &s->options;
    source own = {s, r, read, NULL};
    popliner_replicas_options asked = POPLINER_REPLICAS_OPTIONS_INIT;
    popliner_replicas *replicas = NULL;
    char *report = NULL;
    uint64_t times = 1;
    asked.solver = &r->solver;
    asked.total_ipus = o->total_ipus;
    asked.micro_batches = o->micro_batches;
    asked.batch = o->micro_batch_size > 0 ? o->batch / o->micro_batch_size : o->batch;
    asked.parameter_bytes = info->parameter_bytes;
    if (o->replica_bandwidth != NULL &&
        parse_bandwidth(o->replica_bandwidth, &asked.bandwidth_bytes, &times))
        asked.bandwidth_cycles = times * info->cycles_per_time_unit;
    if (is_costs_of_each(r) && strcmp(o->costs, "-") == 0)
        return session_fail(error, POPLINER_ERROR_USAGE,
                            "--costs -: with --copies %s the costs are read again for each "
                            "pipeline; give a file",
                            o->copies);
    if (is_costs_of_each(r)) {
        asked.costs = find_costs;
        asked.costs_user = &own;
    }
    if (o->replica_bandwidth != NULL && info->parameter_bytes == NULL)
        log_message(&s->log, POPLINER_LEVEL_WARNING,
                    "--replica-bandwidth: the costs have no parameters, so the all-reduce takes no "
                    "time.");
    double start = log_seconds();
    interrupts_catch(&s->interrupts);
    popliner_status status = popliner_replicas_solve(info->costs, &asked, &replicas, error);
    interrupts_release(&s->interrupts);
    popliner_costs_file_free(own.file);
    if (status != POPLINER_OK)
        return status;
    log_step(&s->log, "Solving", start);
    tell(s, replicas, names);
    status = popliner_report_replicas(replicas, names, o->format, &report, error);
    if (status == POPLINER_OK)
        status = session_print(report, error);
    popliner_replicas_free(replicas);
    return status;
}
