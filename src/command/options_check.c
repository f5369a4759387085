/* What does not go together, and what nothing that is done uses.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "command/option_table.h"
#include "popliner/utilities.h"

#include <string.h>

#include "command/values.h"

/* ---- what was given ---- */

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

/* Whether a value of an option is the word, or a list that has it: "5,layers=3" has "layers". */
static bool has_word(const char *value, const char *word, size_t length) {
    if (length > 0 && word[length - 1] == ':' && strncmp(value, word, length) == 0)
        return true;
    if (length == strlen("list") && strncmp(word, "list", length) == 0)
        return strchr(value, ',') != NULL && strncmp(value, "auto:", 5) != 0;
    for (; value != NULL; value = strchr(value, ','), value += value != NULL)
        if (strncmp(value, word, length) == 0 && strchr(",:=.", value[length]) != NULL)
            return true; /* strchr finds the end, too */
    return false;
}

/* The same of any value of a list, else of the last one. */
static bool any_has_word(const option *own, const repeated *texts, const char *word,
                         size_t length) {
    for (size_t i = own->kind->is_list ? 0 : texts->count - 1; i < texts->count; i++)
        if (has_word(texts->texts[i], word, length))
            return true;
    return false;
}

/* Finds the first option that was given of a list such as "slack recompute=auto": of some options
 * values with this word count alone; "report=several" is several reports together. Returns its row,
 * NULL if none was given; *word is what is behind its '=', `length` characters, 0 for none. */
static const option *find_given(const options *o, const char *list, bool is_own, const char **word,
                                size_t *length) {
    for (const char *name = list; *name != '\0'; name += strspn(name, " ")) {
        const size_t size = strcspn(name, " ");
        const size_t name_size = strcspn(name, "= ");
        *word = name + name_size + (name_size < size);
        *length = size - (size_t)(*word - name);
        for (size_t i = 0; i < num_options; i++) {
            const option *own = &option_table[i];
            const repeated *texts = &o->given.texts[i];
            if (own->kind == NULL || !o->given.is[i] || (is_own && !o->given.is_own[i]) ||
                strlen(own->name) != name_size || memcmp(own->name, name, name_size) != 0)
                continue;
            if (*length == 0 || (strncmp(*word, "several", *length) == 0
                                     ? options_are_together(o)
                                     : any_has_word(own, texts, *word, *length)))
                return own;
        }
        name += size;
    }
    return NULL;
}

/* The same without regard to the word: the name, NULL if none was given. */
static const char *first_given(const options *o, const char *list) {
    const char *word;
    size_t length;
    const option *found = find_given(o, list, false, &word, &length);
    return found == NULL ? NULL : found->name;
}

/* ---- relations ---- */

/* What goes with what. The sentence is made: only the reason is written. */
static const struct relation {
    const char *subject; /* for find_given */
    /* _OWN: what a file says serves many runs, so it waits */
    enum { NOT, NOT_OWN, NEEDS, NEEDS_OWN } how;
    const char *others; /* for find_given; of NEEDS one is enough */
    const char *reason;
} relations[] = {
    {"solver=popliner", NOT,
     "html objective slack ipu-mem-per-tile ipu-speed link-bandwidth sweep pareto costs write-lp "
     "write-mps require device-map interleave "
     "v-shape schedule recompute copies micro-batches effects accumulators calibration total-ipus "
     "report=several",
     "which cannot take it into account"},
    {"solver=popliner", NOT, "need", "whose memory model has no bounds"},
    {"memory-model=popliner", NOT, "need", "which has no bounds"},
    {"memory-model=popliner", NOT, "effects accumulators compiled calibration replica-bandwidth",
     "which cannot take it into account"},
    {"pareto", NOT, "objective", "which lists the objectives itself"},
    {"pareto", NOT, "slack", "whose compromises are exact"},
    {"pareto", NOT, "sweep", "which has compromises of its own for each value"},
    {"pareto", NOT, "write-lp write-mps", "which has an integer program for each compromise"},
    {"sweep", NOT, "write-lp write-mps", "which has an integer program for each value"},
    {"sweep=num-ipus", NOT, "device-map interleave v-shape",
     "as the map says how many stages there are"},
    {"sweep=num-ipus", NOT, "num-ipus", "which goes through it"},
    {"sweep=mem-per-tile", NOT, "mem-per-tile", "which goes through it"},
    {"device-map", NOT, "interleave v-shape", "as both say which IPU each stage is on"},
    {"device-map", NOT, "num-ipus", "which says what IPUs there are"},
    {"total-ipus", NOT, "slack sweep pareto write-lp write-mps",
     "which compares the splits of several pipelines"},
    {"total-ipus", NOT, "device-map v-shape", "as each pipeline has its own number of IPUs"},
    {"total-ipus", NEEDS, "micro-batches batch", "of each pipeline, or of all of them"},
    {"batch", NOT, "micro-batches", "which says how many there are"},
    {"batch micro-batch-size replica-bandwidth", NEEDS, "total-ipus", NULL},
    {"micro-batch-size", NEEDS, "batch", NULL},
    {"micro-batches", NEEDS, "copies total-ipus", NULL},
    {"recompute=auto", NOT,
     "objective=balance slack ipu-speed link-bandwidth sweep pareto write-lp write-mps total-ipus",
     "which cannot take it into account; say one way, like full"},
    {"evaluate", NOT, "recompute=auto",
     "which takes one way, or one for each stage, like full,none"},
    {"html", NOT, "recompute=auto recompute=list", "where all stages recompute alike"},
    {"html", NOT, "compiled", "which does not compare with a compiled pipeline"},
    {"solve compiled", NOT, "recompute=list", "as one for each stage is for --evaluate alone"},
    {"compiled", NOT, "copies", "which takes the copies of --schedule"},
    {"compiled", NOT, "device-map interleave v-shape",
     "which compares one stage with each IPU, in order"},
    {"schedule=inference", NOT, "copies", "which keeps nothing"},
    {"costs", NOT, "reserve=gaps", "which has no layout"},
    {"costs", NOT, "recompute=standard", "which says itself what is kept; give full"},
    {"costs", NOT, "recompute=auto:", "which says itself what there is to choose from; give auto"},
    {"costs", NOT_OWN,
     "report memory-model effects accumulators need compiled calibration ipu layers "
     "fail-on=contradiction layer-name-regex inputs-regex-layer-0 layer-order "
     "no-notes threads",
     "as it is for profiles"},
    {"fail-on=growth", NEEDS_OWN, "compare", NULL},
    {"fail-on=unexplained", NEEDS_OWN, "diagnose", NULL},
    {"fail-on=growth.stages", NEEDS_OWN, "solve evaluate", "whose stages may grow"},
    {"report=several", NOT,
     "link-bandwidth sweep pareto write-lp write-mps device-map interleave v-shape total-ipus "
     "compiled calibration ipu layers fail-on=unexplained recompute=auto "
     "recompute=list",
     "which have one split together; give one --report"},
    {"solve evaluate", NOT, "ipu", "which splits the whole model"},
    {"load-from-file", NOT, "report", "as a stored analysis is of one report"},
};

/* "--slack", "--recompute auto", "several --report". */
static const char *name_given(const option *own, const char *word, size_t length, char text[100]) {
    const bool is_prefix = length > 0 && word[length - 1] == ':';
    if (strncmp(word, "several", length) == 0 && length > 0)
        snprintf(text, 100, "several --%s", own->name);
    else
        snprintf(text, 100, "--%s%s%.*s", own->name, length > 0 ? " " : "", (int)length - is_prefix,
                 word);
    return text;
}

/* "--batch: needs --total-ipus". */
static popliner_status fail_needs(const char *subject, const struct relation *r,
                                  popliner_error *error) {
    const char *second = strchr(r->others, ' ');
    return fail_usage(error, "%s: needs --%.*s%s%s%s%s", subject, (int)strcspn(r->others, " "),
                      r->others, second == NULL ? "" : " or --", second == NULL ? "" : second + 1,
                      r->reason == NULL ? "" : ", ", r->reason == NULL ? "" : r->reason);
}

static popliner_status check_relations(const options *o, popliner_error *error) {
    char first[100];
    char second[100];
    const char *word;
    size_t length;
    for (size_t i = 0; i < sizeof relations / sizeof *relations; i++) {
        const struct relation *r = &relations[i];
        const option *subject = find_given(o, r->subject, r->how == NEEDS_OWN, &word, &length);
        if (subject == NULL)
            continue;
        name_given(subject, word, length, first);
        const option *other = find_given(o, r->others, r->how == NOT_OWN, &word, &length);
        if (r->how >= NEEDS && other == NULL)
            return fail_needs(first, r, error);
        if (r->how < NEEDS && other != NULL)
            return fail_usage(error, "%s: not with %s, %s", name_given(other, word, length, second),
                              first, r->reason);
    }
    return POPLINER_OK;
}

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
    return POPLINER_OK;
}

bool options_show_plan(const options *o) {
    return (o->has_section && o->section == POPLINER_SECTION_PLAN) ||
           (o->has_plot && o->plot == POPLINER_PLOT_PLAN);
}

/* What has no single split whose stages could be shown. */
#define SEVERAL "sweep pareto total-ipus compiled"

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
    const char *several = first_given(o, SEVERAL);
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
    const char *several = first_given(o, "compare sweep pareto compiled");
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
    const char *other = first_given(o, SEVERAL " write-lp write-mps");
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
    if (other != NULL)
        return fail_usage(error, "--compare %s: compares one split of each side; leave out --%s",
                          o->compare, other);
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
    bool is_short = o->interleave > 0 || o->v_shape;
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

/* Settles which effects there are. */
static void settle_effects(options *o) {
    /* what is kept free takes the place of what the layout wastes */
    if (!IS_GIVEN(o, effects) && o->reserve.kind != RESERVE_NOTHING)
        o->effects &= ~(unsigned)POPLINER_EFFECT_LAYOUT;
}

/* What relations do not say of solving. */
static popliner_status check_solving(const options *o, popliner_error *error) {
    if (o->interleave > 1 && o->total_ipus > 0 && o->solver == SOLVER_DP)
        return fail_usage(error, "--solver dp: not with --interleave, whose stages share IPUs");
    const bool recomputes =
        o->recompute.way != POPLINER_RECOMPUTE_NONE || o->recompute.each != NULL;
    if (recomputes && !options_keep_activations(o) &&
        (o->recompute.way != POPLINER_RECOMPUTE_AUTO || o->costs == NULL))
        return fail_usage(error,
                          "--recompute %s: needs a --schedule that keeps activations, like popart",
                          GIVEN_VALUE(o, recompute));
    return check_map(o, error);
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
            return fail_usage(error, "--%s: not used%s%s; it is for %s", own->name,
                              done == 0 ? "" : " by ", others, of);
        o->unused[o->num_unused++] = own->name;
    }
    /* as JSON it is the compiler's account alone */
    if (IS_GIVEN(o, memory_model) && done == MEMORY_TOTALS && o->format == POPLINER_FORMAT_JSON)
        return fail_usage(error, "--memory-model: not used by --memory-totals --format json, the "
                                 "compiler's own account");
    return POPLINER_OK;
}

bool options_are_together(const options *o) {
    return o->reports.count > 1 ||
           (o->reports.count == 1 && strcmp(o->reports.texts[0], "all") == 0);
}

/* Whether what is asked can be asked of several reports together. */
static popliner_status check_together(const options *o, popliner_error *error) {
    const unsigned done = o->actions & ~(unsigned)(SOLVE | EVALUATE);
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
    if (o->solve && o->evaluate != NULL)
        return fail_usage(error,
                          "--report: several reports are solved for or evaluated together; give "
                          "one of --solve and --evaluate");
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
    popliner_status status = check_relations(o, error);
    if (status == POPLINER_OK)
        status = check_solving(o, error);
    settle_effects(o);
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
