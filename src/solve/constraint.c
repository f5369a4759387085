/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "solve/constraint.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "base/growth.h"
#include "base/structs.h"

static void append(pl_constraints *list, popliner_constraint constraint) {
    if (pl_grow(&list->items, &list->capacity, list->count + 1, sizeof *list->items))
        list->items[list->count++] = constraint;
    else
        list->failed = true;
}

/* ---- the table ---- */

#define AT(member) offsetof(popliner_solver_options, member)

/* Name, words, meaning, least, is_of_ipu, number, key. */
static const pl_constraint_kind kinds[POPLINER_NUM_CONSTRAINT_KINDS] = {
    [POPLINER_CONSTRAINT_NUM_IPUS] = {"num_ipus", "%N", "at most %N stage%s", 0, false, 0, NULL},
    [POPLINER_CONSTRAINT_DEVICE_MAP] = {"device_map", "of %N stages",
                                        "exactly %N stages, none of them empty", 0, false, 0, NULL},
    [POPLINER_CONSTRAINT_MIN_UNITS] = {"require layers:", "%N..", "at least %N layer%s in a stage",
                                       2, false, AT(min_units), "min_layers"},
    [POPLINER_CONSTRAINT_MAX_UNITS] = {"require layers:", "..%N", "at most %N layer%s in a stage",
                                       1, false, AT(max_units), "max_layers"},
    [POPLINER_CONSTRAINT_REQUIRED_CUT] = {"require cut:", "%U", "a cut between %W", 0, false, 0,
                                          NULL},
    [POPLINER_CONSTRAINT_FORBIDDEN_CUT] = {"require no-cut:", "%U", "no cut between %W", 0, false,
                                           0, NULL},
    [POPLINER_CONSTRAINT_PAIR] = {"require together:", "%U,%V", "%V on one %D", 0, true, 0, NULL},
    [POPLINER_CONSTRAINT_PLACEMENT] = {"require place:", "%U=%I", "%U on %I", 0, true, 0, NULL},
};

const pl_constraint_kind *pl_constraint_of(popliner_constraint_kind kind) {
    return &kinds[kind];
}

size_t pl_constraint_number(const popliner_solver_options *o, popliner_constraint_kind kind) {
    return kinds[kind].key == NULL
               ? 0
               : *(const size_t *)(const void *)((const char *)o + kinds[kind].number);
}

/* Appends pairs or placements. */
static void append_items(pl_constraints *list, popliner_constraint_kind kind,
                         const popliner_constraint *items, size_t count) {
    for (size_t i = 0; i < count; ++i) {
        popliner_constraint own = items[i];
        own.kind = kind;
        append(list, own);
    }
}

popliner_status pl_constraints_list(const popliner_solver_options *options, size_t num_units,
                                    pl_constraints *list, popliner_error *error) {
    const popliner_solver_options *o = options;
    const bool is_mapped = o->num_mapped_stages > 0;
    append(list, (popliner_constraint){.kind = is_mapped ? POPLINER_CONSTRAINT_DEVICE_MAP
                                                         : POPLINER_CONSTRAINT_NUM_IPUS,
                                       .number = is_mapped ? o->num_mapped_stages : o->num_ipus});
    for (int kind = 0; kind < POPLINER_NUM_CONSTRAINT_KINDS; ++kind) {
        const size_t number = pl_constraint_number(o, (popliner_constraint_kind)kind);
        if (number > 0)
            append(list,
                   (popliner_constraint){.kind = (popliner_constraint_kind)kind, .number = number});
    }
    for (size_t unit = 1; o->cut_rules != NULL && unit < num_units; ++unit)
        if (o->cut_rules[unit] != POPLINER_CUT_FREE)
            append(list, (popliner_constraint){.kind = o->cut_rules[unit] == POPLINER_CUT_REQUIRED
                                                           ? POPLINER_CONSTRAINT_REQUIRED_CUT
                                                           : POPLINER_CONSTRAINT_FORBIDDEN_CUT,
                                               .unit = unit - 1});
    append_items(list, POPLINER_CONSTRAINT_PAIR, o->pairs, o->num_pairs);
    append_items(list, POPLINER_CONSTRAINT_PLACEMENT, o->placements, o->num_placements);
    return list->failed ? pl_fail_memory(error, "the constraints") : POPLINER_OK;
}

bool pl_constraint_may_go(const popliner_constraint *c) {
    return c->kind != POPLINER_CONSTRAINT_NUM_IPUS && c->kind != POPLINER_CONSTRAINT_DEVICE_MAP;
}

/* Drops a pair or placement of a list that has it. */
static void drop(const popliner_constraint *list, size_t *count, const popliner_constraint *c) {
    popliner_constraint *items = (popliner_constraint *)list;
    size_t i = 0;
    while (items[i].unit != c->unit || items[i].second_unit != c->second_unit ||
           items[i].ipu != c->ipu)
        ++i;
    items[i] = items[--*count];
}

void pl_constraint_leave_out(pl_owned_options *own, const popliner_constraint *c) {
    popliner_solver_options *o = &own->options;
    if (kinds[c->kind].key != NULL)
        *(size_t *)(void *)((char *)o + kinds[c->kind].number) = 0;
    else if (c->kind == POPLINER_CONSTRAINT_PAIR)
        drop(o->pairs, &o->num_pairs, c);
    else if (c->kind == POPLINER_CONSTRAINT_PLACEMENT)
        drop(o->placements, &o->num_placements, c);
    else
        ((popliner_cut_rule *)o->cut_rules)[c->unit + 1] = POPLINER_CUT_FREE;
}

static bool is_same(const popliner_constraint *a, const popliner_constraint *b) {
    return a->kind == b->kind && a->number == b->number && a->unit == b->unit &&
           a->second_unit == b->second_unit && a->ipu == b->ipu;
}

popliner_status pl_constraints_leave_out(pl_owned_options *own, size_t num_units,
                                         popliner_error *error) {
    const popliner_constraint *it = own->options.left_out;
    pl_constraints list = {0};
    bool is_there = false;
    if (it == NULL)
        return POPLINER_OK;
    popliner_status status = pl_constraints_list(&own->options, num_units, &list, error);
    for (size_t i = 0; i < list.count; ++i)
        is_there = is_there || (is_same(&list.items[i], it) && pl_constraint_may_go(it));
    free(list.items);
    if (status == POPLINER_OK && !is_there)
        return pl_fail(error, POPLINER_ERROR_USAGE, "left_out: no such constraint may be left out");
    if (status == POPLINER_OK)
        pl_constraint_leave_out(own, it);
    return status;
}

/* ---- Names of options ---- */

#define NAME(member)                                                                               \
    { #member, offsetof(popliner_option_names, member) }

/* The members that are names of options, each with its default. */
static const struct {
    const char *otherwise;
    size_t offset;
} names_of_options[] = {
    NAME(layer_name_regex),
    NAME(first_layer_regex),
    {"", offsetof(popliner_option_names, layer_name_regex_hint)},
    NAME(ipu),
    NAME(num_ipus),
    NAME(mem_per_tile),
    NAME(reserve),
    NAME(section),
    NAME(modules),
    NAME(method),
    NAME(objectives),
    NAME(slack_percent),
    NAME(time_limit_seconds),
    NAME(device_map),
    NAME(pairs),
    NAME(placements),
    NAME(ipu_speeds),
    NAME(link_bandwidth),
    NAME(ipu_links),
    NAME(total_ipus),
};

enum { NUM_NAMES = sizeof names_of_options / sizeof *names_of_options };

/* Returns a name of the caller; NULL: none. */
static const char *name_at(const popliner_option_names *names, size_t i) {
    const char *name;
    memcpy(&name, (const char *)names + names_of_options[i].offset, sizeof name);
    return name;
}

const char *pl_option_name(const popliner_solver_options *options, const char *member) {
    const popliner_option_names *names = options->option_names;
    size_t i = 0;
    while (i < NUM_NAMES && strcmp(names_of_options[i].otherwise, member) != 0)
        ++i;
    const char *own =
        names != NULL && i < NUM_NAMES && names_of_options[i].offset < names->struct_size
            ? name_at(names, i)
            : NULL;
    return own != NULL ? own : member;
}

popliner_status pl_option_names_take(const popliner_option_names *callers,
                                     popliner_option_names *names, popliner_error *error) {
    *names = (popliner_option_names)POPLINER_OPTION_NAMES_INIT;
    popliner_status status =
        pl_struct_take(names, sizeof *names, callers, "popliner_option_names", error);
    for (size_t i = 0; i < NUM_NAMES; i++)
        if (name_at(names, i) == NULL)
            memcpy((char *)names + names_of_options[i].offset, &names_of_options[i].otherwise,
                   sizeof names_of_options[i].otherwise);
    for (size_t kind = 0; kind < POPLINER_NUM_CONSTRAINT_KINDS; kind++)
        if (names->constraints[kind] == NULL)
            names->constraints[kind] = kinds[kind].name;
    return status;
}
