/* Reads the graphs of "Efficient Algorithms for Device Placement of DNN Graph Operators" in JSON;
 * uses their accelerators, not their CPUs. PipeDream's profiles arrive as such documents, too, with
 * other amounts: see graph_text.c.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/json_reader.h"
#include "costs/costs_file_data.h"

#include <inttypes.h>

#include "base/failure.h"
#include "base/growth.h"
#include "base/id_map.h"

/* Doubles are exact up to here. */
#define MAX_NUMBER ((uint64_t)1 << 53)

typedef struct reader {
    pl_json_reader json;
    pl_layer_graph graph;
    pl_id_map nodes;   /* by id */
    pl_id_map colours; /* from a colour to its first node */
    pl_names names;
    uint64_t sum_cycles; /* includes the traffic that takes cycles */
    uint64_t sum_bytes;
    uint64_t sum_traffic; /* in bytes, of a profile */
    bool is_inference;
} reader;

const char *const pl_profile_amounts[PL_NUM_PROFILE_AMOUNTS] = {
    "forward_compute_time", "backward_compute_time", "activation_size", "parameter_size"};

/* Reads an id or a colour. */
static int64_t read_integer(reader *r, const pl_json_value *value) {
    double real = json_is_real(value->json) ? json_real_value(value->json) : 0;
    bool is_whole = json_is_integer(value->json) || (json_is_real(value->json) && real > -1e15 &&
                                                     real < 1e15 && real == (double)(int64_t)real);
    if (!is_whole)
        pl_json_refuse(&r->json, value, "expected a whole number");
    if (json_is_integer(value->json))
        return json_integer_value(value->json);
    return is_whole ? (int64_t)real : 0;
}

/* Returns a unique name for a node, because users write splits by names; the graph owns it. NULL if
 * memory is short. */
static const char *make_name(reader *r, const char *name, int64_t id) {
    pl_text text = {0};
    const size_t before = r->names.count;
    const bool is_known = name != NULL && pl_names_number(&r->names, name) < before;
    if (name == NULL)
        pl_text_format(&text, "node%" PRId64, id);
    else
        pl_text_add(&text, name);
    if (is_known)
        pl_text_format(&text, " (%" PRId64 ")", id);
    name = pl_arrays_take(&r->graph.arrays, text);
    return r->names.arrays.failed || r->graph.arrays.failed ? NULL : name;
}

static bool has(reader *r, bool memory, const char *what) {
    return pl_outcome_has(&r->json.outcome, memory, what);
}

/* Stores the first node of each colour; a node may have none. */
static void read_colour(reader *r, size_t i, const pl_json_value *colour) {
    if (colour->json != NULL && !json_is_null(colour->json))
        has(r, pl_id_map_add(&r->colours, (uint64_t)read_integer(r, colour), i),
            "the colours of the graph");
}

/* Adds an amount of `what` to a sum and checks that against its limit. */
static void add_up(reader *r, const pl_json_value *value, const char *what, uint64_t amount,
                   uint64_t *sum) {
    const bool is_time = sum == &r->sum_cycles;
    const uint64_t most = is_time ? POPLINER_MAX_CYCLES : PL_MAX_BYTES;
    *sum += amount;
    if (*sum > most)
        pl_json_refuse(&r->json, value, "with this, the %s add up to more than %.17g%s", what,
                       (double)most / (is_time ? PL_TIME_SCALE : 1),
                       is_time ? "; use a larger unit of time" : " bytes");
}

/* Reads an amount of a profile, or several, whose sum it is. */
static uint64_t read_amount(reader *r, const pl_json_value *node, size_t amount) {
    const uint64_t scale = amount < 2 ? PL_TIME_SCALE : 1;
    const uint64_t most = amount < 2 ? POPLINER_MAX_CYCLES : PL_MAX_BYTES;
    const pl_json_value value = pl_json_in(node, pl_profile_amounts[amount]);
    uint64_t sum = 0;
    if (!json_is_array(value.json))
        return pl_json_scaled(&r->json, &value, scale, most);
    for (size_t i = 0; sum <= most && i < json_array_size(value.json); ++i) {
        const pl_json_value item = pl_json_at(&value, i);
        sum += pl_json_scaled(&r->json, &item, scale, most);
    }
    return sum;
}

static void read_profile_node(reader *r, const pl_json_value *value, pl_graph_node *node) {
    node->forward_cycles = read_amount(r, value, 0);
    const uint64_t backward_cycles = read_amount(r, value, 1);
    node->cycles = node->forward_cycles + (r->is_inference ? 0 : backward_cycles);
    node->traffic = read_amount(r, value, 2);
    node->memory_bytes = read_amount(r, value, 3);
    node->is_input = json_is_true(json_object_get(value->json, "isInput"));
    r->graph.has_passes = !r->is_inference;
    add_up(r, value, "sizes of activations", node->traffic, &r->sum_traffic);
}

static void read_operator(reader *r, const pl_json_value *value, pl_graph_node *node) {
    const pl_json_value cycles = pl_json_in(value, "fpgaLatency");
    const pl_json_value size = pl_json_in(value, "size");
    const pl_json_value backward = pl_json_in(value, "isBackwardNode");
    const pl_json_value supported = pl_json_in(value, "supportedOnFpga");
    node->cycles = pl_json_scaled(&r->json, &cycles, PL_TIME_SCALE, POPLINER_MAX_CYCLES);
    if (size.json != NULL)
        node->memory_bytes = pl_json_scaled(&r->json, &size, 1, PL_MAX_BYTES);
    if (backward.json != NULL)
        node->is_backward = pl_json_flag(&r->json, &backward);
    if (supported.json != NULL && !pl_json_flag(&r->json, &supported))
        pl_json_refuse(&r->json, &supported,
                       "only a CPU can run this node; remove it from the graph");
    if (node->is_backward && r->is_inference)
        node->cycles = 0;
    node->forward_cycles = node->is_backward ? 0 : node->cycles;
    r->graph.has_passes = r->graph.has_passes || (node->is_backward && !r->is_inference);
}

static void read_node(reader *r, size_t i, const pl_json_value *value) {
    const pl_json_value id = pl_json_in(value, "id");
    const pl_json_value name = pl_json_in(value, "name");
    const pl_json_value colour = pl_json_in(value, "colorClass");
    pl_graph_node node = {.group = (uint32_t)i};
    pl_json_object(&r->json, value);
    node.number = read_integer(r, &id);
    (r->json.has_lines ? read_profile_node : read_operator)(r, value, &node);
    const char *text = name.json != NULL ? pl_json_text(&r->json, &name) : NULL;
    read_colour(r, i, &colour);
    add_up(r, value, "latencies", node.cycles, &r->sum_cycles);
    add_up(r, value, "sizes", node.memory_bytes, &r->sum_bytes);
    if (!pl_json_is_well(&r->json))
        return;
    node.name = make_name(r, text, node.number);
    has(r,
        pl_layer_graph_add_node(&r->graph, node) &&
            pl_id_map_add(&r->nodes, (uint64_t)node.number, i),
        "the nodes of the graph");
}

/* Checks ids and sets groups, once all nodes are known. */
static void resolve(reader *r, const pl_json_value *nodes) {
    pl_id_map_sort(&r->nodes);
    pl_id_map_sort(&r->colours);
    for (size_t i = 0; pl_json_is_well(&r->json) && i < r->graph.num_nodes; ++i) {
        const pl_json_value value = pl_json_at(nodes, i);
        const pl_json_value id = pl_json_in(&value, "id");
        const pl_json_value colour = pl_json_in(&value, "colorClass");
        pl_graph_node *node = &r->graph.nodes[i];
        uint32_t other = pl_id_map_find(&r->nodes, (uint64_t)node->number);
        if (other != i)
            pl_json_refuse(&r->json, &id, "another node has the id %" PRId64, node->number);
        if (colour.json != NULL && !json_is_null(colour.json))
            node->group = pl_id_map_find(&r->colours, (uint64_t)read_integer(r, &colour));
    }
}

static uint32_t read_end(reader *r, const pl_json_value *edge, const char *key) {
    const pl_json_value value = pl_json_in(edge, key);
    const int64_t id = read_integer(r, &value);
    const uint32_t node = pl_id_map_find(&r->nodes, (uint64_t)id);
    if (node == PL_NONE)
        pl_json_refuse(&r->json, &value, "no node has the id %" PRId64, id);
    return node;
}

static void read_edge(reader *r, const pl_json_value *value) {
    const pl_json_value cost = pl_json_in(value, "cost");
    pl_json_object(&r->json, value);
    const uint32_t from = read_end(r, value, "sourceId");
    const uint32_t to = read_end(r, value, "destId");
    const uint64_t traffic =
        r->json.has_lines ? 0 : pl_json_scaled(&r->json, &cost, PL_TIME_SCALE, POPLINER_MAX_CYCLES);
    if (!pl_json_is_well(&r->json))
        return;
    /* edges of a node carry the same data, so they should cost the same; if not, take the
     * largest */
    pl_graph_node *node = &r->graph.nodes[from];
    if (traffic > node->traffic) {
        add_up(r, value, "latencies and costs", traffic - node->traffic, &r->sum_cycles);
        node->traffic = traffic;
    }
    has(r, pl_layer_graph_add_edge(&r->graph, from, to), "the edges of the graph");
}

/* Removes the nodes that provide the inputs. PipeDream's own optimizer also does: their time is
 * what the profiler waited for the data. */
static void remove_inputs(reader *r) {
    pl_layer_graph *graph = &r->graph;
    uint32_t *new_index = pl_arrays_new(&graph->arrays, graph->num_nodes, sizeof *new_index);
    size_t num_nodes = 0;
    size_t num_edges = 0;
    if (!has(r, new_index != NULL, "the nodes of the graph"))
        return;
    for (size_t i = 0; i < graph->num_edges; ++i) /* a node that another precedes is no input */
        graph->nodes[graph->edges[i].to].is_input = false;
    for (size_t i = 0; i < graph->num_nodes; ++i) {
        const pl_graph_node node = graph->nodes[i];
        new_index[i] = node.is_input ? PL_NONE : (uint32_t)num_nodes;
        if (!node.is_input)
            graph->nodes[num_nodes++] = node;
    }
    for (size_t i = 0; i < num_nodes; ++i)
        graph->nodes[i].group = new_index[graph->nodes[i].group];
    for (size_t i = 0; i < graph->num_edges; ++i) {
        const pl_graph_edge edge = graph->edges[i];
        if (new_index[edge.from] != PL_NONE)
            graph->edges[num_edges++] = (pl_graph_edge){new_index[edge.from], new_index[edge.to]};
    }
    graph->num_nodes = num_nodes;
    graph->num_edges = num_edges;
}

/* Reads a number and rounds it down: half a device is none. 0 if it is missing. */
static uint64_t read_limit(reader *r, const pl_json_value *root, const char *key) {
    const pl_json_value value = pl_json_in(root, key);
    const double number = json_number_value(value.json);
    if (value.json == NULL)
        return 0;
    if (json_is_number(value.json) && number >= 1 && number <= (double)MAX_NUMBER)
        return (uint64_t)number;
    pl_json_refuse(&r->json, &value, "expected a number from 1 to %" PRIu64, MAX_NUMBER);
    return 0;
}

static void read_all(reader *r, const pl_json_value *root, pl_costs_file *file) {
    const pl_json_value nodes = pl_json_in(root, "nodes");
    const pl_json_value edges = pl_json_in(root, "edges");
    pl_json_array(&r->json, &nodes);
    pl_json_array(&r->json, &edges);
    file->info.num_ipus = (size_t)read_limit(r, root, "maxFPGAs");
    file->info.bytes_per_tile = read_limit(r, root, "maxSizePerFPGA");
    for (size_t i = 0; pl_json_is_well(&r->json) && i < json_array_size(nodes.json); ++i) {
        const pl_json_value node = pl_json_at(&nodes, i);
        read_node(r, i, &node);
    }
    resolve(r, &nodes);
    for (size_t i = 0; pl_json_is_well(&r->json) && i < json_array_size(edges.json); ++i) {
        const pl_json_value edge = pl_json_at(&edges, i);
        read_edge(r, &edge);
    }
}

popliner_status pl_read_graph_json(const json_t *root, bool is_profile, const char *path,
                                   const popliner_pipeline *pipeline, pl_costs_file *file,
                                   popliner_error *error) {
    const bool is_any_split = is_profile || pipeline == NULL || pipeline->max_stages == 0;
    reader r = {.json = {path, {POPLINER_OK, error}, is_profile},
                .graph = {.traffic_takes_cycles = !is_profile, .is_of_parameters = is_profile}};
    r.is_inference = pipeline != NULL && pipeline->schedule == POPLINER_SCHEDULE_INFERENCE;
    read_all(&r, &(pl_json_value){.json = root}, file);
    if (is_profile && pl_json_is_well(&r.json))
        remove_inputs(&r);
    if (pl_json_is_well(&r.json))
        r.json.outcome.status = pl_layer_graph_fill(
            &r.graph, path, is_any_split ? SIZE_MAX : pipeline->max_stages, file, error);
    file->info.is_graph = true;
    file->info.cycles_per_time_unit = PL_TIME_SCALE;
    if (!is_profile)
        file->info.cuts_per_unit = PL_TIME_SCALE;
    file->info.time_unit = is_profile ? "ms" : "units";
    file->own_graph = r.graph;
    pl_id_map_free(&r.nodes);
    pl_id_map_free(&r.colours);
    pl_names_free(&r.names);
    return r.json.outcome.status;
}
