/* A question in C, for relations_test.py:
 *
 *     asked_in_c FILE [MEMBER=NUMBERS]...
 *
 * FILE has costs, or is a directory with a profile. What no word names has the value that the
 * headers' _INIT give it; what a file of costs says of its devices is in the words. Prints the
 * answer as JSON.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <popliner/popliner.h>

enum { MOST = 64, NUMBERS = 16 };

/* What is asked, with room for its lists. */
typedef struct asked {
    popliner_solver_options solver;
    popliner_request request;
    popliner_objective objectives[POPLINER_NUM_OBJECTIVES];
    popliner_ipu_value limits[MOST];
    popliner_ipu_value speeds[MOST];
    popliner_ipu_link links[MOST];
    popliner_cut_rule cuts[MOST];
    popliner_constraint pairs[MOST];
    popliner_constraint places[MOST];
    size_t map[MOST];
} asked;

/* The copies of "RULE:MICRO-BATCHES". */
static popliner_status take_copies(popliner_copies *copies, char *text, popliner_error *error) {
    char *colon = strchr(text, ':');
    *colon = '\0';
    popliner_status status = popliner_copies_parse(text, copies, error);
    copies->num_micro_batches = strtoul(colon + 1, &colon, 10);
    return status;
}

static void take_lists(asked *a, const char *name, const uint64_t *n, size_t count) {
    popliner_solver_options *o = &a->solver;
    if (strcmp(name, "limit") == 0)
        a->limits[o->num_ipu_limits++] = (popliner_ipu_value){n[0], n[1]};
    else if (strcmp(name, "speed") == 0)
        a->speeds[o->num_ipu_speeds++] = (popliner_ipu_value){n[0], n[1]};
    else if (strcmp(name, "link") == 0)
        o->link_bandwidth = (popliner_ipu_link){0, 0, n[0], n[1]};
    else if (strcmp(name, "links") == 0)
        a->links[o->num_ipu_links++] = (popliner_ipu_link){n[0], n[1], n[2], n[3]};
    else if (strcmp(name, "place") == 0)
        a->places[o->num_placements++] = (popliner_constraint){.unit = n[0], .ipu = n[1]};
    for (size_t i = 0; i < count; i++) {
        if (strcmp(name, "objectives") == 0)
            a->objectives[o->num_objectives++] = (popliner_objective)n[i];
        else if (strcmp(name, "map") == 0)
            a->map[o->num_mapped_stages++] = n[i];
        else if (strcmp(name, "cut") == 0 || strcmp(name, "no-cut") == 0)
            a->cuts[n[i] + 1] = *name == 'c' ? POPLINER_CUT_REQUIRED : POPLINER_CUT_FORBIDDEN;
        else if (strcmp(name, "together") == 0 && i > 0)
            a->pairs[o->num_pairs++] = (popliner_constraint){.unit = n[i - 1], .second_unit = n[i]};
    }
}

static popliner_status take(asked *a, char *word, popliner_error *error) {
    popliner_solver_options *o = &a->solver;
    char *text = strchr(word, '=');
    uint64_t n[NUMBERS] = {0};
    size_t count = 0;
    *text++ = '\0';
    if (strcmp(word, "copies") == 0)
        return take_copies(&a->request.copies, text, error);
    if (strcmp(word, "slack") == 0)
        o->slack_percent = strtod(text, NULL);
    for (char *at = text; *at != '\0' && count < NUMBERS; at += *at != '\0')
        n[count++] = strtoull(at, &at, 10);
    const struct {
        const char *name;
        size_t *size;
        uint64_t *bytes;
    } plain[] = {
        {"num_ipus", &o->num_ipus, NULL},     {"min", &o->min_units, NULL},
        {"max", &o->max_units, NULL},         {"memory", NULL, &o->mem_per_tile},
        {"reserve", NULL, &o->reserve_bytes}, {"percent", NULL, &o->reserve_percent_hundredths}};
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        if (strcmp(word, plain[i].name) == 0 && plain[i].size != NULL)
            *plain[i].size = n[0];
        else if (strcmp(word, plain[i].name) == 0)
            *plain[i].bytes = n[0];
    if (strcmp(word, "method") == 0)
        o->method = (popliner_method)n[0];
    else if (strcmp(word, "schedule") == 0)
        a->request.schedule = (popliner_schedule)n[0];
    else if (strcmp(word, "recompute") == 0)
        a->request.recompute = (popliner_recompute)n[0];
    else if (strcmp(word, "effects") == 0)
        a->request.effects = (unsigned)n[0];
    else if (strcmp(word, "need") == 0)
        a->request.need = (popliner_need)n[0];
    else
        take_lists(a, word, n, count);
    return POPLINER_OK;
}

static popliner_status solve_costs(const char *path, asked *a, popliner_costs_file **file,
                                   popliner_certificate **answer, popliner_error *error) {
    const popliner_request *r = &a->request;
    static popliner_pipeline pipeline; /* which the answer refers to */
    pipeline = (popliner_pipeline){.schedule = r->schedule,
                                   .recompute = r->recompute,
                                   .copies = r->copies,
                                   .max_stages = SIZE_MAX};
    popliner_certificate_input input = POPLINER_CERTIFICATE_INPUT_INIT;
    popliner_status status = popliner_costs_file_read(path, NULL, 0, &pipeline, file, error);
    if (r->copies.num_micro_batches > 0) /* ties go to a shorter step, as in the module */
        a->solver.pipeline = &pipeline;
    if (status == POPLINER_OK)
        status = popliner_solve((*file)->costs, &a->solver, &input.plan, error);
    if (status != POPLINER_OK)
        return status;
    input.costs = (*file)->costs;
    input.options = &a->solver;
    input.schedule = r->schedule;
    input.recompute = r->recompute;
    input.copies = r->copies;
    input.unit_names = (*file)->unit_names;
    input.time_unit = (*file)->time_unit;
    input.cycles_per_time_unit = (*file)->cycles_per_time_unit;
    input.cuts_per_unit = (*file)->cuts_per_unit;
    status = popliner_certificate_create(&input, answer, error);
    if (status != POPLINER_OK)
        popliner_plan_free(input.plan);
    return status;
}

int main(int argc, char **argv) {
    static asked a = {.solver = POPLINER_SOLVER_OPTIONS_INIT, .request = POPLINER_REQUEST_INIT};
    popliner_analysis *analysis = NULL;
    popliner_costs_file *file = NULL;
    popliner_certificate *answer = NULL;
    char *text = NULL;
    popliner_error error;
    struct stat found;
    popliner_status status = POPLINER_OK;
    for (int i = 2; status == POPLINER_OK && i < argc; i++)
        status = take(&a, argv[i], &error);
    a.solver.objectives = a.objectives;
    a.solver.ipu_limits = a.limits;
    a.solver.ipu_speeds = a.speeds;
    a.solver.ipu_links = a.links;
    a.solver.cut_rules = a.cuts;
    a.solver.pairs = a.pairs;
    a.solver.placements = a.places;
    a.solver.device_map = a.map;
    if (a.solver.num_mapped_stages > 0)
        popliner_copies_set_map(&a.request.copies, a.map, a.solver.num_mapped_stages);
    a.request.solver = &a.solver;
    if (status == POPLINER_OK && argc > 1 && stat(argv[1], &found) == 0 && S_ISDIR(found.st_mode)) {
        status = popliner_analysis_read(argv[1], NULL, NULL, &analysis, &error);
        if (status == POPLINER_OK)
            status = popliner_analysis_solve(analysis, &a.request, &answer, &error);
    } else if (status == POPLINER_OK && argc > 1) {
        status = solve_costs(argv[1], &a, &file, &answer, &error);
    }
    if (status == POPLINER_OK)
        status = popliner_certificate_text(answer, POPLINER_CERTIFICATE_JSON, &text, &error);
    if (status == POPLINER_OK)
        fputs(text, stdout);
    else
        fprintf(stderr, "%s\n", error.message);
    free(text);
    popliner_certificate_free(answer);
    popliner_costs_file_free(file);
    popliner_analysis_free(analysis);
    return status == POPLINER_ERROR_USAGE ? 2 : status == POPLINER_OK ? 0 : 3;
}
