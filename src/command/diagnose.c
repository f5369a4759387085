/* --diagnose: what the analysis explains of the compiler's own account; what there is to split.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdint.h>

#include "command/commands.h"

/* ---- a profile in which no layer was found ---- */

/* Names a regex that would find layers. A stored analysis has no other layers. */
static popliner_status tell_candidates(session *s, popliner_error *error) {
    popliner_diagnosis *diagnosis = NULL;
    popliner_status status =
        s->options.load_from_file
            ? POPLINER_OK
            : popliner_analysis_diagnose(s->analysis, POPLINER_MEMORY_MODEL_POPLINER, false, 0,
                                         SIZE_MAX, &diagnosis, error);
    if (status == POPLINER_OK && diagnosis != NULL && *diagnosis->suggested_regex != '\0')
        session_warn(s, "--layer-name-regex '%s' would find %zu layers, as in '%s'.",
                     diagnosis->suggested_regex, diagnosis->suggested_layers,
                     diagnosis->suggestion_example);
    popliner_diagnosis_free(diagnosis);
    return status;
}

popliner_status can_split(session *s, popliner_error *error) {
    static const char no_layer[] =
        "No layer was found, so there is nothing to split: give --layer-name-regex a regex that "
        "finds the layers in the names of operations, or --num-ipus 1.";
    const popliner_layer_finding *layers = NULL;
    size_t count = 0;
    TRY(popliner_analysis_layers(s->analysis, &layers, &count, error));
    s->can_split = s->options.num_ipus.number == 1;
    for (size_t i = 0; i < count && !s->can_split; i++)
        s->can_split = layers[i].unit > 0;
    if (s->can_split)
        return POPLINER_OK;
    s->failed_softly = true;
    log_message(&s->log, POPLINER_LEVEL_ERROR, "%s", no_layer);
    TRY(popliner_analysis_add_message(s->analysis, POPLINER_LEVEL_ERROR, no_layer, error));
    return tell_candidates(s, error);
}

/* ---- --diagnose ---- */

/* Puts --layers in terms of the chain's units: of "A..B", "A..", "..B" or "A"; all without it. */
popliner_status diagnose_begin(session *s, popliner_error *error) {
    const asked_layers *layers = &s->options.layers;
    request *r = &s->request;
    const popliner_chain *chain = NULL;
    TRY(popliner_analysis_chain(s->analysis, session_memory_model(s, POPLINER_MEMORY_MODEL_FULL),
                                &chain, error));
    TRY(request_name_chain(r, chain, error));
    s->ends[1] = r->num_units - 1;
    for (size_t i = 0; layers->names[0] != NULL && i < 2; i++) {
        if (layers->lengths[i] > 0)
            s->ends[i] = request_find_unit(r, layers->names[i], layers->lengths[i]);
        if (s->ends[i] == SIZE_MAX)
            return request_no_unit(r, "layers", layers->value, layers->names[i], layers->lengths[i],
                                   error);
    }
    return s->ends[0] <= s->ends[1]
               ? POPLINER_OK
               : fail_usage(error, "--layers %s: ends before it begins; expected A..B, like 2..5",
                            layers->value);
}

/* Decides whether the diagnosis is a success. */
static popliner_status judge(session *s, const popliner_diagnosis *diagnosis,
                             popliner_error *error) {
    const asked_failures *asked = &s->options.fail_on;
    const bool contradicts = diagnosis->num_contradictions > 0;
    const double difference = (double)diagnosis->truth_bytes - (double)diagnosis->explained_bytes;
    const double allowed = (double)diagnosis->truth_bytes * asked->unexplained_percent / 100;
    for (size_t i = 0; i < diagnosis->num_contradictions; i++)
        session_warn(s, "%s", diagnosis->contradictions[i]);
    if (contradicts && asked->contradiction)
        return fail(error, POPLINER_ERROR_INPUT,
                    "%s: the diagnosis does not add up (see the warnings), which --fail-on "
                    "contradiction does not allow",
                    s->options.profile);
    if (difference > allowed || -difference > allowed) {
        s->failed_softly = true;
        if (!screen_is_used(s))
            session_warn(s,
                         "%llu of %llu bytes are explained at the bottleneck: that is not within "
                         "--fail-on unexplained=%g%%, so the exit status is 1.",
                         (unsigned long long)diagnosis->explained_bytes,
                         (unsigned long long)diagnosis->truth_bytes, asked->unexplained_percent);
    }
    s->failed_softly = s->failed_softly || contradicts || session_num_breaches(s) > 0;
    return POPLINER_OK;
}

popliner_status diagnose_and_print(session *s, popliner_error *error) {
    popliner_diagnosis *diagnosis = NULL;
    TRY(popliner_analysis_diagnose(s->analysis, session_memory_model(s, POPLINER_MEMORY_MODEL_FULL),
                                   s->options.layers.only_layers, s->ends[0], s->ends[1],
                                   &diagnosis, error));
    popliner_status status = judge(s, diagnosis, error);
    if (status == POPLINER_OK)
        status =
            outputs_of_answer(s, &(material){.action = DIAGNOSE, .diagnosis = diagnosis}, error);
    popliner_diagnosis_free(diagnosis);
    return status;
}
