/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "command/screen.h"

#include <stdlib.h>
#include <string.h>

#include "command/commands.h"
#include "command/output_table.h"
#include "command/values.h"
#include "popliner/utilities.h"

/* More units than this take too long to be solved once for each hint. */
enum { MOST_UNITS = 2000, MOST_SECONDS = 10 };

/* ---- the list ---- */

/* A refusal to explain, and the hints for it. After a failure nothing is solved. */
typedef struct hinting {
    session *s;
    const request *r;
    const popliner_costs *costs; /* NULL: there are none */
    hint_list *list;
    popliner_status status;
    popliner_error *error;
} hinting;

void hints_free(hint_list *list) {
    for (size_t i = 0; i < list->num_texts; i++)
        free(list->texts[i]);
    *list = (hint_list){0};
}

/* A text that the list owns; "" without memory. */
static const char *keep(const hinting *h, const char *format, ...) {
    hint_list *list = h->list;
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

static void add(const hinting *h, const char *label, const char *option, const char *words) {
    if (h->list->count < MAX_HINTS)
        h->list->items[h->list->count++] = (popliner_hint){label, option, words, NULL};
}

/* ---- solving again ---- */

/* A question, and what came of it. */
typedef struct trial {
    hinting *h;
    const popliner_costs *costs; /* NULL: measured once more */
    const popliner_plan *plan;   /* to be measured */
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
static trial begin(hinting *h, const popliner_costs *costs) {
    trial t = {.h = h, .costs = costs, .asked = h->r->asked, .solver = h->r->solver};
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

static void take_certificate(trial *t, const popliner_certificate *certificate) {
    t->has_verdict = certificate->verdicts != NULL && certificate->plan->num_stages > 0;
    t->verdict = answer_worst_verdict(certificate);
}

/* Measures the stages of a split on their IPUs, to find out how sure it is that it fits. */
static popliner_status measure(trial *t, popliner_error *error) {
    const popliner_plan *plan = t->plan;
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
    popliner_copies_set_map(&asked.copies, map, plan->num_stages);
    if (plan->choices != NULL) {
        asked.recompute = POPLINER_RECOMPUTE_NONE;
        asked.stage_recomputes = recomputes;
        asked.num_stage_recomputes = plan->num_stages;
    }
    popliner_status status = popliner_analysis_evaluate(t->h->s->analysis, &asked, first_units,
                                                        plan->num_stages - 1, &certificate, error);
    if (status == POPLINER_OK)
        take_certificate(t, certificate);
    popliner_certificate_free(certificate);
    free(first_units);
    free(recomputes);
    return status;
}

static popliner_status solve_by_costs(trial *t, popliner_error *error) {
    session *s = t->h->s;
    popliner_plan *plan = NULL;
    popliner_status status = answer_solve_again(s, t->costs, &t->solver, &plan, error);
    if (status != POPLINER_OK)
        return status;
    take_plan(t, plan);
    t->plan = plan;
    if (t->is_known && t->fits && s->analysis != NULL && t->solver.num_mapped_stages == 0)
        status = measure(t, error);
    popliner_plan_free(plan);
    return status;
}

static popliner_status solve_by_profile(trial *t, popliner_error *error) {
    popliner_certificate *certificate = NULL;
    t->solver.without_second_proof = true;
    t->solver.without_reasons = false; /* the best effort says how much is too much */
    popliner_status status =
        popliner_analysis_solve(t->h->s->analysis, &t->asked, &certificate, error);
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
    return status == POPLINER_OK && !t->is_known && t->h->s->analysis != NULL
               ? solve_by_profile(t, error)
               : status;
}

/* Asks without a message in the log. A question that cannot be asked has no answer. */
static void ask(trial *t, popliner_status (*how)(trial *t, popliner_error *error)) {
    hinting *h = t->h;
    popliner_error own = {0};
    const popliner_level level = h->s->log.least_level;
    if (h->status != POPLINER_OK)
        return;
    h->s->log.least_level = POPLINER_LEVEL_ERROR + 1;
    popliner_status status = how(t, &own);
    h->s->log.least_level = level;
    if (status == POPLINER_OK || status == POPLINER_ERROR_USAGE || status == POPLINER_ERROR_STOPPED)
        return;
    *h->error = own;
    h->status = status;
}

/* Answers the question, if that is cheap. True if there is an answer. */
static bool solve(trial *t) {
    t->asked.solver = &t->solver;
    if (is_cheap(t->h->r) && (t->costs != NULL || t->h->s->analysis != NULL))
        ask(t, solve_somehow);
    return t->h->status == POPLINER_OK && t->is_known;
}

popliner_status hints_measure_verdict(session *s, const request *r, const popliner_split_row *row,
                                      size_t micro_batches, bool *has_verdict,
                                      popliner_verdict *verdict, popliner_error *error) {
    hinting h = {s, r, NULL, NULL, POPLINER_OK, error};
    trial t = begin(&h, NULL);
    t.plan = row->plan;
    if (row->limit_bytes > 0)
        t.solver.mem_per_tile = row->limit_bytes;
    if (micro_batches > 0)
        t.asked.copies.num_micro_batches = micro_batches;
    ask(&t, measure);
    *has_verdict = t.has_verdict;
    if (t.has_verdict)
        *verdict = t.verdict;
    return h.status;
}

/* ---- words ---- */

/* "likely fits: 588,957 bytes (92 %)", "644,684 bytes, 0.9 % too much"; "" if nothing is known. */
static const char *words_of(const trial *t, const char *ipus) {
    const uint64_t limit = t->solver.mem_per_tile;
    const bool is_limited = limit > 0 && limit < UINT64_MAX - 1;
    const double share = is_limited ? 100 * (double)t->bytes / (double)limit : 0;
    const char *verdict =
        t->has_verdict ? popliner_name_of(POPLINER_NAMED_VERDICT, t->verdict) : "fits";
    if (!t->is_known)
        return "";
    if (!t->fits && is_limited)
        return keep(t->h, "%s bytes, %.*f %% too much", grouped(t->bytes).text, share < 110 ? 1 : 0,
                    share - 100);
    if (!t->fits)
        return keep(t->h, "%s bytes", grouped(t->bytes).text);
    if (is_limited)
        return keep(t->h, "%s%s: %s bytes (%.0f %%)", verdict, ipus, grouped(t->bytes).text,
                    share > 99 && t->bytes < limit ? 99 : share);
    return keep(t->h, "%s%s: %s bytes", verdict, ipus, grouped(t->bytes).text);
}

/* "--num-ipus 3" */
static const char *num_ipus_option(const hinting *h, size_t num_ipus) {
    return keep(h, "%s %zu", h->s->names.num_ipus, num_ipus);
}

/* ---- where it fits ---- */

/* Solves for the fewest IPUs, with what `t` asks otherwise. */
static bool solve_for_ipus(trial *t) {
    static const popliner_objective fewest[] = {POPLINER_OBJECTIVE_IPUS, POPLINER_OBJECTIVE_MEMORY};
    enum { MOST_IPUS = 16 };
    if (t->h->r->solver.num_ipus >= MOST_IPUS)
        return false;
    t->solver.num_ipus = MOST_IPUS;
    t->solver.objectives = fewest;
    t->solver.num_objectives = sizeof fewest / sizeof *fewest;
    return solve(t);
}

/* Adds an option that counts more memory: if that does not fit, with more IPUs, and if none is
 * enough, that what fits does not fit with it. `otherwise` is for a question that was not answered;
 * `after` follows a result that fits. */
static void add_stricter(trial *t, const char *option, const char *otherwise, const char *after,
                         bool fits_now) {
    const hinting *h = t->h;
    if (!solve(t) || t->fits) {
        const char *words =
            words_of(t, keep(h, " on %zu IPU%s", t->num_ipus, t->num_ipus == 1 ? "" : "s"));
        add(h, "Try", option, *words != '\0' ? keep(h, "%s%s", words, after) : otherwise);
        return;
    }
    trial more = *t;
    more.is_known = false;
    if (solve_for_ipus(&more) && more.fits)
        add(h, fits_now ? "Try" : "Enough",
            keep(h, "%s %s", option, num_ipus_option(h, more.num_ipus)),
            keep(h, "%s%s", words_of(&more, ""), after));
    else if (fits_now)
        add(h, "Not with", option, words_of(t, ""));
}

static void add_schedule(hinting *h, bool fits_now) {
    trial t = begin(h, NULL);
    t.asked.schedule = POPLINER_SCHEDULE_POPART;
    add_stricter(&t, "--schedule popart", "count the activations that stages keep", "", fits_now);
}

static void add_fewer(hinting *h, size_t num_ipus) {
    trial t = begin(h, h->costs);
    if (num_ipus < 2 || h->costs == NULL)
        return;
    t.solver.num_ipus = num_ipus - 1;
    if (solve(&t) && t.fits)
        add(h, "Try", num_ipus_option(h, num_ipus - 1), words_of(&t, ""));
}

/* The slowest IPU, if it takes a tenth less. */
static void add_cycles(hinting *h, const popliner_plan *own) {
    static const popliner_objective cycles[] = {POPLINER_OBJECTIVE_CYCLES};
    const session *s = h->s;
    trial t = begin(h, h->costs);
    bool has_cycles = own->cycles > 0 && h->costs != NULL;
    for (size_t i = 0; i < own->num_values; i++)
        has_cycles = has_cycles && own->values[i].objective != POPLINER_OBJECTIVE_CYCLES;
    t.solver.objectives = cycles;
    t.solver.num_objectives = 1;
    if (!has_cycles || !solve(&t) || !t.fits || (double)t.cycles > 0.9 * (double)own->cycles)
        return;
    const double less = 100 * (1 - (double)t.cycles / (double)own->cycles);
    const bool is_small = t.cycles < 1000000;
    const char *told = s->analysis == NULL
                           ? ""
                           : keep(h, ", %.2f %s cycles", (double)t.cycles / (is_small ? 1e3 : 1e6),
                                  is_small ? "k" : "M");
    if (t.num_ipus != own->num_ipus)
        told = keep(h, "%s, on %zu %s", told, t.num_ipus, session_devices(s, 2));
    add(h, "Try", "--objective cycles",
        keep(h, "%.0f %% less time on the slowest %s%s; %s", less, session_devices(s, 1), told,
             words_of(&t, "")));
}

static void add_need(hinting *h, const popliner_certificate *certificate) {
    trial own = {0};
    trial t = begin(h, NULL);
    take_certificate(&own, certificate);
    if (!own.has_verdict || h->r->asked.need == POPLINER_NEED_MOST ||
        (own.verdict != POPLINER_FITS_LIKELY && own.verdict != POPLINER_FITS_PERHAPS))
        return;
    t.asked.need = POPLINER_NEED_MOST;
    add_stricter(&t, "--need at-most", "count what a stage needs at most", " at most", true);
}

/* A plan that needs no other option, unless a plan is written already. */
static void add_output(const hinting *h) {
    const session *s = h->s;
    if (options_wanted(&s->options, OUTPUT_FRAMEWORK) != NULL)
        return;
    if (s->analysis != NULL && h->r->solver.num_mapped_stages == 0)
        add(h, "Try", "--output optimum", "the plan for Optimum (--help frameworks: others)");
    else if (!s->options.device_map.is_replicated)
        add(h, "Try", "--output pipeline", "the plan as JSON (--help frameworks: for a framework)");
}

/* ---- where it does not ---- */

/* The report that shows all of a tile that is too full. */
static void add_page(const hinting *h) {
    if (h->s->analysis != NULL && h->s->options.recompute.way != POPLINER_RECOMPUTE_AUTO)
        add(h, "Try", "--output page=page.html", "each tile: its parts and its variables");
}

static void add_more(hinting *h, const popliner_infeasibility *why) {
    trial t = begin(h, h->costs);
    if (why->enough_stages == 0)
        return;
    t.solver.num_ipus = why->enough_stages;
    if (h->costs != NULL)
        solve(&t);
    add(h, "Enough", num_ipus_option(h, why->enough_stages), words_of(&t, ""));
}

/* The condition of a hint that changes the memory. */
static const char *with_such(const hinting *h, uint64_t bytes) {
    if (h->s->analysis == NULL)
        return "if there were such devices";
    const uint64_t own_bytes = session_profile(h->s).bytes_per_tile;
    return bytes > own_bytes ? "if there were such tiles"
                             : keep(h, "the device has %s", grouped(own_bytes).text);
}

/* Adds a limit that is enough, of one IPU or of all (SIZE_MAX), with what is reserved of it. */
static void add_limit(const hinting *h, size_t ipu, uint64_t limit_bytes) {
    uint64_t bytes = limit_bytes;
    const char *words = with_such(h, limit_bytes);
    if (!popliner_reserve_memory(&h->r->solver, ipu, limit_bytes, &bytes))
        return;
    if (bytes > limit_bytes)
        words = keep(h, "of which %s keeps %s free, %s", h->s->names.reserve,
                     grouped(bytes - limit_bytes).text, with_such(h, UINT64_MAX));
    const char *of = ipu == SIZE_MAX ? "" : keep(h, "%zu=", ipu);
    add(h, "Enough", keep(h, "%s %s%llu", h->s->names.mem_per_tile, of, (unsigned long long)bytes),
        words);
}

static void add_memory(const hinting *h, const popliner_infeasibility *why) {
    if (why->enough_bytes > 0)
        add_limit(h, SIZE_MAX, why->enough_bytes);
}

/* Whether it is a question what stages recompute. */
static bool may_recompute(const hinting *h) {
    return options_keep_activations(&h->s->options) &&
           h->r->asked.recompute == POPLINER_RECOMPUTE_NONE;
}

/* Reads a file of costs again with what its stages may choose, and solves for that. */
static bool solve_choices_of_costs(trial *t) {
    hinting *h = t->h;
    session *s = h->s;
    const request *r = h->r;
    const popliner_pipeline pipeline = {.schedule = r->asked.schedule,
                                        .recompute = POPLINER_RECOMPUTE_AUTO,
                                        .copies = r->asked.copies,
                                        .max_stages = SIZE_MAX};
    popliner_costs_file *file = NULL;
    popliner_plan *plan = NULL;
    popliner_error own = {0};
    if (h->status != POPLINER_OK || s->options.costs == NULL ||
        strcmp(s->options.costs, "-") == 0 || !may_recompute(h) || r->num_units > MOST_UNITS)
        return false;
    t->solver.without_reasons = true;
    /* such a search may take any time */
    if (request_shares_an_ipu(r) && !(t->solver.time_limit_seconds > 0.0 &&
                                      t->solver.time_limit_seconds < (double)MOST_SECONDS))
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
        *h->error = own; /* other options may not go with a choice */
        h->status = status;
    }
    return h->status == POPLINER_OK && t->is_known;
}

/* Adds the choices of stages of a file of costs if they are enough. */
static void add_recompute_of_costs(hinting *h) {
    trial t = begin(h, NULL);
    if (solve_choices_of_costs(&t) && t.fits)
        add(h, "Enough", "--recompute auto", words_of(&t, ""));
}

/* Adds the choices of stages if with them fewer IPUs fit than the fewest without. A profile is
 * measured for each way to recompute, which takes too long for a large one. */
static void add_recompute_for_fewer(hinting *h, const popliner_plan *own) {
    enum { MOST_STAGE_TILES = 200000 };
    const size_t num_units = h->r->num_units;
    const bool is_fewest =
        own->num_values > 0 && own->values[0].objective == POPLINER_OBJECTIVE_IPUS;
    trial t = begin(h, NULL);
    if (own->num_ipus < 2 || !is_fewest || !may_recompute(h) || num_units > MOST_UNITS)
        return;
    t.asked.recompute = POPLINER_RECOMPUTE_AUTO;
    const bool is_known =
        h->s->analysis == NULL ? solve_choices_of_costs(&t)
        : session_profile(h->s).num_tiles * num_units * num_units <= MOST_STAGE_TILES ? solve(&t)
                                                                                      : false;
    if (is_known && t.fits && t.num_ipus < own->num_ipus)
        add(h, "Try", "--recompute auto",
            words_of(&t, keep(h, " on %zu %s", t.num_ipus, session_devices(h->s, t.num_ipus))));
}

static void add_recompute(hinting *h) {
    trial t = begin(h, NULL);
    t.asked.recompute = POPLINER_RECOMPUTE_AUTO;
    if (h->s->analysis == NULL)
        add_recompute_of_costs(h);
    else if (may_recompute(h) && (solve(&t) || !is_cheap(h->r)))
        add(h,
            t.fits       ? "Enough"
            : t.is_known ? "Not enough"
                         : "Try",
            "--recompute auto",
            t.is_known ? words_of(&t, "") : "let each stage recompute where that helps");
}

static void add_without(hinting *h, const popliner_constraint *c) {
    trial t = begin(h, h->costs);
    t.solver.left_out = c;
    if (h->costs != NULL && solve(&t) && h->list->count < MAX_HINTS)
        h->list->items[h->list->count++] =
            (popliner_hint){t.fits ? "Enough" : "Not enough", "without", words_of(&t, ""), c};
}

/* Adds a change of limits or of the device map that is enough; others have no option to paste. */
static void add_remedy(const hinting *h, const popliner_remedy *remedy) {
    const popliner_option_names *names = &h->s->names;
    if (remedy->kind == POPLINER_REMEDY_IPU_LIMIT)
        add_limit(h, remedy->ipu, remedy->bytes);
    else if (remedy->kind == POPLINER_REMEDY_WITHOUT_MAP)
        add(h, "Enough", num_ipus_option(h, remedy->number),
            keep(h, "and no %s", names->device_map));
}

/* Constraints: those of a contradiction, else those that are found to be enough. */
static void add_constraints(hinting *h, const popliner_infeasibility *why) {
    const bool contradict = why->obstacle == POPLINER_OBSTACLE_CONSTRAINTS;
    for (size_t i = 0; contradict && i < why->num_constraints; i++)
        add_without(h, &why->constraints[i]);
    for (size_t i = 0; i < why->num_remedies; i++) {
        const popliner_remedy *remedy = &why->remedies[i];
        if (remedy->kind == POPLINER_REMEDY_CONSTRAINT && !contradict)
            add_without(h, &remedy->constraint);
        else
            add_remedy(h, remedy);
    }
}

/* ---- the hints ---- */

static popliner_status finish(const hinting *h) {
    return h->status == POPLINER_OK && h->list->failed ? fail_memory(h->error, "what would help")
                                                       : h->status;
}

/* A longer time, and how near the best the answer is. */
static void add_time(const hinting *h, const popliner_plan *own) {
    enum { TIMES = 6 };
    const popliner_plan_value *first = own->num_values > 0 ? &own->values[0] : NULL;
    const char *words = "";
    if (first != NULL && first->objective == POPLINER_OBJECTIVE_MEMORY)
        words = keep(h, "best %s bytes; no split has less than %s", grouped(first->value).text,
                     grouped(first->bound).text);
    if (h->s->options.time_limit_seconds > 0)
        add(h, "Try", keep(h, "--time-limit %gs", (double)TIMES * h->s->options.time_limit_seconds),
            words);
}

popliner_status hints_for_solve(session *s, const request *r,
                                const popliner_certificate *certificate,
                                const popliner_costs *costs, bool lacks_schedule, hint_list *list,
                                popliner_error *error) {
    const popliner_plan *own = certificate->plan;
    const bool fits = own->status != POPLINER_PLAN_INFEASIBLE;
    hinting h = {s, r, costs, list, POPLINER_OK, error};
    if (own->is_stopped) {
        add_time(&h, own);
        return finish(&h);
    }
    if (lacks_schedule)
        add_schedule(&h, fits);
    if (fits) {
        add_fewer(&h, own->num_ipus);
        add_recompute_for_fewer(&h, own);
        add_cycles(&h, own);
        add_need(&h, certificate);
        add_output(&h);
        return finish(&h);
    }
    add_more(&h, &own->infeasibility);
    add_memory(&h, &own->infeasibility);
    if (own->infeasibility.obstacle != POPLINER_OBSTACLE_CONSTRAINTS)
        add_recompute(&h);
    add_constraints(&h, &own->infeasibility);
    if (own->num_stages > 0)
        add_page(&h);
    return finish(&h);
}

popliner_status hints_for_evaluate(session *s, const request *r,
                                   const popliner_certificate *certificate,
                                   const popliner_costs *costs, bool lacks_schedule,
                                   hint_list *list, popliner_error *error) {
    const popliner_plan *plan = certificate->plan;
    hinting h = {s, r, costs, list, POPLINER_OK, error};
    trial t = begin(&h, costs);
    const bool is_of_memory =
        plan->num_values == 0 || plan->values[0].objective == POPLINER_OBJECTIVE_MEMORY;
    const bool may_solve = r->solver.num_mapped_stages == 0 && plan->num_stages > 1 &&
                           r->asked.num_stage_recomputes == 0;
    if (lacks_schedule)
        add(&h, "Try", "--schedule popart", "count the activations that stages keep");
    if (s->analysis == NULL)
        add_memory(&h, &plan->infeasibility);
    if (s->analysis == NULL && plan->status == POPLINER_PLAN_INFEASIBLE)
        add_recompute_of_costs(&h);
    t.solver.num_ipus = plan->num_stages;
    t.solver.cut_rules = NULL;
    if (costs != NULL) /* as --solve has it */
        t.solver.min_units = memchr(r->counted_units, 1, r->num_units) != NULL;
    if (may_solve && solve(&t) && !(is_of_memory && t.bytes == plan->peak_bytes))
        add(&h, "Try", keep(&h, "--solve %s", num_ipus_option(&h, plan->num_stages)),
            is_of_memory ? keep(&h, "the best split: %s bytes", grouped(t.bytes).text)
                         : "the best split");
    if (plan->status == POPLINER_PLAN_INFEASIBLE)
        add_page(&h);
    return finish(&h);
}
