/* Messages that are kept: so that an answer has what the log was told of it.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_BASE_MESSAGES_H
#define PL_BASE_MESSAGES_H

#include <stdbool.h>

#include "popliner/listener.h"

/* Zero-initialise; free with pl_messages_clear. */
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
