/* The command: reads its options, calls the library, prints what it returns.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "command/command.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "command/commands.h"
#include "command/option_table.h"
#include "popliner/popliner.h"

static int exit_status(popliner_status status) {
    switch (status) {
    case POPLINER_OK:
        return EXIT_SUCCESS;
    case POPLINER_ERROR_STOPPED:
        return 1;
    case POPLINER_ERROR_USAGE:
        return 2;
    case POPLINER_ERROR_INPUT:
    case POPLINER_ERROR_OUTPUT:
        return 3;
    case POPLINER_ERROR_MEMORY:
    case POPLINER_ERROR_INTERNAL:
        break;
    }
    return 4;
}

/* Refuses options that nothing uses; with actions of PopLiner 1.0.0 some only cause a warning. */
static popliner_status check_uses(session *s, popliner_error *error) {
    const unsigned actions = s->options.actions;
    const bool is_original = actions != 0 && (actions & ~(unsigned)OLD_ACTIONS) == 0;
    char text[UNUSED_BYTES];
    for (size_t i = 0; i < num_options; i++)
        if (!options_say_unused(&s->options, i, text))
            continue;
        else if (is_original && (option_table[i].uses & OR_WARNED) != 0)
            session_warn(s, "%s.", text);
        else
            return fail_usage(error, "%s", text);
    return POPLINER_OK;
}

/* Reads the profile, and what it is compared with; refuses what cannot be done, before anything is
 * printed or written. */
static popliner_status begin(session *s, popliner_error *error) {
    const options *o = &s->options;
    const bool is_split = o->solve || o->evaluate != NULL;
    if (o->reports.count > 0) /* which is there */
        TRY(session_use_report(s, o->profile, o->reports.texts[0], error));
    TRY(session_open(s, error));
    if (o->compare != NULL)
        TRY(compare_open(s, error));
    if (is_split || o->diagnose)
        TRY(question_begin(s, error));
    return o->compare != NULL && is_split
               ? compare_name_other(s, question_begin(s->other, error), error)
               : POPLINER_OK;
}

static popliner_status perform_on_profile(session *s, popliner_error *error) {
    const options *o = &s->options;
    TRY(begin(s, error));
    if (o->actions == 0 && o->outputs.count == 0)
        return screen_overview(s, error);
    TRY(outputs_of_profile(s, error));
    return o->diagnose          ? diagnose_and_print(s, error)
           : o->compare != NULL ? compare_and_print(s, error)
           : s->can_split       ? question_print(s, error)
                                : POPLINER_OK;
}

static popliner_status perform(session *s, popliner_error *error) {
    const options *o = &s->options;
    TRY(check_uses(s, error));
    TRY(request_check(s, error));
    TRY(outputs_check(s, error));
    TRY(check_run_files(o, error));
    return o->costs != NULL          ? solve_costs_and_print(s, error)
           : options_are_together(o) ? reports_split_and_print(s, error)
                                     : perform_on_profile(s, error);
}

/* Names the files that were written, on a terminal: it may show nothing else. */
static void name_files(const session *s) {
    const wanted_list *list = &s->options.outputs;
    log_state plain = {.least_level = POPLINER_LEVEL_INFO};
    if (s->options.quiet || isatty(STDERR_FILENO) != 1)
        return;
    for (size_t i = 0; i < list->count; i++) {
        const wanted_output *w = &list->items[i];
        if (w->path != NULL && (!s->failed_softly || w->what->kind == OUTPUT_ANALYSIS))
            log_message(&plain, POPLINER_LEVEL_INFO, "Wrote %s: %s", w->what->what, w->path);
    }
}

int popliner_command(int argc, char **argv) {
    session s = {0};
    popliner_error error = {0};
    signal(SIGXFSZ, SIG_IGN); /* a file that may not grow is an error of writing it */
    log_begin(&s.log, POPLINER_LEVEL_WARNING);
    popliner_status status = options_parse(argc, argv, &s.options, &error);
    if (status == POPLINER_OK && s.options.help != NULL) {
        help_print(stdout, s.options.help);
        status = session_finish_printing(&error);
    } else if (status == POPLINER_OK && s.options.version) {
        printf("popliner %s\n", popliner_version());
        status = session_finish_printing(&error);
    } else if (status == POPLINER_OK) {
        limits_begin(&s.options);
        session_begin(&s);
        progress_begin(!s.options.quiet);
        double start = progress_seconds();
        status = perform(&s, &error);
        log_took(&s.log, "Total", progress_seconds() - start);
    }
    progress_erase();
    if (status == POPLINER_OK)
        name_files(&s);
    if (status != POPLINER_OK)
        limits_name_option(&s.options, &error);
    if (status != POPLINER_OK)
        log_message(&s.log, POPLINER_LEVEL_ERROR, "%s", error.message);
    session_free(&s);
    options_free(&s.options);
    return status == POPLINER_OK && s.failed_softly ? 1 : exit_status(status);
}
