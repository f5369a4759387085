/* --solve with --costs: the best split of what a file says.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "command/answer.h"
#include "command/commands.h"
#include "command/limits.h"
#include "command/names.h"
#include "command/pareto.h"
#include "command/replicas.h"
#include "command/request.h"
#include "command/standard_input.h"
#include "command/sweep.h"
#include "popliner/costs.h"
#include "popliner/variants.h"

static bool is_standard_input(const options *o) {
    return strcmp(o->costs, "-") == 0;
}

static popliner_status read_file(const options *o, const popliner_pipeline *asked,
                                 popliner_costs_file **file, popliner_error *error) {
    popliner_pipeline pipeline = *asked;
    char *text = NULL;
    size_t length = 0;
    pipeline.should_stop = limits_are_over;
    if (!is_standard_input(o))
        return popliner_costs_file_read(o->costs, &pipeline, file, error);
    popliner_status status = standard_input_read(&text, &length, error);
    if (status == POPLINER_OK)
        status = popliner_costs_file_parse(text, length, "standard input", &pipeline, file, error);
    free(text);
    return status;
}

/* A replicas_read. */
static popliner_status read_again(session *s, const popliner_pipeline *pipeline,
                                  popliner_costs_file **file, popliner_error *error) {
    return read_file(&s->options, pipeline, file, error);
}

/* For how many stages the costs are to be known, or the chain of a graph is to be the best;
 * SIZE_MAX if the options leave that to the file. Why nothing fits is asked for more stages than
 * --num-ipus or a device map has, so where what a pipeline keeps counts, all are to be known. */
static size_t stages_to_know(const options *o, const request *r) {
    if (options_keep_activations(o))
        return SIZE_MAX;
    if (options_map_name(o) != NULL)
        return r->solver.num_mapped_stages;
    bool has_number = o->num_ipus > 0 && o->sweep == NULL;
    return has_number && o->total_ipus == 0 ? o->num_ipus : SIZE_MAX;
}

/* Refuses and warns of what would do nothing for what the file has. */
static popliner_status check_file(session *s, const popliner_costs_file *file,
                                  popliner_error *error) {
    const options *o = &s->options;
    const popliner_costs_file_info *info = popliner_costs_file_get_info(file);
    sweep_range range = {.of_ipus = true};
    popliner_status status = o->sweep == NULL ? POPLINER_OK : sweep_parse(o->sweep, &range, error);
    if (status == POPLINER_OK && o->reserve != RESERVE_NOTHING && range.of_ipus &&
        o->mem_per_tile_bytes == 0 && info->bytes_per_tile == 0 && o->ipu_mem_per_tile.count == 0 &&
        info->num_ipu_limits == 0)
        status = session_fail(error, POPLINER_ERROR_USAGE,
                              "--reserve: the costs have no limit of memory to keep something free "
                              "of; give --mem-per-tile");
    const char *option = o->copies != NULL ? "copies" : "schedule";
    const char *value = o->copies != NULL ? o->copies : o->schedule_name;
    if (status == POPLINER_OK && options_keep_activations(o) && !info->has_kept)
        session_warn(
            s,
            info->is_graph
                ? "--%s %s: a graph does not say what a pipeline keeps, so nothing is kept."
                : "--%s %s: the costs do not say what a pipeline keeps (\"stash\", or "
                  "\"inputs\" with --recompute full), so nothing is kept.",
            option, value);
    return status;
}

/* Reads the file and puts the options in terms of its units. */
static popliner_status make_request(session *s, request *r, popliner_costs_file **file,
                                    popliner_error *error) {
    const options *o = &s->options;
    uint64_t limit_bytes = UINT64_MAX - 1; /* no limit */
    double start = log_seconds();
    popliner_status status = request_begin(r, s, POPLINER_MEMORY_MODEL_FULL, error);
    const popliner_pipeline pipeline = {
        .schedule = o->schedule,
        .recompute = o->recompute,
        .copies = r->asked.copies,
        .max_stages = stages_to_know(o, r),
    };
    if (status == POPLINER_OK)
        status = read_file(o, &pipeline, file, error);
    if (status == POPLINER_OK)
        status = check_file(s, *file, error);
    if (status != POPLINER_OK)
        return status;
    log_step(&s->log, "Reading the costs", start);
    const popliner_costs_file_info *info = popliner_costs_file_get_info(*file);
    if (info->unit_order != NULL && (o->sweep != NULL || o->pareto != NULL || o->total_ipus > 0))
        log_message(&s->log, POPLINER_LEVEL_WARNING,
                    "The graph's units make a chain %s: what is proven is of the splits of this "
                    "order. Another order may have better ones.",
                    info->unit_order);
    uint64_t memory = o->mem_per_tile_bytes;
    if (memory == 0)
        memory = info->bytes_per_tile;
    if (memory > 0)
        status = session_less_reserve(s, memory, &limit_bytes, error);
    if (status == POPLINER_OK)
        status = request_name_file(r, info, error);
    if (status == POPLINER_OK)
        status = request_complete(r, s, limit_bytes, info, error);
    if (status == POPLINER_OK && info->has_kept && o->schedule == POPLINER_SCHEDULE_NONE &&
        !options_keep_activations(o) && o->recompute != POPLINER_RECOMPUTE_AUTO)
        log_message(&s->log, POPLINER_LEVEL_WARNING,
                    "The costs say what a pipeline that trains keeps (\"stash\"), but neither "
                    "--schedule nor --copies says how often: none of it is counted.");
    return status;
}

static popliner_status solve_once(session *s, const request *r, const popliner_costs_file *file,
                                  popliner_certificate_input *input, popliner_error *error) {
    popliner_certificate *certificate = NULL;
    double start = log_seconds();
    popliner_variants_answer *answer = NULL;
    bool chooses = input->recompute == POPLINER_RECOMPUTE_AUTO;
    interrupts_catch(&s->interrupts);
    popliner_status status = chooses
                                 ? popliner_variants_solve(file, &r->solver, &answer, error)
                                 : popliner_solve(input->costs, &r->solver, &input->plan, error);
    interrupts_release(&s->interrupts);
    if (status != POPLINER_OK)
        return status;
    log_step(&s->log, "Solving", start);
    if (chooses) {
        input->plan = popliner_variants_take_plan(answer);
        input->stage_choices = popliner_variants_texts(answer);
    }
    status = popliner_certificate_create(input, &certificate, error);
    popliner_variants_answer_free(answer);
    input->stage_choices = NULL;
    if (status != POPLINER_OK) {
        popliner_plan_free(input->plan);
        return status;
    }
    /* remarks would solve again, without a choice */
    status = answer_print(s, r, certificate, chooses ? NULL : input->costs, error);
    popliner_certificate_free(certificate);
    return status;
}

popliner_status solve_costs_and_print(session *s, popliner_error *error) {
    request r = {0};
    popliner_costs_file *file = NULL;
    popliner_status status = make_request(s, &r, &file, error);
    if (status == POPLINER_OK) {
        const popliner_costs_file_info *info = popliner_costs_file_get_info(file);
        popliner_certificate_input input = POPLINER_CERTIFICATE_INPUT_INIT;
        input.costs = info->costs;
        input.options = &r.solver;
        input.schedule = s->options.schedule;
        input.recompute = s->options.recompute;
        input.copies = r.asked.copies;
        input.unit_names = r.unit_names;
        input.option_names = &s->names;
        input.time_unit = info->time_unit;
        input.cycles_per_time_unit = info->cycles_per_time_unit;
        input.cuts_per_unit = info->cuts_per_unit;
        if (s->options.total_ipus > 0)
            status = replicas_print(s, &r, info, &input, read_again, error);
        else if (s->options.sweep != NULL)
            status = sweep_print(s, input.costs, &r.solver, &input, error);
        else
            status = s->options.pareto != NULL ? pareto_print(s, &r, &input, error)
                                               : solve_once(s, &r, file, &input, error);
    }
    popliner_costs_file_free(file);
    request_free(&r);
    return status;
}
