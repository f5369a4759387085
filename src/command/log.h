/* The log on standard error: messages with time and level.
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
    const char *about; /* the file that messages are about, before each; NULL: not said */
} log_state;

void log_begin(log_state *log, popliner_level least_level);

/* Returns a listener that writes into `log`, which must outlive it, and shows progress. */
popliner_listener log_listener(log_state *log);

/* Writes one formatted message. */
void log_message(log_state *log, popliner_level level, const char *format, ...);

/* Writes, for -v, how long `what` took, or took since `start_seconds`, and the process's peak
 * memory. */
void log_took(log_state *log, const char *what, double seconds);
void log_step(log_state *log, const char *what, double start_seconds);

/* Seconds of a clock that never goes back. */
double log_seconds(void);

#endif
