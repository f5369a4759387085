/* popliner-split-load GRAPH SPLIT: what a given split of a graph (Tarnawski et al., NeurIPS 2020)
 * is worth, node by node and without the library, so that it can judge both others' splits and the
 * library's.
 *
 * SPLIT is either theirs, {"fpgas": [{"nodes": [id, ...]}, ...]}, or the answer of popliner --solve
 * --format json, whose layers are nodes that stand for all nodes of their colour class. Prints how
 * many stages have nodes, the largest load and the largest size. The load of a stage is the sum of
 * fpgaLatency, plus the cost of each node with an edge across the stage's border, once, on either
 * side.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <jansson.h>

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct node {
    json_int_t id;
    const char *name;  /* of the graph */
    json_int_t colour; /* only if has_colour */
    bool has_colour;
    double latency;
    double size;
    double cost;   /* of its edges */
    size_t stage;  /* from 1; 0 if it is in none */
    size_t marked; /* the last stage whose border an edge of it crosses */
} node;

typedef struct graph {
    node *nodes;
    size_t num_nodes;
    json_t *edges; /* borrowed */
} graph;

__attribute__((format(printf, 1, 2), noreturn)) static void fail(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fputs("popliner-split-load: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    exit(1);
}

static json_t *read_file(const char *path) {
    json_error_t error;
    json_t *root = json_load_file(path, 0, &error);
    if (root == NULL)
        fail("%s:%d: %s", path, error.line, error.text);
    return root;
}

/* The number that an object has under a key. */
static double number(json_t *object, const char *key) {
    json_t *value = json_object_get(object, key);
    if (!json_is_number(value))
        fail("expected a number for %s", key);
    return json_number_value(value);
}

static node *node_by_id(graph *g, double id) {
    for (size_t i = 0; i < g->num_nodes; ++i)
        if ((double)g->nodes[i].id == id)
            return &g->nodes[i];
    fail("no node has the id %.17g", id);
}

static void read_graph(json_t *root, graph *g) {
    json_t *nodes = json_object_get(root, "nodes");
    g->edges = json_object_get(root, "edges");
    if (!json_is_array(nodes) || !json_is_array(g->edges))
        fail("a graph has nodes and edges");
    g->num_nodes = json_array_size(nodes);
    g->nodes = calloc(g->num_nodes + 1, sizeof *g->nodes);
    if (g->nodes == NULL)
        fail("not enough memory");
    for (size_t i = 0; i < g->num_nodes; ++i) {
        json_t *object = json_array_get(nodes, i);
        json_t *colour = json_object_get(object, "colorClass");
        g->nodes[i] = (node){.id = (json_int_t)number(object, "id"),
                             .name = json_string_value(json_object_get(object, "name")),
                             .colour = json_integer_value(colour),
                             .has_colour = json_is_integer(colour),
                             .latency = number(object, "fpgaLatency"),
                             .size = number(object, "size")};
    }
    for (size_t i = 0; i < json_array_size(g->edges); ++i) {
        json_t *edge = json_array_get(g->edges, i);
        node *source = node_by_id(g, number(edge, "sourceId"));
        double cost = number(edge, "cost");
        source->cost = cost > source->cost ? cost : source->cost;
    }
}

static void put(node *n, size_t stage) {
    if (n->stage != 0)
        fail("node %" JSON_INTEGER_FORMAT " is in two stages", n->id);
    n->stage = stage;
}

/* Puts the node of that name, and all of its colour, into a stage. */
static void put_class(graph *g, const char *name, size_t stage) {
    node *named = NULL;
    for (size_t i = 0; i < g->num_nodes && named == NULL; ++i)
        if (name != NULL && g->nodes[i].name != NULL && strcmp(g->nodes[i].name, name) == 0)
            named = &g->nodes[i];
    if (named == NULL)
        fail("no node is called %s", name == NULL ? "so" : name);
    for (size_t i = 0; i < g->num_nodes; ++i) {
        node *n = &g->nodes[i];
        if (n == named || (named->has_colour && n->has_colour && n->colour == named->colour))
            put(n, stage);
    }
}

/* Puts the nodes into stages; returns how many stages have any. */
static size_t read_split(json_t *root, graph *g) {
    bool is_answer = json_object_get(root, "stages") != NULL;
    json_t *stages = json_object_get(root, is_answer ? "stages" : "fpgas");
    size_t num_stages = 0;
    for (size_t k = 0; k < json_array_size(stages); ++k) {
        json_t *nodes = json_object_get(json_array_get(stages, k), is_answer ? "layers" : "nodes");
        num_stages += json_array_size(nodes) > 0;
        for (size_t i = 0; i < json_array_size(nodes); ++i) {
            json_t *item = json_array_get(nodes, i);
            if (is_answer)
                put_class(g, json_string_value(item), num_stages);
            else
                put(node_by_id(g, json_number_value(item)), num_stages);
        }
    }
    for (size_t i = 0; i < g->num_nodes; ++i) {
        const node *n = &g->nodes[i];
        if (n->stage == 0)
            fail("node %" JSON_INTEGER_FORMAT " is in no stage", n->id);
        for (size_t j = 0; j < i; ++j)
            if (n->has_colour && g->nodes[j].has_colour && n->colour == g->nodes[j].colour &&
                n->stage != g->nodes[j].stage)
                fail("nodes %" JSON_INTEGER_FORMAT " and %" JSON_INTEGER_FORMAT
                     " have one colour, but are in two stages",
                     g->nodes[j].id, n->id);
    }
    return num_stages;
}

static double load_of(graph *g, size_t stage) {
    double load = 0.0;
    for (size_t i = 0; i < g->num_nodes; ++i)
        if (g->nodes[i].stage == stage)
            load += g->nodes[i].latency;
    for (size_t i = 0; i < json_array_size(g->edges); ++i) {
        json_t *edge = json_array_get(g->edges, i);
        node *source = node_by_id(g, number(edge, "sourceId"));
        const node *target = node_by_id(g, number(edge, "destId"));
        if ((source->stage == stage) != (target->stage == stage) && source->marked != stage) {
            source->marked = stage;
            load += source->cost;
        }
    }
    return load;
}

int main(int argc, char **argv) {
    if (argc != 3) {
        fputs("Usage: popliner-split-load GRAPH SPLIT\n", stderr);
        return 2;
    }
    graph g = {0};
    json_t *graph_root = read_file(argv[1]);
    json_t *split_root = read_file(argv[2]);
    read_graph(graph_root, &g);
    size_t num_stages = read_split(split_root, &g);
    double largest_load = 0.0;
    double largest_size = 0.0;
    for (size_t stage = 1; stage <= num_stages; ++stage) {
        double load = load_of(&g, stage);
        double size = 0.0;
        for (size_t i = 0; i < g.num_nodes; ++i)
            if (g.nodes[i].stage == stage)
                size += g.nodes[i].size;
        largest_load = load > largest_load ? load : largest_load;
        largest_size = size > largest_size ? size : largest_size;
    }
    printf("%zu %.9f %.0f\n", num_stages, largest_load, largest_size);
    free(g.nodes);
    json_decref(graph_root);
    json_decref(split_root);
    return 0;
}
