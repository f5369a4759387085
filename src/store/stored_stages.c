/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "store/stored_stages.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "base/growth.h"
#include "memory/chain_data.h"
#include "memory/stage_details.h"
#include "pipeline/pipeline.h"
#include "profile/profile_data.h"

/* Everything that is stored of them, in the forms in which it is. Zero-initialise; free with
 * free_record. */
typedef struct record {
    size_t num_settings;
    uint64_t *settings; /* [NUM_SETTINGS] */
    size_t num_operations;
    uint32_t *layer_key; /* [operations]: what the chain was made for */
    popliner_chain *chain;
    pl_stage_details *details;
} record;

enum {
    SETTING_MODEL,
    SETTING_SCHEDULE,
    SETTING_RECOMPUTE,
    SETTING_MAX_STAGES,
    SETTING_EFFECTS,
    SETTING_ACCUMULATORS,
    SETTING_TRAINING,
    SETTING_HAS_ACCUMULATORS,
    NUM_SETTINGS
};

enum { MAX_FIELDS = 16, MAX_GROUP = 40 };

static void name_group(size_t number, char *group) {
    snprintf(group, MAX_GROUP, "stages/%zu/", number);
}

/* What says which stages these are. */
static size_t list_key(record *r, pl_field *fields) {
    fields[0] = (pl_field){"settings", &r->settings, sizeof *r->settings, &r->num_settings, 0};
    fields[1] = (pl_field){"layer_key", &r->layer_key, sizeof *r->layer_key, &r->num_operations, 0};
    return 2;
}

/* The stages themselves. */
static size_t list_contents(record *r, pl_field *fields) {
    size_t count = pl_chain_fields(r->chain, fields);
    return count + pl_details_fields(r->details, fields + count);
}

popliner_status pl_stored_stages_save(pl_array_writer *writer, size_t number,
                                      const popliner_operations *operations,
                                      const pl_measured_stages *stages, popliner_error *error) {
    /* shallow copies: listing fields takes the addresses of members that may change */
    popliner_chain chain = *stages->chain;
    pl_stage_details details = *stages->details;
    const popliner_pipeline *pipeline = &details.key.pipeline;
    uint64_t settings[NUM_SETTINGS] = {
        [SETTING_MODEL] = (uint64_t)chain.model->id,
        [SETTING_SCHEDULE] = (uint64_t)pipeline->schedule,
        [SETTING_RECOMPUTE] = (uint64_t)pipeline->recompute,
        [SETTING_MAX_STAGES] = pipeline->max_stages,
        [SETTING_EFFECTS] = pipeline->effects,
        [SETTING_ACCUMULATORS] = (uint64_t)pipeline->accumulators,
        [SETTING_TRAINING] = details.key.is_training ? 1 : 0,
        [SETTING_HAS_ACCUMULATORS] = details.key.has_accumulators ? 1 : 0,
    };
    record r = {
        .num_settings = NUM_SETTINGS,
        .settings = settings,
        .num_operations = popliner_operations_count(operations),
        .chain = &chain,
        .details = &details,
    };
    pl_field fields[MAX_FIELDS];
    char group[MAX_GROUP];
    r.layer_key = pl_new_array(r.num_operations, sizeof *r.layer_key);
    if (r.layer_key == NULL)
        return pl_fail_memory(error, "the stored stages");
    for (size_t i = 0; i < r.num_operations; i++)
        r.layer_key[i] = pl_layer_key(chain.layers, i);
    size_t num_fields = list_key(&r, fields);
    num_fields += list_contents(&r, fields + num_fields);
    name_group(number, group);
    bool saved = true;
    for (size_t i = 0; saved && i < num_fields; i++)
        saved = pl_array_writer_add(writer, group, &fields[i]);
    free(r.layer_key);
    return saved ? POPLINER_OK : POPLINER_ERROR_OUTPUT;
}

static void free_record(record *r) {
    free(r->settings);
    free(r->layer_key);
    pl_chain_free(r->chain);
    pl_stage_details_free(r->details);
}

/* Loads arrays of the record, all counts but that of the operations from the file. */
static popliner_status load(pl_array_reader *reader, const char *group, const pl_field *fields,
                            size_t num_fields, popliner_error *error) {
    popliner_status status = POPLINER_OK;
    for (size_t i = 0; i < num_fields; i++)
        *fields[i].count = SIZE_MAX;
    for (size_t i = 0; status == POPLINER_OK && i < num_fields; i++)
        status = pl_array_reader_load(reader, group, &fields[i], error);
    return status;
}

static pl_details_key key_of(const record *r) {
    return (pl_details_key){
        .pipeline =
            {
                .schedule = (popliner_schedule)r->settings[SETTING_SCHEDULE],
                .recompute = (popliner_recompute)r->settings[SETTING_RECOMPUTE],
                .max_stages = (size_t)r->settings[SETTING_MAX_STAGES],
                .effects = (unsigned)r->settings[SETTING_EFFECTS],
                .accumulators = (popliner_accumulators)r->settings[SETTING_ACCUMULATORS],
            },
        .is_training = r->settings[SETTING_TRAINING] != 0,
        .has_accumulators = r->settings[SETTING_HAS_ACCUMULATORS] != 0,
    };
}

/* Whether these stages are looked for. */
static bool is_wanted(const record *r, const pl_wanted_stages *wanted) {
    const pl_details_key measured = key_of(r);
    if (r->settings[SETTING_MODEL] != (uint64_t)wanted->model ||
        pl_memory_model_find(wanted->model) == NULL)
        return false;
    for (size_t i = 0; i < r->num_operations; i++)
        if (r->layer_key[i] != pl_layer_key(wanted->layers, i))
            return false;
    return pl_details_serve(&measured, wanted->pipeline);
}

/* Whether all sizes belong together and nothing leads out of the profile. */
static bool is_consistent(const record *r, const popliner_profile *profile) {
    size_t num_units = r->chain->num_units;
    size_t max_stages = r->details->key.pipeline.max_stages;
    /* pipelines of any length were measured, unless nothing is kept */
    return (max_stages == 1 || max_stages == num_units) &&
           pl_details_check(r->details, num_units, profile);
}

/* Hands over what was loaded. */
static void take(record *r, pl_measured_stages *stages) {
    stages->chain = r->chain;
    stages->details = r->details;
    r->chain = NULL;
    r->details = NULL;
}

popliner_status pl_stored_stages_load(pl_stored_analysis *analysis, size_t number,
                                      const pl_wanted_stages *wanted, pl_measured_stages *stages,
                                      bool *is_last, popliner_error *error) {
    pl_array_reader *reader = &analysis->reader;
    const popliner_operations *operations = analysis->operations;
    record r = {0};
    pl_field fields[MAX_FIELDS];
    char group[MAX_GROUP];
    bool has = false;
    bool is_right = false;
    *stages = (pl_measured_stages){0};
    name_group(number, group);
    popliner_status status = pl_array_reader_has(reader, group, "settings", &has, error);
    *is_last = !has;
    if (status != POPLINER_OK || !has)
        return status;
    size_t num_fields = list_key(&r, fields);
    status = load(reader, group, fields, num_fields, error);
    if (status == POPLINER_OK && (r.num_settings != NUM_SETTINGS ||
                                  r.num_operations != popliner_operations_count(operations)))
        status = pl_array_reader_fail(reader, "its stages", error);
    if (status != POPLINER_OK || !is_wanted(&r, wanted))
        goto done;
    r.chain = calloc(1, sizeof *r.chain);
    r.details = calloc(1, sizeof *r.details);
    if (r.chain == NULL || r.details == NULL) {
        status = pl_fail_memory(error, "the stored stages");
        goto done;
    }
    r.chain->model = pl_memory_model_find(wanted->model);
    num_fields = list_contents(&r, fields);
    status = load(reader, group, fields, num_fields, error);
    r.details->key = key_of(&r);
    for (int need = 0; need < POPLINER_NUM_NEEDS; need++) {
        r.details->largest[need].max_copies = pl_most_copies(r.details->key.pipeline.max_stages);
        r.details->largest[need].unused = PL_NONE;
    }
    if (status == POPLINER_OK)
        status = pl_chain_complete(r.chain, operations, wanted->layers, &is_right, error);
    is_right = is_right && (wanted->chain == NULL || pl_chain_is_same(r.chain, wanted->chain));
    if (status == POPLINER_OK && (!is_right || !is_consistent(&r, analysis->profile)))
        status = pl_array_reader_fail(reader, "its stages", error);
    if (status == POPLINER_OK)
        take(&r, stages);
done:
    free_record(&r);
    return status;
}
