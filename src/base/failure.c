/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/failure.h"

#include <stdarg.h>
#include <stdbool.h>
#include <string.h>

#include "base/bounds.h"
#include "base/plain_locale.h"

/* Whether a character does not begin here. */
static bool is_within_character(char byte) {
    return ((unsigned char)byte & 0xc0) == 0x80;
}

/* Copies what has room. Of a longer text the middle is left out: paths and values are long, and
 * what to do about them comes last. */
static void shorten(char *text, size_t size, const char *whole) {
    static const char left_out[] = " [...] ";
    size_t length = strlen(whole);
    if (length < size) {
        memcpy(text, whole, length + 1);
        return;
    }
    size_t head = size / 4;
    size_t tail = length - (size - 1 - head - (sizeof left_out - 1));
    while (head > 0 && is_within_character(whole[head]))
        head--;
    while (is_within_character(whole[tail]))
        tail++;
    memcpy(text, whole, head);
    memcpy(text + head, left_out, sizeof left_out - 1);
    memcpy(text + head + sizeof left_out - 1, whole + tail, length - tail + 1);
}

static void fill(popliner_error *error, popliner_status status, popliner_reason reason,
                 const char *format, va_list arguments) {
    if (error == NULL)
        return;
    /* the longest path and the longest sentence */
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

popliner_status(pl_fail_memory)(popliner_error *error, const char *what) {
    return pl_fail(error, POPLINER_ERROR_MEMORY, "not enough memory for %s", what);
}

popliner_status pl_fail_callback(popliner_error *error, const char *name, popliner_status status,
                                 const popliner_error *told) {
    if (status == POPLINER_OK)
        return POPLINER_OK;
    if ((int)status < 0 || status > POPLINER_ERROR_STOPPED)
        return pl_fail(error, POPLINER_ERROR_USAGE,
                       "the caller's function %s returned %d, which is no status", name,
                       (int)status);
    if (told->message[0] == '\0')
        return pl_fail(error, status, "the caller's function %s failed without saying why", name);
    return pl_fail(error, status, "%.*s", (int)sizeof told->message - 1, told->message);
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

void pl_step(const popliner_listener *listener, const char *task, double start_seconds) {
    if (listener != NULL && listener->step != NULL)
        listener->step(listener->user, task, pl_clock_seconds() - start_seconds);
}
