/* An answer as JSON, and the members that other reports in JSON have in common with it.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "answer/certificate_data.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "memory/chain_data.h"
#include "memory/parts.h"
#include "model/operations.h"
#include "pipeline/pipeline.h"
#include "profile/profile_data.h"
#include "solve/objective.h"

/* ---- what reports share ---- */

double pl_report_percent(uint64_t bytes, uint64_t truth_bytes) {
    if (truth_bytes == 0)
        return bytes == 0 ? 0 : 100;
    return 100 * ((double)bytes - (double)truth_bytes) / (double)truth_bytes;
}

/* The object `mem` of the original's output, with what the full memory model and the pipeline
 * add. */
static void put_memory_parts(const popliner_stage_detail *detail, bool is_full,
                             const popliner_pipeline *pipeline, pl_json *json) {
    const bool is_shown[PL_PART_NOWHERE] = {
        [PL_PART_ALWAYS] = true,
        [PL_PART_FULL] = is_full,
        [PL_PART_TRAINING] = is_full && pl_pipeline_kind(pipeline) != PL_SCHEDULE_PLAIN,
        [PL_PART_KEPT] = pl_pipeline_keeps(pipeline),
    };
    pl_put_open(json, "mem", '{');
    pl_put_number(json, "total_mem", detail->total_bytes);
    pl_put_number(json, "max_tile_mem", detail->tile_bytes);
    for (int place = 0; place < PL_PART_NOWHERE; place++) {
        for (int part = 0; is_shown[place] && part < POPLINER_NUM_PARTS; part++)
            if ((int)pl_parts[part].place == place)
                pl_put_number(json, pl_parts[part].name, detail->part_bytes[part]);
    }
    pl_put_close(json);
}

static void put_effects(unsigned effects, pl_json *json) {
    pl_put_open(json, "effects", '[');
    for (size_t i = 0; pl_effect_name(i) != NULL; i++)
        if ((effects >> i & 1) != 0)
            pl_put_text(json, NULL, pl_effect_name(i));
    pl_put_close(json);
}

void pl_report_messages_json(const pl_messages *messages, pl_json *json) {
    pl_put_open(json, "messages", '[');
    for (size_t i = 0; i < messages->count; i++) {
        pl_put_open(json, NULL, '{');
        pl_put_text(json, "level", pl_level_name(messages->items[i].level));
        pl_put_text(json, "text", messages->items[i].text);
        pl_put_close(json);
    }
    pl_put_close(json);
}

static void put_variables(const popliner_stage_detail *detail, pl_json *json) {
    pl_put_open(json, "largest_variables", '[');
    for (size_t i = 0; i < detail->num_variables; i++) {
        const popliner_stage_variable *v = &detail->variables[i];
        pl_put_open(json, NULL, '{');
        pl_put_text(json, "name", v->name);
        pl_put_text(json, "category", v->category);
        pl_put_number(json, "size_bytes", v->size_bytes);
        pl_put_close(json);
    }
    pl_put_close(json);
}

/* ---- answers ---- */

void pl_certificate_known_json(pl_json *json, const char *key, bool is_known, uint64_t value,
                               uint64_t divisor) {
    if (!is_known)
        pl_put_null(json, key);
    else if (divisor == 1)
        pl_put_number(json, key, value);
    else
        pl_put_real(json, key, (double)value / (double)divisor);
}

void pl_certificate_put_fit(pl_fit fit, pl_json *json) {
    if (fit == PL_FIT_UNKNOWN)
        pl_put_null(json, "fits");
    else
        pl_put_flag(json, "fits", fit == PL_FITS);
}

/* The name of a stage's first or last unit; NULL for what is in no layer. */
static const char *layer_of(const pl_certificate *certificate, size_t unit) {
    return certificate->is_measured ? pl_chain_layer_name(certificate->input.chain, unit)
                                    : certificate->input.unit_names[unit];
}

/* Returns the last unit of a stage for layer_to: not the tail after it. */
static size_t last_layer_of(const pl_certificate *certificate, const popliner_plan_stage *stage) {
    bool has_tail = certificate->is_measured &&
                    certificate->input.chain->kind[stage->last_unit] == POPLINER_UNIT_TAIL;
    return has_tail && stage->last_unit > stage->first_unit ? stage->last_unit - 1
                                                            : stage->last_unit;
}

/* Adds layer_from, layer_to and mem, and head and tail if the chain can have them. */
static void put_stage(const pl_certificate *c, size_t i, pl_json *json) {
    const popliner_plan_stage *stage = &c->plan.stages[i];
    const pl_chain *chain = c->input.chain;
    pl_put_text(json, "layer_from", layer_of(c, stage->first_unit));
    pl_put_text(json, "layer_to", layer_of(c, last_layer_of(c, stage)));
    if (!c->is_measured) {
        pl_put_open(json, "mem", '{');
        pl_put_number(json, "max_tile_mem", stage->peak_bytes);
        pl_put_close(json);
        return;
    }
    put_memory_parts(&c->details[i], pl_chain_is_full(chain), &c->input.pipeline, json);
    if (!pl_chain_is_full(chain))
        return;
    pl_put_flag(json, "head", chain->kind[stage->first_unit] == POPLINER_UNIT_HEAD);
    pl_put_flag(json, "tail", chain->kind[stage->last_unit] == POPLINER_UNIT_TAIL);
}

void pl_certificate_add_stages_json(const pl_certificate *certificate, pl_text *text) {
    const pl_certificate *c = certificate;
    pl_json json = {.text = text};
    pl_put_open(&json, NULL, '[');
    for (size_t i = 0; i < c->plan.num_stages; i++) {
        pl_put_open(&json, NULL, '{');
        put_stage(c, i, &json);
        /* the original knows no stages on one IPU */
        if (c->input.options->num_mapped_stages > 0)
            pl_put_number(&json, "ipu", c->plan.stages[i].ipu);
        if (c->plan.choices != NULL)
            pl_put_text(&json, "recompute", c->plan.choices[i]);
        pl_put_close(&json);
    }
    pl_put_close(&json);
}

/* Where a stage, or a unit, needs most memory. */
static void put_peak(const pl_certificate *c, const popliner_stage_detail *d, pl_json *json) {
    const pl_certificate_input *in = &c->input;
    if (!pl_put_open_if(json, c->is_measured, "peak", '{'))
        return;
    size_t operation = pl_chain_operation_at(in->chain, d->step);
    const popliner_profile *p = in->chain->profile;
    const uint32_t program = d->step < p->num_steps ? p->step_program[d->step] : PL_NONE;
    pl_put_number(json, "tile", d->tile);
    pl_put_number(json, "step", d->step);
    pl_put_number(json, "bytes", d->tile_bytes);
    for (size_t part = 0; part < PL_NUM_TILE_PARTS; part++)
        pl_put_number(json, pl_tile_parts[part].key, pl_tile_part_bytes(d, part));
    pl_put_text(json, "operation",
                operation == SIZE_MAX ? NULL
                                      : pl_operation_at(in->chain->operations, operation)->name);
    pl_put_text(json, "program", program == PL_NONE ? NULL : pl_profile_program_name(p, program));
    put_variables(d, json);
    pl_put_close(json);
}

/* The names of the layers in a stage. */
static void put_layers(const pl_certificate *c, const popliner_plan_stage *stage, pl_json *json) {
    const uint8_t *counted = c->input.options->counted_units;
    pl_put_open(json, "layers", '[');
    for (size_t unit = stage->first_unit; unit <= stage->last_unit; unit++) {
        const char *name = layer_of(c, unit);
        if (name != NULL && (counted == NULL || counted[unit] != 0))
            pl_put_text(json, NULL, name);
    }
    pl_put_close(json);
}

/* The nodes of a graph that a stage has. */
static void put_nodes(const pl_certificate *c, const popliner_plan_stage *stage, pl_json *json) {
    if (c->node_names == NULL)
        return;
    pl_put_open(json, "nodes", '[');
    for (size_t i = c->nodes_from[stage->first_unit]; i < c->nodes_from[stage->last_unit + 1]; i++)
        pl_put_text(json, NULL, c->node_names[i]);
    pl_put_close(json);
}

/* Writes the proof for the whole graph; null where there is none. */
static void put_graph(const pl_certificate *c, pl_json *json) {
    if (!pl_put_open_if(json, c->plan.is_graph && c->node_names != NULL, "graph", '{'))
        return;
    pl_put_flag(json, "proven", c->plan.is_graph_proven);
    pl_certificate_known_json(
        json, "bound", c->plan.is_graph_bound_known && c->plan.num_values > 0, c->plan.graph_bound,
        c->plan.num_values == 0 ? 1 : pl_certificate_divisor(c, c->plan.values[0].objective));
    pl_put_number(json, "down_sets", c->plan.num_down_sets);
    pl_put_close(json);
}

/* The original's solver has no objectives, and looks at no cuts. */
static bool knows_cuts(const pl_certificate *c) {
    return c->plan.num_values > 0;
}

/* The need of a stage, and whether it fits, in a model that counts what compiling adds. */
static void put_needs(const pl_certificate *c, size_t i, pl_json *json) {
    if (!pl_put_open_if(json, pl_certificate_has_verdicts(c), "needs", '{'))
        return;
    const popliner_stage_detail *d = &c->details[i];
    const uint64_t limit_bytes = pl_certificate_limit(c, c->plan.stages[i].ipu);
    const pl_verdict_row *row = pl_verdict_of_number((size_t)c->verdicts[i]);
    pl_put_number(json, "at_least_bytes", d->need_bytes[POPLINER_NEED_LEAST]);
    pl_put_number(json, "expected_bytes", d->need_bytes[POPLINER_NEED_EXPECTED]);
    pl_put_number(json, "at_most_bytes", d->need_bytes[POPLINER_NEED_MOST]);
    pl_put_text(json, "verdict", row->words);
    pl_put_number(json, "verdict_fitted", row->num_fitted);
    pl_put_number(json, "verdict_given", row->num_given);
    pl_put_signed(json, "margin_bytes",
                  (int64_t)(limit_bytes - d->need_bytes[POPLINER_NEED_EXPECTED]));
    pl_put_real(json, "margin_spreads", pl_margin_spreads(d, limit_bytes));
    pl_put_close(json);
}

static void put_full_stage(const pl_certificate *c, size_t i, pl_json *json) {
    const popliner_plan_stage *stage = &c->plan.stages[i];
    const popliner_stage_detail *d = c->is_measured ? &c->details[i] : NULL;
    const uint64_t limit_bytes = pl_certificate_limit(c, stage->ipu);
    pl_put_open(json, NULL, '{');
    pl_put_number(json, "ipu", stage->ipu);
    pl_put_text(json, "unit_from", c->input.unit_names[stage->first_unit]);
    pl_put_text(json, "unit_to", c->input.unit_names[stage->last_unit]);
    pl_certificate_known_json(json, "limit_bytes", limit_bytes < PL_NO_LIMIT, limit_bytes, 1);
    pl_put_number(json, "need_bytes", stage->peak_bytes);
    pl_certificate_put_fit(pl_certificate_fit_of(c, i), json);
    put_layers(c, stage, json);
    put_nodes(c, stage, json);
    put_stage(c, i, json);
    pl_stage_facts_json(c, i, json);
    if (c->parts != NULL) {
        pl_put_open(json, "parts", '{');
        for (size_t k = 0; k < PL_NUM_STAGE_PARTS; k++)
            pl_put_number(json, pl_stage_part_names[k], c->parts[i][k]);
        pl_put_close(json);
    }
    if (c->most_bytes != NULL)
        pl_put_number(json, "at_most_bytes", c->most_bytes[i]);
    put_needs(c, i, json);
    put_peak(c, d, json);
    pl_put_close(json);
}

/* Writes the method of a proof; null if there is none. */
static void put_proof(popliner_proof proof, pl_json *json) {
    pl_put_text(json, "proof", proof == POPLINER_PROOF_NONE ? NULL : pl_proof_name(proof));
}

static void put_objectives(const pl_certificate *c, pl_json *json) {
    const popliner_plan *plan = &c->plan;
    pl_put_open(json, "objectives", '[');
    for (size_t i = 0; i < plan->num_values; i++) {
        const popliner_plan_value *own = &plan->values[i];
        const uint64_t divisor = pl_certificate_divisor(c, own->objective);
        pl_put_open(json, NULL, '{');
        pl_put_text(json, "name", pl_objective_name(own->objective));
        pl_certificate_known_json(json, "value", true, own->value, divisor);
        pl_certificate_known_json(json, "bound",
                                  plan->status != POPLINER_PLAN_INFEASIBLE && !c->has_no_bounds,
                                  own->bound, divisor);
        put_proof(c->has_no_bounds ? POPLINER_PROOF_NONE : own->proof, json);
        pl_put_close(json);
    }
    pl_put_close(json);
}

/* A constraint in the caller's words, or with NULL a part of the contradiction. */
static void put_words(const pl_certificate *c, const char *key,
                      const popliner_constraint *constraint, size_t part, pl_json *json) {
    pl_text text = {0};
    if (constraint != NULL)
        pl_certificate_word_constraint(c, constraint, &text);
    else
        pl_certificate_add_constraint(c, part, &text);
    json->text->failed = json->text->failed || text.failed;
    pl_put_text(json, key, text.failed ? NULL : text.data);
    free(text.data);
}

/* Writes the memory of a tile (of an IPU, or SIZE_MAX) that leaves limit_bytes after the reserve;
 * 0: null. */
static void put_memory(const pl_certificate *c, const char *key, size_t ipu, uint64_t limit_bytes,
                       pl_json *json) {
    uint64_t memory_bytes = limit_bytes;
    const bool is_known =
        popliner_reserve_memory(c->input.options, ipu, limit_bytes, &memory_bytes);
    pl_put_known(json, key, is_known && limit_bytes > 0 && memory_bytes > 0, memory_bytes);
}

/* A change that is enough. */
static void put_remedy(const pl_certificate *c, const popliner_remedy *remedy, pl_json *json) {
    static const char *const kinds[] = {"ipu_limit", "every_limit", "constraint",
                                        "without_device_map"};
    /* a share of a sum, rounded down, may be one byte more than those of its parts */
    const bool has_share = c->input.options->reserve_percent_hundredths > 0;
    pl_put_open(json, NULL, '{');
    pl_put_text(json, "change", kinds[remedy->kind]);
    switch (remedy->kind) {
    case POPLINER_REMEDY_IPU_LIMIT:
        pl_put_number(json, "ipu", remedy->ipu);
        put_memory(c, "bytes", remedy->ipu, remedy->bytes, json);
        break;
    case POPLINER_REMEDY_EVERY_LIMIT:
        put_memory(c, "more_bytes", SIZE_MAX, remedy->bytes + has_share, json);
        break;
    case POPLINER_REMEDY_CONSTRAINT:
        put_words(c, "constraint", &remedy->constraint, 0, json);
        pl_certificate_known_json(json, "number", pl_remedy_has_number(remedy), remedy->number, 1);
        break;
    case POPLINER_REMEDY_WITHOUT_MAP:
        pl_put_number(json, "num_ipus", remedy->number);
        break;
    case POPLINER_NUM_REMEDY_KINDS:
        break;
    }
    pl_put_close(json);
}

/* Writes changes that are enough: single ones, and constraints to leave out together. */
static void put_remedies(const pl_certificate *c, pl_json *json) {
    const popliner_infeasibility *why = &c->plan.infeasibility;
    pl_put_known(json, "enough_num_ipus", why->enough_stages > 0, why->enough_stages);
    pl_put_open(json, "remedies", '[');
    for (size_t i = 0; i < why->num_remedies; i++)
        put_remedy(c, &why->remedies[i], json);
    pl_put_close(json);
    pl_put_open(json, "left_out_together", '[');
    for (size_t i = 0; i < why->num_left_out; i++)
        put_words(c, NULL, &why->left_out[i], 0, json);
    pl_put_close(json);
    pl_put_flag(json, "has_all_remedies", why->has_all_remedies);
}

void pl_certificate_infeasibility_json(const pl_certificate *c, pl_json *json) {
    static const char *const reasons[] = {"none",     "constraints", "layer",
                                          "capacity", "unknown",     "place"};
    const popliner_infeasibility *why = &c->plan.infeasibility;
    if (!pl_put_open_if(json, why->obstacle != POPLINER_OBSTACLE_NONE, "infeasibility", '{'))
        return;
    pl_put_text(json, "reason", reasons[why->obstacle]);
    if (why->obstacle == POPLINER_OBSTACLE_CONSTRAINTS) {
        pl_put_open(json, "constraints", '[');
        for (size_t i = 0; i < pl_certificate_num_constraints(c); i++)
            put_words(c, NULL, NULL, i, json);
        pl_put_close(json);
    }
    bool has_unit =
        why->obstacle == POPLINER_OBSTACLE_UNIT || why->obstacle == POPLINER_OBSTACLE_PLACE;
    if (has_unit) {
        pl_put_text(json, "layer", c->input.unit_names[why->unit]);
        pl_put_number(json, "needs_bytes", why->unit_bytes);
        pl_put_number(json, "limit_bytes", why->limit_bytes);
        pl_put_number(json, "excess_bytes", why->unit_bytes - why->limit_bytes);
        put_peak(c, &c->unit, json);
    }
    if (why->obstacle == POPLINER_OBSTACLE_PLACE)
        pl_put_number(json, "fits_on_ipu", why->fitting_ipu);
    if (has_unit || why->obstacle == POPLINER_OBSTACLE_CAPACITY) {
        put_memory(c, "enough_mem_per_tile", SIZE_MAX, why->enough_bytes, json);
        put_memory(c, "needed_mem_per_tile", SIZE_MAX, why->enough_bytes_bound, json);
    }
    if (why->obstacle != POPLINER_OBSTACLE_UNKNOWN)
        put_remedies(c, json);
    pl_put_close(json);
}

/* In bytes in a unit of time; null if there is none. */
static void put_bandwidth(const char *key, popliner_ipu_link bandwidth, pl_json *json) {
    pl_put_real(json, key,
                bandwidth.bytes > 0 ? (double)bandwidth.bytes / (double)bandwidth.cycles
                                    : (double)NAN);
}

/* The layers after which cuts have to be, or must not be. */
static void put_cuts(const pl_certificate *c, const char *key, popliner_cut_rule rule,
                     pl_json *json) {
    const popliner_solver_options *o = c->input.options;
    pl_put_open(json, key, '[');
    for (size_t unit = 1; o->cut_rules != NULL && unit < c->input.num_units; unit++)
        if (o->cut_rules[unit] == rule)
            pl_put_text(json, NULL, c->input.unit_names[unit - 1]);
    pl_put_close(json);
}

/* Writes the options on pairs of layers, their places, and single IPUs and links. */
static void put_lists(const pl_certificate *c, pl_json *json) {
    const popliner_solver_options *o = c->input.options;
    const char *const *names = c->input.unit_names;
    char key[64];
    put_cuts(c, "cut_after", POPLINER_CUT_REQUIRED, json);
    put_cuts(c, "no_cut_after", POPLINER_CUT_FORBIDDEN, json);
    pl_put_open(json, "together", '[');
    for (size_t i = 0; i < o->num_pairs; i++) {
        pl_put_open(json, NULL, '[');
        pl_put_text(json, NULL, names[o->pairs[i].unit]);
        pl_put_text(json, NULL, names[o->pairs[i].second_unit]);
        pl_put_close(json);
    }
    pl_put_close(json);
    pl_put_open(json, "place", '{');
    for (size_t i = 0; i < o->num_placements; i++)
        pl_put_number(json, names[o->placements[i].unit], o->placements[i].ipu);
    pl_put_close(json);
    pl_ipu_numbers list;
    for (size_t which = 0; pl_ipu_numbers_at(o, which, &list); which++) {
        pl_put_open(json, list.key, '{');
        for (size_t i = 0; i < list.count; i++) {
            snprintf(key, sizeof key, "%zu", list.items[i].ipu);
            pl_certificate_known_json(json, key, true, list.items[i].value, list.unit);
        }
        pl_put_close(json);
    }
    put_bandwidth("link_bandwidth", o->link_bandwidth, json);
    pl_put_open(json, "links", '{');
    for (size_t i = 0; i < o->num_ipu_links; i++) {
        snprintf(key, sizeof key, "%zu-%zu", o->ipu_links[i].first_ipu, o->ipu_links[i].second_ipu);
        put_bandwidth(key, o->ipu_links[i], json);
    }
    pl_put_close(json);
}

/* The copies that the stages of the plan keep, from the last one; null: those of the schedule. */
static void put_copies(const pl_certificate *c, pl_json *json) {
    const popliner_pipeline *pipeline = &c->input.pipeline;
    const size_t num_stages = c->plan.num_stages;
    if (!pl_put_open_if(json, pl_pipeline_has_own_copies(pipeline), "copies", '['))
        return;
    for (size_t i = num_stages; i-- > 0;)
        pl_put_number(json, NULL,
                      pl_pipeline_copies(pipeline, pl_pipeline_place(pipeline, num_stages, i)));
    pl_put_close(json);
}

/* How many IPUs there may be, or those that the device map names. */
static size_t num_ipus(const popliner_solver_options *o) {
    size_t count = 0;
    if (o->num_mapped_stages == 0)
        return o->num_ipus;
    for (size_t stage = 0; stage < o->num_mapped_stages; stage++) {
        size_t first = 0;
        while (o->device_map[first] != o->device_map[stage])
            first++;
        count += first == stage;
    }
    return count;
}

/* Writes the options on the stages of a profile. */
static void put_memory_options(const pl_certificate *c, pl_json *json) {
    static const char *const needs[] = {
        [POPLINER_NEED_EXPECTED] = "expected",
        [POPLINER_NEED_LEAST] = "at-least",
        [POPLINER_NEED_MOST] = "at-most",
    };
    const popliner_pipeline *pipeline = &c->input.pipeline;
    pl_put_text(json, "memory_model", pl_memory_model_name(c->input.chain->model));
    put_effects(pipeline->effects, json);
    pl_put_text(json, "accumulators", pl_accumulators_name(pipeline->accumulators));
    pl_put_text(json, "need", needs[c->input.need]);
}

/* Null where they were not looked for. */
static void put_hints(const pl_certificate *c, pl_json *json) {
    const popliner_certificate *info = &c->info;
    if (!pl_put_open_if(json, info->hints != NULL, "hints", '['))
        return;
    for (size_t i = 0; i < info->num_hints; i++) {
        const popliner_hint *hint = &info->hints[i];
        pl_put_open(json, NULL, '{');
        pl_put_text(json, "label", hint->label);
        pl_put_text(json, "option", hint->option);
        pl_put_text(json, "text", hint->words);
        pl_certificate_put_fit(!hint->is_measured || !hint->is_fit_known ? PL_FIT_UNKNOWN
                               : hint->fits                              ? PL_FITS
                                                                         : PL_FITS_NOT,
                               json);
        pl_certificate_known_json(json, "memory", hint->is_measured, hint->bytes, 1);
        pl_certificate_known_json(json, "ipus", hint->is_measured, hint->num_ipus, 1);
        pl_put_close(json);
    }
    pl_put_close(json);
}

static void put_options(const pl_certificate *c, pl_json *json) {
    const popliner_solver_options *o = c->input.options;
    pl_put_open(json, "options", '{');
    pl_put_number(json, "num_ipus", num_ipus(o));
    pl_put_numbers(json, "device_map", o->num_mapped_stages > 0 ? o->device_map : NULL,
                   o->num_mapped_stages);
    pl_certificate_known_json(json, "mem_per_tile", o->mem_per_tile < INT64_MAX, o->mem_per_tile,
                              1);
    for (int kind = 0; kind < POPLINER_NUM_CONSTRAINT_KINDS; kind++) {
        const char *own = pl_constraint_of((popliner_constraint_kind)kind)->key;
        const size_t number = pl_constraint_number(o, (popliner_constraint_kind)kind);
        if (own != NULL) /* the fewest layers are a number always */
            pl_certificate_known_json(
                json, own, number > 0 || kind == POPLINER_CONSTRAINT_MIN_UNITS, number, 1);
    }
    put_lists(c, json);
    pl_put_real(json, "slack_percent", o->slack_percent);
    pl_put_real(json, "time_limit_seconds",
                o->time_limit_seconds > 0 ? o->time_limit_seconds : (double)NAN);
    pl_put_text(json, "schedule",
                pl_pipeline_has_own_copies(&c->input.pipeline)
                    ? pl_copies_rule_name(c->input.pipeline.copies.rule)
                    : pl_schedule_name(c->input.pipeline.schedule));
    pl_put_text(json, "recompute", pl_recompute_name(c->input.pipeline.recompute));
    put_copies(c, json);
    if (c->is_measured)
        put_memory_options(c, json);
    pl_put_close(json);
}

void pl_certificate_step_json(const popliner_pipeline_step *step, uint64_t divisor, pl_json *json) {
    if (step->num_micro_batches == 0)
        return;
    pl_put_open(json, "step", '{');
    pl_put_number(json, "micro_batches", step->num_micro_batches);
    pl_put_text(json, "order", step->order);
    pl_certificate_known_json(json, "cycles", step->order != NULL, step->cycles, divisor);
    pl_put_real(json, "idle_share", step->order != NULL ? step->idle_share : (double)NAN);
    pl_put_flag(json, "third_assumed", step->is_third_assumed);
    pl_put_close(json);
}

/* A plan without stages has null for what is not known: 0 would be less than any other needs. */
static void put_totals(const pl_certificate *c, pl_json *json) {
    const popliner_plan *plan = &c->plan;
    const pl_certificate_input *in = &c->input;
    const bool is_split = plan->num_stages > 0;
    const bool knows_more = is_split && knows_cuts(c);
    pl_put_open(json, "totals", '{');
    pl_certificate_known_json(json, "memory", is_split, plan->peak_bytes, 1);
    pl_certificate_known_json(json, "cycles", is_split && in->has_cycles, plan->cycles,
                              in->cycles_per_time_unit);
    pl_certificate_known_json(json, "traffic", knows_more, plan->cut_bytes, in->cuts_per_unit);
    pl_put_number(json, "ipus", plan->num_ipus);
    pl_certificate_known_json(json, "balance", knows_more, plan->spread,
                              pl_certificate_divisor(c, POPLINER_OBJECTIVE_BALANCE));
    if (c->input.kv_bytes != NULL)
        pl_certificate_known_json(json, "headroom_tokens", c->info.headroom_tokens != UINT64_MAX,
                                  c->info.headroom_tokens, 1);
    pl_certificate_step_json(&c->info.step, in->cycles_per_time_unit, json);
    pl_put_close(json);
}

void pl_certificate_plan_json(const pl_certificate *c, const char *status, pl_json *json) {
    const popliner_plan *plan = &c->plan;
    pl_put_text(json, "status", status);
    pl_put_flag(json, "stopped", plan->is_stopped);
    put_proof(plan->proof, json);
    put_objectives(c, json);
    put_totals(c, json);
    pl_put_open(json, "stages", '[');
    for (size_t i = 0; i < plan->num_stages; i++)
        put_full_stage(c, i, json);
    pl_put_close(json);
    pl_put_known(json, "bottleneck", plan->num_stages > 0 && c->bottleneck != SIZE_MAX,
                 c->bottleneck);
}

/* The headline of a screen. */
static void put_verdict(const pl_certificate *c, pl_json *json) {
    pl_put_open(json, "verdict", '{');
    pl_put_text(json, "level",
                c->tint == PL_TINT_GREEN ? "ok"
                : c->tint == PL_TINT_RED ? "no"
                                         : "doubt");
    pl_put_text(json, "headline", c->headline);
    pl_put_text(json, "proof", c->proof);
    pl_put_text(json, "record", c->record);
    pl_put_close(json);
}

void pl_certificate_json(const pl_certificate *c, const char *key, pl_json *json) {
    pl_put_open(json, key, '{');
    pl_certificate_plan_json(c, pl_certificate_status(&c->plan), json);
    pl_put_text(json, "order", c->input.unit_order);
    put_graph(c, json);
    pl_put_text(json, "time_unit", c->input.time_unit);
    put_verdict(c, json);
    pl_certificate_infeasibility_json(c, json);
    put_hints(c, json);
    pl_report_messages_json(&c->messages, json);
    put_options(c, json);
    pl_put_close(json);
}
