/* Relations between options, and what was given of those that they name.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "command/option_table.h"

#include <stdio.h>
#include <string.h>

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

static bool is_name(const char *known, const char *name, size_t size) {
    return strlen(known) == size && memcmp(known, name, size) == 0;
}

const char *option_name_wanted(const wanted_output *w, char text[SAID_BYTES]) {
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
        if ((!what->takes_costs && is_name("output:profile", name, size)) ||
            (!what->takes_reports && is_name("output:report", name, size)) ||
            (is_of_split && is_name("output:split", name, size)) ||
            (is_plan && is_name("output:framework", name, size)) ||
            (what->kind == OUTPUT_ORIGINAL && w->path == NULL &&
             is_name("output:original", name, size)))
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
        if (is_name(facts[i].name, name, size))
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

bool option_find_given(const options *o, const char *list, char said[SAID_BYTES]) {
    for (const char *name = list; *name != '\0'; name += strspn(name, " ")) {
        const size_t size = strcspn(name, " ");
        const size_t length = strcspn(name, "= ");
        const fact own = find_fact(o, name, size);
        if (strncmp(name, "output:", 7) == 0) {
            const wanted_output *w = find_output(o, name, size);
            if (w != NULL)
                return option_name_wanted(w, said) != NULL;
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

popliner_status options_check_relations(const options *o, popliner_error *error) {
    char first[SAID_BYTES];
    char second[SAID_BYTES];
    for (size_t i = 0; i < num_option_relations; i++) {
        const option_relation *r = &option_relations[i];
        if (!option_find_given(o, r->subject, first))
            continue;
        const bool is_other = option_find_given(o, r->others, second);
        if (r->how == NEEDS && !is_other)
            return fail_needs(first, r, error);
        if (r->how == NOT && is_other)
            return fail_usage(error, "%s: not with %s, %s", second, first, r->reason);
    }
    return POPLINER_OK;
}
