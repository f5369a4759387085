/* A page around its data: options, words of a command line, the plan, and what it says of tiles.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "answer/certificate_data.h"
#include "base/failure.h"
#include "base/growth.h"
#include "base/packed.h"
#include "base/structs.h"
#include "costs/triangle.h"
#include "page/page_data.h"
#include "popliner/screen.h"
#include "profile/profile_data.h"

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

void pl_page_put_solver(pl_json *json, const char *key) {
    pl_packed packed = {0};
    if (pl_page_solver_size == 0) {
        pl_put_null(json, key);
        return;
    }
    pl_text_append(&packed.bytes, (const char *)pl_page_solver, pl_page_solver_size);
    pl_put_packed(json, key, &packed);
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

/* ---- what every stage needs on every tile ---- */

enum { NUM_COLUMNS = 3 };

static uint64_t column_of(const pl_tile_need *need, int column) {
    return column == 0 ? need->bytes : column == 1 ? need->freed_bytes : need->copy_bytes;
}

/* By how much the needs of a tile are above what those of shorter stages let expect. */
static void find_surplus(const pl_tile_need *needs, int column, size_t num_units,
                         int64_t *surplus) {
    for (size_t first = 0; first < num_units; first++)
        for (size_t last = first; last < num_units; last++) {
            size_t place = pl_triangle_place(num_units, first, last);
            int64_t expected = 0;
            if (last > first)
                expected = (int64_t)column_of(&needs[place - 1], column) +
                           (int64_t)column_of(&needs[pl_triangle_place(num_units, first + 1, last)],
                                              column);
            if (last > first + 1)
                expected -= (int64_t)column_of(
                    &needs[pl_triangle_place(num_units, first + 1, last - 1)], column);
            surplus[place] = (int64_t)column_of(&needs[place], column) - expected;
        }
}

static bool is_all_zero(const pl_tile_need *needs, size_t count, int column) {
    for (size_t i = 0; i < count; i++)
        if (column_of(&needs[i], column) != 0)
            return false;
    return true;
}

popliner_status pl_page_add_tile_needs(pl_text *text, const pl_stage_details *details,
                                       size_t num_tiles, size_t max_chars, popliner_error *error) {
    static const char *const names[NUM_COLUMNS] = {"bytes", "freed_bytes", "copy_bytes"};
    const size_t num_intervals = pl_triangle_size(details->num_units);
    const pl_tile_need *needs = details->tile_needs;
    if (needs == NULL) {
        pl_text_add(text, "null");
        return POPLINER_OK;
    }
    pl_text told = {0};
    int64_t *surplus = pl_new_array(2 * num_intervals, sizeof *surplus);
    for (int column = 0; surplus != NULL && column < NUM_COLUMNS && told.length <= max_chars;
         column++) {
        pl_packed packed = {0};
        pl_text_format(&told, "%s\"%s\":", column == 0 ? "{" : ",", names[column]);
        if (is_all_zero(needs, num_tiles * num_intervals, column)) {
            pl_text_add(&told, "null");
            continue;
        }
        for (size_t i = 0; i < 2 * num_intervals; i++)
            surplus[i] = 0;
        for (size_t tile = 0; tile < num_tiles; tile++) {
            int64_t *own = surplus + tile % 2 * num_intervals;
            const int64_t *before = surplus + (1 - tile % 2) * num_intervals;
            find_surplus(needs + tile * num_intervals, column, details->num_units, own);
            for (size_t i = 0; i < num_intervals; i++)
                pl_packed_difference(&packed, own[i] - before[i]);
        }
        pl_packed_end(&packed, &told);
    }
    pl_text_add(&told, "}");
    if (told.length > max_chars)
        pl_text_add(text, "null");
    else if (told.data != NULL)
        pl_text_append(text, told.data, told.length);
    text->failed = text->failed || told.failed;
    free(told.data);
    bool memory = surplus != NULL;
    free(surplus);
    return memory ? POPLINER_OK : pl_fail_memory(error, "the needs of the tiles");
}

/* ---- options, words and plan: of pages of profiles and of costs ---- */

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

void pl_page_put_head(pl_json *json, const popliner_page_options *options) {
    pl_put_open(json, NULL, '{');
    pl_put_text(json, "version", PL_VERSION);
    pl_put_line(json);
    pl_put_text(json, "title", options->title != NULL ? options->title : "");
    put_words(json, options);
}

void pl_page_put_plan(pl_json *json, const popliner_certificate *certificate) {
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
