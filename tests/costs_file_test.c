/* popliner's own format of costs: what the examples mean, by hand; whatever may be wrong with a
 * file. relations_test.py has random files.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "plain_options.h"
#include "test_data.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/growth.h"
#include "costs/costs.h"
#include "costs/costs_file_data.h"
#include "pipeline/pipeline.h"
#include "popliner/costs.h"
#include "popliner/solver.h"

static popliner_costs_file *read_good(const char *path, const popliner_pipeline *pipeline) {
    popliner_costs_file *file = NULL;
    popliner_error error = {0};
    if (popliner_costs_file_read(path, NULL, 0, pipeline, &file, &error) != POPLINER_OK)
        print_message("%s\n", error.message);
    assert_non_null(file);
    return file;
}

static popliner_costs_file *read_example(const char *name, const popliner_pipeline *pipeline) {
    char *path = test_project_file(name);
    popliner_costs_file *file = read_good(path, pipeline);
    free(path);
    return file;
}

static popliner_costs_file *read_text(const char *directory, const char *text,
                                      const popliner_pipeline *pipeline) {
    char *path = test_path(directory, "costs.json");
    test_write_bytes(path, text, strlen(text));
    popliner_costs_file *file = read_good(path, pipeline);
    free(path);
    return file;
}

/* ---- The examples, by hand ------------------------------------------------------------------ */

static void additive_costs_by_hand(void **state) {
    (void)state;
    popliner_costs_file *file = read_example("data/costs/additive.json", NULL);
    const popliner_costs *costs = file->costs;
    const uint8_t *counted = file->counted_units;
    assert_false(file->is_graph);
    assert_int_equal(popliner_costs_num_units(costs), 5);
    assert_string_equal(file->unit_names[0], "input");
    assert_string_equal(file->unit_names[3], "block 2");
    assert_memory_equal(counted, "\0\1\1\1\1", 5);
    assert_string_equal(file->time_unit, "ms");
    assert_int_equal(file->cycles_per_time_unit, 1000000000);
    assert_int_equal(file->num_ipus, 3);
    assert_int_equal(file->bytes_per_tile, 638976);
    assert_int_equal(file->num_ipu_limits, 1);
    assert_int_equal(file->ipu_limits[0].ipu, 0);
    assert_int_equal(file->ipu_limits[0].value, 500000);
    assert_int_equal(popliner_costs_peak(costs, 0, 2, 1), 504096);
    assert_int_equal(popliner_costs_peak(costs, 4, 4, 1), 250000);
    assert_int_equal(popliner_costs_cycles(costs, 0, 0), 250000000);
    assert_int_equal(popliner_costs_cycles(costs, 0, 1), 2250000000);
    assert_int_equal(popliner_costs_cycles(costs, 2, 3), 7000000000);
    assert_int_equal(popliner_costs_cycles(costs, 0, 4), 9875000000);
    assert_int_equal(popliner_costs_cut(costs, 1), 1024);
    assert_int_equal(popliner_costs_cut(costs, 4), 65536);
    assert_int_equal(costs->max_stages_to_end, 1);
    popliner_costs_file_free(file);
}

static void regions_by_hand(void **state) {
    (void)state;
    popliner_costs_file *file = read_example("data/costs/regions.json", NULL);
    const popliner_costs *costs = file->costs;
    assert_null(file->counted_units);
    assert_string_equal(file->time_unit, "cycles");
    assert_int_equal(file->cycles_per_time_unit, 1);
    assert_int_equal(file->num_ipus, 0);
    assert_int_equal(popliner_costs_peak(costs, 0, 0, 1), 125);
    assert_int_equal(popliner_costs_peak(costs, 0, 1, 1), 405); /* of tile 1: 50 + 300 + 30 + 25 */
    assert_int_equal(popliner_costs_peak(costs, 1, 2, 1), 680);
    assert_true(popliner_costs_peak(costs, 1, 3, 1) == POPLINER_PEAK_FORBIDDEN);
    assert_int_equal(popliner_costs_peak(costs, 2, 3, 1), 805);
    assert_int_equal(popliner_costs_cycles(costs, 1, 3), 45);
    assert_int_equal(popliner_costs_cut(costs, 2), 32);
    popliner_costs_file_free(file);
}

static void pipelines_keep_stashes(void **state) {
    (void)state;
    popliner_pipeline pipeline = {.schedule = POPLINER_SCHEDULE_POPART,
                                  .recompute = POPLINER_RECOMPUTE_NONE,
                                  .max_stages = 9};
    popliner_costs_file *file = read_example("data/costs/regions.json", &pipeline);
    popliner_costs *costs = file->costs;
    assert_int_equal(costs->max_stages_to_end, 4); /* there are 4 units */
    assert_int_equal(popliner_costs_peak(costs, 1, 2, 1), 680);
    assert_int_equal(popliner_costs_peak(costs, 1, 2, 1), 680);
    assert_int_equal(popliner_costs_peak(costs, 1, 2, 2), 740);
    assert_int_equal(popliner_costs_peak(costs, 1, 2, 4), 820);
    assert_int_equal(popliner_costs_peak(costs, 0, 0, 2), 149); /* tile 0: 125 + 3 * 8 */
    /* a ... b with b's stash of tile 0: 100 + 200 + 70 + 25 + 5 * 18; of tile 1: 405 + 5 * 4 */
    assert_int_equal(popliner_costs_peak(costs, 0, 1, 3), 485);
    popliner_costs_file_free(file);

    pipeline.recompute = POPLINER_RECOMPUTE_FULL;
    file = read_example("data/costs/regions.json", &pipeline);
    costs = file->costs;
    assert_int_equal(popliner_costs_peak(costs, 1, 2, 2), 698); /* 680 + 3 * 6 */
    assert_int_equal(popliner_costs_peak(costs, 0, 1, 3), 415); /* 405 + 5 * 2 */
    assert_int_equal(popliner_costs_peak(costs, 2, 3, 3), 830); /* 805 + 5 * 5 */
    popliner_costs_file_free(file);

    /* effects are those of profiles: 680 and 2 times 20 */
    pipeline.recompute = POPLINER_RECOMPUTE_NONE;
    pipeline.schedule = POPLINER_SCHEDULE_TF_GROUPED;
    for (pipeline.effects = 0; pipeline.effects <= POPLINER_EFFECTS_ALL; pipeline.effects++) {
        file = read_example("data/costs/regions.json", &pipeline);
        costs = file->costs;
        assert_int_equal(popliner_costs_peak(costs, 1, 2, 1), 680);
        assert_int_equal(popliner_costs_peak(costs, 1, 2, 2), 720);
        popliner_costs_file_free(file);
    }
    pipeline.effects = 0;
    pipeline.recompute = POPLINER_RECOMPUTE_FULL;

    pipeline.schedule = POPLINER_SCHEDULE_INFERENCE;
    file = read_example("data/costs/regions.json", &pipeline);
    assert_int_equal(file->costs->max_stages_to_end, 1);
    popliner_costs_file_free(file);
    pipeline.schedule = POPLINER_SCHEDULE_POPART;
    file = read_example("data/costs/additive.json", &pipeline); /* which stashes nothing */
    assert_int_equal(file->costs->max_stages_to_end, 1);
    popliner_costs_file_free(file);
}

/* A table of one place would be taken to be that of all, and a pipeline's stages to keep
 * nothing. */
static void short_pipelines_are_not_taken_for_long_ones(void **state) {
    const size_t number[] = {1, 0, SIZE_MAX}, known[] = {2, 4, 4};
    (void)state;
    for (size_t i = 0; i < 3; ++i) {
        const popliner_pipeline pipeline = {.schedule = POPLINER_SCHEDULE_POPART,
                                            .recompute = POPLINER_RECOMPUTE_NONE,
                                            .max_stages = number[i]};
        popliner_costs_file *file = read_example("data/costs/regions.json", &pipeline);
        const popliner_costs *costs = file->costs;
        popliner_solver_options options = PLAIN_SOLVER_OPTIONS;
        popliner_plan *plan = NULL;
        popliner_error error;
        assert_int_equal(costs->max_stages_to_end, known[i]);
        assert_int_equal(popliner_costs_peak(costs, 1, 2, 1), 680);
        assert_int_equal(popliner_costs_peak(costs, 1, 2, 2), 740);
        options.num_ipus = 3;
        popliner_status status = popliner_solve(costs, &options, &plan, &error);
        assert_int_equal(status, known[i] < 3 ? POPLINER_ERROR_USAGE : POPLINER_OK);
        popliner_plan_free(plan);
        plan = NULL;
        options.num_ipus = 1;
        assert_int_equal(popliner_solve(costs, &options, &plan, &error), POPLINER_OK);
        popliner_plan_free(plan);
        popliner_costs_file_free(file);
    }
}

/* Copies of stages that take turns need their numbers of stages and devices. */
static void copies_are_checked_first(void **state) {
    (void)state;
    static const char text[] =
        "{\"format\": \"popliner-costs\", \"version\": 1, \"units\": [{\"name\": "
        "\"a\", \"memory\": 1, \"stash\": 3}]}";
    const popliner_pipeline pipeline = {.schedule = POPLINER_SCHEDULE_SEQUENTIAL,
                                        .copies = {.rule = POPLINER_COPIES_INTERLEAVED}};
    popliner_costs_file *file = NULL;
    popliner_error error = {0};
    assert_int_equal(popliner_costs_file_read("made", text, strlen(text), &pipeline, &file, &error),
                     POPLINER_ERROR_USAGE);
    assert_null(file);
    assert_non_null(strstr(error.message, "set num_stages"));
}

/* A table for each place would take 27 GB. */
static void long_pipelines_need_little_memory(void **state) {
    (void)state;
    enum { N = 1900 };
    const popliner_pipeline pipeline = {.schedule = POPLINER_SCHEDULE_TF_INTERLEAVED,
                                        .max_stages = SIZE_MAX};
    pl_text text = {0};
    popliner_costs_file *file = NULL;
    pl_text_add(&text, "{\"format\": \"popliner-costs\", \"version\": 1, \"units\": [");
    for (size_t i = 0; i < N; ++i)
        pl_text_format(&text, "%s{\"name\": \"u%zu\", \"memory\": %zu, \"stash\": %zu}",
                       i == 0 ? "" : ", ", i, i, i % 3);
    pl_text_add(&text, "]}");
    assert_false(text.failed);
    assert_int_equal(
        popliner_costs_file_read("a text", text.data, text.length, &pipeline, &file, NULL),
        POPLINER_OK);
    popliner_costs *costs = file->costs;
    assert_int_equal(costs->max_stages_to_end, N);
    assert_int_equal(popliner_costs_peak(costs, 3, 5, 1), 12);
    assert_int_equal(popliner_costs_peak(costs, 3, 5, N), 12 + (N - 1) * 3);
    popliner_costs_file_free(file);
    free(text.data);
}

static uint64_t together(const popliner_costs *costs, popliner_interval first,
                         popliner_interval second) {
    popliner_interval stages[] = {first, second};
    uint64_t bytes = 0;
    assert_int_equal(pl_costs_shared_peak(costs, stages, 2, &bytes, NULL), POPLINER_OK);
    return bytes;
}

static void stages_on_one_ipu_share_once(void **state) {
    (void)state;
    popliner_pipeline pipeline = {.schedule = POPLINER_SCHEDULE_POPART,
                                  .recompute = POPLINER_RECOMPUTE_NONE,
                                  .max_stages = 4};
    popliner_costs_file *file = read_example("data/costs/regions.json", &pipeline);
    const popliner_costs *costs = file->costs;
    popliner_interval a = {0, 0, 3};
    popliner_interval b = {1, 1, 2};
    popliner_interval c = {2, 2, 1};
    popliner_interval d = {3, 3, 1};
    /* tile 0: 110 + 25 + 5 * 8; tile 1: 450 + 25 + 5 * 4 */
    assert_int_equal(together(costs, a, d), 495);
    /* tile 0: 300 + 70 + 25 + 5 * 8 of a; tile 1: 400 + 30 + 25 + 5 * 4 */
    assert_int_equal(together(costs, a, c), 475);
    /* tile 1: 700 + 30 + 25 */
    assert_int_equal(together(costs, b, d), 755);
    assert_true(together(costs, (popliner_interval){0, 1, 2}, (popliner_interval){2, 3, 1}) ==
                POPLINER_PEAK_FORBIDDEN);
    popliner_costs_file_free(file);
}

static void a_name_is_enough(void **state) {
    popliner_costs_file *file = read_text(
        *state,
        "{\"format\": \"popliner-costs\", \"version\": 1, \"units\": [{\"name\": \"x\"}],"
        " \"devices\": {\"memories\": {\"17\": 3, \"2\": 4e3},"
        " \"speeds\": {\"3\": 2, \"1\": 0.3333334, \"0\": 1e3},"
        " \"bandwidth\": 2.5, \"links\": {\"7-2\": 3, \"0-10\": 0.0000014, \"0-9\": 4e9}}}",
        NULL);
    const popliner_costs *costs = file->costs;
    assert_int_equal(popliner_costs_num_units(costs), 1);
    assert_int_equal(popliner_costs_peak(costs, 0, 0, 1), 0);
    assert_false(popliner_costs_has_cycles(costs));
    assert_int_equal(file->num_ipus, 0);
    assert_int_equal(file->num_ipu_limits, 2);
    assert_int_equal(file->ipu_limits[0].ipu, 2);
    assert_int_equal(file->ipu_limits[0].value, 4000);
    assert_int_equal(file->ipu_limits[1].ipu, 17);
    assert_int_equal(file->num_ipu_speeds, 3);
    assert_int_equal(file->ipu_speeds[0].ipu, 0);
    assert_int_equal(file->ipu_speeds[0].value, POPLINER_MOST_SPEED);
    assert_int_equal(file->ipu_speeds[1].ipu, 1);
    assert_int_equal(file->ipu_speeds[1].value, 333333);
    assert_int_equal(file->ipu_speeds[2].ipu, 3);
    assert_int_equal(file->ipu_speeds[2].value, 2000000);
    assert_int_equal(file->link_bandwidth.bytes, 2500000);
    assert_int_equal(file->link_bandwidth.cycles, 1000000);
    static const popliner_ipu_link links[] = {
        {0, 9, 4000000000, 1}, {0, 10, 1, 1000000}, {2, 7, 3, 1}};
    assert_int_equal(file->num_ipu_links, 3);
    assert_memory_equal(file->ipu_links, links, sizeof links);
    popliner_costs_file_free(file);
    popliner_costs_file_free(NULL);
}

/* Costs that add up stay the same, in the same order, where setters make a number of each. */
static void setters_change_no_other_number(void **state) {
    enum { NUM_UNITS = 4, NUM_PLACES = 3, COUNT = NUM_UNITS * NUM_UNITS };
    static const char text[] =
        "{\"format\": \"popliner-costs\", \"version\": 1, \"cut_cycles\": [4, 9, 0], \"units\": ["
        "{\"name\": \"a\", \"memory\": 5, \"stash\": 4, \"cycles\": 7},"
        "{\"name\": \"b\", \"memory\": 0, \"stash\": 1, \"cycles\": 0},"
        "{\"name\": \"c\", \"memory\": 8, \"stash\": 0, \"cycles\": 3},"
        "{\"name\": \"d\", \"memory\": 2, \"stash\": 6, \"cycles\": 11}]}";
    const popliner_pipeline pipeline = {.schedule = POPLINER_SCHEDULE_TF_INTERLEAVED,
                                        .max_stages = NUM_PLACES};
    popliner_costs_file *file = read_text(*state, text, &pipeline);
    popliner_costs *costs = file->costs;
    uint64_t peaks[2][NUM_PLACES][COUNT] = {{{0}}};
    uint64_t cycles[2][COUNT] = {{0}};
    pl_cost_order orders[2][NUM_PLACES] = {{{.cycles_never_shrink = false}}};
    assert_int_equal(costs->peaks.lines->bytes.kind, PL_NUMBERS_ADDED_UP);
    assert_int_equal(costs->cycles.kind, PL_NUMBERS_ADDED_UP);
    for (size_t i = 0; i < 2; ++i) {
        for (size_t k = 0; k < NUM_PLACES; ++k) {
            assert_int_equal(
                popliner_costs_get_all(costs, POPLINER_COSTS_OF_PEAKS, k + 1, peaks[i][k], NULL),
                POPLINER_OK);
            assert_int_equal(pl_costs_find_order(costs, k + 1, &orders[i][k], NULL), POPLINER_OK);
        }
        assert_int_equal(
            popliner_costs_get_all(costs, POPLINER_COSTS_OF_CYCLES, 1, cycles[i], NULL),
            POPLINER_OK);
        /* two copies: 13 + 2 * 5 bytes; 10 cycles, none of the cut after c */
        assert_int_equal(popliner_costs_peak(costs, 0, 2, 3), 23);
        assert_int_equal(popliner_costs_cycles(costs, 0, 2), 10);
        assert_int_equal(popliner_costs_cycles(costs, 1, 1), 13);
        assert_int_equal(popliner_costs_set_peak(costs, 0, 0, 1, 5, NULL), POPLINER_OK);
        assert_int_equal(popliner_costs_set_cycles(costs, 0, 0, 11, NULL), POPLINER_OK);
    }
    assert_null(costs->peaks.lines);
    assert_int_equal(costs->cycles.kind, PL_NUMBERS_LISTED);
    assert_memory_equal(peaks[0], peaks[1], sizeof peaks[0]);
    assert_memory_equal(cycles[0], cycles[1], sizeof cycles[0]);
    for (size_t k = 0; k < NUM_PLACES; ++k) {
        const pl_cost_order *own[] = {&orders[0][k], &orders[1][k]};
        /* lines never shrink only if they do so for no number of copies */
        assert_true(own[1]->peaks_never_shrink || !own[0]->peaks_never_shrink);
        assert_int_equal(own[0]->cycles_never_shrink, own[1]->cycles_never_shrink);
        pl_cost_order_clear(&orders[0][k]);
        pl_cost_order_clear(&orders[1][k]);
    }
    popliner_costs_file_free(file);
}

/* ---- Files that are wrong ------------------------------------------------------------------- */

static void assert_refused(const char *directory, const char *text, const char *message) {
    popliner_costs_file *file = NULL;
    popliner_error error = {0};
    char *path = test_path(directory, "costs.json");
    test_write_bytes(path, text, strlen(text));
    assert_int_equal(popliner_costs_file_read(path, NULL, 0, NULL, &file, &error),
                     POPLINER_ERROR_INPUT);
    assert_null(file);
    assert_memory_equal(error.message, path, strlen(path));
    assert_string_equal(error.message + strlen(path) + 2, message);
    test_assert_sentence(error.message);
    free(path);
}

#define HEAD "{\"format\": \"popliner-costs\", \"version\": 1, "
#define AB "\"units\": [{\"name\": \"a\"}, {\"name\": \"b\"}]"

#define NO_COSTS                                                                                   \
    "not a cost file; expected a JSON object, a CSV with a column 'name', or lines like 'node1 "   \
    "-- '"
#define NO_GRAPH                                                                                   \
    "JSON, but neither costs nor a graph; expected \"format\": \"popliner-costs\", or \"nodes\""
#define REMEDY "; python3 -m popliner.costs makes costs or a plan from it"

static void refuses_what_is_no_file_of_costs(void **state) {
    popliner_costs_file *file = NULL;
    popliner_error error = {0};
    static const char *const cases[][2] = {
        {"SQLite format 3", NO_COSTS},
        {"{\"status\": \"optimal\", \"stages\": []}",
         "an answer or a plan of popliner, and no costs"},
        {"[1]", NO_COSTS},
        {"{}", NO_GRAPH},
        {"{\"model_type\": \"llama\"}", NO_GRAPH REMEDY},
        {"{\"architectures\": []}", NO_GRAPH REMEDY},
        {"GGUF\3", NO_COSTS REMEDY},
        {"\n{\"a\": 1,\n \"a\": 2}", "line 3, column 4: duplicate object key near '\"a\"'"},
        {"{\"a\": 1} x", "line 1, column 10: end of file expected near 'x'"},
        {"{\"a\": 1}, {}", "line 1, column 9: end of file expected near ','"},
        {"{\"a\": 99999999999999999999}", "line 1, column 26: too big integer near "
                                          "'99999999999999999999'"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i)
        assert_refused(*state, cases[i][0], cases[i][1]);
    char weights[] = "2\0\0\0\0\0\0\0{\"w\": {}}"; /* safetensors: the length comes first */
    for (int i = 0; i < 2; i++) {
        assert_int_equal(
            popliner_costs_file_read("weights", weights, sizeof weights - 1, NULL, &file, &error),
            POPLINER_ERROR_INPUT);
        assert_string_equal(error.message, "weights: " NO_COSTS REMEDY);
        weights[0] = '{';
    }
    assert_int_equal(popliner_costs_file_read("/no/file", NULL, 0, NULL, &file, &error),
                     POPLINER_ERROR_INPUT);
    assert_string_equal(error.message, "/no/file: no such file or directory");
    assert_int_equal(popliner_costs_file_read(*state, NULL, 0, NULL, &file, &error),
                     POPLINER_ERROR_INPUT);
    assert_non_null(strstr(error.message, ": cannot be read: Is a directory"));
    assert_null(file);
}

static void reads_texts_in_memory(void **state) {
    (void)state;
    size_t size;
    popliner_error error;
    popliner_costs_file *file = NULL;
    char *path = test_project_file("data/costs/additive.json");
    uint8_t *bytes = test_read_bytes(path, &size);
    char *text = calloc(size + 1, 1);
    memcpy(text, bytes, size);
    assert_int_equal(popliner_costs_file_read("a text", text, size, NULL, &file, &error),
                     POPLINER_OK);
    memset(text, 0, size); /* it is not kept */
    assert_string_equal(file->unit_names[1], "embedding");
    popliner_costs_file_free(file);
    memcpy(text, bytes, size);
    text[size / 2] = '\0';
    assert_int_equal(popliner_costs_file_read("a text", text, size / 2, NULL, &file, &error),
                     POPLINER_ERROR_INPUT);
    assert_null(file);
    assert_int_equal(strncmp(error.message, "a text: line ", 13), 0);
    free(text);
    free(bytes);
    free(path);
}

/* Counts how often it is asked; true from `stop_at` on. */
typedef struct asked {
    size_t count;
    size_t stop_at;
} asked;

static bool count_asked(void *user) {
    asked *a = user;
    return ++a->count >= a->stop_at;
}

/* A text of so many units in each format. */
static void write_units(pl_text *text, size_t format, size_t num_units) {
    static const char *const heads[] = {
        "name,memory,time\n",
        "{\"format\": \"popliner-costs\", \"version\": 1, \"units\": [",
        "{\"maxSizePerFPGA\": 1000000, \"maxFPGAs\": 4, \"maxCPUs\": 0, \"nodes\": [",
        "",
    };
    static const char *const units[] = {
        "u%zu,7,3\n", "%s{\"name\": \"u%zu\", \"memory\": 7}",
        "%s{\"id\": %zu, \"supportedOnFpga\": 1, \"cpuLatency\": 1, \"fpgaLatency\": 1, "
        "\"isBackwardNode\": 0, \"size\": 1}",
        "node%zu -- L -- forward_compute_time=1.0, backward_compute_time=1.0, "
        "activation_size=1.0, parameter_size=1.0\n"};
    pl_text_add(text, heads[format]);
    for (size_t i = 0; i < num_units; i++) {
        const char *comma = i == 0 ? "" : ",";
        if (format == 0 || format == 3)
            pl_text_format(text, units[format], i);
        else
            pl_text_format(text, units[format], comma, i);
    }
    if (format == 1)
        pl_text_add(text, "]}");
    if (format == 2)
        pl_text_add(text, "], \"edges\": [");
    for (size_t i = 1; format >= 2 && i < num_units; i++)
        pl_text_format(text,
                       format == 2 ? "%s{\"sourceId\": %zu, \"destId\": %zu, \"cost\": 1}"
                                   : "%s\tnode%zu -- node%zu\n",
                       format == 3 || i == 1 ? "" : ",", i - 1, i);
    if (format == 2)
        pl_text_add(text, "]}");
    assert_false(text->failed);
}

/* As long as it takes; between the units, of each format. */
static void reading_can_be_stopped(void **state) {
    (void)state;
    for (size_t format = 0; format < 4; format++) {
        pl_text text = {0};
        popliner_costs_file *file = NULL;
        popliner_error error = {0};
        asked a = {.stop_at = SIZE_MAX};
        popliner_pipeline pipeline = {
            .max_stages = 4, .should_stop = count_asked, .should_stop_user = &a};
        write_units(&text, format, 40);
        popliner_status status =
            popliner_costs_file_read("a text", text.data, text.length, &pipeline, &file, &error);
        if (status != POPLINER_OK)
            fail_msg("%zu: %s", format, error.message);
        popliner_costs_file_free(file);
        assert_true(a.count > 0);
        a = (asked){.stop_at = 1};
        assert_int_equal(
            popliner_costs_file_read("a text", text.data, text.length, &pipeline, &file, &error),
            POPLINER_ERROR_STOPPED);
        assert_string_equal(error.message, "a text: reading the costs was stopped");
        assert_null(file);
        assert_int_equal(a.count, 1);
        free(text.data);
    }
    /* and again and again, where it takes long: from how many units on depends on the machine */
    bool is_stopped = false;
    for (size_t num_units = 1000; !is_stopped && num_units <= 16000; num_units *= 2) {
        pl_text text = {0};
        popliner_costs_file *file = NULL;
        asked a = {.stop_at = 3};
        popliner_pipeline pipeline = {.should_stop = count_asked, .should_stop_user = &a};
        write_units(&text, 3, num_units);
        popliner_status status =
            popliner_costs_file_read("a text", text.data, text.length, &pipeline, &file, NULL);
        is_stopped = status == POPLINER_ERROR_STOPPED;
        assert_true(is_stopped ? file == NULL : status == POPLINER_OK);
        popliner_costs_file_free(file);
        free(text.data);
    }
    assert_true(is_stopped);
}

static void refuses_what_has_no_end(void **state) {
    popliner_costs_file *file = NULL;
    popliner_error error = {0};
    (void)state;
    assert_int_equal(popliner_costs_file_read("/dev/zero", NULL, 0, NULL, &file, &error),
                     POPLINER_ERROR_INPUT);
    assert_null(file);
    test_assert_sentence(error.message);
    assert_non_null(
        strstr(error.message, "/dev/zero: longer than 256 MiB, and not a regular file"));
}

static void refuses_wrong_values_by_their_place(void **state) {
    static const char *const cases[][2] = {
        {"{\"format\": 1}", "format: expected a text, found a number"},
        {"{\"format\": \"x\"}", "format: expected \"popliner-costs\", found \"x\""},
        {"{\"format\": \"popliner-costs\"}", "\"version\" is missing"},
        {"{\"format\": \"popliner-costs\", \"version\": 2}",
         "version: 2 is not a whole number from 1 to 1"},
        {HEAD "\"unit\": []}",
         "unknown key \"unit\"; expected format, version, units, $schema, description, time_unit, "
         "not_counted, samples, regions, shared, cuts, cut_cycles, devices"},
        {HEAD "\"units\": [{\"name\": \"a\"}], \"not_counted\": 5}",
         "not_counted: expected a text, found a number"},
        {HEAD "\"units\": {}}", "units: expected a list, found an object"},
        {HEAD "\"units\": []}", "units: expected from 1 to 16384 units, found 0"},
        {HEAD "\"units\": [\"a\"]}", "units[0]: expected an object, found a text"},
        {HEAD "\"units\": [{}]}", "units[0]: \"name\" is missing"},
        {HEAD "\"units\": [{\"name\": \"\"}]}", "units[0].name: the text is empty"},
        {HEAD "\"units\": [{\"name\": \"a\\nb\"}]}",
         "units[0].name: the text has a control character in it"},
        {HEAD "\"units\": [{\"name\": null}]}", "units[0].name: expected a text, found null"},
        {HEAD "\"units\": [{\"name\": \"a\"}, {\"name\": \"a\"}]}",
         "units[1].name: \"a\" appears twice"},
        {HEAD "\"units\": [{\"name\": \"a\", \"size\": 1}]}",
         "units[0]: unknown key \"size\"; expected name, layer, kind, memory, cycles, forward, "
         "backward, stash, inputs, parameters, kv, kv_tokens, cache, workspace, recomputed, "
         "sharded, least, most, variants, recompute_cycles"},
        {HEAD "\"units\": [{\"name\": \"a\", \"most\": {\"kv\": 1}}]}",
         "units[0].most: unknown key \"kv\"; expected memory, stash, inputs, workspace, "
         "recomputed, "
         "sharded"},
        {HEAD "\"units\": [{\"name\": \"a\", \"most\": 1}]}",
         "units[0].most: expected an object, found a number"},
        {HEAD "\"units\": [{\"name\": \"a\", \"least\": {\"inputs\": true}}]}",
         "units[0].least.inputs: expected a number of bytes, or a list of one for each region"},
        {HEAD "\"units\": [{\"name\": \"a\", \"most\": {\"stash\": -1}}]}",
         "units[0].most.stash: -1 is not a whole number from 0 to 281474976710656"},
        {HEAD "\"units\": [{\"name\": \"a\", \"workspace\": 1, \"recomputed\": 2}]}",
         "units[0].recomputed: is more than \"workspace\", of which it is a part"},
        {HEAD "\"units\": [{\"name\": \"a\", \"cycles\": 1, \"backward\": 1}]}",
         "units[0].cycles: are the sum of \"forward\" and \"backward\"; remove them or these"},
        {HEAD "\"units\": [{\"name\": \"a\", \"layer\": true, \"kind\": \"layer\"}]}",
         "units[0].kind: says whether it is a layer; remove \"layer\""},
        {HEAD "\"units\": [{\"name\": \"a\", \"cycles\": []}]}",
         "units[0].cycles: the list has 0 times, but others have 1: expected one for each sample"},
        {HEAD "\"regions\": [\"t\"], \"units\": [{\"name\": \"a\", \"kv\": 1}]}",
         "units[0].kv: is known for a device without regions; remove \"regions\""},
        {HEAD "\"units\": [{\"name\": \"a\", \"layer\": 1}]}",
         "units[0].layer: expected true or false"},
        {HEAD "\"units\": [{\"name\": \"a\", \"memory\": -1}]}",
         "units[0].memory: -1 is not a whole number from 0 to 281474976710656"},
        {HEAD "\"units\": [{\"name\": \"a\", \"memory\": 1.5}]}",
         "units[0].memory: 1.5 is not a whole number from 0 to 281474976710656"},
        {HEAD "\"units\": [{\"name\": \"a\", \"memory\": 281474976710657}]}",
         "units[0].memory: 281474976710657 is not a whole number from 0 to 281474976710656"},
        {HEAD "\"units\": [{\"name\": \"a\", \"memory\": \"1\"}]}",
         "units[0].memory: expected a number of bytes, or a list of one for each region"},
        {HEAD "\"units\": [{\"name\": \"a\", \"memory\": [1, 2]}]}",
         "units[0].memory: expected a list of 1 number, one for each region"},
        {HEAD "\"units\": [{\"name\": \"a\", \"stash\": [true]}]}",
         "units[0].stash[0]: expected a whole number, found true"},
        {HEAD "\"units\": [{\"name\": \"a\", \"memory\": 281474976710656, \"inputs\": 1}]}",
         "units[0].inputs: with this, the bytes of the memory add up to more than "
         "281474976710656"},
        {HEAD "\"units\": [{\"name\": \"a\", \"cycles\": -1}]}", "units[0].cycles: -1 is negative"},
        {HEAD "\"units\": [{\"name\": \"a\", \"cycles\": [[1]]}]}",
         "units[0].cycles[0]: expected a number, found a list"},
        {HEAD "\"units\": [{\"name\": \"a\", \"cycles\": 5e15}]}",
         "units[0].cycles: 5000000000000000 is more than 4503599627370495; use a larger unit"},
        {HEAD "\"units\": [{\"name\": \"a\", \"cycles\": 4503599627370495},"
              " {\"name\": \"b\", \"cycles\": 1}]}",
         "units[1].cycles: with this, the cycles add up to more than 4503599627370495; use a "
         "larger unit of time"},
        {HEAD AB ", \"time_unit\": 3}", "time_unit: expected a text, found a number"},
        {HEAD AB ", \"regions\": 3}", "regions: expected a list, found a number"},
        {HEAD AB ", \"regions\": []}",
         "regions: the list is empty; leave it out if there is only one region"},
        {HEAD AB ", \"regions\": [\"x\", \"x\"]}", "regions[1]: \"x\" appears twice"},
        {HEAD AB ", \"regions\": [4]}",
         "regions[0]: expected a name, or an object with name and capacity"},
        {HEAD AB ", \"regions\": [{\"capacity\": 4}]}", "regions[0]: \"name\" is missing"},
        {HEAD AB ", \"regions\": [{\"name\": \"x\", \"capacity\": false}]}",
         "regions[0].capacity: expected a whole number, found false"},
        {HEAD AB ", \"shared\": {}}", "shared: expected a list, found an object"},
        {HEAD AB ", \"shared\": [{\"units\": [\"a\"]}]}", "shared[0]: \"memory\" is missing"},
        {HEAD AB ", \"shared\": [{\"units\": \"a\", \"memory\": 1}]}",
         "shared[0].units: expected a list, found a text"},
        {HEAD AB ", \"shared\": [{\"units\": [], \"memory\": 1}]}",
         "shared[0].units: the list is empty"},
        {HEAD AB ", \"shared\": [{\"units\": [\"a\", \"c\"], \"memory\": 1}]}",
         "shared[0].units[1]: no unit is called \"c\""},
        {HEAD AB ", \"shared\": [{\"units\": [\"a\", \"b\", \"a\"], \"memory\": 1}]}",
         "shared[0].units: \"a\" appears twice"},
        {HEAD AB ", \"cuts\": [1, 2]}",
         "cuts: expected a list of 1 number, one for each cut between the 2 units"},
        {HEAD AB ", \"cuts\": [0.5]}",
         "cuts[0]: 0.5 is not a whole number from 0 to 281474976710656"},
        {HEAD AB ", \"cut_cycles\": 4}", "cut_cycles: expected a list, found a number"},
        {HEAD AB ", \"cut_cycles\": [null]}", "cut_cycles[0]: expected a number, found null"},
        {HEAD AB ", \"devices\": 4}", "devices: expected an object, found a number"},
        {HEAD AB ", \"devices\": {\"count\": 0}}",
         "devices.count: 0 is not a whole number from 1 to 65536"},
        {HEAD AB ", \"devices\": {\"memory\": 0}}",
         "devices.memory: 0 is not a whole number from 1 to 281474976710656"},
        {HEAD AB ", \"devices\": {\"memories\": [1]}}",
         "devices.memories: expected an object, found a list"},
        {HEAD AB ", \"devices\": {\"count\": 2, \"memories\": {\"2\": 1}}}",
         "devices.memories: \"2\" is not the number of a device, from 0 to 1"},
        {HEAD AB ", \"devices\": {\"memories\": {\"01\": 1}}}",
         "devices.memories: \"01\" is not the number of a device, from 0 to 65535"},
        {HEAD AB ", \"devices\": {\"memories\": {\"1\": \"x\"}}}",
         "devices.memories.1: expected a whole number, found a text"},
        {HEAD AB ", \"devices\": {\"bandwidth\": 0}}",
         "devices.bandwidth: expected bytes in a unit of time, from 0.000001 to 281474976710656"},
        {HEAD AB ", \"devices\": {\"bandwidth\": \"4\"}}",
         "devices.bandwidth: expected bytes in a unit of time, from 0.000001 to 281474976710656"},
        {HEAD AB ", \"devices\": {\"links\": 4}}",
         "devices.links: expected an object, found a number"},
        {HEAD AB ", \"devices\": {\"links\": {\"0-1\": -1}}}",
         "devices.links.0-1: expected bytes in a unit of time, from 0.000001 to 281474976710656"},
        {HEAD AB ", \"devices\": {\"links\": {\"0-1\": 5e14}}}",
         "devices.links.0-1: expected bytes in a unit of time, from 0.000001 to 281474976710656"},
        {HEAD AB ", \"devices\": {\"links\": {\"0\": 1}}}",
         "devices.links: \"0\" is not a link of two devices from 0 to 65535, like \"0-1\""},
        {HEAD AB ", \"devices\": {\"links\": {\"1-01\": 1}}}",
         "devices.links: \"1-01\" is not a link of two devices from 0 to 65535, like \"0-1\""},
        {HEAD AB ", \"devices\": {\"links\": {\"1-1\": 1}}}",
         "devices.links: \"1-1\" is not a link of two devices from 0 to 65535, like \"0-1\""},
        {HEAD AB ", \"devices\": {\"count\": 2, \"links\": {\"1-2\": 1}}}",
         "devices.links: \"1-2\" is not a link of two devices from 0 to 1, like \"0-1\""},
        {HEAD AB ", \"devices\": {\"links\": {\"0-1\": 1, \"1-0\": 1}}}",
         "devices.links: the link 0-1 appears twice"},
        {HEAD AB ", \"devices\": {\"speeds\": 2}}",
         "devices.speeds: expected an object, found a number"},
        {HEAD AB ", \"devices\": {\"count\": 2, \"speeds\": {\"2\": 1}}}",
         "devices.speeds: \"2\" is not the number of a device, from 0 to 1"},
        {HEAD AB ", \"devices\": {\"speeds\": {\"1\": 0}}}",
         "devices.speeds.1: expected a speed from 0.001 to 1000"},
        {HEAD AB ", \"devices\": {\"speeds\": {\"1\": -2}}}",
         "devices.speeds.1: expected a speed from 0.001 to 1000"},
        {HEAD AB ", \"devices\": {\"speeds\": {\"1\": \"2\"}}}",
         "devices.speeds.1: expected a speed from 0.001 to 1000"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i)
        assert_refused(*state, cases[i][0], cases[i][1]);
}

static const char *const examples[] = {"data/costs/additive.json", "data/costs/regions.json"};
enum { NUM_EXAMPLES = 2 };

static void a_file_cut_off_anywhere_is_refused(void **state) {
    (void)state;
    for (size_t i = 0; i < NUM_EXAMPLES; ++i) {
        char *path = test_project_file(examples[i]);
        size_t size = 0;
        uint8_t *bytes = test_read_bytes(path, &size);
        while (size > 0 && bytes[size - 1] != '}')
            --size;
        while (size-- > 0) {
            popliner_costs_file *file = NULL;
            popliner_error error = {0};
            char *text = test_new_array(size + 1, 1);
            memcpy(text, bytes, size);
            assert_int_equal(popliner_costs_file_read("a text", text, size, NULL, &file, &error),
                             POPLINER_ERROR_INPUT);
            assert_null(file);
            free(text);
        }
        free(bytes);
        free(path);
    }
}

/* Any byte may be another one: the file is read or refused, cleanly. */
static void a_file_with_a_wrong_byte_is_read_or_refused(void **state) {
    static const char wrong[] = "0-\"}],x";
    (void)state;
    popliner_pipeline pipeline = {.schedule = POPLINER_SCHEDULE_POPART,
                                  .recompute = POPLINER_RECOMPUTE_NONE,
                                  .max_stages = 3};
    for (size_t i = 0; i < NUM_EXAMPLES; ++i) {
        char *path = test_project_file(examples[i]);
        size_t size = 0;
        uint8_t *bytes = test_read_bytes(path, &size);
        char *text = test_new_array(size + 1, 1);
        memcpy(text, bytes, size);
        for (size_t at = 0; at < size; ++at) {
            popliner_costs_file *file = NULL;
            popliner_error error = {0};
            text[at] = wrong[at % (sizeof wrong - 1)];
            popliner_status status =
                popliner_costs_file_read("a text", text, size, &pipeline, &file, &error);
            assert_true(status == POPLINER_OK || status == POPLINER_ERROR_INPUT);
            assert_true((status == POPLINER_OK) == (file != NULL));
            popliner_costs_file_free(file);
            text[at] = (char)bytes[at];
        }
        free(text);
        free(bytes);
        free(path);
    }
}

/* ---- The schema ----------------------------------------------------------------------------- */

static void the_schema_knows_the_same_keys(void **state) {
    (void)state;
    char *path = test_project_file("docs/costs.schema.json");
    json_t *schema = json_load_file(path, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(schema);
    for (size_t i = 0; i < pl_num_costs_json_keys; ++i) {
        const pl_known_keys *known = &pl_costs_json_keys[i];
        const json_t *object =
            strcmp(known->object, "file") == 0
                ? schema
                : json_object_get(json_object_get(schema, "$defs"), known->object);
        const json_t *properties = json_object_get(object, "properties");
        const json_t *required = json_object_get(object, "required");
        size_t num_keys = 0;
        assert_true(json_is_false(json_object_get(object, "additionalProperties")));
        assert_int_equal(json_array_size(required), known->num_required);
        for (; known->keys[num_keys] != NULL; ++num_keys) {
            assert_non_null(json_object_get(properties, known->keys[num_keys]));
            if (num_keys < known->num_required)
                assert_string_equal(json_string_value(json_array_get(required, num_keys)),
                                    known->keys[num_keys]);
        }
        assert_int_equal(json_object_size(properties), num_keys);
    }
    json_decref(schema);
    free(path);
}

/* The example in the documentation is the file that it names. */
static void the_documentation_shows_the_example(void **state) {
    (void)state;
    char *path = test_project_file("docs/costs.md");
    size_t size = 0;
    uint8_t *bytes = test_read_bytes(path, &size);
    char *text = strndup((const char *)bytes, size);
    char *shown = strstr(text, "```json\n") + strlen("```json\n");
    *strstr(shown, "```") = '\0';
    json_t *in_text = json_loads(shown, 0, NULL);
    assert_non_null(in_text);
    free(path);
    path = test_project_file("data/costs/regions.json");
    json_t *in_file = json_load_file(path, 0, NULL);
    assert_non_null(in_file);
    json_object_del(in_file, "$schema");
    json_object_del(in_file, "description");
    assert_true(json_equal(in_text, in_file));
    json_decref(in_text);
    json_decref(in_file);
    free(text);
    free(bytes);
    free(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(additive_costs_by_hand),
        cmocka_unit_test(regions_by_hand),
        cmocka_unit_test(pipelines_keep_stashes),
        cmocka_unit_test(short_pipelines_are_not_taken_for_long_ones),
        cmocka_unit_test(copies_are_checked_first),
        cmocka_unit_test(long_pipelines_need_little_memory),
        cmocka_unit_test(stages_on_one_ipu_share_once),
        cmocka_unit_test(reads_texts_in_memory),
        IN_DIRECTORY(a_name_is_enough),
        IN_DIRECTORY(setters_change_no_other_number),
        IN_DIRECTORY(refuses_what_is_no_file_of_costs),
        cmocka_unit_test(refuses_what_has_no_end),
        cmocka_unit_test(reading_can_be_stopped),
        IN_DIRECTORY(refuses_wrong_values_by_their_place),
        IN_DIRECTORY(a_file_cut_off_anywhere_is_refused),
        IN_DIRECTORY(a_file_with_a_wrong_byte_is_read_or_refused),
        cmocka_unit_test(the_schema_knows_the_same_keys),
        cmocka_unit_test(the_documentation_shows_the_example),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
