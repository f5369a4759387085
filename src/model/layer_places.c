/* Warns of layers that run in two places, such as an encoder and a decoder.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/layers.h"

#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "base/growth.h"
#include "base/id_map.h"
#include "model/operations.h"

/* More places are something else, such as a number before that of the layer. */
enum { MOST_PLACES = 64 };

/* The steps at which layers run, by place. */
typedef struct places {
    const pl_operations *operations;
    const pl_layers *layers;
    pl_names names;
    /* of the first match, "layer/"; NULL: layers are not numbered after a stem */
    char *stem;
    size_t num_units;   /* number of units of the layers */
    size_t *first_step; /* [MOST_PLACES * num_units], SIZE_MAX where a layer does not run */
    /* [num_units]: units that two places share, by their steps in the first place */
    size_t *order;
    size_t num_shared;
} places;

static size_t *step_of(const places *p, size_t place, size_t unit) {
    return &p->first_step[place * p->num_units + unit];
}

/* Stores the text between the place and the number of the layer, if the number ends the match. */
static bool keep_stem(places *p, const char *match, size_t length, const char *layer) {
    size_t digits = strlen(layer);
    if (p->stem != NULL || digits == 0 || strspn(layer, "0123456789") != digits ||
        length <= digits || strncmp(match + length - digits, layer, digits) != 0)
        return true;
    p->stem = pl_copy_string(match, length - digits);
    return p->stem != NULL;
}

/* Notes the first step and the place of an operation whose layer was found by its name. */
static popliner_status note_operation(places *p, pl_regex *regex, size_t index,
                                      popliner_error *error) {
    const popliner_operation *operation = pl_operation_at(p->operations, index);
    size_t unit = pl_layers_unit_of(p->layers, index);
    const char *name = operation->name;
    size_t begin = 0;
    size_t end = 0;
    bool matches = false;
    if (unit == 0 || pl_layer_at(p->layers, index)->rule != POPLINER_LAYER_RULE_NAME)
        return POPLINER_OK;
    popliner_status status =
        pl_regex_locate(regex, name, strlen(name), &matches, &begin, &end, error);
    if (status != POPLINER_OK || !matches)
        return status;
    while (begin < end && strchr("/.", name[begin]) != NULL)
        begin++;
    char *text = pl_copy_string(name, begin);
    size_t place = text == NULL ? SIZE_MAX : pl_names_number(&p->names, text);
    free(text);
    if (place == SIZE_MAX ||
        !keep_stem(p, name + begin, end - begin, pl_layers_name(p->layers, unit)))
        return pl_fail_memory(error, "the layers");
    if (place < MOST_PLACES && operation->first_step < *step_of(p, place, unit))
        *step_of(p, place, unit) = operation->first_step;
    return POPLINER_OK;
}

/* True if some operation of the unit begins between two steps. */
static bool begins_between(const places *p, size_t unit, size_t first, size_t end) {
    for (size_t i = 0; i < pl_operations_count(p->operations); i++) {
        size_t step = pl_operation_at(p->operations, i)->first_step;
        if (pl_layers_unit_of(p->layers, i) == unit && step > first && step < end)
            return true;
    }
    return false;
}

/* Sorts the units that both places have by their steps in the first one. */
static void find_shared(places *p, size_t one, size_t other) {
    p->num_shared = 0;
    for (size_t unit = 1; unit < p->num_units; unit++) {
        if (*step_of(p, one, unit) == SIZE_MAX || *step_of(p, other, unit) == SIZE_MAX)
            continue;
        size_t k = p->num_shared++;
        for (; k > 0 && *step_of(p, one, p->order[k - 1]) > *step_of(p, one, unit); k--)
            p->order[k] = p->order[k - 1];
        p->order[k] = unit;
    }
}

static bool are_two_places(places *p, size_t one, size_t other) {
    find_shared(p, one, other);
    if (p->num_shared < 2)
        return false;
    size_t last_step = *step_of(p, one, p->order[p->num_shared - 1]);
    size_t again = *step_of(p, other, p->order[0]);
    for (size_t k = 1; k < p->num_shared; k++) {
        if (p->order[k - 1] > p->order[k] || /* a backward pass, or what comes after it */
            *step_of(p, one, p->order[k - 1]) >= *step_of(p, one, p->order[k]) ||
            *step_of(p, other, p->order[k - 1]) >= *step_of(p, other, p->order[k]))
            return false;
    }
    return again > last_step && !begins_between(p, p->order[0], last_step, again);
}

static void add_quoted(pl_text *text, const char *plain) {
    for (const char *c = plain; *c != '\0'; c++)
        pl_text_format(text, strchr("\\^$.[]|()?*+{}", *c) != NULL ? "\\%c" : "%c", *c);
}

static popliner_status tell(const places *p, size_t one, size_t other,
                            const pl_layer_options *options, popliner_error *error) {
    const char *const names[] = {p->names.items[one], p->names.items[other]};
    size_t first = p->order[0];
    size_t last = p->order[p->num_shared - 1];
    pl_text remedy = {0};
    if (p->stem == NULL) {
        pl_text_format(&remedy, "with a pattern that also captures the text before the layer");
    } else {
        pl_text_add(&remedy, "'(?:^|/)((?:");
        add_quoted(&remedy, names[0]);
        pl_text_add(&remedy, "|");
        add_quoted(&remedy, names[1]);
        pl_text_add(&remedy, ")");
        add_quoted(&remedy, p->stem);
        pl_text_add(&remedy, "\\d+)'");
    }
    if (remedy.failed) {
        free(remedy.data);
        return pl_fail_memory(error, "the layers");
    }
    pl_tell(options->listener, POPLINER_LEVEL_WARNING,
            "%zu layers run in two places and count once: '%.100s' at step %zu in '%.100s' and %zu "
            "in '%.100s', to '%.100s'. To separate them use %s %s.",
            p->num_shared, pl_layers_name(p->layers, first), *step_of(p, one, first), names[0],
            *step_of(p, other, first), names[1], pl_layers_name(p->layers, last),
            options->name_regex_name, remedy.data);
    free(remedy.data);
    return POPLINER_OK;
}

popliner_status pl_layer_places_tell(const pl_operations *operations, const pl_layers *layers,
                                     pl_regex *regex, const pl_layer_options *options,
                                     popliner_error *error) {
    places p = {
        .operations = operations, .layers = layers, .num_units = pl_layers_num_units(layers)};
    popliner_status status = POPLINER_OK;
    bool is_told = false;
    if (options->listener == NULL || options->listener->message == NULL)
        return POPLINER_OK;
    p.first_step = pl_new_array(MOST_PLACES * p.num_units, sizeof *p.first_step);
    p.order = pl_new_array(p.num_units, sizeof *p.order);
    if (p.first_step == NULL || p.order == NULL)
        status = pl_fail_memory(error, "the layers");
    for (size_t i = 0; status == POPLINER_OK && i < MOST_PLACES * p.num_units; i++)
        p.first_step[i] = SIZE_MAX;
    for (size_t i = 0; status == POPLINER_OK && i < pl_operations_count(operations); i++)
        status = note_operation(&p, regex, i, error);
    for (size_t one = 0; p.names.count <= MOST_PLACES && one < p.names.count; one++) {
        for (size_t other = 0; status == POPLINER_OK && !is_told && other < p.names.count;
             other++) {
            is_told = other != one && are_two_places(&p, one, other);
            if (is_told)
                status = tell(&p, one, other, options, error);
        }
    }
    pl_names_free(&p.names);
    free(p.stem);
    free(p.first_step);
    free(p.order);
    return status;
}
