/* popliner: errors as values.
 *
 * Every function that can fail returns a popliner_status and, when it fails, describes the
 * failure in the popliner_error that its caller passed, which may be NULL everywhere. The library
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

/* What kind of failure: who can mend it, and with which exit status the command ends. */
typedef enum popliner_status {
    POPLINER_OK = 0,
    POPLINER_ERROR_USAGE,    /* the caller asked for something that makes no sense */
    POPLINER_ERROR_INPUT,    /* a file cannot be read, is damaged or is not supported */
    POPLINER_ERROR_OUTPUT,   /* a file cannot be written */
    POPLINER_ERROR_MEMORY,   /* the machine has not enough memory, or the limit is lower */
    POPLINER_ERROR_INTERNAL, /* a mistake of this library or of one below it */
    POPLINER_ERROR_STOPPED,  /* the caller's should_stop ended the work */
} popliner_status;

/* Failures to which a program may want to add what its user can do. */
typedef enum popliner_reason {
    POPLINER_REASON_OTHER = 0,
    POPLINER_REASON_NO_PROFILE,  /* a database, but no profile; perhaps a stored analysis */
    POPLINER_REASON_NO_ANALYSIS, /* a database, but no stored analysis; perhaps a profile */
} popliner_reason;

/* A failure in words: one sentence that names the file, table, row or option and, where there is
 * one, the remedy. Plain memory: needs no clean-up and may be copied. */
typedef struct popliner_error {
    popliner_status status;
    popliner_reason reason;
    char message[1000]; /* UTF-8, NUL-terminated; of more the middle is left out */
} popliner_error;

/* Fills *error, which may be NULL, with a sentence as printf's `format` makes it; of one that is
 * too long the middle is left out, as it is by the library. For functions of one's own that the
 * library calls, and for what one has to say of its messages. Returns `status`. */
popliner_status popliner_error_fill(popliner_error *error, popliner_status status,
                                    const char *format, va_list arguments);

/* ---- What the library tells while it works ---- *
 *
 * What the library tells while it works.
 *
 * A caller that wants to show warnings, timings or progress passes a popliner_listener; NULL
 * members and a NULL listener are silence. All calls come from the thread that called the library.
 *
 * Threads: if several threads call the library with one listener, its functions may run in
 * several threads at once. */

typedef enum popliner_level {
    POPLINER_LEVEL_DEBUG,   /* figures and timings for the curious */
    POPLINER_LEVEL_INFO,    /* what is being done, what was found */
    POPLINER_LEVEL_WARNING, /* the result may be poorer than the user expects, and why */
    POPLINER_LEVEL_ERROR,   /* the input breaks a promise; work goes on as well as it can */
} popliner_level;

/* A message that is kept with what it is about. */
typedef struct popliner_message {
    popliner_level level;
    const char *text; /* as a listener gets it */
    bool is_told;     /* a listener was told it when it came up */
} popliner_message;

/* Begin with POPLINER_LISTENER_INIT. */
typedef struct popliner_listener {
    size_t struct_size;
    void *user; /* handed to every call */

    /* One message, a sentence or more of UTF-8 without a line end; valid during the call. */
    void (*message)(void *user, popliner_level level, const char *text);

    /* `done` of `total` units of the work called `task`; total 0 when it is not known. Called at
     * most a few hundred times per task; the last call of a task has done == total. */
    void (*progress)(void *user, const char *task, uint64_t done, uint64_t total);

    /* A named part of the work has ended, which took `seconds`. */
    void (*step)(void *user, const char *task, double seconds);
} popliner_listener;

#define POPLINER_LISTENER_INIT                                                                     \
    { sizeof(popliner_listener), NULL, NULL, NULL, NULL }

#ifdef __cplusplus
}
#endif

#endif
