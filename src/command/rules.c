/* Values that name layers: the rules of --require and what becomes of each, --layers, modules.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "command/option_table.h"
#include "command/session.h"

enum { RULE_CUT, RULE_NO_CUT, RULE_TOGETHER, RULE_PLACE, RULE_LAYERS };

/* ---- texts ---- */

/* Keeps what all rules allow. */
static void narrow_layers(asked_rules *rules, bool has_least, uint64_t least, uint64_t most) {
    if (has_least && (rules->min_layers == MIN_LAYERS_USUAL || least > rules->min_layers))
        rules->min_layers = (size_t)least;
    if (most > 0 && (rules->max_layers == 0 || most < rules->max_layers))
        rules->max_layers = (size_t)most;
}

/* "A..B", "A..", "..B" or "A". */
static bool parse_layers(const char *text, asked_rules *rules) {
    enum { MOST = 1000000 };
    const char *dots = strstr(text, "..");
    const char *second = dots == NULL ? text : dots + 2;
    const char *end = text;
    const bool has_least = dots != text;
    const bool has_most = *second != '\0';
    uint64_t least = 0;
    uint64_t most = 0;
    if ((has_least && !number_take(text, MOST, &least, &end)) || (dots != NULL && end != dots))
        return false;
    if (has_most && (!number_take(second, MOST, &most, &end) || *end != '\0' || most < least))
        return false;
    if (has_most ? most == 0 : !has_least)
        return false;
    narrow_layers(rules, has_least, least, most);
    return true;
}

/* The IPU of "LAYER=IPU"; the name is what is before the last '='. */
static bool parse_place(const char *text, size_t length, asked_rule *rule, problem *why) {
    uint64_t ipu = 0;
    const char *end = NULL;
    size_t name = length;
    while (name > 0 && text[name] != '=')
        name--;
    rule->lengths[0] = name;
    if (name > 0 && number_take(text + name + 1, POPLINER_MAX_IPU, &ipu, &end) &&
        end == text + length) {
        rule->ipu = (size_t)ipu;
        return true;
    }
    const size_t colon = value_span(text, ":,");
    const bool is_meant = text[colon] == ':' && colon > 0 && colon + 1 < length;
    return problem_is(why,
                      is_meant ? "expected LAYER=IPU; did you mean place:%.*s=%.*s?"
                               : "expected LAYER=IPU, like place:3=0,5=1",
                      (int)colon, text, (int)(length - colon - 1), text + colon + 1);
}

static bool parse_rules(const char *text, void *field, problem *why) {
    const size_t length = strcspn(text, ":");
    asked_rules *rules = field;
    asked_rule rule = {option_word(text, length, why), .value = text};
    if (rule.kind < 0)
        return false;
    if (text[length] == '\0' || text[length + 1] == '\0')
        return false;
    if (rule.kind == RULE_LAYERS)
        return parse_layers(text + length + 1, rules) ||
               problem_is(why, "expected layers:A..B, like layers:1..4, layers:2.. or layers:..4");
    size_t num_members = 0;
    for (const char *member = text + length + 1; member != NULL; num_members++) {
        const size_t size = value_span(member, ",");
        const size_t name = rule.kind == RULE_TOGETHER && num_members > 0;
        rule.names[name] = member;
        rule.lengths[name] = size;
        if (size == 0)
            return problem_is(why, "expected the name of a layer before and after each ','");
        if (rule.kind == RULE_PLACE && !parse_place(member, size, &rule, why))
            return false;
        why->lacks_memory = (rule.kind != RULE_TOGETHER || num_members > 0) &&
                            !list_add(&rules->items, &rules->count, &rule, sizeof rule);
        if (why->lacks_memory)
            return false;
        member = member[size] == ',' ? member + size + 1 : NULL;
    }
    return (rule.kind != RULE_TOGETHER || num_members > 1) ||
           problem_is(why, "expected the names of two layers or more, like together:0,5");
}

const value_kind kind_rules = {
    .parse = parse_rules,
    .is_list = true,
    .expected = "a rule: cut:3, no-cut:3, together:1,3, place:3=0 or layers:1..4",
    .words = (const kind_word[]){
        {"cut", RULE_CUT, "a cut after each of these layers", "cut:L,..."},
        {"no-cut", RULE_NO_CUT, "no cut after any of them", "no-cut:L,..."},
        {"together", RULE_TOGETHER, "all of them on one IPU", "together:L,L,..."},
        {"place", RULE_PLACE, "a layer on IPU I", "place:L=I,..."},
        {"layers", RULE_LAYERS, "how many layers each stage has; 0.. allows Head or Tail alone",
         "layers:A..B"},
        {.name = NULL}}};

/* ---- units ---- */

static popliner_status add_cut(request *r, const asked_rule *rule, size_t unit,
                               popliner_error *error) {
    const popliner_cut_rule own =
        rule->kind == RULE_CUT ? POPLINER_CUT_REQUIRED : POPLINER_CUT_FORBIDDEN;
    if (unit + 1 == r->num_units)
        return fail_usage(error, "--require %s: nothing comes after layer %.*s", rule->value,
                          (int)rule->lengths[0], rule->names[0]);
    popliner_cut_rule *place = &r->cut_rules[unit + 1];
    if (*place != POPLINER_CUT_FREE && *place != own)
        return fail_usage(error, "--require %s: contradicts --require %s:%.*s", rule->value,
                          own == POPLINER_CUT_REQUIRED ? "no-cut" : "cut", (int)rule->lengths[0],
                          rule->names[0]);
    *place = own;
    return POPLINER_OK;
}

static bool is_same_pair(const popliner_constraint *a, const popliner_constraint *b) {
    return (a->unit == b->unit && a->second_unit == b->second_unit) ||
           (a->unit == b->second_unit && a->second_unit == b->unit);
}

static popliner_status add_pair(request *r, const asked_rule *rule, popliner_constraint pair,
                                popliner_error *error) {
    for (size_t k = 0; k < r->solver.num_pairs; k++)
        if (is_same_pair(&r->pairs[k], &pair))
            return fail_usage(error, "--require %s: %.*s and %.*s are together already",
                              rule->value, (int)rule->lengths[0], rule->names[0],
                              (int)rule->lengths[1], rule->names[1]);
    r->pairs[r->solver.num_pairs++] = pair;
    return POPLINER_OK;
}

static popliner_status add_place(request *r, const options *o, const asked_rule *rule, size_t unit,
                                 popliner_error *error) {
    const char *map = options_map_name(o);
    for (size_t i = 0; i < r->solver.num_placements; i++)
        if (r->placements[i].unit == unit)
            return fail_usage(error, "--require %s: layer %.*s has an IPU already", rule->value,
                              (int)rule->lengths[0], rule->names[0]);
    if (!request_has_ipu(r, o, rule->ipu))
        return fail_usage(error, "--require %s: no stage can run on IPU %zu; see %s", rule->value,
                          rule->ipu,
                          map != NULL         ? map
                          : o->total_ipus > 0 ? "--total-ipus"
                                              : "--num-ipus");
    r->placements[r->solver.num_placements++] = (popliner_constraint){
        .kind = POPLINER_CONSTRAINT_PLACEMENT, .unit = unit, .ipu = rule->ipu};
    return POPLINER_OK;
}

popliner_status request_take_rules(request *r, const options *o, popliner_error *error) {
    const asked_rules *rules = &o->require;
    r->cut_rules = calloc(r->num_units + 1, sizeof *r->cut_rules);
    r->pairs = calloc(rules->count + 1, sizeof *r->pairs);
    r->placements = calloc(rules->count + 1, sizeof *r->placements);
    if (r->cut_rules == NULL || r->pairs == NULL || r->placements == NULL)
        return fail_memory(error, "the constraints");
    r->solver.cut_rules = r->cut_rules;
    r->solver.pairs = r->pairs;
    r->solver.placements = r->placements;
    for (size_t i = 0; i < rules->count; i++) {
        const asked_rule *rule = &rules->items[i];
        size_t units[2] = {0, 0};
        const size_t num_names = rule->kind == RULE_TOGETHER ? 2 : 1;
        for (size_t k = 0; k < num_names; k++) {
            units[k] = request_find_unit(r, rule->names[k], rule->lengths[k]);
            if (units[k] == SIZE_MAX)
                return request_no_unit(r, "require", rule->value, rule->names[k], rule->lengths[k],
                                       error);
        }
        const popliner_constraint pair = {
            .kind = POPLINER_CONSTRAINT_PAIR, .unit = units[0], .second_unit = units[1]};
        TRY(rule->kind == RULE_TOGETHER ? add_pair(r, rule, pair, error)
            : rule->kind == RULE_PLACE  ? add_place(r, o, rule, units[0], error)
                                        : add_cut(r, rule, units[0], error));
    }
    return POPLINER_OK;
}

/* ---- names of layers and modules ---- */

static bool parse_range_of_layers(const char *text, void *field, problem *why) {
    static const char only[] = "only:";
    asked_layers *layers = field;
    (void)why;
    *layers = (asked_layers){.value = text, .only_layers = strncmp(text, only, strlen(only)) == 0};
    text += layers->only_layers ? strlen(only) : 0;
    if (strcmp(text, "all") == 0)
        return true;
    size_t first = value_span(text, ".");
    while (text[first] == '.' && text[first + 1] != '.')
        first += 1 + value_span(text + first + 1, ".");
    const char *second = text[first] == '.' ? text + first + 2 : text;
    layers->names[0] = text;
    layers->lengths[0] = first;
    layers->names[1] = second;
    layers->lengths[1] = strlen(second);
    return layers->lengths[0] > 0 || layers->lengths[1] > 0;
}

const value_kind kind_layers = {
    .parse = parse_range_of_layers,
    .expected = "layers like 2..5, 2.. or ..5, or all",
    .words =
        (const kind_word[]){{"all", 0, "all layers", NULL},
                            {"only", 0, "also ignore operations outside all layers", "only:A..B"},
                            {.name = NULL}}};

/* "embed,model.layers.{},norm" */
static bool parse_modules(const char *text, void *field, problem *why) {
    const char *hole = strstr(text, "{}");
    asked_modules *m = field;
    free(m->copy);
    free(m->names);
    *m = (asked_modules){.copy = malloc(strlen(text) + 2),
                         .names = calloc(strlen(text) + 1, sizeof *m->names)};
    why->lacks_memory = m->copy == NULL || m->names == NULL;
    char *to = m->copy;
    for (const char *name = why->lacks_memory ? NULL : text; name != NULL;) {
        const size_t length = value_span(name, ",");
        char *begin = to;
        if (length == 0)
            return problem_is(why, "expected the name of a module before and after each ','");
        to = value_copy(name, length, to);
        if (strstr(begin, "{}") == NULL) {
            m->names[m->count++] = begin;
        } else {
            m->layer_path = strcmp(begin, "{}") == 0 ? NULL : begin;
            m->num_head = m->count;
        }
        name = name[length] == '\0' ? NULL : name + length + 1;
    }
    return !why->lacks_memory && hole != NULL && strstr(hole + 2, "{}") == NULL;
}

const value_kind kind_modules = {
    .parse = parse_modules,
    .expected = "one member with {}, the layer's name, like embed,model.layers.{},norm"};
