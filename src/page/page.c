/* A page around its data: options, words of a command line, and the plan.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>
#include <string.h>

#include <zlib.h>

#include "answer/certificate_data.h"
#include "base/failure.h"
#include "base/structs.h"
#include "page/page_data.h"
#include "popliner/screen.h"

/* Adds a text with its '<' and '&' escaped. */
static void add_escaped(pl_text *page, const char *text) {
    const char *rest = text;
    for (const char *at; (at = strpbrk(rest, "<&")) != NULL; rest = at + 1) {
        pl_text_append(page, rest, (size_t)(at - rest));
        pl_text_add(page, *at == '<' ? "&lt;" : "&amp;");
    }
    pl_text_add(page, rest);
}

static void add_base64(pl_text *text, const unsigned char *bytes, size_t length) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                 "0123456789+/";
    for (size_t i = 0; i < length; i += 3) {
        const size_t count = length - i < 3 ? length - i : 3;
        uint32_t group = 0;
        char chars[4] = "====";
        for (size_t k = 0; k < 3; k++)
            group = group << 8 | (k < count ? bytes[i + k] : 0u);
        for (size_t k = 0; k <= count; k++)
            chars[k] = digits[group >> (18 - 6 * k) & 63];
        pl_text_append(text, chars, sizeof chars);
    }
}

/* Adds a text, compressed: with the level 6 pages are 10 % smaller, and it takes three times as
 * long. */
static void add_compressed(pl_text *page, const pl_text *text) {
    enum { LEVEL = 4 };
    uLongf length = compressBound((uLong)text->length);
    unsigned char *bytes = malloc(length);
    page->failed = page->failed || bytes == NULL ||
                   compress2(bytes, &length, (const unsigned char *)text->data, (uLong)text->length,
                             LEVEL) != Z_OK;
    if (!page->failed)
        add_base64(page, bytes, length);
    free(bytes);
}

/* Adds the module of the solver, compressed; null without one. */
static void put_solver(pl_json *json) {
    if (pl_page_solver_size == 0) {
        pl_put_null(json, "solver");
        return;
    }
    pl_put_value(json, "solver");
    pl_text_add(json->text, "\"");
    add_base64(json->text, pl_page_solver, pl_page_solver_size);
    pl_text_add(json->text, "\"");
}

/* Adds the answer as it is on a terminal. */
static void add_answer(pl_text *page, const popliner_certificate *certificate) {
    popliner_plot_options screen = POPLINER_PLOT_OPTIONS_INIT;
    char *answer = NULL;
    screen.width = 100;
    popliner_status status = popliner_screen_answer(certificate, &screen, &answer, NULL);
    page->failed = page->failed || status != POPLINER_OK;
    pl_text_add(page, "<pre>");
    if (answer != NULL)
        add_escaped(page, answer);
    pl_text_add(page, "</pre>");
    free(answer);
}

/* Adds lines up to NULL, and returns those after it. */
static const char *const *add_lines(pl_text *page, const char *const *lines) {
    for (; *lines != NULL; lines++)
        pl_text_add(page, *lines);
    return lines + 1;
}

void pl_page_add(pl_text *page, const popliner_certificate *certificate, const pl_text *data) {
    page->failed = page->failed || data->failed || data->data == NULL;
    const char *const *rest = add_lines(page, pl_page_lines);
    if (certificate != NULL)
        add_answer(page, certificate);
    rest = add_lines(page, rest);
    if (!page->failed)
        add_compressed(page, data);
    rest = add_lines(page, rest);
    add_base64(page, pl_page_scripts, pl_page_scripts_size);
    add_lines(page, rest);
}

/* ---- numbers, options, words and plan: of pages of profiles and of costs ---- */

void pl_page_put_numbers(pl_json *json, const char *key, const uint64_t *numbers, size_t count) {
    if (!pl_put_open_if(json, numbers != NULL, key, '['))
        return;
    for (size_t i = 0; i < count; i++)
        pl_put_number(json, NULL, numbers[i]);
    pl_put_close(json);
}

void pl_page_put_differences(pl_json *json, const char *key, const uint64_t *numbers,
                             size_t count) {
    if (!pl_put_open_if(json, numbers != NULL, key, '['))
        return;
    for (size_t i = 0; i < count; i++)
        pl_put_signed(json, NULL, (int64_t)(numbers[i] - (i > 0 ? numbers[i - 1] : 0)));
    pl_put_close(json);
}

popliner_status pl_page_take_options(const popliner_page_options *callers,
                                     popliner_page_options *options, popliner_error *error) {
    *options = (popliner_page_options)POPLINER_PAGE_OPTIONS_INIT;
    return pl_struct_take(options, sizeof *options, callers, "popliner_page_options", error);
}

static void put_words(pl_json *json, const popliner_page_options *options) {
    pl_put_line(json);
    if (!pl_put_open_if(json, options->command != NULL, "words", '{'))
        return;
    pl_put_text(json, "command", options->command);
    pl_put_text(json, "constraints", options->constraints != NULL ? options->constraints : "");
    pl_put_close(json);
}

/* Adds the cuts of a plan ("plan", null without stages), and the document that the command writes
 * of it ("answer"). */
static void put_plan(pl_json *json, const popliner_certificate *certificate) {
    const pl_certificate *c = pl_certificate_of(certificate);
    const size_t num_stages = c == NULL ? 0 : c->plan.num_stages;
    pl_put_line(json);
    if (pl_put_open_if(json, num_stages > 0, "plan", '[')) {
        for (size_t i = 1; i < num_stages; i++)
            pl_put_number(json, NULL, c->plan.stages[i].first_unit);
        pl_put_close(json);
    }
    pl_put_line(json);
    if (num_stages > 0)
        pl_certificate_json(c, "answer", json);
    else
        pl_put_null(json, "answer");
}

void pl_page_put_head(pl_json *json, const popliner_page_options *options,
                      const pl_page_wishes *wishes, size_t num_units, const pl_messages *messages) {
    pl_put_open(json, NULL, '{');
    pl_put_text(json, "version", PL_VERSION);
    pl_put_line(json);
    pl_put_text(json, "title", options->title != NULL ? options->title : "");
    put_words(json, options);
    pl_put_line(json);
    put_solver(json);
    pl_put_line(json);
    pl_page_put_wishes(json, "wishes", wishes, num_units);
    put_plan(json, options->certificate);
    pl_put_line(json);
    if (options->certificate != NULL)
        messages = &pl_certificate_of(options->certificate)->messages;
    pl_messages all = {0};
    for (size_t i = 0; i < messages->count; i++)
        pl_messages_add(&all, messages->items[i].level, messages->items[i].text, true);
    if (options->certificate == NULL && options->warnings != NULL)
        pl_messages_add_lines(&all, POPLINER_LEVEL_WARNING, options->warnings);
    pl_report_messages_json(&all, json);
    json->text->failed = json->text->failed || all.arrays.failed;
    pl_messages_clear(&all);
}
