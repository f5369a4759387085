/* The memory of every stage of a chain, for a page.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "page/page_data.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/numbers.h"
#include "base/packed.h"
#include "base/text.h"
#include "costs/costs.h"
#include "costs/triangle.h"
#include "memory/chain_data.h"
#include "memory/parts.h"
#include "pipeline/pipeline.h"
#include "profile/profile_data.h"
#include "solve/objective.h"
#include "solve/search.h"

static const char *const need_names[] = {
    [POPLINER_NEED_EXPECTED] = "expected",
    [POPLINER_NEED_LEAST] = "least",
    [POPLINER_NEED_MOST] = "most",
};

/* A member that each of some items has. */
typedef struct column {
    const char *name;
    size_t offset;
    bool is_short; /* uint32_t, else uint64_t */
} column;

#define PIECE(member, is_short)                                                                    \
    { #member, offsetof(pl_peak_piece, member), is_short }

static void put_columns(pl_json *json, const void *items, size_t count, size_t item_size,
                        const column *columns, size_t num_columns) {
    for (size_t i = 0; i < num_columns; i++) {
        pl_packed packed = {0};
        for (size_t k = 0; k < count; k++) {
            const char *place = (const char *)items + k * item_size + columns[i].offset;
            pl_packed_number(&packed, columns[i].is_short ? *(const uint32_t *)(const void *)place
                                                          : *(const uint64_t *)(const void *)place);
        }
        pl_put_packed(json, columns[i].name, &packed);
    }
}

static void put_sums(pl_json *json, const pl_stage_details *details) {
    static const column of_copies[] = {
        {"copy_layout_bytes", PL_SUM_COPY_LAYOUT * sizeof(uint64_t), false},
        {"freed_bytes", PL_SUM_FREED * sizeof(uint64_t), false},
        {"freed_layout_bytes", PL_SUM_FREED_LAYOUT * sizeof(uint64_t), false},
    };
    enum { NUM_OF_COPIES = sizeof of_copies / sizeof *of_copies };
    column columns[POPLINER_NUM_PARTS + NUM_OF_COPIES];
    for (size_t part = 0; part < POPLINER_NUM_PARTS; part++)
        columns[part] = (column){pl_parts[part].column, part * sizeof(uint64_t), false};
    memcpy(columns + POPLINER_NUM_PARTS, of_copies, sizeof of_copies);
    pl_put_open(json, "sums", '{');
    put_columns(json, details->sums, pl_triangle_size(details->num_units), sizeof *details->sums,
                columns, sizeof columns / sizeof *columns);
    pl_put_close(json);
}

/* The fullest tiles for one need: how many each stage has, and what they hold. Of needs that are
 * not the expected one nobody asks where. */
static void put_envelope(pl_json *json, popliner_need need, const pl_peak_envelope *tiles) {
    static const column columns[] = {
        PIECE(from_copies, true),   PIECE(bytes, false),
        PIECE(stash_bytes, false),  PIECE(unexplained_bytes, false),
        PIECE(layout_bytes, false), PIECE(copy_layout_bytes, false),
        PIECE(freed_bytes, false),  PIECE(always_live_bytes, false),
        PIECE(code_bytes, false),   PIECE(buffer_bytes, false),
    };
    static const column last_columns[] = {PIECE(tile, true), PIECE(step, true)};
    const bool is_expected = need == POPLINER_NEED_EXPECTED;
    pl_packed counts = {0};
    for (size_t i = 0; i < tiles->num_intervals; i++) {
        uint32_t first = tiles->first[i];
        size_t end = i + 1 < tiles->num_intervals ? tiles->first[i + 1] : tiles->num_pieces;
        pl_packed_number(&counts, first == PL_NONE ? 0 : end - first);
    }
    pl_put_open(json, need_names[need], '{');
    pl_put_packed(json, "pieces", &counts);
    put_columns(json, tiles->pieces, tiles->num_pieces, sizeof *tiles->pieces, columns,
                is_expected ? sizeof columns / sizeof *columns : 3);
    for (size_t i = 0; is_expected && i < PL_NUM_ADDED; i++) {
        const size_t offset = offsetof(pl_peak_piece, added_bytes) + i * sizeof(uint64_t);
        const column own = {pl_parts[PL_FIRST_ADDED + i].column, offset, false};
        put_columns(json, tiles->pieces, tiles->num_pieces, sizeof *tiles->pieces, &own, 1);
    }
    put_columns(json, tiles->pieces, tiles->num_pieces, sizeof *tiles->pieces, last_columns,
                is_expected ? sizeof last_columns / sizeof *last_columns : 0);
    pl_put_close(json);
}

/* ---- the largest variables ---- */

/* Numbers of texts, in the order in which they come. */
typedef struct dictionary {
    uint32_t *place; /* by item, PL_NONE for one that has not come */
    size_t count;
} dictionary;

static uint32_t look_up(dictionary *d, uint32_t item, const char *name, pl_text *names) {
    if (d->place[item] == PL_NONE) {
        d->place[item] = (uint32_t)d->count;
        pl_text_add(names, d->count++ > 0 ? "," : "");
        pl_quote_json(names, name);
    }
    return d->place[item];
}

static bool begin_dictionary(dictionary *d, size_t num_items) {
    d->place = pl_new_array(num_items, sizeof *d->place);
    for (size_t i = 0; d->place != NULL && i < num_items; i++)
        d->place[i] = PL_NONE;
    return d->place != NULL;
}

/* The variables of each expected peak: names count from 1, 0 is none. */
static void put_variables(pl_json *json, const pl_stage_details *details,
                          const popliner_profile *profile) {
    pl_text *text = json->text;
    pl_packed counts = {0};
    pl_packed named = {0};
    pl_packed sizes = {0};
    pl_packed categories = {0};
    pl_text names = {0};
    dictionary d = {0};
    text->failed = text->failed || !begin_dictionary(&d, profile->num_unlowered);
    size_t num_pieces = details->largest[POPLINER_NEED_EXPECTED].num_pieces;
    for (size_t i = 0; !text->failed && i < num_pieces; i++) {
        const pl_detail_variables *v = &details->variables[i];
        pl_packed_number(&counts, v->count);
        for (size_t k = 0; k < v->count; k++) {
            uint32_t item = v->unlowered[k];
            pl_packed_number(
                &named, item == PL_NONE
                            ? 0
                            : 1 + look_up(&d, item,
                                          pl_profile_string(profile, profile->unlowered_name[item]),
                                          &names));
            pl_packed_number(&sizes, v->size_bytes[k]);
            pl_packed_number(&categories, v->category[k]);
        }
    }
    pl_put_open(json, "variables", '{');
    pl_put_packed(json, "count", &counts);
    pl_put_packed(json, "name", &named);
    pl_put_packed(json, "size_bytes", &sizes);
    pl_put_packed(json, "category", &categories);
    pl_put_value(json, "names");
    pl_text_format(text, "[%s]", names.data == NULL ? "" : names.data);
    pl_put_close(json);
    text->failed = text->failed || names.failed;
    free(names.data);
    free(d.place);
}

/* ---- pipelines ---- */

static size_t max_stages_of(const pl_page_pipeline *p, size_t num_units) {
    const popliner_pipeline *pipeline = &p->pipeline;
    size_t most = pl_pipeline_has_own_copies(pipeline)
                      ? popliner_copies_max_stages(&pipeline->copies)
                      : SIZE_MAX;
    if (p->costs != NULL && p->costs->max_stages_to_end > 1)
        most = pl_smaller(most, p->costs->max_stages_to_end);
    return pl_smaller(most, num_units);
}

void pl_page_put_pipeline(pl_json *json, const pl_page_pipeline *p, size_t num_units) {
    const popliner_pipeline *pipeline = &p->pipeline;
    const popliner_costs *costs = p->costs;
    const size_t max_stages = max_stages_of(p, num_units);
    /* a page of costs has one number of copies for each length of a pipeline */
    const bool has_step = costs == NULL || !costs->follows_split;
    pl_put_open(json, NULL, '{');
    pl_put_text(json, "schedule", pl_schedule_name(pipeline->schedule));
    pl_put_text(json, "recompute", pl_recompute_name(pipeline->recompute));
    pl_put_text(json, "words", p->words);
    pl_put_text(json, "copies_rule",
                pl_pipeline_has_own_copies(pipeline) ? pl_copies_rule_name(pipeline->copies.rule)
                                                     : NULL);
    pl_put_number(json, "micro_batches", has_step ? pipeline->copies.num_micro_batches : 0);
    pl_put_flag(json, "trains", pl_pipeline_kind(pipeline) != PL_SCHEDULE_PLAIN);
    pl_put_flag(json, "keeps",
                costs != NULL ? costs->max_stages_to_end > 1 : pl_pipeline_keeps(pipeline));
    pl_put_flag(json, "follows_split",
                costs != NULL ? costs->follows_split : pl_pipeline_follows_split(pipeline));
    pl_put_number(json, "max_stages", max_stages);
    pl_put_packed_numbers(json, "cycles", p->cycles, pl_triangle_size(num_units));
    if (costs != NULL && costs->passes != NULL) {
        const pl_unit_passes *passes = costs->passes;
        pl_put_open(json, "passes", '{');
        pl_put_number(json, "samples", passes->num_samples);
        pl_put_flag(json, "have_cuts", passes->has_cuts);
        pl_put_flag(json, "are_thirds", passes->are_thirds);
        pl_put_packed_numbers(json, "cycles", passes->cycles,
                              pl_passes_count(num_units, passes->num_samples));
        pl_put_close(json);
    }
    pl_put_open(json, "copies", '{');
    for (int need = 0; need < POPLINER_NUM_NEEDS; need++) {
        pl_packed packed = {0};
        for (size_t stages = 1; stages <= max_stages; stages++)
            pl_packed_number(&packed, costs != NULL ? stages - 1
                                                    : pl_pipeline_copies_for(
                                                          pipeline, (popliner_need)need, stages));
        pl_put_packed(json, need_names[need], &packed);
    }
    pl_put_close(json);
    pl_put_close(json);
}

void pl_page_put_stages(pl_json *json, const pl_stage_details *details,
                        const popliner_profile *profile, const pl_page_pipeline *pipelines,
                        size_t num_pipelines) {
    pl_put_open(json, NULL, '{');
    pl_put_open(json, "pipelines", '[');
    for (size_t i = 0; i < num_pipelines; i++)
        pl_page_put_pipeline(json, &pipelines[i], details->num_units);
    pl_put_close(json);
    put_sums(json, details);
    for (int need = 0; need < POPLINER_NUM_NEEDS; need++)
        put_envelope(json, (popliner_need)need, &details->largest[need]);
    put_variables(json, details, profile);
    pl_put_close(json);
}

/* ---- the chain and what is asked of its splits ---- */

void pl_page_put_chain(pl_json *json, const char *key, const pl_chain *chain,
                       const pl_stage_details *details) {
    const size_t num_units = pl_chain_num_units(chain);
    pl_put_open(json, key, '{');
    pl_put_open(json, "labels", '[');
    for (size_t unit = 0; unit < num_units; unit++)
        pl_put_text(json, NULL, chain->labels[unit]);
    pl_put_close(json);
    pl_put_open(json, "kinds", '[');
    for (size_t unit = 0; unit < num_units; unit++)
        pl_put_text(json, NULL, pl_unit_kind_name(chain->kind[unit]));
    pl_put_close(json);
    pl_put_open(json, "parts", '[');
    for (int part = 0; part < POPLINER_NUM_PARTS; part++) {
        const pl_part_row *info = &pl_parts[part];
        if (pl_part_is_within(part))
            continue;
        pl_put_open(json, NULL, '{');
        pl_put_text(json, "name", info->name);
        pl_put_text(json, "column", info->column);
        pl_put_text(json, "text", info->text);
        pl_put_close(json);
    }
    pl_put_close(json);
    pl_put_open(json, "tile_parts", '{');
    for (size_t part = 0; part < PL_NUM_TILE_PARTS; part++)
        pl_put_text(json, pl_tile_parts[part].key, pl_tile_parts[part].text);
    pl_put_close(json);
    pl_put_text(json, "memory_model", chain->model->name);
    pl_put_flag(json, "follows_account", chain->model->follows_account);
    pl_put_flag(json, "has_unlayered_unit", chain->model->has_unlayered_unit);
    pl_put_flag(json, "first_may_be_alone", pl_chain_has_operations(chain, 0));
    if (details != NULL) {
        pl_put_packed_numbers(json, "cuts_bytes", details->cuts_bytes, num_units);
        pl_put_packed_numbers(json, "cycles", details->num_cycles > 0 ? details->cycles : NULL,
                              details->num_cycles);
    }
    pl_put_close(json);
}

/* The options that a page's own solver does not support, so that it does not solve. */
static void put_unknown(pl_json *json, const popliner_solver_options *o) {
    pl_put_open(json, "unknown", '[');
    if (o->ipu_weight != NULL)
        pl_put_text(json, NULL, "weights of units");
    pl_put_close(json);
}

/* ---- what is said of single IPUs ---- */

static void put_pair(pl_json *json, size_t first, uint64_t second) {
    pl_put_open(json, NULL, '[');
    pl_put_number(json, NULL, first);
    pl_put_number(json, NULL, second);
    pl_put_close(json);
}

/* In cycles, and as text, for it may be larger than a browser's whole numbers. */
static void put_bandwidth(pl_json *json, const pl_page_wishes *wishes,
                          popliner_ipu_link bandwidth) {
    const uint64_t numbers[] = {
        bandwidth.bytes,
        bandwidth.cycles * (wishes->costs == NULL ? 1 : wishes->costs->cycles_per_time_unit)};
    for (size_t i = 0; i < 2; i++) {
        pl_put_value(json, NULL);
        pl_text_format(json->text, "\"%" PRIu64 "\"", numbers[i]);
    }
}

/* `all`: that of links of which nothing else is said, and whether it was given;
 * `single`: two IPUs and the bandwidth of the link between them. */
static void put_links(pl_json *json, const pl_page_wishes *wishes) {
    const popliner_solver_options *o = wishes->options;
    if (!pl_put_open_if(json, o->link_bandwidth.bytes > 0 || o->num_ipu_links > 0, "links", '{'))
        return;
    pl_put_open(json, "all", '[');
    put_bandwidth(json, wishes, o->link_bandwidth);
    pl_put_close(json);
    pl_put_flag(json, "all_is_asked_for", !wishes->has_usual_links);
    pl_put_open(json, "single", '[');
    for (size_t i = 0; i < o->num_ipu_links; i++) {
        pl_put_open(json, NULL, '[');
        pl_put_number(json, NULL, o->ipu_links[i].first_ipu);
        pl_put_number(json, NULL, o->ipu_links[i].second_ipu);
        put_bandwidth(json, wishes, o->ipu_links[i]);
        pl_put_close(json);
    }
    pl_put_close(json);
    pl_put_close(json);
}

static void put_ipus(pl_json *json, const pl_page_wishes *wishes) {
    const popliner_solver_options *o = wishes->options;
    pl_put_numbers(json, "device_map", o->num_mapped_stages > 0 ? o->device_map : NULL,
                   o->num_mapped_stages);
    pl_ipu_numbers list;
    for (size_t which = 0; pl_ipu_numbers_at(o, which, &list); which++) {
        pl_put_open(json, list.name, '[');
        for (size_t i = 0; i < list.count; i++)
            put_pair(json, list.items[i].ipu, list.items[i].value);
        pl_put_close(json);
    }
    pl_put_open(json, "pairs", '[');
    for (size_t i = 0; i < o->num_pairs; i++)
        put_pair(json, o->pairs[i].unit, o->pairs[i].second_unit);
    pl_put_close(json);
    pl_put_open(json, "placements", '[');
    for (size_t i = 0; i < o->num_placements; i++)
        put_pair(json, o->placements[i].unit, o->placements[i].ipu);
    pl_put_close(json);
    put_links(json, wishes);
}

/* Where a cut has to be (1) or must not be, by a rule (2) or within a pair (4): their sum. */
static void put_cut_rules(pl_json *json, const popliner_solver_options *o, size_t num_units) {
    pl_put_open(json, "cut_rules", '[');
    for (size_t unit = 0; unit < num_units; unit++) {
        unsigned rule = o->cut_rules == NULL                           ? 0
                        : o->cut_rules[unit] == POPLINER_CUT_REQUIRED  ? 1
                        : o->cut_rules[unit] == POPLINER_CUT_FORBIDDEN ? 2
                                                                       : 0;
        for (size_t i = 0; i < o->num_pairs; i++) {
            const popliner_constraint *pair = &o->pairs[i];
            size_t low = pair->unit < pair->second_unit ? pair->unit : pair->second_unit;
            size_t high = pair->unit + pair->second_unit - low;
            if (low < unit && unit <= high)
                rule |= 4;
        }
        pl_put_number(json, NULL, unit > 0 ? rule : 0);
    }
    pl_put_close(json);
}

/* Puts what the page calls each objective, what no better split has, and if it is a count. */
static void put_objective_words(pl_json *json) {
    pl_put_open(json, "objective_words", '{');
    for (int i = 0; i < POPLINER_NUM_OBJECTIVES; i++) {
        const pl_objective *own = pl_objective_of((popliner_objective)i);
        pl_put_open(json, own->name, '{');
        pl_put_text(json, "title", own->title);
        pl_put_text(json, "better", own->better);
        pl_put_flag(json, "is_count", own->unit == PL_UNIT_COUNT);
        pl_put_close(json);
    }
    pl_put_close(json);
}

void pl_page_put_wishes(pl_json *json, const char *key, const pl_page_wishes *wishes,
                        size_t num_units) {
    const popliner_solver_options *options = wishes->options;
    size_t num_objectives;
    const popliner_objective *objectives = pl_objectives_of(options, &num_objectives);
    popliner_objective leading[POPLINER_NUM_OBJECTIVES] = {POPLINER_OBJECTIVE_BALANCE};
    popliner_objectives_complete(leading, 1, wishes->costs);
    pl_put_open(json, key, '{');
    pl_put_number(json, "num_ipus", options->num_ipus);
    if (wishes->limit_bytes < INT64_MAX)
        pl_put_number(json, "limit_bytes", wishes->limit_bytes);
    else
        pl_put_null(json, "limit_bytes");
    put_objective_words(json);
    pl_put_text(json, "leading_objective", pl_objective_name(leading[0]));
    pl_put_text(json, "need", need_names[wishes->need]);
    pl_put_open(json, "objectives", '[');
    /* a page does not compare splits by caches: what is the nearest */
    for (size_t i = 0; i < num_objectives; i++)
        pl_put_text(json, NULL,
                    pl_objective_name(objectives[i] == POPLINER_OBJECTIVE_TOKENS
                                          ? POPLINER_OBJECTIVE_HEADROOM
                                          : objectives[i]));
    pl_put_close(json);
    pl_put_real(json, "slack_percent", options->slack_percent);
    pl_put_number(json, "min_units", options->min_units);
    pl_put_number(json, "max_units", options->max_units);
    pl_put_open(json, "counted", '[');
    for (size_t unit = 0; unit < num_units; unit++)
        pl_put_number(json, NULL,
                      options->counted_units == NULL || options->counted_units[unit] != 0);
    pl_put_close(json);
    put_cut_rules(json, options, num_units);
    put_ipus(json, wishes);
    put_unknown(json, options);
    pl_put_close(json);
}
