/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "questions.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/analysis_data.h"
#include "base/new_file.h"
#include "diagnosis/diagnosis.h"
#include "fuzz.h"
#include "popliner/certificate.h"
#include "popliner/report.h"
#include "popliner/screen.h"

enum { MAX_UNITS = 12, MAX_TILES = 64 };

/* Which question, and its details: four bytes of an input. */
typedef struct question {
    uint8_t kind;
    uint8_t detail;
    uint8_t number;
    uint8_t model;
} question;

/* A question while it is answered. */
typedef struct asking {
    popliner_analysis *analysis;
    const subject *subject;
    question q;
    popliner_memory_model model;
    const popliner_chain *chain;
    size_t num_units;
    size_t num_tiles;
    popliner_error *error;
    char *text; /* the answer so far; NULL: none */
} asking;

static bool is_answered(const asking *a, popliner_status status) {
    const unsigned usual = 1u << POPLINER_ERROR_USAGE;
    if (status == POPLINER_OK)
        return true;
    /* only a file that was loaded is looked into again */
    if (status == POPLINER_ERROR_INPUT)
        fuzz_check_status(status, a->error, 1u << POPLINER_ERROR_INPUT, a->subject->path);
    else
        fuzz_check_status(status, a->error, usual, NULL);
    return false;
}

/* Takes over a text. */
static void add_text(asking *a, char *text) {
    FUZZ_CHECK(text != NULL);
    if (a->text == NULL) {
        a->text = text;
        return;
    }
    const size_t length = strlen(a->text);
    const size_t added = strlen(text);
    a->text = realloc(a->text, length + added + 1);
    FUZZ_CHECK(a->text != NULL);
    memcpy(a->text + length, text, added + 1);
    free(text);
}

static void add_numbers(asking *a, uint64_t first, uint64_t second, uint64_t third) {
    enum { ROOM = 80 };
    char *text = malloc(ROOM);
    FUZZ_CHECK(text != NULL);
    snprintf(text, ROOM, "%llu %llu %llu\n", (unsigned long long)first, (unsigned long long)second,
             (unsigned long long)third);
    add_text(a, text);
}

/* ---- Stages --------------------------------------------------------------------------------- */

static bool is_within(int part) {
    return (POPLINER_PARTS_WITHIN >> part & 1) != 0;
}

/* The parts of every tile are its total, and those of all tiles the whole. */
static void check_measurement(const popliner_stage_memory *by_tile,
                              const popliner_stage_detail *sum) {
    uint64_t total = 0;
    uint64_t largest = 0;
    size_t tile = 0;
    for (size_t t = 0; t < by_tile->num_tiles; t++) {
        uint64_t parts = 0;
        for (int part = 0; part < POPLINER_NUM_PARTS; part++)
            parts += is_within(part) ? 0 : by_tile->part_bytes[part][t];
        FUZZ_CHECK(by_tile->need_bytes[POPLINER_NEED_EXPECTED][t] == parts);
        FUZZ_CHECK(by_tile->need_bytes[POPLINER_NEED_LEAST][t] <= parts);
        FUZZ_CHECK(by_tile->need_bytes[POPLINER_NEED_MOST][t] >= parts);
        FUZZ_CHECK(by_tile->part_bytes[POPLINER_PART_UNEXPLAINED_ALWAYS_LIVE][t] <=
                   by_tile->part_bytes[POPLINER_PART_UNEXPLAINED][t]);
        total += parts;
        if (parts > largest) {
            largest = parts;
            tile = t;
        }
    }
    FUZZ_CHECK(sum->total_bytes == total);
    FUZZ_CHECK(sum->tile_bytes == largest);
    FUZZ_CHECK(by_tile->num_tiles == 0 || sum->tile == tile);
    FUZZ_CHECK(sum->need_bytes[POPLINER_NEED_EXPECTED] == largest);
    uint64_t parts = 0;
    for (int part = 0; part < POPLINER_NUM_PARTS; part++)
        parts += is_within(part) ? 0 : sum->part_bytes[part];
    FUZZ_CHECK(total == parts);
}

static popliner_request request_of(const asking *a) {
    popliner_request request = POPLINER_REQUEST_INIT;
    request.memory_model = a->model;
    if (a->model != POPLINER_MEMORY_MODEL_FULL)
        return request;
    request.schedule = (popliner_schedule)(a->q.detail % (POPLINER_SCHEDULE_SEQUENTIAL + 1));
    request.recompute = (popliner_recompute)(a->q.detail / 6 % POPLINER_RECOMPUTE_AUTO);
    request.accumulators = (popliner_accumulators)(a->q.detail / 18 % 4);
    request.effects = (unsigned)(a->q.model >> 1) & POPLINER_EFFECTS_ALL;
    request.need = (popliner_need)(a->q.model >> 4 & 3);
    if (request.need >= POPLINER_NUM_NEEDS)
        request.need = POPLINER_NEED_EXPECTED;
    return request;
}

/* Every interval measured by itself has the peak of the table of costs. */
static void ask_for_stages(asking *a) {
    popliner_costs *costs;
    popliner_solver_options solver = POPLINER_SOLVER_OPTIONS_INIT;
    popliner_request request = request_of(a);
    solver.num_ipus = a->num_units;
    request.solver = &solver;
    if (!is_answered(a, popliner_analysis_costs(a->analysis, &request, &costs, a->error)))
        return;
    for (size_t first = 0; first < a->num_units; first++) {
        for (size_t last = first; last < a->num_units; last++) {
            popliner_stage_memory *memory;
            popliner_stage_detail detail;
            const popliner_interval stage = {first, last, a->q.number % a->num_units + 1};
            if (stage.stages_to_end > a->num_units - last)
                continue;
            const uint64_t peak = popliner_costs_peak(costs, first, last, stage.stages_to_end);
            if (!is_answered(a, popliner_analysis_measure_stages(a->analysis, &request, &stage, 1,
                                                                 &detail, &memory, a->error))) {
                /* a stored analysis has no variables for a model that needs them */
                FUZZ_CHECK(a->model != POPLINER_MEMORY_MODEL_FULL &&
                           a->error->status == POPLINER_ERROR_USAGE);
                continue;
            }
            check_measurement(memory, &detail);
            FUZZ_CHECK(!a->subject->is_measured || peak == POPLINER_PEAK_FORBIDDEN ||
                       peak == detail.need_bytes[request.need]);
            add_numbers(a, peak, detail.total_bytes, detail.step);
            popliner_stage_memory_free(memory);
        }
    }
    popliner_costs_free(costs);
}

/* Without effects the whole chain needs what the compiler counted, in a profile that agrees with
 * itself. */
static void ask_for_the_whole(asking *a) {
    const popliner_interval whole = {0, a->num_units - 1, 1};
    const popliner_profile *profile = popliner_analysis_profile(a->analysis);
    popliner_request request = POPLINER_REQUEST_INIT;
    popliner_stage_memory *memory;
    popliner_stage_detail detail;
    bool agrees = a->subject->is_checked;
    request.effects = 0;
    request.memory_model = a->model;
    if (!is_answered(a, popliner_analysis_measure_stages(a->analysis, &request, &whole, 1, &detail,
                                                         &memory, a->error)))
        return;
    check_measurement(memory, &detail);
    for (size_t i = 0; i < PL_NUM_RELATIONS; i++) {
        const pl_check check = pl_profile_check_of(profile, i);
        FUZZ_CHECK(check.breached <= check.checked);
        FUZZ_CHECK(!a->subject->is_checked || (check.breached == 0) == (check.where == 0));
        if (i == POPLINER_RELATION_ALWAYS_LIVE || i == POPLINER_RELATION_NOT_ALWAYS_LIVE)
            agrees = agrees && check.checked > 0 && check.breached == 0;
    }
    for (size_t t = 0; agrees && a->model == POPLINER_MEMORY_MODEL_FULL && t < a->num_tiles; t++) {
        popliner_tile_memory tile = POPLINER_TILE_MEMORY_INIT;
        FUZZ_CHECK(popliner_profile_get(profile, POPLINER_ITEM_TILE, t, &tile, NULL) ==
                   POPLINER_OK);
        FUZZ_CHECK(memory->need_bytes[POPLINER_NEED_EXPECTED][t] ==
                   tile.always_live_bytes + tile.not_always_live_peak_bytes);
    }
    add_numbers(a, detail.total_bytes, detail.tile_bytes, detail.step);
    popliner_stage_memory_free(memory);
}

/* ---- Splits --------------------------------------------------------------------------------- */

/* The smallest largest peak over all splits, and the fewest bytes over the cuts of those that have
 * it; the simple way. */
static void try_all(const popliner_costs *costs, size_t num_units, size_t max_stages,
                    uint64_t *peak, uint64_t *cuts) {
    *peak = UINT64_MAX;
    *cuts = UINT64_MAX;
    for (unsigned mask = 0; mask < 1u << (num_units - 1); mask++) {
        size_t num_stages = 1;
        size_t first = 0;
        size_t stage = 0;
        uint64_t largest = 0;
        uint64_t sum = 0;
        for (unsigned rest = mask; rest != 0; rest &= rest - 1)
            num_stages++;
        if (num_stages > max_stages)
            continue;
        for (size_t unit = 0; unit < num_units; unit++) {
            const bool is_end = unit + 1 == num_units || (mask >> unit & 1) != 0;
            if (!is_end)
                continue;
            const uint64_t bytes = popliner_costs_peak(costs, first, unit, num_stages - stage);
            if (bytes > largest)
                largest = bytes;
            if (unit + 1 < num_units) {
                const uint64_t cut = popliner_costs_cut(costs, unit + 1);
                sum = cut > UINT64_MAX - 1 - sum ? UINT64_MAX - 1 : sum + cut;
            }
            first = unit + 1;
            stage++;
        }
        if (largest < *peak || (largest == *peak && sum < *cuts)) {
            *peak = largest;
            *cuts = sum;
        }
    }
}

/* The stages follow each other over the whole chain, and are what they are when measured. */
static void check_split(asking *a, const popliner_request *request,
                        const popliner_certificate *certificate) {
    const popliner_plan *plan = certificate->plan;
    size_t cuts[MAX_UNITS];
    size_t next = 0;
    uint64_t peak = 0;
    popliner_certificate *evaluation;
    for (size_t i = 0; i < plan->num_stages; i++) {
        const popliner_plan_stage *stage = &plan->stages[i];
        FUZZ_CHECK(stage->first_unit == next && stage->last_unit >= next &&
                   stage->last_unit < a->num_units);
        next = stage->last_unit + 1;
        if (i > 0)
            cuts[i - 1] = stage->first_unit;
        if (stage->peak_bytes > peak)
            peak = stage->peak_bytes;
    }
    FUZZ_CHECK(plan->peak_bytes == peak);
    if (next < a->num_units) {
        FUZZ_CHECK(plan->status == POPLINER_PLAN_INFEASIBLE);
        return;
    }
    if (!is_answered(a, popliner_analysis_evaluate(a->analysis, request, cuts, plan->num_stages - 1,
                                                   &evaluation, a->error)))
        FUZZ_CHECK(false && "an answer cannot be evaluated");
    const bool is_same = a->subject->is_measured;
    const popliner_plan *same = evaluation->plan;
    FUZZ_CHECK(same->num_stages == plan->num_stages);
    FUZZ_CHECK(!is_same || same->peak_bytes == plan->peak_bytes);
    FUZZ_CHECK(!is_same || (same->status == POPLINER_PLAN_INFEASIBLE) ==
                               (plan->status == POPLINER_PLAN_INFEASIBLE));
    for (size_t i = 0; is_same && i < plan->num_stages; i++) {
        FUZZ_CHECK(same->stages[i].peak_bytes == plan->stages[i].peak_bytes);
        FUZZ_CHECK(evaluation->details[i].need_bytes[request->need] == plan->stages[i].peak_bytes);
    }
    char *text;
    if (is_answered(
            a, popliner_certificate_text(evaluation, POPLINER_CERTIFICATE_JSON, &text, a->error)))
        add_text(a, text);
    popliner_certificate_free(evaluation);
}

static popliner_certificate *solve(asking *a, const popliner_request *request) {
    popliner_certificate *certificate;
    return is_answered(a, popliner_analysis_solve(a->analysis, request, &certificate, a->error))
               ? certificate
               : NULL;
}

static void add_certificate(asking *a, const popliner_certificate *certificate, unsigned form) {
    char *text;
    if (is_answered(a, popliner_certificate_text(certificate, (popliner_certificate_form)(form % 6),
                                                 &text, a->error)))
        add_text(a, text);
}

static void ask_for_the_best(asking *a) {
    popliner_solver_options solver = POPLINER_SOLVER_OPTIONS_INIT;
    popliner_request request = request_of(a);
    popliner_costs *costs;
    uint64_t peak;
    uint64_t cuts;
    solver.num_ipus = a->q.number % 4 + 1u;
    solver.min_units = 0; /* try_all() tries stages without a layer, too */
    request.solver = &solver;
    popliner_certificate *certificate = solve(a, &request);
    if (certificate == NULL)
        return;
    const popliner_plan *summary = certificate->plan;
    check_split(a, &request, certificate);
    if (is_answered(a, popliner_analysis_costs(a->analysis, &request, &costs, a->error))) {
        try_all(costs, a->num_units, solver.num_ipus, &peak, &cuts);
        if (summary->status == POPLINER_PLAN_OPTIMAL) {
            FUZZ_CHECK(summary->peak_bytes == peak);
            FUZZ_CHECK(summary->cut_bytes == cuts);
        } else {
            FUZZ_CHECK(summary->status == POPLINER_PLAN_INFEASIBLE);
        }
        popliner_costs_free(costs);
    }
    add_certificate(a, certificate, a->q.number >> 4);
    popliner_certificate_free(certificate);
}

/* Other ways to solve, whose answers have to be splits. */
static void ask_for_another(asking *a) {
    static const size_t devices[] = {0, 1, 0};
    static const popliner_objective orders[][2] = {
        {POPLINER_OBJECTIVE_CYCLES, POPLINER_OBJECTIVE_MEMORY},
        {POPLINER_OBJECTIVE_TRAFFIC, POPLINER_OBJECTIVE_BALANCE},
        {POPLINER_OBJECTIVE_IPUS, POPLINER_OBJECTIVE_MEMORY},
        {POPLINER_OBJECTIVE_MEMORY, POPLINER_OBJECTIVE_BALANCE},
    };
    popliner_solver_options solver = POPLINER_SOLVER_OPTIONS_INIT;
    popliner_request request = request_of(a);
    request.solver = &solver;
    solver.num_ipus = a->q.number % 4 + 1u;
    switch (a->q.number >> 2 & 7) {
    case 0:
        solver.method = POPLINER_METHOD_GREEDY;
        request = (popliner_request)POPLINER_REQUEST_INIT;
        request.memory_model = POPLINER_MEMORY_MODEL_POPLINER;
        request.solver = &solver;
        break;
    case 1:
        solver.device_map = devices;
        solver.num_mapped_stages = 2 + a->q.detail % 2;
        break;
    case 2:
        request.recompute = POPLINER_RECOMPUTE_AUTO;
        break;
    default:
        solver.objectives = orders[a->q.number >> 2 & 3];
        solver.num_objectives = 2;
        break;
    }
    popliner_certificate *certificate = solve(a, &request);
    if (certificate == NULL)
        return;
    add_certificate(a, certificate, a->q.number >> 5);
    popliner_certificate_free(certificate);
}

/* ---- Tables --------------------------------------------------------------------------------- */

static void check_missing(const pl_missing_variable *missing, size_t count) {
    for (size_t i = 0; i < count; i++)
        FUZZ_CHECK(missing[i].compiler_bytes <= missing[i].size_bytes);
}

static void ask_for_diagnosis(asking *a) {
    const popliner_profile *profile = popliner_analysis_profile(a->analysis);
    popliner_profile_info info = POPLINER_PROFILE_INFO_INIT;
    popliner_diagnosis *found;
    char *text;
    if (!is_answered(a, popliner_analysis_diagnose(a->analysis, a->model, (a->q.detail & 1) != 0,
                                                   a->q.number % a->num_units, SIZE_MAX, &found,
                                                   a->error)))
        return;
    const pl_diagnosis *diagnosis = (const pl_diagnosis *)found;
    size_t num_programs = 0;
    size_t num_operations = 0;
    FUZZ_CHECK(popliner_profile_get_info(profile, &info, NULL) == POPLINER_OK);
    for (size_t i = 0; i < diagnosis->num_program_types; i++) {
        const pl_diagnosis_programs *programs = &diagnosis->programs[i];
        FUZZ_CHECK(programs->num_seen <= programs->num_all);
        num_programs += programs->num_all;
    }
    FUZZ_CHECK(num_programs == info.num_programs);
    for (size_t i = 0; i < diagnosis->num_coverage; i++)
        num_operations += diagnosis->coverage[i].num_operations;
    FUZZ_CHECK(num_operations == found->num_operations);
    check_missing(diagnosis->missing_here.items, diagnosis->missing_here.count);
    check_missing(diagnosis->missing_everywhere.items, diagnosis->missing_everywhere.count);
    const popliner_plot_options screen = POPLINER_PLOT_OPTIONS_INIT;
    if (is_answered(a, a->q.detail & 2
                           ? popliner_report_diagnosis(found, POPLINER_FORMAT_JSON, &text, a->error)
                           : popliner_screen_diagnosis(found, 5, "", &screen, &text, a->error)))
        add_text(a, text);
    popliner_diagnosis_free(found);
}

static void ask_for_section(asking *a) {
    const popliner_section section = (popliner_section)(a->q.detail % POPLINER_NUM_SECTIONS);
    popliner_certificate *certificate = NULL;
    popliner_request request = POPLINER_REQUEST_INIT;
    popliner_solver_options solver = POPLINER_SOLVER_OPTIONS_INIT;
    char *text;
    solver.num_ipus = 2;
    request.solver = &solver;
    request.memory_model = a->model;
    if (section == POPLINER_SECTION_PLAN && (certificate = solve(a, &request)) == NULL)
        return;
    if (is_answered(a, popliner_section_text(a->analysis, section, a->model, certificate,
                                             (popliner_format)(a->q.number % 3), &text, a->error)))
        add_text(a, text);
    popliner_certificate_free(certificate);
}

static void ask_for_table(asking *a) {
    char *text;
    if (is_answered(a, popliner_report_table(
                           a->analysis,
                           (popliner_table)(a->q.detail % (POPLINER_TABLE_COMMUNICATION + 1)),
                           a->model, (popliner_format)(a->q.number % 3), &text, a->error)))
        add_text(a, text);
}

static void ask_for_picture(asking *a) {
    popliner_request request = POPLINER_REQUEST_INIT;
    popliner_solver_options solver = POPLINER_SOLVER_OPTIONS_INIT;
    char *text;
    solver.num_ipus = 2;
    request.solver = &solver;
    request.memory_model = a->model;
    const unsigned what = a->q.detail % 4;
    popliner_certificate *certificate = NULL;
    if ((what == POPLINER_PLOT_PLAN || a->q.detail & 4) &&
        (certificate = solve(a, &request)) == NULL)
        return;
    const popliner_status status =
        what == 3 ? popliner_trace_text(a->analysis, a->model, certificate, &text, a->error)
                  : popliner_plot_text(a->analysis, (popliner_plot)what, a->model, certificate,
                                       NULL, &text, a->error);
    if (is_answered(a, status))
        add_text(a, text);
    popliner_certificate_free(certificate);
}

static void ask_for_pairs(asking *a) {
    const pl_sharing *pairs;
    if (!is_answered(a, pl_analysis_pair_layers(a->analysis, POPLINER_MEMORY_MODEL_POPLINER, &pairs,
                                                a->error)))
        return;
    const size_t n = pairs->num_layers;
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < n; k++) {
            const uint64_t both = pairs->affinity_bytes[i * n + k];
            FUZZ_CHECK(both == pairs->affinity_bytes[k * n + i]);
            FUZZ_CHECK(both <= pairs->affinity_bytes[i * n + i]);
            FUZZ_CHECK(pairs->communication_bytes[i * n + k] <= both);
            add_numbers(a, i, both, pairs->communication_bytes[i * n + k]);
        }
    }
}

/* ---- All ------------------------------------------------------------------------------------ */

/* Asks one question. The answer is the caller's; NULL where there is none: the question made no
 * sense, or the file that was loaded is damaged. */
static char *ask(const subject *s, question q, popliner_error *error) {
    static void (*const kinds[])(asking *) = {
        ask_for_the_best, ask_for_stages,  ask_for_the_whole, ask_for_diagnosis, ask_for_section,
        ask_for_table,    ask_for_another, ask_for_picture,   ask_for_pairs,
    };
    popliner_profile_info info = POPLINER_PROFILE_INFO_INIT;
    asking a = {
        .analysis = s->analysis,
        .subject = s,
        .q = q,
        .model = q.model & 1 ? POPLINER_MEMORY_MODEL_POPLINER : POPLINER_MEMORY_MODEL_FULL,
        .error = error,
    };
    FUZZ_CHECK(popliner_profile_get_info(popliner_analysis_profile(s->analysis), &info, NULL) ==
               POPLINER_OK);
    a.num_tiles = info.num_tiles;
    if (a.num_tiles > MAX_TILES)
        return NULL;
    if (!is_answered(&a, popliner_analysis_chain(s->analysis, a.model, &a.chain, error)))
        return NULL;
    a.num_units = a.chain->num_units;
    for (size_t i = 0; i < a.num_units; i++)
        FUZZ_CHECK(a.chain->unit_labels[i] != NULL);
    if (a.num_units == 0 || a.num_units > MAX_UNITS)
        return NULL;
    kinds[q.kind % (sizeof kinds / sizeof *kinds)](&a);
    return a.text;
}

/* Whether two answers are alike but for the messages of certificates, which their options follow:
 * an analysis that was stored tells when it is loaded what others tell when they are read, and what
 * was changed in the arrays of one was never told. */
static bool is_same(const char *answer, const char *other) {
    const char *messages;
    while ((messages = strstr(answer, "\n    \"messages\": [")) != NULL) {
        const size_t length = (size_t)(messages - answer);
        if (strncmp(answer, other, length) != 0)
            return false;
        answer = strstr(messages, "\n    \"options\": ");
        other = strstr(other + length, "\n    \"options\": ");
        if (answer == NULL || other == NULL)
            return answer == other;
    }
    return strcmp(answer, other) == 0;
}

/* What is stored is the same analysis: its answers are, and so are its bytes when it is stored
 * again. */
static void store_and_load(const subject *s, question q, const char *answer) {
    const char *path = fuzz_path("first");
    const char *second_path = fuzz_path("second");
    popliner_analysis_options options = *s->options;
    subject loaded = *s;
    popliner_error error = {.message = ""};
    const popliner_memory_model model =
        q.model & 1 ? POPLINER_MEMORY_MODEL_POPLINER : POPLINER_MEMORY_MODEL_FULL;
    options.ipu = SIZE_MAX;
    popliner_status status = popliner_analysis_store(s->analysis, model, path, &error);
    /* one that was stored for another model has none of this */
    fuzz_check_status(status, &error, 1u << POPLINER_ERROR_INPUT | 1u << POPLINER_ERROR_USAGE,
                      s->path);
    if (status != POPLINER_OK)
        return;
    status = popliner_analysis_load(path, &options, &loaded.analysis, &error);
    fuzz_check_status(status, &error, 0, NULL);
    loaded.path = path;
    char *same = ask(&loaded, q, &error);
    /* what needs variables has no answer then */
    if (s->is_measured)
        FUZZ_CHECK(same == NULL || (answer != NULL && is_same(answer, same)));
    free(same);
    status = popliner_analysis_store(loaded.analysis, model, second_path, &error);
    fuzz_check_status(status, &error, 0, NULL);
    popliner_analysis_free(loaded.analysis);
    pl_text first = {0};
    pl_text second = {0};
    FUZZ_CHECK(pl_file_read(path, "", &first, NULL) == POPLINER_OK &&
               pl_file_read(second_path, "", &second, NULL) == POPLINER_OK);
    FUZZ_CHECK(!s->is_measured || (first.length == second.length &&
                                   memcmp(first.data, second.data, first.length) == 0));
    free(first.data);
    free(second.data);
}

void questions_ask_all(const subject *s, const uint8_t *bytes, uint8_t how) {
    const size_t count = how % 4 == 3 ? 2 : 1;
    for (size_t i = 0; i < count; i++) {
        const question q = {bytes[4 * i], bytes[4 * i + 1], bytes[4 * i + 2], bytes[4 * i + 3]};
        popliner_error error = {.status = POPLINER_OK};
        char *answer = ask(s, q, &error);
        /* seldom, since it takes ten times as long; what is damaged may be measured anew then */
        if (i == 1 && how == 15 && bytes[2] % 64 == 0 && error.status != POPLINER_ERROR_INPUT)
            store_and_load(s, q, answer);
        free(answer);
    }
}

uint8_t questions_fewer(uint8_t byte, unsigned seed) {
    const bool asks_twice = byte / 16 % 4 == 3;
    return asks_twice && (seed >> 13) % 8 != 0 ? byte & 0xCF : byte;
}
