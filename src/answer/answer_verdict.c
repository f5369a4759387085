/* The verdict on an answer, and what is proven: the headline of a screen, and the first message.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "answer/certificate_data.h"

#include <stdlib.h>
#include <string.h>

#include "solve/constraint.h"
#include "solve/objective.h"
#include "solve/plan.h"

static bool is_layer(const pl_certificate *c, size_t unit) {
    const uint8_t *counted = c->input.options->counted_units;
    return c->input.chain != NULL && (counted == NULL || counted[unit] != 0);
}

const char *pl_certificate_kind(const pl_certificate *c, size_t unit, size_t other) {
    return !is_layer(c, unit) || !is_layer(c, other) ? "" : unit == other ? "layer " : "layers ";
}

static pl_tint tint_of(popliner_verdict verdict) {
    return verdict == POPLINER_FITS       ? PL_TINT_GREEN
           : verdict == POPLINER_FITS_NOT ? PL_TINT_RED
                                          : PL_TINT_YELLOW;
}

/* Adds what a verdict "fits" supposes; returns its tint. */
static pl_tint add_supposed(const pl_certificate *c, popliner_verdict verdict, pl_text *bold) {
    const bool lacks_schedule = c->info.lacks_schedule && verdict != POPLINER_FITS_NOT;
    const bool is_partial = c->input.not_counted != NULL && verdict != POPLINER_FITS_NOT;
    const bool may_not = !pl_certificate_fits_at_most(c) && verdict != POPLINER_FITS_NOT;
    const bool is_of_expected = c->lacks_most && verdict == POPLINER_FITS;
    pl_text_add(bold, lacks_schedule   ? ", if nothing is kept for the backward passes."
                      : may_not        ? ", but not by what it may need at most."
                      : is_partial     ? ", without what is not counted."
                      : is_of_expected ? ", by what is expected of it."
                                       : ".");
    return (lacks_schedule || may_not || is_partial || is_of_expected) && verdict == POPLINER_FITS
               ? PL_TINT_YELLOW
               : tint_of(verdict);
}

pl_tint pl_verdict_begin(popliner_verdict verdict, pl_text *text) {
    const char *words = pl_verdict_text(verdict);
    pl_text_format(text, "%c%s", words[0] - 'a' + 'A', words + 1);
    return tint_of(verdict);
}

/* True if the request leaves splits out. One layer in each stage is the command's default. */
static bool is_constrained(const pl_certificate *c, pl_text *text) {
    pl_constraints list = {0};
    bool result = false;
    if (pl_constraints_list(c->input.options, c->input.num_units, &list, NULL) != POPLINER_OK)
        text->failed = true;
    for (size_t i = 0; i < list.count; i++)
        result = result || (pl_constraint_may_go(&list.items[i]) &&
                            list.items[i].number >= pl_constraint_of(list.items[i].kind)->least);
    free(list.items);
    return result;
}

/* True if stages of units that are no layers are left out, as they are unless allowed. */
static bool has_layers_everywhere(const pl_certificate *c) {
    const popliner_solver_options *o = c->input.options;
    return o->min_units == 1 && o->counted_units != NULL &&
           memchr(o->counted_units, 0, c->input.num_units) != NULL;
}

static void add_conditions(const pl_certificate *c, pl_text *text) {
    pl_text_add(text, is_constrained(c, text) ? " with these constraints" : "");
    pl_text_add(text, c->input.options->num_mapped_stages > 0 ? " with this device map" : "");
}

/* Which splits a proof is about. */
static void add_splits(const pl_certificate *c, pl_text *text) {
    const popliner_solver_options *o = c->input.options;
    pl_text_add(text, pl_certificate_splits(c));
    add_conditions(c, text);
    if (o->num_mapped_stages == 0)
        pl_text_format(text, " over %s%zu %s", o->num_ipus > c->plan.num_ipus ? "at most " : "",
                       o->num_ipus, pl_certificate_devices(c, o->num_ipus));
}

static void add_stopped(const pl_certificate *c, pl_text *text) {
    const double seconds = c->input.options->time_limit_seconds;
    pl_text_add(text, c->plan.is_stopped ? "stopped" : "the search ended at its share of work");
    if (seconds > 0 && c->plan.is_stopped)
        pl_text_format(text, " after %g s", seconds);
}

/* "Proven: no split that fits uses fewer IPUs (up to 16 considered)." */
static void add_fewest_proof(const pl_certificate *c, pl_text *text) {
    const popliner_solver_options *o = c->input.options;
    pl_text_format(text, "Proven: no %s", pl_certificate_splits(c));
    add_conditions(c, text);
    const bool is_known = !pl_certificate_has_verdicts(c) ||
                          c->verdicts[pl_certificate_tightest(c)] != POPLINER_FITS_UNKNOWN;
    pl_text_format(text, " %s uses fewer %s", is_known ? "that fits" : "whose estimate fits",
                   pl_certificate_devices(c, 2));
    if (o->slack_percent > 0)
        pl_text_format(text, " by more than %g %%", o->slack_percent);
    if (o->num_mapped_stages == 0 && o->num_ipus > c->plan.num_ipus)
        pl_text_format(text, " (up to %zu considered)", o->num_ipus);
    pl_text_add(text, ".");
}

/* "Proven: no split over 4 IPUs has a lower peak." */
static void add_proof(const pl_certificate *c, pl_text *text) {
    const popliner_plan *plan = &c->plan;
    const popliner_plan_value *first = plan->values;
    if (plan->num_values == 0) {
        pl_text_add(text, "Not proven: the greedy solver takes the first split that fits.");
    } else if (pl_plan_value_apart(first) > 0 && c->input.options->slack_percent == 0) {
        pl_text_add(text, "Not proven: ");
        add_stopped(c, text);
        pl_text_format(text, "; at best another split has %.1f %% %s.",
                       100 * (double)pl_plan_value_apart(first) / (double)first->value,
                       first->bound < first->value ? "less" : "more");
    } else if (first->objective == POPLINER_OBJECTIVE_IPUS) {
        add_fewest_proof(c, text);
    } else {
        pl_text_add(text, "Proven: no ");
        add_splits(c, text);
        pl_text_format(text, " has %s", pl_objective_of(first->objective)->better);
        if (c->input.options->slack_percent > 0)
            pl_text_format(text, " by more than %g %%", c->input.options->slack_percent);
        pl_text_add(text, ".");
    }
}

/* Adds the verdict on a split that fits, or is given. */
static pl_tint add_split(const pl_certificate *c, pl_text *bold) {
    const size_t worst = pl_certificate_tightest(c);
    const popliner_plan_stage *stage = &c->plan.stages[worst];
    const popliner_verdict verdict =
        pl_certificate_has_verdicts(c) ? c->verdicts[worst]
        : c->is_evaluation && stage->peak_bytes > pl_certificate_limit(c, stage->ipu)
            ? POPLINER_FITS_NOT
            : POPLINER_FITS;
    pl_verdict_begin(verdict, bold);
    pl_text_format(bold, " on %zu %s", c->plan.num_ipus,
                   pl_certificate_devices(c, c->plan.num_ipus));
    if (verdict == POPLINER_FITS_PERHAPS) {
        const uint64_t *need = c->details[worst].need_bytes;
        pl_text_format(bold, ": %s bytes are expected, at least %s",
                       PL_GROUPED(need[POPLINER_NEED_EXPECTED]),
                       PL_GROUPED(need[POPLINER_NEED_LEAST]));
    }
    return add_supposed(c, verdict, bold);
}

/* Adds how many units there are: a device map of 7 stages may have 6 of them. */
static void add_single_constraint(const pl_certificate *c, pl_text *bold) {
    const uint8_t *counted = c->input.options->counted_units;
    size_t num_layers = 0;
    for (size_t unit = 0; unit < c->input.num_units; unit++)
        num_layers += counted == NULL || counted[unit] != 0;
    pl_text_format(bold, ": a constraint cannot be met (%zu units", c->input.num_units);
    if (num_layers < c->input.num_units)
        pl_text_format(bold, ", %zu of them layers", num_layers);
    pl_text_add(bold, ").");
}

static void add_contradiction(const pl_certificate *c, pl_text *bold) {
    static const char *const numbers[] = {"two", "three", "four", "five", "six"};
    const size_t count = pl_certificate_num_constraints(c);
    pl_text_add(bold,
                c->is_evaluation ? "The costs do not allow this split" : "No split is possible");
    if (count == 1 && !c->is_evaluation)
        add_single_constraint(c, bold);
    else if (count < 2 || c->is_evaluation)
        pl_text_add(bold, ".");
    else if (count - 2 < sizeof numbers / sizeof *numbers)
        pl_text_format(bold, ": %s constraints contradict each other.", numbers[count - 2]);
    else
        pl_text_format(bold, ": %zu constraints contradict each other.", count);
}

/* The verdict on what does not fit by the solver's estimate: that of the stages, if there are any,
 * or else of the unit that is too large. */
static popliner_verdict verdict_of_failure(const pl_certificate *c) {
    const popliner_infeasibility *why = &c->plan.infeasibility;
    popliner_verdict verdict = POPLINER_FITS_NOT;
    if (pl_certificate_has_verdicts(c) && c->plan.num_stages > 0)
        verdict = c->verdicts[pl_certificate_tightest(c)];
    else if (pl_certificate_has_verdicts(c) &&
             (why->obstacle == POPLINER_OBSTACLE_UNIT || why->obstacle == POPLINER_OBSTACLE_PLACE))
        verdict = popliner_verdict_of(&c->unit, why->limit_bytes, NULL);
    return verdict == POPLINER_FITS ? POPLINER_FITS_NOT : verdict;
}

/* Adds that a unit alone is too large: for every IPU, or for those that may hold it. */
static void add_large_unit(const pl_certificate *c, pl_text *bold, pl_text *plain) {
    static const char *const needs[] = {[POPLINER_NEED_EXPECTED] = " bytes",
                                        [POPLINER_NEED_MOST] = " bytes at most",
                                        [POPLINER_NEED_LEAST] = " bytes at least"};
    const popliner_infeasibility *why = &c->plan.infeasibility;
    const bool is_one_limit =
        why->obstacle == POPLINER_OBSTACLE_UNIT && c->input.options->num_ipu_limits == 0;
    if (is_one_limit)
        pl_text_format(bold, " on any number of %s (proven)", pl_certificate_devices(c, 2));
    pl_text_format(bold, ": %s%s alone needs %s%s%s", pl_certificate_kind(c, why->unit, why->unit),
                   c->input.unit_names[why->unit], PL_GROUPED(why->unit_bytes),
                   pl_certificate_has_verdicts(c) ? needs[c->input.need] : " bytes",
                   pl_certificate_per_tile(c, " on a tile"));
    if (is_one_limit)
        pl_text_format(bold, ", the limit is %s.", PL_GROUPED(why->limit_bytes));
    else {
        pl_text_add(bold, ".");
        pl_text_format(plain, "Proven: no %s that may hold it has more than %s.",
                       pl_certificate_devices(c, 1), PL_GROUPED(why->limit_bytes));
    }
    if (why->obstacle == POPLINER_OBSTACLE_PLACE)
        pl_text_format(
            plain,
            " It would fit on %s %zu, but the order of the chain or a constraint forbids "
            "that.",
            pl_certificate_devices(c, 1), why->fitting_ipu);
    if (why->enough_bytes > why->unit_bytes && is_one_limit)
        pl_text_format(plain, "With %s a split of the whole model would fit.",
                       PL_GROUPED(why->enough_bytes));
}

/* Adds the verdict on a split that does not fit. */
static pl_tint add_failure(const pl_certificate *c, pl_text *bold, pl_text *plain) {
    const popliner_infeasibility *why = &c->plan.infeasibility;
    const popliner_verdict verdict = verdict_of_failure(c);
    /* what may fit are these stages; what does not fit are those on any number of IPUs */
    const bool is_of_plan = c->plan.num_ipus > 0 && (c->input.options->num_mapped_stages > 0 ||
                                                     verdict != POPLINER_FITS_NOT);
    const size_t num_ipus = is_of_plan ? c->plan.num_ipus : c->input.options->num_ipus;
    const char *unless =
        verdict == POPLINER_FITS_LIKELY ? ", but not by what it may need at most" : "";
    switch (why->obstacle) {
    case POPLINER_OBSTACLE_UNKNOWN:
        pl_text_add(bold, "No answer: ");
        add_stopped(c, bold);
        pl_text_add(bold, ", before a split that fits was found; none is ruled out.");
        return PL_TINT_YELLOW;
    case POPLINER_OBSTACLE_CONSTRAINTS:
        add_contradiction(c, bold);
        return PL_TINT_RED;
    case POPLINER_OBSTACLE_UNIT:
    case POPLINER_OBSTACLE_PLACE:
        pl_verdict_begin(verdict, bold);
        pl_text_add(bold, unless);
        add_large_unit(c, bold, plain);
        return tint_of(verdict);
    case POPLINER_OBSTACLE_CAPACITY:
    case POPLINER_OBSTACLE_NONE:
        break;
    }
    pl_verdict_begin(verdict, bold);
    pl_text_format(bold, " on %s%zu %s%s.",
                   !is_of_plan && c->plan.num_ipus > 0 && c->plan.num_ipus < num_ipus ? "up to "
                                                                                      : "",
                   num_ipus, pl_certificate_devices(c, num_ipus), unless);
    if (why->obstacle == POPLINER_OBSTACLE_NONE) {
        pl_text_add(plain, "Not proven: the greedy solver does not try every split.");
    } else if (why->enough_bytes > 0 && why->enough_bytes_bound > 0 &&
               c->input.options->num_ipu_limits == 0) {
        const bool is_whole =
            c->input.options->num_ipus == 1 && c->input.options->num_mapped_stages == 0;
        pl_text_add(plain, is_whole ? "Proven: the whole model" : "Proven: every ");
        if (!is_whole)
            add_splits(c, plain);
        pl_text_format(plain, "%s needs %s bytes or more on some %s.",
                       !is_whole && has_layers_everywhere(c) ? " with a layer in each stage" : "",
                       PL_GROUPED(why->enough_bytes_bound),
                       c->input.chain != NULL ? "tile" : "device");
    } else {
        pl_text_add(plain, "Proven: every split is above a limit.");
    }
    return tint_of(verdict);
}

/* Adds the time and the traffic of a measured split: the table has no room for them. */
static void add_work(const pl_certificate *c, pl_text *plain) {
    if (!pl_certificate_has_verdicts(c))
        return;
    if (c->input.has_cycles) {
        pl_text_format(plain, " The slowest %s takes ", pl_certificate_devices(c, 1));
        pl_text_add_short(plain, (double)c->plan.cycles, true, "cycles");
        pl_text_add(plain, c->plan.num_stages > 1 ? ";" : ".");
    }
    if (c->plan.num_stages > 1) {
        pl_text_add(plain, " ");
        pl_text_add_size(plain, (double)c->plan.cut_bytes);
        pl_text_add(plain, " cross the cuts.");
    }
}

/* Adds what the fullest stage of a given split needs. */
static void add_tightest(const pl_certificate *c, pl_text *plain) {
    const size_t worst = pl_certificate_tightest(c);
    const uint64_t limit_bytes = pl_certificate_limit(c, c->plan.stages[worst].ipu);
    const uint64_t bytes = c->plan.stages[worst].peak_bytes;
    pl_text_format(plain, "The %s is stage %zu, with ",
                   limit_bytes < PL_NO_LIMIT ? "tightest" : "largest", worst);
    if (pl_certificate_has_verdicts(c))
        pl_add_need_words(plain, c->input.need, " ");
    if (limit_bytes < PL_NO_LIMIT)
        pl_text_format(plain, "%s of %s bytes.", PL_GROUPED(bytes), PL_GROUPED(limit_bytes));
    else
        pl_text_format(plain, "%s bytes; there is no limit.", PL_GROUPED(bytes));
    add_work(c, plain);
}

static pl_tint add_headline(const pl_certificate *c, pl_text *verdict, pl_text *proof) {
    const bool is_given = c->is_evaluation && c->plan.num_stages > 0;
    if (c->plan.status == POPLINER_PLAN_INFEASIBLE && !is_given)
        return add_failure(c, verdict, proof);
    (is_given ? add_tightest : add_proof)(c, proof);
    return add_split(c, verdict);
}

/* Adds how often the verdict of the tightest stage was right; nothing if no case had it. */
static void add_record(const pl_certificate *c, pl_text *text) {
    static const double far_share = 0.8; /* the random cases were nearer to the limit */
    if (!pl_certificate_has_verdicts(c) || c->plan.num_stages == 0)
        return;
    const size_t worst = pl_certificate_tightest(c);
    const char *record = pl_verdict_of_number((size_t)c->verdicts[worst])->record;
    const uint64_t limit_bytes = pl_certificate_limit(c, c->plan.stages[worst].ipu);
    const uint64_t need_bytes = c->details[worst].need_bytes[POPLINER_NEED_MOST];
    if (record == NULL)
        return;
    pl_text_format(text, "%s random cases near the limit with this verdict did fit", record);
    if ((double)need_bytes < far_share * (double)limit_bytes)
        pl_text_add(text, "; this one is far below it");
}

void pl_certificate_find_headline(pl_certificate *c) {
    pl_text headline = {0};
    pl_text proof = {0};
    pl_text record = {0};
    c->tint = add_headline(c, &headline, &proof);
    add_record(c, &record);
    c->headline = pl_arrays_take(&c->arrays, headline);
    c->proof = pl_arrays_take(&c->arrays, proof);
    const char *words = pl_arrays_take(&c->arrays, record);
    c->record = *words == '\0' ? NULL : words;
}
