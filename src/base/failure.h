/* Filling a popliner_error, and telling a listener; both tolerate NULL.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_BASE_FAILURE_H
#define PL_BASE_FAILURE_H

#include <stdbool.h>

#include "popliner/error.h"

/* ---- Failure --------------------------------------------------------------------------------- */

/* Stores `status` and the formatted sentence in *error (which may be NULL); returns `status`, so
 * that a failure can be stored and returned in one statement. */
popliner_status pl_fail(popliner_error *error, popliner_status status, const char *format, ...);

/* pl_fail with INPUT and a reason other than OTHER. */
popliner_status pl_fail_because(popliner_error *error, popliner_reason reason, const char *format,
                                ...);

/* The failure of an allocation of `what` (for example "the lowered variables"). */
popliner_status pl_fail_memory(popliner_error *error, const char *what);

#ifdef __clang_analyzer__
/* It sees one file at a time: that a failure returns no POPLINER_OK has to be said where it is. */
#define pl_fail(error, status, ...) ((void)pl_fail(error, status, __VA_ARGS__), (status))
#define pl_fail_memory(error, what) ((void)pl_fail_memory(error, what), POPLINER_ERROR_MEMORY)
#endif

/* What the caller's function `name` returned, as the library hands it on. `told` is the error that
 * it was given, whose message was empty before. A failure without words gets some, and what is no
 * popliner_status becomes USAGE. */
popliner_status pl_fail_callback(popliner_error *error, const char *name, popliner_status status,
                                 const popliner_error *told);

/* Sends one formatted message to a listener, which may be NULL or have no `message`. */
void pl_tell(const popliner_listener *listener, popliner_level level, const char *format, ...);

/* Reports progress to a listener, which may be NULL or have no `progress`. */
void pl_progress(const popliner_listener *listener, const char *task, uint64_t done,
                 uint64_t total);

/* Seconds of a clock that only goes forward. */
double pl_clock_seconds(void);

/* Tells a listener, which may be NULL or have no `step`, that a part of the work has ended that
 * began at `start_seconds` of that clock. */
void pl_step(const popliner_listener *listener, const char *task, double start_seconds);

/* ---- Messages -------------------------------------------------------------------------------- */

/* Messages that are kept: so that an answer has what the log was told of it. Zero-initialise; free
 * with pl_messages_clear. */
typedef struct pl_messages {
    popliner_message *items; /* texts are owned */
    size_t count;
    size_t capacity;
    bool failed; /* memory was short: not all are there */
} pl_messages;

/* Adds a copy, unless the same text is there. O(messages). */
void pl_messages_add(pl_messages *messages, popliner_level level, const char *text, bool is_told);

/* Adds each line of a text. */
void pl_messages_add_lines(pl_messages *messages, popliner_level level, const char *lines);

void pl_messages_add_all(pl_messages *messages, const pl_messages *others);

/* "debug", "info", "warning" or "error". */
const char *pl_level_name(popliner_level level);

void pl_messages_clear(pl_messages *messages);

/* Keeps the warnings that it hears, and hands everything on. */
typedef struct pl_recorder {
    popliner_listener callers;
    pl_messages warnings;
} pl_recorder;

/* Makes *listener one that tells the recorder, which outlives it, and through it the callers' own
 * (NULL: nobody). Clear recorder->warnings in the end. */
void pl_recorder_begin(pl_recorder *recorder, const popliner_listener *callers,
                       popliner_listener *listener);

#endif
