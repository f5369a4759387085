/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "command/emit.h"

#include <stdlib.h>
#include <string.h>

#include "command/names.h"
#include "command/request.h"
#include "popliner/files.h"

/* Names of modules in a list that is separated by ','. Zero-initialise; free `copy` and `names`. */
typedef struct module_list {
    char *copy;
    const char **names;
    size_t count;
} module_list;

static void free_modules(module_list *list) {
    free(list->copy);
    free(list->names);
}

/* Takes the list of an option, which may be NULL. */
static popliner_status take_modules(module_list *list, const char *option, const char *text,
                                    popliner_error *error) {
    size_t count = 1;
    if (text == NULL)
        return POPLINER_OK;
    for (const char *c = text; *c != '\0'; c++)
        count += *c == ',';
    list->copy = strdup(text);
    list->names = calloc(count, sizeof *list->names);
    if (list->copy == NULL || list->names == NULL)
        return session_fail(error, POPLINER_ERROR_MEMORY, "not enough memory for names of modules");
    for (char *name = list->copy; name != NULL;) {
        char *end = strchr(name, ',');
        if (end != NULL)
            *end = '\0';
        if (*name == '\0')
            return session_fail(error, POPLINER_ERROR_USAGE,
                                "--%s %s: expected names of modules separated by ',', like "
                                "model.norm,lm_head",
                                option, text);
        list->names[list->count++] = name;
        name = end == NULL ? NULL : end + 1;
    }
    return POPLINER_OK;
}

/* What the library is to know, from the options. Zero-initialise; free with free_asked. */
typedef struct asked {
    module_list head;
    module_list tail;
    popliner_option_names names;
    popliner_emit_options options; /* refers to the above */
} asked;

static void free_asked(asked *a) {
    free_modules(&a->head);
    free_modules(&a->tail);
}

static popliner_status take_asked(asked *a, const options *o, popliner_error *error) {
    popliner_status status = take_modules(&a->head, "head-modules", o->head_modules, error);
    if (status == POPLINER_OK)
        status = take_modules(&a->tail, "tail-modules", o->tail_modules, error);
    a->names = names_of(o);
    a->options = (popliner_emit_options)POPLINER_EMIT_OPTIONS_INIT;
    a->options.layer_path = o->layer_path;
    a->options.head_modules = a->head.names;
    a->options.num_head_modules = a->head.count;
    a->options.tail_modules = a->tail.names;
    a->options.num_tail_modules = a->tail.count;
    a->options.option_names = &a->names;
    return status;
}

/* The library begins with the format: here it is the value of an option. */
static popliner_status name_option(popliner_status status, popliner_error *error) {
    const popliner_error told = *error;
    return status == POPLINER_ERROR_USAGE ? session_fail(error, status, "--emit %s", told.message)
                                          : status;
}

popliner_status emit_check(const options *o, popliner_error *error) {
    asked a = {0};
    request r = {0};
    popliner_status status = take_asked(&a, o, error);
    if (status == POPLINER_OK && o->num_emits > 0)
        status = request_take_map(&r, o, error);
    a.options.device_map = r.device_map;
    a.options.num_mapped_stages = r.solver.num_mapped_stages;
    for (size_t i = 0; status == POPLINER_OK && i < o->num_emits; i++)
        status = name_option(popliner_emit_check(&a.options, o->emits[i].format, error), error);
    request_free(&r);
    free_asked(&a);
    return status;
}

/* Where the texts come from: one of these. */
typedef struct source {
    const popliner_certificate *certificate;
    const popliner_replicas *replicas;
    const popliner_certificate_input *names;
} source;

static popliner_status make_all(session *s, const source *from, emitted *made,
                                popliner_error *error) {
    const options *o = &s->options;
    asked a = {0};
    popliner_status status = take_asked(&a, o, error);
    a.options.listener = &s->listener;
    made->texts = calloc(o->num_emits, sizeof *made->texts);
    made->num_texts = made->texts == NULL ? 0 : o->num_emits;
    if (status == POPLINER_OK && made->texts == NULL)
        status = session_fail(error, POPLINER_ERROR_MEMORY, "not enough memory for --emit");
    for (size_t i = 0; status == POPLINER_OK && i < made->num_texts; i++) {
        popliner_emit_format format = o->emits[i].format;
        status = from->certificate != NULL
                     ? popliner_emit(from->certificate, &a.options, format, &made->texts[i], error)
                     : popliner_emit_replicas(from->replicas, from->names, &a.options, format,
                                              &made->texts[i], error);
        status = name_option(status, error);
    }
    free_asked(&a);
    return status;
}

static void tell_nothing(session *s) {
    log_message(&s->log, POPLINER_LEVEL_WARNING, "--emit: not written, for there is no split.");
}

popliner_status emit_make(session *s, const popliner_certificate *certificate, size_t num_units,
                          emitted *made, popliner_error *error) {
    const popliner_plan *plan = popliner_certificate_get_info(certificate)->plan;
    const size_t num_stages = popliner_plan_get_summary(plan)->num_stages;
    const source from = {.certificate = certificate};
    if (s->options.num_emits == 0)
        return POPLINER_OK;
    if (num_stages == 0 ||
        popliner_plan_stage_at(plan, num_stages - 1)->last_unit + 1 < num_units) {
        tell_nothing(s);
        return POPLINER_OK;
    }
    return make_all(s, &from, made, error);
}

popliner_status emit_make_replicas(session *s, const popliner_replicas *replicas,
                                   const popliner_certificate_input *names, emitted *made,
                                   popliner_error *error) {
    const source from = {.replicas = replicas, .names = names};
    if (s->options.num_emits == 0)
        return POPLINER_OK;
    if (popliner_replicas_get_summary(replicas)->best == SIZE_MAX) {
        tell_nothing(s);
        return POPLINER_OK;
    }
    return make_all(s, &from, made, error);
}

bool emit_prints(const options *o) {
    for (size_t i = 0; i < o->num_emits; i++)
        if (o->emits[i].path == NULL)
            return true;
    return false;
}

popliner_status emit_print(session *s, emitted *made, popliner_error *error) {
    const options *o = &s->options;
    popliner_status status = POPLINER_OK;
    for (size_t i = 0; status == POPLINER_OK && i < made->num_texts; i++)
        if (o->emits[i].path == NULL) {
            status = session_print_bytes(made->texts[i], error);
            made->texts[i] = NULL;
        }
    return status;
}

popliner_status emit_write(const session *s, const emitted *made, popliner_error *error) {
    const options *o = &s->options;
    popliner_status status = POPLINER_OK;
    for (size_t i = 0; status == POPLINER_OK && i < made->num_texts; i++)
        if (o->emits[i].path != NULL)
            status = popliner_file_write(o->emits[i].path, made->texts[i], strlen(made->texts[i]),
                                         error);
    return status;
}

void emitted_free(emitted *made) {
    for (size_t i = 0; i < made->num_texts; i++)
        free(made->texts[i]);
    free(made->texts);
}
