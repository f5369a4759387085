/* Hints: options to change after an answer, each with what it was measured to give.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/hints.h"

#include <inttypes.h>
#include <string.h>

#include "answer/certificate_data.h"
#include "base/failure.h"
#include "base/structs.h"
#include "base/text.h"
#include "memory/chain_data.h"
#include "pipeline/pipeline.h"
#include "profile/profile_data.h"
#include "solve/options.h"

/* More units than this take too long to be solved once for each hint. */
enum { MOST_HINTS = 16, MOST_UNITS = 2000, MOST_SECONDS = 10 };

/* The hints of an answer. After a failure nothing is solved. */
typedef struct hinting {
    pl_certificate *c;
    popliner_analysis *analysis; /* NULL: the costs are of no profile */
    bool has_variables;          /* of which there is more than what was stored */
    popliner_request request;
    popliner_solver_options solver; /* of the request */
    const popliner_costs *costs;    /* NULL: there are none */
    popliner_costs_reader read;
    void *user;
    popliner_hint *hints; /* [MOST_HINTS] */
    popliner_status status;
    popliner_error *error;
} hinting;

/* A question, and what came of it. */
typedef struct trial {
    hinting *h;
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

/* ---- the list ---- */

static const char *keep(const hinting *h, pl_text text) {
    return pl_arrays_take(&h->c->arrays, text);
}

/* Adds a hint with the result of its trial (NULL: none). */
static void add(hinting *h, const char *label, const trial *t, const char *option,
                const char *words) {
    if (h->c->info.num_hints == MOST_HINTS)
        return;
    popliner_hint *hint = &h->hints[h->c->info.num_hints++];
    *hint = (popliner_hint){.label = label, .option = option, .words = words};
    if (t != NULL && t->is_known) {
        hint->is_measured = true;
        hint->fits = t->fits;
        hint->is_fit_known = !t->has_verdict || t->verdict != POPLINER_FITS_UNKNOWN;
        hint->bytes = t->bytes;
        hint->num_ipus = t->num_ipus;
    }
}

/* "--schedule popart": an option that has no name in popliner_option_names. */
static const char *option_of(const hinting *h, const char *name) {
    const char *example = h->c->input.option_names.num_ipus;
    return keep(h, pl_text_of("%.*s%s", (int)strspn(example, "-"), example, name));
}

/* Whether options are those of the command, which also has outputs. */
static bool is_of_command(const hinting *h) {
    return *h->c->input.option_names.num_ipus == '-';
}

/* Whether a unit is a layer. */
static bool has_layers(const hinting *h) {
    const uint8_t *counted = h->c->input.options->counted_units;
    return counted == NULL || memchr(counted, 1, h->c->input.num_units) != NULL;
}

/* "--num-ipus 3" */
static const char *num_ipus_option(const hinting *h, size_t num_ipus) {
    return keep(h, pl_text_of("%s %zu", h->c->input.option_names.num_ipus, num_ipus));
}

/* `before`, and a constraint as an option. */
static const char *constraint_option(const hinting *h, const char *before,
                                     const popliner_constraint *c) {
    pl_text text = {0};
    pl_text_format(&text, "%s%s", before, option_of(h, ""));
    pl_certificate_word_constraint(h->c, c, &text);
    return keep(h, text);
}

/* ---- solving again ---- */

/* The question of the request, to be changed. */
static trial begin(hinting *h) {
    trial t = {.h = h, .asked = h->request, .solver = h->solver};
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
    const size_t num_stages = certificate->plan->num_stages;
    t->has_verdict = certificate->verdicts != NULL && num_stages > 0;
    t->verdict = POPLINER_FITS;
    for (size_t i = 0; t->has_verdict && i < num_stages; i++)
        if (certificate->verdicts[i] > t->verdict)
            t->verdict = certificate->verdicts[i];
}

static popliner_status solve_by_profile(trial *t, popliner_error *error) {
    popliner_certificate *certificate = NULL;
    t->solver.without_second_proof = true;
    t->solver.without_reasons = false; /* the best effort says how much is too much */
    PL_TRY(popliner_analysis_solve(t->h->analysis, &t->asked, &certificate, error));
    take_plan(t, certificate->plan);
    if (t->fits)
        take_certificate(t, certificate);
    popliner_certificate_free(certificate);
    return POPLINER_OK;
}

/* Solves by the costs, which are read again for what their stages may choose. */
static popliner_status solve_by_costs(trial *t, popliner_error *error) {
    const hinting *h = t->h;
    const popliner_pipeline pipeline = {.schedule = h->request.schedule,
                                        .recompute = t->asked.recompute,
                                        .copies = h->request.copies,
                                        .max_stages = SIZE_MAX};
    popliner_costs_file *file = NULL;
    popliner_plan *plan = NULL;
    popliner_status status = POPLINER_OK;
    t->solver.without_reasons = true;
    if (t->asked.recompute != h->request.recompute)
        status = h->read(h->user, &pipeline, &file, error);
    else
        t->solver.method = POPLINER_METHOD_DYNAMIC_PROGRAMMING;
    if (status == POPLINER_OK)
        status = popliner_solve(file != NULL ? file->costs : h->costs, &t->solver, &plan, error);
    if (status == POPLINER_OK)
        take_plan(t, plan);
    popliner_plan_free(plan);
    if (file != NULL) /* a page's module has no files */
        popliner_costs_file_free(file);
    return status;
}

/* Whether the dynamic program alone answers. */
static bool is_cheap(const hinting *h) {
    const popliner_solver_options *o = &h->solver;
    return o->num_mapped_stages == 0 && o->num_ipu_limits == 0 &&
           (o->method == POPLINER_METHOD_AUTO || o->method == POPLINER_METHOD_DYNAMIC_PROGRAMMING);
}

/* Answers the question, if that is cheap, or if it is what costs may choose. True if there is an
 * answer: a question that cannot be asked has none. */
static bool solve(trial *t) {
    hinting *h = t->h;
    const bool chooses = h->analysis == NULL && t->asked.recompute != h->request.recompute;
    const bool may_solve =
        chooses ? h->read != NULL : is_cheap(h) && (h->analysis != NULL || h->costs != NULL);
    popliner_error own = {0};
    if (h->status != POPLINER_OK || h->c->input.num_units > MOST_UNITS || !may_solve)
        return false;
    /* such a search may take any time */
    if (chooses && pl_options_share_an_ipu(&t->solver) &&
        !(t->solver.time_limit_seconds > 0 && t->solver.time_limit_seconds < (double)MOST_SECONDS))
        t->solver.time_limit_seconds = MOST_SECONDS;
    t->asked.solver = &t->solver;
    const popliner_status status =
        h->analysis != NULL ? solve_by_profile(t, &own) : solve_by_costs(t, &own);
    if (status == POPLINER_ERROR_MEMORY || status == POPLINER_ERROR_INTERNAL) {
        if (h->error != NULL)
            *h->error = own;
        h->status = status;
    }
    return status == POPLINER_OK && t->is_known;
}

/* ---- words ---- */

/* "likely fits: 588,957 bytes (92 %)", "644,684 bytes, 0.9 % too much", with `ipus` after the
 * verdict and `after` at the end; "" if nothing is known. */
static const char *words_of(const trial *t, bool with_ipus, const char *after) {
    const hinting *h = t->h;
    const uint64_t limit = t->solver.mem_per_tile;
    const bool is_limited = limit > 0 && limit < PL_NO_LIMIT;
    const double share = is_limited ? 100 * (double)t->bytes / (double)limit : 0;
    pl_text text = {0};
    if (!t->is_known)
        return "";
    if (t->fits)
        pl_text_add(&text, t->has_verdict ? pl_verdict_text(t->verdict) : "fits");
    if (t->fits && with_ipus)
        pl_text_format(&text, " on %zu %s", t->num_ipus, pl_certificate_devices(h->c, t->num_ipus));
    pl_text_format(&text, "%s%s bytes", t->fits ? ": " : "", PL_GROUPED(t->bytes));
    if (is_limited && t->fits)
        pl_text_format(&text, " (%.0f %%)", share > 99 && t->bytes < limit ? 99 : share);
    else if (is_limited)
        pl_text_format(&text, ", %.*f %% too much", share < 110 ? 1 : 0, share - 100);
    pl_text_add(&text, after);
    return keep(h, text);
}

/* ---- where it fits ---- */

/* Solves for the fewest IPUs, with what `t` asks otherwise. */
static bool solve_for_ipus(trial *t) {
    static const popliner_objective fewest[] = {POPLINER_OBJECTIVE_IPUS, POPLINER_OBJECTIVE_MEMORY};
    enum { MOST_IPUS = 16 };
    if (t->h->solver.num_ipus >= MOST_IPUS)
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
    hinting *h = t->h;
    if (!solve(t) || t->fits) {
        add(h, "Try", t, option_of(h, option), t->is_known ? words_of(t, true, after) : otherwise);
        return;
    }
    trial more = *t;
    more.is_known = false;
    if (solve_for_ipus(&more) && more.fits)
        add(h, fits_now ? "Try" : "Enough", &more,
            keep(h, pl_text_of("%s %s", option_of(h, option), num_ipus_option(h, more.num_ipus))),
            words_of(&more, false, after));
    else if (fits_now)
        add(h, "Not with", t, option_of(h, option), words_of(t, false, ""));
}

static const char COUNT_KEPT[] = "count the activations that stages keep";

static void add_schedule(hinting *h, bool fits_now) {
    trial t = begin(h);
    t.asked.schedule = POPLINER_SCHEDULE_POPART;
    add_stricter(&t, "schedule popart", COUNT_KEPT, "", fits_now);
}

static void add_fewer(hinting *h, size_t num_ipus) {
    trial t = begin(h);
    t.solver.num_ipus = num_ipus - 1;
    if (num_ipus > 1 && h->costs != NULL && solve(&t) && t.fits)
        add(h, "Try", &t, num_ipus_option(h, num_ipus - 1), words_of(&t, false, ""));
}

/* Stages without a layer, if they need a twentieth less. */
static void add_no_layers(hinting *h) {
    const popliner_plan *own = &h->c->plan;
    const uint8_t *counted = h->c->input.options->counted_units;
    const popliner_constraint any = {.kind = POPLINER_CONSTRAINT_MIN_UNITS};
    trial t = begin(h);
    if (h->costs == NULL || counted == NULL || t.solver.min_units != 1 ||
        memchr(counted, 0, h->c->input.num_units) == NULL || own->num_values == 0 ||
        own->values[0].objective != POPLINER_OBJECTIVE_MEMORY)
        return;
    t.solver.min_units = 0;
    if (solve(&t) && t.fits && (double)t.bytes <= 0.95 * (double)own->peak_bytes)
        add(h, "Try", &t, constraint_option(h, "", &any), words_of(&t, true, ""));
}

/* The slowest IPU, if it takes a tenth less. */
static void add_cycles(hinting *h) {
    static const popliner_objective cycles[] = {POPLINER_OBJECTIVE_CYCLES};
    const popliner_plan *own = &h->c->plan;
    trial t = begin(h);
    bool has_cycles = own->cycles > 0 && h->costs != NULL;
    for (size_t i = 0; i < own->num_values; i++)
        has_cycles = has_cycles && own->values[i].objective != POPLINER_OBJECTIVE_CYCLES;
    t.solver.objectives = cycles;
    t.solver.num_objectives = 1;
    if (!has_cycles || !solve(&t) || !t.fits || (double)t.cycles > 0.9 * (double)own->cycles)
        return;
    const bool is_small = t.cycles < 1000000;
    pl_text words = {0};
    pl_text_format(&words, "%.0f %% less time on the slowest %s",
                   100 * (1 - (double)t.cycles / (double)own->cycles),
                   pl_certificate_devices(h->c, 1));
    if (h->analysis != NULL)
        pl_text_format(&words, ", %.2f %s cycles", (double)t.cycles / (is_small ? 1e3 : 1e6),
                       is_small ? "k" : "M");
    if (t.num_ipus != own->num_ipus)
        pl_text_format(&words, ", on %zu %s", t.num_ipus, pl_certificate_devices(h->c, 2));
    pl_text_format(&words, "; %s", words_of(&t, false, ""));
    add(h, "Try", &t, option_of(h, "objective cycles"), keep(h, words));
}

static void add_need(hinting *h) {
    trial own = {0};
    trial t = begin(h);
    take_certificate(&own, &h->c->info);
    if (!own.has_verdict || h->request.need == POPLINER_NEED_MOST ||
        (own.verdict != POPLINER_FITS_LIKELY && own.verdict != POPLINER_FITS_PERHAPS))
        return;
    t.asked.need = POPLINER_NEED_MOST;
    add_stricter(&t, "need at-most", "count what a stage needs at most", " at most", true);
}

/* A plan that needs no other option. */
static void add_output(hinting *h) {
    const bool is_mapped = h->solver.num_mapped_stages > 0;
    const bool is_optimum = h->analysis != NULL && !is_mapped;
    if (!is_of_command(h) || pl_certificate_has_replicas(h->c) || !has_layers(h))
        return;
    add(h, "Try", NULL, option_of(h, is_optimum ? "output optimum" : "output pipeline"),
        keep(h, pl_text_of(is_optimum ? "the plan for Optimum (%s: others)"
                                      : "the plan as JSON (%s: for a framework)",
                           option_of(h, "help frameworks"))));
}

/* ---- where it does not ---- */

/* The report that shows all of a tile that is too full. */
static void add_page(hinting *h) {
    if (is_of_command(h) && h->has_variables && h->request.recompute != POPLINER_RECOMPUTE_AUTO)
        add(h, "Try", NULL, option_of(h, "output page=page.html"),
            "each tile: its parts and its variables");
}

static void add_more(hinting *h, const popliner_infeasibility *why) {
    trial t = begin(h);
    if (why->enough_stages == 0)
        return;
    t.solver.num_ipus = why->enough_stages;
    if (h->costs != NULL)
        solve(&t);
    add(h, "Enough", &t, num_ipus_option(h, why->enough_stages), words_of(&t, false, ""));
}

/* The condition of a hint that changes the memory. */
static const char *such(const hinting *h, uint64_t bytes) {
    const uint64_t own =
        h->analysis == NULL ? 0 : h->c->input.chain->profile->target.bytes_per_tile;
    return h->analysis == NULL ? "if there were such devices"
           : bytes > own       ? "if there were such tiles"
                               : keep(h, pl_text_of("the device has %s", PL_GROUPED(own)));
}

/* Adds a limit that is enough, of one IPU or of all (`ipu` SIZE_MAX), with what is reserved of
 * it. */
static void add_limit(hinting *h, size_t ipu, uint64_t limit_bytes) {
    const popliner_option_names *names = &h->c->input.option_names;
    uint64_t bytes = limit_bytes;
    pl_text option = {0};
    if (limit_bytes == 0 || !popliner_reserve_memory(&h->solver, ipu, limit_bytes, &bytes))
        return;
    pl_text_format(&option, "%s ", names->mem_per_tile);
    if (ipu != SIZE_MAX)
        pl_text_format(&option, "%zu=", ipu);
    pl_text_format(&option, "%" PRIu64, bytes);
    add(h, "Enough", NULL, keep(h, option),
        bytes == limit_bytes
            ? such(h, limit_bytes)
            : keep(h, pl_text_of("of which %s keeps %s free, %s", names->reserve,
                                 PL_GROUPED(bytes - limit_bytes), such(h, UINT64_MAX))));
}

/* Adds limits of several IPUs that are enough. */
static void add_limits(hinting *h) {
    pl_text option = {0};
    pl_text_format(&option, "%s ", h->c->input.option_names.mem_per_tile);
    const uint64_t most_bytes = pl_certificate_add_needs(h->c, &option);
    const char *kept = keep(h, option);
    if (most_bytes > 0)
        add(h, "Enough", NULL, kept, such(h, most_bytes));
}

/* Whether it is a question what stages recompute. */
static bool may_recompute(const hinting *h) {
    return pl_pipeline_keeps(&h->c->input.pipeline) &&
           h->request.recompute == POPLINER_RECOMPUTE_NONE && h->request.stage_recomputes == NULL &&
           pl_variants_check_options(&h->solver, NULL) == POPLINER_OK;
}

/* Adds the choices of stages if with them fewer IPUs fit than the fewest without. A profile is
 * measured for each way to recompute, which takes too long for a large one. */
static void add_recompute_for_fewer(hinting *h) {
    enum { MOST_STAGE_TILES = 200000 };
    const popliner_plan *own = &h->c->plan;
    const size_t num_units = h->c->input.num_units;
    const bool is_fewest =
        own->num_values > 0 && own->values[0].objective == POPLINER_OBJECTIVE_IPUS;
    trial t = begin(h);
    t.asked.recompute = POPLINER_RECOMPUTE_AUTO;
    if (own->num_ipus < 2 || !is_fewest || !may_recompute(h) || num_units > MOST_UNITS ||
        (h->analysis != NULL &&
         h->c->input.chain->profile->target.num_tiles * num_units * num_units > MOST_STAGE_TILES))
        return;
    if (solve(&t) && t.fits && t.num_ipus < own->num_ipus)
        add(h, "Try", &t, option_of(h, "recompute auto"), words_of(&t, true, ""));
}

static void add_recompute(hinting *h) {
    trial t = begin(h);
    t.asked.recompute = POPLINER_RECOMPUTE_AUTO;
    if (!may_recompute(h))
        return;
    if (solve(&t) && (h->analysis != NULL || t.fits))
        add(h, t.fits ? "Enough" : "Not enough", &t, option_of(h, "recompute auto"),
            words_of(&t, false, ""));
    else if (h->analysis != NULL && (!is_cheap(h) || h->c->input.num_units > MOST_UNITS))
        add(h, "Try", NULL, option_of(h, "recompute auto"),
            "let each stage recompute where that helps");
}

static void add_without(hinting *h, const popliner_constraint *c) {
    trial t = begin(h);
    t.solver.left_out = c;
    if (h->costs != NULL && solve(&t))
        add(h, t.fits ? "Enough" : "Not enough", &t, constraint_option(h, "without ", c),
            words_of(&t, false, ""));
}

/* Adds changes of constraints: those of a contradiction, else those that are found to be enough;
 * of limits; or of the device map. Others have no option to paste. */
static void add_remedies(hinting *h, const popliner_infeasibility *why) {
    const bool contradict = why->obstacle == POPLINER_OBSTACLE_CONSTRAINTS;
    for (size_t i = 0; contradict && i < why->num_constraints; i++)
        add_without(h, &why->constraints[i]);
    for (size_t i = 0; i < why->num_remedies; i++) {
        const popliner_remedy *remedy = &why->remedies[i];
        if (remedy->kind == POPLINER_REMEDY_CONSTRAINT && !contradict)
            add_without(h, &remedy->constraint);
        else if (remedy->kind == POPLINER_REMEDY_IPU_LIMIT)
            add_limit(h, remedy->ipu, remedy->bytes);
        else if (remedy->kind == POPLINER_REMEDY_WITHOUT_MAP)
            add(h, "Enough", NULL, num_ipus_option(h, remedy->number),
                keep(h, pl_text_of("and no %s", h->c->input.option_names.device_map)));
    }
}

/* ---- the hints ---- */

/* A longer time, and how near the best the answer is. */
static void add_time(hinting *h) {
    enum { TIMES = 6 };
    const popliner_plan *own = &h->c->plan;
    const popliner_plan_value *first = own->num_values > 0 ? &own->values[0] : NULL;
    if (h->solver.time_limit_seconds <= 0)
        return;
    add(h, "Try", NULL,
        keep(h, pl_text_of("%s %gs", h->c->input.option_names.time_limit_seconds,
                           (double)TIMES * h->solver.time_limit_seconds)),
        first == NULL || first->objective != POPLINER_OBJECTIVE_MEMORY
            ? ""
            : keep(h, pl_text_of("best %s bytes; no split has less than %s",
                                 PL_GROUPED(first->value), PL_GROUPED(first->bound))));
}

static void add_all(hinting *h) {
    const popliner_plan *own = &h->c->plan;
    const bool fits = own->status != POPLINER_PLAN_INFEASIBLE;
    if (own->is_stopped) {
        add_time(h);
        return;
    }
    if (h->c->info.lacks_schedule)
        add_schedule(h, fits);
    if (fits) {
        add_fewer(h, own->num_ipus);
        add_no_layers(h);
        add_recompute_for_fewer(h);
        add_cycles(h);
        add_need(h);
        add_output(h);
        return;
    }
    add_more(h, &own->infeasibility);
    add_limit(h, SIZE_MAX, own->infeasibility.enough_bytes);
    add_limits(h);
    if (own->infeasibility.obstacle != POPLINER_OBSTACLE_CONSTRAINTS)
        add_recompute(h);
    add_remedies(h, &own->infeasibility);
    if (own->num_stages > 0)
        add_page(h);
}

/* Hints for a split that was given: the best one with as many stages; of costs also the memory
 * that is enough. */
static void add_for_evaluation(hinting *h) {
    const popliner_plan *plan = &h->c->plan;
    trial t = begin(h);
    const bool is_of_memory =
        plan->num_values == 0 || plan->values[0].objective == POPLINER_OBJECTIVE_MEMORY;
    const bool may_solve = h->solver.num_mapped_stages == 0 && plan->num_stages > 1 &&
                           h->request.num_stage_recomputes == 0;
    if (h->c->info.lacks_schedule)
        add(h, "Try", NULL, option_of(h, "schedule popart"), COUNT_KEPT);
    if (h->analysis == NULL) {
        add_limit(h, SIZE_MAX, plan->infeasibility.enough_bytes);
        add_limits(h);
        if (plan->status == POPLINER_PLAN_INFEASIBLE)
            add_recompute(h);
    }
    t.solver.num_ipus = plan->num_stages;
    t.solver.cut_rules = NULL;
    if (h->costs != NULL) /* as a search for it has it */
        t.solver.min_units = has_layers(h);
    if (may_solve && solve(&t) && !(is_of_memory && t.bytes == plan->peak_bytes))
        add(h, "Try", &t,
            keep(h,
                 pl_text_of("%s%s", option_of(h, "solve "), num_ipus_option(h, plan->num_stages))),
            is_of_memory ? keep(h, pl_text_of("the best split: %s bytes", PL_GROUPED(t.bytes)))
                         : "the best split");
    if (plan->status == POPLINER_PLAN_INFEASIBLE)
        add_page(h);
}

popliner_status pl_hints_find(pl_certificate *c, popliner_analysis *analysis, bool has_variables,
                              const popliner_request *request, const popliner_costs *costs,
                              popliner_costs_reader read, void *user, popliner_error *error) {
    hinting h = {.c = c,
                 .analysis = analysis,
                 .has_variables = has_variables,
                 .costs = costs,
                 .read = read,
                 .user = user,
                 .error = error};
    popliner_listener listener;
    h.request = (popliner_request)POPLINER_REQUEST_INIT;
    PL_TRY(pl_struct_take(&h.request, sizeof h.request, request, "popliner_request", error));
    PL_TRY(pl_solver_options_take(h.request.solver, NULL, &h.solver, &listener, error));
    if (h.solver.mem_per_tile == POPLINER_TARGET_BYTES)
        h.solver.mem_per_tile = c->input.options->mem_per_tile;
    c->info.num_hints = 0;
    c->info.hints = h.hints = pl_arrays_new(&c->arrays, MOST_HINTS, sizeof *h.hints);
    if (h.hints != NULL)
        (c->is_evaluation ? add_for_evaluation : add_all)(&h);
    return c->arrays.failed && h.status == POPLINER_OK ? pl_fail_memory(error, "what would help")
                                                       : h.status;
}
