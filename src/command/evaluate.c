/* --evaluate and --compiled.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command/commands.h"

/* ---- the split ---- */

/* Refuses a split that has another number of stages than there are IPUs for. */
static popliner_status check_num_stages(const options *o, const request *r, size_t num_stages,
                                        popliner_error *error) {
    if (r->solver.num_mapped_stages > 0 && r->solver.num_mapped_stages != num_stages)
        return fail_usage(error, "--evaluate %s: has %zu stages, but %s%s%s has %zu", o->evaluate,
                          num_stages, options_map_name(o), o->device_map.text == NULL ? "" : " ",
                          o->device_map.text == NULL ? "" : o->device_map.text,
                          r->solver.num_mapped_stages);
    const size_t chunks = o->total_ipus > 0 ? options_chunks(o) : 1;
    const bool is_of_total = o->total_ipus > 0 && o->total_ipus - 1 < o->num_ipus.number - 1;
    const size_t num_ipus = is_of_total ? o->total_ipus : o->num_ipus.number;
    if ((options_map_name(o) == NULL || o->device_map.is_replicated) && num_ipus > 0 &&
        num_stages > chunks * num_ipus)
        return fail_usage(error, "--evaluate %s: has %zu stages, more than --%s-ipus %zu",
                          o->evaluate, num_stages, is_of_total ? "total" : "num", num_ipus);
    if (num_stages < chunks * o->num_ipus.range.first)
        return fail_usage(error, "--evaluate %s: has %zu stages, fewer than --num-ipus %zu..%zu",
                          o->evaluate, num_stages, (size_t)o->num_ipus.range.first,
                          (size_t)o->num_ipus.range.last);
    size_t known =
        o->schedule.copies == NULL ? SIZE_MAX : popliner_copies_max_stages(&r->asked.copies);
    if (num_stages > known && r->asked.copies.rule == POPLINER_COPIES_LIST)
        return fail_usage(error, "--schedule %s: is for %zu stages, but --evaluate %s has %zu",
                          o->schedule.text, known, o->evaluate, num_stages);
    return POPLINER_OK;
}

/* Finds the units after the cuts of a split that is given by the last layers of all stages but the
 * last. */
static popliner_status parse_split(request *r, const char *split, popliner_error *error) {
    r->num_cuts = 0;
    r->first_units = calloc(r->num_units, sizeof *r->first_units);
    if (r->first_units == NULL)
        return fail_memory(error, "the split");
    size_t next_unit = 0;
    bool is_whole = strcmp(split, "whole") == 0 && request_find_unit(r, "whole", 5) == SIZE_MAX;
    const char *sign = split[value_span(split, "|")] == '|' ? "|" : ",";
    for (const char *name = is_whole ? NULL : split; name != NULL;) {
        const size_t length = value_span(name, sign);
        const size_t unit = request_find_unit(r, name, length);
        if (unit == SIZE_MAX)
            return request_no_unit(r, "evaluate", split, name, length, error);
        if (unit + 1 < next_unit)
            return fail_usage(error,
                              "--evaluate %s: layer %.*s comes before %s; write cuts in the order "
                              "of the layers",
                              split, (int)length, name, r->unit_names[next_unit - 1]);
        if (unit < next_unit || unit + 1 == r->num_units)
            return fail_usage(error, "--evaluate %s: nothing is left for a stage %s layer %.*s",
                              split, unit < next_unit ? "that ends with" : "after", (int)length,
                              name);
        next_unit = unit + 1;
        r->first_units[r->num_cuts++] = next_unit;
        name = name[length] == '\0' ? NULL : name + length + 1;
    }
    return POPLINER_OK;
}

popliner_status split_take(request *r, const options *o, const popliner_costs_file *file,
                           popliner_error *error) {
    const size_t chunks = o->total_ipus > 0 ? options_chunks(o) : 1;
    TRY(parse_split(r, o->evaluate, error));
    const size_t num_stages = r->num_cuts + 1;
    TRY(check_num_stages(o, r, num_stages, error));
    /* of traffic that takes no time all orders are nearly equal, so there it is by number */
    if (num_stages > 1 && file != NULL && file->unit_order != NULL && file->cuts_per_unit > 1)
        return fail_usage(error,
                          "--evaluate %s: the nodes of this graph have several orders, and which "
                          "one is cut depends on the best split; give its stages as a table of "
                          "layers",
                          o->evaluate);
    if (num_stages % chunks != 0)
        return fail_usage(error,
                          "--evaluate %s: has %zu stages, but --device-map %s has %zu on "
                          "each device",
                          o->evaluate, num_stages, o->device_map.text, chunks);
    if (file != NULL && r->solver.num_mapped_stages == 0 && o->num_ipus.number == 0 &&
        file->num_ipus > 0 && num_stages / chunks > file->num_ipus)
        return fail_usage(error,
                          "--evaluate %s: has %zu stages, more than the %zu devices of the "
                          "costs; give --num-ipus",
                          o->evaluate, num_stages, file->num_ipus);
    if (o->recompute.each != NULL && o->recompute.num_stages != num_stages)
        return fail_usage(error, "--recompute %s: is for %zu stages, but --evaluate %s has %zu",
                          o->recompute.text, o->recompute.num_stages, o->evaluate, num_stages);
    return POPLINER_OK;
}

/* ---- a pipeline that was compiled ---- */

/* Lists the reports of a directory that is none itself. */
static popliner_status find_reports(const char *path, char ***found, popliner_error *error) {
    char *profile = NULL;
    char *debug = NULL;
    popliner_status status = popliner_analysis_locate(path, NULL, &profile, &debug, error);
    const popliner_error own = *error;
    popliner_error told = {0};
    free(profile);
    free(debug);
    if (status != POPLINER_ERROR_INPUT)
        return status;
    if (popliner_reports_find(path, found, &told) != POPLINER_OK)
        return fail(error, told.status, "--compiled %s", told.message);
    *error = told; /* none */
    return **found != NULL ? POPLINER_OK
                           : fail(error, POPLINER_ERROR_INPUT,
                                  "--compiled %s: neither a report (%s), nor a directory with one "
                                  "for each IPU, like 0/profile.pop, 1/profile.pop",
                                  path, own.message);
}

static popliner_status fail_number(const session *s, size_t num_stages, size_t num_ipus,
                                   popliner_error *error) {
    return fail_usage(error, "--compiled %s: is of %zu %s, but --evaluate %s has %zu %s",
                      s->options.compiled, num_ipus, num_ipus == 1 ? "IPU" : "IPUs",
                      s->options.evaluate, num_stages, num_stages == 1 ? "stage" : "stages");
}

/* Finds the reports, and checks their number where each is of one IPU. */
popliner_status compiled_begin(session *s, popliner_error *error) {
    const size_t num_stages = s->request.num_cuts + 1;
    size_t count = 0;
    TRY(find_reports(s->options.compiled, &s->compiled, error));
    while (s->compiled != NULL && s->compiled[count] != NULL)
        count++;
    return count > 0 && count != num_stages ? fail_number(s, num_stages, count, error)
                                            : POPLINER_OK;
}

static popliner_status read_ipu(session *s, size_t ipu, const char *path,
                                popliner_analysis **analysis, popliner_error *error) {
    popliner_analysis_options how = POPLINER_ANALYSIS_OPTIONS_INIT;
    popliner_profile_info info = POPLINER_PROFILE_INFO_INIT;
    const size_t num_stages = s->request.num_cuts + 1;
    const bool is_alone = s->compiled != NULL;
    how.num_threads = s->options.reading.num_threads;
    how.option_names = &option_names;
    how.listener =
        is_alone || ipu == 0 ? &s->listener : NULL; /* it tells all of the file at once */
    how.max_memory_bytes = s->options.reading.max_memory_bytes;
    how.should_stop = limits_are_over;
    how.ipu = is_alone ? 0 : ipu;
    s->log.about = path;
    progress_reads(path);
    TRY(popliner_analysis_read(path, NULL, &how, analysis, error));
    popliner_profile_get_info(popliner_analysis_profile(*analysis), &info, NULL);
    if (is_alone && info.ipus_per_replica != 1)
        return fail_usage(error, "--compiled %s: %s is of %zu IPUs, and not of one",
                          s->options.compiled, path, info.ipus_per_replica);
    return is_alone || info.ipus_per_replica == num_stages
               ? POPLINER_OK
               : fail_number(s, num_stages, info.ipus_per_replica, error);
}

/* Warns of data that is so far from what was predicted that it may be of something else. */
static void doubt(session *s, const popliner_comparison *comparison) {
    if (comparison->data_ratio * 6 < 5 || comparison->data_ratio * 5 > 6)
        session_warn(s,
                     "--compiled %s: has %.2f times the data that was predicted: is it a "
                     "pipeline of this model with this split and this --schedule?",
                     s->options.compiled, comparison->data_ratio);
}

popliner_status compiled_and_print(session *s, popliner_error *error) {
    const request *r = &s->request;
    const size_t num_stages = r->num_cuts + 1;
    popliner_comparison *comparison = NULL;
    const char *about = s->log.about;
    popliner_analysis **ipus = calloc(num_stages, sizeof *ipus);
    popliner_status status = ipus == NULL ? fail_memory(error, "the reports") : POPLINER_OK;
    for (size_t i = 0; status == POPLINER_OK && i < num_stages; i++) {
        char *own = s->compiled == NULL ? strdup(s->options.compiled)
                                        : path_join(s->options.compiled, s->compiled[i]);
        status =
            own == NULL ? fail_memory(error, "the reports") : read_ipu(s, i, own, &ipus[i], error);
        s->log.about = about;
        free(own);
    }
    if (status == POPLINER_OK)
        status = popliner_analysis_compare(s->analysis, &r->asked, r->first_units, r->num_cuts,
                                           ipus, &comparison, error);
    if (status == POPLINER_OK)
        doubt(s, comparison);
    if (status == POPLINER_OK)
        status =
            outputs_of_answer(s, &(material){.action = EVALUATE, .comparison = comparison}, error);
    popliner_comparison_free(comparison);
    for (size_t i = 0; ipus != NULL && i < num_stages; i++)
        popliner_analysis_free(ipus[i]);
    free(ipus);
    return status;
}
