/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/failure.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/growth.h"
#include "base/text.h"

/* ---- Failure --------------------------------------------------------------------------------- */

/* Copies a text, and replaces its middle if it is too long: paths and values are long, and the
 * remedy comes last. */
static void shorten(char *text, size_t size, const char *whole) {
    static const char left_out[] = " [...] ";
    size_t length = strlen(whole);
    if (length < size) {
        memcpy(text, whole, length + 1);
        return;
    }
    size_t head = size / 4;
    size_t tail = length - (size - 1 - head - (sizeof left_out - 1));
    while (head > 0 && pl_is_within_character(whole[head]))
        head--;
    while (pl_is_within_character(whole[tail]))
        tail++;
    memcpy(text, whole, head);
    memcpy(text + head, left_out, sizeof left_out - 1);
    memcpy(text + head + sizeof left_out - 1, whole + tail, length - tail + 1);
}

static void fill(popliner_error *error, popliner_status status, popliner_reason reason,
                 const char *format, va_list arguments) {
    if (error == NULL)
        return;
    /* enough for the longest path and the longest sentence */
    char whole[6000];
    error->status = status;
    error->reason = reason;
    pl_format(whole, sizeof whole, format, arguments);
    shorten(error->message, sizeof error->message, whole);
}

popliner_status popliner_error_fill(popliner_error *error, popliner_status status,
                                    const char *format, va_list arguments) {
    fill(error, status, POPLINER_REASON_OTHER, format, arguments);
    return status;
}

popliner_status(pl_fail)(popliner_error *error, popliner_status status, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fill(error, status, POPLINER_REASON_OTHER, format, arguments);
    va_end(arguments);
    return status;
}

popliner_status pl_fail_because(popliner_error *error, popliner_reason reason, const char *format,
                                ...) {
    va_list arguments;
    va_start(arguments, format);
    fill(error, POPLINER_ERROR_INPUT, reason, format, arguments);
    va_end(arguments);
    return POPLINER_ERROR_INPUT;
}

popliner_status pl_fail_reading(popliner_error *error, const char *path) {
    if (errno == ENOMEM)
        return pl_fail_memory(error, "a file");
    return errno == ENOENT
               ? pl_fail(error, POPLINER_ERROR_INPUT, "%s: no such file or directory", path)
               : pl_fail(error, POPLINER_ERROR_INPUT, "%s: cannot be read: %s", path,
                         strerror(errno));
}

popliner_status(pl_fail_memory)(popliner_error *error, const char *what) {
    return pl_fail(error, POPLINER_ERROR_MEMORY, "not enough memory for %s", what);
}

void pl_outcome_fail(pl_outcome *outcome, popliner_status status, const char *format, ...) {
    va_list arguments;
    if (outcome->status != POPLINER_OK)
        return;
    outcome->status = status;
    va_start(arguments, format);
    fill(outcome->error, status, POPLINER_REASON_OTHER, format, arguments);
    va_end(arguments);
}

void pl_outcome_fail_memory(pl_outcome *outcome, const char *what) {
    if (outcome->status == POPLINER_OK)
        outcome->status = pl_fail_memory(outcome->error, what);
}

bool pl_outcome_has(pl_outcome *outcome, bool memory, const char *what) {
    if (!memory)
        pl_outcome_fail_memory(outcome, what);
    return outcome->status == POPLINER_OK;
}

popliner_status pl_fail_callback(popliner_error *error, const char *name, popliner_status status,
                                 const popliner_error *own) {
    if (status == POPLINER_OK)
        return POPLINER_OK;
    if ((int)status < 0 || status > POPLINER_ERROR_STOPPED)
        return pl_fail(error, POPLINER_ERROR_USAGE,
                       "the caller's function %s returned %d, which is not a status", name,
                       (int)status);
    if (own->message[0] == '\0')
        return pl_fail(error, status, "the caller's function %s failed without saying why", name);
    return pl_fail(error, status, "%.*s", (int)sizeof own->message - 1, own->message);
}

void pl_tell(const popliner_listener *listener, popliner_level level, const char *format, ...) {
    if (listener == NULL || listener->message == NULL)
        return;
    char text[2000];
    va_list arguments;
    va_start(arguments, format);
    pl_format(text, sizeof text, format, arguments);
    va_end(arguments);
    listener->message(listener->user, level, text);
}

void pl_progress(const popliner_listener *listener, const char *task, uint64_t done,
                 uint64_t total) {
    if (listener != NULL && listener->progress != NULL)
        listener->progress(listener->user, task, done, total);
}

double pl_clock_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

void pl_step(const popliner_listener *listener, const char *task, double start_seconds) {
    if (listener != NULL && listener->step != NULL)
        listener->step(listener->user, task, pl_clock_seconds() - start_seconds);
}

/* ---- Messages -------------------------------------------------------------------------------- */

static void add(pl_messages *m, popliner_level level, const char *text, size_t length,
                bool is_told) {
    for (size_t i = 0; i < m->count; i++)
        if (strlen(m->items[i].text) == length && memcmp(m->items[i].text, text, length) == 0)
            return;
    char *copy = pl_arrays_new(&m->arrays, length + 1, 1);
    if (!pl_arrays_grow(&m->arrays, &m->items, m->count + 1, sizeof *m->items))
        return;
    m->items[m->count++] = (pl_message){level, memcpy(copy, text, length), is_told};
}

void pl_messages_add(pl_messages *messages, popliner_level level, const char *text, bool is_told) {
    add(messages, level, text, strlen(text), is_told);
}

void pl_messages_add_lines(pl_messages *messages, popliner_level level, const char *lines) {
    while (*lines != '\0') {
        size_t length = strcspn(lines, "\n");
        add(messages, level, lines, length, false);
        lines += length + (lines[length] == '\n');
    }
}

void pl_messages_clear(pl_messages *messages) {
    pl_arrays_free(&messages->arrays);
    *messages = (pl_messages){0};
}

const char *pl_level_name(popliner_level level) {
    static const char *const names[] = {
        [POPLINER_LEVEL_DEBUG] = "debug",
        [POPLINER_LEVEL_INFO] = "info",
        [POPLINER_LEVEL_WARNING] = "warning",
        [POPLINER_LEVEL_ERROR] = "error",
    };
    return names[level];
}

static void on_message(void *user, popliner_level level, const char *text) {
    pl_recorder *r = user;
    if (level >= POPLINER_LEVEL_WARNING)
        pl_messages_add(&r->warnings, level, text, true);
    if (r->callers.message != NULL)
        r->callers.message(r->callers.user, level, text);
}

static void on_progress(void *user, const char *task, uint64_t done, uint64_t total) {
    const pl_recorder *r = user;
    r->callers.progress(r->callers.user, task, done, total);
}

static void on_step(void *user, const char *task, double seconds) {
    const pl_recorder *r = user;
    r->callers.step(r->callers.user, task, seconds);
}

void pl_recorder_begin(pl_recorder *recorder, const popliner_listener *callers,
                       popliner_listener *listener) {
    recorder->callers = callers == NULL ? (popliner_listener)POPLINER_LISTENER_INIT : *callers;
    *listener = (popliner_listener)POPLINER_LISTENER_INIT;
    listener->user = recorder;
    listener->message = on_message;
    listener->progress = recorder->callers.progress == NULL ? NULL : on_progress;
    listener->step = recorder->callers.step == NULL ? NULL : on_step;
}
