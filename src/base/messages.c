/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/messages.h"

#include <stdlib.h>
#include <string.h>

#include "base/growth.h"

/* Adds the first `length` bytes of a text. */
static void add(pl_messages *m, popliner_level level, const char *text, size_t length,
                bool is_told) {
    for (size_t i = 0; i < m->count; i++)
        if (strlen(m->items[i].text) == length && memcmp(m->items[i].text, text, length) == 0)
            return;
    char *copy = m->failed ? NULL : pl_copy_string(text, length);
    if (copy == NULL || !pl_grow(&m->items, &m->capacity, m->count + 1, sizeof *m->items)) {
        free(copy);
        m->failed = true;
        return;
    }
    m->items[m->count++] = (popliner_message){level, copy, is_told};
}

void pl_messages_add(pl_messages *messages, popliner_level level, const char *text, bool is_told) {
    add(messages, level, text, strlen(text), is_told);
}

void pl_messages_add_lines(pl_messages *messages, popliner_level level, const char *lines) {
    while (*lines != '\0') {
        size_t length = strcspn(lines, "\n");
        add(messages, level, lines, length, false);
        lines += length + (lines[length] == '\n');
    }
}

void pl_messages_add_all(pl_messages *messages, const pl_messages *others) {
    for (size_t i = 0; i < others->count; i++)
        pl_messages_add(messages, others->items[i].level, others->items[i].text,
                        others->items[i].is_told);
    messages->failed = messages->failed || others->failed;
}

void pl_messages_clear(pl_messages *messages) {
    for (size_t i = 0; i < messages->count; i++)
        free((void *)messages->items[i].text);
    free(messages->items);
    *messages = (pl_messages){0};
}

const char *pl_level_name(popliner_level level) {
    static const char *const names[] = {
        [POPLINER_LEVEL_DEBUG] = "debug",
        [POPLINER_LEVEL_INFO] = "info",
        [POPLINER_LEVEL_WARNING] = "warning",
        [POPLINER_LEVEL_ERROR] = "error",
    };
    return names[level];
}

static void on_message(void *user, popliner_level level, const char *text) {
    pl_recorder *r = user;
    if (level >= POPLINER_LEVEL_WARNING)
        pl_messages_add(&r->warnings, level, text, true);
    if (r->callers.message != NULL)
        r->callers.message(r->callers.user, level, text);
}

static void on_progress(void *user, const char *task, uint64_t done, uint64_t total) {
    const pl_recorder *r = user;
    r->callers.progress(r->callers.user, task, done, total);
}

static void on_step(void *user, const char *task, double seconds) {
    const pl_recorder *r = user;
    r->callers.step(r->callers.user, task, seconds);
}

void pl_recorder_begin(pl_recorder *recorder, const popliner_listener *callers,
                       popliner_listener *listener) {
    recorder->callers = callers == NULL ? (popliner_listener)POPLINER_LISTENER_INIT : *callers;
    *listener = (popliner_listener)POPLINER_LISTENER_INIT;
    listener->user = recorder;
    listener->message = on_message;
    listener->progress = recorder->callers.progress == NULL ? NULL : on_progress;
    listener->step = recorder->callers.step == NULL ? NULL : on_step;
}
