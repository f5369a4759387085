/* Which format a file of costs has, and what was read from it.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "costs/costs_file_data.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "base/growth.h"

void popliner_costs_file_free(popliner_costs_file *file) {
    if (file == NULL)
        return;
    popliner_costs_free(file->costs);
    for (size_t i = 0; i < file->num_names; ++i)
        free(file->names[i]);
    free(file->names);
    free(file->counted_units);
    free(file->time_unit);
    free(file->limits);
    free(file->additive.capacity_bytes);
    free(file->additive.memory_before);
    free(file->additive.stash_before);
    free(file->additive.inputs);
    for (size_t i = 0; i < file->additive.num_shared; ++i) {
        free(file->additive.shared[i].units);
        free(file->additive.shared[i].bytes);
    }
    free(file->additive.shared);
    free(file);
}

/* The whole file, with a NUL behind it. */
static popliner_status read_text(const char *path, pl_text *text, popliner_error *error) {
    char piece[1 << 14];
    popliner_status status = POPLINER_OK;
    FILE *stream = fopen(path, "rb");
    if (stream == NULL)
        return pl_fail(error, POPLINER_ERROR_INPUT, "%s: cannot be read: %s", path,
                       strerror(errno));
    for (;;) {
        size_t count = fread(piece, 1, sizeof piece, stream);
        pl_text_append(text, piece, count);
        if (count < sizeof piece)
            break;
    }
    if (text->failed)
        status = pl_fail_memory(error, "the file of costs");
    else if (ferror(stream))
        status =
            pl_fail(error, POPLINER_ERROR_INPUT, "%s: cannot be read: %s", path, strerror(errno));
    fclose(stream);
    return status;
}

static popliner_status read_json(const char *bytes, size_t length, const char *path,
                                 const popliner_pipeline *pipeline, popliner_costs_file *file,
                                 popliner_error *error) {
    json_error_t failure;
    popliner_status status = POPLINER_OK;
    json_t *root = json_loadb(bytes, length, JSON_REJECT_DUPLICATES, &failure);
    if (root == NULL && (json_error_code(&failure) == json_error_out_of_memory || failure.line < 0))
        return pl_fail_memory(error, "the file of costs");
    if (root == NULL)
        return pl_fail(error, POPLINER_ERROR_INPUT, "%s: line %d, column %d: %s", path,
                       failure.line, failure.column, failure.text);
    if (json_object_get(root, "format") != NULL)
        status = pl_read_costs_json(root, path, pipeline, file, error);
    else if (json_object_get(root, "nodes") != NULL)
        status = pl_read_graph_json(root, path, file, error);
    else
        status = pl_fail(error, POPLINER_ERROR_INPUT,
                         "%s: the JSON is neither costs (\"format\": \"popliner-costs\") nor a "
                         "graph (\"nodes\" and \"edges\")",
                         path);
    json_decref(root);
    return status;
}

/* Whether the first line is that of a node of a PipeDream profile. */
static bool is_graph_text(const char *text) {
    const char *end = strchr(text, '\n');
    const char *separator = strstr(text, " -- ");
    return strncmp(text, "node", 4) == 0 && separator != NULL && (end == NULL || separator < end);
}

popliner_status popliner_costs_file_parse(const char *text, size_t length, const char *name,
                                          const popliner_pipeline *pipeline,
                                          popliner_costs_file **file, popliner_error *error) {
    static const char byte_order_mark[] = "\xef\xbb\xbf";
    *file = NULL;
    popliner_costs_file *made = calloc(1, sizeof *made);
    if (made == NULL)
        return pl_fail_memory(error, "the costs of the file");
    const char *bytes = text;
    if (strncmp(bytes, byte_order_mark, strlen(byte_order_mark)) == 0)
        bytes += strlen(byte_order_mark);
    length -= (size_t)(bytes - text);
    const char *start = bytes + strspn(bytes, " \t\r\n");
    popliner_status status;
    if (start[0] == '{')
        status = read_json(bytes, length, name, pipeline, made, error);
    else if (is_graph_text(start))
        status = pl_read_graph_text(bytes, length, name, made, error);
    else
        status = pl_fail(error, POPLINER_ERROR_INPUT,
                         "%s: no file of costs: neither a JSON object nor a PipeDream profile, "
                         "whose first line would begin like 'node1 -- '",
                         name);
    if (status == POPLINER_OK)
        *file = made;
    else
        popliner_costs_file_free(made);
    return status;
}

popliner_status popliner_costs_file_read(const char *path, const popliner_pipeline *pipeline,
                                         popliner_costs_file **file, popliner_error *error) {
    pl_text text = {0};
    *file = NULL;
    popliner_status status = read_text(path, &text, error);
    if (status == POPLINER_OK)
        status = popliner_costs_file_parse(text.data == NULL ? "" : text.data, text.length, path,
                                           pipeline, file, error);
    free(text.data);
    return status;
}

popliner_costs *popliner_costs_file_costs(const popliner_costs_file *file) {
    return file->costs;
}

const char *popliner_costs_file_unit_name(const popliner_costs_file *file, size_t unit) {
    return file->names[unit];
}

const uint8_t *popliner_costs_file_counted_units(const popliner_costs_file *file) {
    return file->counted_units;
}

const char *popliner_costs_file_time_unit(const popliner_costs_file *file) {
    return file->time_unit;
}

uint64_t popliner_costs_file_cycles_per_time_unit(const popliner_costs_file *file) {
    return file->cycles_per_time_unit;
}

size_t popliner_costs_file_num_ipus(const popliner_costs_file *file) {
    return file->num_ipus;
}

uint64_t popliner_costs_file_bytes_per_tile(const popliner_costs_file *file) {
    return file->bytes_per_tile;
}

size_t popliner_costs_file_num_ipu_limits(const popliner_costs_file *file) {
    return file->num_limits;
}

popliner_ipu_limit popliner_costs_file_ipu_limit(const popliner_costs_file *file, size_t i) {
    return file->limits[i];
}

uint64_t popliner_costs_file_cuts_per_unit(const popliner_costs_file *file) {
    return file->cuts_per_unit == 0 ? 1 : file->cuts_per_unit;
}

bool popliner_costs_file_is_graph(const popliner_costs_file *file) {
    return file->is_graph;
}
