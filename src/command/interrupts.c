/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "command/interrupts.h"

#include <string.h>

#include "command/limits.h"

static const int numbers[] = {SIGINT, SIGTERM};

enum { NUM_SIGNALS = sizeof numbers / sizeof *numbers };

static volatile sig_atomic_t num_interrupts;

/* A terminal, or timeout(1), may send one signal twice: only the third one ends as usual. */
static void on_interrupt(int number) {
    num_interrupts++;
    if (num_interrupts > 2) {
        signal(number, SIG_DFL);
        raise(number);
    }
}

void interrupts_catch(interrupts *i) {
    struct sigaction action;
    i->start_seconds = log_seconds();
    if (i->are_caught)
        return;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_interrupt;
    for (int k = 0; k < NUM_SIGNALS; k++)
        sigaction(numbers[k], &action, &i->before[k]);
    i->are_caught = true;
    limits_pause();
}

void interrupts_release(interrupts *i) {
    for (int k = 0; i->are_caught && k < NUM_SIGNALS; k++)
        sigaction(numbers[k], &i->before[k], NULL);
    if (i->are_caught)
        limits_resume();
    i->are_caught = false;
}

bool interrupts_should_stop(void *user) {
    const interrupts *i = user;
    log_waiting(i->log, "Solving", i->start_seconds, i->max_seconds,
                " (Ctrl-C for the best answer that is known)");
    return num_interrupts > 0;
}
