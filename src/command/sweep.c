/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "command/sweep.h"

#include <stdlib.h>
#include <string.h>

#include "popliner/report.h"
#include "popliner/sizes.h"

enum { USUAL_STEPS = 15, MAX_ROWS = 10000 };

/* The number, or the size, that a text begins with, at least 1; NULL if there is none, else what
 * follows. */
static const char *take_value(const char *text, const sweep_range *range, uint64_t *value) {
    if (text == NULL)
        return NULL;
    const char *end = text + strspn(text, "0123456789");
    const char *size_end = popliner_size_take(text, value);
    if (range->of_ipus && size_end != end) /* IPUs have no unit */
        return NULL;
    return size_end != NULL && *value >= 1 ? size_end : NULL;
}

popliner_status sweep_parse(const char *text, sweep_range *range, popliner_error *error) {
    static const char ipus[] = "num-ipus=";
    static const char memory[] = "mem-per-tile=";
    *range = (sweep_range){.of_ipus = strncmp(text, ipus, strlen(ipus)) == 0};
    const char *rest = range->of_ipus                               ? text + strlen(ipus)
                       : strncmp(text, memory, strlen(memory)) == 0 ? text + strlen(memory)
                                                                    : NULL;
    rest = take_value(rest, range, &range->first);
    rest = rest != NULL && strncmp(rest, "..", 2) == 0 ? take_value(rest + 2, range, &range->last)
                                                       : NULL;
    if (rest != NULL && *rest == '\0' && range->last >= range->first) {
        uint64_t width = range->last - range->first;
        range->step = range->of_ipus || width < USUAL_STEPS ? 1 : width / USUAL_STEPS;
    } else if (rest != NULL && *rest == ':') {
        rest = take_value(rest + 1, range, &range->step);
    }
    if (rest == NULL || *rest != '\0' || range->last < range->first)
        return session_fail(error, POPLINER_ERROR_USAGE,
                            "--sweep %s: expected num-ipus=A..B or mem-per-tile=A..B, and :STEP if "
                            "wanted, like num-ipus=2..8 or mem-per-tile=200K..600K:50K",
                            text);
    if ((range->last - range->first) / range->step >= MAX_ROWS)
        return session_fail(error, POPLINER_ERROR_USAGE,
                            "--sweep %s: these are more than %d values; give a larger step", text,
                            MAX_ROWS);
    return POPLINER_OK;
}

popliner_status sweep_max_ipus(const session *s, size_t num_ipus, size_t *max_ipus,
                               popliner_error *error) {
    sweep_range range;
    popliner_status status = sweep_parse(s->options.sweep, &range, error);
    *max_ipus = num_ipus;
    if (status == POPLINER_OK && range.of_ipus && range.last > num_ipus)
        *max_ipus = (size_t)range.last;
    return status;
}

popliner_status sweep_print(session *s, const popliner_costs *costs,
                            const popliner_solver_options *solver_options,
                            const popliner_certificate_input *names, popliner_error *error) {
    sweep_range range;
    char *report = NULL;
    popliner_status status = sweep_parse(s->options.sweep, &range, error);
    if (status != POPLINER_OK)
        return status;
    size_t count = (size_t)((range.last - range.first) / range.step) + 1;
    uint64_t *values = calloc(count, sizeof *values);
    popliner_plan **plans = calloc(count, sizeof *plans);
    size_t num_solved = 0;
    if (values == NULL || plans == NULL)
        status = session_fail(error, POPLINER_ERROR_MEMORY, "not enough memory for the sweep");
    bool is_stopped = false;
    s->interrupts.max_seconds = 0; /* the limit is that of each solve */
    interrupts_catch(&s->interrupts);
    while (status == POPLINER_OK && num_solved < count && !is_stopped) {
        popliner_solver_options o = *solver_options;
        values[num_solved] = range.first + num_solved * range.step;
        if (range.of_ipus)
            o.max_stages = (size_t)values[num_solved];
        else
            status = session_less_reserve(s, values[num_solved], &o.max_stage_bytes, error);
        if (status == POPLINER_OK)
            status = popliner_solve(costs, &o, &plans[num_solved], error);
        is_stopped = o.should_stop != NULL && o.should_stop(o.should_stop_user);
        num_solved += status == POPLINER_OK;
    }
    interrupts_release(&s->interrupts);
    if (status == POPLINER_OK && num_solved < count)
        log_message(&s->log, POPLINER_LEVEL_WARNING,
                    "Stopped: %zu of %zu values were not solved for.", count - num_solved, count);
    if (status == POPLINER_OK) {
        popliner_sweep sweep = POPLINER_SWEEP_INIT;
        sweep.what = range.of_ipus ? "num-ipus" : "mem-per-tile";
        sweep.values = values;
        sweep.plans = (const popliner_plan *const *)plans;
        sweep.num_values = num_solved;
        status = popliner_report_sweep(&sweep, names, s->options.format, &report, error);
    }
    if (status == POPLINER_OK)
        status = session_print(report, error);
    bool fits = false;
    for (size_t i = 0; i < num_solved; i++) {
        fits = fits || popliner_plan_get_summary(plans[i])->status != POPLINER_PLAN_INFEASIBLE;
        popliner_plan_free(plans[i]);
    }
    s->failed_softly = s->failed_softly || !fits;
    free(values);
    free(plans);
    return status;
}
