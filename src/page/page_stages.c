/* What every stage of a chain needs, for a page.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "page/page_data.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/packed.h"
#include "base/text.h"
#include "costs/triangle.h"
#include "memory/chain_data.h"
#include "memory/parts.h"
#include "pipeline/pipeline.h"
#include "profile/profile_data.h"
#include "solve/objectives.h"

static const char *const need_names[] = {
    [POPLINER_NEED_EXPECTED] = "expected",
    [POPLINER_NEED_LEAST] = "least",
    [POPLINER_NEED_MOST] = "most",
};

/* Adds `"name":` behind what is there of an object. */
static void add_key(pl_text *text, const char *name) {
    char before = text->length > 0 ? text->data[text->length - 1] : '{';
    pl_text_format(text, "%s\"%s\":", before == '{' || before == '[' ? "" : ",", name);
}

void pl_page_add_text(pl_text *text, const char *value) {
    if (value == NULL)
        pl_text_add(text, "null");
    else
        pl_quote_json(text, value);
}

/* A member that each of some items has. */
typedef struct column {
    const char *name;
    size_t offset;
    bool is_short; /* uint32_t, else uint64_t */
} column;

#define PIECE(member, is_short)                                                                    \
    { #member, offsetof(pl_peak_piece, member), is_short }

static void add_columns(pl_text *text, const void *items, size_t count, size_t item_size,
                        const column *columns, size_t num_columns) {
    for (size_t i = 0; i < num_columns; i++) {
        pl_packed packed = {0};
        add_key(text, columns[i].name);
        for (size_t k = 0; k < count; k++) {
            const char *place = (const char *)items + k * item_size + columns[i].offset;
            pl_packed_number(&packed, columns[i].is_short ? *(const uint32_t *)(const void *)place
                                                          : *(const uint64_t *)(const void *)place);
        }
        pl_packed_end(&packed, text);
    }
}

static void add_sums(pl_text *text, const pl_stage_details *details) {
    static const column of_copies[] = {
        {"copy_layout_bytes", PL_SUM_COPY_LAYOUT * sizeof(uint64_t), false},
        {"freed_bytes", PL_SUM_FREED * sizeof(uint64_t), false},
        {"freed_layout_bytes", PL_SUM_FREED_LAYOUT * sizeof(uint64_t), false},
    };
    enum { NUM_OF_COPIES = sizeof of_copies / sizeof *of_copies };
    column columns[POPLINER_NUM_PARTS + NUM_OF_COPIES];
    for (size_t part = 0; part < POPLINER_NUM_PARTS; part++)
        columns[part] = (column){pl_parts[part].info.column, part * sizeof(uint64_t), false};
    memcpy(columns + POPLINER_NUM_PARTS, of_copies, sizeof of_copies);
    add_key(text, "sums");
    pl_text_add(text, "{");
    add_columns(text, details->sums, pl_triangle_size(details->num_units), sizeof *details->sums,
                columns, sizeof columns / sizeof *columns);
    pl_text_add(text, "}");
}

/* The largest tiles for one need: how many each stage has, and what they hold. Of needs that are
 * not the expected one nobody asks where. */
static void add_envelope(pl_text *text, const pl_peak_envelope *tiles, bool is_expected) {
    static const column columns[] = {
        PIECE(from_copies, true),   PIECE(bytes, false),
        PIECE(stash_bytes, false),  PIECE(unexplained_bytes, false),
        PIECE(layout_bytes, false), PIECE(copy_layout_bytes, false),
        PIECE(freed_bytes, false),  PIECE(tile, true),
        PIECE(step, true),
    };
    pl_packed counts = {0};
    pl_text_add(text, "{");
    add_key(text, "pieces");
    for (size_t i = 0; i < tiles->num_intervals; i++) {
        uint32_t first = tiles->first[i];
        size_t end = i + 1 < tiles->num_intervals ? tiles->first[i + 1] : tiles->num_pieces;
        pl_packed_number(&counts, first == PL_NONE ? 0 : end - first);
    }
    pl_packed_end(&counts, text);
    add_columns(text, tiles->pieces, tiles->num_pieces, sizeof *tiles->pieces, columns,
                is_expected ? sizeof columns / sizeof *columns : 3);
    pl_text_add(text, "}");
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
        pl_page_add_text(names, name);
    }
    return d->place[item];
}

static bool begin_dictionary(dictionary *d, size_t num_items) {
    d->place = pl_new_array(num_items, sizeof *d->place);
    for (size_t i = 0; d->place != NULL && i < num_items; i++)
        d->place[i] = PL_NONE;
    return d->place != NULL;
}

/* Of each largest tile that is expected: names count from 1, 0 is none. */
static void add_variables(pl_text *text, const pl_stage_details *details,
                          const popliner_profile *profile) {
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
    add_key(text, "variables");
    pl_text_add(text, "{");
    add_key(text, "count");
    pl_packed_end(&counts, text);
    add_key(text, "name");
    pl_packed_end(&named, text);
    add_key(text, "size_bytes");
    pl_packed_end(&sizes, text);
    add_key(text, "category");
    pl_packed_end(&categories, text);
    add_key(text, "names");
    pl_text_format(text, "[%s]}", names.data == NULL ? "" : names.data);
    text->failed = text->failed || names.failed;
    free(names.data);
    free(d.place);
}

/* ---- pipelines ---- */

static size_t max_stages_of(const popliner_pipeline *pipeline, size_t num_units) {
    size_t most = pl_pipeline_has_own_copies(pipeline)
                      ? popliner_copies_max_stages(&pipeline->copies)
                      : SIZE_MAX;
    return most < num_units ? most : num_units;
}

/* The copies of a stage by how many are to come, from one on, for each need. */
static void add_pipeline(pl_text *text, const pl_page_pipeline *p, size_t num_units) {
    const popliner_pipeline *pipeline = &p->pipeline;
    const size_t max_stages = max_stages_of(pipeline, num_units);
    pl_text_add(text, "{");
    add_key(text, "schedule");
    pl_page_add_text(text, pl_schedule_name(pipeline->schedule));
    add_key(text, "recompute");
    pl_page_add_text(text, pl_recompute_name(pipeline->recompute));
    add_key(text, "words");
    pl_page_add_text(text, p->words);
    add_key(text, "copies_rule");
    pl_page_add_text(text, pl_pipeline_has_own_copies(pipeline)
                               ? popliner_copies_rule_name(pipeline->copies.rule)
                               : NULL);
    add_key(text, "trains");
    pl_text_add(text, pl_pipeline_kind(pipeline) != PL_SCHEDULE_PLAIN ? "true" : "false");
    add_key(text, "keeps");
    pl_text_add(text, pl_pipeline_keeps(pipeline) ? "true" : "false");
    add_key(text, "follows_split");
    pl_text_add(text, pl_pipeline_follows_split(pipeline) ? "true" : "false");
    add_key(text, "max_stages");
    pl_text_format(text, "%zu", max_stages);
    add_key(text, "cycles");
    if (p->cycles != NULL)
        pl_packed_add(text, p->cycles, pl_triangle_size(num_units));
    else
        pl_text_add(text, "null");
    add_key(text, "copies");
    pl_text_add(text, "{");
    for (int need = 0; need < POPLINER_NUM_NEEDS; need++) {
        pl_packed packed = {0};
        add_key(text, need_names[need]);
        for (size_t stages = 1; stages <= max_stages; stages++)
            pl_packed_number(&packed,
                             pl_pipeline_copies_for(pipeline, (popliner_need)need, stages));
        pl_packed_end(&packed, text);
    }
    pl_text_add(text, "}}");
}

void pl_page_add_stages(pl_text *text, const pl_stage_details *details,
                        const popliner_profile *profile, const pl_page_pipeline *pipelines,
                        size_t num_pipelines) {
    pl_text_add(text, "{");
    add_key(text, "pipelines");
    pl_text_add(text, "[");
    for (size_t i = 0; i < num_pipelines; i++) {
        pl_text_add(text, i > 0 ? "," : "");
        add_pipeline(text, &pipelines[i], details->num_units);
    }
    pl_text_add(text, "]");
    add_sums(text, details);
    for (int need = 0; need < POPLINER_NUM_NEEDS; need++) {
        add_key(text, need_names[need]);
        add_envelope(text, &details->largest[need], need == POPLINER_NEED_EXPECTED);
    }
    add_variables(text, details, profile);
    pl_text_add(text, "}");
}

/* ---- the chain and what is asked of its splits ---- */

void pl_page_add_chain(pl_text *text, const popliner_chain *chain,
                       const pl_stage_details *details) {
    const size_t num_units = popliner_chain_num_units(chain);
    pl_text_add(text, "{");
    add_key(text, "labels");
    pl_text_add(text, "[");
    for (size_t unit = 0; unit < num_units; unit++) {
        pl_text_add(text, unit > 0 ? "," : "");
        pl_page_add_text(text, popliner_chain_unit_at(chain, unit)->label);
    }
    pl_text_add(text, "]");
    add_key(text, "kinds");
    pl_text_add(text, "[");
    for (size_t unit = 0; unit < num_units; unit++)
        pl_text_format(text, "%s\"%s\"", unit > 0 ? "," : "",
                       pl_unit_kind_name(popliner_chain_unit_at(chain, unit)->kind));
    pl_text_add(text, "]");
    add_key(text, "parts");
    pl_text_add(text, "[");
    for (int part = 0; part < POPLINER_NUM_PARTS; part++) {
        const popliner_part_info *info = &pl_parts[part].info;
        if (!info->is_within)
            pl_text_format(text, "%s{\"name\":\"%s\",\"column\":\"%s\",\"text\":\"%s\"}",
                           part > 0 ? "," : "", info->name, info->column, info->text);
    }
    pl_text_add(text, "]");
    add_key(text, "memory_model");
    pl_page_add_text(text, chain->model->name);
    add_key(text, "follows_account");
    pl_text_add(text, chain->model->follows_account ? "true" : "false");
    add_key(text, "has_unlayered_unit");
    pl_text_add(text, chain->model->has_unlayered_unit ? "true" : "false");
    add_key(text, "first_may_be_alone");
    pl_text_add(text, pl_chain_has_operations(chain, 0) ? "true" : "false");
    if (details != NULL) {
        add_key(text, "cuts_bytes");
        pl_packed_add(text, details->cuts_bytes, num_units);
        add_key(text, "cycles");
        if (details->num_cycles > 0)
            pl_packed_add(text, details->cycles, details->num_cycles);
        else
            pl_text_add(text, "null");
    }
    pl_text_add(text, "}");
}

static bool shares_an_ipu(const popliner_solver_options *o) {
    for (size_t i = 0; i < o->num_mapped_stages; i++)
        for (size_t k = 0; k < i; k++)
            if (o->device_map[i] == o->device_map[k])
                return true;
    return false;
}

/* What a page's own solver does not know, so that it does not solve. */
static void add_unknown(pl_text *text, const popliner_solver_options *o) {
    const struct {
        bool is_asked;
        const char *what;
    } wishes[] = {
        {shares_an_ipu(o), "stages that share IPUs"},
        {o->ipu_weight != NULL, "weights of units"},
    };
    pl_text_add(text, "[");
    for (size_t i = 0; i < sizeof wishes / sizeof *wishes; i++)
        if (wishes[i].is_asked) {
            pl_text_add(text, text->data[text->length - 1] == '[' ? "" : ",");
            pl_page_add_text(text, wishes[i].what);
        }
    pl_text_add(text, "]");
}

/* ---- what is said of single IPUs ---- */

static void add_pair(pl_text *text, size_t first, uint64_t second) {
    pl_text_format(text, "%s[%zu,%" PRIu64 "]", text->data[text->length - 1] == '[' ? "" : ",",
                   first, second);
}

/* As text, for it may be larger than a browser's whole numbers. */
static void add_bandwidth(pl_text *text, popliner_bandwidth bandwidth) {
    pl_text_format(text, "\"%" PRIu64 "\",\"%" PRIu64 "\"", bandwidth.bytes, bandwidth.cycles);
}

/* `all`: that of links of which nothing else is said, and whether it was asked for itself;
 * `single`: two IPUs and the bandwidth of the link between them. */
static void add_links(pl_text *text, const pl_page_wishes *wishes) {
    const popliner_solver_options *o = wishes->options;
    add_key(text, "links");
    if (o->link_bandwidth.bytes == 0 && o->num_ipu_links == 0) {
        pl_text_add(text, "null");
        return;
    }
    pl_text_add(text, "{");
    add_key(text, "all");
    pl_text_add(text, "[");
    add_bandwidth(text, o->link_bandwidth);
    pl_text_add(text, "]");
    add_key(text, "all_is_asked_for");
    pl_text_add(text, wishes->has_usual_links ? "false" : "true");
    add_key(text, "single");
    pl_text_add(text, "[");
    for (size_t i = 0; i < o->num_ipu_links; i++) {
        pl_text_format(text, "%s[%zu,%zu,", i > 0 ? "," : "", o->ipu_links[i].first_ipu,
                       o->ipu_links[i].second_ipu);
        add_bandwidth(text, o->ipu_links[i].bandwidth);
        pl_text_add(text, "]");
    }
    pl_text_add(text, "]}");
}

static void add_ipus(pl_text *text, const pl_page_wishes *wishes) {
    const popliner_solver_options *o = wishes->options;
    add_key(text, "device_map");
    pl_text_add(text, o->num_mapped_stages > 0 ? "[" : "null");
    for (size_t i = 0; i < o->num_mapped_stages; i++)
        pl_text_format(text, "%s%zu%s", i > 0 ? "," : "", o->device_map[i],
                       i + 1 < o->num_mapped_stages ? "" : "]");
    add_key(text, "ipu_limits");
    pl_text_add(text, "[");
    for (size_t i = 0; i < o->num_ipu_limits; i++)
        add_pair(text, o->ipu_limits[i].ipu, o->ipu_limits[i].bytes);
    pl_text_add(text, "]");
    add_key(text, "ipu_speeds");
    pl_text_add(text, "[");
    for (size_t i = 0; i < o->num_ipu_speeds; i++)
        add_pair(text, o->ipu_speeds[i].ipu, o->ipu_speeds[i].millionths);
    pl_text_add(text, "]");
    add_key(text, "placements");
    pl_text_add(text, "[");
    for (size_t i = 0; i < o->num_placements; i++)
        add_pair(text, o->placements[i].unit, o->placements[i].ipu);
    pl_text_add(text, "]");
    add_links(text, wishes);
}

/* Where a cut has to be (1) or must not be (2), as rules and pairs have it. */
static void add_cut_rules(pl_text *text, const popliner_solver_options *o, size_t num_units) {
    pl_text_add(text, "[");
    for (size_t unit = 0; unit < num_units; unit++) {
        int rule = o->cut_rules == NULL                           ? 0
                   : o->cut_rules[unit] == POPLINER_CUT_REQUIRED  ? 1
                   : o->cut_rules[unit] == POPLINER_CUT_FORBIDDEN ? 2
                                                                  : 0;
        for (size_t i = 0; i < o->num_pairs; i++) {
            const popliner_pair *pair = &o->pairs[i];
            size_t low =
                pair->first_unit < pair->second_unit ? pair->first_unit : pair->second_unit;
            size_t high = pair->first_unit + pair->second_unit - low;
            if (low < unit && unit <= high)
                rule = rule == 1 ? 3 : 2; /* 3: both, so nothing is possible */
        }
        pl_text_format(text, "%s%d", unit > 0 ? "," : "", unit > 0 ? rule : 0);
    }
    pl_text_add(text, "]");
}

void pl_page_add_wishes(pl_text *text, const pl_page_wishes *wishes, size_t num_units) {
    const popliner_solver_options *options = wishes->options;
    size_t num_objectives;
    const popliner_objective *objectives = pl_objectives_of(options, &num_objectives);
    pl_text_add(text, "{");
    add_key(text, "num_ipus");
    pl_text_format(text, "%zu", options->max_stages);
    add_key(text, "limit_bytes");
    pl_text_format(text, "%" PRIu64, wishes->limit_bytes);
    add_key(text, "need");
    pl_page_add_text(text, need_names[wishes->need]);
    add_key(text, "is_calibrated");
    pl_text_add(text, wishes->is_calibrated ? "true" : "false");
    add_key(text, "objectives");
    pl_text_add(text, "[");
    for (size_t i = 0; i < num_objectives; i++) {
        pl_text_add(text, i > 0 ? "," : "");
        pl_page_add_text(text, popliner_objective_name(objectives[i]));
    }
    pl_text_add(text, "]");
    add_key(text, "slack_percent");
    pl_text_format(text, "%.17g", options->slack_percent);
    add_key(text, "min_units");
    pl_text_format(text, "%zu", options->min_units);
    add_key(text, "max_units");
    pl_text_format(text, "%zu", options->max_units);
    add_key(text, "counted");
    pl_text_add(text, "[");
    for (size_t unit = 0; unit < num_units; unit++)
        pl_text_format(text, "%s%d", unit > 0 ? "," : "",
                       options->counted_units == NULL || options->counted_units[unit] != 0);
    pl_text_add(text, "]");
    add_key(text, "cut_rules");
    add_cut_rules(text, options, num_units);
    add_ipus(text, wishes);
    add_key(text, "unknown");
    add_unknown(text, options);
    pl_text_add(text, "}");
}
