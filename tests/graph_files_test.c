/* Graphs as files: small ones by hand, the published ones by what is known of them.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "test_data.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "popliner/costs.h"

static popliner_status read_text(const char *directory, const char *text,
                                 popliner_costs_file **file, popliner_error *error) {
    char *path = test_path(directory, "graph");
    test_write_bytes(path, text, strlen(text));
    popliner_status status = popliner_costs_file_read(path, NULL, 0, NULL, file, error);
    free(path);
    return status;
}

static popliner_costs_file *read_good(const char *directory, const char *text) {
    popliner_costs_file *file = NULL;
    popliner_error error = {0};
    if (read_text(directory, text, &file, &error) != POPLINER_OK)
        print_message("%s\n", error.message);
    assert_non_null(file);
    return file;
}

/* Expects the message behind "<path>: ". */
static void assert_refused(const char *directory, const char *text, const char *message) {
    popliner_costs_file *file = NULL;
    popliner_error error = {0};
    assert_int_equal(read_text(directory, text, &file, &error), POPLINER_ERROR_INPUT);
    assert_null(file);
    char *path = test_path(directory, "graph");
    assert_memory_equal(error.message, path, strlen(path));
    assert_string_equal(error.message + strlen(path) + 2, message);
    test_assert_sentence(error.message);
    free(path);
}

/* ---- By hand -------------------------------------------------------------------------------- */

/* 5 feeds 7 and 9 (colours 1, 2, 2), which feed 6. */
static void json_graph_by_hand(void **state) {
    popliner_costs_file *file = read_good(
        *state,
        "\xef\xbb\xbf\n{\"maxSizePerFPGA\": 100.5, \"maxFPGAs\": 3, \"maxCPUs\": 1, \"nodes\": ["
        "{\"id\": 7, \"fpgaLatency\": 0.25, \"colorClass\": 2, \"size\": 10},"
        "{\"id\": 5, \"name\": \"five\", \"fpgaLatency\": 1.5, \"colorClass\": 1, \"size\": 20,"
        " \"supportedOnFpga\": 1, \"cpuLatency\": 0, \"isBackwardNode\": 0},"
        "{\"id\": 9, \"name\": \"five\", \"fpgaLatency\": 2, \"colorClass\": 2, \"size\": 30.0},"
        "{\"id\": -6, \"name\": \"six\", \"fpgaLatency\": 0.000000001, \"colorClass\": null}],"
        "\"edges\": [{\"sourceId\": 5, \"destId\": 7, \"cost\": 4.5},"
        "{\"sourceId\": 5, \"destId\": 9, \"cost\": 4.5},"
        "{\"sourceId\": 7, \"destId\": -6, \"cost\": 0.5},"
        "{\"sourceId\": 9, \"destId\": -6, \"cost\": 1, \"size\": 17}]}\n");
    const popliner_costs *costs = file->costs;
    assert_true(file->is_graph);
    assert_string_equal(file->time_unit, "units");
    assert_int_equal(file->cycles_per_time_unit, 1000000000);
    assert_int_equal(file->num_ipus, 3);
    assert_int_equal(file->bytes_per_tile, 100);
    assert_int_equal(file->num_ipu_limits, 0);
    assert_null(file->counted_units);
    assert_int_equal(popliner_costs_num_units(costs), 3);
    assert_string_equal(file->unit_names[0], "five");
    assert_string_equal(file->unit_names[1], "node7");
    assert_string_equal(file->unit_names[2], "six");
    assert_int_equal(popliner_costs_peak(costs, 0, 0, 1), 20);
    assert_int_equal(popliner_costs_peak(costs, 0, 1, 1), 60);
    assert_int_equal(popliner_costs_peak(costs, 2, 2, 1), 0);
    assert_int_equal(popliner_costs_cut(costs, 1), 4500000000);
    assert_int_equal(popliner_costs_cut(costs, 2), 1500000000);
    assert_int_equal(popliner_costs_cycles(costs, 0, 0), 6000000000);
    assert_int_equal(popliner_costs_cycles(costs, 1, 1), 8250000000);
    assert_int_equal(popliner_costs_cycles(costs, 2, 2), 1500000001);
    assert_int_equal(popliner_costs_cycles(costs, 0, 1), 5250000000);
    assert_int_equal(popliner_costs_cycles(costs, 1, 2), 6750000001);
    assert_int_equal(popliner_costs_cycles(costs, 0, 2), 3750000001);
    popliner_costs_file_free(file);
}

static void names_differ(void **state) {
    popliner_costs_file *file =
        read_good(*state, "{\"nodes\": [{\"id\": 1, \"name\": \"x\", \"fpgaLatency\": 1},"
                          "{\"id\": 2, \"name\": \"x\", \"fpgaLatency\": 1}], \"edges\": []}");
    assert_string_equal(file->unit_names[0], "x");
    assert_string_equal(file->unit_names[1], "x (2)");
    popliner_costs_file_free(file);
}

static void refuses_bad_json_graphs(void **state) {
    static const char *const cases[][2] = {
        {"{\"nodes\": 3, \"edges\": []}", "nodes: expected a list, found a number"},
        {"{\"nodes\": []}", "edges: expected a list, found nothing"},
        {"{\"nodes\": [], \"edges\": []}", "the graph has no nodes"},
        {"{\"nodes\": [4], \"edges\": []}", "nodes[0]: expected an object, found a number"},
        {"{\"nodes\": [{\"id\": 1.5}], \"edges\": []}", "nodes[0].id: expected a whole number"},
        {"{\"nodes\": [{\"id\": 1}], \"edges\": []}",
         "nodes[0].fpgaLatency: expected a number, found nothing"},
        {"{\"nodes\": [{\"id\": 1, \"fpgaLatency\": -2}], \"edges\": []}",
         "nodes[0].fpgaLatency: -2 is negative"},
        {"{\"nodes\": [{\"id\": 1, \"fpgaLatency\": 1e7}], \"edges\": []}",
         "nodes[0].fpgaLatency: 10000000 is more than 4503599.6273704953; use a larger unit"},
        {"{\"nodes\": [{\"id\": 1, \"fpgaLatency\": 4e6}, {\"id\": 2, \"fpgaLatency\": 4e6}],"
         " \"edges\": []}",
         "nodes[1]: with this, the latencies add up to more than "
         "4503599.6273704953; use a larger unit of time"},
        {"{\"nodes\": [{\"id\": 1, \"fpgaLatency\": 4e6}, {\"id\": 2, \"fpgaLatency\": 0}],"
         " \"edges\": [{\"sourceId\": 1, \"destId\": 2, \"cost\": 1e6}]}",
         "edges[0]: with this, the latencies and costs add up to more than "
         "4503599.6273704953; use a larger unit of time"},
        {"{\"nodes\": [{\"id\": 1, \"fpgaLatency\": 1, \"size\": 2e14},"
         "{\"id\": 2, \"fpgaLatency\": 1, \"size\": 2e14}], \"edges\": []}",
         "nodes[1]: with this, the sizes add up to more than 281474976710656 bytes"},
        {"{\"nodes\": [{\"id\": 1, \"fpgaLatency\": 1, \"size\": \"x\"}], \"edges\": []}",
         "nodes[0].size: expected a number, found a text"},
        {"{\"nodes\": [{\"id\": 1, \"fpgaLatency\": 1, \"name\": 1}], \"edges\": []}",
         "nodes[0].name: expected a text, found a number"},
        {"{\"nodes\": [{\"id\": 1, \"fpgaLatency\": 1, \"isBackwardNode\": 2}], \"edges\": []}",
         "nodes[0].isBackwardNode: expected true or false, found a number"},
        {"{\"nodes\": [{\"id\": 1, \"fpgaLatency\": 1, \"supportedOnFpga\": false}],"
         " \"edges\": []}",
         "nodes[0].supportedOnFpga: only a CPU can run this node; remove it from the graph"},
        {"{\"nodes\": [{\"id\": 1, \"fpgaLatency\": 1, \"colorClass\": []}], \"edges\": []}",
         "nodes[0].colorClass: expected a whole number"},
        {"{\"nodes\": [{\"id\": 4, \"fpgaLatency\": 1}, {\"id\": 4, \"fpgaLatency\": 1}],"
         " \"edges\": []}",
         "nodes[1].id: another node has the id 4"},
        {"{\"nodes\": [{\"id\": 1, \"fpgaLatency\": 1}], \"edges\": [7]}",
         "edges[0]: expected an object, found a number"},
        {"{\"nodes\": [{\"id\": 1, \"fpgaLatency\": 1}], \"edges\": [{\"sourceId\": 2}]}",
         "edges[0].sourceId: no node has the id 2"},
        {"{\"nodes\": [{\"id\": 1, \"fpgaLatency\": 1}], \"edges\": [{\"sourceId\": 1}]}",
         "edges[0].destId: expected a whole number"},
        {"{\"nodes\": [{\"id\": 1, \"fpgaLatency\": 1}],"
         " \"edges\": [{\"sourceId\": 1, \"destId\": 1}]}",
         "edges[0].cost: expected a number, found nothing"},
        {"{\"maxFPGAs\": 0, \"nodes\": [], \"edges\": []}",
         "maxFPGAs: expected a number from 1 to 9007199254740992"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i)
        assert_refused(*state, cases[i][0], cases[i][1]);
}

static const char text_graph[] =
    "node2 -- Conv2d(3, 64, stride=(1, 1) -- odd) -- forward_compute_time=1.5, "
    "backward_compute_time=2.000000001, activation_size=100.000, parameter_size=7\n"
    "node1 -- Input -- forward_compute_time=99.5, backward_compute_time=0.000, "
    "activation_size=1.0, parameter_size=0.000\r\n"
    "node10 -- LSTM -- forward_compute_time=0.25, backward_compute_time=0.0000000015, "
    "activation_size=[10.0; 2.0; 0.5], parameter_size=3.000 -- stage_id=1\n"
    "node3 -- InputLike -- forward_compute_time=4, backward_compute_time=0, "
    "activation_size=5, parameter_size=1.000\n"
    "\n"
    "\tnode1 -- node2\n"
    "\tnode2 -- node10\n"
    "\tnode2 -- node3\n"
    "\tnode3 -- node10";

static void text_graph_by_hand(void **state) {
    popliner_costs_file *file = read_good(*state, text_graph);
    const popliner_costs *costs = file->costs;
    assert_true(file->is_graph);
    assert_string_equal(file->time_unit, "ms");
    assert_int_equal(file->cycles_per_time_unit, 1000000000);
    assert_int_equal(file->num_ipus, 0);
    assert_int_equal(file->bytes_per_tile, 0);
    assert_int_equal(popliner_costs_num_units(costs), 3);
    assert_string_equal(file->unit_names[0], "node2");
    assert_string_equal(file->unit_names[1], "node3");
    assert_string_equal(file->unit_names[2], "node10");
    assert_int_equal(popliner_costs_cycles(costs, 0, 0), 3500000001);
    assert_int_equal(popliner_costs_cycles(costs, 2, 2), 250000002);
    assert_int_equal(popliner_costs_cycles(costs, 0, 2), 7750000003);
    assert_int_equal(popliner_costs_peak(costs, 0, 2, 1), 11);
    assert_int_equal(popliner_costs_peak(costs, 1, 2, 1), 4);
    assert_int_equal(popliner_costs_cut(costs, 1), 100);
    assert_int_equal(popliner_costs_cut(costs, 2), 105);
    popliner_costs_file_free(file);
}

#define AMOUNTS                                                                                    \
    " -- forward_compute_time=1, backward_compute_time=1, activation_size=1, parameter_size=1\n"

static void refuses_bad_text_graphs(void **state) {
    static const char *const cases[][2] = {
        {"nodeX -- a" AMOUNTS, "line 1: expected node and a number, then ' -- ': 'nodeX -- a -- "
                               "forward_compute_time=1, backward_compute_time=1, activation_size=1,"
                               " parameter_size=1'"},
        {"node1 -- a" AMOUNTS "\nwhatever\n",
         "line 3: expected node and a number, then ' -- ': 'whatever'"},
        {"node1 -- a\n",
         "line 1: expected ' -- forward_compute_time=' and what follows: 'node1 -- a'"},
        {"node1 -- a -- forward_compute_time=1, backward_compute_time=1, parameter_size=1\n",
         "line 1: no activation_size= in: 'forward_compute_time=1, backward_compute_time=1, "
         "parameter_size=1'"},
        {"node1 -- a -- forward_compute_time=1, forward_compute_time=1\n",
         "line 1: an amount appears twice: 'forward_compute_time=1'"},
        {"node1 -- a -- forward_compute_time=-1\n",
         "line 1: not a decimal number, or too large: 'forward_compute_time=-1'"},
        {"node1 -- a -- forward_compute_time=nan\n",
         "line 1: not a decimal number, or too large: 'forward_compute_time=nan'"},
        {"node1 -- a -- forward_compute_time=1e999\n",
         "line 1: not a decimal number, or too large: 'forward_compute_time=1e999'"},
        {"node1 -- a -- forward_compute_time=1.5.2\n",
         "line 1: not a decimal number, or too large: 'forward_compute_time=1.5.2'"},
        {"node1 -- a -- forward_compute_time=99999999999999999999999999, "
         "backward_compute_time=1, activation_size=1, parameter_size=1\n",
         "line 1: forward_compute_time: 1e+26 is more than 4503599.6273704953; use a larger unit"},
        {"node1 -- a -- forward_compute_time=[1; x]\n",
         "line 1: not a decimal number, or too large: 'forward_compute_time=[1; x]'"},
        {"node1 -- a" AMOUNTS "node1 -- b" AMOUNTS, "line 2: id: another node has the id 1"},
        {"node1 -- a" AMOUNTS "\tnode1 -- node3\n", "line 2: destId: no node has the id 3"},
        {"node1 -- a" AMOUNTS "\tnode1 node3\n",
         "line 2: expected an edge like 'node1 -- node2': 'node1 node3'"},
        {"node1 -- Input" AMOUNTS, "the graph has no nodes"},
        {"node1 -- a -- forward_compute_time=4000000, backward_compute_time=4000000, "
         "activation_size=1, parameter_size=1\n",
         "line 1: with this, the latencies add up to more than 4503599.6273704953; use a larger "
         "unit of time"},
        {"node\n", "not a cost file; expected a JSON object, a CSV with a column 'name', or lines "
                   "like 'node1 -- '"},
        {"",
         "empty; expected a JSON object, a CSV with a column 'name', or lines like 'node1 -- '"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i)
        assert_refused(*state, cases[i][0], cases[i][1]);
}

/* However a profile is cut off, it is read as far as it goes, or refused. */
static void text_may_end_anywhere(void **state) {
    char *path = test_path(*state, "graph");
    size_t refused = 0;
    for (size_t size = 0; size < strlen(text_graph); ++size) {
        popliner_costs_file *file = NULL;
        popliner_error error = {0};
        test_write_bytes(path, text_graph, size);
        popliner_status status = popliner_costs_file_read(path, NULL, 0, NULL, &file, &error);
        assert_true(status == POPLINER_OK || status == POPLINER_ERROR_INPUT);
        assert_true((status == POPLINER_OK) == (file != NULL));
        refused += status != POPLINER_OK;
        popliner_costs_file_free(file);
    }
    assert_true(refused > 300);
    free(path);
}

/* ---- The published ones --------------------------------------------------------------------- */

/* With the chain that is best for so many stages; 0: for as many as the file says. */
static popliner_costs_file *read_published(const char *name, size_t max_stages) {
    const popliner_pipeline pipeline = {.max_stages = max_stages};
    char *path = test_shared_file(name);
    popliner_costs_file *file = NULL;
    popliner_error error = {0};
    if (path == NULL)
        return NULL;
    if (popliner_costs_file_read(path, NULL, 0, &pipeline, &file, &error) != POPLINER_OK)
        print_message("%s\n", error.message);
    assert_non_null(file);
    free(path);
    return file;
}

/* The smallest largest time, in the file's unit, of at most `most_stages` stages within the file's
 * limit; infinite if there is no split. best[k][j] is that of the first j units in k stages. */
static double best_time(const popliner_costs_file *file, size_t most_stages) {
    const popliner_costs *costs = file->costs;
    size_t num_units = popliner_costs_num_units(costs);
    uint64_t limit = file->bytes_per_tile;
    uint64_t *best = calloc(2 * (num_units + 1), sizeof *best);
    assert_non_null(best);
    uint64_t least = UINT64_MAX;
    for (size_t j = 1; j <= num_units; ++j)
        best[j] = UINT64_MAX;
    for (size_t k = 1; k <= most_stages; ++k) {
        uint64_t *before = best + (k + 1) % 2 * (num_units + 1);
        uint64_t *now = best + k % 2 * (num_units + 1);
        now[0] = UINT64_MAX;
        for (size_t j = 1; j <= num_units; ++j) {
            now[j] = UINT64_MAX;
            for (size_t i = 0; i < j; ++i) {
                uint64_t cycles = popliner_costs_cycles(costs, i, j - 1);
                cycles = cycles > before[i] ? cycles : before[i];
                if ((limit == 0 || popliner_costs_peak(costs, i, j - 1, 1) <= limit) &&
                    cycles < now[j])
                    now[j] = cycles;
            }
        }
        least = now[num_units] < least ? now[num_units] : least;
    }
    free(best);
    return least == UINT64_MAX ? (double)INFINITY
                               : (double)least / (double)file->cycles_per_time_unit;
}

/* How many intervals take less time than one inside them. */
static size_t count_shrinking(const popliner_costs *costs) {
    size_t count = 0;
    for (size_t i = 0; i < popliner_costs_num_units(costs); ++i)
        for (size_t j = i + 1; j < popliner_costs_num_units(costs); ++j) {
            uint64_t cycles = popliner_costs_cycles(costs, i, j);
            count += cycles < popliner_costs_cycles(costs, i, j - 1) ||
                     cycles < popliner_costs_cycles(costs, i + 1, j);
        }
    return count;
}

typedef struct published {
    const char *name;
    size_t num_units;
    uint64_t num_ipus;
    uint64_t bytes_per_tile;
    struct {
        size_t stages;
        double time;
    } best[6]; /* up to 0 stages */
} published;

#define THROUGHPUT "dnn-partitioning/throughput-inputs/LayerGraphs/"
#define OPERATORS "dnn-partitioning/throughput-inputs/OperatorGraphs/"
#define LATENCY "dnn-partitioning/latency-inputs/LayerGraphs/"
#define PIPEDREAM "pipedream/profiler/"

static const published instances[] = {
    {THROUGHPUT "bert24_inference.json", 32, 6, 17185374208, {{6, 17.789906}}},
    {THROUGHPUT "bert24_training.json", 32, 6, 17185374208, {{6, 41.745812}}},
    {THROUGHPUT "gnmt_inference.json", 96, 6, 17185374208, {{6, 32.910658}}},
    {THROUGHPUT "gnmt_training.json", 96, 6, 17185374208, {{6, 107.004414}}},
    {LATENCY "bert24_inference.json",
     32,
     5,
     629145600,
     {{1, INFINITY}, {2, INFINITY}, {3, 43.077250}, {4, 28.753250}, {5, 22.035125}}},
    {LATENCY "gnmt_inference.json",
     96,
     6,
     629145600,
     {{4, INFINITY}, {5, 55.239172}, {6, 44.896516}}},
    {PIPEDREAM "image_classification/profiles/alexnet/graph.txt", 22, 0, 0, {{4, 28.721}}},
    {PIPEDREAM "translation/profiles/gnmt/graph.txt", 45, 0, 0, {{4, 25.868}}},
    {PIPEDREAM "image_classification/profiles/resnet50/graph.txt",
     176,
     0,
     0,
     {{2, 221.933}, {4, 111.497}, {8, 58.447}, {16, 29.688}}},
    {PIPEDREAM "image_classification/profiles/nasnetalarge/graph.txt",
     1250,
     0,
     0,
     {{2, 329.437}, {4, 164.845}, {8, 82.565}, {16, 41.514}}},
};

static void published_graphs_have_their_known_optima(void **state) {
    (void)state;
    size_t missing = 0;
    for (size_t i = 0; i < sizeof instances / sizeof *instances; ++i) {
        const published *p = &instances[i];
        popliner_costs_file *file = read_published(p->name, 0);
        missing += file == NULL;
        if (file == NULL)
            continue;
        const popliner_costs *costs = file->costs;
        assert_int_equal(popliner_costs_num_units(costs), p->num_units);
        assert_int_equal(file->num_ipus, p->num_ipus);
        assert_int_equal(file->bytes_per_tile, p->bytes_per_tile);
        print_message("%s: %zu units, %zu intervals shrink:", p->name, p->num_units,
                      count_shrinking(costs));
        for (size_t k = 0; k < 6 && p->best[k].stages > 0; ++k) {
            popliner_costs_file *chain = read_published(p->name, p->best[k].stages);
            double time = best_time(chain, p->best[k].stages);
            popliner_costs_file_free(chain);
            print_message(" %zu: %.6f", p->best[k].stages, time);
            assert_true(time == p->best[k].time || fabs(time - p->best[k].time) < 5e-7);
        }
        print_message("\n");
        popliner_costs_file_free(file);
    }
    if (missing > 0) {
        print_message("%zu of %zu published graphs are not in ../shared/data\n", missing,
                      sizeof instances / sizeof *instances);
        test_skip("its data is in ../shared alone");
    }
}

/* Operator graphs: more nodes than units. The best split of the graph that its authors' program
 * found is at most 1 % better, also where it trains and some backward nodes have no forward
 * node. */
static void published_operator_graphs_are_good_chains(void **state) {
    (void)state;
    static const struct {
        const char *name;
        double best;
    } graphs[] = {
        {OPERATORS "bert_l-3_inference.json", 27.918568},
        {OPERATORS "bert_L-12_training.json", 437.998},
        {OPERATORS "bert_l-3_training.json", 65.303},
        {OPERATORS "bert_l-6_training.json", 79.501},
        {OPERATORS "resnet50_training.json", 263.035},
    };
    size_t missing = 0;
    for (size_t i = 0; i < sizeof graphs / sizeof *graphs; ++i) {
        popliner_costs_file *file = read_published(graphs[i].name, 0);
        missing += file == NULL;
        if (file == NULL)
            continue;
        double time = best_time(file, file->num_ipus);
        print_message("%s: %zu units %s, %zu stages: %.6f, %+.3f %%\n", graphs[i].name,
                      popliner_costs_num_units(file->costs), file->unit_order, file->num_ipus, time,
                      100 * (time / graphs[i].best - 1));
        assert_true(time <= 1.01 * graphs[i].best);
        popliner_costs_file_free(file);
    }
    if (missing > 0) {
        print_message("%zu of %zu published operator graphs are not in ../shared/data\n", missing,
                      sizeof graphs / sizeof *graphs);
        test_skip("its data is in ../shared alone");
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_DIRECTORY(json_graph_by_hand),
        IN_DIRECTORY(names_differ),
        IN_DIRECTORY(refuses_bad_json_graphs),
        IN_DIRECTORY(text_graph_by_hand),
        IN_DIRECTORY(refuses_bad_text_graphs),
        IN_DIRECTORY(text_may_end_anywhere),
        cmocka_unit_test(published_graphs_have_their_known_optima),
        cmocka_unit_test(published_operator_graphs_are_good_chains),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
