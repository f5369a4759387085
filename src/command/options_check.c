/* Relations between options: settles what depends on several, and rejects those that exclude each
 * other, or have no effect.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "command/option_table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- outputs ---- */

const wanted_output *options_wanted(const options *o, int own_kind) {
    for (size_t i = 0; i < o->outputs.count; i++)
        if ((int)o->outputs.items[i].what->kind == own_kind)
            return &o->outputs.items[i];
    return NULL;
}

const wanted_output *options_printed(const options *o) {
    for (size_t i = 0; i < o->outputs.count; i++)
        if (o->outputs.items[i].path == NULL && o->outputs.items[i].what->kind != OUTPUT_ORIGINAL)
            return &o->outputs.items[i];
    return NULL;
}

/* The format that the name of a file ends with; -1: none. */
static int format_of_name(const char *path) {
    static const struct {
        const char *end;
        popliner_format format;
    } ends[] = {{".csv", POPLINER_FORMAT_CSV},
                {".tsv", POPLINER_FORMAT_TSV},
                {".json", POPLINER_FORMAT_JSON},
                {".txt", FORMAT_TEXT}};
    for (size_t i = 0; path != NULL && i < sizeof ends / sizeof *ends; i++)
        if (text_ends_with(path, ends[i].end))
            return (int)ends[i].format;
    return -1;
}

popliner_format options_format_of(const options *o, const wanted_output *w) {
    const int format = format_of_name(w->path);
    const bool is_shown = w->path == NULL && w->what->kind != OUTPUT_ORIGINAL;
    /* text is for a screen, and tables in files are for programs */
    const bool is_asked =
        o->has_format && (o->format != FORMAT_TEXT || w->what->kind == OUTPUT_REPORT);
    return format >= 0            ? (popliner_format)format
           : is_shown || is_asked ? o->format
                                  : POPLINER_FORMAT_TSV;
}

bool options_add_output(wanted_list *list, const wanted_output *w) {
    return list_add(&list->items, &list->count, w, sizeof *w);
}

/* ---- what was given ---- */

const char *option_value_given(const options *o, const char *name) {
    const repeated *texts = &o->given[option_find(name, strlen(name)) - option_table];
    return texts->count == 0 ? NULL : texts->texts[texts->count - 1];
}

/* Whether a value of an option is the word, or a list that has it: "5,layers=3" has "layers". */
static bool has_word(const char *value, const char *word, size_t length) {
    for (; value != NULL; value = strchr(value, ','), value += value != NULL)
        if (strncmp(value, word, length) == 0 && strchr(",:=.", value[length]) != NULL)
            return true; /* strchr also finds the end */
    return false;
}

/* ---- what relations name ---- */

/* "--output tiles", "--memory-totals". */
enum { SAID_BYTES = 100 };
static const char *name_wanted(const wanted_output *w, char text[SAID_BYTES]) {
    const bool is_output = strcmp(w->option, "output") == 0;
    snprintf(text, SAID_BYTES, "--%s%s%s", w->option, is_output ? " " : "",
             is_output ? w->what->name : "");
    return text;
}

/* The first output of which "output:NAME" holds; NULL: there is none. */
static const wanted_output *find_output(const options *o, const char *name, size_t size) {
    for (const wanted_output *w = o->outputs.items; w < o->outputs.items + o->outputs.count; w++) {
        const output *what = w->what;
        const bool is_plan = what->kind == OUTPUT_FRAMEWORK;
        const bool is_of_split = /* the one of --solve or --evaluate */
            what->kind == OUTPUT_TRACE
                ? (o->actions & (SOLVE | EVALUATE)) != 0
                : what->kind != OUTPUT_REPORT && !is_plan && (what->implied & SOLVE) != 0;
        if ((!what->takes_costs && name_is("output:profile", name, size)) ||
            (!what->takes_reports && name_is("output:report", name, size)) ||
            (is_of_split && name_is("output:split", name, size)) ||
            (is_plan && name_is("output:framework", name, size)) ||
            (what->kind == OUTPUT_ORIGINAL && w->path == NULL &&
             name_is("output:original", name, size)))
            return w;
    }
    return NULL;
}

/* A fact that is neither an option nor a word of its value. */
typedef struct fact {
    const char *name; /* NULL: none has the name */
    bool holds;
    const char *said; /* how messages call it: this, and its value */
    const char *value;
} fact;

static fact find_fact(const options *o, const char *name, size_t size) {
    const by_ipu *limits = &o->lists[LIST_LIMITS];
    const char *schedule = o->schedule.text;
    const bool is_range = o->num_ipus.range.last > 0 && o->total_ipus == 0; /* else a length */
    const fact facts[] = {
        {"costs", o->costs != NULL, "a file of costs", ""},
        {"fixed-cuts", options_fix_cuts(o), "--evaluate of a file of costs", ""},
        {"stored", o->load_from_file, "a stored analysis", ""},
        {"report=several", options_are_together(o), "several --report", ""},
        {"num-ipus=range", is_range, "a range of --num-ipus", ""},
        {"mem-per-tile=range", limits->range.last > 0, "a range of --mem-per-tile", ""},
        {"mem-per-tile=single", limits->count > 0, "--mem-per-tile I=", ""},
        {"bandwidth=single", o->lists[LIST_LINKS].count > 0, "--bandwidth I-J=", ""},
        {"device-map=list", o->device_map.ipus != NULL, "a list of --device-map", ""},
        {"device-map=shared", o->device_map.is_shared, "--device-map ", o->device_map.text},
        {"recompute=list", o->recompute.each != NULL, "a list of --recompute", ""},
        {"recompute=auto:", o->recompute.ways != 0, "--recompute ", o->recompute.text},
        {"schedule=copies", o->schedule.copies != NULL, "--schedule ", schedule},
        {"schedule=mapped", o->schedule.rule.rule > POPLINER_COPIES_GPIPE, "--schedule ", schedule},
    };
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++)
        if (name_is(facts[i].name, name, size))
            return facts[i];
    return (fact){.name = NULL};
}

/* Whether an option was given, or a value of it that has the word after its '='. */
static bool is_given(const options *o, const char *name, size_t size) {
    const size_t length = strcspn(name, "= ");
    const option *own = option_find(name, length);
    const repeated *texts = &o->given[own - option_table];
    if (texts->count == 0 || length == size)
        return texts->count > 0;
    for (size_t i = own->kind->is_list ? 0 : texts->count - 1; i < texts->count; i++)
        if (has_word(texts->texts[i], name + length + 1, size - length - 1))
            return true;
    return false;
}

/* Finds the first that was given of a list, and writes how messages call it: "--slack",
 * "--recompute auto", "several --report". */
static bool find_given(const options *o, const char *list, char said[SAID_BYTES]) {
    for (const char *name = list; *name != '\0'; name += strspn(name, " ")) {
        const size_t size = strcspn(name, " ");
        const size_t length = strcspn(name, "= ");
        const fact own = find_fact(o, name, size);
        if (strncmp(name, "output:", 7) == 0) {
            const wanted_output *w = find_output(o, name, size);
            if (w != NULL)
                return name_wanted(w, said) != NULL;
        } else if (own.holds) {
            snprintf(said, SAID_BYTES, "%s%s", own.said, own.value);
            return true;
        } else if (own.name == NULL && is_given(o, name, size)) {
            snprintf(said, SAID_BYTES, "--%.*s%s%.*s", (int)length, name, length < size ? " " : "",
                     length < size ? (int)(size - length - 1) : 0, name + length + 1);
            return true;
        }
        name += size;
    }
    return false;
}

bool options_have(const options *o, const char *list) {
    char said[SAID_BYTES];
    return find_given(o, list, said);
}

/* ---- relations ---- */

/* Relations between options. The sentence is made from the row, which only has the reason. */
const option_relation option_relations[] = {
    {"fixed-cuts", NOT, "solve require slack pareto solver output=lp output=mps " RANGES,
     "whose cuts are fixed"},
    {"solve", NOT, "evaluate diagnose", "as a run answers one question"},
    {"evaluate compare", NOT, "diagnose", "as a run answers one question"},
    {"solver=popliner", NOT,
     "output=page objective slack mem-per-tile=single mem-per-tile=range num-ipus=range ipu-speed "
     "bandwidth pareto costs output=lp output=mps require device-map schedule recompute "
     "micro-batches effects total-ipus report=several",
     "which cannot take it into account"},
    {"solver=popliner", NOT, "need", "whose memory model has no bounds"},
    {"memory-model=popliner", NOT, "need", "which has no bounds"},
    {"memory-model=popliner", NOT, "effects compiled bandwidth=replicas",
     "which cannot take it into account"},
    {"pareto", NOT, "objective slack", "which says that itself"},
    {"pareto", NOT, RANGES, "which already solves more than once"},
    {RANGES " pareto total-ipus recompute=auto", NOT, "output=lp output=mps",
     "which already solves more than once"},
    {"objective=step", NOT,
     "slack solver=ilp solver=dp output=lp output=mps device-map=any device-map=replicas",
     "which simulates one split after another"},
    {"num-ipus=range", NOT, "mem-per-tile=range", "which already solves more than once"},
    {"total-ipus", NOT, "slack", "which already solves more than once"},
    {"device-map=list", NOT, "num-ipus", "which is for one number of IPUs"},
    {"device-map=list", NOT, "total-ipus", "which is for one number of IPUs"},
    {"device-map=any", NOT,
     "slack objective=balance " RANGES
     " pareto total-ipus recompute=auto bandwidth output=lp output=mps output=page evaluate "
     "require=place schedule=zero-bubble schedule=zb-h2",
     "which chooses without it"},
    {"device-map=replicas", NOT,
     "objective=balance objective=throughput mem-per-tile=single ipu-speed " RANGES
     " pareto total-ipus batch recompute=auto solver=ilp require=place output=lp output=mps "
     "output=page bandwidth=single schedule=mapped",
     "which chooses without it"},
    {"device-map=shared", NOT, "solver=dp solver=ilp output=lp output=mps",
     "whose stages share IPUs"},
    {RANGES, NEEDS, "solve", NULL},
    {"total-ipus", NEEDS, "micro-batches batch", "of each pipeline, or of all of them"},
    {"batch", NOT, "micro-batches", "which says that itself"},
    {"batch", NEEDS, "total-ipus", NULL},
    {"bandwidth=replicas", NEEDS, "total-ipus device-map=replicas", NULL},
    {"recompute=auto", NOT, "objective=balance pareto=balance", "which chooses without it"},
    {"output=page compiled", NOT, "recompute=auto recompute=list",
     "where all stages recompute alike"},
    {"output=page", NOT, RANGES, "which begins with one split"},
    {"output=page", NOT, "compiled", "which does not compare with a compiled pipeline"},
    {"costs", NOT, "recompute=list", "whose stages recompute alike, or choose with auto"},
    {"solve", NOT, "recompute=list", "as one for each stage is for --evaluate alone"},
    {"compiled", NOT, "device-map", "which compares one stage with each IPU, in order"},
    {"compiled", NOT, "format=tsv format=csv", "which has text and json"},
    {"compiled", NOT, "schedule=copies", "which has those of a schedule, like popart"},
    {"costs", NOT, "reserve=gaps", "which has no layout"},
    {"costs", NOT, "recompute=standard", "which says itself what is kept; give full"},
    {"costs", NOT, "recompute=auto:", "which says what to choose from; give auto"},
    {"costs", NOT,
     "report diagnose compare memory-model effects compiled ipu layers "
     "fail-on=contradiction layer-name-regex inputs-regex-layer-0 layer-order threads",
     "as it is for profiles"},
    {"compare", NOT, SEVERAL " compiled output=lp output=mps output=popliner",
     "which compares one split of each side"},
    {"fail-on=growth", NEEDS, "compare", NULL},
    {"fail-on=unexplained", NEEDS, "diagnose", NULL},
    {"fail-on=growth.stages", NEEDS, "solve evaluate", "whose stages may grow"},
    {"report=several", NOT,
     "output:report bandwidth " RANGES " pareto output=lp output=mps device-map total-ipus "
     "compiled diagnose compare ipu layers fail-on=unexplained recompute=auto "
     "recompute=list",
     "which share one split; give one --report"},
    {"solve evaluate", NOT, "ipu", "which splits the whole model"},
    {"load-from-file", NOT, "report", "as a stored analysis is of one report"},
    {"costs", NOT, "output:profile", "as it is for profiles"},
    {"stored", NOT, "output=trace output=page", "which has no lowered variables; use the profile"},
    {"output:split", NOT, SEVERAL " compiled", "which is of one split"},
    {"output:framework", NOT, "compare " RANGES " pareto compiled", "which is of one split"},
    {"output:framework", NOT, "device-map=replicas", "which has one device for each stage"},
    {"compare", NOT, "output:original", "which is all that is printed"},
    {"output=comparison", NEEDS, "compare", NULL},
    {"evaluate", NOT, "output=lp output=mps", "whose cuts are fixed"},
};

const size_t num_option_relations = sizeof option_relations / sizeof *option_relations;

/* "--batch: needs --total-ipus". */
static popliner_status fail_needs(const char *subject, const option_relation *r,
                                  popliner_error *error) {
    const char *second = strchr(r->others, ' ');
    return fail_usage(error, "%s: needs --%.*s%s%s%s%s", subject, (int)strcspn(r->others, " "),
                      r->others, second == NULL ? "" : " or --", second == NULL ? "" : second + 1,
                      r->reason == NULL ? "" : ", ", r->reason == NULL ? "" : r->reason);
}

static popliner_status check_relations(const options *o, popliner_error *error) {
    char first[SAID_BYTES];
    char second[SAID_BYTES];
    for (size_t i = 0; i < num_option_relations; i++) {
        const option_relation *r = &option_relations[i];
        if (!find_given(o, r->subject, first))
            continue;
        const bool is_other = find_given(o, r->others, second);
        if (r->how == NEEDS && !is_other)
            return fail_needs(first, r, error);
        if (r->how == NOT && is_other)
            return fail_usage(error, "%s: not with %s, %s", second, first, r->reason);
    }
    return POPLINER_OK;
}

/* ---- what goes together ---- */

/* A table of PopLiner 1.0.0 that is printed. */
static const char PRINTED_TABLE[] = "output:original";

bool options_fix_cuts(const options *o) {
    return o->costs != NULL && o->evaluate != NULL;
}

static popliner_status check_format_of(const options *o, const wanted_output *w,
                                       popliner_error *error) {
    static const char *const names[] = {"tsv", "csv", "json", "text", "plot"};
    const int format = (int)options_format_of(o, w);
    if ((w->tile != POPLINER_ALL_TILES || w->has_always_live) && format != FORMAT_PLOT)
        return fail_usage(error, "--%s %s: a tile, and what is always live, need --format plot",
                          w->option, w->value);
    /* tables for people are cut to the screen, so there are none in files */
    const bool is_table = w->what->kind == OUTPUT_SECTION || w->what->kind == OUTPUT_PLAN;
    const unsigned formats =
        w->what->formats & ~(is_table && w->path != NULL ? (unsigned)AS_TEXT : 0u);
    if (w->what->formats == AS_ITSELF ? w->path != NULL || !o->has_format
                                      : (formats >> format & 1) != 0)
        return POPLINER_OK;
    if (w->path == NULL &&
        (!o->has_format || (w->what->kind == OUTPUT_POPLINER && options_have(o, PRINTED_TABLE))))
        return POPLINER_OK; /* JSON, whatever the table has */
    if (w->path != NULL && w->what->formats == AS_JSON && format_of_name(w->path) < 0)
        return POPLINER_OK;
    const char *own = w->what->formats == AS_ITSELF     ? "a format of its own"
                      : w->what->formats == AS_JSON     ? "json alone"
                      : w->what->formats == AS_ORIGINAL ? "tsv and csv"
                      : (formats & AS_TEXT) == 0        ? "tsv, csv and json"
                                                        : "text, tsv, csv and json";
    return format_of_name(w->path) >= 0
               ? fail_usage(error, "--%s %s: %s has %s", w->option, w->value, w->what->name, own)
               : fail_usage(error, "--format %s: not for --output %s, which has %s", names[format],
                            w->what->name, own);
}

/* Rejects what relations do not say of outputs, and more than one that is printed. */
static popliner_status check_outputs(const options *o, popliner_error *error) {
    const wanted_output *printed = options_printed(o);
    char name[SAID_BYTES];
    if (o->costs != NULL && o->total_ipus > 0 && options_wanted(o, OUTPUT_PAGE) != NULL)
        return fail_usage(
            error, "--output page: not with --total-ipus of a file of costs; give --num-ipus");
    for (size_t i = 0; i < o->outputs.count; i++) {
        const wanted_output *w = &o->outputs.items[i];
        if (o->costs != NULL && w->what->kind == OUTPUT_PLAN &&
            (int)options_format_of(o, w) == FORMAT_PLOT)
            return fail_usage(error, "--output plan: has no plot of a file of costs");
        if (w->path == NULL && printed != NULL && w != printed &&
            printed->what->kind != OUTPUT_POPLINER)
            return fail_usage(error, "%s: %s is printed already; give --output %s=FILE",
                              name_wanted(w, name), printed->what->name, w->what->name);
        TRY(check_format_of(o, w, error));
    }
    return o->has_format && (int)o->format == FORMAT_PLOT && printed == NULL
               ? fail_usage(error, "--format plot: of what? Give --output tiles, liveness or plan")
               : POPLINER_OK;
}

/* Whether the order of a file says which IPU each stage has. */
static bool takes_map_of_order(const options *o) {
    return o->schedule.given != NULL && o->device_map.text == NULL && o->total_ipus == 0 &&
           o->num_ipus.range.last == 0;
}

const char *options_map_name(const options *o) {
    /* with --total-ipus there is a map for each number of IPUs */
    return o->total_ipus > 0            ? NULL
           : o->device_map.text != NULL ? "--device-map"
           : takes_map_of_order(o)      ? "--schedule"
                                        : NULL;
}

/* Whether what is to be known for a device map is there. */
static popliner_status check_map(const options *o, popliner_error *error) {
    enum { V_SHAPED = 2, MOST_STAGES = 65536 };
    const asked_map *map = &o->device_map;
    const size_t num_rounds = map->interleaved > 0 ? map->interleaved : V_SHAPED;
    if ((map->is_any || map->is_replicated) && o->costs == NULL)
        return fail_usage(
            error, "--device-map %s: is for files of costs; give the IPU of each stage", map->text);
    if (map->is_replicated || options_map_name(o) == NULL || (map->interleaved == 0 && !map->is_v))
        return POPLINER_OK;
    const size_t num_ipus = options_num_ipus(o);
    if (num_ipus == 0 && (o->actions & (SOLVE | EVALUATE)) != 0)
        return fail_usage(error, "--device-map %s: on how many IPUs? Give --num-ipus", map->text);
    if (num_ipus > 0 && num_rounds > MOST_STAGES / num_ipus)
        return fail_usage(error, "--device-map %s: %zu stages on each of %zu IPUs are more than %d",
                          map->text, num_rounds, num_ipus, MOST_STAGES);
    return POPLINER_OK;
}

size_t options_num_ipus(const options *o) {
    return o->sweep != NULL && o->sweep->of_ipus ? (size_t)o->sweep->last : o->num_ipus.number;
}

const asked_objectives *options_objectives(const options *o) {
    return o->pareto.count > 0 ? &o->pareto : &o->objective;
}

size_t options_chunks(const options *o) {
    return o->device_map.is_v ? 2 : o->device_map.interleaved > 0 ? o->device_map.interleaved : 1;
}

bool options_keep_activations(const options *o) {
    return o->schedule.copies != NULL || o->schedule.order == POPLINER_SCHEDULE_POPART ||
           o->schedule.order == POPLINER_SCHEDULE_TF_GROUPED ||
           o->schedule.order == POPLINER_SCHEDULE_TF_INTERLEAVED;
}

bool options_have_several(const options *o) {
    return o->total_ipus > 0 || o->sweep != NULL || o->pareto.count > 0;
}

bool options_has_reserve(const options *o) {
    const by_ipu *reserves = &o->lists[LIST_RESERVES];
    return reserves->all.cycles != RESERVE_NOTHING || reserves->count > 0;
}

bool options_replace_layout(const options *o) {
    return options_has_reserve(o) &&
           (!options_have(o, "effects") || options_have(o, "effects=all"));
}

/* Checks options of solving that relations do not cover. */
static popliner_status check_solving(const options *o, popliner_error *error) {
    const bool recomputes =
        o->recompute.way != POPLINER_RECOMPUTE_NONE || o->recompute.each != NULL;
    if (recomputes && !options_keep_activations(o) &&
        (o->recompute.way != POPLINER_RECOMPUTE_AUTO || o->costs == NULL))
        return fail_usage(error,
                          "--recompute %s: needs a --schedule that keeps activations, like popart",
                          o->recompute.text);
    const value_range *lengths = &o->num_ipus.range;
    if (o->device_map.is_v && o->total_ipus > 0 && (o->total_ipus == 1 || o->num_ipus.number == 1))
        return fail_usage(error, "--device-map v: needs two devices of each pipeline, or more");
    if (o->total_ipus > 0 && lengths->last > 0 &&
        (lengths->step > 1 || lengths->first > o->total_ipus))
        return fail_usage(error,
                          "--num-ipus %s: with --total-ipus it is the length of a pipeline: begin "
                          "at most at %zu, and leave out steps",
                          option_value_given(o, "num-ipus"), o->total_ipus);
    if (o->recompute.way == POPLINER_RECOMPUTE_AUTO && o->total_ipus > 0 && options_chunks(o) > 1)
        return fail_usage(error,
                          "--recompute auto: not with --total-ipus and --device-map %s, whose step "
                          "is unknown",
                          o->device_map.text);
    return check_map(o, error);
}

void options_list_uses(unsigned actions, char *text, size_t size) {
    static const struct {
        unsigned action;
        const char *name;
    } names[] = {{SOLVE, "--solve"},
                 {SOLVE, "--output plan"},
                 {EVALUATE, "--evaluate"},
                 {DIAGNOSE, "--diagnose"},
                 {COMPARE, "--compare"},
                 {TOTALS, "--memory-totals"},
                 {BREAKDOWNS, "tables of 1.0.0"},
                 {LAYER_PAIRS, "pairs of layers"},
                 {TABLES, "tables"},
                 {PAGE, "--output page"},
                 {PLANS, "plans for frameworks"},
                 {STORE, "--output analysis"}};
    size_t length = 0;
    *text = '\0';
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const bool is_last = i + 1 == sizeof names / sizeof *names || actions < names[i + 1].action;
        if ((actions & names[i].action) != 0 && length < size)
            length += (size_t)snprintf(text + length, size - length, "%s%s",
                                       length == 0 ? ""
                                       : is_last   ? " and "
                                                   : ", ",
                                       names[i].name);
    }
}

bool options_say_unused(const options *o, size_t number, char text[UNUSED_BYTES]) {
    const option *own = &option_table[number];
    const unsigned uses = own->uses & ALL_ACTIONS;
    const bool is_overview = o->actions == 0 && o->sweep == NULL && o->format == FORMAT_TEXT;
    char names[200];
    if (uses == 0 || o->given[number].count == 0 || (uses & o->actions) != 0 ||
        (is_overview && (own->uses & OR_OVERVIEW) != 0))
        return false;
    options_list_uses(uses, names, sizeof names);
    snprintf(text, UNUSED_BYTES, "--%s: does nothing here; it is for %s", own->name, names);
    return true;
}

bool options_are_together(const options *o) {
    return o->reports.count > 1 ||
           (o->reports.count == 1 && strcmp(o->reports.texts[0], "all") == 0);
}

static popliner_status check_together(const options *o, popliner_error *error) {
    for (size_t i = 0; i < o->reports.count; i++)
        for (size_t k = 0; k < o->reports.count; k++)
            if (i != k && (strcmp(o->reports.texts[i], "all") == 0 ||
                           (i < k && strcmp(o->reports.texts[i], o->reports.texts[k]) == 0)))
                return fail_usage(
                    error, "--report %s: is given together with --report %s; leave out one of them",
                    o->reports.texts[i], o->reports.texts[k]);
    return options_are_together(o) && !o->solve && o->evaluate == NULL
               ? fail_usage(error,
                            "--report: several reports are solved for or evaluated together; "
                            "give --solve or --evaluate")
               : POPLINER_OK;
}

/* Two names are a profile and its debug information. */
static popliner_status recognise_input(options *o, popliner_error *error) {
    const bool is_known = o->profile == NULL || o->load_from_file;
    const input_kind found = is_known ? INPUT_PROFILE : input_kind_of(o->profile);
    if (found == INPUT_STORED && o->debug != NULL)
        return fail_usage(error,
                          "%s: is a stored analysis, which has no second file; leave out %s, or to "
                          "compare, write --compare %s",
                          o->profile, o->debug, o->debug);
    if (found == INPUT_STORED && o->reports.count == 0)
        o->load_from_file = true;
    if (found == INPUT_COSTS && o->debug != NULL && !text_ends_with(o->debug, ".cbor") &&
        input_kind_of(o->debug) == INPUT_COSTS)
        return fail_usage(
            error, "%s: is not a profile, and a file of costs has no second file; leave out %s",
            o->profile, o->debug);
    if (found == INPUT_COSTS && o->debug == NULL) {
        o->costs = o->profile;
        o->profile = NULL;
    }
    return POPLINER_OK;
}

/* The options of PopLiner 1.0.0, and --output popliner, ask for its output: its log, and the stages
 * of --solve as it prints them. */
static popliner_status settle_original(options *o, popliner_error *error) {
    static const char name[] = "popliner";
    const bool is_table = options_have(o, PRINTED_TABLE);
    const bool adds_stages =
        (is_table || options_have(o, "save-to-file load-from-file")) && o->solve &&
        options_printed(o) == NULL && o->compare == NULL && o->evaluate == NULL &&
        !options_have(o, SEVERAL " compiled") &&
        (!o->has_format || (o->format != POPLINER_FORMAT_JSON && o->format != FORMAT_TEXT));
    if (adds_stages &&
        !options_add_output(&o->outputs,
                            &(wanted_output){output_find(name, strlen(name)), NULL, "output", name,
                                             POPLINER_ALL_TILES, false}))
        return fail_memory(error, "the options");
    const wanted_output *printed = options_printed(o);
    o->is_original = is_table || (printed != NULL && printed->what->kind == OUTPUT_POPLINER);
    return POPLINER_OK;
}

static void settle_order(options *o) {
    const popliner_order *own = o->schedule.given;
    if (!takes_map_of_order(o))
        return;
    o->device_map.is_v = own->is_v;
    o->device_map.interleaved = own->is_v ? 0 : own->num_stages / own->num_ipus;
    o->num_ipus.number = o->num_ipus.number > 0 ? o->num_ipus.number : own->num_ipus;
}

/* Settles what is known of the options by which of them were given. */
static popliner_status settle(options *o, popliner_error *error) {
    TRY(recognise_input(o, error));
    for (size_t i = 0; i < num_options; i++)
        o->actions |= o->given[i].count > 0 ? option_table[i].action : 0;
    for (size_t i = 0; i < o->outputs.count; i++) {
        const output *what = o->outputs.items[i].what;
        o->actions |= what->action;
        if ((o->actions & what->instead) == 0)
            o->actions |= what->implied;
    }
    for (size_t i = 0; o->actions == 0 && o->outputs.count == 0 && i < num_options; i++)
        o->actions |= o->given[i].count > 0 ? option_table[i].implied : 0;
    /* where nothing else is requested, a range of values requests a solve for each of them */
    if ((o->actions & ~(unsigned)SOLVE) == 0 && o->outputs.count == 0 && options_have(o, RANGES)) {
        o->actions |= SOLVE;
        TRY(option_note(option_find("solve", 5), NULL, o, error));
    }
    /* a split of costs is solved for with all its cuts fixed */
    if (options_fix_cuts(o) && (o->actions & SOLVE) == 0)
        o->actions ^= SOLVE | EVALUATE;
    settle_order(o);
    o->solve = (o->actions & SOLVE) != 0;
    o->has_format = options_have(o, "format");
    const bool is_of_pipeline = o->total_ipus > 0; /* whose length the range limits */
    if (is_of_pipeline && o->num_ipus.range.last > 0)
        o->num_ipus.number = (size_t)o->num_ipus.range.last;
    o->sweep = !is_of_pipeline && o->num_ipus.range.last > 0 ? &o->num_ipus.range
               : o->lists[LIST_LIMITS].range.last > 0        ? &o->lists[LIST_LIMITS].range
                                                             : NULL;
    return settle_original(o, error);
}

popliner_status options_check(options *o, popliner_error *error) {
    TRY(settle(o, error));
    if (o->help != NULL || o->version)
        return POPLINER_OK;
    TRY(check_relations(o, error));
    TRY(check_solving(o, error));
    if (options_replace_layout(o))
        o->effects.mask &= ~(unsigned)POPLINER_EFFECT_LAYOUT;
    TRY(check_outputs(o, error));
    if (o->costs != NULL)
        return POPLINER_OK;
    if (o->profile == NULL)
        return fail_usage(error,
                          "no input: give a profile, its directory, a stored analysis or a file of "
                          "costs; see popliner --help");
    if (o->load_from_file && o->debug != NULL)
        return fail_usage(error,
                          "--load-from-file: a stored analysis needs no debug information, but "
                          "'%s' was given",
                          o->debug);
    return check_together(o, error);
}
