/* A diagnosis for people: whether it may be trusted, and what is missing.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "answer/certificate_data.h"
#include "base/growth.h"
#include "base/numbers.h"
#include "base/text.h"
#include "diagnosis/diagnosis.h"
#include "memory/chain_data.h"
#include "popliner/screen.h"
#include "profile/profile_data.h"

/* ---- the verdict ---- */

static void write_verdict(const pl_diagnosis *d, double allowed_percent, pl_layout *layout) {
    const double percent = d->told.truth_bytes == 0 ? 100
                                                    : 100 * (double)d->told.explained_bytes /
                                                          (double)d->told.truth_bytes;
    const size_t num_breaches = pl_profile_num_breaches(d->profile);
    const bool is_off = percent < 100 - allowed_percent || percent > 100 + allowed_percent;
    const bool contradicts = d->told.tiles_off > 0 && d->told.tiles_off != SIZE_MAX;
    const bool is_trusted = !is_off && !contradicts && num_breaches == 0;
    pl_text rest = pl_text_of("%.2f %% of the fullest tile is explained", percent);
    if (is_off)
        pl_text_format(&rest, ", not within %g %%", allowed_percent);
    if (contradicts)
        pl_text_format(&rest, ", the diagnosis does not add up on %zu tiles", d->told.tiles_off);
    if (num_breaches > 0)
        pl_text_format(&rest, ", but the profile is inconsistent in %zu %s", num_breaches,
                       num_breaches == 1 ? "relation" : "relations");
    pl_text_add(&rest, num_breaches > 0 ? "." : ", and the profile is consistent.");
    pl_layout_sentence(layout, is_trusted ? PL_TINT_GREEN : PL_TINT_YELLOW,
                       pl_text_of("To be trusted%s:", is_trusted ? "" : " with care"), rest);
}

/* ---- the fullest tile ---- */

static void write_fullest(const pl_diagnosis *d, pl_layout *layout) {
    const uint64_t explained = d->told.explained_bytes;
    const uint64_t truth = d->told.truth_bytes;
    pl_layout_entry(
        layout, "Fullest", "", 0,
        pl_text_of("tile %zu at step %zu: compiler %s, explained %s, %s %s bytes", d->told.tile,
                   d->told.step, PL_GROUPED(truth), PL_GROUPED(explained),
                   explained <= truth ? "missing" : "too much by",
                   PL_GROUPED(explained <= truth ? truth - explained : explained - truth)));
}

/* ---- what is missing there ---- */

/* The missing bytes of a category. */
typedef struct missing {
    const char *category;
    uint64_t bytes;
    size_t num_programs;
    bool has_reason[PL_NUM_MISSING_REASONS];
} missing;

static int compare_missing(const void *left, const void *right) {
    const missing *a = left;
    const missing *b = right;
    return a->bytes != b->bytes ? (a->bytes < b->bytes) - (a->bytes > b->bytes)
                                : strcmp(a->category, b->category);
}

/* Adds up the list by category: [*count], the largest first. */
static missing *by_category(pl_arrays *arrays, const pl_missing_variables *list, size_t *count) {
    missing *all = pl_arrays_new(arrays, list->count, sizeof *all);
    *count = 0;
    for (size_t i = 0; all != NULL && i < list->count; i++) {
        const pl_missing_variable *v = &list->items[i];
        size_t k = 0;
        while (k < *count && strcmp(all[k].category, v->category) != 0)
            k++;
        *count += k == *count;
        all[k].category = v->category;
        all[k].bytes += v->size_bytes;
        all[k].num_programs += v->num_programs;
        for (size_t r = 0; r < v->num_reasons; r++)
            all[k].has_reason[v->reasons[r]] = true;
    }
    if (*count > 0)
        qsort(all, *count, sizeof *all, compare_missing);
    return all;
}

/* "134 programs in no operation; the compiler's own" */
static pl_text reasons_text(const missing *m) {
    static const char *const words[] = {
        [PL_MISSING_NO_DEBUG_ID] = "without a debug id",
        [PL_MISSING_UNKNOWN_CONTEXT] = "of an unknown context",
        [PL_MISSING_NO_OPERATION] = "in no operation",
        [PL_MISSING_NO_LAYER] = "in no layer",
        [PL_MISSING_UNTOUCHED] = "touched by no program",
        [PL_MISSING_COMPILER] = "the compiler's own",
    };
    pl_text text = {0};
    const char *between = "";
    if (m->num_programs > 0)
        pl_text_format(&text, "%zu %s ", m->num_programs,
                       m->num_programs == 1 ? "program" : "programs");
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (m->has_reason[i]) {
            pl_text_format(&text, "%s%s",
                           *between != '\0' && i == PL_MISSING_COMPILER ? "; " : between, words[i]);
            between = " ";
        }
    return text;
}

/* Adds "Missing       888  stack    the compiler's own", with all reasons; the last line is of all
 * other categories. */
static void write_missing(const pl_diagnosis *d, pl_layout *layout) {
    enum { MOST_ROWS = 5 };
    size_t count = 0;
    size_t size_width = 0;
    size_t name_width = 0;
    pl_arrays own = {0};
    pl_text names[MOST_ROWS] = {{0}};
    missing *all = by_category(&own, &d->missing_here, &count);
    const size_t shown = pl_fewer(count, MOST_ROWS);
    for (size_t i = shown; i < count; i++)
        all[shown - 1].bytes += all[i].bytes;
    for (size_t i = 0; i < shown; i++) {
        if (i + 1 < shown || count == shown) {
            pl_text_add_words(&names[i], all[i].category);
        } else {
            pl_text_format(&names[i], "%zu other categories", count - i);
            all[i] = (missing){.bytes = all[i].bytes};
        }
        size_width = pl_more(size_width, strlen(PL_GROUPED(all[i].bytes)));
        name_width = pl_more(name_width, names[i].length);
    }
    for (size_t i = 0; i < shown; i++) {
        pl_text subject = pl_text_of("%*s  %s", (int)size_width, PL_GROUPED(all[i].bytes),
                                     pl_text_string(&names[i]));
        own.failed = own.failed || names[i].failed || subject.failed;
        pl_layout_entry(layout, i == 0 ? "Missing" : "", pl_text_string(&subject),
                        size_width + 2 + name_width, reasons_text(&all[i]));
        free(names[i].data);
        free(subject.data);
    }
    layout->text.failed = layout->text.failed || own.failed;
    pl_arrays_free(&own);
}

/* ---- layers and checks ---- */

static void write_layers(const pl_diagnosis *d, pl_layout *layout) {
    static const char *const words[] = {
        [POPLINER_LAYER_RULE_NAME] = "by name",
        [POPLINER_LAYER_RULE_INPUTS] = "by inputs",
        [POPLINER_LAYER_RULE_VARIABLES] = "by variables",
        [POPLINER_LAYER_RULE_FOLLOWING] = "by what follows",
        [POPLINER_LAYER_RULE_FIRST_LAYER] = "by embeddings",
        [POPLINER_LAYER_RULE_TENSOR] = NULL,
        [POPLINER_LAYER_RULE_NONE] = NULL,
    };
    enum { NUM_RULES = sizeof words / sizeof *words };
    size_t counts[NUM_RULES] = {0};
    size_t num_none = 0;
    pl_text text = {0};
    for (size_t i = 0; i < d->num_coverage; i++)
        if (words[d->coverage[i].rule] != NULL)
            counts[d->coverage[i].rule] += d->coverage[i].num_operations;
        else
            num_none += d->coverage[i].num_operations;
    const double all = d->told.num_operations == 0 ? 1 : (double)d->told.num_operations;
    pl_text_format(&text, "%s operations:", PL_GROUPED(d->told.num_operations));
    for (;;) { /* the most common rule first */
        size_t most = 0;
        for (size_t i = 1; i < NUM_RULES; i++)
            most = counts[i] > counts[most] ? i : most;
        if (counts[most] == 0)
            break;
        pl_text_format(&text, " %.1f %% %s,", 100 * (double)counts[most] / all, words[most]);
        counts[most] = 0;
    }
    pl_text_format(&text, " %.1f %% in none", 100 * (double)num_none / all);
    pl_layout_entry(layout, "Layers", "", 0, text);
}

static void write_checks(const pl_diagnosis *d, pl_layout *layout) {
    size_t num_relations = 0;
    uint64_t num_places = 0;
    uint64_t num_breached = 0;
    for (size_t i = 0; i < PL_NUM_RELATIONS; i++) {
        const pl_check check = pl_profile_check_of(d->profile, i);
        num_relations += check.checked > 0;
        num_places += check.checked;
        num_breached += check.breached;
    }
    pl_layout_entry(layout, "Checks", "", 0,
                    pl_text_of("%zu relations at %s places, %s breached", num_relations,
                               PL_GROUPED(num_places), PL_GROUPED(num_breached)));
}

static void write_suggestion(const pl_diagnosis *d, pl_layout *layout) {
    if (*d->told.suggested_regex == '\0')
        return;
    pl_text option =
        pl_text_of("%s '%s'", d->option_names.layer_name_regex, d->told.suggested_regex);
    layout->text.failed = layout->text.failed || option.failed;
    pl_layout_entry(layout, "Try", pl_text_string(&option),
                    pl_layout_width_of(pl_text_string(&option)),
                    pl_text_of("would find %zu layers, as in %s", d->told.suggested_layers,
                               d->told.suggestion_example));
    free(option.data);
}

popliner_status popliner_screen_diagnosis(const popliner_diagnosis *callers, double allowed_percent,
                                          const char *more, const popliner_plot_options *screen,
                                          char **text, popliner_error *error) {
    const pl_diagnosis *diagnosis = (const pl_diagnosis *)callers;
    pl_layout layout;
    pl_layout_begin(&layout, screen);
    write_verdict(diagnosis, allowed_percent, &layout);
    pl_text_add(&layout.text, "\n");
    write_fullest(diagnosis, &layout);
    write_missing(diagnosis, &layout);
    write_layers(diagnosis, &layout);
    write_checks(diagnosis, &layout);
    write_suggestion(diagnosis, &layout);
    if (*more != '\0')
        pl_layout_entry(&layout, "More", "", 0, pl_text_of("%s", more));
    return pl_text_finish(&layout.text, POPLINER_OK, text, error);
}
