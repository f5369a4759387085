/* Filling a popliner_error, and telling a listener; both tolerate NULL.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_BASE_FAILURE_H
#define PL_BASE_FAILURE_H

#include "popliner/error.h"
#include "popliner/listener.h"

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

/* Tells a listener, which may be NULL or have no `step`, that a part of the work has ended that
 * began at `start_seconds` on the clock of base/bounds.h. */
void pl_step(const popliner_listener *listener, const char *task, double start_seconds);

#endif
