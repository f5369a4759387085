/* Reads the graphs of "Efficient Algorithms for Device Placement of DNN Graph Operators" in JSON;
 * uses their accelerators, not their CPUs.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/json_reader.h"
#include "costs/costs_file_data.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

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
    uint64_t sum_cycles; /* includes the traffic */
    uint64_t sum_bytes;
    bool is_inference;
} reader;

/* Reads an id or a colour. */
static popliner_status read_integer(const reader *r, const pl_json_place *place,
                                    const json_t *value, int64_t *number) {
    double real = json_is_real(value) ? json_real_value(value) : 0;
    bool is_whole = json_is_integer(value) || (json_is_real(value) && real > -1e15 && real < 1e15 &&
                                               real == (double)(int64_t)real);
    if (!is_whole)
        return pl_json_refuse(&r->json, place, "expected a whole number");
    *number = json_is_integer(value) ? json_integer_value(value) : (int64_t)real;
    return POPLINER_OK;
}

/* Returns a unique name for a node, because users write splits by names; owned by the caller. */
static char *make_name(reader *r, const char *name, int64_t id) {
    pl_text text = {0};
    size_t before = r->names.count;
    if (name != NULL) {
        size_t number = pl_names_number(&r->names, name);
        if (number == SIZE_MAX)
            return NULL;
        pl_text_add(&text, name);
        if (number < before)
            pl_text_format(&text, " (%" PRId64 ")", id);
    } else {
        pl_text_format(&text, "node%" PRId64, id);
    }
    if (!text.failed)
        return text.data;
    free(text.data);
    return NULL;
}

/* Stores the first node of each colour; a node may have none. */
static popliner_status read_colour(reader *r, size_t i, const json_t *colour) {
    pl_json_place place = pl_place("nodes[%zu].colorClass", i);
    int64_t number = 0;
    if (colour == NULL || json_is_null(colour))
        return POPLINER_OK;
    popliner_status status = read_integer(r, &place, colour, &number);
    if (status == POPLINER_OK && !pl_id_map_add(&r->colours, (uint64_t)number, i))
        status = pl_fail_memory(r->json.error, "the colours of the graph");
    return status;
}

static popliner_status read_node(reader *r, size_t i, const json_t *value) {
    pl_json_place place = pl_place("nodes[%zu]", i);
    pl_json_place id_place = pl_place("nodes[%zu].id", i);
    pl_json_place cycles_place = pl_place("nodes[%zu].fpgaLatency", i);
    pl_json_place size_place = pl_place("nodes[%zu].size", i);
    pl_json_place flag_place = pl_place("nodes[%zu].isBackwardNode", i);
    pl_json_place supported_place = pl_place("nodes[%zu].supportedOnFpga", i);
    const json_t *flag = json_object_get(value, "isBackwardNode");
    const json_t *supported = json_object_get(value, "supportedOnFpga");
    const json_t *size = json_object_get(value, "size");
    const json_t *name_value = json_object_get(value, "name");
    const char *name = NULL;
    bool is_supported = true;
    pl_graph_node node = {.group = (uint32_t)i};

    popliner_status status = pl_json_object(&r->json, &place, value);
    if (status == POPLINER_OK)
        status = read_integer(r, &id_place, json_object_get(value, "id"), &node.number);
    if (status == POPLINER_OK)
        status = pl_json_scaled(&r->json, &cycles_place, json_object_get(value, "fpgaLatency"),
                                PL_TIME_SCALE, POPLINER_MAX_CYCLES, &node.cycles);
    if (status == POPLINER_OK && size != NULL)
        status = pl_json_scaled(&r->json, &size_place, size, 1, PL_MAX_BYTES, &node.memory_bytes);
    if (status == POPLINER_OK && flag != NULL)
        status = pl_json_flag(&r->json, &flag_place, flag, &node.is_backward);
    if (status == POPLINER_OK && supported != NULL)
        status = pl_json_flag(&r->json, &supported_place, supported, &is_supported);
    if (status == POPLINER_OK && !is_supported)
        status = pl_json_refuse(&r->json, &supported_place,
                                "only a CPU can run this node; remove it from the graph");
    if (status == POPLINER_OK && name_value != NULL) {
        pl_json_place name_place = pl_place("nodes[%zu].name", i);
        status = pl_json_text(&r->json, &name_place, name_value, &name);
    }
    if (status == POPLINER_OK)
        status = read_colour(r, i, json_object_get(value, "colorClass"));
    if (status != POPLINER_OK)
        return status;

    if (node.is_backward && r->is_inference)
        node.cycles = 0;
    node.forward_cycles = node.is_backward ? 0 : node.cycles;
    r->graph.has_passes = r->graph.has_passes || (node.is_backward && !r->is_inference);
    r->sum_cycles += node.cycles;
    r->sum_bytes += node.memory_bytes;
    if (r->sum_cycles > POPLINER_MAX_CYCLES)
        return pl_json_refuse(&r->json, &cycles_place,
                              "with this node, the latencies add up to more than %.17g; use a "
                              "larger unit of time",
                              (double)POPLINER_MAX_CYCLES / PL_TIME_SCALE);
    if (r->sum_bytes > PL_MAX_BYTES)
        return pl_json_refuse(&r->json, &size_place,
                              "with this node, the sizes add up to more than %" PRIu64 " bytes",
                              PL_MAX_BYTES);
    node.name = make_name(r, name, node.number);
    if (!pl_layer_graph_add_node(&r->graph, node) ||
        !pl_id_map_add(&r->nodes, (uint64_t)node.number, i))
        return pl_fail_memory(r->json.error, "the nodes of the graph");
    return POPLINER_OK;
}

/* Checks ids and sets groups, once all nodes are known. */
static popliner_status resolve(reader *r, const json_t *nodes) {
    pl_id_map_sort(&r->nodes);
    pl_id_map_sort(&r->colours);
    for (size_t i = 0; i < r->graph.num_nodes; ++i) {
        pl_graph_node *node = &r->graph.nodes[i];
        uint32_t other = pl_id_map_find(&r->nodes, (uint64_t)node->number);
        if (other != i) {
            pl_json_place place = pl_place("nodes[%zu].id", i);
            return pl_json_refuse(&r->json, &place, "nodes[%" PRIu32 "] also has the id %" PRId64,
                                  other, node->number);
        }
        const json_t *colour = json_object_get(json_array_get(nodes, i), "colorClass");
        int64_t number = 0;
        if (colour == NULL || json_is_null(colour))
            continue;
        popliner_status status = read_integer(r, &(pl_json_place){0}, colour, &number);
        if (status != POPLINER_OK)
            return status;
        node->group = pl_id_map_find(&r->colours, (uint64_t)number);
    }
    return POPLINER_OK;
}

static popliner_status read_end(reader *r, size_t i, const json_t *edge, const char *key,
                                uint32_t *node) {
    pl_json_place place = pl_place("edges[%zu].%s", i, key);
    int64_t id = 0;
    popliner_status status = read_integer(r, &place, json_object_get(edge, key), &id);
    if (status != POPLINER_OK)
        return status;
    *node = pl_id_map_find(&r->nodes, (uint64_t)id);
    return *node != PL_NONE ? POPLINER_OK
                            : pl_json_refuse(&r->json, &place, "no node has the id %" PRId64, id);
}

static popliner_status read_edge(reader *r, size_t i, const json_t *value) {
    pl_json_place place = pl_place("edges[%zu]", i);
    pl_json_place cost_place = pl_place("edges[%zu].cost", i);
    const json_t *cost = json_object_get(value, "cost");
    uint64_t traffic = 0;
    uint32_t from = 0;
    uint32_t to = 0;
    popliner_status status = pl_json_object(&r->json, &place, value);
    if (status == POPLINER_OK)
        status = read_end(r, i, value, "sourceId", &from);
    if (status == POPLINER_OK)
        status = read_end(r, i, value, "destId", &to);
    if (status == POPLINER_OK)
        status = pl_json_scaled(&r->json, &cost_place, cost, PL_TIME_SCALE, POPLINER_MAX_CYCLES,
                                &traffic);
    if (status != POPLINER_OK)
        return status;
    /* edges of a node carry the same data, so they should cost the same; if not, take the
     * largest */
    pl_graph_node *node = &r->graph.nodes[from];
    if (traffic > node->traffic) {
        r->sum_cycles += traffic - node->traffic;
        node->traffic = traffic;
    }
    if (r->sum_cycles > POPLINER_MAX_CYCLES)
        return pl_json_refuse(
            &r->json, &cost_place,
            "with this edge, latencies and costs add up to more than %.17g; use a "
            "larger unit of time",
            (double)POPLINER_MAX_CYCLES / PL_TIME_SCALE);
    if (!pl_layer_graph_add_edge(&r->graph, from, to))
        return pl_fail_memory(r->json.error, "the edges of the graph");
    return POPLINER_OK;
}

/* Reads a number and rounds it down: half a device is none. */
static popliner_status read_limit(const reader *r, const json_t *root, const char *key,
                                  uint64_t *number) {
    const json_t *value = json_object_get(root, key);
    pl_json_place place = pl_place("%s", key);
    if (value == NULL)
        return POPLINER_OK;
    if (!json_is_number(value) || !(json_number_value(value) >= 1) ||
        json_number_value(value) > (double)MAX_NUMBER)
        return pl_json_refuse(&r->json, &place, "expected a number from 1 to %" PRIu64, MAX_NUMBER);
    *number = (uint64_t)json_number_value(value);
    return POPLINER_OK;
}

static popliner_status read_all(reader *r, const json_t *root, pl_costs_file *file) {
    const json_t *nodes = json_object_get(root, "nodes");
    const json_t *edges = json_object_get(root, "edges");
    pl_json_place nodes_place = pl_place("nodes");
    pl_json_place edges_place = pl_place("edges");
    uint64_t num_ipus = 0;
    popliner_status status = pl_json_array(&r->json, &nodes_place, nodes);
    if (status == POPLINER_OK)
        status = pl_json_array(&r->json, &edges_place, edges);
    if (status == POPLINER_OK)
        status = read_limit(r, root, "maxFPGAs", &num_ipus);
    if (status == POPLINER_OK)
        status = read_limit(r, root, "maxSizePerFPGA", &file->info.bytes_per_tile);
    if (status != POPLINER_OK)
        return status;
    file->info.num_ipus = (size_t)num_ipus;
    for (size_t i = 0; i < json_array_size(nodes); ++i) {
        status = read_node(r, i, json_array_get(nodes, i));
        if (status != POPLINER_OK)
            return status;
    }
    status = resolve(r, nodes);
    if (status != POPLINER_OK)
        return status;
    for (size_t i = 0; i < json_array_size(edges); ++i) {
        status = read_edge(r, i, json_array_get(edges, i));
        if (status != POPLINER_OK)
            return status;
    }
    return POPLINER_OK;
}

popliner_status pl_read_graph_json(const json_t *root, const char *path,
                                   const popliner_pipeline *pipeline, pl_costs_file *file,
                                   popliner_error *error) {
    size_t max_stages =
        pipeline == NULL || pipeline->max_stages == 0 ? SIZE_MAX : pipeline->max_stages;
    reader r = {.json = {path, error}, .graph = {.traffic_takes_cycles = true}};
    r.is_inference = pipeline != NULL && pipeline->schedule == POPLINER_SCHEDULE_INFERENCE;
    popliner_status status = read_all(&r, root, file);
    if (status == POPLINER_OK)
        status = pl_layer_graph_fill(&r.graph, path, max_stages, file, error);
    file->info.is_graph = true;
    file->info.cycles_per_time_unit = PL_TIME_SCALE;
    file->info.cuts_per_unit = PL_TIME_SCALE;
    file->time_unit = pl_arrays_text(&file->arrays, "units");
    if (status == POPLINER_OK && file->time_unit == NULL)
        status = pl_fail_memory(error, "the unit of time");
    file->own_graph = r.graph;
    pl_id_map_free(&r.nodes);
    pl_id_map_free(&r.colours);
    pl_names_free(&r.names);
    return status;
}
