/* Writes an analysis as text: tables, sections, plots, a trace, the overview.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/analysis_data.h"
#include "answer/certificate_data.h"
#include "base/failure.h"
#include "base/json_writer.h"
#include "base/layout.h"
#include "base/sheet.h"
#include "base/structs.h"
#include "base/text.h"
#include "emit/emit_data.h"
#include "memory/chain_data.h"
#include "memory/parts.h"
#include "model/layers.h"
#include "model/operations.h"
#include "popliner/report.h"
#include "popliner/screen.h"
#include "popliner/utilities.h"
#include "profile/profile_data.h"
#include "show/show.h"
#include "solve/objective.h"
#include "tables/changes_data.h"
#include "tables/sections.h"

/* ---- What is written from -------------------------------------------------------------------- */

/* The data that a table or section needs in addition to the profile without its variables. */
typedef enum ingredients {
    NOTHING, /* nothing else, or a certificate */
    CHAIN,
    PROGRAMS, /* the chain, and the operations of programs */
    MEASURES, /* the chain and a meter */
    VARIABLES,
    BOTH,      /* the chain and the variables, like the ones below */
    EXCHANGES, /* and the operations of programs */
    METER,
    PAIRS,
    DIAGNOSIS,
} ingredients;

/* Finds the first operation of each program. */
static uint32_t *find_operations(const popliner_analysis *a, pl_arrays *arrays) {
    const size_t num_programs = a->profile->num_programs;
    uint32_t *first = pl_arrays_new(arrays, num_programs, sizeof *first);
    for (size_t i = 0; first != NULL && i < num_programs; i++)
        first[i] = PL_NONE;
    for (size_t i = pl_operations_count(a->operations); first != NULL && i-- > 0;) {
        const popliner_operation *operation = pl_operation_at(a->operations, i);
        for (size_t k = 0; k < operation->num_programs; k++)
            first[operation->programs[k]] = (uint32_t)i;
    }
    return first;
}

static popliner_status make_ready(popliner_analysis *a, ingredients needed,
                                  popliner_memory_model model, pl_section_source *source,
                                  popliner_error *error) {
    if (needed >= VARIABLES)
        PL_TRY(pl_analysis_require_variables(a, error));
    if (needed == NOTHING || needed == VARIABLES)
        return POPLINER_OK;
    PL_TRY(pl_analysis_begin(
        a, model, needed == METER || needed == MEASURES ? PL_NEED_METER : PL_NEED_CHAIN, error));
    if (needed == PAIRS)
        PL_TRY(pl_analysis_pair_layers(a, model, &source->pairs, error));
    if (needed == DIAGNOSIS)
        PL_TRY(pl_analysis_keep_diagnosis(a, model, &source->diagnosis, error));
    if ((needed == PROGRAMS || needed == EXCHANGES) &&
        (source->operation_of = find_operations(a, source->arrays)) == NULL)
        return pl_fail_memory(error, "the programs");
    source->chain = a->models[model].chain;
    source->meter = a->models[model].meter;
    return POPLINER_OK;
}

/* Returns a source of tables and sections, to be made ready. */
static pl_section_source source_of(const popliner_analysis *a, pl_arrays *arrays) {
    return (pl_section_source){
        .profile = a->profile, .info = a->info, .listener = &a->listener, .arrays = arrays};
}

/* ---- Tables ---------------------------------------------------------------------------------- */

/* The words for a table in messages, and the section that quotes names; NULL: it has none. */
static const struct {
    const char *text;
    const char *section;
    pl_table_writer *write;
    ingredients needed;
} tables[] = {
    [POPLINER_TABLE_MEMORY_TOTALS] = {"memory totals", NULL, pl_report_memory_totals, METER},
    [POPLINER_TABLE_OPERATIONS] = {"operations", "operations", pl_report_operations, METER},
    [POPLINER_TABLE_LAYERS] = {"layers", "layers", pl_report_layers, METER},
    [POPLINER_TABLE_AFFINITY] = {"affinity between layers", "pairs", pl_report_affinity, PAIRS},
    [POPLINER_TABLE_COMMUNICATION] = {"communication between layers", "pairs",
                                      pl_report_communication, PAIRS},
};

static popliner_status check_table(popliner_table table, popliner_format format,
                                   popliner_error *error) {
    if ((unsigned)table >= sizeof tables / sizeof *tables)
        return pl_fail(error, POPLINER_ERROR_USAGE, "unknown table %d", (int)table);
    if ((unsigned)format > POPLINER_FORMAT_JSON)
        return pl_fail(error, POPLINER_ERROR_USAGE, "unknown format %d", (int)format);
    if (format == POPLINER_FORMAT_JSON)
        return pl_fail(error, POPLINER_ERROR_USAGE,
                       "tables of PopLiner 1.0.0 are not written as JSON; choose a section");
    return POPLINER_OK;
}

/* Whether a name in a table has one of these characters. Operations have layers. */
static bool has_name_with(const pl_chain *chain, popliner_table table, const char *characters) {
    const bool is_of_units = table == POPLINER_TABLE_LAYERS;
    const bool has_operations = table == POPLINER_TABLE_OPERATIONS;
    bool has = false;
    for (size_t i = 0; is_of_units && i < chain->num_units; i++)
        has = has || strpbrk(chain->labels[i], characters) != NULL;
    for (size_t i = 1; !is_of_units && i < pl_layers_num_units(chain->layers); i++)
        has = has || strpbrk(pl_layers_name(chain->layers, i), characters) != NULL;
    for (size_t i = 0; has_operations && i < chain->num_operations; i++)
        has = has || strpbrk(pl_operation_at(chain->operations, i)->name, characters) != NULL;
    return has;
}

/* Warns of names that a table without quotes cannot contain: it is that of PopLiner to the byte, so
 * its columns cannot be separated otherwise. */
static void tell_names(const popliner_analysis *a, popliner_table table, const pl_chain *chain,
                       const char *delimiter) {
    const bool has_delimiter = has_name_with(chain, table, delimiter);
    if (has_delimiter || has_name_with(chain, table, "\r\n"))
        pl_tell(&a->listener, POPLINER_LEVEL_WARNING,
                "The table of %s has a name with %s; %s %s quotes names.", tables[table].text,
                has_delimiter ? "the delimiter" : "a line break", a->option_names.section,
                tables[table].section);
}

/* Writes a valid table. */
static popliner_status report_table(popliner_analysis *a, popliner_table table,
                                    popliner_memory_model model, const char *delimiter, char **text,
                                    popliner_error *error) {
    pl_arrays arrays = {0};
    pl_text made = {0};
    pl_section_source source = source_of(a, &arrays);
    /* the totals are PopLiner's, and pairs are of no model */
    if (table != POPLINER_TABLE_OPERATIONS && table != POPLINER_TABLE_LAYERS)
        model = POPLINER_MEMORY_MODEL_POPLINER;
    popliner_status status = make_ready(a, tables[table].needed, model, &source, error);
    if (status == POPLINER_OK)
        status = tables[table].write(&source, *delimiter, &made, error);
    if (status == POPLINER_OK && !made.failed && tables[table].section != NULL)
        tell_names(a, table, source.chain, delimiter);
    pl_arrays_free(&arrays);
    return pl_text_finish(&made, status, text, error);
}

popliner_status popliner_report_table(popliner_analysis *analysis, popliner_table table,
                                      popliner_memory_model model, popliner_format format,
                                      char **text, popliner_error *error) {
    *text = NULL;
    pl_analysis_enter(analysis);
    popliner_status status = check_table(table, format, error);
    if (status == POPLINER_OK)
        status = report_table(analysis, table, model, format == POPLINER_FORMAT_CSV ? "," : "\t",
                              text, error);
    return pl_analysis_leave(analysis, status);
}

/* ---- Sections -------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    pl_section_writer *write;
    ingredients needed;
    bool is_whole; /* for pages: it is drawn, so it must have all rows */
} sections[] = {
    [POPLINER_SECTION_SUMMARY] = {"summary", pl_section_summary, NOTHING, false},
    [POPLINER_SECTION_PLAN] = {"plan", pl_section_plan, NOTHING, false},
    [POPLINER_SECTION_TILES] = {"tiles", pl_section_tiles, NOTHING, true},
    [POPLINER_SECTION_CATEGORIES] = {"categories", pl_section_categories, NOTHING, false},
    [POPLINER_SECTION_LIVENESS] = {"liveness", pl_section_liveness, BOTH, true},
    [POPLINER_SECTION_VARIABLES] = {"variables", pl_section_variables, BOTH, false},
    [POPLINER_SECTION_OPERATIONS] = {"operations", pl_section_operations, METER, false},
    [POPLINER_SECTION_PROGRAMS] = {"programs", pl_section_programs, PROGRAMS, false},
    [POPLINER_SECTION_LAYERS] = {"layers", pl_section_layers, MEASURES, false},
    [POPLINER_SECTION_PAIRS] = {"pairs", pl_section_pairs, PAIRS, false},
    [POPLINER_SECTION_EXECUTION] = {"execution", pl_section_execution, PROGRAMS, false},
    [POPLINER_SECTION_CHECKS] = {"checks", pl_section_checks, NOTHING, false},
    [POPLINER_SECTION_VERTICES] = {"vertices", pl_section_vertices, NOTHING, false},
    [POPLINER_SECTION_EXCHANGES] = {"exchanges", pl_section_exchanges, EXCHANGES, false},
    [POPLINER_SECTION_ADVICE] = {"advice", pl_section_advice, BOTH, false},
    [POPLINER_SECTION_DIAGNOSIS] = {"diagnosis", pl_section_diagnosis, DIAGNOSIS, false},
    [POPLINER_SECTION_MISSING] = {"missing", pl_section_missing, DIAGNOSIS, false},
    [POPLINER_SECTION_ADDRESSES] = {"addresses", pl_section_addresses, VARIABLES, false},
    [PL_SECTION_EXECUTION_SUMS] = {"execution_sums", pl_section_execution_sums, PROGRAMS, false},
};

const char *pl_section_name(popliner_section section) {
    return (unsigned)section < POPLINER_NUM_SECTIONS ? sections[section].name : NULL;
}

const char *popliner_name_of(popliner_named kind, size_t value) {
    switch (kind) {
    case POPLINER_NAMED_OBJECTIVE:
        return pl_objective_name((popliner_objective)value);
    case POPLINER_NAMED_MEANING:
        return value < POPLINER_NUM_OBJECTIVES ? pl_objective_of((popliner_objective)value)->meaning
                                               : NULL;
    case POPLINER_NAMED_SECTION:
        return pl_section_name((popliner_section)value);
    case POPLINER_NAMED_EMIT_FORMAT:
        return pl_emit_format_name(value);
    case POPLINER_NAMED_GROWTH:
        return pl_growth_name((popliner_growth)value);
    case POPLINER_NAMED_VERDICT:
        return pl_verdict_of_number(value) != NULL ? pl_verdict_of_number(value)->words : NULL;
    case POPLINER_NAMED_RECORD:
        return pl_verdict_of_number(value) != NULL ? pl_verdict_of_number(value)->record : NULL;
    case POPLINER_NAMED_PART:
        return value < POPLINER_NUM_PARTS ? pl_parts[value].column : NULL;
    }
    return NULL;
}

static popliner_status check_section(const popliner_analysis *a, popliner_section section,
                                     const pl_certificate *certificate, popliner_format format,
                                     popliner_error *error) {
    if ((unsigned)section >= POPLINER_NUM_SECTIONS)
        return pl_fail(error, POPLINER_ERROR_USAGE, "unknown section %d", (int)section);
    if ((unsigned)format > POPLINER_FORMAT_JSON)
        return pl_fail(error, POPLINER_ERROR_USAGE, "unknown format %d", (int)format);
    if (section == POPLINER_SECTION_PLAN && certificate == NULL)
        return pl_fail(error, POPLINER_ERROR_USAGE, "the section plan needs a certificate");
    return pl_analysis_check_certificate(a, certificate, "a section", error);
}

/* Writes a section that was checked. */
static popliner_status write_section(popliner_analysis *a, popliner_section section,
                                     popliner_memory_model model, const pl_certificate *certificate,
                                     pl_sheet *sheet, popliner_error *error) {
    pl_arrays arrays = {0};
    pl_section_source source = source_of(a, &arrays);
    source.certificate = certificate;
    pl_sheet_begin(sheet, sheet->format, sections[section].name);
    sheet->is_whole = sections[section].is_whole;
    popliner_status status = make_ready(a, sections[section].needed, model, &source, error);
    if (status == POPLINER_OK)
        status = sections[section].write(&source, sheet, error);
    pl_arrays_free(&arrays);
    return status;
}

popliner_status pl_analysis_keep_section(popliner_analysis *a, popliner_section section,
                                         popliner_memory_model model,
                                         const pl_certificate *certificate, pl_sheet *sheet,
                                         popliner_error *error) {
    *sheet = (pl_sheet){.format = PL_FORMAT_KEPT};
    popliner_status status = check_section(a, section, certificate, POPLINER_FORMAT_TSV, error);
    if (status == POPLINER_OK)
        status = write_section(a, section, model, certificate, sheet, error);
    assert(status != POPLINER_OK || sheet->text.failed || sheet->column == 0);
    return status == POPLINER_OK && sheet->text.failed ? pl_fail_memory(error, "a table") : status;
}

popliner_status pl_analysis_section(popliner_analysis *a, popliner_section section,
                                    popliner_memory_model model, const pl_certificate *certificate,
                                    popliner_format format, char **text, popliner_error *error) {
    pl_sheet sheet = {.format = format};
    *text = NULL;
    popliner_status status = write_section(a, section, model, certificate, &sheet, error);
    return pl_sheet_finish(&sheet, status, text, error);
}

popliner_status popliner_section_text(popliner_analysis *analysis, popliner_section section,
                                      popliner_memory_model model,
                                      const popliner_certificate *callers, popliner_format format,
                                      char **text, popliner_error *error) {
    const pl_certificate *certificate = pl_certificate_of(callers);
    *text = NULL;
    pl_analysis_enter(analysis);
    popliner_status status = check_section(analysis, section, certificate, format, error);
    if (status == POPLINER_OK)
        status = pl_analysis_section(analysis, section, model, certificate, format, text, error);
    return pl_analysis_leave(analysis, status);
}

/* Writes a section of any diagnosis, also of other layers than those that the analysis keeps. */
static popliner_status write_diagnosis(const pl_diagnosis *d, popliner_section section,
                                       popliner_format format, char **text, popliner_error *error) {
    const pl_section_source source = {.profile = d->profile, .diagnosis = d};
    pl_sheet sheet;
    pl_sheet_begin(&sheet, format, sections[section].name);
    return pl_sheet_finish(&sheet, sections[section].write(&source, &sheet, error), text, error);
}

popliner_status popliner_report_diagnosis(const popliner_diagnosis *callers, popliner_format format,
                                          char **text, popliner_error *error) {
    static const popliner_section parts[] = {POPLINER_SECTION_DIAGNOSIS, POPLINER_SECTION_MISSING,
                                             POPLINER_SECTION_CHECKS};
    const pl_diagnosis *d = (const pl_diagnosis *)callers;
    pl_text document = {0};
    pl_json json = {.text = &document, .style = PL_JSON_SPACED};
    popliner_status status = POPLINER_OK;
    *text = NULL;
    if ((unsigned)format > POPLINER_FORMAT_JSON)
        return pl_fail(error, POPLINER_ERROR_USAGE, "unknown format %d", (int)format);
    if (format != POPLINER_FORMAT_JSON)
        return write_diagnosis(d, POPLINER_SECTION_DIAGNOSIS, format, text, error);
    pl_put_open(&json, NULL, '{');
    pl_put_flag(&json, "layer_operations_only", d->told.layer_operations_only);
    pl_put_open(&json, "sections", '[');
    for (size_t i = 0; status == POPLINER_OK && i < sizeof parts / sizeof *parts; i++) {
        char *rows = NULL;
        status = write_diagnosis(d, parts[i], format, &rows, error);
        pl_put_value(&json, NULL);
        pl_text_add(&document, rows == NULL ? "" : rows);
        free(rows);
    }
    pl_put_close(&json);
    pl_put_close(&json);
    pl_text_add(&document, "\n");
    return pl_text_finish(&document, status, text, error);
}

/* ---- Plots ----------------------------------------------------------------------------------- */

static popliner_status plot_text_in_turn(popliner_analysis *analysis, popliner_plot plot,
                                         popliner_memory_model model,
                                         const pl_certificate *certificate,
                                         const popliner_plot_options *options, char **text,
                                         popliner_error *error) {
    popliner_analysis *a = analysis;
    popliner_plot_options own = POPLINER_PLOT_OPTIONS_INIT;
    PL_TRY(pl_struct_take(&own, sizeof own, options, "popliner_plot_options", error));
    PL_TRY(pl_plot_check(&own, error));
    PL_TRY(pl_analysis_check_certificate(a, certificate, "a plot", error));
    switch (plot) {
    case POPLINER_PLOT_TILES:
        return pl_plot_tiles(a->profile, &own, text, error);
    case POPLINER_PLOT_LIVENESS:
        PL_TRY(pl_analysis_require_variables(a, error));
        PL_TRY(pl_analysis_begin(a, model, PL_NEED_CHAIN, error));
        return pl_plot_liveness(a->profile, a->models[model].chain, &own, text, error);
    case POPLINER_PLOT_PLAN:
        if (certificate == NULL)
            return pl_fail(error, POPLINER_ERROR_USAGE, "the plot of a plan needs a certificate");
        return pl_plot_plan(certificate, &own, text, error);
    }
    return pl_fail(error, POPLINER_ERROR_USAGE, "unknown plot %d", (int)plot);
}

popliner_status popliner_plot_text(popliner_analysis *analysis, popliner_plot plot,
                                   popliner_memory_model model, const popliner_certificate *callers,
                                   const popliner_plot_options *options, char **text,
                                   popliner_error *error) {
    const pl_certificate *certificate = pl_certificate_of(callers);
    *text = NULL;
    pl_analysis_enter(analysis);
    return pl_analysis_leave(
        analysis, plot_text_in_turn(analysis, plot, model, certificate, options, text, error));
}

/* ---- Traces ---------------------------------------------------------------------------------- */

popliner_status popliner_trace_text(popliner_analysis *analysis, popliner_memory_model model,
                                    const popliner_certificate *callers, char **text,
                                    popliner_error *error) {
    const pl_certificate *certificate = pl_certificate_of(callers);
    *text = NULL;
    pl_analysis_enter(analysis);
    popliner_status status = pl_analysis_check_certificate(analysis, certificate, "a trace", error);
    if (status == POPLINER_OK)
        status = pl_analysis_require_variables(analysis, error);
    /* stages belong to the chain that they were cut from */
    const pl_chain *of_stages = certificate != NULL ? certificate->input.chain : NULL;
    model = of_stages != NULL ? of_stages->model : model;
    if (status == POPLINER_OK)
        status = pl_analysis_begin(analysis, model,
                                   of_stages != NULL ? PL_NEED_METER : PL_NEED_CHAIN, error);
    if (status == POPLINER_OK) {
        const pl_model_parts *parts = &analysis->models[model];
        status = pl_trace_make(parts->chain, certificate, parts->meter, text, error);
    }
    return pl_analysis_leave(analysis, status);
}

/* ---- The overview of a profile: what it is, and whether it fits one IPU ---- */

/* `whole` is the model as one stage. */
static void write_verdict(const pl_certificate *whole, pl_layout *layout) {
    const popliner_verdict verdict = whole->verdicts[0];
    const popliner_stage_detail *stage = &whole->details[0];
    pl_text bold = {0};
    const pl_tint tint = pl_verdict_begin(verdict, &bold);
    pl_text_add(&bold, " on one IPU:");
    pl_layout_sentence(layout, tint, bold,
                       pl_text_of("the fullest tile needs %s of %s bytes, with gaps.",
                                  PL_GROUPED(stage->need_bytes[POPLINER_NEED_EXPECTED]),
                                  PL_GROUPED(pl_certificate_limit(whole, 0))));
}

static void write_device(const popliner_profile_info *info, pl_layout *layout) {
    pl_layout_entry(layout, "Compiler", "", 0,
                    pl_text_of("Poplar %s", *info->poplar_version == '\0' ? "(version not recorded)"
                                                                          : info->poplar_version));
    pl_layout_entry(layout, "Device", "", 0,
                    pl_text_of("%s%s%zu %s with %zu tiles of %s bytes", info->architecture,
                               *info->architecture == '\0' ? "" : ": ", info->num_ipus,
                               info->num_ipus == 1 ? "IPU" : "IPUs", info->tiles_per_ipu,
                               PL_GROUPED(info->bytes_per_tile)));
}

static void write_layers(const popliner_analysis *a, const popliner_chain *chain,
                         pl_layout *layout) {
    const size_t num_operations = pl_operations_count(a->operations);
    const char *first = NULL;
    const char *last = NULL;
    size_t num_layers = 0;
    size_t num_outside = 0;
    pl_text text = {0};
    for (size_t i = 0; i < chain->num_units; i++)
        if (chain->unit_kinds[i] == POPLINER_UNIT_LAYER) {
            last = chain->unit_labels[i];
            first = first == NULL ? last : first;
            num_layers++;
        }
    for (size_t i = 0; i < num_operations; i++)
        num_outside += pl_layers_unit_of(a->layers, i) == 0;
    pl_text_add(&text, PL_GROUPED(num_layers));
    if (num_layers > 0) {
        pl_text_add(&text, num_layers > 1 ? ": " : ", ");
        pl_layout_add_name(layout, &text, first, 24);
        pl_text_add(&text, num_layers > 1 ? " to " : "");
        if (num_layers > 1)
            pl_layout_add_name(layout, &text, last, 24);
    }
    pl_text_format(&text, "; %s of %s operations belong to none", PL_GROUPED(num_outside),
                   PL_GROUPED(num_operations));
    pl_layout_entry(layout, "Layers", "", 0, text);
}

static void write_state(const popliner_analysis *a, bool is_training, pl_layout *layout) {
    const size_t num_breaches = pl_profile_num_breaches(a->profile);
    pl_layout_entry(
        layout, "Training", "", 0,
        pl_text_of(is_training ? "yes; what stages keep for it depends on the schedule" : "no"));
    pl_layout_entry(layout, "Checks", "", 0,
                    num_breaches == 0 ? pl_text_of("the profile is consistent")
                                      : pl_text_of("%zu of %d relations are breached", num_breaches,
                                                   PL_NUM_RELATIONS));
}

popliner_status popliner_screen_overview(popliner_analysis *analysis,
                                         const popliner_certificate *callers,
                                         const popliner_hint *hints, size_t num_hints,
                                         const popliner_plot_options *screen, char **text,
                                         popliner_error *error) {
    const pl_certificate *whole = pl_certificate_of(callers);
    const popliner_memory_model model = POPLINER_MEMORY_MODEL_FULL;
    const popliner_chain *chain = NULL;
    const popliner_layer_finding *layers = NULL;
    size_t num_operations = 0;
    popliner_profile_info info = POPLINER_PROFILE_INFO_INIT;
    bool is_training = false;
    pl_layout layout;
    *text = NULL;
    PL_TRY(popliner_analysis_layers(analysis, &layers, &num_operations, error));
    PL_TRY(popliner_analysis_chain(analysis, model, &chain, error));
    PL_TRY(popliner_analysis_is_training(analysis, model, &is_training, error));
    PL_TRY(popliner_profile_get_info(analysis->profile, &info, error));
    PL_TRY(pl_analysis_check_certificate(analysis, whole, "an overview", error));
    if (whole != NULL && whole->plan.num_stages != 1)
        return pl_fail(error, POPLINER_ERROR_USAGE, "an overview needs a single stage");
    pl_layout_begin(&layout, screen);
    if (whole != NULL)
        write_verdict(whole, &layout);
    pl_text_add(&layout.text, "\n");
    write_device(&info, &layout);
    write_layers(analysis, chain, &layout);
    write_state(analysis, is_training, &layout);
    pl_hints_write(hints, num_hints, &layout);
    return pl_text_finish(&layout.text, POPLINER_OK, text, error);
}
