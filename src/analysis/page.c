/* Measures what the page of an analysis shows, and writes the page.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "popliner/page.h"

#include <stdlib.h>

#include "analysis/analysis_data.h"
#include "answer/certificate_data.h"
#include "base/failure.h"
#include "base/growth.h"
#include "base/new_file.h"
#include "base/text.h"
#include "memory/chain_data.h"
#include "memory/parts.h"
#include "memory/passes.h"
#include "memory/stage.h"
#include "page/page_data.h"
#include "profile/profile_data.h"
#include "profile/step_times.h"
#include "solve/ipus.h"
#include "solve/options.h"

enum {
    MAX_STAGE_CHARS = 6000000, /* after this length no further pipelines are measured */
    MAX_STAGE_TILES = 50000,   /* of all stages together, that are listed one by one */
    MAX_PIPELINES = 24,        /* that stages can serve */
    MAX_BOXED_STAGES = 16,     /* whose fullest tile is there with its addresses */
};

/* The state of writing a page. Zero-initialise. */
typedef struct task {
    popliner_analysis *analysis;
    popliner_page_options options;
    popliner_request request;
    popliner_solver_options solver; /* the request's, completed once the chain is there */
    pl_owned_options owned;         /* of which its lists are then */
    bool has_usual_links;           /* as in pl_page_wishes */
    popliner_pipeline pipeline;     /* of the request */
    const pl_chain *chain;
    bool is_training; /* the layers of the chain */
    const pl_pass_usage *usage;
    pl_page_pipeline told[MAX_PIPELINES]; /* pipelines whose stages are in the page */
    size_t num_told;
    pl_arrays arrays; /* own their cycles */
    pl_text data;
    pl_json json; /* writes `data` */
} task;

static popliner_status take_options(task *t, const popliner_page_options *options,
                                    popliner_error *error) {
    popliner_listener listener;
    PL_TRY(pl_page_take_options(options, &t->options, error));
    PL_TRY(pl_analysis_take_request(t->options.request, &t->request, error));
    PL_TRY(pl_solver_options_take(t->request.solver, NULL, &t->solver, &listener, error));
    if (t->solver.method == POPLINER_METHOD_GREEDY)
        return pl_fail(error, POPLINER_ERROR_USAGE,
                       "a page needs an exact method; choose another one than greedy");
    t->pipeline = pl_analysis_pipeline(&t->request);
    return POPLINER_OK;
}

/* True if stages that are in the page serve the pipeline. */
static bool is_told(const task *t, const popliner_pipeline *p) {
    bool found = false;
    for (size_t i = 0; !found && i < t->num_told; i++) {
        const popliner_pipeline *own = &t->told[i].pipeline;
        found = own->schedule == p->schedule && own->recompute == p->recompute &&
                !pl_pipeline_has_own_copies(own) && !pl_pipeline_has_own_copies(p);
    }
    return found;
}

static void tell(task *t, const pl_stage_details *details, const pl_page_pipeline *p) {
    if (!is_told(t, &p->pipeline) && t->num_told < MAX_PIPELINES &&
        pl_details_serve(&details->key, &p->pipeline))
        t->told[t->num_told++] = *p;
}

/* Finds the pipelines that the stages serve and that no earlier stages served. Without training all
 * are equal. */
static void find_served(task *t, const pl_stage_details *details) {
    static const popliner_schedule schedules[] = {
        POPLINER_SCHEDULE_NONE,       POPLINER_SCHEDULE_POPART,
        POPLINER_SCHEDULE_TF_GROUPED, POPLINER_SCHEDULE_TF_INTERLEAVED,
        POPLINER_SCHEDULE_SEQUENTIAL,
    };
    pl_page_pipeline own = {.pipeline = t->pipeline,
                            .words = t->options.pipeline != NULL ? t->options.pipeline : ""};
    if (t->num_told == 0)
        tell(t, details, &own);
    for (size_t i = 0; details->key.is_training && i < sizeof schedules / sizeof *schedules; i++)
        for (int recompute = 0; recompute < PL_NUM_RECOMPUTES; recompute++) {
            pl_page_pipeline other = {.pipeline = t->pipeline};
            other.pipeline.schedule = schedules[i];
            other.pipeline.recompute = (popliner_recompute)recompute;
            other.pipeline.copies = (popliner_copies)POPLINER_COPIES_UNSET;
            if (recompute == 0 || pl_pipeline_keeps(&other.pipeline))
                tell(t, details, &other);
        }
}

/* Adds the stages that are measured for a pipeline, unless stages in the page serve it. The chain
 * and its cuts precede the first ones. */
static popliner_status add_stages(task *t, const popliner_pipeline *pipeline,
                                  popliner_error *error) {
    const pl_stage_details *stages = NULL;
    pl_model_parts *parts = &t->analysis->models[t->request.memory_model];
    const bool has_links = pl_links_exist(&t->solver);
    const size_t first_told = t->num_told;
    uint64_t *cycles = NULL;
    if (is_told(t, pipeline))
        return POPLINER_OK;
    popliner_status status = pl_analysis_stages(t->analysis, t->request.memory_model, pipeline,
                                                POPLINER_NEED_EXPECTED, true, &stages, error);
    if (status == POPLINER_OK)
        find_served(t, stages);
    for (size_t i = first_told; status == POPLINER_OK && i < t->num_told; i++)
        if (t->told[i].pipeline.recompute == POPLINER_RECOMPUTE_FULL || has_links)
            status = pl_analysis_find_cycles(parts, &t->told[i].pipeline,
                                             has_links ? NULL : stages->cuts_bytes, &t->arrays,
                                             &t->told[i].cycles, error);
    if (status == POPLINER_OK && first_told == 0)
        status =
            pl_analysis_find_cycles(parts, NULL, stages->cuts_bytes, &t->arrays, &cycles, error);
    if (status == POPLINER_OK) {
        if (first_told == 0) {
            pl_put_line(&t->json);
            pl_page_put_chain(&t->json, "chain", t->chain, t->solver.counted_units,
                              stages->cuts_bytes, cycles);
            pl_put_line(&t->json);
            pl_put_open(&t->json, "stages", '[');
        }
        pl_put_line(&t->json);
        pl_page_put_stages(&t->json, stages, t->chain, t->told + first_told,
                           t->num_told - first_told);
    }
    return status;
}

/* Adds the stages of the request, and of the most common schedules, as far as they fit. */
static popliner_status add_all_stages(task *t, popliner_error *error) {
    static const struct {
        popliner_schedule schedule;
        popliner_recompute recompute;
    } usual[] = {{POPLINER_SCHEDULE_NONE, POPLINER_RECOMPUTE_NONE},
                 {POPLINER_SCHEDULE_POPART, POPLINER_RECOMPUTE_NONE}};
    if (pl_chain_num_units(t->chain) > PL_PAGE_MAX_UNITS) {
        pl_put_line(&t->json);
        pl_page_put_chain(&t->json, "chain", t->chain, t->solver.counted_units, NULL, NULL);
        pl_put_line(&t->json);
        pl_put_texts(&t->json, "stages", NULL, 0);
        return POPLINER_OK;
    }
    popliner_status status = add_stages(t, &t->pipeline, error);
    for (size_t i = 0; status == POPLINER_OK && t->is_training &&
                       i < sizeof usual / sizeof *usual && t->data.length < MAX_STAGE_CHARS;
         i++) {
        popliner_pipeline pipeline = t->pipeline;
        pipeline.schedule = usual[i].schedule;
        pipeline.recompute = usual[i].recompute;
        pipeline.copies = (popliner_copies)POPLINER_COPIES_UNSET;
        status = add_stages(t, &pipeline, error);
    }
    if (status == POPLINER_OK)
        pl_put_close(&t->json);
    return status;
}

/* ---- Other data ---- */

/* Writes the tiles of a stage that was measured alone. */
static void put_stage_tiles(pl_json *json, const popliner_interval *stage,
                            const popliner_stage_memory *memory) {
    pl_put_line(json);
    pl_put_open(json, NULL, '{');
    pl_put_number(json, "first", stage->first_unit);
    pl_put_number(json, "last", stage->last_unit);
    pl_put_number(json, "to_end", stage->stages_to_end);
    for (int part = 0; part < POPLINER_NUM_PARTS; part++)
        if (!pl_part_is_within(part))
            pl_page_put_numbers(json, pl_parts[part].name, memory->part_bytes[part],
                                memory->num_tiles);
    pl_page_put_numbers(json, "total", memory->need_bytes[POPLINER_NEED_EXPECTED],
                        memory->num_tiles);
    pl_put_close(json);
}

/* Adds the memory of each stage of the plan on every tile, unless that would be most of the
 * page, or stages share IPUs. */
static popliner_status add_plan_tiles(task *t, popliner_error *error) {
    const pl_certificate *c = pl_certificate_of(t->options.certificate);
    popliner_analysis *a = t->analysis;
    size_t num_stages = c == NULL || t->solver.num_mapped_stages > 0 ? 0 : c->plan.num_stages;
    if (num_stages > MAX_STAGE_TILES / (a->profile->target.num_tiles + 1))
        num_stages = 0;
    popliner_status status = POPLINER_OK;
    pl_put_line(&t->json);
    pl_put_open(&t->json, "stage_tiles", '[');
    for (size_t i = 0; status == POPLINER_OK && i < num_stages; i++) {
        const popliner_plan_stage *stage = &c->plan.stages[i];
        const popliner_interval interval = {stage->first_unit, stage->last_unit,
                                            pl_pipeline_place(&t->pipeline, num_stages, i)};
        popliner_stage_memory memory = {0};
        status = pl_stage_measure(a->models[t->request.memory_model].meter, &t->pipeline, &interval,
                                  1, &memory, NULL, error);
        if (status == POPLINER_OK)
            put_stage_tiles(&t->json, &interval, &memory);
        pl_stage_memory_clear(&memory);
    }
    pl_put_close(&t->json);
    return status;
}

/* Adds all sections except for the plan, which is there, and the addresses. */
static popliner_status put_sections(task *t, popliner_error *error) {
    popliner_analysis *a = t->analysis;
    pl_json *json = &t->json;
    const double start = pl_clock_seconds();
    popliner_status status = POPLINER_OK;
    pl_put_line(json);
    pl_put_open(json, "sections", '{');
    for (int i = 0; status == POPLINER_OK && i <= PL_SECTION_EXECUTION_SUMS; i++) {
        char *text = NULL;
        if (i == POPLINER_SECTION_PLAN || i == POPLINER_SECTION_ADDRESSES)
            continue;
        pl_progress(&a->listener, "Making the page", (size_t)i, PL_SECTION_EXECUTION_SUMS + 1);
        status = pl_analysis_section(a, (popliner_section)i, t->request.memory_model, NULL,
                                     PL_FORMAT_PAGE, &text, error);
        pl_put_line(json);
        pl_put_value(json, i == PL_SECTION_EXECUTION_SUMS ? "execution_sums"
                                                          : pl_section_name((popliner_section)i));
        pl_text_add(json->text, text == NULL ? "" : text);
        free(text);
    }
    pl_put_close(json);
    pl_progress(&a->listener, "Making the page", PL_SECTION_EXECUTION_SUMS + 1,
                PL_SECTION_EXECUTION_SUMS + 1);
    if (status == POPLINER_OK)
        pl_step(&a->listener, "Making the tables of the page", start);
    return status;
}

/* Writes which files were read, and their sizes. */
static void put_files(task *t) {
    pl_json *json = &t->json;
    const struct {
        const char *what;
        const pl_analysis_file *file;
    } files[] = {
        {"profile", &t->analysis->profile_file},
        {"debug information", &t->analysis->debug_file},
        {"stored analysis", &t->analysis->stored_file},
    };
    pl_put_line(json);
    pl_put_open(json, "files", '[');
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        const pl_analysis_file *file = files[i].file;
        if (file->name == NULL)
            continue;
        pl_put_open(json, NULL, '{');
        pl_put_text(json, "what", files[i].what);
        pl_put_text(json, "name", t->options.has_paths ? file->name : pl_last_part(file->name));
        pl_put_number(json, "size_bytes", file->size_bytes);
        pl_put_close(json);
    }
    pl_put_close(json);
}

static void put_head(task *t) {
    const popliner_profile *p = t->analysis->profile;
    pl_json *json = &t->json;
    const pl_page_wishes wishes = {&t->solver, t->has_usual_links, t->request.need};
    pl_page_put_head(json, &t->options, &wishes, pl_chain_num_units(t->chain),
                     &t->analysis->recorder.warnings);
    put_files(t);
    pl_put_line(json);
    pl_put_number(json, "num_tiles", p->target.num_tiles);
    pl_put_number(json, "bytes_per_tile", p->target.bytes_per_tile);
    pl_put_number(json, "num_steps", p->num_steps);
    pl_put_line(json);
    pl_put_open(json, "categories", '[');
    for (size_t i = 0; i < p->num_categories; i++)
        pl_put_text(json, NULL, pl_profile_string(p, p->category_name[i]));
    pl_put_close(json);
}

/* Adds where the variables are; by address first those of the plan's stages. */
static popliner_status put_places(task *t, popliner_error *error) {
    const pl_certificate *c = pl_certificate_of(t->options.certificate);
    const double start = pl_clock_seconds();
    uint64_t tiles[MAX_BOXED_STAGES];
    size_t num_stages = 0;
    for (; c != NULL && c->is_measured && num_stages < c->plan.num_stages &&
           num_stages < MAX_BOXED_STAGES;
         num_stages++)
        tiles[num_stages] = c->details[num_stages].tile;
    pl_put_line(&t->json);
    PL_TRY(pl_page_put_places(&t->json, t->analysis->profile, t->usage, tiles, num_stages, error));
    pl_step(&t->analysis->listener, "Finding where the variables are, for the page", start);
    return POPLINER_OK;
}

/* Takes the options, and makes what the page is of. */
static popliner_status begin(task *t, const popliner_page_options *options, popliner_error *error) {
    popliner_analysis *a = t->analysis;
    PL_TRY(take_options(t, options, error));
    PL_TRY(pl_analysis_require_variables(a, error));
    PL_TRY(pl_analysis_begin(a, t->request.memory_model, PL_NEED_METER, error));
    pl_model_parts *parts = &a->models[t->request.memory_model];
    const pl_certificate *c = pl_certificate_of(t->options.certificate);
    t->chain = parts->chain;
    if (pl_analysis_check_certificate(a, c, "a page", error) != POPLINER_OK)
        return POPLINER_ERROR_USAGE;
    if (c != NULL && c->input.chain != t->chain)
        return pl_fail(error, POPLINER_ERROR_USAGE,
                       "the plan has the memory model %s, the page %s; use one model",
                       pl_memory_model_name(c->input.chain->model),
                       pl_memory_model_name(t->chain->model));
    PL_TRY(pl_analysis_own_options(a, t->chain, &t->pipeline, &t->solver, &t->owned, error));
    t->has_usual_links =
        t->solver.link_bandwidth.bytes == 0 && t->owned.options.link_bandwidth.bytes > 0;
    t->solver = t->owned.options;
    t->usage = &parts->meter->pass_usage;
    PL_TRY(pl_options_check(&t->solver, pl_chain_num_units(t->chain), NULL, error));
    PL_TRY(pl_analysis_know_cycles(parts, error));
    t->is_training = parts->is_training;
    return POPLINER_OK;
}

/* Adds when each step runs, with loops as one pass; 0 repeats: it contains no other step. */
static popliner_status put_step_times(task *t, popliner_error *error) {
    const popliner_profile *p = t->analysis->profile;
    pl_step_times times = {0};
    popliner_status status = pl_step_times_find(&times, p, true, error);
    pl_put_line(&t->json);
    pl_put_open(&t->json, "step_times", '{');
    pl_page_put_numbers(&t->json, "from", times.start, p->num_steps);
    pl_page_put_numbers(&t->json, "to", times.end, p->num_steps);
    pl_put_open(&t->json, "repeats", '[');
    for (size_t step = 0; status == POPLINER_OK && step < p->num_steps; step++)
        pl_put_number(&t->json, NULL,
                      !times.has_inner[step]       ? 0
                      : p->num_timed_programs == 0 ? 1
                                                   : p->program_repeats[p->step_program[step]]);
    pl_put_close(&t->json);
    pl_put_close(&t->json);
    pl_arrays_free(&times.arrays);
    return status;
}

static popliner_status put_data(task *t, popliner_error *error) {
    static popliner_status (*const parts[])(task * t, popliner_error * error) = {
        add_all_stages, add_plan_tiles, put_places, put_step_times, put_sections};
    popliner_status status = POPLINER_OK;
    t->json = (pl_json){.text = &t->data, .style = PL_JSON_COMPACT};
    put_head(t);
    for (size_t i = 0; status == POPLINER_OK && i < sizeof parts / sizeof *parts; i++)
        status = parts[i](t, error);
    pl_put_close(&t->json);
    pl_text_add(&t->data, "\n");
    return status;
}

popliner_status popliner_page_text(popliner_analysis *analysis,
                                   const popliner_page_options *options, char **text,
                                   popliner_error *error) {
    task t = {.analysis = analysis};
    pl_text page = {0};
    *text = NULL;
    pl_analysis_enter(analysis);
    popliner_status status = begin(&t, options, error);
    if (status == POPLINER_OK)
        status = put_data(&t, error);
    if (status == POPLINER_OK)
        pl_page_add(&page, t.options.certificate, &t.data);
    pl_arrays_free(&t.arrays);
    pl_owned_options_free(&t.owned);
    free(t.data.data);
    return pl_analysis_leave(analysis, pl_text_finish(&page, status, text, error));
}

popliner_status pl_analysis_prepare_page(popliner_analysis *analysis,
                                         const popliner_request *request, popliner_error *error) {
    popliner_page_options options = POPLINER_PAGE_OPTIONS_INIT;
    task t = {.analysis = analysis};
    const pl_stage_details *stages = NULL;
    options.request = request;
    PL_TRY(take_options(&t, &options, error));
    PL_TRY(pl_analysis_require_variables(analysis, error));
    const popliner_memory_model model = t.request.memory_model;
    PL_TRY(pl_analysis_begin(analysis, model, PL_NEED_CHAIN, error));
    const size_t num_units = pl_chain_num_units(analysis->models[model].chain);
    return num_units > PL_PAGE_MAX_UNITS
               ? pl_analysis_make_meter(analysis, model, error)
               : pl_analysis_stages(analysis, model, &t.pipeline, POPLINER_NEED_EXPECTED, true,
                                    &stages, error);
}
