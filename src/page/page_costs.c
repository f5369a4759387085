/* The page of costs that come from no profile.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "popliner/page.h"

#include <inttypes.h>
#include <stdlib.h>

#include "answer/certificate_data.h"
#include "base/failure.h"
#include "base/numbers.h"
#include "base/text.h"
#include "costs/costs.h"
#include "costs/triangle.h"
#include "page/page_data.h"

/* The state of writing a page. Zero-initialise. */
typedef struct task {
    popliner_page_options options;
    pl_certificate_input input;
    pl_page_pipeline pipeline;
    pl_text data;
    pl_json json; /* writes `data` */
} task;

/* Returns the number of places in a pipeline in which stages have different peaks. */
static size_t places_of(const popliner_costs *costs) {
    return pl_smaller(costs->max_stages_to_end, costs->num_units);
}

/* ---- what a page cannot show ---- */

/* Rejects peaks and bytes over cuts for which a page has no number. Peaks grow with the place. */
static popliner_status check_numbers(const task *t, popliner_error *error) {
    const popliner_costs *costs = t->input.costs;
    const char *const *names = t->input.unit_names;
    const size_t n = t->input.num_units;
    uint64_t most = 0;
    for (size_t first = 0; first < n; first++) {
        most = pl_larger(most, popliner_costs_cut(costs, first));
        for (size_t last = first; last < n; last++) {
            const uint64_t peak = popliner_costs_peak(costs, first, last, places_of(costs));
            if (peak == POPLINER_PEAK_FORBIDDEN)
                return pl_fail(error, POPLINER_ERROR_USAGE,
                               "a page has no number for the stage %s to %s, which the costs "
                               "forbid; leave out capacities of regions",
                               names[first], names[last]);
            most = pl_larger(most, peak);
        }
    }
    return most <= PL_PAGE_MOST_NUMBER
               ? POPLINER_OK
               : pl_fail(error, POPLINER_ERROR_USAGE,
                         "a page holds at most 2^52 bytes of a stage or a cut, but "
                         "the costs have %" PRIu64 "; use a larger unit",
                         most);
}

static popliner_status check(const task *t, popliner_error *error) {
    const size_t n = t->input.num_units;
    if (t->input.unit_order != NULL || t->input.graph != NULL || t->input.cuts_per_unit > 1)
        return pl_fail(error, POPLINER_ERROR_USAGE,
                       "the graph is no chain with bytes on its cuts; give a table of layers");
    if (n > PL_PAGE_MAX_UNITS)
        return pl_fail(error, POPLINER_ERROR_USAGE,
                       "a page has at most %d units, but the costs have %zu; join some",
                       PL_PAGE_MAX_UNITS, n);
    if (t->input.pipeline.recompute == POPLINER_RECOMPUTE_AUTO)
        return pl_fail(error, POPLINER_ERROR_USAGE,
                       "a page has one way of recomputing; choose none or full");
    if (pl_costs_keep_sets(t->input.costs))
        return pl_fail(error, POPLINER_ERROR_USAGE,
                       "a page has one number of copies for all stages of zero-bubble, which hold "
                       "different ones of what they recompute; choose none, or 1f1b");
    return check_numbers(t, error);
}

static popliner_status begin(task *t, const popliner_certificate_input *costs,
                             const popliner_page_options *options, popliner_error *error) {
    popliner_status status = pl_certificate_take_input(costs, &t->input, error);
    if (status == POPLINER_OK)
        status = pl_page_take_options(options, &t->options, error);
    if (status == POPLINER_OK)
        status = check(t, error);
    if (status == POPLINER_OK && t->options.certificate != NULL)
        status = pl_certificate_check_plan(&t->input, t->options.certificate->plan, error);
    t->pipeline =
        (pl_page_pipeline){.pipeline = t->input.pipeline,
                           .words = t->options.pipeline != NULL ? t->options.pipeline : "",
                           .costs = t->input.costs};
    t->json = (pl_json){.text = &t->data, .style = PL_JSON_COMPACT};
    return status;
}

/* ---- peaks ---- */

/* Adds the lines of each region over the copies of the places. */
static void put_lines(pl_json *json, const popliner_costs *costs) {
    const size_t n = costs->num_units;
    const size_t num_places = places_of(costs);
    uint64_t most_copies = 0;
    for (size_t place = 0; place < num_places; place++)
        most_copies = pl_larger(most_copies, costs->peaks.copies[place]);
    pl_put_open(json, "lines", '[');
    pl_put_number(json, NULL, costs->peaks.num_regions);
    pl_put_number(json, NULL, num_places);
    for (size_t place = 0; place < num_places; place++)
        pl_put_number(json, NULL, costs->peaks.copies[place]);
    for (size_t region = 0; region < costs->peaks.num_regions; region++)
        for (size_t first = 0; first < n; first++)
            for (size_t last = first; last < n; last++) {
                const pl_region_lines *own = &costs->peaks.lines[region];
                pl_put_number(json, NULL, pl_numbers_at(&own->bytes, n, first, last));
                pl_put_number(json, NULL,
                              most_copies == 0 ? 0
                                               : pl_numbers_at(&own->copy_bytes, n, first, last));
            }
    pl_put_close(json);
}

static void put_peaks(pl_json *json, const popliner_costs *costs) {
    if (costs->peaks.lines != NULL) {
        put_lines(json, costs);
        return;
    }
    pl_put_open(json, "peaks", '[');
    for (size_t place = 1; place <= places_of(costs); place++)
        pl_page_put_numbers(json, NULL, pl_costs_peaks_at(costs, place),
                            pl_triangle_size(costs->num_units));
    pl_put_close(json);
}

/* ---- the data ---- */

static void put_chain(task *t) {
    const popliner_costs *costs = t->input.costs;
    pl_json *json = &t->json;
    const size_t n = t->input.num_units;
    pl_put_line(json);
    pl_put_open(json, "chain", '{');
    pl_page_put_names(json, t->input.unit_names, t->input.own_options.counted_units, n);
    pl_put_texts(json, "parts", NULL, 0);
    pl_put_flag(json, "follows_account", false);
    pl_page_put_numbers(json, "cuts", costs->cuts_bytes, n);
    pl_page_put_numbers(json, "cache", costs->cache_bytes, n);
    pl_page_put_numbers(json, "workspace", costs->workspace, n);
    pl_page_put_numbers(json, "kv", costs->kv_bytes, n);
    pl_page_put_numbers(json, "kv_tokens", costs->kv_tokens, n);
    if (popliner_costs_has_cycles(costs)) {
        pl_put_open(json, "cycles", '[');
        uint64_t before = 0;
        for (size_t first = 0; first < n; first++)
            for (size_t last = first; last < n; last++) {
                const uint64_t cycles = popliner_costs_cycles(costs, first, last);
                pl_put_signed(json, NULL, (int64_t)(cycles - before));
                before = cycles;
            }
        pl_put_close(json);
    }
    pl_put_close(json);
    pl_put_line(json);
    pl_put_open(json, "stages", '[');
    pl_put_open(json, NULL, '{');
    pl_put_open(json, "pipelines", '[');
    pl_page_put_pipeline(json, &t->pipeline, n);
    pl_put_close(json);
    put_peaks(json, costs);
    if (costs->most != NULL) {
        pl_put_open(json, "most", '{');
        put_peaks(json, costs->most);
        pl_put_close(json);
    }
    pl_put_close(json);
    pl_put_close(json);
}

static void put_data(task *t) {
    pl_json *json = &t->json;
    const pl_page_wishes wishes = {.options = &t->input.own_options,
                                   .need = POPLINER_NEED_EXPECTED};
    pl_page_put_head(json, &t->options, &wishes, t->input.num_units, &(pl_messages){.count = 0});
    pl_put_line(json);
    pl_put_open(json, "costs", '{');
    pl_put_text(json, "time_unit", t->input.time_unit);
    pl_put_number(json, "cycles_per_time_unit", t->input.cycles_per_time_unit);
    pl_put_text(json, "not_counted", t->input.costs->not_counted);
    pl_put_close(json);
    put_chain(t);
    pl_put_close(json);
    pl_text_add(&t->data, "\n");
}

popliner_status popliner_page_of_costs(const popliner_certificate_input *costs,
                                       const popliner_page_options *options, char **text,
                                       popliner_error *error) {
    task t = {0};
    pl_text page = {0};
    popliner_status status = begin(&t, costs, options, error);
    if (text == NULL)
        return status;
    *text = NULL;
    if (status != POPLINER_OK)
        return status;
    put_data(&t);
    pl_page_add(&page, t.options.certificate, &t.data);
    free(t.data.data);
    return pl_text_finish(&page, status, text, error);
}
