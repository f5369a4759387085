/* Reads cost files: recognises the format and passes the text to its reader.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "costs/costs.h"
#include "costs/costs_file_data.h"

#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "base/growth.h"
#include "base/json_reader.h"
#include "base/new_file.h"

void popliner_costs_file_free(popliner_costs_file *callers) {
    pl_costs_file *file = (pl_costs_file *)callers;
    if (file == NULL)
        return;
    popliner_costs_free(file->costs);
    for (popliner_need need = 0; need < POPLINER_NUM_NEEDS; need++)
        popliner_costs_file_free(file->estimates[need] == NULL ? NULL
                                                               : &file->estimates[need]->info);
    pl_moments_free(&file->additive.moments);
    pl_arrays_free(&file->arrays);
    pl_arrays_free(&file->own_graph.arrays);
    pl_arrays_free(&file->own_units.arrays);
    free(file->graph.place);
    free(file);
}

popliner_status pl_costs_file_ask(pl_costs_file *file, const char *path, popliner_error *error) {
    return pl_bounds_ask(&file->bounds)
               ? pl_fail(error, POPLINER_ERROR_STOPPED, "%s: reading the costs was stopped", path)
               : POPLINER_OK;
}

/* The remedy for a file that describes a model and not its costs, else "". */
static const char *remedy(bool is_model) {
    return is_model ? "; python3 -m popliner.costs makes costs or a plan from it" : "";
}

/* True for the first bytes of GGUF, and of safetensors: a length in 8 bytes, then JSON. */
static bool begins_as_weights(const char *bytes, size_t length) {
    return (length >= 4 && memcmp(bytes, "GGUF", 4) == 0) ||
           (length >= 9 && memcmp(bytes + 6, "\0\0{", 3) == 0);
}

static popliner_status read_json(const char *bytes, size_t length, const char *path,
                                 const popliner_pipeline *pipeline, pl_costs_file *file,
                                 popliner_error *error) {
    json_t *root;
    popliner_status status = pl_json_parse(bytes, length, path, &root, error);
    if (status != POPLINER_OK)
        return status;
    if (json_object_get(root, "status") != NULL && json_object_get(root, "stages") != NULL)
        status = pl_fail(error, POPLINER_ERROR_INPUT,
                         "%s: an answer or a plan of popliner, and no costs", path);
    else if (json_object_get(root, "format") != NULL)
        status = pl_read_costs_json(root, false, path, pipeline, file, error);
    else if (json_object_get(root, "nodes") != NULL)
        status = pl_read_graph_json(root, false, path, pipeline, file, error);
    else
        status = pl_fail(error, POPLINER_ERROR_INPUT,
                         "%s: JSON, but neither costs nor a graph; expected \"format\": "
                         "\"popliner-costs\", or \"nodes\"%s",
                         path,
                         remedy(json_object_get(root, "model_type") != NULL ||
                                json_object_get(root, "architectures") != NULL));
    json_decref(root);
    return status;
}

/* Says what a text of no known format is. */
static const char *what_is(const char *text, size_t length) {
    if (text[strspn(text, " \t\r\n")] == '\0' && strlen(text) == length)
        return "empty";
    const bool is_wide = strncmp(text, "\xff\xfe", 2) == 0 || strncmp(text, "\xfe\xff", 2) == 0;
    return is_wide ? "UTF-16, to be stored as UTF-8" : "not a cost file";
}

/* True if the first line is a node of a PipeDream profile. */
static bool is_graph_text(const char *text) {
    const char *end = strchr(text, '\n');
    const char *separator = strstr(text, " -- ");
    return strncmp(text, "node", 4) == 0 && separator != NULL && (end == NULL || separator < end);
}

void pl_costs_file_describe(pl_costs_file *file) {
    popliner_costs_file *info = &file->info;
    info->costs = file->costs;
    if (info->is_graph)
        file->costs->is_of_time = true;
    info->unit_names = (const char *const *)file->names;
    info->counted_units = file->counted_units;
    info->parameter_bytes = file->parameters;
}

/* Leaves only what sizes may be at least or at most, which the file must say. */
static popliner_status take_need(pl_costs_file **file, popliner_need need, const char *name,
                                 popliner_error *error) {
    pl_costs_file *estimate = (*file)->estimates[need];
    const char *key = pl_estimate_keys[need];
    if (estimate == NULL)
        return pl_fail(error, POPLINER_ERROR_USAGE,
                       "need at-%s: %s does not say what its sizes may be at %s; give units "
                       "\"%s\", or a table columns like memory_%s or workspace_%s",
                       key, name, key, key, key, key);
    estimate->costs->need = need;
    (*file)->estimates[need] = NULL;
    popliner_costs_file_free(&(*file)->info);
    *file = estimate;
    return POPLINER_OK;
}

static popliner_status parse(const char *text, size_t length, const char *name,
                             const popliner_pipeline *pipeline, popliner_costs_file **file,
                             popliner_error *error) {
    static const char byte_order_mark[] = "\xef\xbb\xbf";
    *file = NULL;
    if (pipeline != NULL) {
        const popliner_pipeline own = pl_pipeline_of_any_split(pipeline);
        PL_TRY(pl_pipeline_check(&own, error));
    }
    pl_costs_file *made = calloc(1, sizeof *made);
    if (made == NULL)
        return pl_fail_memory(error, "the costs of the file");
    made->info.cuts_per_unit = 1; /* bytes, unless the format says otherwise */
    if (pipeline != NULL) {
        made->bounds.should_stop = pipeline->should_stop;
        made->bounds.user = pipeline->should_stop_user;
    }
    const char *bytes = text;
    if (strncmp(bytes, byte_order_mark, strlen(byte_order_mark)) == 0)
        bytes += strlen(byte_order_mark);
    length -= (size_t)(bytes - text);
    const char *start = bytes + strspn(bytes, " \t\r\n");
    popliner_status status;
    bool is_table = true;
    const bool is_inference = pipeline != NULL && pipeline->schedule == POPLINER_SCHEDULE_INFERENCE;
    if (start[0] == '{' && !begins_as_weights(bytes, length))
        status = read_json(bytes, length, name, pipeline, made, error);
    else if (is_graph_text(start))
        status = pl_read_graph_text(bytes, length, name, pipeline, made, error);
    else
        status = pl_read_costs_csv(bytes, length, name, pipeline, made, &is_table, error);
    if (!is_table && status != POPLINER_ERROR_MEMORY)
        status =
            pl_fail(error, POPLINER_ERROR_INPUT,
                    "%s: %s; expected a JSON object, a CSV with a column 'name', or lines like "
                    "'node1 -- '%s",
                    name, what_is(bytes, length), remedy(begins_as_weights(bytes, length)));
    if (status == POPLINER_OK && pipeline != NULL && pipeline->need != POPLINER_NEED_EXPECTED)
        status = take_need(&made, pipeline->need, name, error);
    if (status != POPLINER_OK) {
        popliner_costs_file_free(&made->info);
        return status;
    }
    made->bounds = (pl_bounds){0};
    pl_costs_file_describe(made);
    if (is_inference) /* there are no gradients */
        made->info.parameter_bytes = NULL;
    *file = &made->info;
    return POPLINER_OK;
}

popliner_status popliner_costs_file_read(const char *path, const char *text, size_t length,
                                         const popliner_pipeline *pipeline,
                                         popliner_costs_file **file, popliner_error *error) {
    pl_text own = {0};
    *file = NULL;
    if (text != NULL)
        return parse(text, length, path, pipeline, file, error);
    popliner_status status = pl_file_read(path, "the file of costs", &own, error);
    if (status == POPLINER_OK)
        status = parse(own.data == NULL ? "" : own.data, own.length,
                       strcmp(path, "-") == 0 ? "standard input" : path, pipeline, file, error);
    free(own.data);
    return status;
}
