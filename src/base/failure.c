/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/failure.h"

#include <stdarg.h>
#include <stdio.h>

static void fill(popliner_error *error, popliner_status status, popliner_reason reason,
                 const char *format, va_list arguments) {
    if (error == NULL)
        return;
    error->status = status;
    error->reason = reason;
    vsnprintf(error->message, sizeof error->message, format, arguments);
}

popliner_status pl_fail(popliner_error *error, popliner_status status, const char *format, ...) {
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

popliner_status pl_fail_memory(popliner_error *error, const char *what) {
    return pl_fail(error, POPLINER_ERROR_MEMORY, "not enough memory for %s", what);
}

void pl_tell(const popliner_listener *listener, popliner_level level, const char *format, ...) {
    if (listener == NULL || listener->message == NULL)
        return;
    char text[2000];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    listener->message(listener->user, level, text);
}

void pl_progress(const popliner_listener *listener, const char *task, uint64_t done,
                 uint64_t total) {
    if (listener != NULL && listener->progress != NULL)
        listener->progress(listener->user, task, done, total);
}
