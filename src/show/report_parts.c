/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "show/report_parts.h"

#include <stdlib.h>
#include <string.h>

#include "base/failure.h"

popliner_status pl_report_finish(pl_text *text, popliner_status status, char **result,
                                 popliner_error *error) {
    if (status == POPLINER_OK && text->failed)
        status = pl_fail_memory(error, "a report");
    *result = NULL;
    if (status == POPLINER_OK)
        *result = text->data;
    else
        free(text->data);
    return status;
}

json_t *pl_report_json_text(const char *text) {
    json_t *json = json_string(text);
    char *ascii = json == NULL ? pl_copy_string(text, strlen(text)) : NULL;
    if (ascii != NULL) {
        for (char *c = ascii; *c != '\0'; c++)
            *c = (unsigned char)*c < 0x80 ? *c : '?';
        json = json_string(ascii);
        free(ascii);
    }
    return json;
}

popliner_status pl_report_json(const json_t *document, pl_text *text, popliner_error *error) {
    char *dump = json_dumps(document, JSON_INDENT(4) | JSON_PRESERVE_ORDER | JSON_ENSURE_ASCII);
    if (dump == NULL)
        return pl_fail_memory(error, "a report");
    pl_text_add(text, dump);
    pl_text_add(text, "\n");
    free(dump);
    return POPLINER_OK;
}

double pl_report_percent(uint64_t bytes, uint64_t truth_bytes) {
    if (truth_bytes == 0)
        return bytes == 0 ? 0 : 100;
    return 100 * ((double)bytes - (double)truth_bytes) / (double)truth_bytes;
}

json_t *pl_report_memory_json(const popliner_stage_detail *detail, bool is_full, bool has_stash) {
    json_t *mem = json_pack(
        "{s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "total_mem", (json_int_t)detail->total_bytes,
        "max_tile_mem", (json_int_t)detail->tile_bytes, "variables",
        (json_int_t)detail->variables_bytes, "vertex_code", (json_int_t)detail->vertex_code_bytes,
        "vertex_state", (json_int_t)detail->vertex_state_bytes, "exchange_code",
        (json_int_t)detail->exchange_code_bytes, "control_code",
        (json_int_t)detail->control_code_bytes);
    if ((is_full &&
         json_object_set_new(mem, "unexplained",
                             json_integer((json_int_t)detail->unexplained_bytes)) != 0) ||
        (has_stash &&
         json_object_set_new(mem, "stash", json_integer((json_int_t)detail->stash_bytes)) != 0)) {
        json_decref(mem);
        return NULL;
    }
    return mem;
}

json_t *pl_report_variables_json(const popliner_stage_detail *detail) {
    json_t *variables = json_array();
    for (size_t i = 0; variables != NULL && i < detail->num_variables; i++) {
        const popliner_stage_variable *v = &detail->variables[i];
        json_t *item =
            json_pack("{s:o, s:o, s:I}", "name", pl_report_json_text(v->name), "category",
                      pl_report_json_text(v->category), "size_bytes", (json_int_t)v->size_bytes);
        if (json_array_append_new(variables, item) != 0) {
            json_decref(variables);
            variables = NULL;
        }
    }
    return variables;
}
