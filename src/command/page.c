/* --output page: the page of a profile or of costs, and of a plan of them.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "command/commands.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command/option_table.h"
#include "popliner/page.h"
#include "popliner/utilities.h"

/* Whether a character is put on a terminal as it is. */
static bool is_shown(const char *character, const char **next) {
    char shown[POPLINER_PRINTABLE_SIZE];
    *next = popliner_printable_take(character, shown);
    return strncmp(shown, character, (size_t)(*next - character)) == 0;
}

/* A word of a command line, within quotes if a shell would change it. What a terminal obeys is
 * escaped: pasted as it is, it would end the word or the line before the shell sees any quote. A
 * shell that does not know $'...' takes another word, but runs nothing, for the quotes within are
 * also escaped. model.js has this function. */
static void add_quoted(growing_text *w, const char *text) {
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_-./:,=+@%";
    bool is_printable = true;
    const char *next;
    if (*text != '\0' && *text != '=' && strspn(text, plain) == strlen(text)) {
        text_add(w, text);
        return;
    }
    for (const char *c = text; *c != '\0'; c = next)
        is_printable = is_shown(c, &next) && is_printable;
    text_add(w, is_printable ? "'" : "$'");
    for (const char *c = text; *c != '\0'; c = next) {
        const bool is_kept = is_shown(c, &next) && *c != '\'' && (is_printable || *c != '\\');
        for (; c < next; c++) {
            char one[8];
            snprintf(one, sizeof one,
                     is_kept        ? "%c"
                     : is_printable ? "'\\%c'"
                                    : "\\%03o",
                     is_kept || is_printable ? *c : (unsigned char)*c);
            text_add(w, one);
        }
    }
    text_add(w, "'");
}

/* A file, which is no option even if it begins with a dash. */
static void add_file(growing_text *w, const options *o, const char *path) {
    const char *shown = options_shown_path(o, path);
    text_add(w, " ");
    text_add(w, *shown == '-' ? "./" : "");
    add_quoted(w, shown);
}

static void add_option(growing_text *w, const char *name, const char *value) {
    text_add(w, w->length > 0 ? " --" : "--");
    text_add(w, name);
    if (value != NULL) {
        text_add(w, *value == '-' ? "=" : " "); /* else it may be taken for an option */
        add_quoted(w, value);
    }
}

/* Adds each option of these words that was given, in the order of the help. */
static void add_options(growing_text *w, const options *o, copied words) {
    for (size_t i = 0; i < num_options; i++) {
        const option *own = &option_table[i];
        const repeated *list = &o->given[i];
        for (size_t k = 0; own->copied == words && k < list->count; k++)
            add_option(w, own->name, list->texts[k]);
    }
}

/* The value of --effects with which a command counts as this one; NULL: the usual one. Limits have
 * no reserve in them any more, so the effects that come with one are named. */
static const char *effects_of(const options *o) {
    static const char *const without_layout[] = {
        [POPLINER_ACCUMULATORS_AUTO] = "passing,buffers,accumulators",
        [POPLINER_ACCUMULATORS_FP16] = "passing,buffers,accumulators=fp16",
        [POPLINER_ACCUMULATORS_FP32] = "passing,buffers,accumulators=fp32",
    };
    return o->memory_model == (int)POPLINER_MEMORY_MODEL_POPLINER ? NULL /* which has none */
           : options_replace_layout(o) ? without_layout[o->effects.accumulators]
                                       : option_value_given(o, "effects");
}

/* Everything that says what is read, and what counts as memory. */
static growing_text command_words(const options *o) {
    growing_text w = {0};
    text_add(&w, "popliner");
    if (o->costs != NULL && strcmp(o->costs, "-") == 0)
        text_add(&w, " -");
    else
        add_file(&w, o, o->costs != NULL ? o->costs : o->profile);
    if (o->costs != NULL)
        return w;
    if (o->debug != NULL)
        add_file(&w, o, o->debug);
    add_options(&w, o, COPIED_INPUT);
    const char *effects = effects_of(o);
    if (effects != NULL)
        add_option(&w, "effects", effects);
    return w;
}

static growing_text own_words(const options *o, copied words) {
    growing_text w = {0};
    text_add(&w, "");
    add_options(&w, o, words);
    return w;
}

/* ---- the page ---- */

popliner_status page_request(session *s, const popliner_costs_file *file, popliner_error *error) {
    const char *split = s->options.evaluate;
    s->options.evaluate = NULL;
    popliner_status status =
        request_make(&s->page_request, s, POPLINER_MEMORY_MODEL_FULL, file, NULL, error);
    s->options.evaluate = split;
    return status;
}

popliner_status page_make(session *s, const popliner_certificate *certificate, char **text,
                          popliner_error *error) {
    const options *o = &s->options;
    if (s->page_input.costs == NULL)
        TRY(page_request(s, NULL, error));
    growing_text command = command_words(o);
    growing_text pipeline = own_words(o, COPIED_PIPELINE);
    growing_text constraints = own_words(o, COPIED_CONSTRAINT);
    popliner_page_options page = POPLINER_PAGE_OPTIONS_INIT;
    popliner_status status = POPLINER_OK;
    page.command = command.text;
    page.pipeline = pipeline.text;
    page.constraints = constraints.text;
    page.request = &s->page_request.asked;
    page.certificate = certificate;
    page.title = options_shown_path(o, o->costs != NULL ? o->costs : o->profile);
    page.has_paths = o->paths;
    page.warnings = s->warnings.text;
    if (command.failed || pipeline.failed || constraints.failed || s->warnings.failed)
        status = fail_memory(error, "the page");
    else
        status = s->page_input.costs != NULL
                     ? popliner_page_of_costs(&s->page_input, &page, text, error)
                     : popliner_page_text(s->analysis, &page, text, error);
    free(command.text);
    free(pipeline.text);
    free(constraints.text);
    return status;
}
