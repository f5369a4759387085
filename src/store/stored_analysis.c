/* Stores and loads the arrays of the profile without its variables, of the operations, of the chain
 * and of measured stages as in memory; the digests and warnings as numbers of few bytes.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "store/store.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "base/growth.h"
#include "memory/chain_data.h"
#include "memory/stage_details.h"
#include "model/operations.h"
#include "pipeline/pipeline.h"
#include "profile/profile_data.h"
#include "store/coder.h"
#include "store/stored_meter.h"

/* ---- Parts of the file ---- */

enum { MAX_FIELDS = 16, MAX_GROUP = 40 };

static void name_group(size_t number, char *group) {
    snprintf(group, MAX_GROUP, "stages/%zu/", number);
}

/* Describes what a chain was made for. To read, returns whether that is the same; else true. */
static bool code_chain_key(pl_coder *coder, const pl_layers *layers, size_t num_operations,
                           popliner_memory_model model) {
    uint32_t number = (uint32_t)model;
    size_t count = num_operations;
    pl_code_place(coder, &number, UINT32_MAX);
    pl_code_count(coder, &count);
    bool is_same = number == (uint32_t)model;
    coder->is_damaged = coder->is_damaged || count != num_operations;
    for (size_t i = 0; pl_coder_is_well(coder) && i < count; i++) {
        uint32_t key = pl_layer_key(layers, i);
        pl_code_place(coder, &key, UINT32_MAX);
        is_same = is_same && key == pl_layer_key(layers, i);
    }
    return is_same;
}

/* Describes the kind of pipeline that stages were measured for. */
static void code_stages_key(pl_coder *coder, pl_details_key *key) {
    popliner_pipeline *pipeline = &key->pipeline;
    uint32_t schedule = (uint32_t)pipeline->schedule;
    uint32_t recompute = (uint32_t)pipeline->recompute;
    uint32_t accumulators = (uint32_t)pipeline->accumulators;
    uint32_t effects = pipeline->effects;
    uint64_t max_stages = pipeline->max_stages;
    pl_code_place(coder, &schedule, UINT32_MAX);
    pl_code_place(coder, &recompute, UINT32_MAX);
    pl_code_place(coder, &accumulators, UINT32_MAX);
    pl_code_place(coder, &effects, UINT32_MAX);
    pl_code(coder, &max_stages, SIZE_MAX);
    pl_code_flag(coder, &key->is_training);
    pl_code_flag(coder, &key->has_accumulators);
    pipeline->schedule = (popliner_schedule)schedule;
    pipeline->recompute = (popliner_recompute)recompute;
    pipeline->accumulators = (popliner_accumulators)accumulators;
    pipeline->effects = effects;
    pipeline->max_stages = (size_t)max_stages;
}

static void add_fields(pl_text *file, const char *group, const pl_field *fields,
                       size_t num_fields) {
    for (size_t i = 0; i < num_fields; i++)
        pl_archive_add(file, group, &fields[i]);
}

/* Adds what was coded, and frees it. */
static void add_coded(pl_text *file, const char *group, const char *name, pl_coder *coder) {
    const pl_field field = {name, &coder->text.data, 1, &coder->text.length, 0};
    file->failed = file->failed || coder->is_short;
    pl_archive_add(file, group, &field);
    free(coder->text.data);
}

static void add_chain(pl_text *file, const pl_chain *chain) {
    pl_chain own = *chain; /* listing fields takes the addresses of mutable members */
    pl_field fields[MAX_FIELDS];
    pl_coder coder = {0};
    add_fields(file, "chain/", fields, pl_chain_fields(&own, fields));
    code_chain_key(&coder, chain->layers, chain->num_operations, chain->model->id);
    add_coded(file, "chain/", "key", &coder);
}

/* Adds stages as number `number`. */
static void add_stages(pl_text *file, size_t number, const pl_stage_details *stages) {
    pl_stage_details details = *stages;
    pl_field fields[MAX_FIELDS];
    pl_coder coder = {0};
    char group[MAX_GROUP];
    name_group(number, group);
    add_fields(file, group, fields, pl_details_fields(&details, fields));
    code_stages_key(&coder, &details.key);
    add_coded(file, group, "key", &coder);
}

/* Describes messages. To read, calls `take` with each. */
static void code_messages(pl_coder *coder, const pl_messages *messages,
                          const popliner_listener *listener) {
    size_t count = messages == NULL ? 0 : messages->count;
    pl_code_count(coder, &count);
    for (size_t i = 0; pl_coder_is_well(coder) && i < count; i++) {
        uint32_t level = messages == NULL ? 0 : (uint32_t)messages->items[i].level;
        pl_code_place(coder, &level, POPLINER_LEVEL_ERROR);
        const char *text = pl_code_text(coder, messages == NULL ? NULL : messages->items[i].text);
        if (messages == NULL && pl_coder_is_well(coder))
            pl_tell(listener, (popliner_level)level, "%s", text);
    }
}

/* ---- Storing ---- */

/* Describes the target, and what else is no array: *num_variables, also if they were left out. */
static void code_target(pl_coder *coder, pl_target *target, uint8_t *of_framework,
                        size_t *num_variables) {
    size_t *const counts[] = {&target->num_tiles, &target->num_ipus, &target->num_replicas,
                              num_variables};
    bool is_of_framework = *of_framework != 0;
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        uint64_t wide = *counts[i];
        pl_code(coder, &wide, i == 0 ? PL_MAX_TILES : INT64_MAX);
        *counts[i] = (size_t)wide;
    }
    pl_code(coder, &target->bytes_per_tile, INT64_MAX);
    pl_code(coder, &target->clock_hz, INT64_MAX);
    pl_code_flag(coder, &is_of_framework);
    *of_framework = is_of_framework;
    const char *architecture = pl_code_text(coder, target->architecture);
    if (coder->is_reading)
        snprintf(target->architecture, sizeof target->architecture, "%s", architecture);
    /* as in a profile: there is always a fullest tile */
    coder->is_damaged = coder->is_damaged || target->num_tiles == 0;
}

/* Adds the profile without its variables, and its operations. */
static void add_ground(pl_text *file, const pl_stored_contents *c) {
    pl_field fields[2 * PL_MAX_FIELDS];
    /* shallow copies: listing fields takes the addresses of mutable members */
    popliner_profile profile_copy = *c->profile;
    pl_operations operations_copy = *c->operations;
    size_t num_fields = pl_profile_fields(&profile_copy, fields);
    num_fields -= pl_profile_variable_fields(&profile_copy, fields + num_fields);
    num_fields += pl_operations_fields(&operations_copy, fields + num_fields);
    add_fields(file, "", fields, num_fields);
}

static void add_target(pl_text *file, const pl_stored_contents *c) {
    const popliner_profile *p = c->profile;
    pl_target target = p->target;
    uint8_t of_framework = c->operations->of_framework;
    size_t num_variables = p->lacks_variables ? p->num_left_out : p->num_variables;
    pl_coder coder = {0};
    code_target(&coder, &target, &of_framework, &num_variables);
    add_coded(file, "", "target", &coder);
}

popliner_status pl_stored_analysis_save(const pl_stored_contents *c, const char *path,
                                        popliner_error *error) {
    pl_text file = {0};
    pl_coder meter = {0};
    pl_coder warnings = {0};
    pl_archive_begin(&file);
    add_ground(&file, c);
    add_target(&file, c);
    if (c->chain != NULL)
        add_chain(&file, c->chain);
    for (size_t i = 0; i < c->num_stages; i++)
        add_stages(&file, i, c->stages[i]);
    if (c->meter != NULL) {
        pl_stored_meter_write(&meter, c->meter);
        add_coded(&file, "", "meter", &meter);
    }
    code_messages(&warnings, c->warnings, NULL);
    add_coded(&file, "", "warnings", &warnings);
    return pl_archive_write(&file, path, error);
}

/* ---- Loading ---- */

void pl_stored_analysis_close(pl_stored_analysis *analysis) {
    if (analysis == NULL)
        return;
    pl_archive_free(&analysis->archive);
    pl_profile_free(analysis->profile);
    pl_operations_free(analysis->operations);
    free(analysis);
}

/* Begins to read a coded part, of which nothing is there after a failure. */
static pl_coder begin_coded(pl_stored_analysis *analysis, const char *group, const char *name,
                            popliner_error *error) {
    pl_coder coder = {.is_reading = true};
    analysis->archive.outcome = (pl_outcome){.error = error};
    coder.text.data = pl_archive_find(&analysis->archive, group, name, &coder.text.length);
    if (coder.text.data == NULL)
        pl_archive_fail(&analysis->archive, name);
    return coder;
}

/* Ends it; `what` it is. */
static popliner_status end_coded(pl_stored_analysis *analysis, const pl_coder *coder,
                                 const char *what) {
    if (coder->is_short)
        pl_outcome_fail_memory(&analysis->archive.outcome, "the stored analysis");
    if (coder->is_damaged)
        pl_archive_fail(&analysis->archive, what);
    return analysis->archive.outcome.status;
}

/* Loads arrays whose counts the file tells, but one that is `known` (NULL: none). */
static void load_fields(pl_archive *archive, const char *group, const pl_field *fields,
                        size_t num_fields, const size_t *known, pl_arrays *arrays) {
    for (size_t i = 0; i < num_fields; i++)
        if (fields[i].count != known)
            *fields[i].count = SIZE_MAX;
    for (size_t i = 0; i < num_fields; i++)
        pl_archive_load(archive, group, &fields[i], arrays);
}

/* Loads the profile and its operations. */
static void load_ground(pl_stored_analysis *a) {
    pl_outcome *outcome = &a->archive.outcome;
    popliner_profile *p = a->profile;
    pl_operations *o = a->operations;
    pl_field fields[PL_MAX_FIELDS];
    pl_field left_out[PL_MAX_FIELDS];
    const size_t num_left_out = pl_profile_variable_fields(p, left_out);
    size_t num_fields = pl_profile_fields(p, fields) - num_left_out;
    load_fields(&a->archive, "", fields, num_fields, &p->target.num_tiles, &p->arrays);
    num_fields = pl_operations_fields(o, fields);
    load_fields(&a->archive, "", fields, num_fields, NULL, &o->arrays);
    p->lacks_variables = true;
    pl_profile_count_variables(p, 0);
    pl_fields_allocate(&p->arrays, left_out, num_left_out);
    if (!pl_outcome_has(outcome, !p->arrays.failed, "the stored analysis"))
        return;
    outcome->status = pl_profile_check(p, a->archive.path, outcome->error);
    if (outcome->status != POPLINER_OK)
        return;
    if (!pl_operations_check(o, p)) {
        pl_archive_fail(&a->archive, "the operations");
    } else {
        pl_operations_complete(o);
        if (pl_outcome_has(outcome, !o->arrays.failed, "the stored analysis"))
            pl_profile_take_facts(p);
    }
}

popliner_status pl_stored_analysis_open(const char *path, pl_stored_analysis **result,
                                        popliner_error *error) {
    *result = NULL;
    pl_stored_analysis *a = calloc(1, sizeof *a);
    if (a == NULL)
        return pl_fail_memory(error, "the stored analysis");
    pl_outcome *outcome = &a->archive.outcome;
    a->profile = calloc(1, sizeof *a->profile);
    a->operations = calloc(1, sizeof *a->operations);
    pl_archive_read(&a->archive, path, error);
    if (pl_outcome_has(outcome, a->profile != NULL && a->operations != NULL,
                       "the stored analysis")) {
        pl_coder coder = begin_coded(a, "", "target", error);
        code_target(&coder, &a->profile->target, &a->operations->of_framework,
                    &a->profile->num_left_out);
        if (end_coded(a, &coder, "its target") == POPLINER_OK)
            load_ground(a);
    }
    const popliner_status status = outcome->status;
    if (status == POPLINER_OK)
        *result = a;
    else
        pl_stored_analysis_close(a);
    return status;
}

popliner_status pl_stored_analysis_tell(pl_stored_analysis *analysis,
                                        const popliner_listener *listener, popliner_error *error) {
    pl_coder coder = begin_coded(analysis, "", "warnings", error);
    code_messages(&coder, NULL, listener);
    return end_coded(analysis, &coder, "its warnings");
}

popliner_status pl_stored_analysis_load_meter(pl_stored_analysis *analysis, const pl_chain *chain,
                                              size_t num_threads, pl_stage_meter **meter,
                                              popliner_error *error) {
    pl_coder coder = begin_coded(analysis, "", "meter", error);
    *meter = coder.text.data == NULL ? NULL : pl_stored_meter_read(&coder, chain, num_threads);
    return end_coded(analysis, &coder, "its digests");
}

/* ---- Its chain, and measured stages ---- */

popliner_status pl_stored_analysis_load_chain(pl_stored_analysis *analysis, const pl_layers *layers,
                                              popliner_memory_model model, pl_chain **result,
                                              popliner_error *error) {
    pl_outcome *outcome = &analysis->archive.outcome;
    pl_field fields[MAX_FIELDS];
    pl_chain *chain = calloc(1, sizeof *chain);
    bool is_right = false;
    *result = NULL;
    pl_coder coder = begin_coded(analysis, "chain/", "key", error);
    const bool is_same =
        code_chain_key(&coder, layers, pl_operations_count(analysis->operations), model) &&
        pl_memory_model_find(model) != NULL;
    if (end_coded(analysis, &coder, "its chain") == POPLINER_OK &&
        pl_outcome_has(outcome, chain != NULL, "the stored analysis") && is_same) {
        chain->model = pl_memory_model_find(model);
        const size_t num_fields = pl_chain_fields(chain, fields);
        load_fields(&analysis->archive, "chain/", fields, num_fields, NULL, &chain->arrays);
        if (outcome->status == POPLINER_OK)
            outcome->status = pl_chain_complete(chain, analysis->profile, analysis->operations,
                                                layers, &is_right, error);
        if (!is_right)
            pl_archive_fail(&analysis->archive, "its chain");
    }
    if (is_right)
        *result = chain;
    else
        pl_chain_free(chain);
    return outcome->status;
}

/* Loads the stages of a group. */
static pl_stage_details *load_details(pl_stored_analysis *analysis, const char *group,
                                      const pl_details_key *key, const pl_chain *chain) {
    pl_outcome *outcome = &analysis->archive.outcome;
    const size_t max_stages = key->pipeline.max_stages;
    pl_field fields[MAX_FIELDS];
    pl_stage_details *details = calloc(1, sizeof *details);
    if (!pl_outcome_has(outcome, details != NULL, "the stored stages")) {
        free(details);
        return NULL;
    }
    load_fields(&analysis->archive, group, fields, pl_details_fields(details, fields), NULL,
                &details->arrays);
    details->key = *key;
    for (int need = 0; need < POPLINER_NUM_NEEDS; need++) {
        details->largest[need].max_copies = pl_most_copies(max_stages);
    }
    /* pipelines of any length were measured, unless nothing is stored */
    if (outcome->status == POPLINER_OK &&
        ((max_stages != 1 && max_stages != chain->num_units) ||
         !pl_details_check(details, chain->num_units, analysis->profile)))
        pl_archive_fail(&analysis->archive, "its stages");
    if (outcome->status == POPLINER_OK)
        return details;
    pl_stage_details_free(details);
    return NULL;
}

popliner_status pl_stored_analysis_find_stages(pl_stored_analysis *analysis, const pl_chain *chain,
                                               const popliner_pipeline *pipeline,
                                               pl_stage_details **stages, popliner_error *error) {
    popliner_status status = POPLINER_OK;
    char group[MAX_GROUP];
    size_t length;
    *stages = NULL;
    name_group(0, group);
    for (size_t i = 0; status == POPLINER_OK && *stages == NULL &&
                       pl_archive_find(&analysis->archive, group, "key", &length) != NULL;) {
        pl_details_key key = {.is_training = false};
        pl_coder coder = begin_coded(analysis, group, "key", error);
        code_stages_key(&coder, &key);
        if (end_coded(analysis, &coder, "its stages") == POPLINER_OK &&
            pl_details_serve(&key, pipeline))
            *stages = load_details(analysis, group, &key, chain);
        status = analysis->archive.outcome.status;
        name_group(++i, group);
    }
    return status;
}
