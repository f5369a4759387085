/* Sections of an analysis: makes ready what each is made of.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "tables/sections.h"

#include "analysis/analysis_data.h"
#include "answer/certificate_data.h"
#include "base/failure.h"

/* What a section is made of, beside what is known once a profile is read. */
typedef enum ingredients {
    NOTHING, /* that is known, or comes with a certificate */
    VARIABLES,
    CHAIN, /* here and below also the variables */
    METER,
    PAIRS,
    DIAGNOSIS,
} ingredients;

static const struct {
    const char *name;
    pl_section_writer *write;
    ingredients needed;
} sections[] = {
    [POPLINER_SECTION_SUMMARY] = {"summary", pl_section_summary, VARIABLES},
    [POPLINER_SECTION_PLAN] = {"plan", pl_section_plan, NOTHING},
    [POPLINER_SECTION_TILES] = {"tiles", pl_section_tiles, VARIABLES},
    [POPLINER_SECTION_CATEGORIES] = {"categories", pl_section_categories, VARIABLES},
    [POPLINER_SECTION_LIVENESS] = {"liveness", pl_section_liveness, CHAIN},
    [POPLINER_SECTION_VARIABLES] = {"variables", pl_section_variables, METER},
    [POPLINER_SECTION_OPERATIONS] = {"operations", pl_section_operations, METER},
    [POPLINER_SECTION_PROGRAMS] = {"programs", pl_section_programs, CHAIN},
    [POPLINER_SECTION_LAYERS] = {"layers", pl_section_layers, METER},
    [POPLINER_SECTION_PAIRS] = {"pairs", pl_section_pairs, PAIRS},
    [POPLINER_SECTION_EXECUTION] = {"execution", pl_section_execution, CHAIN},
    [POPLINER_SECTION_CHECKS] = {"checks", pl_section_checks, NOTHING},
    [POPLINER_SECTION_VERTICES] = {"vertices", pl_section_vertices, NOTHING},
    [POPLINER_SECTION_EXCHANGES] = {"exchanges", pl_section_exchanges, CHAIN},
    [POPLINER_SECTION_ADVICE] = {"advice", pl_section_advice, CHAIN},
    [POPLINER_SECTION_DIAGNOSIS] = {"diagnosis", pl_section_diagnosis, DIAGNOSIS},
    [POPLINER_SECTION_MISSING] = {"missing", pl_section_missing, DIAGNOSIS},
    [PL_SECTION_EXECUTION_SUMS] = {"execution_sums", pl_section_execution_sums, CHAIN},
};

const char *popliner_section_name(popliner_section section) {
    return (unsigned)section < POPLINER_NUM_SECTIONS ? sections[section].name : NULL;
}

static popliner_status check(popliner_section section, const popliner_certificate *certificate,
                             popliner_format format, popliner_error *error) {
    if ((unsigned)section >= POPLINER_NUM_SECTIONS)
        return pl_fail(error, POPLINER_ERROR_USAGE, "there is no section %d", (int)section);
    if ((unsigned)format > POPLINER_FORMAT_JSON)
        return pl_fail(error, POPLINER_ERROR_USAGE, "there is no format %d", (int)format);
    if (section == POPLINER_SECTION_PLAN && (certificate == NULL || !certificate->is_measured))
        return pl_fail(error, POPLINER_ERROR_USAGE,
                       "the section plan is of a certificate of a profile, and there is none");
    return POPLINER_OK;
}

static popliner_status make_ready(popliner_analysis *a, ingredients needed,
                                  popliner_memory_model model, pl_section_source *source,
                                  popliner_error *error) {
    popliner_status status = POPLINER_OK;
    if (needed >= VARIABLES)
        status = pl_analysis_load_variables(a, error);
    if (status == POPLINER_OK && needed >= CHAIN)
        status = pl_analysis_begin(a, model, error);
    if (status == POPLINER_OK && needed >= CHAIN)
        status = pl_analysis_make_chain(a, model, error);
    if (status == POPLINER_OK && needed == METER)
        status = pl_analysis_make_meter(a, model, error);
    if (status == POPLINER_OK && needed == PAIRS)
        status = pl_analysis_pair_layers(a, &source->pairs, error);
    if (status == POPLINER_OK && needed == DIAGNOSIS)
        status = pl_analysis_keep_diagnosis(a, model, &source->diagnosis, error);
    if (status != POPLINER_OK || needed < CHAIN)
        return status;
    source->operations = a->operations;
    source->layers = a->layers;
    source->chain = a->models[model].chain;
    source->meter = a->models[model].meter;
    return POPLINER_OK;
}

/* Writes a section that was checked. */
static popliner_status write_section(popliner_analysis *a, popliner_section section,
                                     popliner_memory_model model,
                                     const popliner_certificate *certificate, pl_sheet *sheet,
                                     popliner_error *error) {
    pl_section_source source = {
        .profile = a->profile,
        .info = a->info,
        .checks = a->checks,
        .num_checks = PL_NUM_RELATIONS,
        .certificate = certificate,
        .listener = &a->listener,
    };
    popliner_status status = make_ready(a, sections[section].needed, model, &source, error);
    return status == POPLINER_OK ? sections[section].write(&source, sheet, error) : status;
}

popliner_status pl_analysis_keep_section(popliner_analysis *a, popliner_section section,
                                         popliner_memory_model model,
                                         const popliner_certificate *certificate, pl_sheet *sheet,
                                         popliner_error *error) {
    *sheet = (pl_sheet){.format = PL_FORMAT_KEPT};
    popliner_status status = check(section, certificate, POPLINER_FORMAT_TSV, error);
    if (status == POPLINER_OK)
        status = write_section(a, section, model, certificate, sheet, error);
    return pl_sheet_finish_kept(sheet, status, error);
}

popliner_status pl_analysis_section(popliner_analysis *a, popliner_section section,
                                    popliner_memory_model model,
                                    const popliner_certificate *certificate, popliner_format format,
                                    char **text, popliner_error *error) {
    pl_sheet sheet = {.format = format};
    *text = NULL;
    popliner_status status = write_section(a, section, model, certificate, &sheet, error);
    return pl_sheet_finish(&sheet, status, text, error);
}

static popliner_status section_text_in_turn(popliner_analysis *analysis, popliner_section section,
                                            popliner_memory_model model,
                                            const popliner_certificate *certificate,
                                            popliner_format format, char **text,
                                            popliner_error *error) {
    popliner_status status = check(section, certificate, format, error);
    return status == POPLINER_OK
               ? pl_analysis_section(analysis, section, model, certificate, format, text, error)
               : status;
}

popliner_status popliner_section_text(popliner_analysis *analysis, popliner_section section,
                                      popliner_memory_model model,
                                      const popliner_certificate *certificate,
                                      popliner_format format, char **text, popliner_error *error) {
    *text = NULL;
    popliner_status status = pl_analysis_enter(analysis, error);
    if (status != POPLINER_OK)
        return status;
    status = section_text_in_turn(analysis, section, model, certificate, format, text, error);
    pl_analysis_leave(analysis);
    return status;
}
