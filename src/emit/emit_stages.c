/* The split of a plan as formats see it: which layers are in which stage, and what else is.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "answer/certificate_data.h"
#include "base/failure.h"
#include "base/numbers.h"
#include "costs/costs.h"
#include "emit/emit_data.h"
#include "memory/chain_data.h"

/* The kind of a unit between two layers that is no layer; others have a popliner_unit_kind. Those
 * that are UNLAYERED run before and after the layers. */
enum { KIND_STRAY = POPLINER_UNIT_TAIL + 1 };

static bool is_counted(const pl_certificate_input *in, size_t unit) {
    const uint8_t *counted = in->options->counted_units;
    return counted == NULL || counted[unit] != 0;
}

/* True for a layer that predicts further tokens: by its kind; without kinds "mtp", "mtp.0", ... */
static bool is_mtp(const pl_certificate_input *in, size_t unit) {
    const char *name = in->unit_names[unit];
    if (in->unit_kinds != NULL)
        return in->unit_kinds[unit] == PL_UNIT_KIND_MTP;
    return strncmp(name, "mtp", 3) == 0 && (name[3] == '\0' || name[3] == '.');
}

/* Returns the length of a name without the number at its end. */
static size_t prefix_length(const char *name) {
    size_t length = strlen(name);
    while (length > 0 && name[length - 1] >= '0' && name[length - 1] <= '9')
        length--;
    return length;
}

/* True if `name` is the prefix of `first` and this number. */
static bool is_numbered(const char *name, const char *first, size_t number) {
    const size_t length = prefix_length(first);
    char digits[24];
    snprintf(digits, sizeof digits, "%zu", number);
    return strncmp(name, first, length) == 0 && strcmp(name + length, digits) == 0;
}

static bool has_digit(const char *name) {
    return name[strcspn(name, "0123456789")] != '\0';
}

/* Finds the layers of a table that marks none, as in "embedding, layer.0, layer.1, head": the units
 * first to end - 1 are numbered, and no digit or empty name is elsewhere. Only formats that count
 * layers ask, as all units are layers otherwise. */
static void find_numbered(const pl_certificate_input *in, size_t *first, size_t *end) {
    const char *const *names = in->unit_names;
    size_t from = 0;
    while (from < in->num_units && !has_digit(names[from]))
        from++;
    if (from == in->num_units)
        return;
    const size_t number = is_numbered(names[from], names[from], 1);
    size_t to = from;
    while (to < in->num_units && is_numbered(names[to], names[from], to - from + number))
        to++;
    for (size_t i = 0; i < in->num_units; i++)
        if ((i < from || i >= to) && (*names[i] == '\0' || has_digit(names[i])) && !is_mtp(in, i))
            return;
    *first = from;
    *end = to;
}

/* Finds the range of units, first to end - 1, that has all layers. */
static void find_layers(pl_emission *e, const pl_certificate_input *in, size_t *first,
                        size_t *end) {
    bool has_marks = in->unit_kinds != NULL;
    *first = 0;
    *end = in->num_units;
    for (size_t i = 0; i < in->num_units; i++)
        has_marks = has_marks || !is_counted(in, i);
    if (!has_marks && in->chain == NULL && (e->traits & COUNTS_LAYERS) != 0)
        find_numbered(in, first, end);
    e->has_unmarked_ends = *end - *first < in->num_units;
    while (*first < *end && !is_counted(in, *first))
        ++*first;
    while (*end > *first && !is_counted(in, *end - 1))
        --*end;
}

static int kind_of(const pl_certificate_input *in, size_t unit, size_t first, size_t end) {
    if (in->chain != NULL)
        return (int)in->chain->kind[unit];
    return unit < first           ? (int)POPLINER_UNIT_HEAD
           : unit >= end          ? (int)POPLINER_UNIT_TAIL
           : is_counted(in, unit) ? (int)POPLINER_UNIT_LAYER
                                  : (int)KIND_STRAY;
}

static void take_unit(pl_emission *e, pl_emit_stage *stage, size_t unit, int kind, bool predicts) {
    const bool is_both = kind == POPLINER_UNIT_UNLAYERED;
    if (kind == POPLINER_UNIT_LAYER) {
        e->layers[e->num_layers++] = e->in->unit_names[unit];
        stage->num_layers++;
    } else if (kind == KIND_STRAY) {
        e->stray_layer =
            e->stray_unit == SIZE_MAX || e->stray_layer == e->num_layers ? e->num_layers : 0;
        e->stray_unit = unit;
    }
    if (kind == POPLINER_UNIT_HEAD || is_both) {
        stage->has_head = true;
        e->num_head_units++;
    }
    if (kind == POPLINER_UNIT_TAIL || is_both) {
        pl_emit_stage *own = is_both ? &e->stages[e->num_stages - 1] : stage;
        own->has_tail = true;
        own->num_mtp += predicts && !is_both;
        own->has_end = own->has_end || is_both || !predicts;
        e->num_tail_units++;
    }
}

static void take_stages(pl_emission *e, const pl_certificate_input *in, const popliner_plan *plan) {
    size_t first;
    size_t end;
    find_layers(e, in, &first, &end);
    e->stray_unit = SIZE_MAX;
    for (size_t i = 0; i < e->num_stages; i++) {
        pl_emit_stage *stage = &e->stages[i];
        stage->first_unit = plan->stages[i].first_unit;
        stage->last_unit = plan->stages[i].last_unit;
        stage->ipu = plan->stages[i].ipu;
        stage->first_layer = e->num_layers;
        for (size_t unit = stage->first_unit; unit <= stage->last_unit; unit++)
            take_unit(e, stage, unit, kind_of(in, unit, first, end), is_mtp(in, unit));
    }
}

void pl_emit_count_ipus(pl_emission *e) {
    for (size_t i = 0; i < e->num_stages; i++) {
        pl_emit_stage *stage = &e->stages[i];
        size_t first = 0; /* on its IPU */
        while (e->stages[first].ipu != stage->ipu)
            first++;
        stage->rank = first < i ? e->stages[first].rank : e->num_ipus++;
        e->max_ipu = pl_more(e->max_ipu, stage->ipu);
        e->has_own_order = e->has_own_order || stage->ipu != stage->rank;
    }
}

static void add_module(pl_emission *e, const char *name, size_t stage, bool is_layer) {
    e->modules[e->num_modules++] = (pl_emit_module){name, stage, is_layer};
}

/* Returns the path of a layer's module; its name if the options have no path. */
static const char *path_of(pl_emission *e, const char *layer) {
    const char *path = e->options.layer_path == NULL ? PL_EMIT_HOLE : e->options.layer_path;
    const char *hole = strstr(path, PL_EMIT_HOLE);
    return pl_arrays_take(&e->arrays, pl_text_of("%.*s%s%s", (int)(hole - path), path, layer,
                                                 hole + strlen(PL_EMIT_HOLE)));
}

static void list_modules(pl_emission *e) {
    const popliner_emit_options *o = &e->options;
    e->modules = pl_arrays_new(
        &e->arrays, o->num_head_modules + e->num_layers + o->num_tail_modules, sizeof *e->modules);
    for (size_t i = 0; !e->arrays.failed && i < o->num_head_modules; i++)
        add_module(e, o->head_modules[i], 0, false);
    for (size_t stage = 0; stage < e->num_stages; stage++)
        for (size_t k = 0; !e->arrays.failed && k < e->stages[stage].num_layers; k++)
            add_module(e, path_of(e, e->layers[e->stages[stage].first_layer + k]), stage, true);
    for (size_t i = 0; !e->arrays.failed && i < o->num_tail_modules; i++)
        add_module(e, o->tail_modules[i], e->num_stages - 1, false);
}

popliner_status pl_emit_take_plan(pl_emission *e, const pl_certificate_input *in,
                                  const popliner_plan *plan, popliner_error *error) {
    if (plan->num_stages == 0 || plan->stages[plan->num_stages - 1].last_unit + 1 < in->num_units)
        return pl_emit_refuse(e, error, "the plan does not split the whole chain");
    e->in = in;
    e->plan = plan;
    e->num_stages = plan->num_stages;
    e->pipeline = in->pipeline;
    e->keeps = pl_pipeline_keeps(&in->pipeline);
    e->layers = pl_arrays_new(&e->arrays, in->num_units, sizeof *e->layers);
    e->stages = pl_arrays_new(&e->arrays, plan->num_stages, sizeof *e->stages);
    if (e->arrays.failed)
        return pl_fail_memory(error, "a plan");
    take_stages(e, in, plan);
    list_modules(e);
    if (e->arrays.failed)
        return pl_fail_memory(error, "a plan");
    e->has_head_bytes = in->num_empty_units < e->num_head_units;
    pl_emit_count_ipus(e);
    return POPLINER_OK;
}

/* Returns the number of the layers, from `begin` on, that are numbered like the first of them. */
static size_t count_numbered(const pl_emission *e, size_t begin) {
    const char *first = e->layers[begin];
    const size_t number = is_numbered(first, first, 1);
    size_t end = begin;
    while (end < e->num_layers && is_numbered(e->layers[end], first, end - begin + number))
        end++;
    return end - begin;
}

popliner_status pl_emit_check_numbers(pl_emission *e, popliner_error *error) {
    const char *const first = e->layers[0];
    const size_t length = prefix_length(first);
    const bool from_one = is_numbered(first, first, 1);
    const bool has_prefix = from_one || is_numbered(first, first, 0);
    const size_t i = count_numbered(e, 0);
    if ((e->traits & HAS_STACKS) != 0 && i > 0 && i < e->num_layers &&
        count_numbered(e, i) == e->num_layers - i)
        e->second_stack = i;
    else if (i < e->num_layers) {
        return pl_emit_refuse(
            e, error,
            "counts layers; expected layer %.*s%zu, found '%.60s'; %s, or use a format "
            "that names layers, like torch",
            has_prefix && length < 60 ? (int)length : 0, first, i + from_one, e->layers[i],
            e->in->chain != NULL
                ? "capture their numbers"
                : "end their names with numbers, and add a column 'layer' with true "
                  "for each of them, false for all else");
    }
    if (from_one)
        pl_emit_note(e,
                     "There is no layer %.*s0, so layer %.60s counts as the first layer of the "
                     "model.",
                     length < 60 ? (int)length : 0, first, first);
    if (e->has_unmarked_ends)
        pl_emit_note(e,
                     "Layers are %.60s to %.60s, as their names have numbers; units before and "
                     "after them are no layers. A column 'layer' can change this.",
                     first, e->layers[e->num_layers - 1]);
    return POPLINER_OK;
}
