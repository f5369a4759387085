/* Templates of plans, and the values that they name.
 *
 * In a template {{NAME}} is a value and {{NAME|TEXT}} one with a separator. Sections end with
 * {{/}}: {{?NAME}} is left out where the value is empty, {{!NAME}} where it is not. Others are
 * repeated, with TEXT between them in {{#stages|TEXT}}: {{#stages}} for each stage, {{#later}} for
 * each but the first; {{#modules}} for each module of a stage, {{#layers}} for those that are
 * layers, {{#others}} for all but one that every stage needs, {{#predicting}} for each MTP layer;
 * {{#all}} for the modules of all stages.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "answer/certificate_data.h"
#include "base/text.h"
#include "emit/emit_data.h"
#include "pipeline/pipeline.h"

/* Where a value is: in a section of a stage, or of the plan (0), and of a module. */
typedef struct place {
    const pl_emission *e;
    size_t stage;
    const pl_emit_module *module; /* NULL: of none */
    const char *separator;
} place;

/* Appends a value; nothing if there is none. */
typedef void value_adder(const place *p, pl_text *text);

void pl_emit_quote(pl_text *text, const char *string) {
    const size_t length = strlen(string);
    pl_text_add(text, "\"");
    for (size_t i = 0; i < length;) {
        uint32_t character = 0;
        size_t size = pl_utf8_decode(string + i, &character);
        if (character == '"' || character == '\\')
            pl_text_format(text, "\\%c", (char)character);
        else if (character >= 0x20 && character < 0x7f)
            pl_text_append(text, string + i, 1);
        else
            pl_text_format(text, character > 0xffff ? "\\U%08" PRIx32 : "\\u%04" PRIx32, character);
        i += size > 0 ? size : 1;
    }
    pl_text_add(text, "\"");
}

/* ---- devices ---- */

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

/* The last character of the name of a layer. */
static void add_symbol(const place *p, pl_text *text) {
    const pl_emission *e = p->e;
    const char *name = e->layers[(size_t)(p->module - e->modules) - e->options.num_head_modules];
    pl_text_add(text, name + strlen(name) - 1);
}

/* Returns the next layer of a choice like "2=experts-on-host,mtp.0=experts-on-host" by the number
 * that its name ends with, of MTP after num_layers, and moves *choice past it; SIZE_MAX after the
 * last, or for other choices. */
static size_t next_host_layer(const char **choice, size_t num_layers) {
    static const char variant[] = "=experts-on-host";
    const char *end = strstr(*choice, variant);
    const char *begin = end;
    size_t layer = 0;
    while (begin != NULL && begin > *choice && begin[-1] >= '0' && begin[-1] <= '9' &&
           end - begin < 9)
        --begin;
    if (begin == end || memchr(*choice, ',', (size_t)(end - *choice)) != NULL)
        return SIZE_MAX;
    if (begin - *choice >= 4 && memcmp(begin - 4, "mtp.", 4) == 0)
        layer = num_layers;
    size_t number = 0;
    for (; begin < end; ++begin)
        number = 10 * number + (size_t)(*begin - '0');
    layer += number;
    *choice = end + sizeof variant - 1;
    *choice += **choice == ',';
    return layer;
}

bool pl_emit_is_of_host(const char *choice) {
    while (next_host_layer(&choice, 0) != SIZE_MAX)
        ;
    return *choice == '\0';
}

/* Which layers have their experts on the host: the first ones, or a pattern of tensors. */
static void add_host(const place *p, pl_text *text) {
    const pl_emission *e = p->e;
    size_t count = 0;
    size_t highest = 0;
    pl_text list = {0};
    for (size_t i = 0; e->plan->choices != NULL && i < e->num_stages; i++) {
        const char *choice = e->plan->choices[i];
        if (!pl_emit_is_of_host(choice))
            continue;
        for (size_t layer; (layer = next_host_layer(&choice, e->num_layers)) != SIZE_MAX; count++) {
            pl_text_format(&list, "%s%zu", count > 0 ? "|" : "", layer);
            highest = layer > highest ? layer : highest;
        }
    }
    text->failed = text->failed || list.failed;
    if (count > 0 && count == highest + 1)
        pl_text_format(text, " --n-cpu-moe %zu", count);
    else if (count > 0 && !list.failed)
        pl_text_format(text, " -ot 'blk\\.(%s)\\.ffn_(up|down|gate|gate_up)_(ch|)exps=CPU'",
                       list.data);
    free(list.data);
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

/* Appends the module that every stage needs: next to the list of layers, unless one is named so. */
static void add_everywhere(const place *p, pl_text *text) {
    const pl_emission *e = p->e;
    const char *named = find_module(e, is_everywhere);
    const char *path = e->options.layer_path;
    const char *hole = strstr(path, PL_EMIT_HOLE);
    size_t dots = 0;
    while (hole > path && dots < 2)
        dots += *--hole == '.';
    if (named == NULL && dots == 2)
        pl_text_append(text, path, (size_t)(hole - path) + 1);
    pl_text_add(text, named != NULL ? named : "rotary_emb");
}

static void add_option(const place *p, pl_text *text) {
    pl_text_add(text, p->e->names.modules);
}

/* The module that a stage begins with. */
static void add_first(const place *p, pl_text *text) {
    const pl_emit_module *m = p->e->modules;
    while (m->stage != p->stage)
        m++;
    pl_emit_quote(text, m->name);
}

static void add_name(const place *p, pl_text *text) {
    pl_emit_quote(text, p->module->name);
}

static void add_quoted_everywhere(const place *p, pl_text *text) {
    pl_text name = {0};
    add_everywhere(p, &name);
    text->failed = text->failed || name.failed;
    if (!name.failed)
        pl_emit_quote(text, name.data);
    free(name.data);
}

/* The module that every stage needs, if none is named so: Accelerate would leave it on the CPU. For
 * one that the model does not have it only warns. */
static void add_rotary(const place *p, pl_text *text) {
    if (find_module(p->e, is_everywhere) == NULL)
        add_quoted_everywhere(p, text);
}

/* ---- the plan ---- */

/* The choices of the stages, shortened. */
static void add_choices(const place *p, pl_text *text) {
    pl_text list = {0};
    for (size_t i = 0; i < p->e->num_stages; i++)
        pl_text_format(&list, "%s%s", i > 0 ? " | " : "", p->e->plan->choices[i]);
    pl_text_format(text, "%.300s", pl_text_string(&list));
    free(list.data);
}

/* A part may exist without a unit: in a training profile, what runs after the layers counts in the
 * last layer. */
static bool has_head(const pl_emission *e) {
    return e->stages[0].has_head || e->options.num_head_modules > 0;
}

static bool has_tail(const pl_emission *e) {
    return e->stages[e->num_stages - 1].has_tail || e->options.num_tail_modules > 0;
}

/* ---- templates ---- */

static const struct {
    const char *name;
    value_adder *add;
} values[] = {
    {"choices", add_choices},
    {"counts by ipu", add_counts_by_ipu},
    {"dashes", add_dashes},
    {"everywhere", add_everywhere},
    {"first", add_first},
    {"host", add_host},
    {"name", add_name},
    {"option", add_option},
    {"quoted everywhere", add_quoted_everywhere},
    {"rotary", add_rotary},
    {"symbol", add_symbol},
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

/* The number of MTP layers in the first stages. */
static size_t count_mtp(const pl_emission *e, size_t num_stages) {
    size_t count = 0;
    for (size_t i = 0; i < num_stages; i++)
        count += e->stages[i].num_mtp;
    return count;
}

/* Appends a value that is a number, or a condition. */
static void add_number(const place *p, const char *name, pl_text *text) {
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
    const size_t even = e->num_layers / e->num_stages;
    const bool is_below = stage->num_layers < even;
    const bool begins_row =
        e->num_stages > e->num_ipus && p->stage > 0 && p->stage % e->num_ipus == 0;
    const bool has_chosen = e->keeps && e->plan->choices != NULL;
    const bool is_full = has_chosen ? strcmp(e->plan->choices[p->stage], "full") == 0
                                    : e->in->pipeline.recompute == POPLINER_RECOMPUTE_FULL;
    const size_t group = pl_copies_round(e->num_ipus, (size_t)e->micro_batches);
    const size_t mtp_before = count_mtp(e, p->stage);
    const bool is_late = p->stage + e->num_ipus >= e->num_stages; /* the last of its rank */
    const size_t num_mtp = count_mtp(e, e->num_stages);
    const struct {
        const char *name;
        bool exists;
        uint64_t number;
    } numbers[] = {
        {"all reserved", reserved_ipus(all_ipus) != all_ipus, reserved_ipus(all_ipus)},
        {"batches", e->micro_batches > 0, e->micro_batches},
        {"below even", is_below, 1},
        {"chosen", has_chosen, 1},
        {"chunks", e->num_stages > e->num_ipus, e->num_stages / e->num_ipus},
        {"comma", p->stage > 0 && !begins_row, 1},
        {"count", true, stage->num_layers},
        {"deep", is_deep_layer(o->layer_path) || find_module(e, is_deep) != NULL, 1},
        {"empty stage", has_empty_stage(e), 1},
        {"entries", true, pl_emit_first_entry(e, e->num_stages)},
        {"entry", true, pl_emit_first_entry(e, p->stage)},
        {"ends elsewhere", is_several && last->ipu != 0 && last->has_end, 1},
        {"fits", e->plan->status != POPLINER_PLAN_INFEASIBLE, 1},
        {"full", is_full, 1},
        {"group", e->num_stages > e->num_ipus && group > e->num_ipus, group},
        {"head", has_head(e), 1},
        {"head bytes", e->has_head_bytes, 1},
        {"head here", p->stage == 0 && has_head(e), 1},
        {"in turn", e->num_stages > e->num_ipus && e->stages[e->num_ipus].rank == 0, 1},
        {"ipu", true, ipu},
        {"ipus", true, e->max_ipu + 1},
        {"ipus of all", true, all_ipus},
        {"job", e->num_replicas > 1 || e->micro_batches > 0, 1},
        {"keeps", e->keeps, 1},
        {"lacks head", e->stages[0].num_layers == 0 && o->num_head_modules == 0, 1},
        {"lacks tail", last->num_layers == 0 && o->num_tail_modules == 0, 1},
        {"last stage", true, e->num_stages - 1},
        {"least batches", e->micro_batches > 0 && e->micro_batches < least_batches, least_batches},
        {"misplaced mtp", stage->num_mtp > 0 && (mtp_before > 0 || !is_late), stage->num_mtp},
        {"mtp", num_mtp > 0, num_mtp},
        {"next ipu", next_ipu != ipu, next_ipu},
        {"no replicas", e->num_replicas > 1 && (e->traits & HAS_REPLICAS) == 0, 1},
        {"num ipus", true, e->num_ipus},
        {"num stages", true, e->num_stages},
        {"off even", true, is_below ? even - stage->num_layers : stage->num_layers - even},
        {"old head", find_module(e, is_old_head) != NULL, 1},
        {"own order", e->has_own_order, 1},
        {"own ipus", pl_emit_has_own_ipus(e), 1},
        {"path", o->layer_path != NULL, 1},
        {"ranked", e->has_own_order && (e->traits & IS_VISIBLE) != 0, 1},
        {"recomputes",
         e->keeps && !has_chosen && e->in->pipeline.recompute != POPLINER_RECOMPUTE_NONE, 1},
        {"replicas", e->num_replicas > 1, e->num_replicas},
        {"reserved", reserved_ipus(used_ipus) != used_ipus, reserved_ipus(used_ipus)},
        {"returns", is_several && last->ipu == 0, 1},
        {"row", begins_row, 1},
        {"several", is_several, 1},
        /* llama.cpp's units: the output is one more, on the last device; MTP layers count */
        {"share", true, stage->num_layers + stage->num_mtp + is_last},
        {"stage", true, p->stage},
        {"tail", has_tail(e), 1},
        {"tail here", is_last && has_tail(e), 1},
        {"unnamed ends", o->num_head_modules == 0 || o->num_tail_modules == 0, 1},
        {"used ipus", true, used_ipus},
    };
    size_t i = 0;
    while (i < sizeof numbers / sizeof *numbers && strcmp(numbers[i].name, name) != 0)
        i++;
    assert(i < sizeof numbers / sizeof *numbers);
    if (numbers[i].exists)
        pl_text_format(text, "%" PRIu64, numbers[i].number);
}

/* Appends the value of a key, "NAME" or "NAME|SEPARATOR". */
static void add_value(place p, const char *key, size_t length, pl_text *text) {
    char name[40] = "";
    assert(length < sizeof name);
    memcpy(name, key, length);
    char *bar = strchr(name, '|');
    p.separator = bar == NULL ? "" : bar + 1;
    if (bar != NULL)
        *bar = '\0';
    size_t i = 0;
    while (i < sizeof values / sizeof *values && strcmp(values[i].name, name) != 0)
        i++;
    if (i < sizeof values / sizeof *values)
        values[i].add(&p, text);
    else
        add_number(&p, name, text);
}

static bool has_value(place p, const char *key, size_t length, pl_text *text) {
    pl_text value = {0};
    add_value(p, key, length, &value);
    text->failed = text->failed || value.failed;
    free(value.data);
    return value.length > 0;
}

/* Sections that are repeated: for stages, for the MTP layers of one, and for modules. */
typedef enum section { STAGES, LATER, RANKS, PREDICTING, MODULES, LAYERS, OTHERS, ALL } section;
static const char *const section_names[] = {"stages",  "later",  "ranks",  "predicting",
                                            "modules", "layers", "others", "all"};

static size_t count_items(const place *p, section kind) {
    return kind <= LATER        ? p->e->num_stages
           : kind == RANKS      ? p->e->num_ipus
           : kind == PREDICTING ? p->e->stages[p->stage].num_mtp
                                : p->e->num_modules;
}

/* Goes to an item. False if it is none of those at this place. */
static bool go_to(place *p, section kind, size_t i) {
    if (kind == PREDICTING)
        return true;
    if (kind <= RANKS) {
        p->stage = i;
        return kind != LATER || i > 0;
    }
    const pl_emit_module *m = p->module = &p->e->modules[i];
    const bool is_here = kind == ALL || m->stage == p->stage;
    p->stage = m->stage;
    return is_here && (m->is_layer || kind == ALL || kind == MODULES ||
                       (kind == OTHERS && !is_everywhere(m->name)));
}

static const char *add_section(place p, const char *at, bool is_shown, pl_text *text);

/* Appends a section for each of its items, with the text after a bar in its key between them. */
static void repeat_section(place p, const char *key, size_t length, const char *at, pl_text *text) {
    const char *bar = memchr(key, '|', length);
    bool is_first = true;
    section kind = STAGES;
    while (strncmp(key, section_names[kind], strlen(section_names[kind])) != 0)
        kind++;
    for (size_t i = 0; i < count_items(&p, kind); i++) {
        place item = p;
        if (!go_to(&item, kind, i))
            continue;
        if (bar != NULL && !is_first)
            pl_text_append(text, bar + 1, (size_t)(key + length - bar) - 1);
        add_section(item, at, true, text);
        is_first = false;
    }
}

/* Appends a template up to its end, or that of a section. Returns what follows. */
static const char *add_section(place p, const char *at, bool is_shown, pl_text *text) {
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
            if (is_shown)
                repeat_section(p, key + 1, length - 1, at, text);
            at = add_section(p, at, false, text);
        } else if (*key == '?' || *key == '!') {
            const bool has = is_shown && has_value(p, key + 1, length - 1, text);
            at = add_section(p, at, is_shown && has == (*key == '?'), text);
        } else if (is_shown) {
            add_value(p, key, length, text);
        }
    }
}

void pl_emit_fill(const pl_emission *e, const char *template, pl_text *text) {
    add_section((place){.e = e}, template, true, text);
}
