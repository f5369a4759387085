/* What does not go together, and what nothing that is done uses.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "command/option_table.h"
#include "popliner/utilities.h"

#include <string.h>

#include "command/values.h"

/* ---- what was given ---- */

/* The first option that was given of those that are excluded so; NULL if none was. */
static const char *first_excluded(const options *o, unsigned excluded) {
    for (size_t i = 0; i < num_options; i++)
        if (o->given.is[i] && (option_table[i].excluded & excluded) != 0)
            return option_table[i].name;
    return NULL;
}

/* The same of the command line alone. What a file says serves many runs, so it may be of no use to
 * some of them. */
static const char *first_own_excluded(const options *o, unsigned excluded) {
    for (size_t i = 0; i < num_options; i++)
        if (o->given.is_own[i] && (option_table[i].excluded & excluded) != 0)
            return option_table[i].name;
    return NULL;
}

/* The place in the table of the option with this member. */
static size_t place_of(size_t offset) {
    size_t place = 0;
    while (option_table[place].kind == NULL || option_table[place].offset != offset)
        place++;
    return place;
}

/* The last value of an option; NULL if it was not given. */
static const char *given_value(const options *o, size_t offset) {
    const repeated *texts = &o->given.texts[place_of(offset)];
    return texts->count == 0 ? NULL : texts->texts[texts->count - 1];
}

#define IS_GIVEN(o, member) ((o)->given.is[place_of(offsetof(options, member))])
#define GIVEN_VALUE(o, member) given_value(o, offsetof(options, member))

/* The name of the action of this bit. */
static const char *action_name(unsigned action) {
    size_t place = 0;
    while (option_table[place].action != action)
        place++;
    return option_table[place].name;
}

/* ---- what goes together ---- */

/* What goes with a file of costs: solving alone. */
static popliner_status check_costs(const options *o, popliner_error *error) {
    if (o->profile != NULL)
        return fail_usage(error, "--costs %s: is solved instead of a profile, but '%s' was given",
                          o->costs, o->profile);
    const unsigned others = o->actions & ~(unsigned)(SOLVE | EMIT);
    const char *other = o->load_from_file ? "load-from-file" : NULL;
    for (size_t i = 0; i < NUM_ACTIONS && other == NULL; i++)
        if ((others >> i & 1) != 0)
            other = action_name(1u << i);
    if (other != NULL)
        return fail_usage(error, "--costs %s: can be solved, and nothing else; leave out --%s%s",
                          o->costs, other, o->solve ? "" : ", and give --solve");
    if (!o->solve)
        return fail_usage(error, "--costs %s: can be solved, and nothing else: give --solve",
                          o->costs);
    if (o->reserve.kind == RESERVE_GAPS)
        return fail_usage(error, "--reserve gaps: costs from a file have no layout");
    if (o->recompute.way == POPLINER_RECOMPUTE_STANDARD)
        return fail_usage(error,
                          "--recompute standard: costs from a file say themselves what is kept; "
                          "leave it out, or give full");
    const char *name = first_own_excluded(o, BESIDE_COSTS);
    if (name != NULL)
        return fail_usage(error, "--%s is for profiles and means nothing for --costs", name);
    return POPLINER_OK;
}

bool options_show_plan(const options *o) {
    return (o->has_section && o->section == POPLINER_SECTION_PLAN) ||
           (o->has_plot && o->plot == POPLINER_PLOT_PLAN);
}

/* The option that needs the one split of --solve or --evaluate; NULL if none does. */
static const char *plan_option(const options *o) {
    for (size_t i = 0; i < o->outputs.count; i++)
        if (o->outputs.items[i].what == POPLINER_SECTION_PLAN)
            return "--output plan";
    if (!options_show_plan(o))
        return NULL;
    return o->has_plot ? "--plot plan" : "--section plan";
}

/* Whether there is what sections, plots and traces show, and nothing else is printed beside the
 * first two. */
static popliner_status check_shown(const options *o, popliner_error *error) {
    const unsigned printing =
        o->actions & ~(unsigned)(SAVE_TO_FILE | SECTION | OUTPUT | TRACE | PLOT | HTML | EMIT);
    const unsigned splitting = printing & (SOLVE | EVALUATE);
    const char *plan = plan_option(o);
    const char *several = first_excluded(o, BESIDE_STAGES);
    const char *shown = o->has_plot ? "plot" : "section";
    if (plan != NULL && splitting != SOLVE && splitting != EVALUATE)
        return fail_usage(error, "%s: give --solve or --evaluate, whose stages it shows%s", plan,
                          splitting != 0 ? ", not both" : "");
    plan = plan == NULL && o->trace != NULL && splitting != 0 ? "--trace" : plan;
    if (plan != NULL && several != NULL)
        return fail_usage(error, "%s: shows the stages of one split; leave out --%s", plan,
                          several);
    if (plan != NULL && splitting == (SOLVE | EVALUATE))
        return fail_usage(
            error, "%s: shows the stages of --solve or of --evaluate; give one of them", plan);
    if (o->has_plot && o->has_section)
        return fail_usage(error,
                          "--plot and --section exclude each other: write the section into a file "
                          "with --output");
    if ((o->has_plot || o->has_section) &&
        (options_show_plan(o) ? printing != splitting : printing != 0))
        return fail_usage(error, "--%s %s: is all that is printed; leave out the rest%s", shown,
                          o->has_plot ? GIVEN_VALUE(o, plot) : GIVEN_VALUE(o, section),
                          o->has_plot ? "" : ", or write the section into a file with --output");
    if (o->has_plot && o->has_format)
        return fail_usage(error, "--plot: has no --format; --section gives its numbers");
    return POPLINER_OK;
}

/* Whether there is one split to write, and at most one format for standard output, alone there. */
static popliner_status check_emit(const options *o, popliner_error *error) {
    const unsigned splitting = o->actions & (SOLVE | EVALUATE);
    const unsigned files = SAVE_TO_FILE | OUTPUT | TRACE | HTML | EMIT;
    const char *several = first_excluded(o, BESIDE_EMIT);
    const char *printed = NULL;
    if (o->emits.count == 0) {
        for (size_t i = 0; i < num_options; i++)
            if (o->given.is_own[i] && option_table[i].uses == EMIT)
                return fail_usage(error, "--%s means something for --emit only",
                                  option_table[i].name);
        return POPLINER_OK;
    }
    const char *name = popliner_name_of(POPLINER_NAMED_EMIT_FORMAT, (size_t)o->emits.items[0].what);
    if (splitting != SOLVE && splitting != EVALUATE)
        return fail_usage(error, "--emit %s: give --solve or --evaluate, whose plan it writes%s",
                          name, splitting != 0 ? ", not both" : "");
    if (several != NULL)
        return fail_usage(error, "--emit %s: writes the plan of one split; leave out --%s", name,
                          several);
    for (size_t i = 0; i < o->emits.count; i++) {
        if (o->emits.items[i].path != NULL)
            continue;
        name = popliner_name_of(POPLINER_NAMED_EMIT_FORMAT, (size_t)o->emits.items[i].what);
        if (printed != NULL)
            return fail_usage(
                error,
                "--emit %s and --emit %s are both for standard output; give one of them a "
                "file, like --emit %s=FILE",
                printed, name, name);
        printed = name;
    }
    if (printed != NULL && (o->actions & ~files) != splitting)
        return fail_usage(
            error,
            "--emit %s: is all that is printed; leave out the rest, or write it into a "
            "file, like --emit %s=FILE",
            printed, printed);
    if (printed != NULL && o->has_format)
        return fail_usage(error,
                          "--emit %s: is printed instead of what has a --format; leave it out, or "
                          "write it into a file, like --emit %s=FILE",
                          printed, printed);
    return POPLINER_OK;
}

/* Whether --compare has one split of each side, or none, and is all that is printed. */
static popliner_status check_compare(const options *o, popliner_error *error) {
    const unsigned others_done =
        o->actions & ~(unsigned)(COMPARE | SOLVE | EVALUATE | SAVE_TO_FILE | OUTPUT | TRACE | HTML);
    const char *other = first_excluded(o, BESIDE_COMPARE);
    if (o->compare == NULL)
        return POPLINER_OK;
    if (others_done != 0)
        return fail_usage(error, "--compare %s: is all that is printed; leave out the rest",
                          o->compare);
    if (o->solve && o->evaluate != NULL)
        return fail_usage(error,
                          "--compare %s: shows the stages of --solve or of --evaluate; give one "
                          "of them",
                          o->compare);
    if (o->max_growth.texts[POPLINER_GROWTH_STAGES] != NULL && !o->solve && o->evaluate == NULL)
        return fail_usage(
            error,
            "--max-growth %s: there are no stages without --solve and --evaluate: give "
            "one of them",
            o->max_growth.texts[POPLINER_GROWTH_STAGES]);
    if (other != NULL)
        return fail_usage(error, "--compare %s: compares one split of each side; leave out --%s",
                          o->compare, other);
    return POPLINER_OK;
}

/* What says nothing beside --pareto. */
static popliner_status check_pareto(const options *o, popliner_error *error) {
    const char *name = first_excluded(o, BESIDE_PARETO);
    if (o->pareto != NULL && name != NULL)
        return fail_usage(error, "--pareto %s: leave out --%s: %s", o->pareto, name,
                          strcmp(name, "objective") == 0 ? "the objectives are those of --pareto"
                          : strcmp(name, "slack") == 0   ? "the best compromises are exact"
                          : strcmp(name, "sweep") == 0
                              ? "each of its values has compromises of its own"
                              : "each compromise has an integer program of its own");
    return POPLINER_OK;
}

/* Whether what is swept was given a value, too. */
static popliner_status check_sweep(const options *o, popliner_error *error) {
    bool is_of_ipus = o->sweep != NULL && strncmp(o->sweep, "num-ipus", 8) == 0;
    bool is_of_memory = o->sweep != NULL && strncmp(o->sweep, "mem-per-tile", 12) == 0;
    if (o->sweep != NULL && (o->write_lp != NULL || o->write_mps != NULL))
        return fail_usage(error, "--sweep: each value has an integer program of its own; leave out "
                                 "--write-lp and --write-mps, or the sweep");
    if (is_of_ipus && options_map_name(o) != NULL)
        return fail_usage(error,
                          "--sweep %s and %s exclude each other: the map says how many "
                          "stages there are",
                          o->sweep, options_map_name(o));
    if ((is_of_ipus && o->num_ipus > 0) || (is_of_memory && o->mem_per_tile_bytes > 0))
        return fail_usage(error, "--sweep %s: leave out --%s, which it goes through", o->sweep,
                          is_of_ipus ? "num-ipus" : "mem-per-tile");
    return POPLINER_OK;
}

const char *options_map_name(const options *o) {
    if (o->total_ipus > 0) /* --interleave: one map for each number of IPUs */
        return NULL;
    return o->device_map != NULL ? "--device-map"
           : o->interleave > 0   ? "--interleave"
           : o->v_shape          ? "--v-shape"
                                 : NULL;
}

/* Whether a device map is given in one way, and what is to be known for it. */
static popliner_status check_map(const options *o, popliner_error *error) {
    enum { V_SHAPED = 2, MOST_STAGES = 65536 };
    const char *name = options_map_name(o);
    if (name == NULL)
        return POPLINER_OK;
    if (o->calibrate != NULL)
        return fail_usage(
            error, "--calibrate %s: compares one stage with each IPU, in order; leave out %s",
            o->calibrate, name);
    bool is_short = o->interleave > 0 || o->v_shape;
    if (o->device_map != NULL && is_short)
        return fail_usage(error,
                          "--device-map %s and %s exclude each other: both say which IPU each "
                          "stage is on",
                          o->device_map, o->interleave > 0 ? "--interleave" : "--v-shape");
    if (o->device_map != NULL && o->num_ipus > 0)
        return fail_usage(error, "--device-map %s says which IPUs there are; leave out --num-ipus",
                          o->device_map);
    if (o->v_shape && o->interleave > 0 && o->interleave != V_SHAPED)
        return fail_usage(error,
                          "--v-shape has two stages on each IPU, not %zu as --interleave says",
                          o->interleave);
    if (is_short && o->num_ipus == 0 && (o->actions & (SOLVE | EVALUATE)) != 0)
        return fail_usage(error, "%s: on how many IPUs? Give --num-ipus", name);
    size_t num_rounds = o->interleave > 0 ? o->interleave : V_SHAPED;
    if (o->num_ipus > 0 && is_short && num_rounds > MOST_STAGES / o->num_ipus)
        return fail_usage(error, "%s: %zu stages on each of %zu IPUs are more than %d", name,
                          num_rounds, o->num_ipus, MOST_STAGES);
    return POPLINER_OK;
}

size_t options_chunks(const options *o) {
    return o->interleave > 0 ? o->interleave : 1;
}

bool options_keep_activations(const options *o) {
    return o->copies != NULL || o->schedule == POPLINER_SCHEDULE_POPART ||
           o->schedule == POPLINER_SCHEDULE_TF_GROUPED ||
           o->schedule == POPLINER_SCHEDULE_TF_INTERLEAVED;
}

/* Settles which effects there are, and what does not go with them. */
static popliner_status check_effects(options *o, popliner_error *error) {
    const char *name = first_excluded(o, BESIDE_MODEL);
    if (name != NULL && o->memory_model == MODEL_POPLINER)
        return fail_usage(error, "--%s: PopLiner's memory model knows nothing of it", name);
    /* what is kept free takes the place of what the layout wastes */
    if (!IS_GIVEN(o, effects) && o->reserve.kind != RESERVE_NOTHING)
        o->effects &= ~(unsigned)POPLINER_EFFECT_LAYOUT;
    return POPLINER_OK;
}

static popliner_status check_replicas(const options *o, popliner_error *error) {
    const char *name = first_excluded(o, WITHOUT_REPLICAS);
    if (o->total_ipus == 0)
        return name == NULL
                   ? POPLINER_OK
                   : fail_usage(error, "--%s means something with --total-ipus only", name);
    name = first_excluded(o, BESIDE_REPLICAS);
    if (name != NULL)
        return fail_usage(error, "--total-ipus and --%s exclude each other", name);
    if (o->solver == SOLVER_GREEDY)
        return fail_usage(error, "--solver greedy knows nothing of --total-ipus");
    if (o->interleave > 1 && o->solver == SOLVER_DP)
        return fail_usage(error,
                          "--solver dp: stages that share an IPU, as --interleave has them, are "
                          "beyond a dynamic program; auto and ilp solve for them");
    if ((o->micro_batches > 0) == (o->batch > 0))
        return fail_usage(
            error,
            "--total-ipus %zu: give --micro-batches, of each pipeline, or --batch, of all "
            "of them",
            o->total_ipus);
    if (o->micro_batch_size > 0 && o->batch == 0)
        return fail_usage(error, "--micro-batch-size %zu: means something with --batch only",
                          o->micro_batch_size);
    return POPLINER_OK;
}

static popliner_status check_recompute(const options *o, popliner_error *error) {
    bool is_auto = o->recompute.way == POPLINER_RECOMPUTE_AUTO;
    const char *value = GIVEN_VALUE(o, recompute);
    const char *other = is_auto ? first_excluded(o, BESIDE_AUTO) : NULL;
    if (o->html != NULL && (is_auto || o->recompute.each != NULL))
        return fail_usage(error,
                          "--html %s: all stages of a page recompute alike; give --recompute one "
                          "way",
                          o->html);
    if (other != NULL)
        return fail_usage(
            error,
            "--recompute auto and --%s exclude each other; leave out one of them, or say "
            "one way, like --recompute full",
            other);
    if (is_auto && o->evaluate != NULL)
        return fail_usage(error,
                          "--recompute auto: is what --solve chooses; for --evaluate give one "
                          "way, or one for each stage, like full,none");
    if (o->recompute.ways != 0 && o->costs != NULL)
        return fail_usage(error,
                          "--recompute %s: what to choose from is for profiles, a file of costs "
                          "says it itself; give auto",
                          value);
    if (!is_auto && o->recompute.each != NULL && (o->solve || o->calibrate != NULL))
        return fail_usage(
            error, "--recompute %s: one for each stage is for --evaluate alone; give %s one way%s",
            value, o->solve ? "--solve" : "--calibrate",
            o->solve ? ", or auto to have it chosen" : "");
    bool has_meaning = options_keep_activations(o) || (is_auto && o->costs != NULL) ||
                       (o->recompute.way == POPLINER_RECOMPUTE_NONE && o->recompute.each == NULL);
    return has_meaning
               ? POPLINER_OK
               : fail_usage(error,
                            "--recompute %s means something for --schedule training (popart), "
                            "tf-grouped and tf-interleaved, and with --copies, only",
                            value);
}

static popliner_status check_solving(const options *o, popliner_error *error) {
    const char *name = first_excluded(o, BESIDE_GREEDY);
    if (name != NULL && o->solver == SOLVER_GREEDY)
        return fail_usage(error, "--solver greedy knows nothing of --%s", name);
    popliner_status status = check_recompute(o, error);
    if (status != POPLINER_OK)
        return status;
    if (o->copies != NULL && o->schedule == POPLINER_SCHEDULE_INFERENCE)
        return fail_usage(error,
                          "--copies %s: --schedule inference keeps nothing; leave out one of them",
                          o->copies);
    if (o->html != NULL && o->calibrate != NULL)
        return fail_usage(error,
                          "--html %s: a page does not compare with a compiled pipeline; leave out "
                          "--calibrate",
                          o->html);
    if (o->copies != NULL && o->calibrate != NULL)
        return fail_usage(error,
                          "--calibrate %s: knows the copies of --schedule; leave out --copies",
                          o->calibrate);
    if (o->micro_batches > 0 && o->copies == NULL && o->total_ipus == 0)
        return fail_usage(error,
                          "--micro-batches means something with --copies or --total-ipus only");
    status = check_replicas(o, error);
    if (status != POPLINER_OK)
        return status;
    status = check_pareto(o, error);
    if (status == POPLINER_OK)
        status = check_sweep(o, error);
    return status == POPLINER_OK ? check_map(o, error) : status;
}

/* "--solve", "--solve and --evaluate": these actions, in the order of the names. */
static void list_actions(unsigned actions, char *text, size_t size) {
    size_t length = 0;
    *text = '\0';
    for (size_t i = 0; i < NUM_ACTIONS; i++) {
        unsigned left = actions >> i;
        if ((left & 1) != 0 && length < size)
            length += (size_t)snprintf(text + length, size - length, "%s--%s",
                                       length == 0 ? ""
                                       : left > 1  ? ", "
                                                   : " and ",
                                       action_name(1u << i));
    }
}

/* Whether what was given is used by something that is done. */
static popliner_status check_uses(options *o, popliner_error *error) {
    const unsigned done = o->actions;
    char of[200];
    char others[200];
    for (size_t i = 0; i < num_options; i++) {
        const option *own = &option_table[i];
        const unsigned uses = own->uses & ALL_ACTIONS;
        if (uses == 0 || !o->given.is[i] || (uses & done) != 0 ||
            (done != 0 && !o->given.is_own[i]))
            continue;
        list_actions(uses, of, sizeof of);
        list_actions(done, others, sizeof others);
        if ((own->uses & OR_WARNED) == 0 || (done & ~(unsigned)OLD_ACTIONS) != 0 || done == 0)
            return fail_usage(error, "--%s means something for %s only%s%s", own->name, of,
                              done == 0 ? "" : ", not for ", others);
        o->unused[o->num_unused++] = own->name;
    }
    /* as JSON it is the compiler's account alone */
    if (IS_GIVEN(o, memory_model) && done == MEMORY_TOTALS && o->format == POPLINER_FORMAT_JSON)
        return fail_usage(error,
                          "--memory-model means nothing for --memory-totals --format json, which "
                          "is the compiler's own account");
    return POPLINER_OK;
}

bool options_are_together(const options *o) {
    return o->reports.count > 1 ||
           (o->reports.count == 1 && strcmp(o->reports.texts[0], "all") == 0);
}

/* Whether what is asked can be asked of several reports together. */
static popliner_status check_together(const options *o, popliner_error *error) {
    const unsigned done = o->actions & ~(unsigned)(SOLVE | EVALUATE);
    const char *other = first_excluded(o, BESIDE_REPORTS);
    if (o->reports.count > 0 && o->load_from_file)
        return fail_usage(error,
                          "--report %s: a stored analysis is of one report; leave out --report",
                          o->reports.texts[0]);
    for (size_t i = 0; i < o->reports.count; i++)
        for (size_t k = 0; k < o->reports.count; k++)
            if (i != k && (strcmp(o->reports.texts[i], "all") == 0 ||
                           (i < k && strcmp(o->reports.texts[i], o->reports.texts[k]) == 0)))
                return fail_usage(error,
                                  "--report %s: is given beside --report %s; leave out one of them",
                                  o->reports.texts[i], o->reports.texts[k]);
    if (!options_are_together(o))
        return POPLINER_OK;
    for (size_t i = 0; i < NUM_ACTIONS; i++)
        if ((done >> i & 1) != 0)
            return fail_usage(error,
                              "--%s: is of one report: give one --report NAME, or leave it out",
                              action_name(1u << i));
    if (other != NULL)
        return fail_usage(error,
                          "--%s: means nothing for several reports together: give one --report "
                          "NAME, or leave it out",
                          other);
    if (o->solve && o->evaluate != NULL)
        return fail_usage(error,
                          "--report: several reports are solved for or evaluated together; give "
                          "one of --solve and --evaluate");
    if (o->solver == SOLVER_GREEDY)
        return fail_usage(error, "--solver greedy: knows nothing of several reports; leave it out");
    if (o->recompute.way == POPLINER_RECOMPUTE_AUTO || o->recompute.each != NULL)
        return fail_usage(error,
                          "--recompute %s: all stages of several reports recompute alike; give "
                          "one way",
                          o->recompute.each != NULL ? o->recompute.each : "auto");
    return POPLINER_OK;
}

/* Whether all that is printed can be printed in the format that was asked for. */
static popliner_status check_format(const options *o, popliner_error *error) {
    if (!o->has_format || o->has_section || o->compare != NULL || options_are_together(o))
        return POPLINER_OK;
    const char *name = o->format == POPLINER_FORMAT_CSV ? "csv" : "tsv";
    if (o->format != POPLINER_FORMAT_JSON && (o->diagnose || o->evaluate != NULL))
        return fail_usage(error,
                          "--format %s: --%s prints json, or text to read if no format is given",
                          name, o->diagnose ? "diagnose" : "evaluate");
    bool has_tables = o->operation_breakdown || o->layer_breakdown || o->memory_affinity ||
                      o->interlayer_communication;
    int num_documents = o->memory_totals + o->diagnose + (o->evaluate != NULL) + o->solve;
    if (num_documents == 0 && !has_tables && o->outputs.count == 0)
        return fail_usage(error, "--format: --save-to-file prints nothing");
    if (o->format == POPLINER_FORMAT_JSON && has_tables)
        return fail_usage(error, "--format json: the breakdowns, --memory-affinity and "
                                 "--interlayer-communication are tables: choose tsv or csv");
    if (o->format == POPLINER_FORMAT_JSON && num_documents > 1)
        return fail_usage(error, "--format json: give one of --solve, --evaluate, --diagnose and "
                                 "--memory-totals: each is a document of its own");
    return POPLINER_OK;
}

/* Settles what is known of the options by which of them were given. */
static void settle(options *o) {
    for (size_t i = 0; i < num_options; i++)
        o->actions |= o->given.is[i] ? option_table[i].action : 0;
    o->has_section = IS_GIVEN(o, section);
    o->has_plot = IS_GIVEN(o, plot);
    o->has_format = IS_GIVEN(o, format);
    o->schedule_name = GIVEN_VALUE(o, schedule);
}

popliner_status options_check(options *o, popliner_error *error) {
    settle(o);
    if (o->help || o->version)
        return POPLINER_OK;
    if (o->quiet && o->verbose)
        return fail_usage(error, "--quiet and --verbose exclude each other");
    popliner_status status = check_solving(o, error);
    if (status == POPLINER_OK)
        status = check_effects(o, error);
    if (status == POPLINER_OK)
        status = check_emit(o, error);
    if (status != POPLINER_OK)
        return status;
    if (o->costs != NULL) {
        status = check_costs(o, error);
        return status == POPLINER_OK ? check_uses(o, error) : status;
    }
    if (o->profile == NULL)
        return fail_usage(
            error, "no profile given; usage: popliner [options] PROFILE [DEBUG]; see popliner "
                   "--help");
    if (o->load_from_file && o->debug != NULL)
        return fail_usage(error,
                          "--load-from-file: a stored analysis needs no debug information, but "
                          "'%s' was given",
                          o->debug);
    status = check_together(o, error);
    if (status == POPLINER_OK)
        status = check_uses(o, error);
    if (status != POPLINER_OK)
        return status;
    if (o->ipu != ALL_IPUS && (o->solve || o->evaluate != NULL))
        return fail_usage(error, "--ipu %zu: --%s splits the whole model; leave out --ipu", o->ipu,
                          o->solve ? "solve" : "evaluate");
    if (o->actions == 0)
        return fail_usage(error,
                          "nothing to do: give at least one of --solve, --evaluate, --diagnose, "
                          "--layer-breakdown, "
                          "--operation-breakdown, --memory-totals, --memory-affinity, "
                          "--interlayer-communication, --section, --output, --plot, --trace, "
                          "--html, --compare, --save-to-file");
    status = check_shown(o, error);
    if (status == POPLINER_OK)
        status = check_compare(o, error);
    return status == POPLINER_OK ? check_format(o, error) : status;
}
