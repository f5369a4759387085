/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "show/report_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "base/plain_locale.h"
#include "base/printable.h"
#include "base/utf8.h"
#include "pipeline/pipeline.h"

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

popliner_status pl_report_finish_printable(pl_text *text, popliner_status status, char **result,
                                           popliner_error *error) {
    pl_text_make_printable(text);
    return pl_report_finish(text, status, result, error);
}

/* Whether the text is valid UTF-8. jansson answers NULL both to what is not and to a lack of
 * memory, and these two must not be taken for each other. */
static bool is_utf8(const char *text) {
    size_t length = 1;
    for (uint32_t character = 0; *text != '\0' && length > 0; text += length)
        length = pl_utf8_decode(text, &character);
    return length > 0;
}

json_t *pl_report_json_text(const char *text) {
    if (is_utf8(text))
        return json_string(text);
    char *ascii = pl_copy_string(text, strlen(text));
    for (char *c = ascii; c != NULL && *c != '\0'; c++)
        *c = (unsigned char)*c < 0x80 ? *c : '?';
    json_t *json = json_string(ascii);
    free(ascii);
    return json;
}

bool pl_report_put(json_t *object, const char *key, json_t *value) {
    return json_object_set_new(object, key, value) == 0;
}

bool pl_report_append(json_t *list, json_t *value) {
    return json_array_append_new(list, value) == 0;
}

json_t *pl_report_whole(json_t *json, bool is_whole) {
    if (is_whole)
        return json;
    json_decref(json);
    return NULL;
}

typedef struct dump {
    pl_text *text;
    bool is_in_string;
} dump;

/* A short decimal that is read as this number, as Python writes it: 16.458, where 17 digits
 * would be 16.457999999999998. Every number has one with 17. */
static void add_real(pl_text *text, double number) {
    enum { NEVER_TOO_MANY = 15, ALWAYS_ENOUGH = 17 };
    char digits[32];
    for (int precision = NEVER_TOO_MANY; precision <= ALWAYS_ENOUGH; ++precision) {
        snprintf(digits, sizeof digits, "%.*g", precision, number);
        if (strtod(digits, NULL) == number)
            break;
    }
    pl_text_add(text, digits);
    if (strpbrk(digits, ".e") == NULL) /* else it would be a whole number */
        pl_text_add(text, ".0");
}

/* Whether the text is a number with a point or an exponent. */
static bool is_real(const char *text) {
    return strspn(text, "+-0123456789.e") == strlen(text) && strpbrk(text, "0123456789") != NULL &&
           strpbrk(text, ".e") != NULL;
}

/* jansson hands over each number, and the quotes of each string, as a piece of its own. If it did
 * not, numbers would have all their digits. */
static int add_piece(const char *bytes, size_t length, void *user) {
    dump *d = user;
    char digits[32] = "";
    if (length == 1 && bytes[0] == '"')
        d->is_in_string = !d->is_in_string;
    if (!d->is_in_string && length < sizeof digits)
        memcpy(digits, bytes, length);
    if (is_real(digits)) {
        add_real(d->text, strtod(digits, NULL));
    } else {
        pl_text_append(d->text, bytes, length);
    }
    return d->text->failed ? -1 : 0;
}

/* json_dumps would leave out a key that it has no memory for, and succeed. Here every byte goes
 * through add_piece, and text->failed does not forget. */
popliner_status pl_report_json(json_t *document, pl_text *text, popliner_error *error) {
    const size_t flags = JSON_INDENT(4) | JSON_PRESERVE_ORDER | JSON_ENSURE_ASCII;
    pl_plain_locale locale = pl_plain_locale_enter(); /* jansson knows no comma of several bytes */
    int failed = json_dump_callback(document, add_piece, &(dump){.text = text}, flags);
    pl_plain_locale_leave(&locale);
    json_decref(document);
    if (failed)
        return pl_fail_memory(error, "a report");
    pl_text_add(text, "\n");
    return text->failed ? pl_fail_memory(error, "a report") : POPLINER_OK;
}

double pl_report_percent(uint64_t bytes, uint64_t truth_bytes) {
    if (truth_bytes == 0)
        return bytes == 0 ? 0 : 100;
    return 100 * ((double)bytes - (double)truth_bytes) / (double)truth_bytes;
}

json_t *pl_report_memory_json(const popliner_stage_detail *detail, bool is_full,
                              const popliner_pipeline *pipeline) {
    bool is_training = pl_pipeline_kind(pipeline) != PL_SCHEDULE_PLAIN;
    json_t *mem = json_pack(
        "{s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "total_mem", (json_int_t)detail->total_bytes,
        "max_tile_mem", (json_int_t)detail->tile_bytes, "variables",
        (json_int_t)detail->variables_bytes, "vertex_code", (json_int_t)detail->vertex_code_bytes,
        "vertex_state", (json_int_t)detail->vertex_state_bytes, "exchange_code",
        (json_int_t)detail->exchange_code_bytes, "control_code",
        (json_int_t)detail->control_code_bytes);
    bool done = mem != NULL;
    if (is_full)
        done = pl_report_put(mem, "unexplained",
                             json_integer((json_int_t)detail->unexplained_bytes)) &&
               pl_report_put(mem, "unexplained_always_live",
                             json_integer((json_int_t)detail->unexplained_always_live_bytes)) &&
               pl_report_put(mem, "layout", json_integer((json_int_t)detail->layout_bytes)) && done;
    if (is_full && is_training)
        done = pl_report_put(mem, "buffers", json_integer((json_int_t)detail->buffer_bytes)) &&
               pl_report_put(mem, "accumulators",
                             json_integer((json_int_t)detail->accumulator_bytes)) &&
               done;
    if (pl_is_calibrated(&pipeline->calibration))
        done =
            pl_report_put(mem, "correction", json_integer((json_int_t)detail->correction_bytes)) &&
            done;
    if (pl_pipeline_keeps(pipeline))
        done = pl_report_put(mem, "stash", json_integer((json_int_t)detail->stash_bytes)) && done;
    return pl_report_whole(mem, done);
}

json_t *pl_report_scales_json(const popliner_scales *scales) {
    return json_pack("{s:f, s:f, s:f}", "code_scale", (double)scales->code_per_million / 1e6,
                     "data_scale", (double)scales->data_per_million / 1e6, "layout_scale",
                     (double)scales->layout_per_million / 1e6);
}

json_t *pl_report_needs_json(const popliner_stage_detail *detail, uint64_t limit_bytes) {
    const uint64_t *need_bytes = detail->need_bytes;
    const char *verdict = popliner_verdict_text(popliner_verdict_of(detail, limit_bytes));
    return json_pack("{s:I, s:I, s:I, s:s, s:I, s:f}", "at_least_bytes",
                     (json_int_t)need_bytes[POPLINER_NEED_LEAST], "expected_bytes",
                     (json_int_t)need_bytes[POPLINER_NEED_EXPECTED], "at_most_bytes",
                     (json_int_t)need_bytes[POPLINER_NEED_MOST], "verdict", verdict, "margin_bytes",
                     (json_int_t)limit_bytes - (json_int_t)need_bytes[POPLINER_NEED_EXPECTED],
                     "margin_spreads", popliner_margin_spreads(detail, limit_bytes));
}

json_t *pl_report_variables_json(const popliner_stage_detail *detail) {
    json_t *variables = json_array();
    bool done = variables != NULL;
    for (size_t i = 0; done && i < detail->num_variables; i++) {
        const popliner_stage_variable *v = &detail->variables[i];
        done = pl_report_append(variables,
                                json_pack("{s:o, s:o, s:I}", "name", pl_report_json_text(v->name),
                                          "category", pl_report_json_text(v->category),
                                          "size_bytes", (json_int_t)v->size_bytes));
    }
    return pl_report_whole(variables, done);
}
