/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/failure.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/clock.h"

popliner_status pl_fail(popliner_error *error, popliner_status status, const char *format, ...) {
    if (error != NULL) {
        va_list arguments;
        va_start(arguments, format);
        error->status = status;
        vsnprintf(error->message, sizeof error->message, format, arguments);
        va_end(arguments);
    }
    return status;
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

void pl_step(const popliner_listener *listener, const char *task, double start_seconds) {
    if (listener != NULL && listener->step != NULL)
        listener->step(listener->user, task, pl_clock_seconds() - start_seconds);
}
