/* Reads PipeDream's profiles: a line for each node, then a line for each edge, which begins with a
 * tab. Makes the JSON document with the same nodes and edges, which graph_json.c reads.
 *
 * A node's description is free text with commas. Numbers are decimals as Python prints them.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "costs/costs_file_data.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "base/growth.h"
#include "base/json_reader.h"

typedef struct reader {
    const char *path;
    pl_outcome outcome;
    size_t line; /* from 1 */
    json_t *nodes;
    json_t *edges;
} reader;

static const char separator[] = " -- ";

static void refuse(reader *r, const char *what, const char *where, size_t length) {
    pl_outcome_fail(&r->outcome, POPLINER_ERROR_INPUT, "%s: line %zu: %s: '%.*s'", r->path, r->line,
                    what, length < 100 ? (int)length : 100, where);
}

static bool has(reader *r, bool memory) {
    return pl_outcome_has(&r->outcome, memory, "the nodes of the graph");
}

/* Takes "node12" from the start of a text; -1 if there is none. */
static json_int_t take_node(const char **text) {
    enum { MOST_DIGITS = 16 };
    const char *digits = *text + strlen("node");
    const size_t length = strncmp(*text, "node", 4) == 0 ? strspn(digits, "0123456789") : 0;
    if (length == 0 || length > MOST_DIGITS)
        return -1;
    *text = digits + length;
    return strtoll(digits, NULL, 10);
}

static bool take_separator(const char **text) {
    const size_t length = strlen(separator);
    const bool is_there = strncmp(*text, separator, length) == 0;
    *text += is_there ? length : 0;
    return is_there;
}

/* Reads a decimal, or "[a; b; ...]", whose items are added. */
static void read_amount(reader *r, json_t *node, const char *key, const char *item, size_t length) {
    const char *from = item + strlen(key) + 1;
    const char *end = item + length;
    const bool is_list = from < end && *from == '[' && end[-1] == ']';
    json_t *amount = pl_json_numbers(from + is_list, (size_t)(end - from) - (is_list ? 2 : 0),
                                     is_list ? "; " : "");
    if (json_object_get(node, key) != NULL)
        refuse(r, "an amount appears twice", item, length);
    else if (json_is_null(amount) || (!is_list && json_is_array(amount)))
        refuse(r, "not a decimal number, or too large", item, length);
    has(r, amount != NULL && json_object_set(node, key, amount) == 0);
    json_decref(amount);
}

/* Reads "forward_compute_time=0.5, backward_compute_time=1, activation_size=8, parameter_size=4";
 * ignores anything else. */
static void read_amounts(reader *r, const char *text, json_t *node) {
    const char *next = strstr(text, separator);
    const char *end = next == NULL ? text + strlen(text) : next;
    for (const char *item = text; item < end; item = next) {
        const char *item_end = strstr(item, ", ");
        item_end = item_end == NULL || item_end > end ? end : item_end;
        next = item_end == end ? end : item_end + strlen(", ");
        for (size_t k = 0; k < PL_NUM_PROFILE_AMOUNTS; ++k) {
            const size_t length = strlen(pl_profile_amounts[k]);
            if (strncmp(item, pl_profile_amounts[k], length) == 0 && item[length] == '=')
                read_amount(r, node, pl_profile_amounts[k], item, (size_t)(item_end - item));
        }
    }
    for (size_t k = 0; k < PL_NUM_PROFILE_AMOUNTS; ++k) {
        char what[60];
        snprintf(what, sizeof what, "no %s= in", pl_profile_amounts[k]);
        if (json_object_get(node, pl_profile_amounts[k]) == NULL)
            refuse(r, what, text, (size_t)(end - text));
    }
}

static void read_node(reader *r, const char *line) {
    const char *rest = line;
    const json_int_t id = take_node(&rest);
    const size_t name_length = (size_t)(rest - line);
    if (id < 0 || !take_separator(&rest)) {
        refuse(r, "expected node and a number, then ' -- '", line, strlen(line));
        return;
    }
    /* the description may contain the separator, so search for the start of the amounts */
    const char *amounts = strstr(rest, " -- forward_compute_time=");
    if (amounts == NULL) {
        refuse(r, "expected ' -- forward_compute_time=' and what follows", line, strlen(line));
        return;
    }
    json_t *node = json_pack("{s:I, s:I, s:s%, s:b}", "line", (json_int_t)r->line, "id", id, "name",
                             line, name_length, "isInput", strncmp(rest, "Input", 5) == 0);
    if (has(r, json_array_append_new(r->nodes, node) == 0))
        read_amounts(r, amounts + strlen(separator), node);
}

static void read_edge(reader *r, const char *line) {
    const char *rest = line;
    const json_int_t from = take_node(&rest);
    const json_int_t to = take_separator(&rest) ? take_node(&rest) : -1;
    if (from < 0 || to < 0 || *rest != '\0')
        refuse(r, "expected an edge like 'node1 -- node2'", line, strlen(line));
    has(r, json_array_append_new(r->edges, json_pack("{s:I, s:I, s:I}", "line", (json_int_t)r->line,
                                                     "sourceId", from, "destId", to)) == 0);
}

popliner_status pl_read_graph_text(const char *text, size_t length, const char *path,
                                   const popliner_pipeline *pipeline, pl_costs_file *file,
                                   popliner_error *error) {
    reader r = {.path = path, .outcome.error = error};
    r.nodes = json_array();
    r.edges = json_array();
    json_t *root = json_pack("{s:O, s:O}", "nodes", r.nodes, "edges", r.edges);
    char *copy = strndup(text, length);
    has(&r, root != NULL && copy != NULL);
    if (copy != NULL && strlen(copy) < length)
        pl_outcome_fail(&r.outcome, POPLINER_ERROR_INPUT, "%s: a NUL character is in the graph",
                        path);
    for (char *line = copy, *next; r.outcome.status == POPLINER_OK && line != NULL; line = next) {
        next = strchr(line, '\n');
        char *end = next == NULL ? line + strlen(line) : next++;
        ++r.line;
        end -= end > line && end[-1] == '\r';
        *end = '\0';
        if (*line == '\t')
            read_edge(&r, line + 1);
        else if (end > line)
            read_node(&r, line);
    }
    popliner_status status = r.outcome.status;
    if (status == POPLINER_OK)
        status = pl_read_graph_json(root, true, path, pipeline, file, error);
    json_decref(root);
    json_decref(r.nodes);
    json_decref(r.edges);
    free(copy);
    return status;
}
