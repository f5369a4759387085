/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "command/question.h"

#include <stdlib.h>
#include <string.h>

#include "command/session.h"

void question_free(question *q) {
    free(q->unit_names);
    free(q->counted_units);
    free(q->cut_rules);
    free(q->pairs);
    free(q->placements);
    free(q->ipu_limits);
    free(q->device_map);
}

static popliner_status fail_memory(popliner_error *error) {
    return session_fail(error, POPLINER_ERROR_MEMORY, "not enough memory for the constraints");
}

/* calloc that does not fail for lack of items. */
static void *new_array(size_t count, size_t size) {
    return calloc(count > 0 ? count : 1, size);
}

static popliner_status begin_units(question *q, size_t num_units, popliner_error *error) {
    q->num_units = num_units;
    q->unit_names = new_array(num_units, sizeof *q->unit_names);
    q->counted_units = new_array(num_units, sizeof *q->counted_units);
    return q->unit_names == NULL || q->counted_units == NULL ? fail_memory(error) : POPLINER_OK;
}

popliner_status question_name_chain(question *q, const popliner_chain *chain,
                                    popliner_error *error) {
    popliner_status status = begin_units(q, popliner_chain_num_units(chain), error);
    for (size_t unit = 0; status == POPLINER_OK && unit < q->num_units; unit++) {
        q->counted_units[unit] = popliner_chain_kind(chain, unit) == POPLINER_UNIT_LAYER;
        q->unit_names[unit] = popliner_chain_label(chain, unit);
    }
    return status;
}

popliner_status question_name_file(question *q, const popliner_costs_file *file,
                                   popliner_error *error) {
    const uint8_t *counted = popliner_costs_file_counted_units(file);
    popliner_status status =
        begin_units(q, popliner_costs_num_units(popliner_costs_file_costs(file)), error);
    for (size_t unit = 0; status == POPLINER_OK && unit < q->num_units; unit++) {
        q->unit_names[unit] = popliner_costs_file_unit_name(file, unit);
        q->counted_units[unit] = counted == NULL || counted[unit] != 0;
    }
    return status;
}

size_t question_find_unit(const question *q, const char *name, size_t length) {
    size_t found = SIZE_MAX;
    for (size_t unit = 0; unit < q->num_units; unit++) {
        if (strlen(q->unit_names[unit]) != length || memcmp(q->unit_names[unit], name, length) != 0)
            continue;
        if (q->counted_units[unit] != 0)
            return unit;
        found = found == SIZE_MAX ? unit : found;
    }
    return found;
}

/* The number that a text begins with; *end is what follows. False if there is none. */
static bool parse_number(const char *text, uint64_t most, uint64_t *number, const char **end) {
    *number = 0;
    *end = text;
    for (; **end >= '0' && **end <= '9'; ++*end) {
        uint64_t digit = (uint64_t)(**end - '0');
        if (*number > (most - digit) / 10)
            return false;
        *number = 10 * *number + digit;
    }
    return *end > text;
}

enum { MOST_IPU = 65535 };

static popliner_status parse_device_map(const char *text, size_t **map, size_t *count,
                                        popliner_error *error) {
    *count = 0;
    *map = new_array(strlen(text) / 2 + 1, sizeof **map);
    if (*map == NULL)
        return fail_memory(error);
    for (const char *rest = text;; rest++) {
        uint64_t ipu;
        if (!parse_number(rest, MOST_IPU, &ipu, &rest) || (*rest != ',' && *rest != '\0'))
            return session_fail(error, POPLINER_ERROR_USAGE,
                                "--device-map %s: expected the IPU of each stage, like 0,1,2,0",
                                text);
        (*map)[(*count)++] = (size_t)ipu;
        if (*rest == '\0')
            return POPLINER_OK;
    }
}

popliner_status question_find_pipeline(const options *o, size_t most_ipus,
                                       popliner_pipeline *pipeline, popliner_error *error) {
    size_t *map = NULL;
    size_t num_mapped = 0;
    popliner_status status = o->device_map == NULL
                                 ? POPLINER_OK
                                 : parse_device_map(o->device_map, &map, &num_mapped, error);
    *pipeline = (popliner_pipeline){o->schedule, o->recompute,
                                    o->device_map == NULL ? most_ipus : num_mapped};
    free(map);
    return status;
}

static popliner_status parse_objectives(question *q, const char *text, popliner_error *error) {
    for (const char *name = text; name != NULL;) {
        const char *end = strchr(name, ',');
        size_t length = end == NULL ? strlen(name) : (size_t)(end - name);
        int found = -1;
        for (int i = 0; i < POPLINER_NUM_OBJECTIVES; i++) {
            const char *own = popliner_objective_name((popliner_objective)i);
            if (strlen(own) == length && memcmp(own, name, length) == 0)
                found = i;
        }
        for (size_t i = 0; i < q->solver.num_objectives; i++)
            if (q->objectives[i] == (popliner_objective)found)
                found = -1;
        if (found < 0 || q->solver.num_objectives == POPLINER_NUM_OBJECTIVES)
            return session_fail(error, POPLINER_ERROR_USAGE,
                                "--objective %s: expected some of memory, cycles, traffic, ipus, "
                                "balance, each once, separated by commas",
                                text);
        q->objectives[q->solver.num_objectives++] = (popliner_objective)found;
        name = end == NULL ? NULL : end + 1;
    }
    q->solver.objectives = q->objectives;
    return POPLINER_OK;
}

static popliner_status no_layer(const char *option, const char *text, popliner_error *error) {
    return session_fail(error, POPLINER_ERROR_USAGE,
                        "--%s %s: no layer of this name; --layer-breakdown lists them", option,
                        text);
}

static popliner_status parse_cuts(question *q, const repeated *list, const char *option,
                                  popliner_cut_rule rule, popliner_error *error) {
    for (size_t i = 0; i < list->count; i++) {
        size_t unit = question_find_unit(q, list->texts[i], strlen(list->texts[i]));
        if (unit == SIZE_MAX)
            return no_layer(option, list->texts[i], error);
        if (unit + 1 == q->num_units)
            return session_fail(error, POPLINER_ERROR_USAGE,
                                "--%s %s: nothing comes behind this layer", option, list->texts[i]);
        popliner_cut_rule *place = &q->cut_rules[unit + 1];
        if (*place != POPLINER_CUT_FREE && *place != rule)
            return session_fail(
                error, POPLINER_ERROR_USAGE, "--%s %s: contradicts --%s %s", option, list->texts[i],
                rule == POPLINER_CUT_REQUIRED ? "no-cut-after" : "cut-after", list->texts[i]);
        *place = rule;
    }
    return POPLINER_OK;
}

/* "A,B"; names may hold commas, too, so every comma is tried. */
static popliner_status parse_pairs(question *q, const repeated *list, popliner_error *error) {
    q->pairs = new_array(list->count, sizeof *q->pairs);
    if (q->pairs == NULL)
        return fail_memory(error);
    q->solver.pairs = q->pairs;
    for (size_t i = 0; i < list->count; i++) {
        const char *text = list->texts[i];
        popliner_pair pair = {SIZE_MAX, SIZE_MAX};
        for (const char *comma = strchr(text, ','); comma != NULL; comma = strchr(comma + 1, ',')) {
            pair = (popliner_pair){question_find_unit(q, text, (size_t)(comma - text)),
                                   question_find_unit(q, comma + 1, strlen(comma + 1))};
            if (pair.first_unit != SIZE_MAX && pair.second_unit != SIZE_MAX)
                break;
        }
        if (pair.first_unit == SIZE_MAX || pair.second_unit == SIZE_MAX)
            return session_fail(error, POPLINER_ERROR_USAGE,
                                "--together %s: expected the names of two layers, like 0,5%s", text,
                                strchr(text, ',') == NULL
                                    ? ""
                                    : "; --layer-breakdown lists the layers that there are");
        q->pairs[q->solver.num_pairs++] = pair;
    }
    return POPLINER_OK;
}

static popliner_status parse_placements(question *q, const repeated *list, popliner_error *error) {
    q->placements = new_array(list->count, sizeof *q->placements);
    if (q->placements == NULL)
        return fail_memory(error);
    q->solver.placements = q->placements;
    for (size_t i = 0; i < list->count; i++) {
        const char *text = list->texts[i];
        const char *sign = strrchr(text, '=');
        const char *end = NULL;
        uint64_t ipu = 0;
        if (sign == NULL || !parse_number(sign + 1, MOST_IPU, &ipu, &end) || *end != '\0')
            return session_fail(error, POPLINER_ERROR_USAGE,
                                "--place %s: expected a layer and its IPU, like 3=0", text);
        size_t unit = question_find_unit(q, text, (size_t)(sign - text));
        if (unit == SIZE_MAX)
            return no_layer("place", text, error);
        q->placements[q->solver.num_placements++] = (popliner_placement){unit, (size_t)ipu};
    }
    return POPLINER_OK;
}

/* Adds a limit, in the place of one for the same IPU that is there already. */
static void set_limit(question *q, popliner_ipu_limit limit) {
    size_t i = 0;
    while (i < q->solver.num_ipu_limits && q->ipu_limits[i].ipu != limit.ipu)
        i++;
    q->ipu_limits[i] = limit;
    q->solver.num_ipu_limits += i == q->solver.num_ipu_limits;
}

static popliner_status parse_limits(question *q, const repeated *list,
                                    const popliner_costs_file *file, popliner_error *error) {
    size_t most = file == NULL ? 0 : popliner_costs_file_num_ipu_limits(file);
    for (size_t i = 0; i < list->count; i++)
        most += strlen(list->texts[i]) / 4 + 1;
    q->ipu_limits = new_array(most, sizeof *q->ipu_limits);
    if (q->ipu_limits == NULL)
        return fail_memory(error);
    q->solver.ipu_limits = q->ipu_limits;
    for (size_t i = 0; file != NULL && i < popliner_costs_file_num_ipu_limits(file); i++)
        set_limit(q, popliner_costs_file_ipu_limit(file, i));
    for (size_t i = 0; i < list->count; i++) {
        for (const char *rest = list->texts[i];; rest++) {
            uint64_t ipu = 0;
            uint64_t bytes = 0;
            if (!parse_number(rest, MOST_IPU, &ipu, &rest) || *rest != '=' ||
                !parse_number(rest + 1, INT64_MAX, &bytes, &rest) ||
                (*rest != ',' && *rest != '\0'))
                return session_fail(
                    error, POPLINER_ERROR_USAGE,
                    "--ipu-mem-per-tile %s: expected IPUs and bytes, like 0=500000,3=600000",
                    list->texts[i]);
            set_limit(q, (popliner_ipu_limit){(size_t)ipu, bytes});
            if (*rest == '\0')
                break;
        }
    }
    return POPLINER_OK;
}

popliner_status question_ask(question *q, const options *o, uint64_t limit_bytes, size_t most_ipus,
                             popliner_objective usual, const popliner_costs_file *file,
                             popliner_error *error) {
    q->solver = (popliner_solver_options)POPLINER_SOLVER_OPTIONS_INIT;
    q->solver.max_stages = most_ipus;
    q->solver.max_stage_bytes = limit_bytes;
    q->solver.slack_percent = o->slack_percent;
    q->solver.time_limit_seconds = o->time_limit_seconds;
    q->solver.min_units = o->min_layers;
    q->solver.max_units = o->max_layers;
    q->solver.counted_units = q->counted_units;
    q->cut_rules = new_array(q->num_units, sizeof *q->cut_rules);
    if (q->cut_rules == NULL)
        return fail_memory(error);
    q->solver.cut_rules = q->cut_rules;
    popliner_status status = question_find_pipeline(o, most_ipus, &q->pipeline, error);
    if (status == POPLINER_OK && o->objective != NULL) {
        status = parse_objectives(q, o->objective, error);
    } else if (status == POPLINER_OK && usual != POPLINER_NUM_OBJECTIVES) {
        q->objectives[q->solver.num_objectives++] = usual;
        q->solver.objectives = q->objectives;
    }
    if (status == POPLINER_OK)
        status = parse_cuts(q, &o->cut_after, "cut-after", POPLINER_CUT_REQUIRED, error);
    if (status == POPLINER_OK)
        status = parse_cuts(q, &o->no_cut_after, "no-cut-after", POPLINER_CUT_FORBIDDEN, error);
    if (status == POPLINER_OK)
        status = parse_pairs(q, &o->together, error);
    if (status == POPLINER_OK)
        status = parse_placements(q, &o->place, error);
    if (status == POPLINER_OK)
        status = parse_limits(q, &o->ipu_mem_per_tile, file, error);
    if (status == POPLINER_OK && o->device_map != NULL) {
        status =
            parse_device_map(o->device_map, &q->device_map, &q->solver.num_mapped_stages, error);
        q->solver.device_map = q->device_map;
    }
    return status;
}
