/* Chains in several orders: each a topological one, and what tells them apart. The command's choice
 * among them is checked by operator_graphs_test.py.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "test.h"

#include "costs/unit_graph.h"

#include <stdlib.h>
#include <string.h>

#include "base/growth.h"

static void add_node(pl_layer_graph *graph, uint64_t cycles, uint64_t traffic) {
    pl_graph_node node = {.name = pl_copy_string("", 0),
                          .number = (int64_t)graph->num_nodes,
                          .group = (uint32_t)graph->num_nodes,
                          .cycles = cycles,
                          .traffic = traffic};
    assert_true(pl_layer_graph_add_node(graph, node));
}

static void assert_order(const pl_unit_graph *units, pl_unit_order order, const char *expected) {
    uint32_t place[10];
    char chain[20] = "";
    assert_true(units->num_units <= sizeof place / sizeof *place);
    assert_true(pl_unit_order_make(units, order, place));
    for (size_t unit = 0; unit < units->num_units; ++unit)
        chain[place[unit]] = (char)('0' + unit);
    if (strcmp(chain, expected) != 0)
        print_message("%s:\n", pl_unit_order_name(order));
    assert_string_equal(chain, expected);
}

/* 0 -> 2 -> 4 -> 6 and 1 -> 3 -> 5 -> 6: the units after 0 take long, what 1 sends is expensive. */
static void orders_by_hand(void **state) {
    (void)state;
    static const uint64_t cycles[] = {5, 1, 5, 1, 5, 1, 1};
    static const uint64_t traffic[] = {2, 9, 2, 1, 2, 1, 1};
    static const size_t edges[][2] = {{0, 2}, {2, 4}, {4, 6}, {1, 3}, {3, 5}, {5, 6}};
    pl_layer_graph graph = {0};
    pl_unit_graph units = {0};
    for (size_t i = 0; i < 7; ++i)
        add_node(&graph, cycles[i], traffic[i]);
    for (size_t i = 0; i < 6; ++i)
        assert_true(pl_layer_graph_add_edge(&graph, edges[i][0], edges[i][1]));
    assert_true(pl_unit_graph_find(&units, &graph));
    assert_int_equal(units.num_nets, 6); /* 6 sends nothing to anybody */
    assert_order(&units, PL_ORDER_NUMBER, "0123456");
    assert_order(&units, PL_ORDER_NUMBER_FROM_END, "0123456");
    assert_order(&units, PL_ORDER_DEPTH, "0241356");
    assert_order(&units, PL_ORDER_DEPTH_FROM_END, "0241356");
    assert_order(&units, PL_ORDER_BREADTH, "0123456");
    assert_order(&units, PL_ORDER_BREADTH_FROM_END, "0123456");
    assert_order(&units, PL_ORDER_PATH, "0135246"); /* 3 may begin at 1, 5 at 2, 2 at 5, 4 at 10 */
    /* from the end: 5 and 4 at 1, 3 at 2, 1 at 3, 2 at 6, 0 at 11 */
    assert_order(&units, PL_ORDER_PATH_FROM_END, "0213456");
    assert_order(&units, PL_ORDER_TRAFFIC, "0241356");
    /* 5, 4 and 2 change nothing, 0 saves 2; but a cut before 3 costs 8 more than one after it */
    assert_order(&units, PL_ORDER_TRAFFIC_FROM_END, "1302456");
    pl_unit_graph_free(&units);
    pl_layer_graph_free(&graph);
}

static void all_orders_are_topological(void **state) {
    (void)state;
    uint64_t seed = 3;
    for (size_t round = 0; round < 200; ++round) {
        pl_layer_graph graph = {0};
        pl_unit_graph units = {0};
        size_t count = 1 + round % 40;
        for (size_t i = 0; i < count; ++i) {
            seed = test_random(seed);
            add_node(&graph, (seed >> 33) % 9, (seed >> 40) % 5);
        }
        for (size_t i = 0; i < 2 * count; ++i) {
            seed = test_random(seed);
            size_t a = (seed >> 33) % count;
            size_t b = (seed >> 45) % count;
            assert_true(pl_layer_graph_add_edge(&graph, a, b)); /* with circles */
        }
        assert_true(pl_unit_graph_find(&units, &graph));
        uint32_t *place = pl_new_array(units.num_units, sizeof *place);
        uint8_t *taken = pl_new_array(units.num_units, 1);
        assert_true(place != NULL && taken != NULL);
        for (size_t order = 0; order < PL_NUM_UNIT_ORDERS; ++order) {
            assert_true(pl_unit_order_make(&units, (pl_unit_order)order, place));
            memset(taken, 0, units.num_units);
            for (size_t unit = 0; unit < units.num_units; ++unit) {
                assert_true(place[unit] < units.num_units && taken[place[unit]]++ == 0);
                for (size_t i = units.followers_from[unit]; i < units.followers_from[unit + 1]; ++i)
                    assert_true(place[unit] < place[units.followers[i]]);
            }
            for (size_t e = 0; e < graph.num_edges; ++e)
                assert_true(place[units.unit_of_node[graph.edges[e].from]] <=
                            place[units.unit_of_node[graph.edges[e].to]]);
        }
        free(taken);
        free(place);
        pl_unit_graph_free(&units);
        pl_layer_graph_free(&graph);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(orders_by_hand),
        cmocka_unit_test(all_orders_are_topological),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
