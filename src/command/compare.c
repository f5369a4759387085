/* --compare: the profile that is read, now, and another one, before.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "popliner/utilities.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command/commands.h"
#include "command/option_table.h"

/* ---- the other side ---- */

popliner_status compare_name_other(const session *s, popliner_status status,
                                   popliner_error *error) {
    const popliner_error told = *error;
    if (status == POPLINER_OK || strstr(error->message, s->options.compare) != NULL)
        return status;
    return fail(error, status, "--compare %s: %s", s->options.compare, told.message);
}

/* ---- the plans ---- */

/* Whether the same is asked of both. */
static popliner_status check_limits(const session *s, popliner_error *error) {
    const options *o = &s->options;
    const session *other = s->other;
    if ((!o->solve && o->evaluate == NULL) || o->lists[LIST_LIMITS].all.bytes > 0 ||
        session_profile(s).bytes_per_tile == session_profile(other).bytes_per_tile)
        return POPLINER_OK;
    return fail_usage(error,
                      "--compare %s: a tile has %llu bytes there and %llu in %s, so --%s would "
                      "be asked two things: give --mem-per-tile",
                      o->compare, (unsigned long long)session_profile(other).bytes_per_tile,
                      (unsigned long long)session_profile(s).bytes_per_tile, o->profile,
                      o->solve ? "solve" : "evaluate");
}

/* ---- the answer ---- */

/* Names the growth that breaks a bound: of several, the largest. */
static void name_growth(const popliner_changes *changes, popliner_growth of, char text[200]) {
    const popliner_change *most = changes->exceeded[of][0];
    const bool is_of_unit = of == POPLINER_GROWTH_LAYERS && strcmp(most->what, "layer") != 0;
    if (of == POPLINER_GROWTH_LARGEST_TILE)
        snprintf(text, 200, "%s grew",
                 strcmp(most->what, "plan") == 0 ? "the need of the fullest tile of all stages"
                                                 : "the live memory of the fullest tile");
    else if (of == POPLINER_GROWTH_CYCLES)
        snprintf(text, 200, "they grew");
    else
        snprintf(text, 200, "%zu of %zu grew by more, most %s%s%.100s", changes->num_exceeded[of],
                 changes->num_compared[of], is_of_unit ? "" : most->what, is_of_unit ? "" : " ",
                 most->name);
}

/* With --fail-on growth: whether anything grew by more. */
static void check_growth(session *s, const popliner_changes *changes) {
    for (int of = 0; of < POPLINER_NUM_GROWTHS; of++) {
        const bool is_main = of == POPLINER_GROWTH_LARGEST_TILE;
        char rule[80];
        char what[200];
        char share[40] = "";
        if (changes->max_percents[of] < 0)
            continue;
        snprintf(rule, sizeof rule, "--fail-on growth%s%s=%g%%", is_main ? "" : ".",
                 is_main ? "" : popliner_name_of(POPLINER_NAMED_GROWTH, (size_t)of),
                 changes->max_percents[of]);
        if (changes->num_compared[of] == 0)
            session_warn(s, "%s: %s%s, so nothing can be said of growth.", rule,
                         !is_main                     ? "there are none on both sides"
                         : changes->deciding->has_now ? s->options.compare
                                                      : s->options.profile,
                         is_main ? " has no split" : "");
        if (changes->num_exceeded[of] == 0)
            continue;
        const popliner_change *most = changes->exceeded[of][0];
        s->failed_softly = true;
        name_growth(changes, (popliner_growth)of, what);
        if (most->before > 0)
            snprintf(share, sizeof share, " by %.4g %%,",
                     ((double)most->now - (double)most->before) / (double)most->before * 100);
        log_message(&s->log, POPLINER_LEVEL_ERROR, "%s: %s%s from %s to %s %s.", rule, what, share,
                    grouped((uint64_t)most->before).text, grouped((uint64_t)most->now).text,
                    of == POPLINER_GROWTH_CYCLES ? "cycles" : "bytes");
    }
}

popliner_status compare_open(session *s, popliner_error *error) {
    session *other = s->other = calloc(1, sizeof *other);
    if (other == NULL)
        return fail_memory(error, "the other side");
    /* the same options, except for those of input and of files that are written */
    *other = (session){.options = s->options};
    options *o = &other->options;
    o->profile = s->options.compare;
    o->debug = NULL;
    o->outputs.count = 0;
    session_begin(other);
    other->log.about = o->profile;
    o->load_from_file = input_kind_of(o->profile) == INPUT_STORED;
    if (o->load_from_file)
        o->reading.ipu =
            SIZE_MAX; /* it has the IPU that it was stored with; it is compared later */
    TRY(compare_name_other(s, session_open(other, error), error));
    return check_limits(s, error);
}

popliner_status compare_and_print(session *s, popliner_error *error) {
    session *other = s->other;
    const bool has_plan = s->options.solve || s->options.evaluate != NULL;
    popliner_changes_input input = POPLINER_CHANGES_INPUT_INIT;
    popliner_changes *changes = NULL;
    if (has_plan && other->can_split)
        TRY(compare_name_other(s, question_answer(other, error), error));
    if (has_plan && s->can_split)
        TRY(question_answer(s, error));
    if (s->answer != NULL && options_wanted(&s->options, OUTPUT_PAGE) != NULL)
        TRY(answer_find_hints(s, error));
    if (has_plan && (other->answer == NULL || s->answer == NULL)) {
        s->failed_softly = true; /* no layer was found, which the log tells */
        return POPLINER_OK;
    }
    input.before = other->analysis;
    input.now = s->analysis;
    input.before_certificate = other->answer;
    input.now_certificate = s->answer;
    input.before_name = other->options.profile;
    input.now_name = s->options.profile;
    input.has_paths = s->options.paths;
    input.memory_model = session_memory_model(s, POPLINER_MEMORY_MODEL_FULL);
    memcpy(input.max_percents, s->options.fail_on.growth_percent, sizeof input.max_percents);
    TRY(popliner_changes_create(&input, &changes, error));
    const popliner_status status = outputs_of_answer(
        s, &(material){.action = COMPARE, .changes = changes, .certificate = s->answer}, error);
    if (status == POPLINER_OK)
        check_growth(s, changes);
    popliner_changes_free(changes);
    return status;
}
