/* Compares two analyses: prepares their tables.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/analysis_data.h"
#include "answer/certificate_data.h"
#include "base/failure.h"
#include "base/growth.h"
#include "base/new_file.h"
#include "base/numbers.h"
#include "base/structs.h"
#include "memory/chain_data.h"
#include "tables/changes_data.h"
#include "tables/sections.h"

/* The sections that are compared, and how their rows are matched; the summary has facts. */
enum { SUMMARY, CATEGORIES, LAYERS, PLAN, TILES, NUM_TABLES };
static const struct {
    popliner_section section;
    pl_pairing pairing;
} compared[NUM_TABLES] = {
    [SUMMARY] = {POPLINER_SECTION_SUMMARY, {NULL, NULL, NULL}},
    [CATEGORIES] = {POPLINER_SECTION_CATEGORIES, {"category", NULL, "category"}},
    [LAYERS] = {POPLINER_SECTION_LAYERS, {NULL, "kind", "unit"}},
    [PLAN] = {POPLINER_SECTION_PLAN, {"stage", NULL, "stage"}},
    [TILES] = {POPLINER_SECTION_TILES, {"tile", NULL, "tile"}},
};

/* The tables of both sides. */
typedef struct tables {
    pl_sheet of[NUM_TABLES][PL_NUM_SIDES];
} tables;

/* Stores the sections of both sides; that of plans only if there are certificates. */
static popliner_status keep_all(const popliner_changes_input *input, tables *t,
                                popliner_error *error) {
    const pl_certificate *const certificates[PL_NUM_SIDES] = {
        [PL_BEFORE] = pl_certificate_of(input->before_certificate),
        [PL_NOW] = pl_certificate_of(input->now_certificate)};
    for (size_t i = 0; i < NUM_TABLES; i++)
        for (size_t side = 0; side < PL_NUM_SIDES; side++)
            if (i != PLAN || input->now_certificate != NULL)
                PL_TRY(pl_analysis_keep_section(side == PL_BEFORE ? input->before : input->now,
                                                compared[i].section, input->memory_model,
                                                certificates[side], &t->of[i][side], error));
    return POPLINER_OK;
}

/* ---- Checking the two sides ---- */

static popliner_status check_bounds(const popliner_changes_input *input, popliner_error *error) {
    const double *percents = input->max_percents;
    for (size_t of = 0; of < POPLINER_NUM_GROWTHS; of++)
        if (percents[of] != POPLINER_ANY_GROWTH &&
            (!(percents[of] >= 0) || isinf(percents[of]))) /* also NaN */
            return pl_fail(error, POPLINER_ERROR_USAGE,
                           "a bound of growth: %g %%; expected a percentage, at least 0",
                           percents[of]);
    if (percents[POPLINER_GROWTH_STAGES] >= 0 && input->now_certificate == NULL)
        return pl_fail(error, POPLINER_ERROR_USAGE,
                       "a bound of the growth of stages needs two certificates");
    return POPLINER_OK;
}

static popliner_status check_input(const popliner_changes_input *input, popliner_error *error) {
    const pl_certificate *before = pl_certificate_of(input->before_certificate);
    const pl_certificate *now = pl_certificate_of(input->now_certificate);
    if (input->before == NULL || input->now == NULL)
        return pl_fail(error, POPLINER_ERROR_USAGE, "a comparison needs two analyses");
    if ((before == NULL) != (now == NULL))
        return pl_fail(error, POPLINER_ERROR_USAGE,
                       "a comparison needs a certificate of each analysis, or of none");
    if (pl_analysis_check_certificate(input->before, before, "a comparison", error) !=
            POPLINER_OK ||
        pl_analysis_check_certificate(input->now, now, "a comparison", error) != POPLINER_OK)
        return POPLINER_ERROR_USAGE;
    if (now != NULL && before->input.chain->model != now->input.chain->model)
        return pl_fail(error, POPLINER_ERROR_USAGE,
                       "the certificates have different memory models, %s and %s; use one model",
                       pl_memory_model_name(before->input.chain->model),
                       pl_memory_model_name(now->input.chain->model));
    return POPLINER_OK;
}

/* Rejects devices whose tiles cannot be matched. */
static popliner_status check_devices(const popliner_changes_input *input,
                                     const popliner_profile_info *infos, popliner_error *error) {
    const popliner_profile_info *before = &infos[PL_BEFORE];
    const popliner_profile_info *now = &infos[PL_NOW];
    if (before->ipu != now->ipu)
        return pl_fail(
            error, POPLINER_ERROR_INPUT,
            "%s and %s: cannot be compared: they hold different IPUs; choose the same IPUs of both",
            input->before_name, input->now_name);
    if (before->num_tiles != now->num_tiles || before->tiles_per_ipu != now->tiles_per_ipu)
        return pl_fail(error, POPLINER_ERROR_INPUT,
                       "%s and %s: cannot be compared: the devices have %zu tiles (%zu on an IPU) "
                       "and %zu (%zu); compile both for the same device",
                       input->before_name, input->now_name, before->num_tiles,
                       before->tiles_per_ipu, now->num_tiles, now->tiles_per_ipu);
    return POPLINER_OK;
}

/* Warns of differences that make the numbers less comparable. */
static void tell_devices(const popliner_changes_input *input, const popliner_profile_info *infos,
                         const pl_changes *c) {
    const popliner_listener *listener = &input->now->listener;
    const pl_compared_side *before = &c->sides[PL_BEFORE];
    const pl_compared_side *now = &c->sides[PL_NOW];
    if (before->bytes_per_tile != now->bytes_per_tile)
        pl_tell(listener, POPLINER_LEVEL_WARNING,
                "The tiles have %llu bytes in %s, and %llu in %s.",
                (unsigned long long)before->bytes_per_tile, before->name,
                (unsigned long long)now->bytes_per_tile, now->name);
    if (strcmp(before->architecture, now->architecture) != 0)
        pl_tell(listener, POPLINER_LEVEL_WARNING,
                "The architecture is \"%s\" in %s, and \"%s\" in %s.", before->architecture,
                before->name, now->architecture, now->name);
    if (infos[PL_BEFORE].cycles_source != infos[PL_NOW].cycles_source)
        pl_tell(listener, POPLINER_LEVEL_WARNING,
                "The cycles are not of the same kind: %s in %s, and %s in %s.",
                before->cycles_source, before->name, now->cycles_source, now->name);
}

/* ---- The device ---- */

enum { FACT_GROUP, FACT_NAME, FACT_VALUE }; /* columns of the summary */

/* Returns a number of the summary; false if there is none with this group and name. */
static bool fact_number(const pl_sheet *summary, const char *group, const char *name,
                        int64_t *number) {
    *number = 0;
    for (size_t row = 0; row < pl_kept_num_rows(summary); row++)
        if (strcmp(pl_kept_text(summary, row, FACT_GROUP), group) == 0 &&
            strcmp(pl_kept_text(summary, row, FACT_NAME), name) == 0)
            return pl_kept_number(summary, row, FACT_VALUE, number);
    return false;
}

static void take_side(pl_changes *c, size_t side, const char *name, const popliner_analysis *of,
                      const popliner_profile_info *info) {
    c->sides[side] = (pl_compared_side){
        .name = pl_changes_name(c, name),
        .poplar_version = pl_changes_name(c, info->poplar_version),
        .architecture = pl_changes_name(c, info->architecture),
        .cycles_source = pl_cycles_source_name(info->cycles_source),
        .bytes_per_tile = info->bytes_per_tile,
        .largest_tile = pl_tiles_largest(of->profile),
    };
}

/* Sums the cycles of all units; false if none are known. */
static bool sum_cycles(const pl_sheet *layers, int64_t *sum) {
    size_t column = pl_kept_column(layers, "cycles");
    bool is_known = false;
    *sum = 0;
    for (size_t row = 0; row < pl_kept_num_rows(layers); row++) {
        int64_t cycles = 0;
        is_known = pl_kept_number(layers, row, column, &cycles) || is_known;
        *sum += cycles;
    }
    return is_known;
}

/* Adds bytes, counts and cycles of the device. */
static void add_device(pl_changes *c, const tables *t) {
    static const char *const groups[] = {"memory", "count"};
    popliner_change d = {.what = pl_changes_name(c, "device")};
    const pl_sheet *now = &t->of[SUMMARY][PL_NOW];
    for (size_t group = 0; group < sizeof groups / sizeof *groups; group++)
        for (size_t row = 0; row < pl_kept_num_rows(now); row++) {
            const char *name = pl_kept_text(now, row, FACT_NAME);
            if (strcmp(pl_kept_text(now, row, FACT_GROUP), groups[group]) != 0 ||
                strcmp(name, "largest_tile") == 0)
                continue;
            d.name = pl_changes_name(c, groups[group]);
            d.quantity = pl_changes_name(c, name);
            d.has_before = fact_number(&t->of[SUMMARY][PL_BEFORE], groups[group], name, &d.before);
            d.has_now = pl_kept_number(now, row, FACT_VALUE, &d.now);
            if (strcmp(name, "largest_tile_live_bytes") == 0)
                c->deciding = c->info.num_changes;
            pl_changes_add(c, &d);
        }
    d.name = d.quantity = pl_changes_name(c, "cycles");
    d.has_before = sum_cycles(&t->of[LAYERS][PL_BEFORE], &d.before);
    d.has_now = sum_cycles(&t->of[LAYERS][PL_NOW], &d.now);
    pl_changes_add(c, &d);
}

/* ---- The plan ---- */

static pl_compared_stage stage_of(pl_changes *c, const pl_certificate *of, size_t stage) {
    if (stage >= of->plan.num_stages)
        return (pl_compared_stage){0};
    const popliner_plan_stage *own = &of->plan.stages[stage];
    return (pl_compared_stage){
        .first_unit = pl_changes_name(c, of->input.unit_names[own->first_unit]),
        .last_unit = pl_changes_name(c, of->input.unit_names[own->last_unit]),
        .verdict = pl_certificate_has_verdicts(of) ? pl_verdict_text(of->verdicts[stage]) : NULL,
        .ipu = own->ipu,
    };
}

static void add_plan(pl_changes *c, const popliner_plan *before, const popliner_plan *now) {
    popliner_change d = {.what = pl_changes_name(c, "plan"),
                         .name = pl_changes_name(c, "memory"),
                         .quantity = pl_changes_name(c, "largest_need_bytes"),
                         .has_before = before->num_stages > 0,
                         .has_now = now->num_stages > 0};
    d.before = d.has_before ? (int64_t)before->peak_bytes : 0;
    d.now = d.has_now ? (int64_t)now->peak_bytes : 0;
    c->has_plan = true;
    c->deciding = c->info.num_changes;
    pl_changes_add(c, &d);
    d.name = pl_changes_name(c, "count");
    d.quantity = pl_changes_name(c, "stages");
    d.has_before = d.has_now = true;
    d.before = (int64_t)before->num_stages;
    d.now = (int64_t)now->num_stages;
    pl_changes_add(c, &d);
}

static void add_plans(pl_changes *c, const pl_certificate *before, const pl_certificate *now) {
    add_plan(c, &before->plan, &now->plan);
    c->num_stages = (size_t)pl_larger(before->plan.num_stages, now->plan.num_stages);
    c->stages = pl_arrays_new(&c->arrays, c->num_stages, sizeof *c->stages);
    for (size_t stage = 0; !c->arrays.failed && stage < c->num_stages; stage++) {
        c->stages[stage][PL_BEFORE] = stage_of(c, before, stage);
        c->stages[stage][PL_NOW] = stage_of(c, now, stage);
    }
}

/* ---- All tables ---- */

static void add_all(pl_changes *c, const popliner_changes_input *input, const tables *t) {
    add_device(c, t);
    for (size_t i = CATEGORIES; i < NUM_TABLES; i++) {
        if (i == PLAN && input->now_certificate == NULL)
            continue;
        if (i == PLAN)
            add_plans(c, pl_certificate_of(input->before_certificate),
                      pl_certificate_of(input->now_certificate));
        pl_changes_add_tables(c, &compared[i].pairing, &t->of[i][PL_BEFORE], &t->of[i][PL_NOW]);
    }
}

static const char *shown_name(const popliner_changes_input *input, const char *name) {
    return input->has_paths ? name : pl_last_part(name);
}

static popliner_status compare(const popliner_changes_input *input,
                               const popliner_profile_info *infos, pl_changes *c,
                               popliner_error *error) {
    tables t = {0};
    popliner_status status = keep_all(input, &t, error);
    if (status == POPLINER_OK) {
        c->model = input->memory_model;
        c->num_tiles = infos[PL_NOW].num_tiles;
        take_side(c, PL_BEFORE, shown_name(input, input->before_name), input->before,
                  &infos[PL_BEFORE]);
        take_side(c, PL_NOW, shown_name(input, input->now_name), input->now, &infos[PL_NOW]);
        add_all(c, input, &t);
        pl_changes_hold(c, input->max_percents);
        status = c->arrays.failed ? pl_fail_memory(error, "the comparison") : POPLINER_OK;
    }
    if (status == POPLINER_OK)
        tell_devices(input, infos, c);
    for (size_t i = 0; i < NUM_TABLES; i++)
        for (size_t side = 0; side < PL_NUM_SIDES; side++)
            pl_sheet_clear(&t.of[i][side]);
    return status;
}

/* Enters both analyses in an order that does not depend on which is which, so that no two threads
 * wait for each other. */
static popliner_status compare_in_turn(const popliner_changes_input *input,
                                       const popliner_profile_info *infos, pl_changes *c,
                                       popliner_error *error) {
    bool is_before_first = (uintptr_t)input->before < (uintptr_t)input->now;
    popliner_analysis *first = is_before_first ? input->before : input->now;
    popliner_analysis *second = is_before_first ? input->now : input->before;
    pl_analysis_enter(first);
    pl_analysis_enter(second);
    return pl_analysis_leave(first, pl_analysis_leave(second, compare(input, infos, c, error)));
}

popliner_status popliner_changes_create(const popliner_changes_input *input,
                                        popliner_changes **changes, popliner_error *error) {
    popliner_changes_input own = POPLINER_CHANGES_INPUT_INIT;
    popliner_profile_info infos[PL_NUM_SIDES] = {POPLINER_PROFILE_INFO_INIT,
                                                 POPLINER_PROFILE_INFO_INIT};
    *changes = NULL;
    PL_TRY(pl_struct_take(&own, sizeof own, input, "popliner_changes_input", error));
    own.before_name = own.before_name == NULL ? "before" : own.before_name;
    own.now_name = own.now_name == NULL ? "now" : own.now_name;
    PL_TRY(check_bounds(&own, error));
    PL_TRY(check_input(&own, error));
    PL_TRY(popliner_profile_get_info(own.before->profile, &infos[PL_BEFORE], error));
    PL_TRY(popliner_profile_get_info(own.now->profile, &infos[PL_NOW], error));
    PL_TRY(check_devices(&own, infos, error));
    pl_changes *c = calloc(1, sizeof *c);
    if (c == NULL)
        return pl_fail_memory(error, "the comparison");
    const popliner_status status = compare_in_turn(&own, infos, c, error);
    if (status != POPLINER_OK) {
        popliner_changes_free(&c->info);
        return status;
    }
    *changes = &c->info;
    return status;
}
