/* A trace of the program, of its stages and of its execution, for trace viewers.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "show/show.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "answer/certificate_data.h"
#include "base/failure.h"
#include "base/growth.h"
#include "base/numbers.h"
#include "base/text.h"
#include "base/trace_events.h"
#include "memory/chain_data.h"
#include "memory/stage.h"
#include "model/operations.h"
#include "popliner/profile.h"
#include "profile/profile_data.h"
#include "profile/step_times.h"
#include "tables/sections.h"

/* ---- the trace ---- */

/* Processes of the trace: the whole program, then the stages, then the IPUs as they ran. */
enum { PROGRAM_PROCESS = 1, FIRST_STAGE_PROCESS = 100, FIRST_IPU_PROCESS = 1000000 };

enum { PROGRAMS_THREAD = 1, UNITS_THREAD = 2 };

/* A trace while it is written. */
typedef struct writer {
    pl_text text;
    pl_json json;
    const pl_chain *chain;
    const popliner_profile *profile; /* of the chain */
    pl_step_times time;
} writer;

/* ---- the whole program ---- */

static const char *step_name(const popliner_profile *p, size_t step) {
    const char *name = pl_profile_program_name(p, p->step_program[step]);
    return *name == '\0' ? pl_profile_string(p, p->program_type_name[p->step_program[step]]) : name;
}

static void write_programs(writer *w) {
    const popliner_profile *p = w->profile;
    for (size_t step = 0; step < p->num_steps; step++) {
        uint32_t program = p->step_program[step];
        size_t operation = pl_chain_operation_at(w->chain, step);
        pl_trace_begin_slice(&w->json, PROGRAM_PROCESS, PROGRAMS_THREAD, w->time.start[step],
                             w->time.end[step], step_name(p, step));
        pl_put_number(&w->json, "step", step);
        pl_put_number(&w->json, "program", program);
        pl_put_text(&w->json, "type", pl_profile_string(p, p->program_type_name[program]));
        if (operation != SIZE_MAX)
            pl_put_text(&w->json, "operation",
                        pl_operation_at(w->chain->operations, operation)->name);
        pl_trace_end_slice(&w->json);
    }
}

/* The unit of a step; SIZE_MAX for none. */
static size_t unit_at(const pl_chain *chain, size_t step) {
    size_t operation = pl_chain_operation_at(chain, step);
    return operation == SIZE_MAX ? SIZE_MAX : pl_chain_unit_of(chain, operation);
}

/* Slices of the units from first to last: of steps one after another that are of one unit. Steps
 * that contain others belong to no unit of their own. */
static void write_units(writer *w, size_t process, size_t thread, size_t first, size_t last) {
    const popliner_profile *p = w->profile;
    size_t open = SIZE_MAX; /* the first step of the slice that is open */
    uint64_t end = 0;
    for (size_t step = 0; step <= p->num_steps; step++) {
        if (step < p->num_steps && w->time.has_inner[step])
            continue;
        size_t unit = step < p->num_steps ? unit_at(w->chain, step) : SIZE_MAX;
        bool is_shown = unit != SIZE_MAX && unit >= first && unit <= last;
        if (open != SIZE_MAX && (!is_shown || unit_at(w->chain, open) != unit)) {
            const char *label = w->chain->labels[unit_at(w->chain, open)];
            pl_trace_begin_slice(&w->json, process, thread, w->time.start[open], end, label);
            pl_put_number(&w->json, "first_step", open);
            pl_trace_end_slice(&w->json);
            open = SIZE_MAX;
        }
        if (!is_shown)
            continue;
        open = open == SIZE_MAX ? step : open;
        end = w->time.end[step];
    }
}

/* A counter of what is live at the leaves, told when it changes. */
static void write_live(writer *w, size_t process, const char *name, uint64_t always_bytes,
                       const uint64_t *bytes) {
    uint64_t before = UINT64_MAX;
    for (size_t step = 0; step < w->profile->num_steps; step++) {
        if (w->time.has_inner[step] || bytes[step] == before)
            continue;
        pl_trace_counter(&w->json, process, name, w->time.start[step], "bytes",
                         always_bytes + bytes[step]);
        before = bytes[step];
    }
}

static popliner_status write_whole(writer *w, uint64_t *bytes, popliner_error *error) {
    const popliner_profile *p = w->profile;
    pl_trace_name(&w->json, PROGRAM_PROCESS, 0, "Program");
    pl_trace_name(&w->json, PROGRAM_PROCESS, PROGRAMS_THREAD, "Programs");
    pl_trace_name(&w->json, PROGRAM_PROCESS, UNITS_THREAD, "Layers");
    write_programs(w);
    write_units(w, PROGRAM_PROCESS, UNITS_THREAD, 0, w->chain->num_units - 1);
    popliner_status status =
        popliner_liveness_by_step(p, POPLINER_ALL_TILES, NULL, 0, p->num_steps, bytes, error);
    if (status == POPLINER_OK)
        write_live(w, PROGRAM_PROCESS, "Live on all tiles",
                   pl_tiles_always_live(p, POPLINER_ALL_TILES, NULL), bytes);
    return status;
}

/* ---- stages ---- */

/* Selects the data of a stage, as its memory model counts it. */
static void select_stage(const pl_stage_meter *meter, const popliner_plan_stage *stage,
                         uint8_t *selection) {
    const pl_pass_usage *usage = &meter->pass_usage;
    for (size_t v = 0; v < meter->chain->profile->num_variables; v++) {
        const uint64_t *units =
            pl_bits_at(&usage->sets, pl_pass_use_of(usage, v)->counting.touching);
        const bool is_touched =
            pl_bits_next(units, stage->first_unit, stage->last_unit + 1) <= stage->last_unit;
        selection[v] = (is_touched && !pl_account_is_code(&meter->account, v)) ||
                       pl_account_is_unexplained(&meter->account, v);
    }
}

static popliner_status write_stage(writer *w, const pl_certificate *c, size_t number,
                                   const uint8_t *selection, uint64_t *bytes,
                                   popliner_error *error) {
    const popliner_plan_stage *stage = &c->plan.stages[number];
    const popliner_stage_detail *detail = &c->details[number];
    const size_t process = FIRST_STAGE_PROCESS + number;
    pl_text name = {0};
    pl_text_format(&name, "Stage %zu on IPU %zu: %s to %s", number, stage->ipu,
                   c->input.unit_names[stage->first_unit], c->input.unit_names[stage->last_unit]);
    pl_trace_name(&w->json, process, 0, pl_text_string(&name));
    pl_trace_name(&w->json, process, UNITS_THREAD, "Layers");
    write_units(w, process, UNITS_THREAD, stage->first_unit, stage->last_unit);
    popliner_status status = popliner_liveness_by_step(w->profile, detail->tile, selection, 0,
                                                       w->profile->num_steps, bytes, error);
    name.length = 0;
    pl_text_format(&name, "Data live on tile %zu", detail->tile);
    if (status == POPLINER_OK)
        write_live(w, process, pl_text_string(&name),
                   pl_tiles_always_live(w->profile, detail->tile, selection), bytes);
    w->text.failed = w->text.failed || name.failed;
    free(name.data);
    return status;
}

static popliner_status write_stages(writer *w, const pl_certificate *c, const pl_stage_meter *meter,
                                    uint64_t *bytes, popliner_error *error) {
    uint8_t *selection = pl_new_array(w->profile->num_variables, sizeof *selection);
    popliner_status status = selection == NULL ? pl_fail_memory(error, "a trace") : POPLINER_OK;
    for (size_t i = 0; status == POPLINER_OK && i < c->plan.num_stages; i++) {
        select_stage(meter, &c->plan.stages[i], selection);
        status = write_stage(w, c, i, selection, bytes, error);
    }
    free(selection);
    return status;
}

/* ---- the execution ---- */

/* A step as it ran on an IPU, from when the first tile began with it until the last one was
 * done. */
typedef struct executed {
    uint32_t ipu;   /* its number in the file, which may be any */
    uint64_t start; /* by the clock of the IPU */
    uint64_t end;
    size_t step;
    size_t place;
} executed;

static int compare_executed(const void *first, const void *second) {
    const executed *a = first;
    const executed *b = second;
    if (a->ipu != b->ipu)
        return a->ipu < b->ipu ? -1 : 1;
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    return (a->place > b->place) - (a->place < b->place);
}

/* Returns all steps as they ran, by IPU and time; NULL without memory. */
static executed *list_executed(const popliner_profile *p, pl_arrays *arrays) {
    executed *list = pl_arrays_new(arrays, p->num_execution_ipus, sizeof *list);
    for (size_t step = 0; list != NULL && step < p->num_execution_steps; step++)
        for (size_t i = (size_t)p->execution_ipus_start[step];
             i < p->execution_ipus_start[step + 1]; i++) {
            const uint64_t from = p->execution_active_from[i];
            const uint64_t to = pl_larger(p->execution_active_to[i], from);
            list[i] = (executed){p->execution_ipu[i], p->execution_first_cycle[i] + from,
                                 p->execution_first_cycle[i] + to, step, i};
        }
    if (list != NULL)
        qsort(list, p->num_execution_ipus, sizeof *list, compare_executed);
    return list;
}

/* Puts each step into the first lane in which nothing runs at its start: lane[i], counted from 0.
 * Steps of a lane do not overlap, and there are no more lanes than steps that run at one time.
 * Returns the number of lanes; lane_ends[count] is for when each is free. O(count * lanes). */
static size_t find_lanes(const executed *list, size_t count, uint32_t *lane, uint64_t *lane_ends) {
    size_t num_lanes = 0;
    for (size_t i = 0; i < count; i++) {
        lane[i] = 0;
        while (lane[i] < num_lanes && lane_ends[lane[i]] > list[i].start)
            lane[i]++;
        num_lanes = pl_more(num_lanes, (size_t)lane[i] + 1);
        lane_ends[lane[i]] = list[i].end;
    }
    return num_lanes;
}

/* Writes a step into a lane; the IPU's time begins at `zero`. */
static void write_executed(writer *w, const executed *x, uint32_t lane, uint64_t zero) {
    const popliner_profile *p = w->profile;
    uint32_t program = p->execution_program[x->step];
    const char *name = program == PL_NONE ? "" : pl_profile_program_name(p, program);
    pl_trace_begin_slice(&w->json, FIRST_IPU_PROCESS + (size_t)x->ipu,
                         PROGRAMS_THREAD + (size_t)lane, x->start - zero, x->end - zero,
                         *name == '\0' ? pl_profile_string(p, p->execution_type_name[x->step])
                                       : name);
    pl_put_number(&w->json, "cycles", p->execution_cycles[x->place]);
    pl_put_number(&w->json, "active_tiles", p->execution_active_tiles[x->place]);
    pl_put_value(&w->json, "tile_balance");
    pl_text_format(&w->text, "%.6g", p->execution_tile_balance[x->place]);
    pl_trace_end_slice(&w->json);
}

/* Writes what ran on one IPU. A tile may begin with a step while others are still in the one
 * before, so steps overlap: those that do are side by side. */
static void write_ipu(writer *w, const executed *list, size_t count, pl_arrays *arrays) {
    const size_t process = FIRST_IPU_PROCESS + (size_t)list[0].ipu;
    uint32_t *lane = pl_arrays_new(arrays, count, sizeof *lane);
    uint64_t *lane_ends = pl_arrays_new(arrays, count, sizeof *lane_ends);
    char name[64];
    if (arrays->failed)
        return;
    const size_t num_lanes = find_lanes(list, count, lane, lane_ends);
    snprintf(name, sizeof name, "IPU %" PRIu32 " as it ran", list[0].ipu);
    pl_trace_name(&w->json, process, 0, name);
    for (size_t i = 0; i < num_lanes; i++)
        pl_trace_name(&w->json, process, PROGRAMS_THREAD + i,
                      i == 0 ? "Programs" : "Programs meanwhile");
    for (size_t i = 0; i < count; i++)
        write_executed(w, &list[i], lane[i], list[0].start);
}

static popliner_status write_execution(writer *w, popliner_error *error) {
    const size_t count = w->profile->num_execution_ipus;
    pl_arrays arrays = {0};
    const executed *list = list_executed(w->profile, &arrays);
    size_t next = 0;
    for (size_t first = 0; !arrays.failed && first < count; first = next) {
        while (next < count && list[next].ipu == list[first].ipu)
            next++;
        write_ipu(w, list + first, next - first, &arrays);
    }
    const bool has_failed = arrays.failed;
    pl_arrays_free(&arrays);
    return has_failed ? pl_fail_memory(error, "a trace") : POPLINER_OK;
}

popliner_status pl_trace_make(const pl_chain *chain, const pl_certificate *certificate,
                              const pl_stage_meter *meter, char **text, popliner_error *error) {
    writer w = {.chain = chain, .profile = chain->profile};
    uint64_t *bytes = pl_new_array(w.profile->num_steps, sizeof *bytes);
    popliner_status status = bytes == NULL ? pl_fail_memory(error, "a trace") : POPLINER_OK;
    w.json = (pl_json){.text = &w.text, .style = PL_JSON_SPACED};
    pl_put_open(&w.json, NULL, '{');
    pl_put_text(&w.json, "displayTimeUnit", "ms");
    pl_put_open(&w.json, "traceEvents", '[');
    if (status == POPLINER_OK)
        status = pl_step_times_find(&w.time, w.profile, false, error);
    if (status == POPLINER_OK)
        status = write_whole(&w, bytes, error);
    if (status == POPLINER_OK && certificate != NULL)
        status = write_stages(&w, certificate, meter, bytes, error);
    if (status == POPLINER_OK)
        status = write_execution(&w, error);
    pl_text_add(&w.text, "\n");
    pl_put_close(&w.json);
    pl_put_open(&w.json, "otherData", '{');
    pl_put_text(&w.json, "time",
                w.time.is_in_cycles ? "1 us is 1 cycle" : "1 us is 1 liveness step");
    pl_put_number(&w.json, "clock_hz", w.profile->target.clock_hz);
    pl_put_close(&w.json);
    pl_put_close(&w.json);
    pl_text_add(&w.text, "\n");
    pl_arrays_free(&w.time.arrays);
    free(bytes);
    return pl_text_finish(&w.text, status, text, error);
}
