/* Reads PipeDream's profiles: a line for each node, then a line for each edge, which begins with a
 * tab.
 *
 * A node's description is free text with commas. Numbers are decimals as Python prints them. They
 * are read digit by digit, so that neither the locale nor binary fractions matter.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "costs/costs_file_data.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "base/growth.h"
#include "base/id_map.h"

/* A part of the text. */
typedef struct span {
    const char *at;
    size_t length;
} span;

typedef struct reader {
    const char *path;
    popliner_error *error;
    size_t line; /* from 1 */
    bool is_inference;
    pl_layer_graph graph;
    pl_id_map nodes;   /* by number */
    uint8_t *is_input; /* [nodes]: the description says so */
    size_t is_input_capacity;
    uint64_t sum_cycles;
    uint64_t sum_bytes;
    uint64_t sum_traffic;
} reader;

static const char separator[] = " -- ";

static popliner_status refuse(const reader *r, const char *what, span where) {
    return pl_fail(r->error, POPLINER_ERROR_INPUT, "%s: line %zu: %s: '%.*s'", r->path, r->line,
                   what, where.length < 100 ? (int)where.length : 100, where.at);
}

static bool begins_with(span text, const char *beginning) {
    size_t length = strlen(beginning);
    return text.length >= length && memcmp(text.at, beginning, length) == 0;
}

/* Returns where the first `part` begins, or the end of the text if there is none. */
static size_t find(span text, const char *part) {
    size_t length = strlen(part);
    for (size_t i = 0; i + length <= text.length; ++i)
        if (memcmp(text.at + i, part, length) == 0)
            return i;
    return text.length;
}

static span after(span text, size_t count) {
    return (span){text.at + count, text.length - count};
}

/* Removes and returns the text before the next `part`; also removes `part`. */
static span take_before(span *text, const char *part) {
    size_t length = find(*text, part);
    size_t with_part = length + strlen(part);
    span taken = {text->at, length};
    *text = after(*text, with_part < text->length ? with_part : text->length);
    return taken;
}

/* Parses "node12". */
static bool parse_number(span text, uint64_t *number) {
    *number = 0;
    if (!begins_with(text, "node") || text.length == strlen("node") || text.length > 20)
        return false;
    for (size_t i = strlen("node"); i < text.length; ++i) {
        if (text.at[i] < '0' || text.at[i] > '9')
            return false;
        *number = *number * 10 + (uint64_t)(text.at[i] - '0');
    }
    return true;
}

/* Parses a decimal and multiplies it by 10^digits, rounded. False if it is not a decimal or more
 * than `max` (below 2^60). */
static bool parse_decimal(span text, unsigned digits, uint64_t max, uint64_t *number) {
    size_t i = 0;
    *number = 0;
    for (; i < text.length && text.at[i] >= '0' && text.at[i] <= '9' && *number <= max; ++i)
        *number = *number * 10 + (uint64_t)(text.at[i] - '0');
    if (i == 0)
        return false;
    bool has_point = i < text.length && text.at[i] == '.';
    bool round_up = false;
    i += has_point;
    for (unsigned digit = 0; digit < digits && *number <= max; ++digit) {
        bool is_digit = has_point && i < text.length && text.at[i] >= '0' && text.at[i] <= '9';
        *number = *number * 10 + (is_digit ? (uint64_t)(text.at[i] - '0') : 0);
        i += is_digit;
    }
    if (has_point && i < text.length)
        round_up = text.at[i] >= '5';
    while (has_point && i < text.length && text.at[i] >= '0' && text.at[i] <= '9')
        ++i;
    *number += round_up;
    return i == text.length && *number <= max;
}

/* Parses a decimal, or "[a; b; ...]", whose items are added. */
static bool parse_decimals(span text, unsigned digits, uint64_t max, uint64_t *number) {
    if (text.length < 2 || text.at[0] != '[' || text.at[text.length - 1] != ']')
        return parse_decimal(text, digits, max, number);
    span rest = {text.at + 1, text.length - 2};
    *number = 0;
    while (rest.length > 0) {
        uint64_t item = 0;
        if (!parse_decimal(take_before(&rest, "; "), digits, max, &item))
            return false;
        *number += item;
        if (*number > max)
            return false;
    }
    return true;
}

/* Reads "forward_compute_time=0.5, backward_compute_time=1, activation_size=8, parameter_size=4";
 * ignores anything else. */
static popliner_status read_amounts(reader *r, span text, pl_graph_node *node) {
    static const char *const keys[] = {
        "forward_compute_time=", "backward_compute_time=", "activation_size=", "parameter_size="};
    uint64_t numbers[4] = {0};
    bool found[4] = {false};
    span rest = text;
    while (rest.length > 0) {
        span item = take_before(&rest, ", ");
        for (size_t k = 0; k < 4; ++k) {
            if (!begins_with(item, keys[k]))
                continue;
            if (found[k])
                return refuse(r, "an amount appears twice", item);
            found[k] = true;
            if (!parse_decimals(after(item, strlen(keys[k])), k < 2 ? PL_TIME_DIGITS : 0,
                                k < 2 ? POPLINER_MAX_CYCLES : PL_MAX_BYTES, &numbers[k]))
                return refuse(r, "not a decimal number, or too large", item);
        }
    }
    for (size_t k = 0; k < 4; ++k) {
        if (!found[k]) {
            char what[60];
            snprintf(what, sizeof what, "no %s in", keys[k]);
            return refuse(r, what, text);
        }
    }
    node->cycles = numbers[0] + (r->is_inference ? 0 : numbers[1]);
    node->forward_cycles = numbers[0];
    r->graph.has_passes = !r->is_inference;
    node->traffic = numbers[2];
    node->memory_bytes = numbers[3];
    return POPLINER_OK;
}

static popliner_status read_node(reader *r, span line) {
    span rest = line;
    span name = take_before(&rest, separator);
    uint64_t number = 0;
    pl_graph_node node = {.group = (uint32_t)r->graph.num_nodes};
    if (!parse_number(name, &number) || number > INT64_MAX)
        return refuse(r, "expected node and a number, then ' -- '", line);
    node.number = (int64_t)number;
    /* the description may contain the separator, so search for the start of the amounts */
    size_t amounts = find(rest, " -- forward_compute_time=");
    if (amounts == rest.length)
        return refuse(r, "expected ' -- forward_compute_time=' and what follows", line);
    bool is_input = begins_with(rest, "Input");
    rest = after(rest, amounts + strlen(separator));
    popliner_status status = read_amounts(r, take_before(&rest, separator), &node);
    if (status != POPLINER_OK)
        return status;

    bool room =
        pl_grow(&r->is_input, &r->is_input_capacity, r->graph.num_nodes + 1, sizeof *r->is_input);
    if (room)
        r->is_input[r->graph.num_nodes] = is_input;
    if (!room || !pl_id_map_add(&r->nodes, number, r->graph.num_nodes))
        return pl_fail_memory(r->error, "the nodes of the graph");
    node.name = pl_copy_string(name.at, name.length);
    return pl_layer_graph_add_node(&r->graph, node)
               ? POPLINER_OK
               : pl_fail_memory(r->error, "the nodes of the graph");
}

static popliner_status read_edge(reader *r, span line) {
    uint64_t number = 0;
    uint32_t ends[2] = {0, 0};
    span rest = line;
    for (size_t i = 0; i < 2; ++i) {
        span name = i == 0 ? take_before(&rest, separator) : rest;
        if (!parse_number(name, &number))
            return refuse(r, "expected an edge like 'node1 -- node2'", line);
        ends[i] = pl_id_map_find(&r->nodes, number);
        if (ends[i] == PL_NONE)
            return refuse(r, "no such node in the file", name);
    }
    return pl_layer_graph_add_edge(&r->graph, ends[0], ends[1])
               ? POPLINER_OK
               : pl_fail_memory(r->error, "the edges of the graph");
}

/* Reads all nodes, or all edges: edges may name nodes of later lines. */
static popliner_status read_lines(reader *r, span text, bool edges) {
    popliner_status status = POPLINER_OK;
    r->line = 0;
    while (status == POPLINER_OK && text.length > 0) {
        span line = take_before(&text, "\n");
        ++r->line;
        if (line.length > 0 && line.at[line.length - 1] == '\r')
            --line.length;
        bool is_edge = line.length > 0 && line.at[0] == '\t';
        if (line.length == 0 || is_edge != edges)
            continue;
        status = is_edge ? read_edge(r, after(line, 1)) : read_node(r, line);
    }
    return status;
}

/* Checks that numbers are distinct and sums within their limits. */
static popliner_status check_nodes(reader *r) {
    pl_id_map_sort(&r->nodes);
    for (size_t i = 0; i < r->graph.num_nodes; ++i) {
        const pl_graph_node *node = &r->graph.nodes[i];
        if (pl_id_map_find(&r->nodes, (uint64_t)node->number) != i)
            return pl_fail(r->error, POPLINER_ERROR_INPUT, "%s: %s appears twice", r->path,
                           node->name);
        r->sum_cycles += node->cycles;
        r->sum_bytes += node->memory_bytes;
        r->sum_traffic += node->traffic;
        if (r->sum_cycles > POPLINER_MAX_CYCLES || r->sum_bytes > PL_MAX_BYTES ||
            r->sum_traffic > PL_MAX_BYTES)
            return pl_fail(r->error, POPLINER_ERROR_INPUT,
                           "%s: with %s, the sum of times or sizes is too large; use larger units",
                           r->path, node->name);
    }
    return POPLINER_OK;
}

/* Removes the nodes that provide the inputs. PipeDream's own optimizer also does: their time is
 * what the profiler waited for the data. False when memory is short. */
static bool remove_inputs(reader *r) {
    pl_layer_graph *graph = &r->graph;
    uint32_t *new_index = pl_new_array(graph->num_nodes, sizeof *new_index);
    size_t num_nodes = 0;
    size_t num_edges = 0;
    if (new_index == NULL)
        return false;
    for (size_t i = 0; i < graph->num_edges; ++i) /* a node that another precedes is no input */
        r->is_input[graph->edges[i].to] = 0;
    for (size_t i = 0; i < graph->num_nodes; ++i) {
        if (r->is_input[i]) {
            free(graph->nodes[i].name);
            new_index[i] = PL_NONE;
            continue;
        }
        new_index[i] = (uint32_t)num_nodes;
        graph->nodes[num_nodes] = graph->nodes[i];
        graph->nodes[num_nodes].group = (uint32_t)num_nodes;
        ++num_nodes;
    }
    for (size_t i = 0; i < graph->num_edges; ++i) {
        pl_graph_edge edge = graph->edges[i];
        if (new_index[edge.from] != PL_NONE)
            graph->edges[num_edges++] = (pl_graph_edge){new_index[edge.from], new_index[edge.to]};
    }
    graph->num_nodes = num_nodes;
    graph->num_edges = num_edges;
    free(new_index);
    return true;
}

/* Sets the parameters of each unit, which are its memory. */
static popliner_status take_parameters(pl_costs_file *file, popliner_error *error) {
    size_t num_units = popliner_costs_num_units(file->costs);
    file->parameters = pl_arrays_new(&file->arrays, num_units, sizeof *file->parameters);
    if (file->parameters == NULL)
        return pl_fail_memory(error, "the parameters of the graph");
    for (size_t unit = 0; unit < num_units; ++unit)
        file->parameters[unit] = popliner_costs_peak(file->costs, unit, unit, 1);
    return POPLINER_OK;
}

popliner_status pl_read_graph_text(const char *text, size_t length, const char *path,
                                   bool is_inference, pl_costs_file *file, popliner_error *error) {
    reader r = {.path = path, .error = error, .is_inference = is_inference};
    span all = {text, length};
    popliner_status status = read_lines(&r, all, false);
    if (status == POPLINER_OK)
        status = check_nodes(&r);
    if (status == POPLINER_OK)
        status = read_lines(&r, all, true);
    if (status == POPLINER_OK && !remove_inputs(&r))
        status = pl_fail_memory(error, "the nodes of the graph");
    if (status == POPLINER_OK)
        status = pl_layer_graph_fill(&r.graph, path, SIZE_MAX, file, error);
    if (status == POPLINER_OK)
        status = take_parameters(file, error);
    file->info.is_graph = true;
    file->info.cycles_per_time_unit = PL_TIME_SCALE;
    file->time_unit = pl_arrays_text(&file->arrays, "ms");
    if (status == POPLINER_OK && file->time_unit == NULL)
        status = pl_fail_memory(error, "the unit of time");
    file->own_graph = r.graph;
    pl_id_map_free(&r.nodes);
    free(r.is_input);
    return status;
}
