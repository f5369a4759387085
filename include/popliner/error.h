/* popliner: errors as values.
 *
 * Every function that can fail returns a popliner_status and, on failure, describes it in the
 * popliner_error that its caller passed. The pointer may be NULL in every function. The library
 * never prints and never exits.
 *
 * Threads: an error belongs to the caller. Give each thread its own.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef POPLINER_ERROR_H
#define POPLINER_ERROR_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The kind of a failure, which determines the exit status of the command. */
typedef enum popliner_status {
    POPLINER_OK = 0,
    POPLINER_ERROR_USAGE,    /* the request is invalid */
    POPLINER_ERROR_INPUT,    /* a file cannot be read, is damaged or is not supported */
    POPLINER_ERROR_OUTPUT,   /* a file cannot be written */
    POPLINER_ERROR_MEMORY,   /* the machine does not have enough memory, or a limit is lower */
    POPLINER_ERROR_INTERNAL, /* a bug in this library or in one that it uses */
    POPLINER_ERROR_STOPPED,  /* the caller's should_stop ended the work */
} popliner_status;

/* Failures that a program may want to explain further to its users. */
typedef enum popliner_reason {
    POPLINER_REASON_OTHER = 0,
    POPLINER_REASON_NO_PROFILE,    /* not a profile; perhaps a stored analysis */
    POPLINER_REASON_NO_ANALYSIS,   /* not a stored analysis; perhaps a profile */
    POPLINER_REASON_NO_DEBUG_INFO, /* a file that is no debug.cbor; perhaps another profile */
} popliner_reason;

/* A failure as text: one sentence that names the file, table, row or option and, if there is one,
 * the remedy. Plain memory: needs no clean-up and may be copied. */
typedef struct popliner_error {
    popliner_status status;
    popliner_reason reason;
    char message[1000]; /* UTF-8, NUL-terminated; longer messages are shortened in the middle */
} popliner_error;

/* Fills *error, which may be NULL, with a sentence formatted like printf; longer sentences are
 * shortened in the middle. Use it in callbacks, and to reword messages of the library. Returns
 * `status`. */
popliner_status popliner_error_fill(popliner_error *error, popliner_status status,
                                    const char *format, va_list arguments);

/* ---- Messages and progress ----
 *
 * A caller that wants to show warnings, timings or progress passes a popliner_listener. NULL
 * members, and a NULL listener, are ignored. All calls come from the thread that called the
 * library.
 *
 * Threads: if several threads call the library with one listener, its functions may run in several
 * threads at once. */

typedef enum popliner_level {
    POPLINER_LEVEL_DEBUG,   /* figures and timings */
    POPLINER_LEVEL_INFO,    /* progress and results */
    POPLINER_LEVEL_WARNING, /* the result may be poorer than the user expects, and why */
    POPLINER_LEVEL_ERROR,   /* the input is inconsistent; work goes on as well as possible */
} popliner_level;

/* Begin with POPLINER_LISTENER_INIT. */
typedef struct popliner_listener {
    size_t struct_size;
    void *user; /* passed to every call */

    /* Receives one message, a sentence or more of UTF-8 without a line end; valid during the
     * call. */
    void (*message)(void *user, popliner_level level, const char *text);

    /* Receives progress: `done` of `total` units of the work called `task`; total is 0 if unknown.
     * Called at most a few hundred times per task; the last call of a task has done == total,
     * unless it was stopped or failed. "Reading the profile" counts bytes. In "Solving for NAME",
     * an objective, `total` is the value of the best known split and `done` a lower bound of it. */
    void (*progress)(void *user, const char *task, uint64_t done, uint64_t total);

    /* Reports that a named part of the work has ended, which took `seconds`. */
    void (*step)(void *user, const char *task, double seconds);
} popliner_listener;

#define POPLINER_LISTENER_INIT                                                                     \
    { sizeof(popliner_listener), NULL, NULL, NULL, NULL }

#ifdef __cplusplus
}
#endif

#endif
