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

#ifdef __cplusplus
}
#endif

#endif
