/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "solving_run.h"
#include "plain_options.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json_schema.h"
#include "solve/objective.h"
#include "solve/plan.h"

static command_run run;

/* ---- Documents ------------------------------------------------------------------------------ */

static json_t *parse(const char *text) {
    json_error_t error;
    json_t *document = json_loads(text, JSON_REJECT_DUPLICATES, &error);
    if (document == NULL)
        fail_msg("%s: %.300s", error.text, text);
    return document;
}

json_t *json_at(const json_t *document, const char *const *keys) {
    const json_t *place = document;
    for (size_t i = 0; keys[i] != NULL; i++) {
        place = json_is_array(place) ? json_array_get(place, strtoul(keys[i], NULL, 10))
                                     : json_object_get(place, keys[i]);
        if (place == NULL)
            fail_msg("the document has no %s", keys[i]);
    }
    return (json_t *)place;
}

uint64_t number_of(const json_t *number) {
    assert_true(json_is_integer(number));
    return (uint64_t)json_integer_value(number);
}

static const json_t *certificate_schema(void) {
    static json_t *schema; /* one for the whole program */
    if (schema == NULL) {
        size_t size;
        char *path = test_project_file("docs/certificate.schema.json");
        uint8_t *bytes = test_read_bytes(path, &size);
        schema = json_loadb((const char *)bytes, size, JSON_REJECT_DUPLICATES, NULL);
        assert_non_null(schema);
        free(bytes);
        free(path);
    }
    return schema;
}

bool certificate_schema_describes(const char *name, const json_t *part, char *complaint) {
    return schema_accepts(certificate_schema(), name, part, complaint);
}

bool certificate_schema_accepts(const char *name, const json_t *document, char *complaint) {
    return schema_accepts(certificate_schema(), NULL, document, complaint) &&
           schema_accepts(certificate_schema(), name, document, complaint);
}

json_t *run_json(command_run *r, int status, const char *const *arguments) {
    const char *all[MOST_ASKED + 24];
    size_t count = 0;
    const char *what = "answer";
    char complaint[SCHEMA_COMPLAINT_SIZE];
    for (; arguments[count] != NULL; count++) {
        assert_true(count < MOST_ASKED + 20);
        all[count] = arguments[count];
        if (strcmp(all[count], "--pareto") == 0)
            what = all[count] + 2;
        else if (count > 0 && strstr(all[count], "..") != NULL && *all[count] != '-' &&
                 (strcmp(all[count - 1], "--num-ipus") == 0 ||
                  strcmp(all[count - 1], "--mem-per-tile") == 0))
            what = "sweep";
    }
    all[count++] = "--solve";
    all[count++] = "--format";
    all[count++] = "json";
    all[count] = NULL;
    run_command(r, all);
    if (r->status != status)
        fail_msg("exit status %d instead of %d: %s", r->status, status, r->err);
    assert_is_log(r);
    json_t *document = parse(r->out);
    if (!certificate_schema_accepts(what, document, complaint))
        fail_msg("not as the schema says: %s", complaint);
    return document;
}

/* ---- What a profile costs ------------------------------------------------------------------- */

/* Adds the list `more`, which ends with NULL, to a list. */
static size_t add_all(const char **list, size_t count, const char *const *more) {
    for (; *more != NULL; more++)
        list[count++] = *more;
    list[count] = NULL;
    return count;
}

static void name_units(subject *s) {
    const char *all[20];
    size_t count = add_all(all, 0, s->arguments);
    static const char *const one_stage[] = {"--num-ipus", "1", NULL};
    add_all(all, count, one_stage);
    json_t *answer = run_json(&run, 0, all);
    const json_t *layers = JSON_AT(answer, "stages", "0", "layers");
    s->num_units = 0;
    if (json_is_true(JSON_AT(answer, "stages", "0", "head")))
        strcpy(s->names[s->num_units++], "Head");
    for (size_t i = 0; i < json_array_size(layers); i++) {
        assert_true(s->num_units + 1 < MOST_BRUTE_UNITS);
        s->counted[s->num_units] = 1;
        snprintf(s->names[s->num_units++], MOST_NAME, "%s",
                 json_string_value(json_array_get(layers, i)));
    }
    if (json_is_true(JSON_AT(answer, "stages", "0", "tail")))
        strcpy(s->names[s->num_units++], "Tail");
    s->memory_bytes = NUMBER_AT(answer, "options", "mem_per_tile");
    json_decref(answer);
}

/* The fullest tile of first ... last as the stages_to_end-th stage from the end. */
static uint64_t evaluate(const subject *s, size_t first, size_t last, size_t stages_to_end,
                         bool is_in_pipeline) {
    char split[MOST_BRUTE_UNITS * MOST_NAME] = "";
    const char *all[20];
    size_t count = add_all(all, 0, s->arguments);
    if (is_in_pipeline)
        count = add_all(all, count, s->pipeline);
    if (first > 0)
        strcat(split, s->names[first - 1]);
    for (size_t k = 1; k < stages_to_end; k++) {
        strcat(split, *split == '\0' ? "" : "|");
        strcat(split, s->names[last + k - 1]);
    }
    /* what is behind the stage is one more if it is the last one that is asked for */
    if (stages_to_end == 1)
        assert_int_equal(last + 1, s->num_units);
    const char *const what[] = {"--evaluate", *split == '\0' ? "whole" : split, "--format", "json",
                                NULL};
    add_all(all, count, what);
    run_command(&run, all);
    assert_int_equal(run.status, 0);
    json_t *stages = parse(run.out);
    assert_int_equal(json_array_size(stages), stages_to_end + (first > 0));
    const json_t *stage = json_array_get(stages, first > 0);
    assert_string_equal(json_string_value(json_object_get(stage, "unit_from")), s->names[first]);
    assert_string_equal(json_string_value(json_object_get(stage, "unit_to")), s->names[last]);
    uint64_t bytes = number_of(json_object_get(stage, "tile_bytes"));
    json_decref(stages);
    return bytes;
}

static void measure_peaks(subject *s, bool depends_on_end, bool with_effects) {
    size_t n = s->num_units;
    for (size_t first = 0; first < n; first++)
        for (size_t last = first; last < n; last++) {
            size_t nearest = last + 1 == n ? 1 : 2;
            uint64_t bytes = evaluate(s, first, last, nearest, with_effects);
            popliner_costs_set_peak(s->costs, first, last, 1, bytes, NULL);
            for (size_t to_end = 2; depends_on_end && to_end <= n; to_end++) {
                /* a place that the interval cannot have is not looked at */
                if (to_end <= n - last)
                    bytes = evaluate(s, first, last, to_end, true);
                popliner_costs_set_peak(s->costs, first, last, to_end, bytes, NULL);
            }
        }
}

static void measure_cuts(subject *s) {
    for (size_t unit = 1; unit < s->num_units; unit++) {
        const char *all[20];
        size_t count = add_all(all, 0, s->arguments);
        char rule[80];
        snprintf(rule, sizeof rule, "cut:%s", s->names[unit - 1]);
        const char *const what[] = {"--require",  rule, "--device-map", "0,1", "--require",
                                    "layers:0..", NULL};
        add_all(all, count, what);
        json_t *answer = run_json(&run, 0, all);
        popliner_costs_set_cut(s->costs, unit, NUMBER_AT(answer, "stages", "0", "cut_bytes"), NULL);
        json_decref(answer);
    }
}

/* The cycles of each interval, as a stage of a split that leaves no choice; neighbours share steps,
 * so they do not add up. */
static void measure_cycles(subject *s) {
    size_t n = s->num_units;
    for (size_t first = 0; first < n; first++)
        for (size_t last = first; last < n; last++) {
            const char *all[20];
            size_t count = add_all(all, 0, s->arguments);
            size_t num_cuts = 0;
            char rules[2][80];
            if (first > 0) {
                snprintf(rules[0], sizeof rules[0], "cut:%s", s->names[first - 1]);
                const char *const cut[] = {"--require", rules[0], NULL};
                count = add_all(all, count, cut);
                num_cuts++;
            }
            if (last + 1 < n) {
                snprintf(rules[1], sizeof rules[1], "cut:%s", s->names[last]);
                const char *const cut[] = {"--require", rules[1], NULL};
                count = add_all(all, count, cut);
                num_cuts++;
            }
            const char *const map[] = {"--device-map",
                                       num_cuts == 0   ? "0"
                                       : num_cuts == 1 ? "0,1"
                                                       : "0,1,2",
                                       "--require", "layers:0..", NULL};
            add_all(all, count, map);
            json_t *answer = run_json(&run, 0, all);
            const json_t *cycles =
                json_object_get(json_array_get(JSON_AT(answer, "stages"), first > 0), "cycles");
            if (json_is_null(cycles)) {
                json_decref(answer);
                return;
            }
            assert_int_equal(
                popliner_costs_set_cycles(s->costs, first, last, number_of(cycles), NULL),
                POPLINER_OK);
            json_decref(answer);
        }
}

/* Stages that follow each other need together what they need as one; others no more than all that
 * is between the first and the last, which a profile never forbids. */
static popliner_status neighbours_peak(void *user, const popliner_interval *stages,
                                       size_t num_stages, uint64_t *peak_bytes,
                                       popliner_error *error) {
    (void)error;
    const subject *s = user;
    *peak_bytes =
        popliner_costs_peak(s->costs, stages[0].first_unit, stages[num_stages - 1].last_unit, 1);
    return POPLINER_OK;
}

void measure_subject(subject *s, const char *directory, popliner_schedule schedule,
                     popliner_recompute recompute, bool with_effects) {
    bool trains = schedule == POPLINER_SCHEDULE_POPART;
    *s = (subject){.arguments = {directory}, .cycles_per_time_unit = 1};
    if (trains) {
        s->pipeline[0] = "--schedule";
        s->pipeline[1] = "popart";
        s->pipeline[2] = recompute == POPLINER_RECOMPUTE_FULL ? "--recompute" : NULL;
        s->pipeline[3] = "full";
    }
    if (trains && !with_effects) {
        s->arguments[1] = "--effects";
        s->arguments[2] = "none";
    }
    name_units(s);
    assert_int_equal(
        popliner_costs_create(s->num_units, trains ? s->num_units : 1, &s->costs, NULL),
        POPLINER_OK);
    measure_peaks(s, trains, trains && with_effects);
    measure_cuts(s);
    measure_cycles(s);
    if (!trains)
        popliner_costs_set_shared_peak(s->costs, neighbours_peak, s, true);
}

void free_subject(subject *s) {
    popliner_costs_free(s->costs);
}

/* ---- Questions ------------------------------------------------------------------------------ */

enum { USUAL_IPUS = 16 };

static void add_argument(asked *a, const char *option, const char *format, ...) {
    va_list values;
    assert_true(a->num_arguments + 2 <= MOST_ASKED);
    a->arguments[a->num_arguments++] = option;
    va_start(values, format);
    vsnprintf(a->texts[a->num_arguments], sizeof *a->texts, format, values);
    va_end(values);
    a->arguments[a->num_arguments] = a->texts[a->num_arguments];
    a->num_arguments++;
}

void ask(asked *a, const subject *s) {
    *a = (asked){.s = s, .options = PLAIN_SOLVER_OPTIONS};
    popliner_solver_options *o = &a->options;
    o->counted_units = s->counted;
    o->min_units = 1; /* as the command does */
    o->cut_rules = a->cuts;
    o->objectives = a->objectives;
    o->pairs = a->pairs;
    o->placements = a->placements;
    o->ipu_limits = a->ipu_limits;
    for (size_t i = 0; i < s->num_ipu_limits; i++)
        a->ipu_limits[o->num_ipu_limits++] = s->ipu_limits[i];
    o->num_ipus = s->num_ipus > 0 ? s->num_ipus : USUAL_IPUS;
    if (s->memory_bytes > 0)
        o->mem_per_tile = s->memory_bytes;
}

void ask_objectives(asked *a, const char *list) {
    char copy[100];
    char *place = NULL;
    snprintf(copy, sizeof copy, "%s", list);
    for (char *name = strtok_r(copy, ",", &place); name != NULL;
         name = strtok_r(NULL, ",", &place)) {
        int objective = 0;
        while (strcmp(pl_objective_name((popliner_objective)objective), name) != 0)
            objective++;
        a->objectives[a->options.num_objectives++] = (popliner_objective)objective;
    }
    add_argument(a, "--objective", "%s", list);
}

void ask_slack(asked *a, unsigned percent) {
    a->options.slack_percent = percent;
    add_argument(a, "--slack", "%u", percent);
}

void ask_ipus(asked *a, size_t count) {
    a->num_ipus = count;
    a->options.num_ipus = count;
}

void ask_memory(asked *a, uint64_t bytes) {
    a->memory_bytes = bytes;
    a->options.mem_per_tile = bytes;
}

void ask_reserve(asked *a, uint64_t bytes) {
    a->reserve_bytes = bytes;
    a->options.mem_per_tile -= bytes;
    for (size_t i = 0; i < a->options.num_ipu_limits; i++)
        a->ipu_limits[i].value -= bytes;
    add_argument(a, "--reserve", "%" PRIu64, bytes);
    /* the costs were measured with the layout, in whose place the reserve would be */
    if (a->s->arguments[1] == NULL)
        add_argument(a, "--effects", "layout,passing,buffers,accumulators");
}

void ask_ipu_memory(asked *a, size_t ipu, uint64_t bytes) {
    size_t i = 0;
    while (i < a->options.num_ipu_limits && a->ipu_limits[i].ipu != ipu)
        i++;
    a->options.num_ipu_limits += i == a->options.num_ipu_limits;
    a->ipu_limits[i] = (popliner_ipu_value){ipu, bytes};
    add_argument(a, "--mem-per-tile", "%zu=%" PRIu64, ipu, bytes);
}

void ask_least_layers(asked *a, size_t count) {
    a->options.min_units = count;
    add_argument(a, "--require", "layers:%zu..", count);
}

void ask_most_layers(asked *a, size_t count) {
    a->options.max_units = count;
    add_argument(a, "--require", "layers:..%zu", count);
}

void ask_cut(asked *a, size_t unit_before, popliner_cut_rule rule) {
    a->cuts[unit_before + 1] = rule;
    add_argument(a, "--require", rule == POPLINER_CUT_REQUIRED ? "cut:%s" : "no-cut:%s",
                 a->s->names[unit_before]);
}

void ask_together(asked *a, size_t first_unit, size_t second_unit) {
    a->pairs[a->options.num_pairs++] = (popliner_constraint){
        .kind = POPLINER_CONSTRAINT_PAIR, .unit = first_unit, .second_unit = second_unit};
    add_argument(a, "--require", "together:%s,%s", a->s->names[first_unit],
                 a->s->names[second_unit]);
}

void ask_place(asked *a, size_t unit, size_t ipu) {
    a->placements[a->options.num_placements++] =
        (popliner_constraint){.kind = POPLINER_CONSTRAINT_PLACEMENT, .unit = unit, .ipu = ipu};
    add_argument(a, "--require", "place:%s=%zu", a->s->names[unit], ipu);
}

void ask_map(asked *a, const char *map) {
    const char *rest = map;
    for (char *end = NULL; *rest != '\0'; rest = *end == ',' ? end + 1 : end)
        a->device_map[a->options.num_mapped_stages++] = strtoul(rest, &end, 10);
    a->options.device_map = a->device_map;
    add_argument(a, "--device-map", "%s", map);
}

static size_t find_unit(const subject *s, const char *name) {
    size_t unit = 0;
    while (unit < s->num_units && strcmp(s->names[unit], name) != 0)
        unit++;
    if (unit == s->num_units)
        fail_msg("there is no unit '%s'", name);
    return unit;
}

/* ---- Answers -------------------------------------------------------------------------------- */

/* A number in billionths, or a whole one, as the table has it; 0 for null. */
static uint64_t scaled(const json_t *number, uint64_t scale) {
    if (json_is_null(number))
        return 0;
    if (scale == 1)
        return number_of(number);
    assert_true(json_is_real(number));
    return (uint64_t)llround(json_real_value(number) * (double)scale);
}

static void read_stage(const subject *s, const json_t *json, popliner_plan_stage *stage) {
    bool is_profile = json_object_get(json, "head") != NULL;
    const char *from = json_string_value(json_object_get(json, "layer_from"));
    const char *to = json_string_value(json_object_get(json, "layer_to"));
    bool has_head = is_profile && json_is_true(json_object_get(json, "head"));
    bool has_tail = is_profile && json_is_true(json_object_get(json, "tail"));
    stage->first_unit = has_head ? 0 : from != NULL ? find_unit(s, from) : s->num_units - 1;
    stage->last_unit = has_tail ? s->num_units - 1 : to != NULL ? find_unit(s, to) : 0;
    stage->ipu = number_of(json_object_get(json, "ipu"));
    stage->peak_bytes = NUMBER_AT(json, "mem", "max_tile_mem");
    stage->cycles = scaled(json_object_get(json, "cycles"), s->cycles_per_time_unit);
    stage->cut_bytes = number_of(json_object_get(json, "cut_bytes"));
    const json_t *layers = json_object_get(json, "layers");
    size_t num_layers = 0;
    for (size_t unit = stage->first_unit; unit <= stage->last_unit; unit++)
        if (s->counted[unit] != 0)
            assert_string_equal(json_string_value(json_array_get(layers, num_layers++)),
                                s->names[unit]);
    assert_int_equal(json_array_size(layers), num_layers);
    const json_t *peak = json_object_get(json, "peak");
    if (is_profile)
        assert_int_equal(NUMBER_AT(peak, "bytes"), stage->peak_bytes);
    else
        assert_true(json_is_null(peak));
}

/* A constraint in the words of the command line: "require place:A=0", "require layers:..3". */
static void read_constraint(const subject *s, const char *words, popliner_constraint *it) {
    static const struct {
        const char *option;
        popliner_constraint_kind kind;
    } known[] = {
        {"num-ipus ", POPLINER_CONSTRAINT_NUM_IPUS},
        {"device-map ", POPLINER_CONSTRAINT_DEVICE_MAP},
        {"require layers:..", POPLINER_CONSTRAINT_MAX_UNITS},
        {"require layers:", POPLINER_CONSTRAINT_MIN_UNITS},
        {"require cut:", POPLINER_CONSTRAINT_REQUIRED_CUT},
        {"require no-cut:", POPLINER_CONSTRAINT_FORBIDDEN_CUT},
        {"require together:", POPLINER_CONSTRAINT_PAIR},
        {"require place:", POPLINER_CONSTRAINT_PLACEMENT},
    };
    char name[200];
    size_t k = 0;
    while (strncmp(words, known[k].option, strlen(known[k].option)) != 0)
        assert_true(++k < sizeof known / sizeof *known);
    it->kind = known[k].kind;
    words += strlen(known[k].option);
    if (it->kind == POPLINER_CONSTRAINT_DEVICE_MAP) {
        assert_int_equal(sscanf(words, "of %zu stages", &it->number), 1);
    } else if (it->kind == POPLINER_CONSTRAINT_PAIR) {
        const char *comma = strchr(words, ','); /* which no name here holds */
        assert_non_null(comma);
        snprintf(name, sizeof name, "%.*s", (int)(comma - words), words);
        it->unit = find_unit(s, name);
        it->second_unit = find_unit(s, comma + 1);
    } else if (it->kind == POPLINER_CONSTRAINT_PLACEMENT) {
        assert_int_equal(sscanf(words, "%199[^=]=%zu", name, &it->ipu), 2);
        it->unit = find_unit(s, name);
    } else if (it->kind == POPLINER_CONSTRAINT_REQUIRED_CUT ||
               it->kind == POPLINER_CONSTRAINT_FORBIDDEN_CUT) {
        it->unit = find_unit(s, words);
    } else {
        assert_int_equal(sscanf(words, "%zu", &it->number), 1);
    }
}

static void read_infeasibility(const subject *s, const json_t *json, popliner_plan *plan) {
    static const char *const reasons[] = {"",         "constraints", "layer",
                                          "capacity", "unknown",     "place"};
    popliner_infeasibility *why = &plan->infeasibility;
    if (json_is_null(json))
        return;
    const char *reason = json_string_value(json_object_get(json, "reason"));
    while (strcmp(reasons[why->obstacle], reason) != 0)
        why->obstacle = (popliner_obstacle)(why->obstacle + 1);
    why->enough_stages = scaled(json_object_get(json, "enough_num_ipus"), 1);
    if (why->obstacle == POPLINER_OBSTACLE_CONSTRAINTS) {
        const json_t *list = json_object_get(json, "constraints");
        why->constraints = calloc(json_array_size(list), sizeof *why->constraints);
        for (size_t i = 0; i < json_array_size(list); i++) {
            const char *words = json_string_value(json_array_get(list, i));
            if (strncmp(words, "the costs", strlen("the costs")) == 0)
                why->needs_costs = true;
            else
                read_constraint(s, words, &why->constraints[why->num_constraints++]);
        }
        return;
    }
    why->enough_bytes = scaled(json_object_get(json, "enough_mem_per_tile"), 1);
    if (why->obstacle != POPLINER_OBSTACLE_UNIT && why->obstacle != POPLINER_OBSTACLE_PLACE)
        return;
    if (why->obstacle == POPLINER_OBSTACLE_PLACE)
        why->fitting_ipu = NUMBER_AT(json, "fits_on_ipu");
    why->unit = find_unit(s, json_string_value(json_object_get(json, "layer")));
    why->unit_bytes = NUMBER_AT(json, "needs_bytes");
    why->limit_bytes = NUMBER_AT(json, "limit_bytes");
    assert_int_equal(NUMBER_AT(json, "excess_bytes"), why->unit_bytes - why->limit_bytes);
    if (!json_is_null(json_object_get(json, "peak")))
        assert_int_equal(NUMBER_AT(json, "peak", "bytes"), why->unit_bytes);
}

/* The plan that a document tells of. */
static void read_plan(const asked *a, const json_t *answer, popliner_plan *plan) {
    static const char *const states[] = {"optimal", "feasible", "infeasible"};
    const subject *s = a->s;
    const char *status = json_string_value(JSON_AT(answer, "status"));
    const json_t *stages = JSON_AT(answer, "stages");
    const json_t *objectives = JSON_AT(answer, "objectives");
    bool after_cycles = false;
    *plan = (popliner_plan){.is_stopped = json_is_true(JSON_AT(answer, "stopped"))};
    while (strcmp(states[plan->status], status) != 0)
        plan->status = (popliner_plan_status)(plan->status + 1);
    plan->num_stages = json_array_size(stages);
    plan->stages = calloc(plan->num_stages + 1, sizeof *plan->stages);
    for (size_t i = 0; i < plan->num_stages; i++)
        read_stage(s, json_array_get(stages, i), &plan->stages[i]);
    plan->num_values = json_array_size(objectives);
    for (size_t i = 0; i < plan->num_values; i++) {
        const json_t *json = json_array_get(objectives, i);
        const char *name = json_string_value(json_object_get(json, "name"));
        popliner_plan_value *value = &plan->values[i];
        while (strcmp(pl_objective_name(value->objective), name) != 0)
            value->objective = (popliner_objective)(value->objective + 1);
        after_cycles = after_cycles || value->objective == POPLINER_OBJECTIVE_CYCLES;
        bool is_time = value->objective == POPLINER_OBJECTIVE_CYCLES ||
                       (value->objective == POPLINER_OBJECTIVE_BALANCE && after_cycles);
        uint64_t scale = is_time ? s->cycles_per_time_unit : 1;
        value->value = scaled(json_object_get(json, "value"), scale);
        value->bound = scaled(json_object_get(json, "bound"), scale);
        if (value->objective == POPLINER_OBJECTIVE_BALANCE)
            plan->spread = scaled(JSON_AT(answer, "totals", "balance"), scale);
    }
    bool has_spread = false;
    for (size_t i = 0; i < plan->num_values; i++)
        has_spread = has_spread || plan->values[i].objective == POPLINER_OBJECTIVE_BALANCE;
    if (!has_spread)
        plan->spread = scaled(JSON_AT(answer, "totals", "balance"), 1);
    plan->peak_bytes = NUMBER_AT(answer, "totals", "memory");
    plan->cycles = scaled(JSON_AT(answer, "totals", "cycles"), s->cycles_per_time_unit);
    plan->cut_bytes = scaled(JSON_AT(answer, "totals", "traffic"), 1);
    plan->num_ipus = NUMBER_AT(answer, "totals", "ipus");
    read_infeasibility(s, JSON_AT(answer, "infeasibility"), plan);
}

/* The cycles of the IPU of a stage: of all that runs there, one after another. */
static uint64_t ipu_cycles(const popliner_plan *plan, size_t stage) {
    uint64_t cycles = 0;
    for (size_t i = 0; i < plan->num_stages; i++)
        if (plan->stages[i].ipu == plan->stages[stage].ipu)
            cycles += plan->stages[i].cycles;
    return cycles;
}

/* The first stage on the IPU with most of what is looked at. */
static void check_bottleneck(const json_t *answer, const popliner_plan *plan) {
    bool by_cycles = plan->num_values > 0 && plan->values[0].objective == POPLINER_OBJECTIVE_CYCLES;
    size_t most = 0;
    if (plan->num_stages == 0) {
        assert_true(json_is_null(JSON_AT(answer, "bottleneck")));
        return;
    }
    for (size_t i = 1; i < plan->num_stages; i++)
        if (by_cycles ? ipu_cycles(plan, i) > ipu_cycles(plan, most)
                      : plan->stages[i].peak_bytes > plan->stages[most].peak_bytes)
            most = i;
    assert_int_equal(NUMBER_AT(answer, "bottleneck"), most);
}

/* "[ Head 0 1 | 2 3 Tail ]", which the log tells. */
static void check_line(const subject *s, const popliner_plan *plan) {
    char line[MOST_BRUTE_UNITS * (MOST_NAME + 3)] = "SUCCESS: [ ";
    for (size_t i = 0; i < plan->num_stages; i++) {
        strcat(line, i > 0 ? "| " : "");
        for (size_t unit = plan->stages[i].first_unit; unit <= plan->stages[i].last_unit; unit++) {
            strcat(line, s->names[unit]);
            strcat(line, " ");
        }
    }
    strcat(line, "]\n");
    assert_contains(run.err, line);
}

void list_arguments(const asked *a, const char *arguments[MOST_ASKED + 20]) {
    static char numbers[4][2][30];
    static size_t next;
    size_t turn = next++ % 4;
    size_t count = add_all(arguments, 0, a->s->arguments);
    count = add_all(arguments, count, a->s->pipeline);
    for (size_t i = 0; i < a->num_arguments; i++)
        arguments[count++] = a->arguments[i];
    if (a->num_ipus > 0) {
        snprintf(numbers[turn][0], sizeof numbers[turn][0], "%zu", a->num_ipus);
        arguments[count++] = "--num-ipus";
        arguments[count++] = numbers[turn][0];
    }
    if (a->memory_bytes > 0) {
        snprintf(numbers[turn][1], sizeof numbers[turn][1], "%" PRIu64, a->memory_bytes);
        arguments[count++] = "--mem-per-tile";
        arguments[count++] = numbers[turn][1];
    }
    arguments[count] = NULL;
}

static void print_question(const asked *a) {
    const char *arguments[MOST_ASKED + 20];
    list_arguments(a, arguments);
    for (size_t i = 0; arguments[i] != NULL; i++)
        print_error("%s ", arguments[i]);
    print_error("\n");
}

/* Expects the exit status with one more option. */
static void expect_status(const asked *a, int status) {
    const char *arguments[MOST_ASKED + 20];
    list_arguments(a, arguments);
    json_decref(run_json(&run, status, arguments));
}

/* Whether a unit is placed where there is no IPU, which is refused. */
static bool is_placed_beyond(const asked *a) {
    for (size_t i = 0; i < a->options.num_placements; i++) {
        bool is_there = a->options.num_mapped_stages == 0 && a->placements[i].ipu < a->num_ipus;
        for (size_t k = 0; k < a->options.num_mapped_stages; k++)
            is_there = is_there || a->options.device_map[k] == a->placements[i].ipu;
        if (!is_there)
            return true;
    }
    return false;
}

/* Uses what is said to be enough, and one less. */
static void check_remedies(const asked *a, const popliner_infeasibility *why) {
    asked other = *a;
    for (size_t i = 0; i < other.num_arguments; i++)
        if (a->arguments[i] == a->texts[i])
            other.arguments[i] = other.texts[i];
    if (why->enough_stages > 0) {
        other.num_ipus = why->enough_stages;
        expect_status(&other, 0);
        other.num_ipus = why->enough_stages - 1;
        if (other.num_ipus > 0 && !is_placed_beyond(&other))
            expect_status(&other, 1);
        other.num_ipus = a->num_ipus;
    }
    if (why->enough_bytes > 0) {
        other.memory_bytes = why->enough_bytes + a->reserve_bytes;
        expect_status(&other, 0);
        other.memory_bytes--;
        expect_status(&other, 1);
    }
}

/* The smallest spread is that of one IPU: where it comes first, the command puts the fullest tile
 * before it. */
static void complete_balance(asked *a) {
    popliner_objective list[POPLINER_NUM_OBJECTIVES] = {POPLINER_OBJECTIVE_MEMORY};
    size_t count = 1;
    if (a->options.num_objectives == 0 || a->objectives[0] != POPLINER_OBJECTIVE_BALANCE ||
        a->options.num_mapped_stages > 0)
        return;
    for (size_t i = 0; i < a->options.num_objectives; i++)
        if (a->objectives[i] != POPLINER_OBJECTIVE_MEMORY)
            list[count++] = a->objectives[i];
    memcpy(a->objectives, list, sizeof list);
    a->options.num_objectives = count;
}

/* Where neither a number of IPUs nor an objective is asked for, the fewest are best. */
static void complete_fewest(asked *a) {
    static const popliner_objective fewest[] = {POPLINER_OBJECTIVE_IPUS, POPLINER_OBJECTIVE_MEMORY,
                                                POPLINER_OBJECTIVE_TRAFFIC};
    const bool is_limited =
        a->options.mem_per_tile < UINT64_MAX - 1 || a->options.num_ipu_limits > 0;
    if (a->num_ipus > 0 || a->s->num_ipus > 0 || a->options.num_objectives > 0 ||
        a->options.num_mapped_stages > 0 || !is_limited)
        return;
    memcpy(a->objectives, fewest, sizeof fewest);
    a->options.objectives = a->objectives;
    a->options.num_objectives = sizeof fewest / sizeof *fewest;
}

void expect_best(asked *a) {
    static size_t num_asked = 0;
    if (!test_takes_case(num_asked++, 11))
        return;
    const char *arguments[MOST_ASKED + 20];
    char difference[200];
    popliner_plan plan;
    complete_fewest(a);
    complete_balance(a);
    brute_answer expected = brute_force(a->s->costs, &a->options);
    bool fits = expected.status == POPLINER_PLAN_OPTIMAL;
    list_arguments(a, arguments);
    if (is_placed_beyond(a)) {
        run_command(&run, arguments);
        assert_int_equal(run.status, 2);
        return;
    }
    json_t *answer = run_json(&run, fits ? 0 : 1, arguments);
    read_plan(a, answer, &plan);
    if (!plan_is(&plan, &expected, difference)) {
        print_question(a);
        fail_msg("%s", difference);
    }
    check_bottleneck(answer, &plan);
    if (fits)
        check_line(a->s, &plan);
    else
        check_remedies(a, &plan.infeasibility);
    json_decref(answer);
    pl_plan_clear(&plan);
}
