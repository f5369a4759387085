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

/* The steps at which layers run, by place: the text before the layer. */
typedef struct places {
    const pl_operations *operations;
    const pl_layers *layers;
    pl_names names;
    size_t num_units;   /* number of units of the layers */
    size_t *first_step; /* [MOST_PLACES * num_units], SIZE_MAX where a layer does not run */
} places;

static size_t *step_of(const places *p, size_t place, size_t unit) {
    return &p->first_step[place * p->num_units + unit];
}

/* Notes the first step and the place of an operation whose layer was found by its name. */
static popliner_status note_operation(places *p, pl_regex *regex, size_t index,
                                      popliner_error *error) {
    const popliner_operation *operation = pl_operation_at(p->operations, index);
    const size_t unit = pl_layers_unit_of(p->layers, index);
    bool matches = false;
    size_t begin = 0;
    if (unit == 0 || pl_layer_at(p->layers, index)->rule != POPLINER_LAYER_RULE_NAME)
        return POPLINER_OK;
    popliner_status status =
        pl_regex_matches(regex, operation->name, strlen(operation->name), &matches, &begin, error);
    if (status != POPLINER_OK || !matches)
        return status;
    char *text = strndup(operation->name, begin);
    const size_t place = text == NULL ? SIZE_MAX : pl_names_number(&p->names, text);
    free(text);
    if (place < MOST_PLACES && operation->first_step < *step_of(p, place, unit))
        *step_of(p, place, unit) = operation->first_step;
    return place == SIZE_MAX ? pl_fail_memory(error, "the layers") : POPLINER_OK;
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

/* The layers that two places have in common. */
typedef struct common {
    size_t count;
    size_t first;
    size_t last;
} common;

static bool are_two_places(const places *p, size_t one, size_t other, common *c) {
    *c = (common){0};
    for (size_t unit = 1; unit < p->num_units; unit++) {
        const size_t step = *step_of(p, one, unit);
        const size_t again = *step_of(p, other, unit);
        if (step == SIZE_MAX || again == SIZE_MAX)
            continue;
        if (c->count++ == 0)
            c->first = unit;
        else if (step <= *step_of(p, one, c->last) || again <= *step_of(p, other, c->last))
            return false; /* a backward pass, or what comes after it */
        c->last = unit;
    }
    if (c->count < 2)
        return false;
    const size_t last_step = *step_of(p, one, c->last);
    const size_t again = *step_of(p, other, c->first);
    return again > last_step && !begins_between(p, c->first, last_step, again);
}

static void add_quoted(pl_text *text, const char *plain) {
    for (const char *c = plain; *c != '\0'; c++)
        pl_text_format(text, strchr("\\^$.[]|()?*+{}", *c) != NULL ? "\\%c" : "%c", *c);
}

/* Warns, with a pattern that captures the places. */
static popliner_status tell(const places *p, size_t one, size_t other, const common *c,
                            const pl_regex *regex, const pl_layer_options *options,
                            popliner_error *error) {
    const char *const names[] = {p->names.items[one], p->names.items[other]};
    pl_text remedy = {0};
    pl_text_add(&remedy, pl_regex_has_groups(regex) ? "(" : "(?:");
    add_quoted(&remedy, names[0]);
    pl_text_add(&remedy, "|");
    add_quoted(&remedy, names[1]);
    pl_text_format(&remedy, ")(?:%s)", options->name_regex);
    if (!remedy.failed)
        pl_tell(options->listener, POPLINER_LEVEL_WARNING,
                "%zu layers run in two places and count once: '%.100s' at step %zu in '%.100s' and "
                "%zu in '%.100s', to '%.100s'. To separate them use %s '%s'.",
                c->count, pl_layers_name(p->layers, c->first), *step_of(p, one, c->first), names[0],
                *step_of(p, other, c->first), names[1], pl_layers_name(p->layers, c->last),
                options->name_regex_name, remedy.data);
    free(remedy.data);
    return remedy.failed ? pl_fail_memory(error, "the layers") : POPLINER_OK;
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
    if (p.first_step == NULL)
        return pl_fail_memory(error, "the layers");
    for (size_t i = 0; i < MOST_PLACES * p.num_units; i++)
        p.first_step[i] = SIZE_MAX;
    for (size_t i = 0; status == POPLINER_OK && i < pl_operations_count(operations); i++)
        status = note_operation(&p, regex, i, error);
    const size_t count = status == POPLINER_OK && p.names.count <= MOST_PLACES ? p.names.count : 0;
    for (size_t i = 0; !is_told && i < count * count; i++) {
        common c;
        is_told = i / count != i % count && are_two_places(&p, i / count, i % count, &c);
        if (is_told)
            status = tell(&p, i / count, i % count, &c, regex, options, error);
    }
    pl_names_free(&p.names);
    free(p.first_step);
    return status;
}
