/* The memory of every stage of a chain, for a page.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "page/page_data.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/id_map.h"
#include "base/numbers.h"
#include "base/text.h"
#include "costs/costs.h"
#include "costs/triangle.h"
#include "memory/chain_data.h"
#include "memory/parts.h"
#include "memory/stage_details.h"
#include "model/operations.h"
#include "pipeline/pipeline.h"
#include "profile/profile_data.h"
#include "solve/objective.h"
#include "solve/search.h"

static const char *const need_names[] = {
    [POPLINER_NEED_EXPECTED] = "expected",
    [POPLINER_NEED_LEAST] = "least",
    [POPLINER_NEED_MOST] = "most",
};

/* ---- what the details hold ---- */

/* Adds a list of each field, column after column; the cuts are of the chain. */
static void put_fields(pl_json *json, pl_stage_details *details) {
    pl_field fields[PL_DETAILS_FIELDS];
    const size_t num_fields = pl_details_fields(details, fields) - 1;
    for (const pl_field *field = fields; field < fields + num_fields; field++) {
        pl_put_open(json, field->name, '[');
        for (size_t column = 0; column < pl_details_columns(field); column++)
            for (size_t i = 0; i < *field->count + field->extra_items; i++)
                pl_put_number(json, NULL, pl_details_number(field, i, column));
        pl_put_close(json);
    }
}

/* Names count from 1; 0 is none. */
static uint32_t number_of(pl_names *names, bool is_there, const char *name) {
    return is_there ? (uint32_t)pl_names_number(names, name) + 1 : 0;
}

static const char *program_at(const pl_chain *chain, size_t step) {
    return pl_profile_program_name(chain->profile, chain->profile->step_program[step]);
}

/* Adds the fields, with names in place of the variables, and the operation and the program at each
 * expected peak. */
static void put_details(pl_json *json, const pl_stage_details *details, const pl_chain *chain) {
    const popliner_profile *profile = chain->profile;
    const pl_peak_envelope *peaks = &details->largest[POPLINER_NEED_EXPECTED];
    pl_stage_details own = *details;
    pl_names names = {0};
    pl_arrays arrays = {0};
    uint64_t *operations = pl_arrays_new(&arrays, peaks->num_pieces, sizeof *operations);
    uint64_t *programs = pl_arrays_new(&arrays, peaks->num_pieces, sizeof *programs);
    own.variables =
        pl_arrays_copy(&arrays, own.variables, peaks->num_pieces, sizeof *own.variables);
    for (size_t i = 0; !arrays.failed && i < peaks->num_pieces; i++) {
        pl_detail_variables *v = &own.variables[i];
        const size_t step = peaks->pieces[i].step;
        const size_t operation =
            step < chain->num_steps ? pl_chain_operation_at(chain, step) : SIZE_MAX;
        memset(v->variable, 0, sizeof v->variable);
        for (size_t k = 0; k < v->count; k++) {
            const bool has_name = v->unlowered[k] != PL_NONE;
            const pl_string name = has_name ? profile->unlowered_name[v->unlowered[k]] : 0;
            v->unlowered[k] = number_of(&names, has_name, pl_profile_string(profile, name));
        }
        if (operation != SIZE_MAX)
            operations[i] =
                number_of(&names, true, pl_operation_at(chain->operations, operation)->name);
        if (step < profile->num_steps)
            programs[i] = number_of(&names, true, program_at(chain, step));
    }
    json->text->failed = json->text->failed || arrays.failed || names.arrays.failed;
    if (!arrays.failed)
        put_fields(json, &own);
    pl_page_put_numbers(json, "operations", operations, peaks->num_pieces);
    pl_page_put_numbers(json, "programs", programs, peaks->num_pieces);
    pl_put_texts(json, "names", names.items, names.count);
    pl_names_free(&names);
    pl_arrays_free(&arrays);
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

/* Writes what decides how many copies stages keep. */
static void put_copies(pl_json *json, const popliner_pipeline *pipeline) {
    const popliner_copies *c = &pipeline->copies;
    const uint64_t facts[] = {c->more, c->num_stages, c->num_ipus, c->is_v, c->goes_on};
    pl_put_number(json, "effects", pipeline->effects);
    pl_put_number(json, "accumulators", (uint64_t)pipeline->accumulators);
    pl_page_put_numbers(json, "copies_of", facts, sizeof facts / sizeof *facts);
    pl_put_open(json, "listed", '[');
    for (size_t i = 0; i < c->num_listed; i++)
        pl_put_number(json, NULL, c->listed[i]);
    pl_put_close(json);
}

void pl_page_put_pipeline(pl_json *json, const pl_page_pipeline *p, size_t num_units) {
    const popliner_pipeline *pipeline = &p->pipeline;
    const popliner_costs *costs = p->costs;
    const size_t max_stages = max_stages_of(p, num_units);
    pl_put_open(json, NULL, '{');
    pl_put_text(json, "schedule", pl_schedule_name(pipeline->schedule));
    pl_put_text(json, "recompute", pl_recompute_name(pipeline->recompute));
    pl_put_text(json, "words", p->words);
    pl_put_text(json, "copies_rule",
                pl_pipeline_has_own_copies(pipeline) ? pl_copies_rule_name(pipeline->copies.rule)
                                                     : NULL);
    pl_put_number(json, "micro_batches", pipeline->copies.num_micro_batches);
    pl_put_flag(json, "keeps",
                costs != NULL ? costs->max_stages_to_end > 1 : pl_pipeline_keeps(pipeline));
    pl_put_number(json, "max_stages", max_stages);
    pl_page_put_differences(json, "cycles", p->cycles, pl_triangle_size(num_units));
    if (costs != NULL && costs->passes != NULL) {
        const pl_unit_passes *passes = costs->passes;
        pl_put_open(json, "passes", '{');
        pl_put_number(json, "samples", passes->num_samples);
        pl_put_flag(json, "have_cuts", passes->has_cuts);
        pl_put_flag(json, "are_thirds", passes->are_thirds);
        pl_page_put_numbers(json, "cycles", passes->cycles,
                            pl_passes_count(num_units, passes->num_samples));
        pl_put_close(json);
    }
    put_copies(json, pipeline);
    pl_put_close(json);
}

void pl_page_put_stages(pl_json *json, const pl_stage_details *details, const pl_chain *chain,
                        const pl_page_pipeline *pipelines, size_t num_pipelines) {
    pl_put_open(json, NULL, '{');
    pl_put_open(json, "pipelines", '[');
    for (size_t i = 0; i < num_pipelines; i++)
        pl_page_put_pipeline(json, &pipelines[i], details->num_units);
    pl_put_close(json);
    pl_page_put_numbers(json, "key", (const uint64_t *)(const void *)&details->key,
                        sizeof details->key / sizeof(uint64_t));
    pl_put_open(json, "max_copies", '[');
    for (int need = 0; need < POPLINER_NUM_NEEDS; need++)
        pl_put_number(json, NULL, details->largest[need].max_copies);
    pl_put_close(json);
    put_details(json, details, chain);
    pl_put_close(json);
}

/* ---- the chain and what is asked of its splits ---- */

/* Puts on which IPUs of the profile each unit computes. */
static void put_unit_ipus(pl_json *facts, const pl_chain *chain) {
    const size_t num_ipus = chain->profile->target.num_ipus;
    uint8_t *is_used = pl_new_array(num_ipus + 1, sizeof *is_used);
    facts->text->failed = facts->text->failed || is_used == NULL;
    for (size_t unit = 0; is_used != NULL && unit < chain->num_units; unit++) {
        const popliner_interval interval = {unit, unit, 1};
        memset(is_used, 0, num_ipus);
        pl_stage_ipus_mark(chain, &interval, 1, is_used);
        for (size_t ipu = 0; ipu < num_ipus; ipu++)
            pl_put_number(facts, NULL, is_used[ipu]);
    }
    free(is_used);
}

/* Puts what evaluating a split needs to know of the chain: src/wasm/told_profile.c reads it. */
static void put_facts(pl_json *json, const pl_chain *chain) {
    const pl_target *target = &chain->profile->target;
    const uint64_t facts[] = {target->num_tiles,      target->bytes_per_tile,
                              chain->num_steps,       target->num_ipus,
                              (uint64_t)chain->model, pl_chain_has_operations(chain, 0)};
    pl_put_open(json, "facts", '[');
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++)
        pl_put_number(json, NULL, facts[i]);
    for (size_t unit = 0; unit < chain->num_units; unit++)
        pl_put_number(json, NULL, (uint64_t)chain->kind[unit]);
    put_unit_ipus(json, chain);
    pl_put_close(json);
}

void pl_page_put_names(pl_json *json, const char *const *names, const uint8_t *counted,
                       size_t num_units) {
    const pl_shared_ends ends = pl_names_shared_ends(names, counted, num_units);
    pl_put_texts(json, "labels", names, num_units);
    pl_put_open(json, "short_labels", '[');
    for (size_t unit = 0; unit < num_units; unit++) {
        pl_text name = {0};
        pl_text_add_own_name(&name, &ends, names, unit);
        json->text->failed = json->text->failed || name.failed;
        pl_put_text(json, NULL, name.data);
        free(name.data);
    }
    pl_put_close(json);
}

void pl_page_put_chain(pl_json *json, const char *key, const pl_chain *chain,
                       const uint8_t *counted, const uint64_t *cuts_bytes, const uint64_t *cycles) {
    const size_t num_units = pl_chain_num_units(chain);
    pl_put_open(json, key, '{');
    pl_page_put_names(json, chain->labels, counted, num_units);
    pl_put_open(json, "parts", '[');
    for (int part = 0; part < POPLINER_NUM_PARTS; part++) {
        const pl_part_row *info = &pl_parts[part];
        if (pl_part_is_within(part))
            continue;
        pl_put_open(json, NULL, '{');
        pl_put_text(json, "name", info->name);
        pl_put_number(json, "number", (uint64_t)part);
        pl_put_text(json, "text", info->text);
        pl_put_close(json);
    }
    pl_put_close(json);
    pl_put_open(json, "tile_parts", '{');
    for (size_t part = 0; part < PL_NUM_TILE_PARTS; part++)
        pl_put_text(json, pl_tile_parts[part].key, pl_tile_parts[part].text);
    pl_put_close(json);
    pl_put_text(json, "memory_model", pl_memory_model_name(chain->model));
    pl_put_flag(json, "follows_account", pl_chain_is_full(chain));
    if (cuts_bytes != NULL) {
        put_facts(json, chain);
        pl_page_put_numbers(json, "cuts", cuts_bytes, num_units);
        pl_page_put_differences(json, "cycles", cycles, pl_triangle_size(num_units));
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

/* Bytes in a unit of time, as text, for it may be larger than a browser's whole numbers. */
static void put_bandwidth(pl_json *json, popliner_ipu_link bandwidth) {
    const uint64_t numbers[] = {bandwidth.bytes, bandwidth.cycles};
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
    put_bandwidth(json, o->link_bandwidth);
    pl_put_close(json);
    pl_put_flag(json, "all_is_asked_for", !wishes->has_usual_links);
    pl_put_open(json, "single", '[');
    for (size_t i = 0; i < o->num_ipu_links; i++) {
        pl_put_open(json, NULL, '[');
        pl_put_number(json, NULL, o->ipu_links[i].first_ipu);
        pl_put_number(json, NULL, o->ipu_links[i].second_ipu);
        put_bandwidth(json, o->ipu_links[i]);
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

/* Puts what the page calls each objective, and if it is a count. */
static void put_objective_words(pl_json *json) {
    pl_put_open(json, "objective_words", '{');
    for (int i = 0; i < POPLINER_NUM_OBJECTIVES; i++) {
        const pl_objective *own = pl_objective_of((popliner_objective)i);
        pl_put_open(json, own->name, '{');
        pl_put_text(json, "title", own->title);
        pl_put_flag(json, "is_count", own->unit == PL_UNIT_COUNT || own->unit == PL_UNIT_TOKENS);
        pl_put_close(json);
    }
    pl_put_close(json);
}

void pl_page_put_wishes(pl_json *json, const char *key, const pl_page_wishes *wishes,
                        size_t num_units) {
    const popliner_solver_options *options = wishes->options;
    size_t num_objectives;
    const popliner_objective *objectives = pl_objectives_of(options, &num_objectives);
    pl_put_open(json, key, '{');
    pl_put_number(json, "num_ipus", options->num_ipus);
    if (options->mem_per_tile <= PL_PAGE_MOST_NUMBER)
        pl_put_number(json, "limit_bytes", options->mem_per_tile);
    else
        pl_put_null(json, "limit_bytes");
    put_objective_words(json);
    pl_put_text(json, "need", need_names[wishes->need]);
    pl_put_open(json, "objectives", '[');
    for (size_t i = 0; i < num_objectives; i++)
        pl_put_text(json, NULL, pl_objective_name(objectives[i]));
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
