/* Plans of graphs against all contiguous partitions: each node is given each stage, by the words of
 * docs/costs.md, without units, orders or anything of the solver.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "plain_options.h"
#include "test.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/growth.h"
#include "cases.h"
#include "popliner/costs.h"
#include "popliner/solver.h"

enum { MOST_NODES = 12, MOST_STAGES = 4, MOST_EDGES = 60 };

typedef struct node {
    int id;
    uint64_t time; /* thousandths */
    uint64_t bytes;
    uint64_t cost; /* of its edges, thousandths */
    bool is_backward;
    int colour; /* -1: none */
} node;

typedef struct graph {
    node nodes[MOST_NODES];
    size_t num_nodes;
    struct {
        size_t from;
        size_t to;
    } edges[MOST_EDGES];
    size_t num_edges;
} graph;

/* What is asked. Nodes stand for their units. */
typedef struct question {
    size_t num_stages;
    bool is_mapped; /* exactly so many stages, on IPUs from the last to the first */
    uint64_t bytes;
    uint64_t bytes_of_first;  /* of IPU 0 */
    uint64_t speed_of_second; /* of IPU 1, millionths */
    size_t pair[2];           /* of the same node: none */
    size_t placed;            /* a node on IPU 1; SIZE_MAX: none */
    popliner_objective objectives[3];
    size_t num_objectives;
} question;

static uint64_t state;

static size_t draw(size_t below) {
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (size_t)(state >> 33) % below;
}

/* ---- All partitions ---- */

typedef struct enumeration {
    const graph *g;
    const question *q;
    bool before[MOST_NODES][MOST_NODES]; /* the stage of one is at most that of the other */
    size_t stage[MOST_NODES];
    bool is_found;
    uint64_t best[3];
} enumeration;

/* Which nodes have a forward node beside them, or are one. */
static bool has_forward(const graph *g, size_t i) {
    bool found = !g->nodes[i].is_backward;
    for (size_t k = 0; g->nodes[i].colour >= 0 && k < g->num_nodes; ++k)
        found = found || (g->nodes[k].colour == g->nodes[i].colour && !g->nodes[k].is_backward);
    return found;
}

static void find_order(enumeration *e) {
    const graph *g = e->g;
    for (size_t i = 0; i < g->num_nodes; ++i)
        for (size_t k = 0; k < g->num_nodes; ++k)
            e->before[i][k] = g->nodes[i].colour >= 0 && g->nodes[i].colour == g->nodes[k].colour;
    for (size_t i = 0; i < g->num_edges; ++i) {
        const size_t from = g->edges[i].from;
        const size_t to = g->edges[i].to;
        if (!g->nodes[from].is_backward && !g->nodes[to].is_backward)
            e->before[from][to] = true;
        if (g->nodes[from].is_backward && g->nodes[to].is_backward &&
            !(has_forward(g, from) && has_forward(g, to)))
            e->before[to][from] = true;
    }
}

/* Computes the value of an objective; UINT64_MAX if a limit is broken. */
static void judge(enumeration *e, size_t num_stages) {
    const graph *g = e->g;
    const question *q = e->q;
    uint64_t time[MOST_STAGES] = {0};
    uint64_t bytes[MOST_STAGES] = {0};
    uint64_t traffic = 0;
    for (size_t i = 0; i < g->num_nodes; ++i) {
        bool crosses[MOST_STAGES] = {false};
        size_t first = e->stage[i];
        size_t last = e->stage[i];
        time[e->stage[i]] += g->nodes[i].time * 1000000;
        bytes[e->stage[i]] += g->nodes[i].bytes;
        for (size_t k = 0; k < g->num_edges; ++k) {
            const size_t to = e->stage[g->edges[k].to];
            if (g->edges[k].from != i)
                continue;
            if (to != e->stage[i])
                crosses[to] = crosses[e->stage[i]] = true;
            first = to < first ? to : first;
            last = to > last ? to : last;
        }
        for (size_t s = 0; s < num_stages; ++s)
            time[s] += crosses[s] ? g->nodes[i].cost * 1000000 : 0;
        traffic += (last - first) * g->nodes[i].cost * 1000000;
    }
    uint64_t values[POPLINER_NUM_OBJECTIVES] = {
        [POPLINER_OBJECTIVE_TRAFFIC] = traffic, [POPLINER_OBJECTIVE_IPUS] = num_stages};
    for (size_t s = 0; s < num_stages; ++s) {
        const size_t ipu = q->is_mapped ? num_stages - 1 - s : s;
        const uint64_t speed = ipu == 1 ? q->speed_of_second : 1000000;
        const uint64_t took = (time[s] * 1000 + speed / 1000 - 1) / (speed / 1000);
        if (bytes[s] > (ipu == 0 ? q->bytes_of_first : q->bytes))
            return;
        if (took > values[POPLINER_OBJECTIVE_CYCLES])
            values[POPLINER_OBJECTIVE_CYCLES] = took;
        if (bytes[s] > values[POPLINER_OBJECTIVE_MEMORY])
            values[POPLINER_OBJECTIVE_MEMORY] = bytes[s];
        if (q->placed != SIZE_MAX && (e->stage[q->placed] == s) != (ipu == 1))
            return;
    }
    if ((q->placed != SIZE_MAX && num_stages < 2) || e->stage[q->pair[0]] != e->stage[q->pair[1]])
        return;
    for (size_t i = 0; i < q->num_objectives; ++i) {
        const uint64_t value = values[q->objectives[i]];
        if (e->is_found && value > e->best[i])
            return;
        if (!e->is_found || value < e->best[i]) {
            for (size_t k = i; k < q->num_objectives; ++k)
                e->best[k] = values[q->objectives[k]];
            e->is_found = true;
            return;
        }
    }
}

/* Gives node `i` and those after it each stage. */
static void enumerate(enumeration *e, size_t i) {
    if (i < e->g->num_nodes) {
        for (e->stage[i] = 0; e->stage[i] < e->q->num_stages; ++e->stage[i]) {
            bool is_allowed = true;
            for (size_t k = 0; k < i; ++k)
                is_allowed = is_allowed && !(e->before[i][k] && e->stage[i] > e->stage[k]) &&
                             !(e->before[k][i] && e->stage[k] > e->stage[i]);
            if (is_allowed)
                enumerate(e, i + 1);
        }
        return;
    }
    bool is_used[MOST_STAGES] = {false};
    size_t num_stages = 0;
    for (size_t k = 0; k < i; ++k)
        is_used[e->stage[k]] = true;
    while (num_stages < e->q->num_stages && is_used[num_stages])
        ++num_stages;
    for (size_t s = num_stages; s < e->q->num_stages; ++s)
        if (is_used[s])
            return; /* an empty stage */
    if (!e->q->is_mapped || num_stages == e->q->num_stages)
        judge(e, num_stages);
}

/* ---- popliner ---- */

static popliner_costs_file *read_graph(const graph *g) {
    pl_text text = {0};
    popliner_costs_file *file;
    popliner_error error;
    pl_text_add(&text, "{\"nodes\": [");
    for (size_t i = 0; i < g->num_nodes; ++i) {
        const node *n = &g->nodes[i];
        pl_text_format(&text,
                       "%s{\"id\": %d, \"name\": \"n%zu\", \"fpgaLatency\": %" PRIu64 ".%03" PRIu64
                       ", \"size\": %" PRIu64 ", \"isBackwardNode\": %d",
                       i > 0 ? ", " : "", n->id, i, n->time / 1000, n->time % 1000, n->bytes,
                       n->is_backward);
        if (n->colour >= 0)
            pl_text_format(&text, ", \"colorClass\": %d", n->colour);
        pl_text_add(&text, "}");
    }
    pl_text_add(&text, "], \"edges\": [");
    for (size_t i = 0; i < g->num_edges; ++i) {
        const node *from = &g->nodes[g->edges[i].from];
        pl_text_format(&text,
                       "%s{\"sourceId\": %d, \"destId\": %d, \"cost\": %" PRIu64 ".%03" PRIu64 "}",
                       i > 0 ? ", " : "", from->id, g->nodes[g->edges[i].to].id, from->cost / 1000,
                       from->cost % 1000);
    }
    pl_text_add(&text, "]}");
    if (popliner_costs_file_read("graph", text.data, text.length, NULL, &file, &error) !=
        POPLINER_OK)
        fail_msg("%s", error.message);
    free(text.data);
    return file;
}

/* Returns the unit of a node; SIZE_MAX if the unit has another's name. */
static size_t unit_named(const popliner_costs_file *file, size_t i) {
    const popliner_costs_file *info = file;
    char name[32];
    snprintf(name, sizeof name, "n%zu", i);
    for (size_t unit = 0; unit < popliner_costs_num_units(info->costs); ++unit)
        if (strcmp(info->unit_names[unit], name) == 0)
            return unit;
    return SIZE_MAX;
}

/* Solves, or arranges if `arranged` is not NULL. */
static void ask(const popliner_costs_file *file, const question *q, popliner_costs_file **arranged,
                popliner_plan **plan) {
    const size_t map[] = {q->num_stages - 1, q->num_stages - 2, q->num_stages - 3,
                          q->num_stages - 4};
    const popliner_ipu_value limit = {0, q->bytes_of_first};
    const popliner_ipu_value speed = {1, q->speed_of_second};
    popliner_solver_options o = PLAIN_SOLVER_OPTIONS;
    popliner_constraint pair;
    popliner_constraint placement;
    popliner_error error;
    o.objectives = q->objectives;
    o.num_objectives = q->num_objectives;
    o.num_ipus = q->num_stages;
    o.mem_per_tile = q->bytes;
    o.ipu_limits = &limit;
    o.num_ipu_limits = 1;
    o.ipu_speeds = &speed;
    o.num_ipu_speeds = q->speed_of_second != 1000000;
    o.device_map = q->is_mapped ? map : NULL;
    o.num_mapped_stages = q->is_mapped ? q->num_stages : 0;
    if (q->pair[0] != q->pair[1]) {
        pair = (popliner_constraint){.kind = POPLINER_CONSTRAINT_PAIR,
                                     .unit = unit_named(file, q->pair[0]),
                                     .second_unit = unit_named(file, q->pair[1])};
        o.pairs = &pair;
        o.num_pairs = 1;
    }
    if (q->placed != SIZE_MAX) {
        placement = (popliner_constraint){
            .kind = POPLINER_CONSTRAINT_PLACEMENT, .unit = unit_named(file, q->placed), .ipu = 1};
        o.placements = &placement;
        o.num_placements = 1;
    }
    const popliner_status status = arranged != NULL
                                       ? popliner_costs_file_arrange(file, &o, arranged, &error)
                                       : popliner_solve(file->costs, &o, plan, &error);
    if (status != POPLINER_OK)
        fail_msg("%s", error.message);
}

static void check(const graph *g, const question *q, const enumeration *e, const char *what) {
    popliner_costs_file *file = read_graph(g);
    popliner_costs_file *arranged;
    popliner_plan *plan;
    ask(file, q, &arranged, NULL);
    ask(arranged != NULL ? arranged : file, q, NULL, &plan);
    const popliner_plan *s = plan;
    if (s->is_graph && !s->is_graph_proven)
        fail_msg("%s: the graph is not proven", what);
    if (e->is_found != (s->status == POPLINER_PLAN_OPTIMAL))
        fail_msg("%s: %s found", what, e->is_found ? "not" : "but");
    for (size_t i = 0; e->is_found && i < q->num_objectives; ++i)
        if (s->values[i].value != e->best[i] || s->values[i].bound != e->best[i])
            fail_msg("%s: value %zu is %" PRIu64 ", bound %" PRIu64 ", but should be %" PRIu64,
                     what, i, s->values[i].value, s->values[i].bound, e->best[i]);
    popliner_plan_free(plan);
    popliner_costs_file_free(arranged);
    popliner_costs_file_free(file);
}

/* ---- Graphs ---- */

static void add_edge(graph *g, size_t from, size_t to) {
    if (g->num_edges < MOST_EDGES && from != to) {
        g->edges[g->num_edges].from = from;
        g->edges[g->num_edges++].to = to;
    }
}

/* Towers between a first and a last node. */
static void make_towers(graph *g) {
    const size_t towers = 2 + draw(2);
    for (size_t i = 1; i + 1 < g->num_nodes; ++i) {
        add_edge(g, i > towers ? i - towers : 0, i);
        if (i + towers + 1 >= g->num_nodes)
            add_edge(g, i, g->num_nodes - 1);
    }
}

/* Edges that are made longer, or doubled, again and again. */
static void make_series_parallel(graph *g) {
    add_edge(g, 0, g->num_nodes - 1);
    for (size_t i = 1; i + 1 < g->num_nodes; ++i) {
        const size_t edge = draw(g->num_edges);
        const size_t to = g->edges[edge].to;
        const bool is_doubled = draw(2) == 0;
        add_edge(g, g->edges[edge].from, i);
        add_edge(g, i, to);
        if (!is_doubled)
            g->edges[edge] = g->edges[--g->num_edges];
    }
}

/* Edges anywhere, backward nodes, some without forward ones, colours and circles. */
static void make_random(graph *g) {
    for (size_t i = 0; i < g->num_nodes; ++i) {
        g->nodes[i].is_backward = draw(3) == 0;
        g->nodes[i].colour = draw(3) == 0 ? (int)draw(4) : -1;
    }
    for (size_t count = draw(2 * g->num_nodes + 1); count > 0; --count) {
        const size_t a = draw(g->num_nodes);
        const size_t b = draw(g->num_nodes);
        if (draw(20) == 0)
            add_edge(g, a, b);
        else
            add_edge(g, a < b ? a : b, a < b ? b : a);
    }
}

static uint64_t draw_amount(size_t most) {
    return draw(5) == 0 ? draw(3) : draw(most);
}

static graph make_graph(void) {
    graph g = {.num_nodes = 2 + draw(MOST_NODES - 1)};
    static void (*const makers[])(graph *) = {make_towers, make_series_parallel, make_random};
    for (size_t i = 0; i < g.num_nodes; ++i)
        g.nodes[i] =
            (node){(int)i, draw_amount(20000), draw_amount(100), draw_amount(6000), false, -1};
    makers[draw(3)](&g);
    return g;
}

static question make_question(const graph *g, const popliner_costs_file *file) {
    static const popliner_objective all[] = {POPLINER_OBJECTIVE_CYCLES, POPLINER_OBJECTIVE_MEMORY,
                                             POPLINER_OBJECTIVE_TRAFFIC, POPLINER_OBJECTIVE_IPUS};
    uint64_t total = 0;
    for (size_t i = 0; i < g->num_nodes; ++i)
        total += g->nodes[i].bytes;
    question q = {.num_stages = 1 + draw(g->num_nodes > 9 ? 3 : MOST_STAGES),
                  .is_mapped = draw(6) == 0,
                  .bytes = draw(2) == 0 ? UINT64_MAX - 1 : total / (1 + draw(4)) + draw(100),
                  .speed_of_second = draw(4) == 0 ? 500000 + draw(1500) * 1000 : 1000000,
                  .placed = SIZE_MAX,
                  .num_objectives = 1 + draw(3)};
    q.bytes_of_first = draw(4) == 0 ? total / 3 + draw(100) : q.bytes;
    for (size_t i = 0, at = draw(4), step = 1 + 2 * draw(2); i < 3; ++i, at += step)
        q.objectives[i] = all[at % 4];
    for (size_t i = 0; i < g->num_nodes; ++i) {
        if (unit_named(file, i) == SIZE_MAX)
            continue;
        if (draw(30) == 0)
            q.placed = i;
        if (draw(30) == 0 && unit_named(file, 0) == 0 && i > 0)
            q.pair[1] = i;
    }
    return q;
}

/* The same graph with other ids, its nodes and edges in another order. */
static graph renumbered(const graph *g, question *q) {
    graph other = {.num_nodes = g->num_nodes, .num_edges = g->num_edges};
    size_t at[MOST_NODES];
    for (size_t i = 0; i < g->num_nodes; ++i)
        at[i] = g->num_nodes - 1 - i;
    for (size_t i = g->num_nodes; i-- > 1;) {
        const size_t k = draw(i + 1);
        const size_t kept = at[i];
        at[i] = at[k];
        at[k] = kept;
    }
    for (size_t i = 0; i < g->num_nodes; ++i) {
        other.nodes[at[i]] = g->nodes[i];
        other.nodes[at[i]].id = (int)(3 * at[i] + 7);
    }
    for (size_t i = 0; i < g->num_edges; ++i) {
        other.edges[g->num_edges - 1 - i].from = at[g->edges[i].from];
        other.edges[g->num_edges - 1 - i].to = at[g->edges[i].to];
    }
    /* a unit may have another name now */
    q->pair[0] = q->pair[1] = 0;
    q->placed = SIZE_MAX;
    return other;
}

static void has_the_best_of_all_contiguous_partitions(void **unused) {
    (void)unused;
    size_t num_graphs = 0;
    size_t num_found = 0;
    for (size_t seed = 0; seed < 5000; ++seed) {
        if (!test_takes_case(seed, 60))
            continue;
        char what[64];
        snprintf(what, sizeof what, "graph %zu", seed);
        state = seed * 2 + 1;
        draw(2);
        const graph g = make_graph();
        popliner_costs_file *file = read_graph(&g);
        question q = make_question(&g, file);
        popliner_costs_file_free(file);
        enumeration e = {.g = &g, .q = &q};
        find_order(&e);
        enumerate(&e, 0);
        check(&g, &q, &e, what);
        const bool is_plain = q.pair[0] == q.pair[1] && q.placed == SIZE_MAX;
        const graph other = renumbered(&g, &q);
        if (is_plain)
            check(&other, &q, &e, "renumbered");
        ++num_graphs;
        num_found += e.is_found;
    }
    print_message("%zu graphs, %zu with a partition\n", num_graphs, num_found);
    assert_true(num_found > num_graphs / 4);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(has_the_best_of_all_contiguous_partitions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
