/* Reading the correction that a comparison was written with.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "popliner/calibration.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "base/growth.h"
#include "base/json_reader.h"
#include "pipeline/pipeline.h"

enum { MILLION = 1000000 };

static popliner_status fail_reading(const char *path, popliner_error *error) {
    if (errno == ENOMEM)
        return pl_fail_memory(error, "the calibration");
    return pl_fail(error, POPLINER_ERROR_INPUT, "%s: cannot be read: %s", path, strerror(errno));
}

/* The whole file, or as much as tells that it is none of ours. */
static popliner_status read_text(const char *path, pl_text *text, popliner_error *error) {
    enum { MAX_BYTES = 1 << 26 };
    char piece[1 << 14];
    popliner_status status = POPLINER_OK;
    FILE *stream = fopen(path, "rb");
    if (stream == NULL)
        return fail_reading(path, error);
    for (size_t count = sizeof piece; count == sizeof piece && text->length < MAX_BYTES;) {
        count = fread(piece, 1, sizeof piece, stream);
        pl_text_append(text, piece, count);
    }
    if (text->failed)
        status = pl_fail_memory(error, "the calibration");
    else if (ferror(stream))
        status = fail_reading(path, error);
    (void)fclose(stream); /* it was only read */
    return status;
}

/* The number from 0 on of a name that there is. */
static popliner_status take_name(const pl_json *json, const json_t *settings, const char *key,
                                 const char *(*name_of)(int number), int *number) {
    const pl_json_place place = pl_place("correction.made_with.%s", key);
    const char *text = NULL;
    popliner_status status = pl_json_text(json, &place, json_object_get(settings, key), &text);
    if (status != POPLINER_OK)
        return status;
    for (int i = 0; name_of(i) != NULL; i++)
        if (strcmp(name_of(i), text) == 0) {
            *number = i;
            return POPLINER_OK;
        }
    return pl_json_refuse(json, &place, "there is no '%s'", text);
}

static const char *schedule_name(int number) {
    return pl_schedule_name((popliner_schedule)number);
}

static const char *recompute_name(int number) {
    return pl_recompute_name((popliner_recompute)number);
}

static const char *accumulators_name(int number) {
    return pl_accumulators_name((popliner_accumulators)number);
}

static popliner_status take_effects(const pl_json *json, const json_t *list, unsigned *effects) {
    const pl_json_place place = pl_place("correction.made_with.effects");
    popliner_status status = pl_json_array(json, &place, list);
    *effects = 0;
    for (size_t i = 0; status == POPLINER_OK && i < json_array_size(list); i++) {
        const char *text = NULL;
        unsigned bit = 0;
        status = pl_json_text(json, &place, json_array_get(list, i), &text);
        for (size_t k = 0; status == POPLINER_OK && pl_effect_name(k) != NULL; k++)
            if (strcmp(pl_effect_name(k), text) == 0)
                bit = 1u << k;
        if (status == POPLINER_OK && bit == 0)
            status = pl_json_refuse(json, &place, "there is no '%s'", text);
        *effects |= bit;
    }
    return status;
}

static popliner_status take_settings(const pl_json *json, const json_t *settings,
                                     popliner_request *request) {
    const pl_json_place place = pl_place("correction.made_with");
    int schedule = 0;
    int recompute = 0;
    int accumulators = 0;
    popliner_status status = pl_json_object(json, &place, settings);
    if (status == POPLINER_OK)
        status = take_name(json, settings, "schedule", schedule_name, &schedule);
    if (status == POPLINER_OK)
        status = take_name(json, settings, "recompute", recompute_name, &recompute);
    if (status == POPLINER_OK)
        status = take_name(json, settings, "accumulators", accumulators_name, &accumulators);
    if (status == POPLINER_OK)
        status = take_effects(json, json_object_get(settings, "effects"), &request->effects);
    request->schedule = (popliner_schedule)schedule;
    request->recompute = (popliner_recompute)recompute;
    request->accumulators = (popliner_accumulators)accumulators;
    return status;
}

/* A scale, as the fraction that it is. */
static popliner_status take_scale(const pl_json *json, const json_t *scales, const char *stages,
                                  const char *key, uint64_t least, uint64_t *per_million) {
    const pl_json_place place = pl_place("correction.%s.%s", stages, key);
    popliner_status status = pl_json_scaled(json, &place, json_object_get(scales, key), MILLION,
                                            POPLINER_MAX_PER_MILLION, per_million);
    if (status == POPLINER_OK && *per_million < least)
        status = pl_json_refuse(json, &place, "expected a number above 0");
    return status;
}

static popliner_status take_scales(const pl_json *json, const json_t *correction,
                                   const char *stages, popliner_scales *scales) {
    const pl_json_place place = pl_place("correction.%s", stages);
    const json_t *own = json_object_get(correction, stages);
    popliner_status status = pl_json_object(json, &place, own);
    if (status == POPLINER_OK)
        status = take_scale(json, own, stages, "code_scale", 1, &scales->code_per_million);
    if (status == POPLINER_OK)
        status = take_scale(json, own, stages, "data_scale", 1, &scales->data_per_million);
    if (status == POPLINER_OK)
        status = take_scale(json, own, stages, "layout_scale", 0, &scales->layout_per_million);
    return status;
}

static popliner_status take_correction(const pl_json *json, const json_t *root,
                                       popliner_request *request) {
    const json_t *correction = json_object_get(root, "correction");
    const char *format = json_string_value(json_object_get(root, "format"));
    const pl_json_place whole = pl_place("%s", "");
    if (format == NULL || strcmp(format, "popliner-calibration") != 0)
        return pl_json_refuse(json, &whole,
                              "is no calibration (\"format\": \"popliner-calibration\"), as a "
                              "comparison with a compiled pipeline is written in JSON");
    if (!json_is_object(correction))
        return pl_json_refuse(json, &whole,
                              "has no correction: the comparison was with a calibration already");
    popliner_status status =
        take_scales(json, correction, "earlier_stages", &request->calibration.earlier);
    if (status == POPLINER_OK)
        status = take_scales(json, correction, "last_stage", &request->calibration.last);
    if (status == POPLINER_OK)
        status = take_settings(json, json_object_get(correction, "made_with"), request);
    return status;
}

popliner_status popliner_calibration_read(const char *path, popliner_request *request,
                                          popliner_error *error) {
    pl_text text = {0};
    json_t *root = NULL;
    const pl_json json = {path, error};
    *request = (popliner_request)POPLINER_REQUEST_INIT;
    popliner_status status = read_text(path, &text, error);
    if (status == POPLINER_OK)
        status = pl_json_parse(text.data == NULL ? "" : text.data, text.length, path, &root, error);
    if (status == POPLINER_OK)
        status = take_correction(&json, root, request);
    json_decref(root);
    free(text.data);
    return status;
}
