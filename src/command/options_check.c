/* Settles what depends on several options, and rejects those without effect.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "command/option_table.h"

#include <stdlib.h>
#include <string.h>

#include "command/run_files.h"

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
    wanted_output *items = realloc(list->items, (list->count + 1) * sizeof *items);
    if (items == NULL)
        return false;
    items[list->count++] = *w;
    list->items = items;
    return true;
}

/* ---- what goes together ---- */

bool options_fix_cuts(const options *o) {
    return o->costs != NULL && o->evaluate != NULL;
}

/* Whether tables of PopLiner 1.0.0 are printed. */
static bool prints_table(const options *o) {
    char said[SAID_BYTES];
    return option_find_given(o, "output:original", said);
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
        (!o->has_format || (w->what->kind == OUTPUT_POPLINER && prints_table(o))))
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
                              option_name_wanted(w, name), printed->what->name, w->what->name);
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
    char said[SAID_BYTES];
    return options_has_reserve(o) &&
           (!option_find_given(o, "effects", said) || option_find_given(o, "effects=all", said));
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

/* Whether what was given is used by something that is done, or only to be warned of. */
static popliner_status check_uses(const options *o, popliner_error *error) {
    const bool is_original = o->actions != 0 && (o->actions & ~(unsigned)OLD_ACTIONS) == 0;
    char text[UNUSED_BYTES];
    for (size_t i = 0; i < num_options; i++)
        if (!(is_original && (option_table[i].uses & OR_WARNED) != 0) &&
            options_say_unused(o, i, text))
            return fail_usage(error, "%s", text);
    return POPLINER_OK;
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
    if (!options_are_together(o))
        return POPLINER_OK;
    if (!o->solve && o->evaluate == NULL)
        return fail_usage(error, "--report: several reports are solved for or evaluated together; "
                                 "give --solve or --evaluate");
    return POPLINER_OK;
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
    char said[SAID_BYTES];
    const bool is_table = prints_table(o);
    const bool adds_stages =
        (is_table || option_find_given(o, "save-to-file load-from-file", said)) && o->solve &&
        options_printed(o) == NULL && o->compare == NULL && o->evaluate == NULL &&
        !option_find_given(o, SEVERAL " compiled", said) &&
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
    char said[SAID_BYTES];
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
    if ((o->actions & ~(unsigned)SOLVE) == 0 && o->outputs.count == 0 &&
        option_find_given(o, RANGES, said)) {
        o->actions |= SOLVE;
        TRY(option_note(option_find("solve", 5), NULL, o, error));
    }
    /* a split of costs is solved for with all its cuts fixed */
    if (options_fix_cuts(o) && (o->actions & SOLVE) == 0)
        o->actions ^= SOLVE | EVALUATE;
    settle_order(o);
    o->solve = (o->actions & SOLVE) != 0;
    o->has_format = option_find_given(o, "format", said);
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
    TRY(options_check_relations(o, error));
    TRY(check_solving(o, error));
    if (options_replace_layout(o))
        o->effects.mask &= ~(unsigned)POPLINER_EFFECT_LAYOUT;
    TRY(check_outputs(o, error));
    if (o->costs != NULL)
        return check_uses(o, error);
    if (o->profile == NULL)
        return fail_usage(error,
                          "no input: give a profile, its directory, a stored analysis or a file of "
                          "costs; see popliner --help");
    if (o->load_from_file && o->debug != NULL)
        return fail_usage(error,
                          "--load-from-file: a stored analysis needs no debug information, but "
                          "'%s' was given",
                          o->debug);
    TRY(check_together(o, error));
    return check_uses(o, error);
}
