/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "command/no_layers.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* The first few operations, none twice: "'a', 'b' and 'c'"; "" if there are none. */
static void list_operations(const popliner_operations *operations, char *text, size_t size) {
    enum { MAX_SHOWN = 5 };
    const char *shown[MAX_SHOWN] = {NULL};
    size_t num_shown = 0;
    size_t length = 0;
    const popliner_operation *operation;
    for (size_t i = 0;
         num_shown < MAX_SHOWN && (operation = popliner_operations_at(operations, i)) != NULL;
         i++) {
        bool is_known = operation->is_tensor || *operation->name == '\0';
        for (size_t k = 0; k < num_shown; k++)
            is_known = is_known || strcmp(shown[k], operation->name) == 0;
        if (!is_known)
            shown[num_shown++] = operation->name;
    }
    *text = '\0';
    for (size_t k = 0; k < num_shown && length < size; k++)
        length += (size_t)snprintf(text + length, size - length, "%s'%.150s'",
                                   k == 0              ? ""
                                   : k + 1 < num_shown ? ", "
                                                       : " and ",
                                   shown[k]);
}

/* Says something of the profile: in the log, and in pages of it. */
static popliner_status say(session *s, popliner_error *error, popliner_level level,
                           const char *format, ...) {
    char text[2000];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    log_message(&s->log, level, "%s", text);
    return popliner_analysis_add_message(s->analysis, level, text, error);
}

/* Names operations, and a regex that would find layers among them. */
static popliner_status tell_candidates(session *s, popliner_error *error) {
    const popliner_operations *operations = NULL;
    popliner_diagnosis_options all = POPLINER_DIAGNOSIS_OPTIONS_INIT;
    popliner_diagnosis *diagnosis = NULL;
    all.memory_model = POPLINER_MEMORY_MODEL_POPLINER;
    char names[900];
    popliner_status status = popliner_analysis_operations(s->analysis, &operations, error);
    if (status == POPLINER_OK)
        status = popliner_analysis_diagnose(s->analysis, &all, &diagnosis, error);
    if (status != POPLINER_OK)
        return status;
    const popliner_diagnosis_summary *found = popliner_diagnosis_get_summary(diagnosis);
    list_operations(operations, names, sizeof names);
    if (*names != '\0')
        status = say(s, error, POPLINER_LEVEL_WARNING,
                     "The first operations are %s; --operation-breakdown lists all.", names);
    if (status == POPLINER_OK && *found->suggested_regex != '\0')
        status = say(s, error, POPLINER_LEVEL_WARNING,
                     "--layer-name-regex '%s' would find %zu layers, as in '%s'.",
                     found->suggested_regex, found->suggested_layers, found->suggestion_example);
    popliner_diagnosis_free(diagnosis);
    return status;
}

/* Whether any operation is in a layer. */
static bool has_layer(const popliner_layers *layers) {
    const popliner_layer_finding *layer = popliner_layers_at(layers, 0);
    for (size_t i = 1; layer != NULL && layer->unit == 0; i++)
        layer = popliner_layers_at(layers, i);
    return layer != NULL;
}

popliner_status can_split(session *s, bool *can, popliner_error *error) {
    const popliner_layers *layers = NULL;
    popliner_status status = popliner_analysis_layers(s->analysis, &layers, error);
    *can = status == POPLINER_OK && (s->options.num_ipus == 1 || has_layer(layers));
    if (status != POPLINER_OK || *can)
        return status;
    s->failed_softly = true;
    status =
        say(s, error, POPLINER_LEVEL_ERROR,
            "No layer was found, so there is nothing to split: give --layer-name-regex a regex "
            "that finds the layers in the names of operations, or --num-ipus 1.");
    return status == POPLINER_OK ? tell_candidates(s, error) : status;
}
