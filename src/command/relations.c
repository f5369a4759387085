/* Relations between options, and what was given of those that they name.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "command/option_table.h"

#include <stdio.h>
#include <string.h>

#include "command/values.h"
#include "popliner/utilities.h"

const char *option_value_given(const options *o, size_t offset) {
    const repeated *texts = &o->given.texts[option_place(offset)];
    return texts->count == 0 ? NULL : texts->texts[texts->count - 1];
}

static bool is_word(const char *word, size_t length, const char *own) {
    return length == strlen(own) && memcmp(word, own, length) == 0;
}

/* Whether stages share an IPU of a device map. */
static bool shares_an_ipu(const char *map) {
    const char *rest = map;
    uint64_t ipu;
    uint64_t other;
    if (strcmp(map, "v") == 0 || strncmp(map, "interleaved:", 12) == 0)
        return strcmp(map, "interleaved:1") != 0;
    while (number_take(rest, POPLINER_MAX_IPU, &ipu, &rest) && *rest++ == ',')
        for (const char *later = rest; number_take(later, POPLINER_MAX_IPU, &other, &later) &&
                                       (other == ipu || *later == ',');
             later++)
            if (other == ipu)
                return true;
    return false;
}

bool option_has_word(const char *value, const char *word, size_t length) {
    if (is_word(word, length, "shared"))
        return shares_an_ipu(value);
    if (length > 0 && word[length - 1] == ':' && strncmp(value, word, length) == 0)
        return true;
    if (is_word(word, length, "list"))
        return (strchr(value, ',') != NULL && strncmp(value, "auto:", 5) != 0) ||
               (*value >= '0' && *value <= '9');
    if (is_word(word, length, "single"))
        return strchr(value, '=') != NULL;
    for (const char *own = value; is_word(word, length, "range") && own != NULL;
         own = strchr(own, ','), own += own != NULL) {
        const char *dots = strstr(own, "..");
        const char *end = own + strcspn(own, ",=");
        if (dots != NULL && dots < end && *end != '=') /* "0..3=600K" is a limit of some IPUs */
            return true;
    }
    for (; value != NULL; value = strchr(value, ','), value += value != NULL)
        if (strncmp(value, word, length) == 0 && strchr(",:=.", value[length]) != NULL)
            return true; /* strchr also finds the end */
    return false;
}

/* Like option_has_word, for any value of a list, else for the last one. */
static bool any_has_word(const option *own, const repeated *texts, const char *word,
                         size_t length) {
    for (size_t i = own->kind->is_list ? 0 : texts->count - 1; i < texts->count; i++)
        if (option_has_word(texts->texts[i], word, length))
            return true;
    return false;
}

/* The words for a file of costs, and for --evaluate of one. */
static const option costs_row = {.name = "costs"};
static const option cuts_row = {.name = "fixed-cuts"};

const option *option_find_given(const options *o, const char *list, const char **word,
                                size_t *length) {
    for (const char *name = list; *name != '\0'; name += strspn(name, " ")) {
        const size_t size = strcspn(name, " ");
        const option *input = o->costs != NULL && is_word(name, size, costs_row.name) ? &costs_row
                              : options_fix_cuts(o) && is_word(name, size, cuts_row.name)
                                  ? &cuts_row
                                  : NULL;
        *length = 0;
        if (input != NULL)
            return input;
        const size_t name_size = strcspn(name, "= ");
        *word = name + name_size + (name_size < size);
        *length = size - (size_t)(*word - name);
        for (size_t i = 0; i < num_options; i++) {
            const option *own = &option_table[i];
            const repeated *texts = &o->given.texts[i];
            if (own->kind == NULL || !o->given.is[i] ||
                (is_word(*word, *length, "range") && o->total_ipus > 0 &&
                 i == option_place(offsetof(options, num_ipus))) || /* it limits a pipeline */
                strlen(own->name) != name_size ||
                memcmp(own->name, name, name_size) != 0)
                continue;
            if (*length == 0 ||
                (is_word(*word, *length, "several") ? options_are_together(o)
                                                    : any_has_word(own, texts, *word, *length)))
                return own;
        }
        name += size;
    }
    return NULL;
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
     "output=page",
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
    {"output=page", NOT, "compiled", "which does not compare with a compiled pipeline"},
    {"costs", NOT, "recompute=list", "whose stages recompute alike, or choose with auto"},
    {"solve", NOT, "recompute=list", "as one for each stage is for --evaluate alone"},
    {"compiled", NOT, "device-map", "which compares one stage with each IPU, in order"},
    {"costs", NOT, "reserve=gaps", "which has no layout"},
    {"costs", NOT, "recompute=standard", "which says itself what is kept; give full"},
    {"costs", NOT, "recompute=auto:", "which says what to choose from; give auto"},
    {"costs", NOT,
     "report diagnose compare memory-model effects compiled ipu layers "
     "fail-on=contradiction layer-name-regex inputs-regex-layer-0 layer-order "
     "no-notes threads",
     "as it is for profiles"},
    {"compare", NOT, RANGES " pareto total-ipus compiled output=lp output=mps",
     "which compares one split of each side"},
    {"fail-on=growth", NEEDS, "compare", NULL},
    {"fail-on=unexplained", NEEDS, "diagnose", NULL},
    {"fail-on=growth.stages", NEEDS, "solve evaluate", "whose stages may grow"},
    {"report=several", NOT,
     "bandwidth " RANGES " pareto output=lp output=mps device-map total-ipus "
     "compiled diagnose compare ipu layers fail-on=unexplained recompute=auto "
     "recompute=list",
     "which share one split; give one --report"},
    {"solve evaluate", NOT, "ipu", "which splits the whole model"},
    {"load-from-file", NOT, "report", "as a stored analysis is of one report"},
};

const size_t num_option_relations = sizeof option_relations / sizeof *option_relations;

const char *option_name_given(const options *o, const option *own, const char *word, size_t length,
                              char text[100]) {
    const bool is_prefix = length > 0 && word[length - 1] == ':';
    if (own == &costs_row || own == &cuts_row)
        snprintf(text, 100, "%sa file of costs", own == &cuts_row ? "--evaluate of " : "");
    else if (is_word(word, length, "several"))
        snprintf(text, 100, "several --%s", own->name);
    else if (is_word(word, length, "range"))
        snprintf(text, 100, "a range of --%s", own->name);
    else if (is_word(word, length, "list"))
        snprintf(text, 100, "a list of --%s", own->name);
    else if (is_prefix || is_word(word, length, "shared"))
        snprintf(text, 100, "--%s %s", own->name, option_value_given(o, own->offset));
    else if (is_word(word, length, "single"))
        snprintf(text, 100, "--%s I=", own->name);
    else
        snprintf(text, 100, "--%s%s%.*s", own->name, length > 0 ? " " : "", (int)length, word);
    return text;
}

/* "--batch: needs --total-ipus". */
static popliner_status fail_needs(const char *subject, const option_relation *r,
                                  popliner_error *error) {
    const char *second = strchr(r->others, ' ');
    return fail_usage(error, "%s: needs --%.*s%s%s%s%s", subject, (int)strcspn(r->others, " "),
                      r->others, second == NULL ? "" : " or --", second == NULL ? "" : second + 1,
                      r->reason == NULL ? "" : ", ", r->reason == NULL ? "" : r->reason);
}

popliner_status options_check_relations(const options *o, popliner_error *error) {
    char first[100];
    char second[100];
    const char *word;
    size_t length;
    for (size_t i = 0; i < num_option_relations; i++) {
        const option_relation *r = &option_relations[i];
        const option *subject = option_find_given(o, r->subject, &word, &length);
        if (subject == NULL)
            continue;
        option_name_given(o, subject, word, length, first);
        const option *other = option_find_given(o, r->others, &word, &length);
        if (r->how == NEEDS && other == NULL)
            return fail_needs(first, r, error);
        if (r->how == NOT && other != NULL)
            return fail_usage(error, "%s: not with %s, %s",
                              option_name_given(o, other, word, length, second), first, r->reason);
    }
    return POPLINER_OK;
}
