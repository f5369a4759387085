/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "command/session.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command/limits.h"
#include "command/names.h"
#include "command/report_names.h"
#include "popliner/printable.h"

popliner_status(session_fail)(popliner_error *error, popliner_status status, const char *format,
                              ...) {
    va_list arguments;
    va_start(arguments, format);
    popliner_error_fill(error, status, format, arguments);
    va_end(arguments);
    return status;
}

void session_warn(session *s, const char *format, ...) {
    char text[2000];
    const size_t before = s->warnings == NULL ? 0 : strlen(s->warnings);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    log_message(&s->log, POPLINER_LEVEL_WARNING, "%s", text);
    char *all = realloc(s->warnings, before + strlen(text) + 2);
    s->lacks_warnings = s->lacks_warnings || all == NULL;
    if (all == NULL)
        return; /* the log has it; an answer without it would not be whole */
    s->warnings = all;
    sprintf(s->warnings + before, "%s\n", text);
}

popliner_status session_say_warnings(const session *s, popliner_certificate *certificate,
                                     popliner_error *error) {
    popliner_status status = POPLINER_OK;
    char *copy = s->warnings == NULL ? NULL : calloc(strlen(s->warnings) + 1, 1);
    if (s->warnings == NULL && !s->lacks_warnings)
        return POPLINER_OK;
    if (copy == NULL || s->lacks_warnings) {
        free(copy);
        copy = NULL;
    }
    if (copy == NULL)
        return session_fail(error, POPLINER_ERROR_MEMORY, "not enough memory for the log");
    strcpy(copy, s->warnings);
    for (char *line = copy; status == POPLINER_OK && *line != '\0';) {
        char *end = strchr(line, '\n');
        *end = '\0';
        status = popliner_certificate_add_message(certificate, POPLINER_LEVEL_WARNING, line, error);
        line = end + 1;
    }
    free(copy);
    return status;
}

popliner_status session_say(session *s, popliner_certificate *certificate, popliner_error *error,
                            popliner_level level, const char *format, ...) {
    va_list arguments;
    va_list again;
    va_start(arguments, format);
    va_copy(again, arguments);
    const int length = vsnprintf(NULL, 0, format, arguments);
    const size_t size = length < 0 ? 1 : (size_t)length + 1;
    char *text = calloc(size, 1);
    if (text != NULL)
        vsnprintf(text, size, format, again);
    va_end(again);
    va_end(arguments);
    popliner_status status =
        text == NULL ? session_fail(error, POPLINER_ERROR_MEMORY, "not enough memory for the log")
                     : popliner_certificate_add_message(certificate, level, text, error);
    if (text != NULL)
        log_message(&s->log, level, "%s", text);
    free(text);
    return status;
}

popliner_status session_finish_printing(popliner_error *error) {
    limits_pause(); /* whoever reads it may take his time */
    bool is_out = fflush(stdout) == 0 && !ferror(stdout);
    int fault = errno;
    limits_resume();
    if (is_out)
        return POPLINER_OK;
    return session_fail(error, POPLINER_ERROR_OUTPUT, "standard output cannot be written: %s",
                        strerror(fault));
}

/* For a terminal: what names hold that it would obey is shown instead. A file gets all bytes. */
static void show_on_terminal(const char *text) {
    char shown[POPLINER_PRINTABLE_SIZE];
    while (*text != '\0') {
        bool is_layout = *text == '\n' || *text == '\t';
        const char *next = popliner_printable_take(text, shown);
        if (is_layout)
            fputc(*text, stdout);
        else
            fputs(shown, stdout);
        text = next;
    }
}

popliner_status session_print(char *text, popliner_error *error) {
    limits_pause();
    fputs(text, stdout);
    limits_resume();
    free(text);
    return session_finish_printing(error);
}

popliner_status session_print_bytes(char *text, popliner_error *error) {
    if (!isatty(STDOUT_FILENO))
        return session_print(text, error);
    show_on_terminal(text);
    free(text);
    return session_finish_printing(error);
}

/* ---- what the library tells ---- */

static void on_message(void *user, popliner_level level, const char *text) {
    session *s = user;
    const popliner_listener log = log_listener(&s->log);
    log.message(log.user, level, text);
}

/* Signals are caught as long as something is solved, and no longer. */
static void on_progress(void *user, const char *task, uint64_t done, uint64_t total) {
    session *s = user;
    const popliner_listener log = log_listener(&s->log);
    if (total == 0 && strcmp(task, "Solving") == 0)
        interrupts_catch(&s->interrupts);
    else
        log.progress(log.user, task, done, total);
}

static void on_step(void *user, const char *task, double seconds) {
    session *s = user;
    interrupts_release(&s->interrupts);
    log_took(&s->log, task, seconds);
}

void session_begin(session *s) {
    s->names = names_of(&s->options);
    const options *o = &s->options;
    log_begin(&s->log,
              o->quiet     ? POPLINER_LEVEL_WARNING
              : o->verbose ? POPLINER_LEVEL_DEBUG
                           : POPLINER_LEVEL_INFO,
              !o->quiet);
    s->listener = (popliner_listener)POPLINER_LISTENER_INIT;
    s->listener.user = s;
    s->listener.message = on_message;
    s->listener.progress = on_progress;
    s->listener.step = on_step;
    s->interrupts = (interrupts){.log = &s->log, .max_seconds = o->time_limit_seconds};
}

void session_free(session *s) {
    interrupts_release(&s->interrupts);
    popliner_analysis_free(s->analysis);
    free(s->report);
    free(s->warnings);
}

/* ---- reading ---- */

static popliner_status read_profile(session *s, const popliner_analysis_options *how,
                                    popliner_error *error) {
    const options *o = &s->options;
    char *profile = NULL;
    char *debug = NULL;
    popliner_status status =
        popliner_analysis_locate(o->profile, o->debug, &profile, &debug, error);
    if (status == POPLINER_OK)
        status = popliner_analysis_read(profile, debug, how, &s->analysis, error);
    free(profile);
    free(debug);
    return status;
}

/* Adds to an error which option the file is for. */
static void add_hint(const session *s, popliner_error *error) {
    const char *hint = "";
    if (s->is_other)
        return; /* it says itself what it is */
    if (error->status == POPLINER_ERROR_INPUT && !s->options.load_from_file &&
        report_names_are_in(s->options.profile))
        hint = ", or take it with --report";
    else if (error->reason == POPLINER_REASON_NO_PROFILE)
        hint = " (a stored analysis needs --load-from-file)";
    else if (error->reason == POPLINER_REASON_NO_ANALYSIS)
        hint = "; only files written by --save-to-file can be loaded";
    const popliner_error told = *error;
    session_fail(error, told.status, "%s%s", told.message, hint);
    error->reason = told.reason;
}

size_t session_num_breaches(const session *s) {
    const popliner_check *check;
    size_t num_breaches = 0;
    for (size_t i = 0; (check = popliner_analysis_check_at(s->analysis, i)) != NULL; i++)
        num_breaches += check->breached > 0;
    return num_breaches;
}

/* With --strict: whether the profile agrees with itself. */
static popliner_status check_profile(const session *s, popliner_error *error) {
    size_t num_breaches = session_num_breaches(s);
    if (!s->options.strict || num_breaches == 0)
        return POPLINER_OK;
    const popliner_check *pair =
        popliner_analysis_check_at(s->analysis, POPLINER_RELATION_DEBUG_INFO);
    if (num_breaches == 1 && pair->breached > 0)
        return session_fail(error, POPLINER_ERROR_INPUT,
                            "%s: its debug.cbor is of another compilation, or damaged, which "
                            "--strict does not allow; find the one that was written with it, or "
                            "leave out --strict",
                            s->options.profile);
    return session_fail(error, POPLINER_ERROR_INPUT,
                        "%s: contradicts itself in %zu %s (see the warnings), which --strict does "
                        "not allow; compile again, or leave out --strict",
                        s->options.profile, num_breaches,
                        num_breaches == 1 ? "relation" : "relations");
}

/* Whether what was stored of one IPU is not to be split. */
static popliner_status check_ipu(const session *s, popliner_error *error) {
    const options *o = &s->options;
    popliner_profile_info info = POPLINER_PROFILE_INFO_INIT;
    popliner_profile_get_info(popliner_analysis_profile(s->analysis), &info, NULL);
    if (info.ipu == SIZE_MAX || (!o->solve && o->evaluate == NULL))
        return POPLINER_OK;
    return session_fail(error, POPLINER_ERROR_USAGE,
                        "--%s splits the whole model, but %s was stored with --ipu %zu",
                        o->solve ? "solve" : "evaluate", o->profile, info.ipu);
}

popliner_status session_open(session *s, popliner_error *error) {
    const options *o = &s->options;
    popliner_analysis_options how = POPLINER_ANALYSIS_OPTIONS_INIT;
    const popliner_layers *layers;
    how.layer_name_regex = o->layer_name_regex;
    how.leaves_out_notes = o->no_notes;
    how.first_layer_regex = o->inputs_regex_layer_0;
    how.layer_order = o->layer_order;
    how.num_threads = o->num_threads;
    how.ipu = o->ipu;
    how.max_memory_bytes = o->max_memory_bytes;
    how.should_stop = limits_are_over;
    how.listener = &s->listener;
    how.option_names = &s->names;
    popliner_status status = o->load_from_file
                                 ? popliner_analysis_load(o->profile, &how, &s->analysis, error)
                                 : read_profile(s, &how, error);
    if (status != POPLINER_OK) {
        add_hint(s, error);
        return status;
    }
    status = check_profile(s, error);
    if (status == POPLINER_OK)
        status = check_ipu(s, error);
    return status == POPLINER_OK ? popliner_analysis_layers(s->analysis, &layers, error) : status;
}

/* ---- memory ---- */

popliner_memory_model session_memory_model(const session *s, popliner_memory_model otherwise) {
    switch (s->options.memory_model) {
    case MODEL_POPLINER:
        return POPLINER_MEMORY_MODEL_POPLINER;
    case MODEL_FULL:
        return POPLINER_MEMORY_MODEL_FULL;
    case MODEL_DEFAULT:
        break;
    }
    return otherwise;
}

popliner_reserve session_reserve(const session *s) {
    popliner_profile_info info = POPLINER_PROFILE_INFO_INIT;
    popliner_reserve reserve = {0, 0};
    switch (s->options.reserve) {
    case RESERVE_NOTHING:
        break;
    case RESERVE_BYTES:
        reserve.bytes = s->options.reserve_amount;
        break;
    case RESERVE_PERCENT:
        reserve.percent_hundredths = s->options.reserve_amount;
        break;
    case RESERVE_GAPS:
        popliner_profile_get_info(popliner_analysis_profile(s->analysis), &info, NULL);
        reserve.bytes = info.layout_gap_bytes;
        break;
    }
    return reserve;
}

popliner_status session_less_reserve(const session *s, uint64_t memory_bytes, uint64_t *limit_bytes,
                                     popliner_error *error) {
    const popliner_reserve reserve = session_reserve(s);
    if (!popliner_reserve_limit(&reserve, memory_bytes, limit_bytes))
        return session_fail(error, POPLINER_ERROR_USAGE,
                            "--reserve: %llu bytes are more than a tile has (%llu)",
                            (unsigned long long)*limit_bytes, (unsigned long long)memory_bytes);
    return POPLINER_OK;
}

popliner_status session_limit(session *s, uint64_t *limit_bytes, popliner_error *error) {
    uint64_t memory = s->options.mem_per_tile_bytes;
    if (memory == 0) {
        popliner_profile_info info = POPLINER_PROFILE_INFO_INIT;
        popliner_profile_get_info(popliner_analysis_profile(s->analysis), &info, NULL);
        memory = info.bytes_per_tile;
    }
    popliner_status status = session_less_reserve(s, memory, limit_bytes, error);
    if (status == POPLINER_OK && *limit_bytes < memory)
        log_message(&s->log, POPLINER_LEVEL_INFO, "Keeping %llu of %llu bytes free on every tile",
                    (unsigned long long)(memory - *limit_bytes), (unsigned long long)memory);
    return status;
}
