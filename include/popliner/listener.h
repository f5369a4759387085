/* popliner: what the library tells while it works.
 *
 * A caller that wants to show warnings, timings or progress passes a popliner_listener; NULL
 * members and a NULL listener are silence. All calls come from the thread that called the library.
 *
 * Threads: if several threads call the library with one listener, its functions may run in
 * several threads at once.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef POPLINER_LISTENER_H
#define POPLINER_LISTENER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

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
