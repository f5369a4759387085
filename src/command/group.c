/* Reports of one model: their layers are the same, their units are put together.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "command/group.h"

#include <stdlib.h>
#include <string.h>

#include "command/commands.h"
#include "command/progress.h"

void group_free(group *g) {
    for (size_t i = 0; g->members != NULL && i < g->names.count; i++) {
        free(g->members[i].units);
        popliner_costs_free(g->members[i].costs);
        popliner_certificate_free(g->evaluations[i]);
        session_free(&g->members[i].session);
    }
    free(g->members);
    free(g->are_training);
    free(g->evaluations);
    free(g->bounds);
    free(g->units.names);
    free(g->units.counted);
    report_names_free(&g->names);
    *g = (group){0};
}

/* ---- reading ---- */

static bool is_layer(const popliner_chain *chain, size_t unit) {
    return chain->unit_kinds[unit] == POPLINER_UNIT_LAYER;
}

/* Finds the layers of a chain, which other units are before and after. */
static void find_layers(member *m) {
    size_t begin = 0;
    size_t end = m->chain->num_units;
    while (begin < end && !is_layer(m->chain, begin))
        begin++;
    while (end > begin && !is_layer(m->chain, end - 1))
        end--;
    m->parts[PART_LAYERS] = begin;
    m->parts[PART_LAYERS + 1] = end;
    m->parts[NUM_PARTS] = m->chain->num_units;
}

/* Reads one report, with the same options. The session stays where it is: its listener knows it. */
static popliner_status open_member(const session *s, group *g, size_t i, popliner_error *error) {
    member *m = &g->members[i];
    m->name = g->names.names[i];
    m->info = (popliner_profile_info)POPLINER_PROFILE_INFO_INIT;
    m->session = (session){.options = s->options};
    m->session.options.profile = g->names.paths[i];
    m->session.options.reports = (repeated){NULL, 0};
    session_begin(&m->session);
    m->session.log.about = m->name;
    const popliner_memory_model model =
        session_memory_model(&m->session, POPLINER_MEMORY_MODEL_FULL);
    popliner_status status = session_open(&m->session, error);
    if (status == POPLINER_OK)
        status = popliner_profile_get_info(popliner_analysis_profile(m->session.analysis), &m->info,
                                           error);
    if (status == POPLINER_OK)
        status = popliner_analysis_chain(m->session.analysis, model, &m->chain, error);
    if (status == POPLINER_OK)
        status =
            popliner_analysis_is_training(m->session.analysis, model, &g->are_training[i], error);
    if (status == POPLINER_OK)
        find_layers(m);
    return status;
}

/* Whether there is something to split in each; "whole" always can be evaluated. */
static popliner_status can_split_all(session *s, group *g, bool *can, popliner_error *error) {
    popliner_status status = POPLINER_OK;
    const bool is_whole = s->options.evaluate != NULL && strcmp(s->options.evaluate, "whole") == 0;
    *can = true;
    for (size_t i = 0; status == POPLINER_OK && !is_whole && i < g->names.count; i++) {
        bool own = true;
        status = can_split(&g->members[i].session, &own, error);
        *can = *can && own;
    }
    s->failed_softly = s->failed_softly || !*can;
    return status;
}

/* ---- the same layers ---- */

static const char *label_of(const member *m, size_t unit) {
    return m->chain->unit_labels[unit];
}

static bool has_layer(const member *m, const char *label) {
    for (size_t i = m->parts[PART_LAYERS]; i < m->parts[PART_LAYERS + 1]; i++)
        if (strcmp(label_of(m, i), label) == 0)
            return true;
    return false;
}

/* A layer of one chain that the other lacks, or has elsewhere. */
static popliner_status fail_layer(const char *label, const member *has, const member *other,
                                  popliner_error *error) {
    if (!has_layer(other, label))
        return fail_usage(error,
                          "--report: %.200s has no layer %.200s, which %.200s has; reports have "
                          "one split where they have the same layers: see --layer-name-regex, "
                          "or give one of them",
                          other->name, label, has->name);
    return fail_usage(error,
                      "--report: layer %.200s comes at another place in %.200s than in %.200s; "
                      "reports have one split where layers are in the same order: see "
                      "--layer-order, or give one of them",
                      label, other->name, has->name);
}

/* Whether two chains have the same layers. */
static popliner_status compare_layers(const member *a, const member *b, popliner_error *error) {
    size_t i = a->parts[PART_LAYERS];
    size_t k = b->parts[PART_LAYERS];
    for (; i < a->parts[PART_LAYERS + 1] || k < b->parts[PART_LAYERS + 1]; i++, k++) {
        const char *of_a = i < a->parts[PART_LAYERS + 1] ? label_of(a, i) : NULL;
        const char *of_b = k < b->parts[PART_LAYERS + 1] ? label_of(b, k) : NULL;
        if (of_a != NULL && of_b != NULL && strcmp(of_a, of_b) == 0)
            continue;
        /* of two that are in each other's place, one may be missing altogether */
        if (of_b != NULL && (of_a == NULL || !has_layer(a, of_b)))
            return fail_layer(of_b, b, a, error);
        return fail_layer(of_a, a, b, error);
    }
    return POPLINER_OK;
}

/* ---- the units of all ---- */

/* The place of a label among the units of the group from `place` on, or their number. */
static size_t find_unit(const group *g, size_t place, const char *label) {
    while (place < g->units.count && strcmp(g->units.names[place], label) != 0)
        place++;
    return place;
}

/* Takes the same part of each chain: what is in any of them, and whose it is. */
static void join_part(group *g, int part) {
    const size_t place = g->units.count;
    for (size_t i = 0; i < g->names.count; i++) {
        const member *m = &g->members[i];
        for (size_t own = m->parts[part]; own < m->parts[part + 1]; own++) {
            if (find_unit(g, place, label_of(m, own)) < g->units.count)
                continue;
            g->units.names[g->units.count] = label_of(m, own);
            g->units.counted[g->units.count++] = is_layer(m->chain, own);
        }
    }
    for (size_t i = 0; i < g->names.count; i++) {
        const member *m = &g->members[i];
        for (size_t unit = place; unit < g->units.count; unit++)
            m->units[unit] = SIZE_MAX;
        for (size_t own = m->parts[part]; own < m->parts[part + 1]; own++)
            m->units[find_unit(g, place, label_of(m, own))] = own;
    }
}

/* The chains have the same layers. */
static popliner_status join_units(group *g, popliner_error *error) {
    size_t most = 1;
    for (size_t i = 0; i < g->names.count; i++)
        most += g->members[i].chain->num_units;
    g->units.names = calloc(most, sizeof *g->units.names);
    g->units.counted = calloc(most, sizeof *g->units.counted);
    bool has_memory = g->units.names != NULL && g->units.counted != NULL;
    for (size_t i = 0; i < g->names.count; i++) {
        g->members[i].units = calloc(most, sizeof *g->members[i].units);
        has_memory = has_memory && g->members[i].units != NULL;
    }
    if (!has_memory)
        return fail_memory(error, "the reports");
    for (int part = 0; part < NUM_PARTS; part++)
        join_part(g, part);
    return POPLINER_OK;
}

own_units group_own_units(const member *m, size_t first, size_t last) {
    while (first < last && m->units[first] == SIZE_MAX)
        first++;
    while (last > first && m->units[last] == SIZE_MAX)
        last--;
    return (own_units){m->units[first], m->units[last]};
}

/* ---- both ---- */

static popliner_status check_members(const session *s, group *g, popliner_error *error) {
    const member *first = &g->members[0];
    popliner_status status = POPLINER_OK;
    for (size_t i = 1; status == POPLINER_OK && i < g->names.count; i++) {
        const member *m = &g->members[i];
        if (s->options.lists[LIST_LIMITS].all.bytes == 0 &&
            m->info.bytes_per_tile != first->info.bytes_per_tile)
            status = fail_usage(error,
                                "--report: a tile has %llu bytes in %.200s and %llu in %.200s; "
                                "give --mem-per-tile",
                                (unsigned long long)first->info.bytes_per_tile, first->name,
                                (unsigned long long)m->info.bytes_per_tile, m->name);
        else
            status = compare_layers(first, m, error);
        if (m->info.layout_gap_bytes > g->members[g->tightest].info.layout_gap_bytes)
            g->tightest = i;
    }
    return status;
}

popliner_status group_open(group *g, session *s, bool *can, popliner_error *error) {
    *can = false;
    popliner_status status = report_names_find(&s->options, &g->names, error);
    if (status != POPLINER_OK)
        return status;
    progress_expects_files(g->names.count);
    g->members = calloc(g->names.count, sizeof *g->members);
    g->are_training = calloc(g->names.count, sizeof *g->are_training);
    g->evaluations = calloc(g->names.count, sizeof(popliner_certificate *));
    if (g->members == NULL || g->are_training == NULL || g->evaluations == NULL)
        return fail_memory(error, "the reports");
    for (size_t i = 0; status == POPLINER_OK && i < g->names.count; i++)
        status = open_member(s, g, i, error);
    if (status == POPLINER_OK)
        status = can_split_all(s, g, can, error);
    if (status == POPLINER_OK && *can)
        status = check_members(s, g, error);
    return status == POPLINER_OK && *can ? join_units(g, error) : status;
}
