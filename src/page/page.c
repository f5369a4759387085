/* A page around its data: options, words of a command line, and the plan.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "answer/certificate_data.h"
#include "base/failure.h"
#include "base/packed.h"
#include "base/structs.h"
#include "page/page_data.h"
#include "popliner/screen.h"

/* Adds a text with others for its '<' and '&' (NULL: the same). */
static void add_escaped(pl_text *page, const char *text, const char *less, const char *ampersand) {
    const char *const escaped = ampersand != NULL ? "<&" : "<";
    const char *rest = text;
    for (const char *at; (at = strpbrk(rest, escaped)) != NULL; rest = at + 1) {
        pl_text_append(page, rest, (size_t)(at - rest));
        pl_text_add(page, *at == '<' ? less : ampersand);
    }
    pl_text_add(page, rest);
}

/* Adds the module of the solver, packed; null without one. */
static void put_solver(pl_json *json) {
    pl_packed packed = {0};
    if (pl_page_solver_size == 0) {
        pl_put_null(json, "solver");
        return;
    }
    pl_text_append(&packed.bytes, (const char *)pl_page_solver, pl_page_solver_size);
    pl_put_packed(json, "solver", &packed);
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
        add_escaped(page, answer, "&lt;", "&amp;");
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
    /* JSON has a '<' within quotes alone, where it can be escaped: then nothing in it can end the
     * element that it stands in */
    if (!page->failed)
        add_escaped(page, data->data, "\\u003c", NULL);
    rest = add_lines(page, rest);
    pl_packed scripts = {0};
    pl_text_append(&scripts.bytes, (const char *)pl_page_scripts, pl_page_scripts_size);
    pl_packed_end(&scripts, page);
    add_lines(page, rest);
}

/* ---- columns, options, words and plan: of pages of profiles and of costs ---- */

void pl_page_put_columns(pl_json *json, const pl_page_column *columns, size_t count) {
    for (size_t i = 0; i < count; i++)
        pl_put_packed(json, columns[i].name, columns[i].packed);
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
