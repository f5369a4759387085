/* A stored analysis answers for all stages and pipelines like the profile that it was made from,
 * names itself where it cannot, and survives damage.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "golden_case.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/analysis_data.h"
#include "memory/chain_data.h"
#include "memory/stage.h"
#include "popliner/page.h"
#include "popliner/report.h"
#include "popliner/solver.h"
#include "profile/profile_data.h"
#include "same_detail.h"
#include "stored.h"
#include "test_data.h"

/* ---- Stages
 * ----------------------------------------------------------------------------------- */

static char *directory; /* of the current test */

/* A case, and its stored analysis. */
typedef struct both {
    pl_layers *layers;
    pl_chain *chain;
    pl_stage_meter *meter;
    char *path;
    pl_stored_analysis *stored;
    pl_chain *stored_chain;
    pl_stage_meter *stored_meter;
} both;

static void begin(both *b, const golden_case *c) {
    *b = (both){.path = test_path(directory, "stored")};
    b->layers = assign_layers(c, NULL, POPLINER_LAYER_ORDER_STEPS);
    b->chain = make_chain(c, b->layers, POPLINER_MEMORY_MODEL_FULL);
    assert_int_equal(pl_stage_meter_create(b->chain, 0, &b->meter, NULL), POPLINER_OK);
    b->meter->arrays.failed = true; /* memory was short for the question before */
    const pl_stored_contents contents = {
        .profile = c->profile, .operations = c->operations, .chain = b->chain, .meter = b->meter};
    assert_int_equal(pl_stored_analysis_save(&contents, b->path, NULL), POPLINER_OK);
    assert_int_equal(pl_stored_analysis_open(b->path, &b->stored, NULL), POPLINER_OK);
    assert_int_equal(pl_stored_analysis_load_chain(b->stored, b->layers, POPLINER_MEMORY_MODEL_FULL,
                                                   &b->stored_chain, NULL),
                     POPLINER_OK);
    assert_non_null(b->stored_chain);
    assert_int_equal(
        pl_stored_analysis_load_meter(b->stored, b->stored_chain, 0, &b->stored_meter, NULL),
        POPLINER_OK);
}

static void end(both *b) {
    pl_stage_meter_free(b->stored_meter);
    pl_chain_free(b->stored_chain);
    pl_stored_analysis_close(b->stored);
    pl_stage_meter_free(b->meter);
    pl_chain_free(b->chain);
    pl_layers_free(b->layers);
    free(b->path);
}

static void assert_same_stages(both *b, const popliner_pipeline *pipeline,
                               const popliner_interval *stages, size_t num_stages) {
    popliner_stage_memory read = {0};
    popliner_stage_memory loaded = {0};
    assert_int_equal(pl_stage_measure(b->meter, pipeline, stages, num_stages, &read, NULL, NULL),
                     POPLINER_OK);
    assert_int_equal(
        pl_stage_measure(b->stored_meter, pipeline, stages, num_stages, &loaded, NULL, NULL),
        POPLINER_OK);
    const size_t n = read.num_tiles;
    for (int need = 0; need < POPLINER_NUM_NEEDS; need++)
        assert_true(same_numbers("need", loaded.need_bytes[need], read.need_bytes[need], n));
    for (int part = 0; part < POPLINER_NUM_PARTS; part++)
        if (part != POPLINER_PART_PARAMETERS)
            assert_true(same_numbers("part", loaded.part_bytes[part], read.part_bytes[part], n));
    assert_true(same_numbers("step", loaded.peak_step, read.peak_step, n));
    popliner_stage_detail details[2];
    assert_int_equal(
        pl_stage_measure(b->meter, pipeline, stages, num_stages, &read, &details[0], NULL),
        POPLINER_OK);
    assert_int_equal(
        pl_stage_measure(b->stored_meter, pipeline, stages, num_stages, &loaded, &details[1], NULL),
        POPLINER_OK);
    assert_same_detail(&details[1], &details[0]);
    pl_stage_memory_clear(&read);
    pl_stage_memory_clear(&loaded);
}

/* The costs of all stages, also above a limit. */
static void assert_same_costs(both *b, const popliner_pipeline *pipeline, popliner_need need) {
    pl_interval_options options = {.pipeline = *pipeline, .needs = 1u << need};
    popliner_costs *costs[2];
    const size_t n = b->chain->num_units;
    options.pipeline.max_stages = 3;
    for (int i = 0; i < 2; i++) {
        pl_stage_details *details = NULL;
        assert_int_equal(
            pl_intervals_measure(i == 0 ? b->meter : b->stored_meter, &options, &details, NULL),
            POPLINER_OK);
        assert_int_equal(
            pl_stage_details_costs(details, b->chain, &options.pipeline, need, &costs[i], NULL),
            POPLINER_OK);
        pl_stage_details_free(details);
    }
    for (size_t first = 0; first < n; first++)
        for (size_t last = first; last < n; last++) {
            assert_int_equal(popliner_costs_cut(costs[1], first),
                             popliner_costs_cut(costs[0], first));
            for (size_t end = 1; end <= 3; end++)
                assert_int_equal(popliner_costs_peak(costs[1], first, last, end),
                                 popliner_costs_peak(costs[0], first, last, end));
        }
    popliner_costs_free(costs[0]);
    popliner_costs_free(costs[1]);
}

/* Draws stages of one IPU; returns how many. */
static size_t draw_stages(size_t num_units, popliner_interval *stages, uint64_t *random) {
    enum { MOST = 3 };
    size_t count = 0;
    for (size_t unit = 0; unit < num_units && count < MOST; unit++) {
        unit += test_below(random, num_units - unit);
        const size_t last = unit + test_below(random, num_units - unit);
        stages[count] = (popliner_interval){unit, last, MOST - count};
        count++;
        unit = last + 1;
    }
    return count;
}

static void check_case(const golden_case *c) {
    static const popliner_schedule schedules[] = {POPLINER_SCHEDULE_NONE, POPLINER_SCHEDULE_POPART,
                                                  POPLINER_SCHEDULE_TF_GROUPED,
                                                  POPLINER_SCHEDULE_SEQUENTIAL};
    uint64_t random = 7 + strlen(c->name);
    both b;
    begin(&b, c);
    for (size_t i = 0; i < 12; i++) {
        const popliner_pipeline pipeline = {
            .schedule = schedules[i % 4],
            .recompute = (popliner_recompute)(i / 4),
            .max_stages = 4,
            .effects = test_below(&random, 3) == 0 ? (unsigned)test_below(&random, 8)
                                                   : POPLINER_EFFECTS_ALL,
            .accumulators = (popliner_accumulators)test_below(&random, 4)};
        popliner_interval stages[3];
        const size_t count = draw_stages(b.chain->num_units, stages, &random);
        print_message("%s: schedule %d, recompute %d, effects %u, accumulators %d\n", c->name,
                      (int)pipeline.schedule, (int)pipeline.recompute, pipeline.effects,
                      (int)pipeline.accumulators);
        assert_same_stages(&b, &pipeline, stages, 1);
        assert_same_stages(&b, &pipeline, stages, count);
        assert_same_costs(&b, &pipeline, (popliner_need)test_below(&random, 3));
    }
    const popliner_interval whole = {0, b.chain->num_units - 1, 1};
    assert_same_stages(&b, NULL, &whole, 1);
    /* nothing for other layers or another model */
    pl_layers *others = assign_layers(c, golden_every_op, POPLINER_LAYER_ORDER_STEPS);
    for (int i = 0; i < 2; i++) {
        pl_chain *chain;
        assert_int_equal(pl_stored_analysis_load_chain(b.stored, i == 0 ? others : b.layers,
                                                       i == 0 ? POPLINER_MEMORY_MODEL_FULL
                                                              : POPLINER_MEMORY_MODEL_POPLINER,
                                                       &chain, NULL),
                         POPLINER_OK);
        assert_null(chain);
    }
    pl_layers_free(others);
    end(&b);
}

static void answers_for_all_stages_like_the_profile(void **state) {
    directory = *state;
    golden_for_each(check_case);
}

static void answers_like_the_real_profile(void **state) {
    golden_case c;
    directory = *state;
    real_load(&c);
    check_case(&c);
    golden_free(&c);
}

/* ---- The analysis
 * ----------------------------------------------------------------------------- */

static popliner_analysis *read_and_store(const char *path, const char *regex,
                                         popliner_analysis **loaded) {
    popliner_analysis_options options = POPLINER_ANALYSIS_OPTIONS_INIT;
    popliner_analysis *analysis;
    char *profile = test_golden_file("popart-train", "profile.pop");
    if (profile == NULL)
        skip();
    assert_int_equal(popliner_analysis_read(profile, NULL, NULL, &analysis, NULL), POPLINER_OK);
    assert_int_equal(popliner_analysis_store(analysis, POPLINER_MEMORY_MODEL_FULL, path, NULL),
                     POPLINER_OK);
    options.layer_name_regex = regex;
    assert_int_equal(popliner_analysis_load(path, &options, loaded, NULL), POPLINER_OK);
    free(profile);
    return analysis;
}

/* Tables that are kept, or need no variables, are the same; others name the file. */
static void has_tables_or_names_the_file(void **state) {
    static const bool is_there[POPLINER_NUM_SECTIONS] = {
        [POPLINER_SECTION_SUMMARY] = true,    [POPLINER_SECTION_TILES] = true,
        [POPLINER_SECTION_CATEGORIES] = true, [POPLINER_SECTION_PROGRAMS] = true,
        [POPLINER_SECTION_LAYERS] = true,     [POPLINER_SECTION_EXECUTION] = true,
        [POPLINER_SECTION_CHECKS] = true,     [POPLINER_SECTION_VERTICES] = true};
    char *path = test_path(*state, "stored");
    popliner_analysis *loaded;
    popliner_analysis *analysis = read_and_store(path, NULL, &loaded);
    for (int i = 0; i < POPLINER_NUM_SECTIONS; i++)
        for (int format = 0; format <= POPLINER_FORMAT_JSON && i != POPLINER_SECTION_PLAN;
             format++) {
            popliner_error error = {.message = ""};
            char *text;
            char *expected;
            const popliner_status status =
                popliner_section_text(loaded, (popliner_section)i, POPLINER_MEMORY_MODEL_FULL, NULL,
                                      (popliner_format)format, &text, &error);
            if (!is_there[i]) {
                assert_int_equal(status, POPLINER_ERROR_USAGE);
                assert_non_null(strstr(error.message, path));
                continue;
            }
            assert_int_equal(status, POPLINER_OK);
            assert_int_equal(popliner_section_text(analysis, (popliner_section)i,
                                                   POPLINER_MEMORY_MODEL_FULL, NULL,
                                                   (popliner_format)format, &expected, NULL),
                             POPLINER_OK);
            assert_string_equal(text, expected);
            free(text);
            free(expected);
        }
    popliner_analysis_free(analysis);
    popliner_analysis_free(loaded);
    free(path);
}

/* What was measured when the analysis was stored is not measured again. */
static void solving_needs_no_digests(void **state) {
    char *path = test_path(*state, "stored");
    popliner_analysis *loaded;
    popliner_analysis *analysis = read_and_store(path, NULL, &loaded);
    popliner_request request = POPLINER_REQUEST_INIT;
    for (int i = 0; i < 4; i++) {
        popliner_certificate *certificate;
        request.schedule = i == 0 ? POPLINER_SCHEDULE_NONE : POPLINER_SCHEDULE_POPART;
        request.recompute = i == 2 ? POPLINER_RECOMPUTE_FULL : POPLINER_RECOMPUTE_NONE;
        request.effects = i == 3 ? POPLINER_EFFECTS_ALL : request.effects;
        request.accumulators = i == 3 ? POPLINER_ACCUMULATORS_FP32 : request.accumulators;
        assert_int_equal(popliner_analysis_solve(loaded, &request, &certificate, NULL),
                         POPLINER_OK);
        popliner_certificate_free(certificate);
        assert_int_equal(loaded->models[POPLINER_MEMORY_MODEL_FULL].meter != NULL, i == 3);
    }
    popliner_analysis_free(analysis);
    popliner_analysis_free(loaded);
    free(path);
}

static void says_what_needs_the_profile(void **state) {
    char *path = test_path(*state, "stored");
    popliner_analysis *loaded;
    popliner_analysis *analysis = read_and_store(path, "^(.)", &loaded);
    popliner_request request = POPLINER_REQUEST_INIT;
    popliner_certificate *certificate;
    popliner_diagnosis *diagnosis;
    char *text;
    for (int i = 0; i < 6; i++) {
        popliner_error error = {.message = ""};
        popliner_status status = POPLINER_OK;
        request.memory_model = i == 1 ? POPLINER_MEMORY_MODEL_POPLINER : POPLINER_MEMORY_MODEL_FULL;
        if (i < 2) /* other layers; another model */
            status = popliner_analysis_solve(loaded, &request, &certificate, &error);
        else if (i == 2)
            status = popliner_analysis_diagnose(loaded, POPLINER_MEMORY_MODEL_FULL, false, 0,
                                                SIZE_MAX, &diagnosis, &error);
        else if (i == 3)
            status = popliner_page_text(loaded, NULL, &text, &error);
        else
            status = popliner_report_table(
                loaded, i == 4 ? POPLINER_TABLE_LAYERS : POPLINER_TABLE_AFFINITY,
                POPLINER_MEMORY_MODEL_FULL, POPLINER_FORMAT_TSV, &text, &error);
        if (status != POPLINER_ERROR_USAGE || strstr(error.message, path) == NULL)
            fail_msg("%d: status %d: %s", i, (int)status, error.message);
        test_assert_sentence(error.message);
    }
    popliner_analysis_free(analysis);
    popliner_analysis_free(loaded);
    free(path);
}

/* ---- Damage
 * ----------------------------------------------------------------------------------- */

/* Alters a part at random. */
static void alter(const char *path, const char *name, int round, uint64_t *random) {
    pl_archive archive;
    size_t size;
    pl_archive_read(&archive, path, NULL);
    char *bytes = pl_archive_find(&archive, "", name, &size);
    assert_non_null(bytes);
    if (round == 0)
        memset(bytes, 0xff, size);
    for (int i = 0; i < 3 && round > 0 && size > 0; i++)
        bytes[test_below(random, size)] = (char)test_below(random, round % 2 ? 4 : 256);
    if (round % 8 == 7)
        size = test_below(random, size + 1);
    /* warnings that the sample has not */
    const bool is_empty = round == 0 && size == 0;
    assert_true(stored_replace(path, name, is_empty ? "\xff" : bytes, size + is_empty));
    pl_archive_free(&archive);
}

/* Asks a file for several things; INPUT if it is found damaged. */
static popliner_status ask(const char *path) {
    popliner_analysis *loaded;
    popliner_request request = POPLINER_REQUEST_INIT;
    popliner_solver_options options = POPLINER_SOLVER_OPTIONS_INIT;
    popliner_error error = {.message = ""};
    char *text = NULL;
    options.num_ipus = 2;
    request.solver = &options;
    popliner_status status = popliner_analysis_load(path, NULL, &loaded, &error);
    for (int i = 0; status == POPLINER_OK && i < 3; i++) {
        popliner_certificate *certificate = NULL;
        request.schedule = i == 1 ? POPLINER_SCHEDULE_TF_GROUPED : POPLINER_SCHEDULE_POPART;
        request.effects = i == 1 ? 0 : POPLINER_EFFECTS_ALL;
        request.need = i == 1 ? POPLINER_NEED_LEAST : POPLINER_NEED_EXPECTED;
        status = i == 2 ? popliner_section_text(loaded, POPLINER_SECTION_LAYERS,
                                                POPLINER_MEMORY_MODEL_FULL, NULL,
                                                POPLINER_FORMAT_JSON, &text, &error)
                        : popliner_analysis_solve(loaded, &request, &certificate, &error);
        popliner_certificate_free(certificate);
        free(text);
        text = NULL;
    }
    /* or the chain is of other layers now */
    if (status != POPLINER_OK &&
        (strstr(error.message, path) == NULL ||
         (status != POPLINER_ERROR_INPUT && strstr(error.message, "for other layers") == NULL)))
        fail_msg("status %d: %s", (int)status, error.message);
    popliner_analysis_free(loaded);
    return status;
}

static void survives_parts_made_up_with_their_checksum(void **state) {
    static const char *const names[] = {"meter",
                                        "warnings",
                                        "chain/key",
                                        "chain/unit_kind",
                                        "chain/unit_layer",
                                        "chain/unit_of_operation",
                                        "stages/0/key",
                                        "stages/1/expected_start",
                                        "stages/1/expected_tiles",
                                        "stages/1/largest_variables",
                                        "stages/1/cuts_bytes",
                                        "operations",
                                        "program_reason"};
    char *path = test_path(*state, "stored");
    popliner_analysis *loaded;
    popliner_analysis_free(read_and_store(path, NULL, &loaded));
    popliner_analysis_free(loaded);
    assert_int_equal(ask(path), POPLINER_OK);
    size_t size;
    uint8_t *bytes = test_read_bytes(path, &size);
    uint64_t random = 71;
    size_t num_refused = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        for (int round = 0; round < (i == 0 ? 64 : 8); round++) {
            if (!test_takes_case((size_t)round, 4))
                continue;
            test_rewrite_bytes(path, bytes, size);
            alter(path, names[i], round, &random);
            num_refused += ask(path) != POPLINER_OK;
        }
    assert_true(num_refused > 10);
    free(bytes);
    free(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_DIRECTORY(answers_for_all_stages_like_the_profile),
        IN_DIRECTORY(answers_like_the_real_profile),
        IN_DIRECTORY(has_tables_or_names_the_file),
        IN_DIRECTORY(solving_needs_no_digests),
        IN_DIRECTORY(says_what_needs_the_profile),
        IN_DIRECTORY(survives_parts_made_up_with_their_checksum),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
