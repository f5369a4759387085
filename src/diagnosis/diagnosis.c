/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "diagnosis/diagnosis.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "base/numbers.h"
#include "model/operations.h"
#include "model/regex.h"

/* ---- A suggested layer regex, from the names of operations without a layer ------------------- */

/* A word at the start of a component of a path, with the characters before its number: "h/" or
 * "layer_._". */
static const char STEM_AND_NUMBER[] = "(?:^|[/.])([A-Za-z]+[/_.-]{0,3}[0-9]+)(?![A-Za-z0-9])";

typedef struct stem {
    size_t num_numbers;     /* different ones */
    size_t first_operation; /* the first that has it */
} stem;

typedef struct stems {
    size_t operation;  /* the current one */
    pl_names names;    /* of the stems */
    pl_names numbered; /* of stem and number together */
    stem *items;       /* by number of the name */
    pl_arrays arrays;  /* own the items and texts; failed if memory ran short */
} stems;

static bool add_stem(void *user, const char *numbered) {
    stems *all = user;
    const size_t numbers_before = all->numbered.count;
    const size_t stems_before = all->names.count;
    if (pl_names_number(&all->numbered, numbered) < numbers_before)
        return true;
    char *text = pl_arrays_text(&all->arrays, numbered);
    if (text == NULL)
        return false;
    for (size_t end = strlen(text); end > 0 && text[end - 1] >= '0' && text[end - 1] <= '9'; end--)
        text[end - 1] = '\0';
    const size_t place = pl_names_number(&all->names, text);
    all->arrays.failed = all->numbered.arrays.failed || all->names.arrays.failed;
    if (!pl_arrays_grow(&all->arrays, &all->items, place + 1, sizeof *all->items))
        return false;
    if (place == stems_before)
        all->items[place] = (stem){.first_operation = all->operation};
    all->items[place].num_numbers++;
    return true;
}

/* Finds the word that is followed by most different numbers, at least two, in names such as
 * "h/3/attention" or "model/layer_._0/mlp" of operations without a layer. */
static void suggest_regex(const pl_operations *operations, const pl_layers *layers,
                          pl_diagnosis *d) {
    stems all = {.items = NULL};
    pl_regex *regex = NULL;
    const stem *best = NULL;
    all.arrays.failed = pl_regex_compile(STEM_AND_NUMBER, "", &regex, NULL) != POPLINER_OK;
    for (; !all.arrays.failed && all.operation < pl_operations_count(operations); all.operation++) {
        const popliner_operation *own = pl_operation_at(operations, all.operation);
        if (pl_layers_unit_of(layers, all.operation) == 0 && !own->is_tensor)
            all.arrays.failed = pl_regex_find_all(regex, own->name, strlen(own->name), add_stem,
                                                  &all, NULL) == POPLINER_ERROR_MEMORY;
    }
    for (size_t i = 0; !all.arrays.failed && i < all.names.count; i++)
        if (all.items[i].num_numbers > (best == NULL ? 1 : best->num_numbers))
            best = &all.items[i];
    if (best != NULL) {
        pl_text text = {0};
        pl_text_add(&text, "(?:^|[/.])");
        for (const char *c = all.names.items[best - all.items]; *c != '\0'; c++)
            pl_text_format(&text, *c == '.' ? "\\%c" : "%c", *c);
        pl_text_add(&text, "(\\d+)");
        d->told.suggested_regex = pl_arrays_take(&d->arrays, text);
        d->told.suggestion_example =
            pl_arrays_text(&d->arrays, pl_operation_at(operations, best->first_operation)->name);
        d->told.suggested_layers = best->num_numbers;
    }
    pl_regex_free(regex);
    pl_names_free(&all.names);
    pl_names_free(&all.numbered);
    pl_arrays_end(&all.arrays, &d->arrays);
}

/* ---- Layers by rule -------------------------------------------------------------------------- */

/* Counts the operations by the rule that gave their layer. If most have none, suggests a regex.
 * O(operations * rules), and that of suggest_regex. */
static void diagnose_coverage(const pl_operations *operations, const pl_layers *layers,
                              pl_diagnosis *d) {
    size_t num_found = 0;
    d->told.num_operations = pl_operations_count(operations);
    for (size_t i = 0; i < d->told.num_operations; i++) {
        const popliner_layer_finding *own = pl_layer_at(layers, i);
        size_t place = 0;
        while (place < d->num_coverage && (d->coverage[place].rule != own->rule ||
                                           d->coverage[place].num_named != own->num_named))
            place++;
        if (place == d->num_coverage) {
            if (!pl_arrays_grow(&d->arrays, &d->coverage, place + 1, sizeof *d->coverage))
                return;
            d->coverage[d->num_coverage++] = (pl_coverage){own->rule, own->num_named, own->note, 0};
        }
        d->coverage[place].num_operations++;
        num_found += own->unit > 0;
    }
    if (operations->of_framework != 0 && num_found * 2 < d->told.num_operations)
        suggest_regex(operations, layers, d);
}

/* ---- Program types --------------------------------------------------------------------------- */

/* Counts the programs by type. O(programs * types). */
static void diagnose_program_types(const pl_explained *explained, pl_diagnosis *d) {
    const popliner_profile *p = explained->chain->profile;
    for (uint32_t program = 0; program < p->num_programs; program++) {
        const char *type = pl_profile_string(p, p->program_type_name[program]);
        size_t place = 0;
        while (place < d->num_program_types && strcmp(d->programs[place].type, type) != 0)
            place++;
        if (place == d->num_program_types) {
            if (!pl_arrays_grow(&d->arrays, &d->programs, place + 1, sizeof *d->programs))
                return;
            d->programs[d->num_program_types++] = (pl_diagnosis_programs){.type = type};
        }
        d->programs[place].num_all++;
        d->programs[place].num_seen += explained->program_seen[program] != 0;
    }
}

/* ---- Memory categories ----------------------------------------------------------------------- */

/* Adds a tile to the rows of the categories. truth_bytes[category * tiles + tile] is the compiler's
 * account; without one, it counts the variables. */
static void add_categories(const pl_explained *explained, size_t tile, uint64_t *truth_bytes,
                           pl_diagnosis_category *rows) {
    const popliner_profile *p = explained->chain->profile;
    uint64_t explained_bytes[PL_MAX_CATEGORIES] = {0};
    for (uint64_t i = p->tile_variables_start[tile]; i < p->tile_variables_start[tile + 1]; i++) {
        const size_t category = p->variable_category[i];
        if (p->num_category_parts == 0)
            truth_bytes[category * p->target.num_tiles + tile] += p->variable_size_bytes[i];
        if (explained->variable_marks[i] == PL_MARK_TOUCHED)
            explained_bytes[category] += p->variable_size_bytes[i];
    }
    for (size_t category = 0; category < p->num_categories; category++) {
        const pl_category code = explained->code_of_category[category];
        const uint64_t truth = truth_bytes[category * p->target.num_tiles + tile];
        if (code != PL_CATEGORY_OTHER)
            explained_bytes[category] += explained->code_bytes[code][tile];
        rows[category].truth_bytes += truth;
        rows[category].explained_bytes += explained_bytes[category];
        rows[category].tiles_exceeded += explained_bytes[category] > truth;
    }
}

/* Fills the categories. O(variables + categories * tiles). */
static void diagnose_categories(const pl_explained *explained, pl_diagnosis *d) {
    const popliner_profile *p = explained->chain->profile;
    const size_t num_tiles = p->target.num_tiles;
    pl_diagnosis_category rows[PL_MAX_CATEGORIES] = {{0}};
    pl_arrays own = {0};
    uint64_t *truth_bytes = pl_arrays_new(&own, p->num_categories * num_tiles, sizeof *truth_bytes);
    for (size_t part = 0; !own.failed && part < p->num_category_parts; part++)
        pl_series_add(p, p->category_memory[part], 1,
                      truth_bytes + part / PL_NUM_CATEGORY_PARTS * num_tiles);
    for (size_t tile = 0; !own.failed && tile < num_tiles; tile++)
        add_categories(explained, tile, truth_bytes, rows);
    for (size_t category = 0; category < p->num_categories; category++) {
        rows[category].name = pl_profile_string(p, p->category_name[category]);
        if (rows[category].truth_bytes + rows[category].explained_bytes > 0 &&
            pl_arrays_grow(&d->arrays, &d->categories, d->num_categories + 1, sizeof *rows))
            d->categories[d->num_categories++] = rows[category];
    }
    pl_arrays_end(&own, &d->arrays);
}

/* ---- The tile and step with the compiler's largest total ------------------------------------- */

/* Returns the bytes that are explained on a tile at a step; *missing_bytes becomes the rest. */
static uint64_t add_up(const pl_explained *explained, size_t tile, size_t step,
                       uint64_t *missing_bytes) {
    const popliner_profile *p = explained->chain->profile;
    uint64_t bytes = 0;
    *missing_bytes = 0;
    for (uint64_t i = p->tile_variables_start[tile]; i < p->tile_variables_start[tile + 1]; i++)
        if ((explained->variable_marks[i] & PL_MARK_CODE) == 0 &&
            popliner_liveness_is_live(p, i, step))
            *(explained->variable_marks[i] != 0 ? &bytes : missing_bytes) +=
                p->variable_size_bytes[i];
    for (pl_category code = PL_CATEGORY_VERTEX_CODE; code < PL_NUM_CATEGORIES; code++) {
        const uint64_t missing = pl_explained_missing_code(explained, code, tile);
        bytes += explained->truth_bytes[code][tile] - missing;
        *missing_bytes += missing;
    }
    return bytes;
}

static bool has_account_by_tile(const popliner_profile *p) {
    for (size_t tile = 0; tile < p->target.num_tiles; tile++) {
        if (p->tile_always_live_bytes[tile] + p->tile_not_always_live_peak_bytes[tile] > 0)
            return true;
    }
    return false;
}

/* Finds the compiler's largest total over the steps of the requested units. bytes[num_steps] is
 * scratch. */
static popliner_status find_bottleneck(const pl_explained *explained,
                                       const popliner_interval *units, popliner_peak *peaks,
                                       uint64_t *bytes, pl_diagnosis *d, popliner_error *error) {
    const pl_chain *chain = explained->chain;
    const popliner_profile *p = explained->chain->profile;
    bool has_account = has_account_by_tile(p);
    bool all_steps = units->first_unit == 0 && units->last_unit >= chain->num_units - 1;
    popliner_status status = popliner_liveness_peaks(p, NULL, 0, p->num_steps, peaks, error);
    for (size_t tile = 0; status == POPLINER_OK && tile < p->target.num_tiles; tile++) {
        uint64_t always_live =
            has_account ? p->tile_always_live_bytes[tile] : peaks[tile].always_live_bytes;
        uint64_t most = has_account ? p->tile_not_always_live_peak_bytes[tile]
                                    : peaks[tile].not_always_live_bytes;
        size_t most_step = peaks[tile].peak_step;
        /* The compiler gives a tile's bytes only at its largest step. Fewer steps cannot raise a
         * tile's peak, so tiles with a smaller peak over all steps are skipped. */
        if (!all_steps && always_live + most > d->told.truth_bytes) {
            status = popliner_liveness_by_step(p, tile, NULL, 0, p->num_steps, bytes, error);
            most = 0;
            most_step = SIZE_MAX; /* until the first step of the units */
            for (size_t step = 0; status == POPLINER_OK && step < p->num_steps; step++) {
                uint32_t operation = chain->operation_of_step[step];
                size_t unit = operation == PL_NONE ? 0 : chain->unit_of_operation[operation];
                if (unit >= units->first_unit && unit <= units->last_unit &&
                    (most_step == SIZE_MAX || bytes[step] > most)) {
                    most = bytes[step];
                    most_step = step;
                }
            }
        }
        if (always_live + most > d->told.truth_bytes && most_step < p->num_steps) {
            d->told.truth_bytes = always_live + most;
            d->told.tile = tile;
            d->told.step = most_step;
        }
    }
    return status;
}

/* Finds the tile where the model explains most, and the tiles whose sums differ from the compiler's
 * total. */
static void compare_everywhere(const pl_explained *explained, const popliner_peak *peaks,
                               pl_diagnosis *d) {
    const popliner_profile *p = explained->chain->profile;
    const popliner_stage_memory *stage = &explained->stage;
    bool compares_own_step = !pl_chain_is_full(explained->chain);
    for (size_t tile = 0; tile < p->target.num_tiles; tile++) {
        uint64_t missing_bytes;
        uint64_t bytes = add_up(explained, tile, peaks[tile].peak_step, &missing_bytes);
        uint64_t account_bytes =
            p->tile_always_live_bytes[tile] + p->tile_not_always_live_peak_bytes[tile];
        d->told.tiles_off += bytes + missing_bytes != account_bytes;
        uint64_t model_bytes =
            compares_own_step ? stage->need_bytes[POPLINER_NEED_EXPECTED][tile] : bytes;
        if (model_bytes > d->told.model_bytes) {
            d->told.model_bytes = model_bytes;
            d->told.model_tile = tile;
            d->told.model_step = compares_own_step ? stage->peak_step[tile] : peaks[tile].peak_step;
        }
    }
    if (!has_account_by_tile(p))
        d->told.tiles_off = SIZE_MAX;
}

/* Fills the bottlenecks and the missing bytes, there and on all tiles, for the units. Errors:
 * MEMORY. Cost: a few passes over the variables and over what programs touch. */
static popliner_status diagnose_bottleneck(const pl_explained *explained,
                                           const popliner_interval *units, pl_diagnosis *d,
                                           popliner_error *error) {
    const popliner_profile *p = explained->chain->profile;
    pl_arrays own = {0};
    uint64_t missing_bytes;
    popliner_peak *peaks = pl_arrays_new(&own, p->target.num_tiles, sizeof *peaks);
    uint64_t *bytes = pl_arrays_new(&own, p->num_steps, sizeof *bytes);
    popliner_status status = own.failed ? pl_fail_memory(error, "the diagnosis")
                                        : find_bottleneck(explained, units, peaks, bytes, d, error);
    if (status == POPLINER_OK) {
        d->told.explained_bytes = add_up(explained, d->told.tile, d->told.step, &missing_bytes);
        if (!pl_chain_is_full(explained->chain))
            d->told.explained_bytes =
                explained->stage.need_bytes[POPLINER_NEED_EXPECTED][d->told.tile];
        if (p->num_steps > 0)
            d->told.program_name = pl_profile_program_name(p, p->step_program[d->told.step]);
        compare_everywhere(explained, peaks, d);
        pl_missing_find(explained, d->told.tile, d->told.step, &d->arrays, &d->missing_here);
        pl_missing_find(explained, SIZE_MAX, SIZE_MAX, &d->arrays, &d->missing_everywhere);
    }
    pl_arrays_free(&own);
    return status;
}

/* ---- The whole diagnosis --------------------------------------------------------------------- */

/* Finds the range of steps that PopLiner 1.0.0 shows. */
static void find_steps(const pl_chain *chain, pl_diagnosis *d) {
    bool has_any = false;
    bool has_layer = false;
    d->told.first_step = 1; /* no step, until an operation counts */
    d->told.last_step = 0;
    for (size_t i = 0; i < chain->num_operations; i++) {
        const popliner_operation *operation = pl_operation_at(chain->operations, i);
        const bool in_layer = pl_layers_unit_of(chain->layers, i) > 0;
        if (d->told.layer_operations_only && !in_layer)
            continue;
        if (!has_any || (in_layer && !has_layer))
            d->told.first_step = operation->first_step;
        has_any = true;
        has_layer = has_layer || in_layer;
        d->told.last_step = operation->last_step;
    }
}

/* Says where the diagnosis does not add up. */
static void contradict(pl_diagnosis *d) {
    const char **list = pl_arrays_new(&d->arrays, d->num_categories + 1, sizeof *list);
    d->told.contradictions = list;
    if (list != NULL && d->told.tiles_off > 0 && d->told.tiles_off != SIZE_MAX)
        list[d->told.num_contradictions++] = pl_arrays_take(
            &d->arrays,
            pl_text_of("Explained and missing bytes do not add up to the compiler's account on %zu "
                       "tiles. Do not trust what the diagnosis says is missing.",
                       d->told.tiles_off));
    for (size_t i = 0; list != NULL && i < d->num_categories; i++)
        if (d->categories[i].tiles_exceeded > 0)
            list[d->told.num_contradictions++] = pl_arrays_take(
                &d->arrays,
                pl_text_of("More bytes of category %s are explained than the compiler counts on "
                           "%zu tiles. Do not trust what stages need of it.",
                           d->categories[i].name, d->categories[i].tiles_exceeded));
}

popliner_status pl_diagnose(pl_stage_meter *meter, bool layer_operations_only,
                            const popliner_interval *units, pl_diagnosis *diagnosis,
                            popliner_error *error) {
    const pl_chain *chain = meter->chain;
    pl_explained explained = {.chain = NULL};
    pl_diagnosis_clear(diagnosis);
    if (units->first_unit >= chain->num_units || units->first_unit > units->last_unit)
        return pl_fail(error, POPLINER_ERROR_USAGE,
                       "units %zu to %zu: expected units of the chain, 0 to %zu", units->first_unit,
                       units->last_unit, chain->num_units - 1);
    diagnosis->profile = chain->profile;
    diagnosis->told = (popliner_diagnosis){.model = chain->model,
                                           .layer_operations_only = layer_operations_only,
                                           .program_name = "",
                                           .suggested_regex = "",
                                           .suggestion_example = ""};
    popliner_status status = pl_explained_find(&explained, meter, layer_operations_only, error);
    if (status == POPLINER_OK)
        status = diagnose_bottleneck(&explained, units, diagnosis, error);
    if (status == POPLINER_OK) {
        diagnose_program_types(&explained, diagnosis);
        diagnose_categories(&explained, diagnosis);
        diagnose_coverage(chain->operations, chain->layers, diagnosis);
        contradict(diagnosis);
        find_steps(chain, diagnosis);
        if (diagnosis->arrays.failed)
            status = pl_fail_memory(error, "the diagnosis");
    }
    pl_explained_free(&explained);
    if (status != POPLINER_OK)
        pl_diagnosis_clear(diagnosis);
    return status;
}

void pl_diagnosis_clear(pl_diagnosis *diagnosis) {
    pl_arrays_free(&diagnosis->arrays);
    *diagnosis = (pl_diagnosis){0};
}

void popliner_diagnosis_free(popliner_diagnosis *callers) {
    pl_diagnosis *diagnosis = (pl_diagnosis *)callers;
    if (diagnosis == NULL)
        return;
    pl_diagnosis_clear(diagnosis);
    free(diagnosis);
}
