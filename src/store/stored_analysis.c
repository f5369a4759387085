/* Stores and loads the arrays of the profile without its variables, of the operations, of the chain
 * and of measured stages as in memory; the digests as numbers of few bytes.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "store/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "base/growth.h"
#include "memory/chain_data.h"
#include "memory/stage_details.h"
#include "model/operations.h"
#include "profile/profile_data.h"

/* ---- Parts of the file ---- */

enum { MAX_FIELDS = 16, MAX_GROUP = 40 };

/* The members of the profile and its operations that are no arrays. */
typedef struct ground {
    pl_target target;
    uint64_t num_variables; /* also if they were left out */
    uint64_t of_framework;
} ground;

static void name_group(size_t number, char *group) {
    snprintf(group, MAX_GROUP, "stages/%zu/", number);
}

/* Lists what a chain was made for: its memory model, and the layer of each operation. */
static uint32_t *list_chain_key(pl_arrays *arrays, const pl_layers *layers, size_t num_operations,
                                popliner_memory_model model) {
    uint32_t *key = pl_arrays_new(arrays, num_operations + 1, sizeof *key);
    for (size_t i = 0; key != NULL && i < num_operations; i++)
        key[i] = pl_layer_key(layers, i);
    if (key != NULL)
        key[num_operations] = (uint32_t)model;
    return key;
}

/* ---- Storing ---- */

static void add_fields(pl_text *file, const char *group, const pl_field *fields,
                       size_t num_fields) {
    for (size_t i = 0; i < num_fields; i++)
        pl_archive_add(file, group, &fields[i]);
}

/* Adds items that are no array of a structure; a failure if they are NULL. */
static void add_items(pl_text *file, const char *group, const char *name, const void *items,
                      size_t count, size_t item_size) {
    file->failed = file->failed || items == NULL;
    if (!file->failed)
        pl_archive_add(file, group, &(pl_field){name, &items, item_size, &count, 0});
}

/* Adds the profile without its variables, and its operations. */
static void add_ground(pl_text *file, const pl_stored_contents *c) {
    const popliner_profile *p = c->profile;
    const ground own = {p->target, p->lacks_variables ? p->num_left_out : p->num_variables,
                        c->operations->of_framework};
    pl_field fields[2 * PL_MAX_FIELDS];
    /* shallow copies: listing fields takes the addresses of mutable members */
    popliner_profile profile_copy = *p;
    pl_operations operations_copy = *c->operations;
    size_t num_fields = pl_profile_fields(&profile_copy, PL_FIELDS_ALL, NULL, fields);
    num_fields -=
        pl_profile_fields(&profile_copy, PL_FIELDS_OF_VARIABLES, NULL, fields + num_fields);
    num_fields += pl_operations_fields(&operations_copy, fields + num_fields);
    add_fields(file, "", fields, num_fields);
    add_items(file, "", "target", &own, 1, sizeof own);
}

static void add_chain(pl_text *file, const pl_chain *chain) {
    pl_chain own = *chain;
    pl_field fields[MAX_FIELDS];
    pl_arrays arrays = {0};
    const uint32_t *key =
        list_chain_key(&arrays, chain->layers, chain->num_operations, chain->model);
    add_fields(file, "chain/", fields, pl_chain_fields(&own, fields));
    add_items(file, "chain/", "key", key, chain->num_operations + 1, sizeof *key);
    pl_arrays_free(&arrays);
}

/* Adds stages as number `number`. */
static void add_stages(pl_text *file, size_t number, const pl_stage_details *stages) {
    pl_stage_details details = *stages;
    pl_field fields[MAX_FIELDS];
    char group[MAX_GROUP];
    name_group(number, group);
    add_fields(file, group, fields, pl_details_fields(&details, fields));
    add_items(file, group, "key", &details.key, 1, sizeof details.key);
}

/* Adds warnings, each with its NUL. */
static void add_warnings(pl_text *file, const pl_messages *warnings) {
    pl_text text = {0};
    for (size_t i = 0; warnings != NULL && i < warnings->count; i++)
        pl_text_append(&text, warnings->items[i].text, strlen(warnings->items[i].text) + 1);
    file->failed = file->failed || text.failed;
    add_items(file, "", "warnings", pl_text_string(&text), text.length, 1);
    free(text.data);
}

static void add_meter(pl_text *file, pl_stage_meter *meter) {
    pl_text text = {0};
    file->failed = !pl_stored_meter_write(&text, meter) || file->failed;
    add_items(file, "", "meter", pl_text_string(&text), text.length, 1);
    free(text.data);
}

popliner_status pl_stored_analysis_save(const pl_stored_contents *c, const char *path,
                                        popliner_error *error) {
    pl_text file = {0};
    pl_archive_begin(&file);
    add_ground(&file, c);
    if (c->chain != NULL)
        add_chain(&file, c->chain);
    for (size_t i = 0; i < c->num_stages; i++)
        add_stages(&file, i, c->stages[i]);
    if (c->meter != NULL)
        add_meter(&file, c->meter);
    add_warnings(&file, c->warnings);
    return pl_archive_write(&file, path, error);
}

/* ---- Loading ---- */

static const char whole[] = "the stored analysis";

static bool is_well(const pl_archive *archive) {
    return archive->outcome.status == POPLINER_OK;
}

void pl_stored_analysis_close(pl_stored_analysis *analysis) {
    if (analysis == NULL)
        return;
    pl_archive_free(&analysis->archive);
    pl_profile_free(analysis->profile);
    pl_operations_free(analysis->operations);
    free(analysis);
}

/* Returns a part whose length is known (SIZE_MAX: it is not); fails, with `what` it is, without it.
 * The outcome is a new one, with `error`. */
static const char *find_part(pl_archive *archive, const char *group, const char *name,
                             size_t *length, const char *what, popliner_error *error) {
    const size_t known = *length;
    archive->outcome = (pl_outcome){.error = error};
    const char *bytes = pl_archive_find(archive, group, name, length);
    if (bytes != NULL && (known == SIZE_MAX || known == *length))
        return bytes;
    pl_archive_fail(archive, what);
    return NULL;
}

/* Loads arrays, whose counts the file tells. */
static void load_fields(pl_archive *archive, const char *group, const pl_field *fields,
                        size_t num_fields, pl_arrays *arrays) {
    for (size_t i = 0; i < num_fields; i++)
        *fields[i].count = SIZE_MAX;
    for (size_t i = 0; i < num_fields; i++)
        pl_archive_load(archive, group, &fields[i], arrays);
}

/* Takes these, if they fit; the number of tiles is that of arrays. */
static bool take_ground(popliner_profile *p, pl_operations *o, const ground *g) {
    const pl_target *t = &g->target;
    const uint64_t numbers[] = {t->num_ipus, t->num_replicas, t->bytes_per_tile, t->clock_hz,
                                g->num_variables};
    /* as in a profile: there is always a fullest tile */
    bool fits = t->num_tiles == p->target.num_tiles && t->num_tiles > 0 &&
                t->num_tiles <= PL_MAX_TILES && g->of_framework <= 1 &&
                memchr(t->architecture, '\0', sizeof t->architecture) != NULL &&
                memchr(t->type, '\0', sizeof t->type) != NULL;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        fits = fits && numbers[i] <= INT64_MAX;
    p->target = g->target;
    p->num_left_out = (size_t)g->num_variables;
    o->of_framework = (uint8_t)g->of_framework;
    return fits;
}

/* Loads the profile and its operations. */
static void load_ground(pl_stored_analysis *a) {
    pl_archive *archive = &a->archive;
    popliner_profile *p = a->profile;
    pl_operations *o = a->operations;
    pl_field fields[PL_MAX_FIELDS];
    pl_field left_out[PL_MAX_FIELDS];
    ground own;
    size_t length = sizeof own;
    const char *bytes =
        find_part(archive, "", "target", &length, "its target", archive->outcome.error);
    const size_t num_left_out = pl_profile_fields(p, PL_FIELDS_OF_VARIABLES, NULL, left_out);
    load_fields(archive, "", fields,
                pl_profile_fields(p, PL_FIELDS_ALL, NULL, fields) - num_left_out, &p->arrays);
    load_fields(archive, "", fields, pl_operations_fields(o, fields), &o->arrays);
    if (is_well(archive) && !take_ground(p, o, memcpy(&own, bytes, sizeof own)))
        pl_archive_fail(archive, "its target");
    p->lacks_variables = true;
    pl_profile_count_variables(p, 0);
    if (is_well(archive))
        pl_fields_allocate(&p->arrays, left_out, num_left_out);
    if (pl_outcome_has(&archive->outcome, !p->arrays.failed, whole))
        archive->outcome.status = pl_profile_check(p, archive->path, archive->outcome.error);
    if (is_well(archive) && !pl_operations_check(o, p))
        pl_archive_fail(archive, "the operations");
    if (is_well(archive))
        pl_operations_complete(o);
    pl_outcome_has(&archive->outcome, !o->arrays.failed, whole);
}

popliner_status pl_stored_analysis_open(const char *path, pl_stored_analysis **result,
                                        popliner_error *error) {
    pl_stored_analysis *a = calloc(1, sizeof *a);
    *result = NULL;
    if (a == NULL)
        return pl_fail_memory(error, whole);
    a->profile = calloc(1, sizeof *a->profile);
    a->operations = calloc(1, sizeof *a->operations);
    pl_archive_read(&a->archive, path, error);
    if (pl_outcome_has(&a->archive.outcome, a->profile != NULL && a->operations != NULL, whole))
        load_ground(a);
    const popliner_status status = a->archive.outcome.status;
    if (status == POPLINER_OK)
        *result = a;
    else
        pl_stored_analysis_close(a);
    return status;
}

popliner_status pl_stored_analysis_tell(pl_stored_analysis *analysis,
                                        const popliner_listener *listener, popliner_error *error) {
    pl_archive *archive = &analysis->archive;
    size_t length = SIZE_MAX;
    const char *text = find_part(archive, "", "warnings", &length, "its warnings", error);
    if (text != NULL && length > 0 && text[length - 1] != '\0')
        pl_archive_fail(archive, "its warnings");
    for (size_t at = 0; is_well(archive) && at < length; at += strlen(text + at) + 1)
        pl_tell(listener, POPLINER_LEVEL_WARNING, "%s", text + at);
    return archive->outcome.status;
}

popliner_status pl_stored_analysis_load_meter(pl_stored_analysis *analysis, const pl_chain *chain,
                                              size_t num_threads, pl_stage_meter **meter,
                                              popliner_error *error) {
    static const char what[] = "its digests";
    pl_archive *archive = &analysis->archive;
    size_t length = SIZE_MAX;
    bool is_short = false;
    *meter = NULL;
    const char *bytes = find_part(archive, "", "meter", &length, what, error);
    if (bytes != NULL)
        *meter = pl_stored_meter_read(bytes, length, chain, num_threads, &is_short);
    if (pl_outcome_has(&archive->outcome, !is_short, whole) && *meter == NULL)
        pl_archive_fail(archive, what);
    return archive->outcome.status;
}

/* ---- Its chain, and measured stages ---- */

popliner_status pl_stored_analysis_load_chain(pl_stored_analysis *analysis, const pl_layers *layers,
                                              popliner_memory_model model, pl_chain **result,
                                              popliner_error *error) {
    static const char what[] = "its chain";
    pl_archive *archive = &analysis->archive;
    pl_outcome *outcome = &archive->outcome;
    pl_field fields[MAX_FIELDS];
    pl_arrays arrays = {0};
    const size_t num_operations = pl_operations_count(analysis->operations);
    size_t length = (num_operations + 1) * sizeof(uint32_t);
    const uint32_t *wanted = list_chain_key(&arrays, layers, num_operations, model);
    const char *key = find_part(archive, "chain/", "key", &length, what, error);
    pl_chain *chain = calloc(1, sizeof *chain);
    bool is_right = false;
    *result = NULL;
    if (pl_outcome_has(outcome, chain != NULL && wanted != NULL, whole) &&
        memcmp(key, wanted, length) == 0) {
        chain->model = model;
        load_fields(archive, "chain/", fields, pl_chain_fields(chain, fields), &chain->arrays);
        if (is_well(archive))
            outcome->status = pl_chain_complete(chain, analysis->profile, analysis->operations,
                                                layers, &is_right, error);
        if (!is_right)
            pl_archive_fail(archive, what);
    }
    pl_arrays_free(&arrays);
    if (is_right)
        *result = chain;
    else
        pl_chain_free(chain);
    return outcome->status;
}

/* Loads the stages of a group. */
static pl_stage_details *load_details(pl_stored_analysis *analysis, const char *group,
                                      const pl_details_key *key, const pl_chain *chain) {
    pl_archive *archive = &analysis->archive;
    pl_field fields[MAX_FIELDS];
    pl_stage_details *details = calloc(1, sizeof *details);
    if (!pl_outcome_has(&archive->outcome, details != NULL, "the stored stages")) {
        free(details);
        return NULL;
    }
    load_fields(archive, group, fields, pl_details_fields(details, fields), &details->arrays);
    details->key = *key;
    for (int need = 0; need < POPLINER_NUM_NEEDS; need++)
        details->largest[need].max_copies = (size_t)key->max_copies;
    if (is_well(archive) && !pl_details_check(details, chain->num_units, analysis->profile))
        pl_archive_fail(archive, "its stages");
    if (is_well(archive))
        return details;
    pl_stage_details_free(details);
    return NULL;
}

popliner_status pl_stored_analysis_find_stages(pl_stored_analysis *analysis, const pl_chain *chain,
                                               const popliner_pipeline *pipeline,
                                               pl_stage_details **stages, popliner_error *error) {
    pl_archive *archive = &analysis->archive;
    char group[MAX_GROUP];
    *stages = NULL;
    archive->outcome = (pl_outcome){.error = error};
    for (size_t i = 0; is_well(archive) && *stages == NULL; i++) {
        size_t length = 0;
        name_group(i, group);
        const char *bytes = pl_archive_find(archive, group, "key", &length);
        if (bytes == NULL)
            break;
        pl_details_key key = {0};
        memcpy(&key, bytes, length < sizeof key ? length : sizeof key);
        /* pipelines of any length were measured, unless nothing is stored */
        if (length != sizeof key || key.is_training > 1 || key.has_accumulators > 1 ||
            (key.max_stages != 1 && key.max_stages != chain->num_units))
            pl_archive_fail(archive, "its stages");
        else if (pl_details_serve(&key, pipeline))
            *stages = load_details(analysis, group, &key, chain);
    }
    return archive->outcome.status;
}
