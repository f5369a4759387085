/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "command/hints.h"

#include <stdlib.h>
#include <string.h>

#include "command/commands.h"
#include "command/output_table.h"
#include "command/words.h"
#include "popliner/utilities.h"

/* More units than this take too long to be solved once for each hint. */
enum { MOST_UNITS = 2000, MOST_SECONDS = 10 };

/* ---- the list ---- */

popliner_status hints_solve_again(session *s, const popliner_costs *costs,
                                  popliner_solver_options *changed, popliner_plan **plan,
                                  popliner_error *error) {
    changed->method = POPLINER_METHOD_DYNAMIC_PROGRAMMING;
    changed->without_reasons = true;
    changed->listener = NULL;
    interrupts_catch(&s->interrupts); /* the answer is not printed yet */
    popliner_status status = popliner_solve(costs, changed, plan, error);
    interrupts_release(&s->interrupts);
    return status;
}

void hints_free(hint_list *list) {
    for (size_t i = 0; i < list->num_texts; i++)
        free(list->texts[i]);
    *list = (hint_list){0};
}

/* A text that the list owns; "" without memory. */
static const char *keep(hint_list *list, const char *format, ...) {
    char text[400];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    char *own = list->num_texts < sizeof list->texts / sizeof *list->texts ? strdup(text) : NULL;
    list->failed = list->failed || own == NULL;
    if (own == NULL)
        return "";
    list->texts[list->num_texts++] = own;
    return own;
}

static void add(hint_list *list, const char *label, const char *option, const char *words) {
    if (list->count < MAX_HINTS)
        list->items[list->count++] = (popliner_hint){label, option, words, NULL};
}

typedef struct grouped_text {
    char text[WORDS_NUMBER_SIZE];
} grouped_text;

/* "588,957" */
static grouped_text grouped(uint64_t number) {
    grouped_text result = {""};
    words_number(result.text, number);
    return result;
}

/* ---- solving again ---- */

/* A question, and what came of it. */
typedef struct trial {
    session *s;
    const request *r;
    const popliner_costs *costs; /* NULL: measured once more */
    const popliner_plan *given;  /* to be measured; NULL: to be found */
    popliner_request asked;
    popliner_solver_options solver;
    bool fits;
    bool is_known;
    bool has_verdict;
    popliner_verdict verdict;
    uint64_t bytes;
    uint64_t cycles;
    size_t num_ipus;
} trial;

/* The question of the request, to be changed. */
static trial begin(session *s, const request *r, const popliner_costs *costs) {
    trial t = {.s = s, .r = r, .costs = costs, .asked = r->asked, .solver = r->solver};

    t.solver.listener = NULL;
    return t;
}

static void take_plan(trial *t, const popliner_plan *plan) {
    t->is_known = plan->num_stages > 0 && !plan->is_stopped;
    t->fits = plan->status != POPLINER_PLAN_INFEASIBLE;
    t->bytes = plan->peak_bytes;
    t->cycles = plan->cycles;
    t->num_ipus = plan->num_ipus;
}

popliner_verdict hints_worst_verdict(const popliner_certificate *certificate) {
    const size_t num_stages = certificate->plan->num_stages;
    popliner_verdict worst = POPLINER_FITS;
    for (size_t i = 0; certificate->verdicts != NULL && i < num_stages; i++)
        if (certificate->verdicts[i] > worst)
            worst = certificate->verdicts[i];
    return worst;
}

static void take_certificate(trial *t, const popliner_certificate *certificate) {
    t->has_verdict = certificate->verdicts != NULL && certificate->plan->num_stages > 0;
    t->verdict = hints_worst_verdict(certificate);
}

/* Measures the stages of a split on their IPUs, to find out how sure it is that it fits. */
static popliner_status measure(trial *t, const popliner_plan *plan, popliner_error *error) {
    popliner_request asked = t->asked;
    popliner_solver_options solver = t->solver;
    popliner_certificate *certificate = NULL;
    size_t *first_units = calloc(2 * plan->num_stages, sizeof *first_units);
    popliner_recompute *recomputes = calloc(plan->num_stages, sizeof *recomputes);
    size_t *map = first_units == NULL ? NULL : first_units + plan->num_stages;
    if (first_units == NULL || recomputes == NULL) {
        free(first_units);
        free(recomputes);
        return fail_memory(error, "what a split needs");
    }
    for (size_t i = 0; i < plan->num_stages; i++) {
        map[i] = plan->stages[i].ipu;
        if (plan->choices != NULL)
            recomputes[i] = recompute_named(plan->choices[i]);
        if (i > 0)
            first_units[i - 1] = plan->stages[i].first_unit;
    }
    solver.device_map = map;
    solver.num_mapped_stages = plan->num_stages;
    asked.solver = &solver;
    asked.copies.num_stages = plan->num_stages;
    asked.copies.num_ipus = plan->num_ipus;
    if (plan->choices != NULL) {
        asked.recompute = POPLINER_RECOMPUTE_NONE;
        asked.stage_recomputes = recomputes;
        asked.num_stage_recomputes = plan->num_stages;
    }
    popliner_status status = popliner_analysis_evaluate(t->s->analysis, &asked, first_units,
                                                        plan->num_stages - 1, &certificate, error);
    if (status == POPLINER_OK)
        take_certificate(t, certificate);
    popliner_certificate_free(certificate);
    free(first_units);
    free(recomputes);
    return status;
}

static popliner_status measure_given(trial *t, popliner_error *error) {
    return measure(t, t->given, error);
}

static popliner_status solve_by_costs(trial *t, popliner_error *error) {
    popliner_plan *plan = NULL;
    popliner_status status = hints_solve_again(t->s, t->costs, &t->solver, &plan, error);
    if (status != POPLINER_OK)
        return status;
    take_plan(t, plan);
    if (t->is_known && t->fits && t->s->analysis != NULL && t->solver.num_mapped_stages == 0)
        status = measure(t, plan, error);
    popliner_plan_free(plan);
    return status;
}

static popliner_status solve_by_profile(trial *t, popliner_error *error) {
    popliner_certificate *certificate = NULL;
    t->solver.without_second_proof = true;
    t->solver.without_reasons = false; /* the best effort says how much is too much */
    popliner_status status =
        popliner_analysis_solve(t->s->analysis, &t->asked, &certificate, error);
    if (status != POPLINER_OK)
        return status;
    take_plan(t, certificate->plan);
    if (t->fits)
        take_certificate(t, certificate);
    popliner_certificate_free(certificate);
    return POPLINER_OK;
}

/* Whether the dynamic program alone answers. */
static bool is_cheap(const request *r) {
    return r->num_units <= MOST_UNITS && r->solver.num_mapped_stages == 0 &&
           r->solver.num_ipu_limits == 0 &&
           (r->solver.method == POPLINER_METHOD_AUTO ||
            r->solver.method == POPLINER_METHOD_DYNAMIC_PROGRAMMING);
}

/* Solves by the table, or by the profile: the table may lack what is above the limits. */
static popliner_status solve_somehow(trial *t, popliner_error *error) {
    popliner_status status = t->costs == NULL ? POPLINER_OK : solve_by_costs(t, error);
    return status == POPLINER_OK && !t->is_known && t->s->analysis != NULL
               ? solve_by_profile(t, error)
               : status;
}

/* Asks without a message in the log. A question that cannot be asked has no answer. */
static popliner_status ask(trial *t, popliner_status (*how)(trial *t, popliner_error *error),
                           popliner_error *error) {
    popliner_error own = {0};
    const popliner_level level = t->s->log.least_level;
    t->s->log.least_level = POPLINER_LEVEL_ERROR + 1;
    popliner_status status = how(t, &own);
    t->s->log.least_level = level;
    if (status == POPLINER_ERROR_USAGE || status == POPLINER_ERROR_STOPPED)
        return POPLINER_OK;
    if (status != POPLINER_OK)
        *error = own;
    return status;
}

/* Answers the question, if that is cheap. */
static popliner_status solve(trial *t, popliner_error *error) {
    t->asked.solver = &t->solver;
    if (!is_cheap(t->r) || (t->costs == NULL && t->s->analysis == NULL))
        return POPLINER_OK;
    return ask(t, solve_somehow, error);
}

popliner_status hints_measure_verdict(session *s, const request *r, const popliner_split_row *row,
                                      size_t micro_batches, bool *has_verdict,
                                      popliner_verdict *verdict, popliner_error *error) {
    trial t = begin(s, r, NULL);
    t.given = row->plan;
    if (row->limit_bytes > 0)
        t.solver.mem_per_tile = row->limit_bytes;
    if (micro_batches > 0)
        t.asked.copies.num_micro_batches = micro_batches;
    popliner_status status = ask(&t, measure_given, error);
    *has_verdict = t.has_verdict;
    if (t.has_verdict)
        *verdict = t.verdict;
    return status;
}

/* ---- words ---- */

/* "likely fits: 588,957 bytes (92 %)", "644,684 bytes, 0.9 % too much"; "" if nothing is known. */
static const char *words_of(hint_list *list, const trial *t, const char *ipus) {
    const uint64_t limit = t->solver.mem_per_tile;
    const bool is_limited = limit > 0 && limit < UINT64_MAX - 1;
    const double share = is_limited ? 100 * (double)t->bytes / (double)limit : 0;
    const char *verdict =
        t->has_verdict ? popliner_name_of(POPLINER_NAMED_VERDICT, t->verdict) : "fits";
    if (!t->is_known)
        return "";
    if (!t->fits && is_limited)
        return keep(list, "%s bytes, %.*f %% too much", grouped(t->bytes).text, share < 110 ? 1 : 0,
                    share - 100);
    if (!t->fits)
        return keep(list, "%s bytes", grouped(t->bytes).text);
    if (is_limited)
        return keep(list, "%s%s: %s bytes (%.0f %%)", verdict, ipus, grouped(t->bytes).text,
                    share > 99 && t->bytes < limit ? 99 : share);
    return keep(list, "%s%s: %s bytes", verdict, ipus, grouped(t->bytes).text);
}

/* " on 4 IPUs" */
static const char *on_ipus(hint_list *list, const trial *t) {
    return keep(list, " on %zu IPU%s", t->num_ipus, t->num_ipus == 1 ? "" : "s");
}

/* ---- where it fits ---- */

/* Solves for the fewest IPUs, with what `t` asks otherwise. */
static popliner_status solve_for_ipus(trial *t, popliner_error *error) {
    static const popliner_objective fewest[] = {POPLINER_OBJECTIVE_IPUS, POPLINER_OBJECTIVE_MEMORY};
    enum { MOST_IPUS = 16 };
    if (t->r->solver.num_ipus >= MOST_IPUS)
        return POPLINER_OK;
    t->solver.num_ipus = MOST_IPUS;
    t->solver.objectives = fewest;
    t->solver.num_objectives = sizeof fewest / sizeof *fewest;
    return solve(t, error);
}

/* Adds an option that counts more memory: if that does not fit, with more IPUs, and if none is
 * enough, that what fits does not fit with it. `otherwise` is for a question that was not answered;
 * `after` follows a result that fits. */
static popliner_status add_stricter(trial *t, const char *option, const char *otherwise,
                                    const char *after, bool fits_now, hint_list *list,
                                    popliner_error *error) {
    popliner_status status = solve(t, error);
    if (status != POPLINER_OK || !t->is_known || t->fits) {
        const char *words = words_of(list, t, on_ipus(list, t));
        add(list, "Try", option, *words != '\0' ? keep(list, "%s%s", words, after) : otherwise);
        return status;
    }
    trial more = *t;
    more.is_known = false;
    status = solve_for_ipus(&more, error);
    if (status == POPLINER_OK && more.is_known && more.fits)
        add(list, fits_now ? "Try" : "Enough",
            keep(list, "%s %s %zu", option, t->s->names.num_ipus, more.num_ipus),
            keep(list, "%s%s", words_of(list, &more, ""), after));
    else if (fits_now)
        add(list, "Not with", option, words_of(list, t, ""));
    return status;
}

static popliner_status add_schedule(session *s, const request *r, bool fits_now, hint_list *list,
                                    popliner_error *error) {
    trial t = begin(s, r, NULL);
    t.asked.schedule = POPLINER_SCHEDULE_POPART;
    return add_stricter(&t, "--schedule popart", "count the activations that stages keep", "",
                        fits_now, list, error);
}

static popliner_status add_fewer(session *s, const request *r, const popliner_costs *costs,
                                 size_t num_ipus, hint_list *list, popliner_error *error) {
    trial t = begin(s, r, costs);
    if (num_ipus < 2 || costs == NULL)
        return POPLINER_OK;
    t.solver.num_ipus = num_ipus - 1;
    popliner_status status = solve(&t, error);
    if (status == POPLINER_OK && t.is_known && t.fits)
        add(list, "Try", keep(list, "%s %zu", s->names.num_ipus, num_ipus - 1),
            words_of(list, &t, ""));
    return status;
}

/* The slowest IPU, if it takes a tenth less. */
static popliner_status add_cycles(session *s, const request *r, const popliner_plan *own,
                                  const popliner_costs *costs, hint_list *list,
                                  popliner_error *error) {
    static const popliner_objective cycles[] = {POPLINER_OBJECTIVE_CYCLES};
    trial t = begin(s, r, costs);
    bool has_cycles = own->cycles > 0 && costs != NULL;
    for (size_t i = 0; i < own->num_values; i++)
        has_cycles = has_cycles && own->values[i].objective != POPLINER_OBJECTIVE_CYCLES;
    if (!has_cycles)
        return POPLINER_OK;
    t.solver.objectives = cycles;
    t.solver.num_objectives = 1;
    popliner_status status = solve(&t, error);
    if (status == POPLINER_OK && t.is_known && t.fits &&
        (double)t.cycles <= 0.9 * (double)own->cycles) {
        const double less = 100 * (1 - (double)t.cycles / (double)own->cycles);
        char cycles_text[80] = "";
        if (s->analysis != NULL)
            snprintf(cycles_text, sizeof cycles_text, ", %.2f %s cycles",
                     (double)t.cycles / (t.cycles < 1000000 ? 1e3 : 1e6),
                     t.cycles < 1000000 ? "k" : "M");
        if (t.num_ipus != own->num_ipus) {
            const size_t length = strlen(cycles_text);
            snprintf(cycles_text + length, sizeof cycles_text - length, ", on %zu %s", t.num_ipus,
                     session_devices(s, 2));
        }
        add(list, "Try", "--objective cycles",
            keep(list, "%.0f %% less time on the slowest %s%s; %s", less, session_devices(s, 1),
                 cycles_text, words_of(list, &t, "")));
    }
    return status;
}

static popliner_status add_need(session *s, const request *r,
                                const popliner_certificate *certificate, hint_list *list,
                                popliner_error *error) {
    trial own = {0};
    trial t = begin(s, r, NULL);
    take_certificate(&own, certificate);
    if (!own.has_verdict || r->asked.need == POPLINER_NEED_MOST ||
        (own.verdict != POPLINER_FITS_LIKELY && own.verdict != POPLINER_FITS_PERHAPS))
        return POPLINER_OK;
    t.asked.need = POPLINER_NEED_MOST;
    return add_stricter(&t, "--need at-most", "count what a stage needs at most", " at most", true,
                        list, error);
}

/* A plan that needs no other option, unless a plan is written already. */
static void add_output(const session *s, const request *r, hint_list *list) {
    if (options_wanted(&s->options, OUTPUT_FRAMEWORK) != NULL)
        return;
    if (s->analysis != NULL && r->solver.num_mapped_stages == 0)
        add(list, "Try", "--output optimum", "the plan for Optimum (--help frameworks: others)");
    else if (!s->options.device_map.is_replicated)
        add(list, "Try", "--output pipeline",
            "the plan as JSON (--help frameworks: for a framework)");
}

/* ---- where it does not ---- */

/* The report that shows all of a tile that is too full. */
static void add_page(const session *s, hint_list *list) {
    if (s->analysis != NULL && s->options.recompute.way != POPLINER_RECOMPUTE_AUTO)
        add(list, "Try", "--output page=page.html", "each tile: its parts and its variables");
}

static popliner_status add_more(session *s, const request *r, const popliner_costs *costs,
                                const popliner_infeasibility *why, hint_list *list,
                                popliner_error *error) {
    trial t = begin(s, r, costs);
    popliner_status status = POPLINER_OK;
    if (why->enough_stages == 0)
        return POPLINER_OK;
    t.solver.num_ipus = why->enough_stages;
    if (costs != NULL)
        status = solve(&t, error);
    add(list, "Enough", keep(list, "%s %zu", s->names.num_ipus, why->enough_stages),
        words_of(list, &t, ""));
    return status;
}

/* The condition of a hint that changes the memory. */
static const char *with_such(const session *s, uint64_t bytes, hint_list *list) {
    if (s->analysis == NULL)
        return "if there were such devices";
    const uint64_t own_bytes = session_profile(s).bytes_per_tile;
    return bytes > own_bytes ? "if there were such tiles"
                             : keep(list, "the device has %s", grouped(own_bytes).text);
}

static void add_memory(session *s, const request *r, const popliner_infeasibility *why,
                       hint_list *list) {
    if (why->enough_bytes == 0)
        return;
    if (r->solver.reserve_bytes > 0 || r->solver.reserve_percent_hundredths > 0)
        add(list, "Enough",
            keep(list, "%s %llu", s->names.mem_per_tile, (unsigned long long)why->enough_bytes),
            keep(list, "plus what %s keeps free, %s", s->names.reserve,
                 with_such(s, UINT64_MAX, list)));
    else
        add(list, "Enough",
            keep(list, "%s %llu", s->names.mem_per_tile, (unsigned long long)why->enough_bytes),
            with_such(s, why->enough_bytes, list));
}

/* Whether it is a question what stages recompute. */
static bool may_recompute(const session *s, const request *r) {
    return options_keep_activations(&s->options) && r->asked.recompute == POPLINER_RECOMPUTE_NONE;
}

/* Reads a file of costs again with what its stages may choose, and solves for that. */
static popliner_status solve_choices_of_costs(trial *t, popliner_error *error) {
    session *s = t->s;
    const request *r = t->r;
    const popliner_pipeline pipeline = {.schedule = r->asked.schedule,
                                        .recompute = POPLINER_RECOMPUTE_AUTO,
                                        .copies = r->asked.copies,
                                        .max_stages = SIZE_MAX};
    popliner_costs_file *file = NULL;
    popliner_plan *plan = NULL;
    popliner_error own = {0};
    if (s->options.costs == NULL || strcmp(s->options.costs, "-") == 0 || !may_recompute(s, r) ||
        r->num_units > MOST_UNITS)
        return POPLINER_OK;
    t->solver.without_reasons = true;
    /* such a search may take any time */
    if (request_shares_an_ipu(r) &&
        !(t->solver.time_limit_seconds > 0.0 && t->solver.time_limit_seconds < MOST_SECONDS))
        t->solver.time_limit_seconds = MOST_SECONDS;
    popliner_status status = costs_read_again(s, &pipeline, &file, &own);
    interrupts_catch(&s->interrupts);
    if (status == POPLINER_OK)
        status = popliner_solve(file->costs, &t->solver, &plan, &own);
    interrupts_release(&s->interrupts);
    if (plan != NULL)
        take_plan(t, plan);
    popliner_plan_free(plan);
    popliner_costs_file_free(file);
    if (status == POPLINER_ERROR_MEMORY || status == POPLINER_ERROR_INTERNAL) {
        *error = own;
        return status;
    }
    return POPLINER_OK; /* other options may not go with a choice */
}

/* Adds the choices of stages of a file of costs if they are enough. */
static popliner_status add_recompute_of_costs(session *s, const request *r, hint_list *list,
                                              popliner_error *error) {
    trial t = begin(s, r, NULL);
    popliner_status status = solve_choices_of_costs(&t, error);
    if (t.is_known && t.fits)
        add(list, "Enough", "--recompute auto", words_of(list, &t, ""));
    return status;
}

/* Adds the choices of stages if with them fewer IPUs fit than the fewest without. A profile is
 * measured for each way to recompute, which takes too long for a large one. */
static popliner_status add_recompute_for_fewer(session *s, const request *r,
                                               const popliner_plan *own, hint_list *list,
                                               popliner_error *error) {
    enum { MOST_STAGE_TILES = 200000 };
    const bool is_fewest =
        own->num_values > 0 && own->values[0].objective == POPLINER_OBJECTIVE_IPUS;
    trial t = begin(s, r, NULL);
    popliner_status status = POPLINER_OK;
    if (own->num_ipus < 2 || !is_fewest || !may_recompute(s, r) || r->num_units > MOST_UNITS)
        return POPLINER_OK;
    t.asked.recompute = POPLINER_RECOMPUTE_AUTO;
    if (s->analysis == NULL)
        status = solve_choices_of_costs(&t, error);
    else if (session_profile(s).num_tiles * r->num_units * r->num_units <= MOST_STAGE_TILES)
        status = solve(&t, error);
    if (status == POPLINER_OK && t.is_known && t.fits && t.num_ipus < own->num_ipus)
        add(list, "Try", "--recompute auto",
            words_of(list, &t,
                     keep(list, " on %zu %s", t.num_ipus, session_devices(s, t.num_ipus))));
    return status;
}

static popliner_status add_recompute(session *s, const request *r, hint_list *list,
                                     popliner_error *error) {
    trial t = begin(s, r, NULL);
    if (s->analysis == NULL)
        return add_recompute_of_costs(s, r, list, error);
    if (!may_recompute(s, r))
        return POPLINER_OK;
    t.asked.recompute = POPLINER_RECOMPUTE_AUTO;
    popliner_status status = solve(&t, error);
    if (status == POPLINER_OK && (t.is_known || !is_cheap(r)))
        add(list,
            t.fits       ? "Enough"
            : t.is_known ? "Not enough"
                         : "Try",
            "--recompute auto",
            t.is_known ? words_of(list, &t, "") : "let each stage recompute where that helps");
    return status;
}

static popliner_status add_without(session *s, const request *r, const popliner_costs *costs,
                                   const popliner_constraint *c, hint_list *list,
                                   popliner_error *error) {
    trial t = begin(s, r, costs);
    t.solver.left_out = c;
    popliner_status status = costs != NULL ? solve(&t, error) : POPLINER_OK;
    if (status == POPLINER_OK && t.is_known && list->count < MAX_HINTS)
        list->items[list->count++] =
            (popliner_hint){t.fits ? "Enough" : "Not enough", "without", words_of(list, &t, ""), c};
    return status;
}

/* Adds a change of limits or of the device map that is enough; others have no option to paste. */
static void add_remedy(const session *s, const popliner_remedy *remedy, hint_list *list) {
    if (remedy->kind == POPLINER_REMEDY_IPU_LIMIT)
        add(list, "Enough",
            keep(list, "%s %zu=%llu", s->names.mem_per_tile, remedy->ipu,
                 (unsigned long long)remedy->bytes),
            with_such(s, remedy->bytes, list));
    else if (remedy->kind == POPLINER_REMEDY_WITHOUT_MAP)
        add(list, "Enough", keep(list, "%s %zu", s->names.num_ipus, remedy->number),
            keep(list, "and no --%s", s->names.constraints[POPLINER_CONSTRAINT_DEVICE_MAP]));
}

/* Constraints: those of a contradiction, else those that are found to be enough. */
static popliner_status add_constraints(session *s, const request *r, const popliner_costs *costs,
                                       const popliner_infeasibility *why, hint_list *list,
                                       popliner_error *error) {
    const bool contradict = why->obstacle == POPLINER_OBSTACLE_CONSTRAINTS;
    popliner_status status = POPLINER_OK;
    for (size_t i = 0; status == POPLINER_OK && contradict && i < why->num_constraints; i++)
        status = add_without(s, r, costs, &why->constraints[i], list, error);
    for (size_t i = 0; status == POPLINER_OK && i < why->num_remedies; i++) {
        const popliner_remedy *remedy = &why->remedies[i];
        if (remedy->kind == POPLINER_REMEDY_CONSTRAINT && !contradict)
            status = add_without(s, r, costs, &remedy->constraint, list, error);
        else
            add_remedy(s, remedy, list);
    }
    return status;
}

/* ---- the hints ---- */

static popliner_status finish(const hint_list *list, popliner_status status,
                              popliner_error *error) {
    return status == POPLINER_OK && list->failed ? fail_memory(error, "what would help") : status;
}

/* A longer time, and how near the best the answer is. */
static void add_time(const session *s, const popliner_plan *own, hint_list *list) {
    enum { TIMES = 6 };
    const popliner_plan_value *first = own->num_values > 0 ? &own->values[0] : NULL;
    const char *words = "";
    if (first != NULL && first->objective == POPLINER_OBJECTIVE_MEMORY)
        words = keep(list, "best %s bytes; no split has less than %s", grouped(first->value).text,
                     grouped(first->bound).text);
    if (s->options.time_limit_seconds > 0)
        add(list, "Try", keep(list, "--time-limit %gs", TIMES * s->options.time_limit_seconds),
            words);
}

popliner_status hints_for_solve(session *s, const request *r,
                                const popliner_certificate *certificate,
                                const popliner_costs *costs, bool lacks_schedule, hint_list *list,
                                popliner_error *error) {
    const popliner_plan *own = certificate->plan;
    popliner_status status = POPLINER_OK;
    if (own->is_stopped) {
        add_time(s, own, list);
        return finish(list, status, error);
    }
    if (lacks_schedule)
        status = add_schedule(s, r, own->status != POPLINER_PLAN_INFEASIBLE, list, error);
    if (own->status == POPLINER_PLAN_INFEASIBLE) {
        if (status == POPLINER_OK)
            status = add_more(s, r, costs, &own->infeasibility, list, error);
        add_memory(s, r, &own->infeasibility, list);
        if (status == POPLINER_OK && own->infeasibility.obstacle != POPLINER_OBSTACLE_CONSTRAINTS)
            status = add_recompute(s, r, list, error);
        if (status == POPLINER_OK)
            status = add_constraints(s, r, costs, &own->infeasibility, list, error);
        if (own->num_stages > 0)
            add_page(s, list);
        return finish(list, status, error);
    }
    if (status == POPLINER_OK)
        status = add_fewer(s, r, costs, own->num_ipus, list, error);
    if (status == POPLINER_OK)
        status = add_recompute_for_fewer(s, r, own, list, error);
    if (status == POPLINER_OK)
        status = add_cycles(s, r, own, costs, list, error);
    if (status == POPLINER_OK)
        status = add_need(s, r, certificate, list, error);
    add_output(s, r, list);
    return finish(list, status, error);
}

popliner_status hints_for_evaluate(session *s, const request *r,
                                   const popliner_certificate *certificate,
                                   const popliner_costs *costs, bool lacks_schedule,
                                   hint_list *list, popliner_error *error) {
    /* a list that a rule has in the same form */
    static const char plain_names[] = "0123456789,";
    const popliner_plan *plan = certificate->plan;
    const size_t num_stages = plan->num_stages;
    trial t = begin(s, r, costs);
    popliner_status status = POPLINER_OK;
    if (lacks_schedule)
        add(list, "Try", "--schedule popart", "count the activations that stages keep");
    if (s->analysis == NULL)
        add_memory(s, r, &plan->infeasibility, list);
    if (status == POPLINER_OK && s->analysis == NULL && plan->status == POPLINER_PLAN_INFEASIBLE)
        status = add_recompute_of_costs(s, r, list, error);
    t.solver.num_ipus = num_stages;
    t.solver.cut_rules = NULL;
    if (costs != NULL) /* as --solve has it */
        t.solver.min_units = memchr(r->counted_units, 1, r->num_units) != NULL;
    if (status == POPLINER_OK && r->solver.num_mapped_stages == 0 && num_stages > 1 &&
        r->asked.num_stage_recomputes == 0)
        status = solve(&t, error);
    const bool is_of_memory =
        plan->num_values == 0 || plan->values[0].objective == POPLINER_OBJECTIVE_MEMORY;
    const bool is_best = is_of_memory && t.bytes == plan->peak_bytes;
    if (status == POPLINER_OK && t.is_known && !is_best)
        add(list, "Try", keep(list, "--solve %s %zu", s->names.num_ipus, num_stages),
            is_of_memory ? keep(list, "the best split: %s bytes", grouped(t.bytes).text)
                         : "the best split");
    if (s->analysis != NULL && r->solver.num_mapped_stages == 0 && num_stages > 1 &&
        r->asked.num_stage_recomputes == 0 &&
        s->options.evaluate[strspn(s->options.evaluate, plain_names)] == '\0')
        add(list, "Try",
            keep(list, "--solve %s %zu --require cut:%s", s->names.num_ipus, num_stages,
                 s->options.evaluate),
            "this split's cycles and traffic");
    if (plan->status == POPLINER_PLAN_INFEASIBLE)
        add_page(s, list);
    return finish(list, status, error);
}
