/* Filling a popliner_error, and calling a listener; both may be NULL.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_BASE_FAILURE_H
#define PL_BASE_FAILURE_H

#include "base/growth.h"
#include "popliner/error.h"

/* ---- Failure --------------------------------------------------------------------------------- */

/* Stores `status` and the formatted sentence in *error (which may be NULL); returns `status`, so
 * that a failure can be stored and returned in one statement. */
popliner_status pl_fail(popliner_error *error, popliner_status status, const char *format, ...);

/* Like pl_fail with INPUT, with a reason other than OTHER. */
popliner_status pl_fail_because(popliner_error *error, popliner_reason reason, const char *format,
                                ...);

/* Fails because the file cannot be read, for the reason in errno: with MEMORY, or INPUT. */
popliner_status pl_fail_reading(popliner_error *error, const char *path);

/* Fails with MEMORY for an allocation of `what` (for example "the lowered variables"). */
popliner_status pl_fail_memory(popliner_error *error, const char *what);

/* Returns the status of a call from this function if it is a failure: where nothing has to be freed
 * before. */
#define PL_TRY(call)                                                                               \
    do {                                                                                           \
        const popliner_status tried = (call);                                                      \
        if (tried != POPLINER_OK)                                                                  \
            return tried;                                                                          \
    } while (0)

#ifdef __clang_analyzer__
/* The analyzer sees one file at a time, so it would assume that pl_fail may return
 * POPLINER_OK. */
#define pl_fail(error, status, ...) ((void)pl_fail(error, status, __VA_ARGS__), (status))
#define pl_fail_memory(error, what) ((void)pl_fail_memory(error, what), POPLINER_ERROR_MEMORY)
#endif

/* The first failure of several steps, so that a step need not check those before it.
 * Zero-initialise except for `error`, which may be NULL. */
typedef struct pl_outcome {
    popliner_status status;
    popliner_error *error;
} pl_outcome;

/* Like pl_fail and pl_fail_memory, unless something has failed before. */
void pl_outcome_fail(pl_outcome *outcome, popliner_status status, const char *format, ...);
void pl_outcome_fail_memory(pl_outcome *outcome, const char *what);

/* Fails for `what` unless there was memory. True if nothing has failed, now or before. */
bool pl_outcome_has(pl_outcome *outcome, bool memory, const char *what);

/* Converts the failure of a caller's function `name` into one of the library. `told` is the error
 * that the function got, with an empty message before the call. A failure without a message gets
 * one, and a number that is no popliner_status becomes USAGE. */
popliner_status pl_fail_callback(popliner_error *error, const char *name, popliner_status status,
                                 const popliner_error *own);

/* Sends one formatted message to a listener, which may be NULL or have no `message`. */
void pl_tell(const popliner_listener *listener, popliner_level level, const char *format, ...);

/* Reports progress to a listener, which may be NULL or have no `progress`. */
void pl_progress(const popliner_listener *listener, const char *task, uint64_t done,
                 uint64_t total);

/* Returns seconds of a monotonic clock. */
double pl_clock_seconds(void);

/* Reports to a listener, which may be NULL or have no `step`, that a part of the work has ended
 * that began at `start_seconds` of pl_clock_seconds. */
void pl_step(const popliner_listener *listener, const char *task, double start_seconds);

/* ---- Messages -------------------------------------------------------------------------------- */

/* A message that is stored with its subject. */
typedef struct pl_message {
    popliner_level level;
    const char *text; /* as passed to listeners */
    bool is_told;     /* a listener got it when it was created */
} pl_message;

/* Stored messages, so that an answer contains what was logged about it. Zero-initialise; free with
 * pl_messages_clear. */
typedef struct pl_messages {
    pl_message *items;
    size_t count;
    pl_arrays arrays; /* own all of these; failed: some messages are missing */
} pl_messages;

/* Adds a copy, unless there is an equal text. O(messages). */
void pl_messages_add(pl_messages *messages, popliner_level level, const char *text, bool is_told);

/* Adds each line of a text. */
void pl_messages_add_lines(pl_messages *messages, popliner_level level, const char *lines);

/* Returns "debug", "info", "warning" or "error". */
const char *pl_level_name(popliner_level level);

void pl_messages_clear(pl_messages *messages);

/* A listener that stores warnings and passes everything on. */
typedef struct pl_recorder {
    popliner_listener callers;
    pl_messages warnings;
} pl_recorder;

/* Initialises *listener to one that stores warnings in the recorder, which must outlive it, and
 * calls `callers` (may be NULL). Clear recorder->warnings at the end. */
void pl_recorder_begin(pl_recorder *recorder, const popliner_listener *callers,
                       popliner_listener *listener);

#endif
