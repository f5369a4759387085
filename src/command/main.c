/* The command: reads its options, calls the library, prints what it returns.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>
#include <stdlib.h>

#include "command/session.h"
#include "command/solving.h"
#include "popliner/report.h"
#include "popliner/sharing.h"
#include "popliner/version.h"

static int exit_status(popliner_status status) {
    switch (status) {
    case POPLINER_OK:
        return EXIT_SUCCESS;
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

static char delimiter(const options *o) {
    return o->format == POPLINER_FORMAT_CSV ? ',' : '\t';
}

static popliner_status print_sharing(session *s, popliner_error *error) {
    popliner_sharing sharing = {0};
    char *text = NULL;
    popliner_status status =
        popliner_sharing_measure(s->profile, s->operations, s->layers, &sharing, error);
    if (status == POPLINER_OK && s->options.memory_affinity) {
        status = popliner_report_square(s->layers, sharing.affinity_bytes, delimiter(&s->options),
                                        &text, error);
        if (status == POPLINER_OK)
            status = session_print(text, error);
    }
    if (status == POPLINER_OK && s->options.interlayer_communication) {
        status = popliner_report_square(s->layers, sharing.communication_bytes,
                                        delimiter(&s->options), &text, error);
        if (status == POPLINER_OK)
            status = session_print(text, error);
    }
    popliner_sharing_clear(&sharing);
    return status;
}

/* The original's few lines and, unless its model was asked for, the compiler's account in full. */
static popliner_status print_totals(session *s, popliner_error *error) {
    const options *o = &s->options;
    popliner_memory_model model = POPLINER_MEMORY_MODEL_POPLINER;
    char *text = NULL;
    popliner_status status = POPLINER_OK;
    if (o->format != POPLINER_FORMAT_JSON) {
        status = session_prepare(s, model, error);
        if (status == POPLINER_OK)
            status = popliner_report_memory_totals(s->profile, s->operations, s->meter[model],
                                                   delimiter(o), &text, error);
        if (status == POPLINER_OK)
            status = session_print(text, error);
        if (o->memory_model == MODEL_POPLINER)
            return status;
        putchar('\n');
    }
    if (status == POPLINER_OK)
        status = popliner_report_tiles(s->profile, o->format, &text, error);
    if (status == POPLINER_OK)
        status = session_print(text, error);
    return status;
}

/* The tables that are measured stage by stage: in PopLiner's model unless another was asked for. */
static popliner_status print_tables(session *s, popliner_error *error) {
    const options *o = &s->options;
    popliner_memory_model model = session_memory_model(s, POPLINER_MEMORY_MODEL_POPLINER);
    char *text = NULL;
    popliner_status status = session_prepare(s, model, error);
    if (status == POPLINER_OK && o->operation_breakdown) {
        status = popliner_report_operations(s->operations, s->layers, s->meter[model], &s->listener,
                                            delimiter(o), &text, error);
        if (status == POPLINER_OK)
            status = session_print(text, error);
    }
    if (status == POPLINER_OK && o->layer_breakdown) {
        status =
            popliner_report_layers(s->chain[model], s->meter[model], delimiter(o), &text, error);
        if (status == POPLINER_OK)
            status = session_print(text, error);
    }
    return status;
}

/* Loads whatever of a stored analysis several actions need before the first of them prints: then one
 * that is damaged is refused as a whole. */
static popliner_status load_ahead(session *s, popliner_error *error) {
    const options *o = &s->options;
    const pl_measured_stages *stages;
    if (!o->memory_totals && !o->operation_breakdown && !o->layer_breakdown &&
        !o->memory_affinity && !o->interlayer_communication && !o->diagnose && o->evaluate == NULL)
        return POPLINER_OK;
    popliner_status status = session_need_variables(s, error);
    if (status == POPLINER_OK && o->solve)
        status = solve_find_stored(s, &stages, error);
    return status;
}

static popliner_status perform(session *s, popliner_error *error) {
    const options *o = &s->options;
    if (o->costs != NULL)
        return solve_and_print(s, error);
    popliner_status status = session_load(s, error);
    if (status == POPLINER_OK)
        status = load_ahead(s, error);
    if (status == POPLINER_OK && o->save_to_file != NULL)
        status = session_save(s, error);
    if (status == POPLINER_OK && o->memory_totals)
        status = print_totals(s, error);
    if (status == POPLINER_OK && (o->operation_breakdown || o->layer_breakdown))
        status = print_tables(s, error);
    if (status == POPLINER_OK && (o->memory_affinity || o->interlayer_communication))
        status = print_sharing(s, error);
    if (status == POPLINER_OK && o->diagnose)
        status = diagnose_and_print(s, error);
    if (status == POPLINER_OK && o->evaluate != NULL)
        status = evaluate_and_print(s, error);
    if (status == POPLINER_OK && o->solve)
        status = solve_and_print(s, error);
    return status;
}

int main(int argc, char **argv) {
    session s = {0};
    popliner_error error = {0};
    log_begin(&s.log, POPLINER_LEVEL_INFO, true);
    popliner_status status = options_parse(argc, argv, &s.options, &error);
    if (status == POPLINER_OK && s.options.help) {
        options_print_help(stdout);
        status = session_finish_printing(&error);
    } else if (status == POPLINER_OK && s.options.version) {
        printf("popliner %s\n", popliner_version());
        status = session_finish_printing(&error);
    } else if (status == POPLINER_OK) {
        popliner_level level = s.options.quiet     ? POPLINER_LEVEL_WARNING
                               : s.options.verbose ? POPLINER_LEVEL_DEBUG
                                                   : POPLINER_LEVEL_INFO;
        log_begin(&s.log, level, !s.options.quiet);
        s.listener = log_listener(&s.log);
        double start = log_seconds();
        status = perform(&s, &error);
        log_step(&s.log, "Total", start);
    }
    if (status != POPLINER_OK)
        log_message(&s.log, POPLINER_LEVEL_ERROR, "%s", error.message);
    session_free(&s);
    return status == POPLINER_OK && s.failed_softly ? 1 : exit_status(status);
}
