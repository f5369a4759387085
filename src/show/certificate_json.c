/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "show/certificate_data.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory/chain_data.h"
#include "model/operations_data.h"
#include "pipeline/pipeline.h"
#include "show/report_parts.h"
#include "solve/links.h"

/* Adds `value`, which it takes, to an object; false when memory is short. */
static bool put(json_t *object, const char *key, json_t *value) {
    return json_object_set_new(object, key, value) == 0;
}

json_t *pl_certificate_number_json(uint64_t value, uint64_t divisor) {
    return divisor == 1 ? json_integer((json_int_t)value)
                        : json_real((double)value / (double)divisor);
}

static json_t *text_or_null(const char *text) {
    return text == NULL ? json_null() : pl_report_json_text(text);
}

static json_t *count_or_null(uint64_t count) {
    return count == 0 ? json_null() : json_integer((json_int_t)count);
}

/* Adds layer_from, layer_to and mem, and head and tail if the chain can have them. */
static bool put_stage(const popliner_certificate *c, size_t i, json_t *json) {
    const popliner_plan_stage *stage = &c->plan.stages[i];
    const popliner_chain *chain = c->input.chain;
    json_t *mem = c->is_measured
                      ? pl_report_memory_json(&c->details[i], chain->model->follows_account,
                                              &c->input.pipeline)
                      : json_pack("{s:I}", "max_tile_mem", (json_int_t)stage->peak_bytes);
    bool done = put(json, "layer_from", text_or_null(pl_certificate_layer(c, stage->first_unit)));
    done = put(json, "layer_to",
               text_or_null(pl_certificate_layer(c, pl_certificate_last_layer(c, stage)))) &&
           done;
    done = put(json, "mem", mem) && done;
    if (!c->is_measured || chain->model->has_unlayered_unit)
        return done;
    bool has_head = pl_chain_unit_at(chain, stage->first_unit)->kind == POPLINER_UNIT_HEAD;
    bool has_tail = pl_chain_unit_at(chain, stage->last_unit)->kind == POPLINER_UNIT_TAIL;
    done = put(json, "head", json_boolean(has_head)) && done;
    return put(json, "tail", json_boolean(has_tail)) && done;
}

popliner_status pl_certificate_add_stages_json(const popliner_certificate *certificate,
                                               pl_text *text, popliner_error *error) {
    json_t *stages = json_array();
    bool done = stages != NULL;
    for (size_t i = 0; done && i < certificate->plan.num_stages; i++) {
        json_t *stage = json_object();
        done = stage != NULL && put_stage(certificate, i, stage);
        /* the original knows no stages on one IPU */
        if (done && certificate->input.options->num_mapped_stages > 0)
            done = put(stage, "ipu", json_integer((json_int_t)certificate->plan.stages[i].ipu));
        if (done && certificate->stage_choices != NULL)
            done = put(stage, "recompute", pl_report_json_text(certificate->stage_choices[i]));
        done = json_array_append_new(stages, stage) == 0 && done;
    }
    return pl_report_json(pl_report_whole(stages, done), text, error);
}

/* Where a stage, or a unit, needs most memory. */
static json_t *peak_json(const popliner_certificate *c, const popliner_stage_detail *d) {
    const pl_certificate_input *in = &c->input;
    if (!c->is_measured)
        return json_null();
    size_t operation = popliner_chain_operation_at(in->chain, d->step);
    popliner_step step = POPLINER_STEP_INIT;
    popliner_program program = POPLINER_PROGRAM_INIT;
    if (popliner_profile_step(in->profile, d->step, &step, NULL) == POPLINER_OK)
        popliner_profile_program(in->profile, step.program, &program, NULL);
    json_t *json = json_pack("{s:I, s:I, s:I}", "tile", (json_int_t)d->tile, "step",
                             (json_int_t)d->step, "bytes", (json_int_t)d->tile_bytes);
    bool done = put(json, "stash_bytes", json_integer((json_int_t)d->tile_stash_bytes));
    done = put(json, "layout_bytes", json_integer((json_int_t)d->tile_layout_bytes)) && done;
    done =
        put(json, "unexplained_bytes", json_integer((json_int_t)d->tile_unexplained_bytes)) && done;
    done =
        put(json, "operation",
            text_or_null(
                operation == SIZE_MAX ? NULL : pl_operation_at(in->operations, operation)->name)) &&
        done;
    done = put(json, "program", text_or_null(program.name)) && done;
    done = put(json, "largest_variables", pl_report_variables_json(d)) && done;
    if (done)
        return json;
    json_decref(json);
    return NULL;
}

/* The names of the layers in a stage. */
static json_t *layers_json(const popliner_certificate *c, const popliner_plan_stage *stage) {
    json_t *layers = json_array();
    for (size_t unit = stage->first_unit; layers != NULL && unit <= stage->last_unit; unit++) {
        const char *name = pl_certificate_layer(c, unit);
        bool is_layer =
            c->input.options->counted_units == NULL || c->input.options->counted_units[unit] != 0;
        if (name != NULL && is_layer &&
            json_array_append_new(layers, pl_report_json_text(name)) != 0) {
            json_decref(layers);
            layers = NULL;
        }
    }
    return layers;
}

/* The original's solver has no objectives, and looks at no cuts. */
static bool knows_cuts(const popliner_certificate *c) {
    return c->plan.num_values > 0;
}

/* What a stage needs, in a model that knows what compiling adds. */
static json_t *needs_json(const popliner_certificate *c, size_t i) {
    if (!c->is_measured || !c->input.chain->model->follows_account)
        return json_null();
    return pl_report_needs_json(&c->details[i], pl_certificate_limit(c, c->plan.stages[i].ipu));
}

static json_t *stage_json(const popliner_certificate *c, size_t i) {
    const popliner_plan_stage *stage = &c->plan.stages[i];
    json_t *json = json_object();
    bool done = put(json, "ipu", json_integer((json_int_t)stage->ipu));
    done = put(json, "layers", layers_json(c, stage)) && done;
    done = put_stage(c, i, json) && done;
    done = put(json, "cycles",
               c->input.has_cycles
                   ? pl_certificate_number_json(stage->cycles, c->input.cycles_per_time_unit)
                   : json_null()) &&
           done;
    done = put(json, "cut_bytes",
               knows_cuts(c) ? pl_certificate_number_json(stage->cut_bytes, c->input.cuts_per_unit)
                             : json_null()) &&
           done;
    if (pl_links_exist(c->input.options))
        done = put(json, "link_cycles",
                   pl_certificate_number_json(stage->link_cycles, c->input.cycles_per_time_unit)) &&
               done;
    done = put(json, "parameter_bytes",
               c->is_measured ? json_integer((json_int_t)c->details[i].parameter_bytes)
                              : json_null()) &&
           done;
    done = put(json, "needs", needs_json(c, i)) && done;
    done = put(json, "peak", peak_json(c, c->is_measured ? &c->details[i] : NULL)) && done;
    if (c->stage_choices != NULL)
        done = put(json, "recompute", pl_report_json_text(c->stage_choices[i])) && done;
    if (done)
        return json;
    json_decref(json);
    return NULL;
}

/* What proved something; null if nothing did. */
static json_t *proof_json(popliner_proof proof) {
    return proof == POPLINER_PROOF_NONE ? json_null() : json_string(popliner_proof_name(proof));
}

json_t *pl_certificate_order_json(const pl_certificate_input *input) {
    return text_or_null(input->unit_order);
}

json_t *pl_certificate_objectives_json(const popliner_certificate *c) {
    const popliner_plan *plan = &c->plan;
    json_t *list = json_array();
    for (size_t i = 0; list != NULL && i < plan->num_values; i++) {
        uint64_t divisor = pl_certificate_divisor(c, plan->values[i].objective);
        json_t *item = json_pack(
            "{s:s, s:o, s:o, s:o}", "name", popliner_objective_name(plan->values[i].objective),
            "value", pl_certificate_number_json(plan->values[i].value, divisor), "bound",
            plan->status == POPLINER_PLAN_INFEASIBLE
                ? json_null()
                : pl_certificate_number_json(plan->values[i].bound, divisor),
            "proof", proof_json(plan->values[i].proof));
        if (json_array_append_new(list, item) != 0) {
            json_decref(list);
            list = NULL;
        }
    }
    return list;
}

/* The constraints that contradict each other, as texts. */
static json_t *contradiction_json(const popliner_certificate *c) {
    json_t *list = json_array();
    for (size_t i = 0; list != NULL && i < pl_certificate_num_constraints(c); i++) {
        pl_text text = {0};
        pl_certificate_add_constraint(c, i, &text);
        if (text.failed || json_array_append_new(list, pl_report_json_text(text.data)) != 0) {
            json_decref(list);
            list = NULL;
        }
        free(text.data);
    }
    return list;
}

static json_t *constraint_json(const popliner_certificate *c,
                               const popliner_constraint *constraint) {
    pl_text text = {0};
    pl_certificate_word_constraint(c, constraint, &text);
    json_t *json = text.failed ? NULL : pl_report_json_text(text.data);
    free(text.data);
    return json;
}

/* The constraints of which to leave out one is not enough. */
static json_t *left_out_json(const popliner_certificate *c) {
    const popliner_infeasibility *why = &c->plan.infeasibility;
    json_t *list = json_array();
    for (size_t i = 0; list != NULL && i < why->num_left_out; i++)
        if (json_array_append_new(list, constraint_json(c, &why->left_out[i])) != 0) {
            json_decref(list);
            list = NULL;
        }
    return list;
}

/* A change that is enough. */
static json_t *remedy_json(const popliner_certificate *c, const popliner_remedy *remedy) {
    static const char *const kinds[] = {"ipu_limit", "every_limit", "constraint",
                                        "without_device_map", "cut_run"};
    json_t *json = json_object();
    bool done = put(json, "change", json_string(kinds[remedy->kind]));
    switch (remedy->kind) {
    case POPLINER_REMEDY_IPU_LIMIT:
        done = put(json, "ipu", json_integer((json_int_t)remedy->ipu)) && done;
        done = put(json, "bytes", json_integer((json_int_t)remedy->bytes)) && done;
        break;
    case POPLINER_REMEDY_EVERY_LIMIT:
        done = put(json, "more_bytes", json_integer((json_int_t)remedy->bytes)) && done;
        break;
    case POPLINER_REMEDY_CONSTRAINT:
        done = put(json, "constraint", constraint_json(c, &remedy->constraint)) && done;
        done = put(json, "number",
                   pl_remedy_has_number(remedy) ? json_integer((json_int_t)remedy->number)
                                                : json_null()) &&
               done;
        break;
    case POPLINER_REMEDY_CUT_RUN:
        done = put(json, "constraint", constraint_json(c, &remedy->constraint)) && done;
        done =
            put(json, "last", pl_report_json_text(c->input.unit_names[remedy->last_unit])) && done;
        done = put(json, "enough",
                   remedy->enough_unit == SIZE_MAX
                       ? json_null()
                       : pl_report_json_text(c->input.unit_names[remedy->enough_unit])) &&
               done;
        break;
    case POPLINER_REMEDY_WITHOUT_MAP:
        done = put(json, "num_ipus", json_integer((json_int_t)remedy->number)) && done;
        break;
    case POPLINER_NUM_REMEDY_KINDS:
        break;
    }
    if (done)
        return json;
    json_decref(json);
    return NULL;
}

static json_t *remedies_json(const popliner_certificate *c) {
    const popliner_infeasibility *why = &c->plan.infeasibility;
    json_t *list = json_array();
    for (size_t i = 0; list != NULL && i < why->num_remedies; i++)
        if (json_array_append_new(list, remedy_json(c, &why->remedies[i])) != 0) {
            json_decref(list);
            list = NULL;
        }
    return list;
}

json_t *pl_certificate_infeasibility_json(const popliner_certificate *c) {
    static const char *const reasons[] = {"none",     "constraints", "layer",
                                          "capacity", "unknown",     "place"};
    const popliner_infeasibility *why = &c->plan.infeasibility;
    if (why->obstacle == POPLINER_OBSTACLE_NONE)
        return json_null();
    json_t *json = json_object();
    bool done = put(json, "reason", json_string(reasons[why->obstacle]));
    if (why->obstacle == POPLINER_OBSTACLE_CONSTRAINTS)
        done = put(json, "constraints", contradiction_json(c)) && done;
    bool has_unit =
        why->obstacle == POPLINER_OBSTACLE_UNIT || why->obstacle == POPLINER_OBSTACLE_PLACE;
    if (has_unit) {
        done = put(json, "layer", pl_report_json_text(c->input.unit_names[why->unit])) && done;
        done = put(json, "needs_bytes", json_integer((json_int_t)why->unit_bytes)) && done;
        done = put(json, "limit_bytes", json_integer((json_int_t)why->limit_bytes)) && done;
        done = put(json, "excess_bytes",
                   json_integer((json_int_t)(why->unit_bytes - why->limit_bytes))) &&
               done;
        done = put(json, "peak", peak_json(c, &c->unit)) && done;
    }
    if (why->obstacle == POPLINER_OBSTACLE_PLACE)
        done = put(json, "fits_on_ipu", json_integer((json_int_t)why->fitting_ipu)) && done;
    if (has_unit || why->obstacle == POPLINER_OBSTACLE_CAPACITY)
        done = put(json, "enough_mem_per_tile", count_or_null(why->enough_bytes)) && done &&
               put(json, "needed_mem_per_tile", count_or_null(why->enough_bytes_bound));
    if (why->obstacle != POPLINER_OBSTACLE_UNKNOWN) {
        done = put(json, "enough_num_ipus", count_or_null(why->enough_stages)) && done;
        done = put(json, "remedies", remedies_json(c)) && done;
        done = put(json, "left_out_together", left_out_json(c)) && done;
        done = put(json, "has_all_remedies", json_boolean(why->has_all_remedies)) && done;
    }
    if (done)
        return json;
    json_decref(json);
    return NULL;
}

/* A list of numbers. */
static json_t *numbers_json(const size_t *numbers, size_t count) {
    json_t *list = json_array();
    for (size_t i = 0; list != NULL && i < count; i++)
        if (json_array_append_new(list, json_integer((json_int_t)numbers[i])) != 0) {
            json_decref(list);
            list = NULL;
        }
    return list;
}

/* In bytes in a unit of time. */
static json_t *bandwidth_json(const popliner_certificate *c, popliner_bandwidth bandwidth) {
    double cycles = (double)bandwidth.cycles / (double)c->input.cycles_per_time_unit;
    return json_real((double)bandwidth.bytes / cycles);
}

/* What is told of the links between IPUs. */
static bool put_links(const popliner_certificate *c, json_t *json) {
    const popliner_solver_options *o = c->input.options;
    json_t *links = json_object();
    bool done =
        put(json, "link_bandwidth",
            o->link_bandwidth.bytes > 0 ? bandwidth_json(c, o->link_bandwidth) : json_null());
    for (size_t i = 0; i < o->num_ipu_links; i++) {
        const popliner_ipu_link *link = &o->ipu_links[i];
        char key[64];
        snprintf(key, sizeof key, "%zu-%zu", link->first_ipu, link->second_ipu);
        done = put(links, key, bandwidth_json(c, link->bandwidth)) && done;
    }
    return put(json, "links", links) && done;
}

/* The constraints that are lists: cuts, pairs, placements, limits and speeds of IPUs. */
static bool put_lists(const popliner_certificate *c, json_t *json) {
    const popliner_solver_options *o = c->input.options;
    const char *const *names = c->input.unit_names;
    size_t num_units = c->input.num_units;
    json_t *cuts = json_array();
    json_t *no_cuts = json_array();
    json_t *together = json_array();
    json_t *place = json_object();
    json_t *limits = json_object();
    json_t *speeds = json_object();
    bool done = true;
    char key[32];
    for (size_t unit = 1; o->cut_rules != NULL && unit < num_units; unit++) {
        json_t *list = o->cut_rules[unit] == POPLINER_CUT_REQUIRED ? cuts : no_cuts;
        if (o->cut_rules[unit] != POPLINER_CUT_FREE)
            done = json_array_append_new(list, pl_report_json_text(names[unit - 1])) == 0 && done;
    }
    for (size_t i = 0; i < o->num_pairs; i++)
        done = json_array_append_new(
                   together, json_pack("[o, o]", pl_report_json_text(names[o->pairs[i].first_unit]),
                                       pl_report_json_text(names[o->pairs[i].second_unit]))) == 0 &&
               done;
    for (size_t i = 0; i < o->num_placements; i++) {
        /* a key, too, must be valid UTF-8 */
        json_t *name = pl_report_json_text(names[o->placements[i].unit]);
        done =
            name != NULL &&
            put(place, json_string_value(name), json_integer((json_int_t)o->placements[i].ipu)) &&
            done;
        json_decref(name);
    }
    for (size_t i = 0; i < o->num_ipu_limits; i++) {
        snprintf(key, sizeof key, "%zu", o->ipu_limits[i].ipu);
        done = put(limits, key, json_integer((json_int_t)o->ipu_limits[i].bytes)) && done;
    }
    for (size_t i = 0; i < o->num_ipu_speeds; i++) {
        snprintf(key, sizeof key, "%zu", o->ipu_speeds[i].ipu);
        double speed = (double)o->ipu_speeds[i].millionths / POPLINER_SPEED_ONE;
        done = put(speeds, key, json_real(speed)) && done;
    }
    done = put(json, "cut_after", cuts) && done;
    done = put(json, "no_cut_after", no_cuts) && done;
    done = put(json, "together", together) && done;
    done = put(json, "place", place) && done;
    done = put(json, "ipu_mem_per_tile", limits) && done;
    return put(json, "ipu_speed", speeds) && done;
}

static json_t *effects_json(unsigned effects) {
    json_t *list = json_array();
    for (size_t i = 0; list != NULL && pl_effect_name(i) != NULL; i++)
        if ((effects >> i & 1) != 0 &&
            json_array_append_new(list, json_string(pl_effect_name(i))) != 0) {
            json_decref(list);
            list = NULL;
        }
    return list;
}

/* The copies that the stages of the plan keep, from the last one; null: those of the schedule. */
static json_t *copies_json(const popliner_certificate *c) {
    if (!pl_pipeline_has_own_copies(&c->input.pipeline))
        return json_null();
    json_t *list = json_array();
    bool done = list != NULL;
    size_t num_stages = c->plan.num_stages;
    for (size_t i = 0; i < num_stages; i++) {
        size_t place = pl_pipeline_place(&c->input.pipeline, num_stages, num_stages - 1 - i);
        size_t copies = pl_pipeline_copies(&c->input.pipeline, place);
        done = json_array_append_new(list, json_integer((json_int_t)copies)) == 0 && done;
    }
    return pl_report_whole(list, done);
}

/* How many IPUs there may be, or those that the device map names. */
static size_t num_ipus(const popliner_solver_options *o) {
    size_t count = 0;
    if (o->num_mapped_stages == 0)
        return o->max_stages;
    for (size_t stage = 0; stage < o->num_mapped_stages; stage++) {
        size_t first = 0;
        while (o->device_map[first] != o->device_map[stage])
            first++;
        count += first == stage;
    }
    return count;
}

static json_t *options_json(const popliner_certificate *c) {
    static const char *const risks[] = {
        [POPLINER_NEED_EXPECTED] = "expected",
        [POPLINER_NEED_LEAST] = "high",
        [POPLINER_NEED_MOST] = "low",
    };
    const popliner_solver_options *o = c->input.options;
    const popliner_pipeline *pipeline = &c->input.pipeline;
    bool is_mapped = o->num_mapped_stages > 0;
    json_t *json = json_object();
    json_t *limit = o->max_stage_bytes >= INT64_MAX ? json_null()
                                                    : json_integer((json_int_t)o->max_stage_bytes);
    bool done = put(json, "num_ipus", json_integer((json_int_t)num_ipus(o)));
    done = put(json, "device_map",
               is_mapped ? numbers_json(o->device_map, o->num_mapped_stages) : json_null()) &&
           done;
    done = put(json, "mem_per_tile", limit) && done;
    done = put(json, "min_layers", json_integer((json_int_t)o->min_units)) && done;
    done = put(json, "max_layers", count_or_null(o->max_units)) && done;
    done = put_lists(c, json) && done;
    done = put_links(c, json) && done;
    done = put(json, "slack_percent", json_real(o->slack_percent)) && done;
    done = put(json, "time_limit_seconds",
               o->time_limit_seconds > 0 ? json_real(o->time_limit_seconds) : json_null()) &&
           done;
    done = put(json, "schedule", json_string(pl_schedule_name(pipeline->schedule))) && done;
    done = put(json, "recompute", json_string(pl_recompute_name(pipeline->recompute))) && done;
    done = put(json, "copies", copies_json(c)) && done;
    if (c->is_measured) {
        done = put(json, "memory_model", json_string(c->input.chain->model->name)) && done;
        done = put(json, "effects", effects_json(pipeline->effects)) && done;
        done =
            put(json, "accumulators", json_string(pl_accumulators_name(pipeline->accumulators))) &&
            done;
        done = put(json, "risk", json_string(risks[c->input.need])) && done;
        if (pl_is_calibrated(&pipeline->calibration))
            done =
                put(json, "calibration",
                    json_pack("{s:o, s:o}", "earlier_stages",
                              pl_report_scales_json(&pipeline->calibration.earlier), "last_stage",
                              pl_report_scales_json(&pipeline->calibration.last))) &&
                done;
    }
    if (done)
        return json;
    json_decref(json);
    return NULL;
}

static json_t *totals_json(const popliner_certificate *c) {
    const popliner_plan *plan = &c->plan;
    const pl_certificate_input *in = &c->input;
    return json_pack(
        "{s:I, s:o, s:o, s:I, s:o}", "memory", (json_int_t)plan->peak_bytes, "cycles",
        in->has_cycles ? pl_certificate_number_json(plan->cycles, in->cycles_per_time_unit)
                       : json_null(),
        "traffic",
        knows_cuts(c) ? pl_certificate_number_json(plan->cut_bytes, in->cuts_per_unit)
                      : json_null(),
        "ipus", (json_int_t)plan->num_ipus, "balance",
        knows_cuts(c) ? pl_certificate_number_json(
                            plan->spread, pl_certificate_divisor(c, POPLINER_OBJECTIVE_BALANCE))
                      : json_null());
}

/* What the log has of the answer. */
static json_t *messages_json(const pl_messages *messages) {
    json_t *list = json_array();
    bool done = list != NULL;
    for (size_t i = 0; done && i < messages->count; i++)
        done = pl_report_append(list, json_pack("{s:s, s:o}", "level",
                                                pl_level_name(messages->items[i].level), "text",
                                                pl_report_json_text(messages->items[i].text)));
    return pl_report_whole(list, done);
}

json_t *pl_certificate_json(const popliner_certificate *certificate) {
    const popliner_plan *plan = &certificate->plan;
    json_t *json = json_object();
    json_t *stages = json_array();
    bool done = put(json, "status", json_string(pl_certificate_status(plan)));
    done = put(json, "stopped", json_boolean(plan->is_stopped)) && done;
    done = put(json, "proof", proof_json(plan->proof)) && done;
    done = put(json, "order", pl_certificate_order_json(&certificate->input)) && done;
    done = put(json, "time_unit", pl_report_json_text(certificate->input.time_unit)) && done;
    done = put(json, "objectives", pl_certificate_objectives_json(certificate)) && done;
    done = put(json, "totals", totals_json(certificate)) && done;
    for (size_t i = 0; i < plan->num_stages; i++)
        done = json_array_append_new(stages, stage_json(certificate, i)) == 0 && done;
    done = put(json, "stages", stages) && done;
    done = put(json, "bottleneck",
               plan->num_stages == 0 ? json_null()
                                     : json_integer((json_int_t)certificate->bottleneck)) &&
           done;
    done = put(json, "infeasibility", pl_certificate_infeasibility_json(certificate)) && done;
    done = put(json, "messages", messages_json(&certificate->messages)) && done;
    done = put(json, "options", options_json(certificate)) && done;
    return pl_report_whole(json, done);
}

popliner_status pl_certificate_add_json(const popliner_certificate *certificate, pl_text *text,
                                        popliner_error *error) {
    return pl_report_json(pl_certificate_json(certificate), text, error);
}
