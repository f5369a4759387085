/* Templates of plans, and the values that they name.
 *
 * In a template {{NAME}} is a value and {{NAME|TEXT}} one with a separator, or an indent. Sections
 * end with {{/}}: {{?NAME}} is left out where the value is empty, {{!NAME}} where it is not;
 * {{#stages}} is repeated for each stage, {{#later}} for each but the first, with TEXT between them
 * in {{#stages|TEXT}}.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "emit/emit_data.h"
#include "pipeline/pipeline.h"

/* Where a value is: in a section of a stage, or of the plan (0). */
typedef struct place {
    const pl_emission *e;
    size_t stage;
    const char *separator;
} place;

/* Appends a value; nothing if there is none. */
typedef void value_adder(const place *p, pl_text *text);

static void add_separator(size_t i, const char *separator, pl_text *text) {
    pl_text_add(text, i > 0 ? separator : "");
}

/* ---- devices ---- */

/* The devices of the ranks, each after a prefix; and where rank k does not have device k. */
static void add_devices(const place *p, pl_text *text) {
    const pl_emission *e = p->e;
    pl_emit_add_ipus(e, p->separator, text);
}

static void add_visible(const place *p, pl_text *text) {
    const pl_emission *e = p->e;
    if (e->has_own_order)
        pl_emit_add_ipus(e, "", text);
}

static void add_dashes(const place *p, pl_text *text) {
    (void)p;
    pl_text_add(text, "--");
}

/* Returns how many IPUs PopTorch reserves: a power of two, or a multiple of 64. */
static size_t reserved_ipus(size_t num_ipus) {
    enum { POD = 64 };
    size_t power = 1;
    if (num_ipus > POD)
        return (num_ipus + POD - 1) / POD * POD;
    while (power < num_ipus)
        power *= 2;
    return power;
}

/* ---- layers of stages ---- */

/* IPUs that are left out have none. */
static void add_counts_by_ipu(const place *p, pl_text *text) {
    const pl_emission *e = p->e;
    for (size_t ipu = 0, i = 0; ipu <= e->max_ipu; ipu++) {
        const bool is_used = e->stages[i].ipu == ipu;
        pl_text_format(text, "%s%zu", ipu > 0 ? p->separator : "",
                       is_used ? e->stages[i].num_layers : 0);
        i += is_used && i + 1 < e->num_stages;
    }
}

static void repeat(pl_text *text, const char *letter, size_t count) {
    for (size_t i = 0; i < count; i++)
        pl_text_add(text, letter);
}

/* A stage of Megatron-Core's layout. */
static void add_letters(const place *p, pl_text *text) {
    repeat(text, "t", p->e->stages[p->stage].num_layers);
    repeat(text, "m", p->e->stages[p->stage].num_mtp);
}

/* The last characters of the names of layers. */
static void add_symbols(const place *p, pl_text *text) {
    const pl_emit_stage *stage = &p->e->stages[p->stage];
    for (size_t k = 0; k < stage->num_layers; k++) {
        const char *name = p->e->layers[stage->first_layer + k];
        pl_text_add(text, name + strlen(name) - 1);
    }
}

/* Which layers have their experts on the host: the first ones, or a pattern of tensors. */
static void add_host(const place *p, pl_text *text) {
    const pl_emission *e = p->e;
    pl_emit_add_host_layers(e, text);
}

/* ---- MindFormers' settings ---- */

/* The offset of a stage to the even split, or whether it recomputes. */
static void add_setting(const pl_emission *e, size_t i, bool of_recomputing, pl_text *text) {
    const size_t even = e->num_layers / e->num_stages;
    const size_t own = e->stages[i].num_layers;
    if (of_recomputing)
        pl_text_add(text, strcmp(e->stage_choices[i], "full") == 0 ? "true" : "false");
    else
        pl_text_format(text, "%s%zu", own < even ? "-" : "", own < even ? even - own : own - even);
}

/* Appends a list of settings, with several stages on each IPU a row of them for each. */
static void add_settings(const pl_emission *e, bool of_recomputing, pl_text *text) {
    const bool has_rows = e->num_stages > e->num_ipus;
    for (size_t i = 0; i < e->num_stages; i++) {
        const bool begins = has_rows && i % e->num_ipus == 0;
        pl_text_add(text, i == 0 ? begins ? "[[" : "[" : begins ? "], [" : ", ");
        add_setting(e, i, of_recomputing, text);
    }
    pl_text_add(text, has_rows ? "]]" : "]");
}

static void add_offsets(const place *p, pl_text *text) {
    const pl_emission *e = p->e;
    add_settings(e, false, text);
}

static void add_recomputed(const place *p, pl_text *text) {
    const pl_emission *e = p->e;
    if (e->keeps && e->stage_choices != NULL)
        add_settings(e, true, text);
    else if (e->keeps)
        pl_text_add(text, e->recompute == POPLINER_RECOMPUTE_FULL ? "true" : "false");
}

/* PopART's kind of recomputation. */
static void add_recomputation(const place *p, pl_text *text) {
    const pl_emission *e = p->e;
    if (e->keeps && e->stage_choices == NULL && e->recompute != POPLINER_RECOMPUTE_NONE)
        pl_text_add(text, e->recompute == POPLINER_RECOMPUTE_FULL ? "Pipeline" : "Standard");
}

/* ---- modules ---- */

static bool is_everywhere(const char *module) {
    static const char end[] = "rotary_emb";
    const size_t length = strlen(module);
    return length >= sizeof end - 1 && strcmp(module + length - (sizeof end - 1), end) == 0;
}

/* The last named module that is so, or NULL. */
static const char *find_module(const pl_emission *e, bool (*is_so)(const char *module)) {
    const char *found = NULL;
    for (size_t i = 0; i < e->num_modules; i++)
        if (!e->modules[i].is_layer && is_so(e->modules[i].name))
            found = e->modules[i].name;
    return found;
}

/* The module that every stage needs, next to the list of layers, unless one is named so. */
static const char *everywhere_of(const pl_emission *e, pl_text *name) {
    const char *all = find_module(e, is_everywhere);
    if (all != NULL)
        return all;
    const char *path = e->options.layer_path;
    const char *hole = strstr(path, PL_EMIT_HOLE);
    size_t dots = 0;
    while (hole > path && dots < 2)
        dots += *--hole == '.';
    if (dots == 2)
        pl_text_append(name, path, (size_t)(hole - path) + 1);
    pl_text_add(name, "rotary_emb");
    return name->failed ? "" : name->data;
}

static void add_everywhere(const place *p, pl_text *text) {
    pl_text name = {0};
    pl_text_add(text, everywhere_of(p->e, &name));
    text->failed = text->failed || name.failed;
    free(name.data);
}

static void add_option(const place *p, pl_text *text) {
    pl_text_add(text, p->e->names.modules);
}

/* The first entry of each stage in a list of all modules, and the number of all. */
static void add_bounds(const place *p, pl_text *text) {
    const pl_emission *e = p->e;
    for (size_t i = 0; i <= e->num_stages; i++)
        pl_text_format(text, "%s%zu", i > 0 ? p->separator : "", pl_emit_first_entry(e, i));
}

/* The module that a stage begins with. */
static void add_first(const place *p, pl_text *text) {
    const pl_emit_module *m = p->e->modules;
    while (m->stage != p->stage)
        m++;
    pl_emit_quote(text, m->name);
}

/* Appends the modules of a stage, or its layers; `everywhere` (NULL: none) last, and only there. */
static void add_modules_of(const place *p, bool only_layers, const char *everywhere,
                           pl_text *text) {
    const pl_emission *e = p->e;
    size_t num_added = 0;
    for (const pl_emit_module *m = e->modules; m < e->modules + e->num_modules; m++)
        if (m->stage == p->stage && (m->is_layer || !only_layers) &&
            (m->is_layer || everywhere == NULL || !is_everywhere(m->name))) {
            add_separator(num_added++, p->separator, text);
            pl_emit_quote(text, m->name);
        }
    if (everywhere != NULL) {
        add_separator(num_added, p->separator, text);
        pl_emit_quote(text, everywhere);
    }
}

static void add_layers(const place *p, pl_text *text) {
    add_modules_of(p, true, NULL, text);
}

static void add_modules(const place *p, pl_text *text) {
    add_modules_of(p, false, NULL, text);
}

static void add_modules_and_rotary(const place *p, pl_text *text) {
    pl_text name = {0};
    add_modules_of(p, false, everywhere_of(p->e, &name), text);
    text->failed = text->failed || name.failed;
    free(name.data);
}

/* The module that every stage needs, if none is named so: Accelerate would leave it on the CPU. For
 * one that the model does not have it only warns. */
static void add_rotary(const place *p, pl_text *text) {
    pl_text name = {0};
    if (everywhere_of(p->e, &name) == name.data && !name.failed)
        pl_emit_quote(text, name.data);
    text->failed = text->failed || name.failed;
    free(name.data);
}

/* The stage of each module, or its IPU, a line each. */
static void add_places_of(const pl_emission *e, bool of_ipus, pl_text *text) {
    for (const pl_emit_module *m = e->modules; m < e->modules + e->num_modules; m++) {
        pl_text_add(text, "    ");
        pl_emit_quote(text, m->name);
        pl_text_format(text, ": %zu,\n", of_ipus ? e->stages[m->stage].ipu : m->stage);
    }
}

static void add_places(const place *p, pl_text *text) {
    add_places_of(p->e, false, text);
}

static void add_places_of_ipus(const place *p, pl_text *text) {
    add_places_of(p->e, true, text);
}

/* ---- functions that build the stages ---- */

/* A part may exist without a unit: in a training profile, what runs after the layers counts in the
 * last layer. */
static bool has_head(const pl_emission *e) {
    return e->stages[0].has_head || e->options.num_head_modules > 0;
}

static bool has_tail(const pl_emission *e) {
    return e->stages[e->num_stages - 1].has_tail || e->options.num_tail_modules > 0;
}

/* The calls that make the content of a stage, a line each. */
static void add_calls(const place *p, pl_text *text) {
    const pl_emission *e = p->e;
    if (p->stage == 0 && has_head(e))
        pl_text_format(text, "%sx = head(x)\n", p->separator);
    for (size_t i = 0; i < e->num_modules; i++)
        if (e->modules[i].is_layer && e->modules[i].stage == p->stage) {
            pl_text_format(text, "%sx = layer(", p->separator);
            pl_emit_quote(text, e->modules[i].name);
            pl_text_add(text, ", x)\n");
        }
    if (p->stage + 1 == e->num_stages && has_tail(e))
        pl_text_format(text, "%sx = tail(x)\n", p->separator);
}

/* "head, layer, tail": the functions to call. */
static void add_parameters(const place *p, pl_text *text) {
    const pl_emission *e = p->e;
    pl_text_format(text, "%slayer%s", has_head(e) ? "head, " : "", has_tail(e) ? ", tail" : "");
}

/* ---- templates ---- */

static const struct {
    const char *name;
    value_adder *add;
} values[] = {
    {"bounds", add_bounds},
    {"calls", add_calls},
    {"counts by ipu", add_counts_by_ipu},
    {"dashes", add_dashes},
    {"devices", add_devices},
    {"everywhere", add_everywhere},
    {"first", add_first},
    {"host", add_host},
    {"layers", add_layers},
    {"letters", add_letters},
    {"modules", add_modules},
    {"modules and rotary", add_modules_and_rotary},
    {"offsets", add_offsets},
    {"option", add_option},
    {"parameters", add_parameters},
    {"places", add_places},
    {"places of ipus", add_places_of_ipus},
    {"recomputation", add_recomputation},
    {"recomputed", add_recomputed},
    {"rotary", add_rotary},
    {"symbols", add_symbols},
    {"visible", add_visible},
};

/* torchtitan silently drops modules that no list names, and names that the model does not have. Its
 * head has the name lm_head, not output, since 786e26f8e of 2026-04-27. */
static bool is_old_head(const char *module) {
    return strcmp(module, "output") == 0;
}

/* True if a module is nested more deeply than the modules and lists of the model itself. */
static bool is_deep(const char *module) {
    return strchr(module, '.') != NULL;
}

static bool is_deep_layer(const char *path) {
    return path != NULL && is_deep(path) && is_deep(strchr(path, '.') + 1);
}

static bool has_empty_stage(const pl_emission *e) {
    bool has = false;
    for (size_t i = 0; e->num_stages > 1 && i < e->num_stages; i++)
        has = has || e->stages[i].num_layers + e->stages[i].num_mtp == 0;
    return has;
}

/* Appends a value that is a number, or a condition. False if there is no such name. */
static bool add_number(const place *p, const char *name, pl_text *text) {
    const pl_emission *e = p->e;
    const popliner_emit_options *o = &e->options;
    const size_t used_ipus = e->num_ipus * e->num_replicas;
    const size_t all_ipus = (e->max_ipu + 1) * e->num_replicas;
    const uint64_t least_batches = 2 * (uint64_t)e->num_stages - 1; /* of PopTorch's training */
    const bool is_several = e->num_stages > 1;
    const pl_emit_stage *last = &e->stages[e->num_stages - 1];
    const pl_emit_stage *stage = &e->stages[p->stage];
    const size_t ipu = stage->ipu;
    const bool is_last = p->stage + 1 == e->num_stages;
    const size_t next_ipu = is_last ? ipu : stage[1].ipu;
    const size_t group = pl_copies_round(e->num_ipus, (size_t)e->micro_batches);
    const struct {
        const char *name;
        bool exists;
        uint64_t number;
    } numbers[] = {
        {"all reserved", reserved_ipus(all_ipus) != all_ipus, reserved_ipus(all_ipus)},
        {"batches", e->micro_batches > 0, e->micro_batches},
        {"chunks", e->num_stages > e->num_ipus, e->num_stages / e->num_ipus},
        {"count", true, stage->num_layers},
        {"deep", is_deep_layer(o->layer_path) || find_module(e, is_deep) != NULL, 1},
        {"empty stage", has_empty_stage(e), 1},
        {"ends elsewhere", is_several && last->ipu != 0 && last->has_end, 1},
        {"group", e->num_stages > e->num_ipus && group > e->num_ipus, group},
        {"head bytes", e->has_head_bytes, 1},
        {"in turn", e->num_stages > e->num_ipus && e->stages[e->num_ipus].rank == 0, 1},
        {"ipu", true, ipu},
        {"ipus", true, e->max_ipu + 1},
        {"ipus of all", true, all_ipus},
        {"job", e->num_replicas > 1 || e->micro_batches > 0, 1},
        {"least batches", e->micro_batches > 0 && e->micro_batches < least_batches, least_batches},
        {"mtp", pl_emit_num_mtp(e) > 0, pl_emit_num_mtp(e)},
        {"next ipu", next_ipu != ipu, next_ipu},
        {"num ipus", true, e->num_ipus},
        {"num stages", true, e->num_stages},
        {"old head", find_module(e, is_old_head) != NULL, 1},
        {"own ipus", pl_emit_has_own_ipus(e), 1},
        {"path", o->layer_path != NULL, 1},
        {"replicas", e->num_replicas > 1, e->num_replicas},
        {"reserved", reserved_ipus(used_ipus) != used_ipus, reserved_ipus(used_ipus)},
        {"returns", is_several && last->ipu == 0, 1},
        {"several", is_several, 1},
        /* llama.cpp's units: the output is one more, on the last device; MTP layers count */
        {"share", true, stage->num_layers + stage->num_mtp + is_last},
        {"stage", true, p->stage},
        {"unnamed ends", o->num_head_modules == 0 || o->num_tail_modules == 0, 1},
        {"used ipus", true, used_ipus},
    };
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (strcmp(numbers[i].name, name) == 0) {
            if (numbers[i].exists)
                pl_text_format(text, "%" PRIu64, numbers[i].number);
            return true;
        }
    return false;
}

/* Appends the value of a key, "NAME" or "NAME|SEPARATOR". */
static void add_value(const pl_emission *e, const char *key, size_t length, size_t stage,
                      pl_text *text) {
    char name[40] = "";
    assert(length < sizeof name);
    memcpy(name, key, length);
    char *bar = strchr(name, '|');
    const place p = {e, stage, bar == NULL ? "" : bar + 1};
    if (bar != NULL)
        *bar = '\0';
    if (add_number(&p, name, text))
        return;
    size_t i = 0;
    while (i < sizeof values / sizeof *values && strcmp(values[i].name, name) != 0)
        i++;
    assert(i < sizeof values / sizeof *values);
    values[i].add(&p, text);
}

static bool has_value(const pl_emission *e, const char *key, size_t length, size_t stage,
                      pl_text *text) {
    pl_text value = {0};
    add_value(e, key, length, stage, &value);
    text->failed = text->failed || value.failed;
    free(value.data);
    return value.length > 0;
}

/* Appends a template up to its end, or that of a section. Returns what follows. */
static const char *add_section(const pl_emission *e, const char *at, size_t stage, bool is_shown,
                               pl_text *text) {
    for (;;) {
        const char *open = strstr(at, "{{");
        while (open != NULL && open[2] == '{') /* a brace before a key */
            open++;
        if (is_shown)
            pl_text_append(text, at, open == NULL ? strlen(at) : (size_t)(open - at));
        if (open == NULL)
            return at + strlen(at);
        const char *key = open + 2;
        const size_t length = (size_t)(strstr(key, "}}") - key);
        at = key + length + 2;
        if (*key == '/')
            return at;
        if (*key == '#') {
            const char *begin = at;
            const char *bar = memchr(key, '|', length);
            const size_t first = key[1] == 'l'; /* "later" */
            at = add_section(e, begin, 0, false, text);
            for (size_t i = first; is_shown && i < e->num_stages; i++) {
                if (bar != NULL && i > first)
                    pl_text_append(text, bar + 1, (size_t)(key + length - bar) - 1);
                add_section(e, begin, i, true, text);
            }
        } else if (*key == '?' || *key == '!') {
            const bool has = is_shown && has_value(e, key + 1, length - 1, stage, text);
            at = add_section(e, at, stage, is_shown && has == (*key == '?'), text);
        } else if (is_shown) {
            add_value(e, key, length, stage, text);
        }
    }
}

void pl_emit_fill(const pl_emission *e, const char *template, pl_text *text) {
    add_section(e, template, 0, true, text);
}
