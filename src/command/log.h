/* The log on standard error: messages with time and level, and a progress bar on a terminal.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_COMMAND_LOG_H
#define PL_COMMAND_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "popliner/error.h"

typedef struct log_state {
    popliner_level least_level; /* messages below it are dropped */
    bool is_mute; /* log_message tells nothing; what the library tells, perhaps once, is told */
    bool shows_progress;
    const char *about;        /* the file that messages are about, before each; NULL: not said */
    size_t bar_width;         /* characters of the bar that stands on the terminal's last line */
    char task[64];            /* whose progress was told last */
    uint64_t task_first_done; /* when it was told first: others may have worked before */
    uint64_t task_done;
    double task_start_seconds;
    double waiting_seconds; /* when that was shown last */
} log_state;

/* Progress is shown if `shows_progress` and standard error is a terminal, of what lasts longer than
 * a second. */
void log_begin(log_state *log, popliner_level least_level, bool shows_progress);

/* A listener that writes into `log`, which must outlive it. */
popliner_listener log_listener(log_state *log);

/* Shows for how long something has been at work that cannot tell its progress, once that is longer
 * than a second, and, unless it is 0, for how long it may go on at most. */
void log_waiting(log_state *log, const char *task, double start_seconds, double max_seconds,
                 const char *advice);

/* Writes one formatted message. */
void log_message(log_state *log, popliner_level level, const char *format, ...);

/* Writes, for -v, how long `what` took, or took since `start_seconds`, and the process's peak
 * memory. */
void log_took(log_state *log, const char *what, double seconds);
void log_step(log_state *log, const char *what, double start_seconds);

/* Seconds of a clock that never goes back. */
double log_seconds(void);

#endif
