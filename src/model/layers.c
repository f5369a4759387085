/* The rules of PopLiner 1.0.0 for layers, and one more source of names.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/layers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "base/text.h"
#include "model/operations.h"
#include "profile/profile_data.h"

/* While layers are being found, an operation's unit is the number of a name or one of these. */
#define UNIT_FIRST_LAYER (SIZE_MAX - 1)
#define UNIT_NONE SIZE_MAX

/* The distinct results of the regex on some texts. */
typedef struct results {
    bool is_known; /* of a variable */
    size_t *seen;  /* [count]: numbers of names */
    size_t count;
} results;

/* The state of the rules. */
typedef struct finder {
    const popliner_profile *profile;
    const pl_operations *operations;
    pl_layers *layers;
    pl_regex *name_regex;
    pl_regex *first_layer_regex;
    results *searched;       /* those that the regex adds to now */
    results found;           /* of the current operation */
    results *of_variable;    /* [num_unlowered] */
    size_t current;          /* the unit of the next operation, then its own */
    pl_text inputs;          /* of the current operation, as the regexes read them */
    size_t calls_of_several; /* Calls whose inputs name more than one layer */
    size_t num_counted;      /* operations that are no tensors */
    size_t num_found;        /* of num_counted: operations that some rule applied to */
    pl_arrays scratch;       /* own the arrays above */
    pl_outcome outcome;      /* of the rules */
} finder;

static bool is_well(const finder *f) {
    return f->outcome.status == POPLINER_OK;
}

/* Fails unless there was memory. True if nothing has failed. */
static bool has(finder *f, bool memory) {
    return pl_outcome_has(&f->outcome, memory, "the layers");
}

static void add_number(finder *f, results *to, size_t number) {
    for (size_t i = 0; i < to->count; i++)
        if (to->seen[i] == number)
            return;
    if (pl_arrays_grow(&f->scratch, &to->seen, to->count + 1, sizeof *to->seen))
        to->seen[to->count++] = number;
}

static bool add_result(void *user, const char *name) {
    finder *f = user;
    const size_t number = pl_names_number(&f->layers->all_names, name);
    if (number != SIZE_MAX)
        add_number(f, f->searched, number);
    return number != SIZE_MAX && !f->scratch.failed;
}

/* Sets *found to the results of the regex on a text. */
static void find_in_text(finder *f, const char *text, results *found) {
    found->count = 0;
    f->searched = found;
    if (is_well(f))
        f->outcome.status =
            pl_regex_find_all(f->name_regex, text, strlen(text), add_result, f, f->outcome.error);
}

/* Sets f->found to the results of the regex on the names of all variables that the operation
 * touches. */
static void find_in_variables(finder *f, size_t index) {
    const pl_operations *o = f->operations;
    const popliner_profile *p = f->profile;
    f->found.count = 0;
    for (size_t i = o->rows[index].unlowered_start;
         is_well(f) && i < o->rows[index + 1].unlowered_start; i++) {
        results *own = &f->of_variable[o->unlowered[i]];
        if (!own->is_known)
            find_in_text(f, pl_profile_string(p, p->unlowered_name[o->unlowered[i]]), own);
        own->is_known = true;
        for (size_t k = 0; k < own->count; k++)
            add_number(f, &f->found, own->seen[k]);
        has(f, !f->scratch.failed);
    }
}

/* Sets f->inputs to an operation's inputs as the regexes read them: with slashes for points. */
static bool set_inputs(finder *f, const char *inputs) {
    f->inputs.length = 0;
    pl_text_add(&f->inputs, inputs);
    for (size_t i = 0; !f->inputs.failed && i < f->inputs.length; i++) {
        if (f->inputs.data[i] == '.')
            f->inputs.data[i] = '/';
    }
    return !f->inputs.failed;
}

static void assign_unit(finder *f, size_t index, popliner_layer_rule rule, size_t unit) {
    f->layers->items[index].rule = rule;
    f->layers->items[index].unit = unit;
    if (rule != POPLINER_LAYER_RULE_FOLLOWING)
        f->current = unit;
}

/* True if exactly one layer was found, which becomes that of the operation by `rule`, or if
 * something has failed. */
static bool is_done(finder *f, size_t index, popliner_layer_rule rule) {
    if (f->found.count == 1)
        assign_unit(f, index, rule, f->found.seen[0]);
    return f->found.count == 1 || !is_well(f);
}

/* Assigns an operation whose names name no layer, or several. */
static void assign_unnamed(finder *f, size_t index, bool is_call) {
    bool matches = false;
    if (f->found.count > 1 && is_call && f->operations->of_framework != 0)
        f->calls_of_several++;
    if (f->found.count == 0 && is_call) {
        assign_unit(f, index, POPLINER_LAYER_RULE_FOLLOWING, f->current);
        return;
    }
    f->outcome.status = pl_regex_matches(f->first_layer_regex, f->inputs.data, f->inputs.length,
                                         &matches, NULL, f->outcome.error);
    if (matches) {
        assign_unit(f, index, POPLINER_LAYER_RULE_FIRST_LAYER, UNIT_FIRST_LAYER);
    } else {
        assign_unit(f, index, POPLINER_LAYER_RULE_NONE, UNIT_NONE);
        f->layers->items[index].num_named = f->found.count;
    }
}

/* Applies the rules to one operation. */
static void assign(finder *f, size_t index) {
    const popliner_operation *operation = pl_operation_at(f->operations, index);
    if (operation->is_tensor) {
        f->layers->items[index].rule = POPLINER_LAYER_RULE_TENSOR;
        f->layers->items[index].unit = UNIT_NONE;
        return;
    }
    find_in_text(f, operation->name, &f->found);
    if (is_done(f, index, POPLINER_LAYER_RULE_NAME) || !has(f, set_inputs(f, operation->inputs)))
        return;
    find_in_text(f, f->inputs.data, &f->found);
    if (is_done(f, index, POPLINER_LAYER_RULE_INPUTS))
        return;
    if (f->found.count == 0 && f->operations->of_framework == 0) {
        find_in_variables(f, index);
        if (is_done(f, index, POPLINER_LAYER_RULE_VARIABLES))
            return;
    }
    assign_unnamed(f, index, strncmp(operation->name, "Call", 4) == 0);
}

/* Orders the layers that some operation has, and converts numbers of names into units. False if
 * memory is short. */
static bool order_layers(pl_layers *layers, popliner_layer_order order) {
    const pl_names *all = &layers->all_names;
    size_t count = 0;
    pl_arrays scratch = {0};
    size_t *unit = pl_arrays_new(&scratch, all->count, sizeof *unit); /* by name; 0: none yet */
    size_t *ordered = pl_arrays_new(&scratch, all->count, sizeof *ordered);
    layers->names = pl_arrays_new(&layers->arrays, all->count, sizeof *layers->names);
    if (scratch.failed || layers->arrays.failed) {
        pl_arrays_free(&scratch);
        return false;
    }
    for (size_t i = 0; i < layers->num_operations; i++) {
        const size_t own = layers->items[i].unit;
        if (own >= UNIT_FIRST_LAYER || unit[own] != 0)
            continue;
        /* by insertion: few layers, and names that compare equal keep their order */
        size_t k = count++;
        for (; order == POPLINER_LAYER_ORDER_NATURAL && k > 0 &&
               pl_compare_naturally(all->items[ordered[k - 1]], all->items[own]) > 0;
             k--)
            ordered[k] = ordered[k - 1];
        ordered[k] = own;
        unit[own] = 1; /* until all are ordered */
    }
    for (size_t k = 0; k < count; k++) {
        unit[ordered[k]] = k + 1;
        layers->names[k] = all->items[ordered[k]];
    }
    layers->num_layers = count;
    for (size_t i = 0; i < layers->num_operations; i++) {
        popliner_layer_finding *it = &layers->items[i];
        it->unit = it->unit < UNIT_FIRST_LAYER ? unit[it->unit]
                                               : it->unit == UNIT_FIRST_LAYER && count > 0;
        it->name = pl_layers_name(layers, it->unit);
    }
    pl_arrays_free(&scratch);
    return true;
}

/* Returns the rule as PopLiner's tables call it; nothing depends on it. */
static const char *note_of(pl_layers *layers, const popliner_layer_finding *it, bool of_framework) {
    static const char *const texts[] = {
        [POPLINER_LAYER_RULE_NAME] = "",
        [POPLINER_LAYER_RULE_INPUTS] = "deduced_from_input_names",
        [POPLINER_LAYER_RULE_VARIABLES] = "deduced_from_variable_names",
        [POPLINER_LAYER_RULE_FOLLOWING] = "deduced_from_following_operation",
        [POPLINER_LAYER_RULE_FIRST_LAYER] = "inputs_regex_layer_0",
        [POPLINER_LAYER_RULE_TENSOR] = "tensor_filter",
    };
    char text[40];
    if (it->rule != POPLINER_LAYER_RULE_NONE)
        return texts[it->rule];
    snprintf(text, sizeof text, "%zu_%s_layers", it->num_named,
             of_framework || it->num_named == 0 ? "input" : "variable");
    return pl_arrays_text(&layers->arrays, text);
}

/* Adds the names of the first few operations, none twice: "'a', 'b'"; nothing if there are none. */
static void add_first_operations(const finder *f, pl_text *text) {
    enum { MOST = 5 };
    size_t num_shown = 0;
    const size_t count = pl_operations_count(f->operations);
    for (size_t i = 0; num_shown < MOST && i < count && !text->failed; i++) {
        const popliner_operation *own = pl_operation_at(f->operations, i);
        char quoted[160];
        snprintf(quoted, sizeof quoted, "'%.150s'", own->name);
        if (own->is_tensor || *own->name == '\0' ||
            (text->data != NULL && strstr(text->data, quoted) != NULL))
            continue;
        pl_text_format(text, "%s%s", num_shown++ == 0 ? " The first operations are " : ", ",
                       quoted);
    }
    pl_text_add(text, num_shown == 0 ? "" : ".");
}

/* Reports the outcome in PopLiner's words. As in PopLiner, an operation counts as found if a rule
 * applies, even if that rule takes a layer from an operation without one. */
static void warn(finder *f, const pl_layer_options *options) {
    const popliner_listener *listener = options->listener;
    const char *name_regex = options->name_regex;
    double percent =
        f->num_counted == 0 ? 0 : 100.0 * (double)f->num_found / (double)f->num_counted;
    if (percent < 50)
        pl_tell(listener, POPLINER_LEVEL_WARNING,
                "Only found layers for %.0f%% of operations. This may indicate a lack of layer "
                "names in your model or an inappropriate value for %s.%s%s",
                percent, options->name_regex_name, *options->name_regex_hint != '\0' ? " " : "",
                options->name_regex_hint);
    else
        pl_tell(listener, POPLINER_LEVEL_INFO, "Layers found for %.0f%% of operations", percent);
    if (f->layers->all_names.count == 0) {
        pl_text operations = {0};
        add_first_operations(f, &operations);
        pl_tell(listener, POPLINER_LEVEL_WARNING, "The layer regex '%s' matches nothing.%s",
                name_regex, pl_text_string(&operations));
        free(operations.data);
    }
    if (f->calls_of_several > 0)
        pl_tell(listener, POPLINER_LEVEL_WARNING,
                "Calls were found with inputs from multiple layers - which can lead to poor "
                "results. Consider recompiling your profile with the environment variable: "
                "POPART_POPLINER_OUTLINER_REGEX='%s'",
                name_regex);
}

static pl_layer_options complete(const pl_layer_options *options) {
    pl_layer_options o = options == NULL ? (pl_layer_options){0} : *options;
    if (o.name_regex == NULL)
        o.name_regex = POPLINER_LAYER_NAME_REGEX;
    if (o.first_layer_regex == NULL)
        o.first_layer_regex = POPLINER_FIRST_LAYER_REGEX;
    if (o.name_regex_name == NULL)
        o.name_regex_name = "name_regex";
    if (o.first_layer_regex_name == NULL)
        o.first_layer_regex_name = "first_layer_regex";
    if (o.name_regex_hint == NULL)
        o.name_regex_hint = "";
    return o;
}

/* Compiles both regexes; the caller frees them, also after a failure. */
static popliner_status compile_regexes(const pl_layer_options *options, pl_regex **name_regex,
                                       pl_regex **first_layer_regex, popliner_error *error) {
    PL_TRY(pl_regex_compile(options->name_regex, options->name_regex_name, name_regex, error));
    return pl_regex_compile(options->first_layer_regex, options->first_layer_regex_name,
                            first_layer_regex, error);
}

popliner_status pl_layer_options_check(const pl_layer_options *options, popliner_error *error) {
    const pl_layer_options o = complete(options);
    pl_regex *name_regex = NULL;
    pl_regex *first_layer_regex = NULL;
    popliner_status status = compile_regexes(&o, &name_regex, &first_layer_regex, error);
    pl_regex_free(name_regex);
    pl_regex_free(first_layer_regex);
    return status;
}

/* Starts with the last operation, since a Call takes the layer of the next one. */
static void assign_all(finder *f) {
    for (size_t i = f->layers->num_operations; is_well(f) && i-- > 0;) {
        popliner_layer_finding *it = &f->layers->items[i];
        assign(f, i);
        f->num_counted += it->rule != POPLINER_LAYER_RULE_TENSOR;
        f->num_found +=
            it->rule != POPLINER_LAYER_RULE_TENSOR && it->rule != POPLINER_LAYER_RULE_NONE;
        it->note = note_of(f->layers, it, f->operations->of_framework != 0);
    }
}

popliner_status pl_layers_assign(const popliner_profile *profile, const pl_operations *operations,
                                 const pl_layer_options *options, pl_layers **result,
                                 popliner_error *error) {
    const pl_layer_options o = complete(options);
    size_t count = pl_operations_count(operations);
    pl_layers *layers = calloc(1, sizeof *layers);
    *result = NULL;
    if (layers == NULL)
        return pl_fail_memory(error, "the layers");
    finder f = {.profile = profile,
                .operations = operations,
                .layers = layers,
                .current = UNIT_NONE,
                .outcome = {.error = error}};
    f.of_variable = pl_arrays_new(&f.scratch, profile->num_unlowered, sizeof *f.of_variable);
    layers->num_operations = count;
    layers->items = pl_arrays_new(&layers->arrays, count, sizeof *layers->items);
    if (has(&f, !f.scratch.failed && !layers->arrays.failed))
        f.outcome.status = compile_regexes(&o, &f.name_regex, &f.first_layer_regex, error);
    if (is_well(&f))
        assign_all(&f);
    if (is_well(&f) && has(&f, order_layers(layers, o.order))) {
        warn(&f, &o);
        f.outcome.status = pl_layer_places_tell(operations, layers, f.name_regex, &o, error);
    }
    pl_arrays_free(&f.scratch);
    free(f.inputs.data);
    pl_regex_free(f.name_regex);
    pl_regex_free(f.first_layer_regex);
    if (is_well(&f))
        *result = layers;
    else
        pl_layers_free(layers);
    return f.outcome.status;
}

void pl_layers_free(pl_layers *layers) {
    if (layers == NULL)
        return;
    pl_names_free(&layers->all_names);
    pl_arrays_free(&layers->arrays);
    free(layers);
}
