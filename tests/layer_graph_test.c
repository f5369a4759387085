/* From graphs to chains: the order by its rules. operator_graphs_test.py has their costs.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "test.h"

#include "costs/costs_file_data.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/growth.h"
#include "popliner/costs.h"

/* A node named after its number. */
static void add_node(pl_layer_graph *graph, int64_t number, bool is_backward, uint32_t group,
                     uint64_t cycles, uint64_t bytes, uint64_t traffic) {
    char name[32];
    snprintf(name, sizeof name, "%d", (int)number);
    pl_graph_node node = {pl_arrays_text(&graph->arrays, name),
                          number,
                          group,
                          is_backward,
                          cycles,
                          0,
                          bytes,
                          traffic,
                          false};
    assert_true(pl_layer_graph_add_node(graph, node));
}

static void add_edge(pl_layer_graph *graph, size_t from, size_t to) {
    assert_true(pl_layer_graph_add_edge(graph, from, to));
}

static pl_costs_file *fill(const pl_layer_graph *graph) {
    pl_costs_file *file = calloc(1, sizeof *file);
    assert_non_null(file);
    assert_int_equal(pl_layer_graph_fill(graph, "graph", SIZE_MAX, file, NULL), POPLINER_OK);
    for (size_t unit = 0; unit < popliner_costs_num_units(file->costs); ++unit)
        assert_non_null(file->names[unit]);
    return file;
}

/* The names of the units, one after another. */
static void assert_chain(const pl_layer_graph *graph, const char *expected) {
    pl_costs_file *file = fill(graph);
    char chain[300] = "";
    for (size_t unit = 0; unit < popliner_costs_num_units(file->costs); ++unit) {
        strcat(chain, unit == 0 ? "" : " ");
        strcat(chain, file->names[unit]);
    }
    assert_string_equal(chain, expected);
    popliner_costs_file_free(&file->info);
}

static void takes_the_smallest_number_that_is_ready(void **state) {
    (void)state;
    pl_layer_graph graph = {0};
    static const int numbers[] = {9, 2, 7, 1, 4, 12};
    for (uint32_t i = 0; i < 6; ++i)
        add_node(&graph, numbers[i], false, i, 1, 1, 1);
    assert_chain(&graph, "1 2 4 7 9 12");
    add_edge(&graph, 0, 3); /* 9 before 1 */
    add_edge(&graph, 3, 1); /* 1 before 2 */
    assert_chain(&graph, "4 7 9 1 2 12");
    add_edge(&graph, 5, 4); /* 12 before 4 */
    add_edge(&graph, 5, 5); /* an edge to itself says nothing */
    add_edge(&graph, 5, 4); /* nor does one that is there twice */
    assert_chain(&graph, "7 9 1 2 12 4");
    pl_arrays_free(&graph.arrays);
}

/* Forward 1 -> 2 -> 3, backward 13 -> 12 -> 11, each with its layer, and 3 -> 13. */
static void backward_nodes_follow_their_layer(void **state) {
    (void)state;
    pl_layer_graph graph = {0};
    for (uint32_t i = 0; i < 3; ++i)
        add_node(&graph, 1 + i, false, i, 10, 100, 1);
    for (uint32_t i = 0; i < 3; ++i)
        add_node(&graph, 11 + i, true, i, 20, 1000, 1);
    add_edge(&graph, 0, 1);
    add_edge(&graph, 1, 2);
    add_edge(&graph, 2, 5);
    add_edge(&graph, 5, 4);
    add_edge(&graph, 4, 3);
    assert_chain(&graph, "1 2 3");
    pl_costs_file *file = fill(&graph);
    assert_int_equal(popliner_costs_cycles(file->costs, 0, 1), 60);
    assert_int_equal(popliner_costs_peak(file->costs, 1, 2, 1), 2200);
    assert_int_equal(popliner_costs_cut(file->costs, 1), 2); /* nodes 1 and 12 */
    assert_int_equal(popliner_costs_cut(file->costs, 2), 2);
    popliner_costs_file_free(&file->info);
    pl_arrays_free(&graph.arrays);
}

/* Forward 1 -> 2 -> 3 with backward nodes 13 -> 12 -> 11 of theirs, and the orphans 21, through
 * which 13 reaches 12, and 22, which nothing leads to. What has no forward node is where it
 * would be. */
static void backward_nodes_alone_are_where_their_forward_nodes_would_be(void **state) {
    (void)state;
    pl_layer_graph graph = {0};
    for (uint32_t i = 0; i < 3; ++i)
        add_node(&graph, 1 + i, false, i, 10, 100, 1);
    for (uint32_t i = 0; i < 3; ++i)
        add_node(&graph, 11 + i, true, i, 20, 1000, 1);
    add_node(&graph, 21, true, 6, 40, 0, 1);
    add_node(&graph, 22, true, 7, 80, 0, 1);
    add_edge(&graph, 0, 1);
    add_edge(&graph, 1, 2);
    add_edge(&graph, 5, 4);
    add_edge(&graph, 4, 3);
    assert_chain(&graph, "1 2 3 21 22");
    add_edge(&graph, 6, 4); /* 21 before 12: after 2 on the way forward */
    assert_chain(&graph, "1 2 3 21 22");
    add_edge(&graph, 5, 6); /* 13 before 21: before 3 */
    assert_chain(&graph, "1 2 21 3 22");
    add_edge(&graph, 6, 7); /* 21 before 22 */
    assert_chain(&graph, "1 2 22 21 3");
    add_edge(&graph, 0, 7); /* what it gets from the way forward may come from anywhere */
    assert_chain(&graph, "1 2 22 21 3");
    pl_arrays_free(&graph.arrays);
}

/* A group around another node, and a circle of nodes, leave no order but all in one. */
static void circles_are_one_unit(void **state) {
    (void)state;
    pl_layer_graph graph = {0};
    add_node(&graph, 1, false, 0, 1, 1, 1);
    add_node(&graph, 2, false, 1, 2, 2, 1);
    add_node(&graph, 3, false, 0, 4, 4, 1); /* has to be where node 1 is */
    add_node(&graph, 4, false, 3, 8, 8, 1);
    add_node(&graph, 5, false, 4, 16, 16, 1);
    add_node(&graph, 6, false, 5, 32, 32, 1);
    add_edge(&graph, 0, 1);
    add_edge(&graph, 1, 2);
    add_edge(&graph, 2, 5);
    add_edge(&graph, 4, 3);
    add_edge(&graph, 3, 4);
    add_edge(&graph, 5, 4);
    assert_chain(&graph, "1 6 4");
    pl_costs_file *file = fill(&graph);
    assert_int_equal(popliner_costs_cycles(file->costs, 0, 0), 7);
    assert_int_equal(popliner_costs_cycles(file->costs, 1, 1), 32);
    assert_int_equal(popliner_costs_cycles(file->costs, 2, 2), 24);
    popliner_costs_file_free(&file->info);
    pl_arrays_free(&graph.arrays);
}

static void refuses_no_nodes_and_too_many_units(void **state) {
    (void)state;
    pl_layer_graph graph = {0};
    pl_costs_file file = {0};
    popliner_error error;
    assert_int_equal(pl_layer_graph_fill(&graph, "g", SIZE_MAX, &file, &error),
                     POPLINER_ERROR_INPUT);
    assert_string_equal(error.message, "g: the graph has no nodes");
    for (uint32_t i = 0; i <= PL_MAX_UNITS; ++i)
        add_node(&graph, i, false, i, 1, 1, 1);
    assert_int_equal(pl_layer_graph_fill(&graph, "g", SIZE_MAX, &file, &error),
                     POPLINER_ERROR_INPUT);
    assert_string_equal(error.message,
                        "g: the graph makes a chain of 16385 units, but 16384 are the most that "
                        "can be split; join some of its nodes");
    pl_arrays_free(&graph.arrays);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_the_smallest_number_that_is_ready),
        cmocka_unit_test(backward_nodes_follow_their_layer),
        cmocka_unit_test(backward_nodes_alone_are_where_their_forward_nodes_would_be),
        cmocka_unit_test(circles_are_one_unit),
        cmocka_unit_test(refuses_no_nodes_and_too_many_units),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
