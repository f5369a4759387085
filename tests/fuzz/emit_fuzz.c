/* Plans for frameworks: any split of units with any names, in any format, is refused or says what
 * the split says, in the format's syntax. The same of the other texts of a certificate.
 *
 *   1 byte: which text; 1 byte: bits, see below; 1 byte: how many units; for each of them 1 byte:
 *   whether it is a layer, begins a stage, and on which IPU that is; texts, each with a NUL behind
 *   it: the path of layers, two modules, then the names of the units (missing ones are numbers)
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "fuzz.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "popliner/certificate.h"
#include "popliner/emit.h"
#include "popliner/utilities.h"
#include "solve/plan.h"

enum {
    MOST_UNITS = 12,
    HAS_PATH = 1,
    HAS_HEAD = 2,
    HAS_TAIL = 4,
    HAS_CHOICES = 8,
    IS_OVER = 16,
    IS_EMPTY = 32,
};

typedef struct question {
    unsigned bits;
    size_t num_units;
    uint8_t counted[MOST_UNITS];
    char *names[MOST_UNITS];
    char *texts[3];            /* the path, and a module before and behind the layers */
    const popliner_plan *plan; /* the certificate's */
    popliner_certificate *certificate;
} question;

/* Takes the split, without a proof and what it needs. */
static void take_question(question *q, fuzz_input *input) {
    static const char *const choices[MOST_UNITS] = {"none", "full", "standard", "none",
                                                    "full", "none", "none",     "full",
                                                    "none", "none", "full",     "none"};
    popliner_solver_options options = POPLINER_SOLVER_OPTIONS_INIT;
    popliner_certificate_input in = POPLINER_CERTIFICATE_INPUT_INIT;
    popliner_costs *costs = NULL;
    popliner_error error = {.message = ""};
    *q = (question){.bits = fuzz_byte(input)};
    q->num_units = 1 + fuzz_byte(input) % MOST_UNITS;
    popliner_plan *plan = calloc(1, sizeof *plan);
    FUZZ_CHECK(plan != NULL);
    plan->stages = calloc(MOST_UNITS, sizeof *plan->stages);
    FUZZ_CHECK(plan->stages != NULL);
    plan->status = (q->bits & IS_OVER) != 0 ? POPLINER_PLAN_INFEASIBLE : POPLINER_PLAN_OPTIMAL;
    for (size_t i = 0; i < q->num_units; i++) {
        const uint8_t byte = fuzz_byte(input);
        popliner_plan_stage *stages = plan->stages;
        q->counted[i] = byte & 1;
        if (i == 0 || (byte & 2) != 0)
            stages[plan->num_stages++] =
                (popliner_plan_stage){.first_unit = i, .ipu = (size_t)(byte >> 2) % 8};
        if ((byte & 0xe0) == 0xe0) /* as most splits are */
            stages[plan->num_stages - 1].ipu = plan->num_stages - 1;
        stages[plan->num_stages - 1].last_unit = i;
    }
    if ((q->bits & IS_EMPTY) != 0) {
        plan->num_stages = 0;
        plan->status = POPLINER_PLAN_INFEASIBLE;
    }
    plan->choices = (q->bits & HAS_CHOICES) != 0 ? calloc(MOST_UNITS, sizeof *choices) : NULL;
    for (size_t i = 0; plan->choices != NULL && i < plan->num_stages; i++)
        plan->choices[i] = strdup(choices[i]);
    for (size_t i = 0; i < 3; i++)
        q->texts[i] = fuzz_text(input);
    for (size_t i = 0; i < q->num_units; i++) {
        char number[24];
        fuzz_input usual = {(const uint8_t *)number, 0};
        usual.left = (size_t)snprintf(number, sizeof number, "%zu", i);
        q->names[i] = fuzz_text(input->left > 0 ? input : &usual);
    }
    FUZZ_CHECK(popliner_costs_create(q->num_units, 1, &costs, &error) == POPLINER_OK);
    options.counted_units = q->counted;
    in.plan = plan;
    in.costs = costs;
    in.options = &options;
    in.unit_names = (const char *const *)q->names;
    FUZZ_CHECK(popliner_certificate_create(&in, &q->certificate, &error) == POPLINER_OK);
    q->plan = q->certificate->plan;
    popliner_costs_free(costs);
}

static void free_question(question *q) {
    popliner_certificate_free(q->certificate);
    for (size_t i = 0; i < q->num_units; i++)
        free(q->names[i]);
    for (size_t i = 0; i < 3; i++)
        free(q->texts[i]);
}

static size_t count_layers(const question *q, size_t first, size_t last) {
    size_t count = 0;
    for (size_t i = first; i <= last; i++)
        count += q->counted[i];
    return count;
}

/* which JSON lets pass */
enum { DEL = 0x7f };

/* All of it can be shown on a terminal, as can one control character. */
static void check_utf8(const char *text, uint32_t control) {
    uint32_t character;
    for (size_t size; *text != '\0'; text += size) {
        size = pl_utf8_decode(text, &character);
        FUZZ_CHECK(size > 0);
        FUZZ_CHECK(character == '\n' || character == control || !pl_utf8_is_control(character));
    }
}

/* ---- what formats say ---- */

static void check_json(const question *q, const char *text) {
    json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    const json_t *stages = json_object_get(root, "stages");
    size_t unit = 0;
    FUZZ_CHECK(json_array_size(stages) == q->plan->num_stages);
    for (size_t i = 0; i < q->plan->num_stages; i++) {
        const popliner_plan_stage *stage = &q->plan->stages[i];
        const json_t *it = json_array_get(stages, i);
        const json_t *units = json_object_get(it, "units");
        const size_t num_layers = count_layers(q, stage->first_unit, stage->last_unit);
        FUZZ_CHECK((size_t)json_integer_value(json_object_get(it, "ipu")) == stage->ipu);
        FUZZ_CHECK(json_array_size(units) == stage->last_unit - stage->first_unit + 1);
        FUZZ_CHECK(json_array_size(json_object_get(it, "layers")) == num_layers);
        for (size_t k = 0; k < json_array_size(units); k++, unit++)
            if (strspn(q->names[unit], "abcdefghijklmnopqrstuvwxyz0123456789/. ") ==
                strlen(q->names[unit]))
                FUZZ_CHECK(strcmp(json_string_value(json_array_get(units, k)), q->names[unit]) ==
                           0);
    }
    FUZZ_CHECK(unit == q->num_units);
    json_decref(root);
}

static void check_optimum(const question *q, const char *text) {
    json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    const json_t *layers = json_object_get(root, "layers_per_ipu");
    FUZZ_CHECK(json_array_size(layers) == q->plan->num_stages);
    for (size_t i = 0; i < q->plan->num_stages; i++)
        FUZZ_CHECK((size_t)json_integer_value(json_array_get(layers, i)) ==
                   count_layers(q, q->plan->stages[i].first_unit, q->plan->stages[i].last_unit));
    json_decref(root);
}

/* Returns what follows the order of the devices, if it is said. */
static const char *after_devices(const question *q, const char *text) {
    static const char begin[] = "CUDA_VISIBLE_DEVICES=";
    if (strncmp(text, begin, strlen(begin)) != 0)
        return text;
    text += strlen(begin);
    for (size_t i = 0; i < q->plan->num_stages; i++) {
        char *end;
        FUZZ_CHECK(strtoul(text, &end, 10) == q->plan->stages[i].ipu);
        FUZZ_CHECK(*end == (i + 1 < q->plan->num_stages ? ',' : ' '));
        text = end + 1;
    }
    return text;
}

static void check_vllm(const question *q, const char *text) {
    static const char begin[] = "VLLM_PP_LAYER_PARTITION=";
    text = after_devices(q, text);
    FUZZ_CHECK(strncmp(text, begin, strlen(begin)) == 0);
    text += strlen(begin);
    for (size_t i = 0; i < q->plan->num_stages; i++) {
        char *end;
        FUZZ_CHECK(strtoul(text, &end, 10) ==
                   count_layers(q, q->plan->stages[i].first_unit, q->plan->stages[i].last_unit));
        FUZZ_CHECK(*end == (i + 1 < q->plan->num_stages ? ',' : '\n'));
        text = end + 1;
    }
    FUZZ_CHECK(*text == '\0');
}

static void check_megatron(const question *q, const char *text) {
    const char *layout = strchr(text, '"');
    size_t num_layers = 0;
    size_t num_stages = 1;
    FUZZ_CHECK(layout != NULL);
    for (layout++; *layout != '"' && *layout != '\0'; layout++) {
        FUZZ_CHECK(strchr("Et|L", *layout) != NULL);
        num_layers += *layout == 't';
        num_stages += *layout == '|';
    }
    FUZZ_CHECK(strcmp(layout, "\"\n") == 0);
    FUZZ_CHECK(num_layers == count_layers(q, 0, q->num_units - 1));
    FUZZ_CHECK(num_stages == q->plan->num_stages);
}

/* Checks Python: comments, strings that end on their line, and brackets in pairs; all is ASCII
 * except comments. */
static void check_code(const char *text) {
    char open[64];
    size_t depth = 0;
    for (const char *c = text; *c != '\0'; c++) {
        if (*c == '#') {
            c += strcspn(c, "\n");
            FUZZ_CHECK(*c == '\n');
        } else if (strncmp(c, "\"\"\"", 3) == 0) {
            c = strstr(c + 3, "\"\"\"");
            FUZZ_CHECK(c != NULL);
            c += 2;
        } else if (*c == '"') {
            for (c++; *c != '"'; c++) {
                FUZZ_CHECK((unsigned char)*c >= 0x20 && (unsigned char)*c < 0x7f);
                if (*c == '\\') {
                    c++;
                    FUZZ_CHECK(strchr("\"\\uU", *c) != NULL);
                }
            }
        } else if (strchr("([{", *c) != NULL) {
            FUZZ_CHECK(depth < sizeof open);
            open[depth++] = *c == '(' ? ')' : *c == '[' ? ']' : '}';
        } else if (strchr(")]}", *c) != NULL) {
            FUZZ_CHECK(depth > 0 && open[--depth] == *c);
        } else {
            FUZZ_CHECK(*c == '\n' || ((unsigned char)*c >= 0x20 && (unsigned char)*c < 0x7f));
        }
    }
    FUZZ_CHECK(depth == 0);
}

static void check_format(const question *q, popliner_emit_format format, const char *text) {
    switch (format) {
    case POPLINER_EMIT_PIPELINE:
        check_json(q, text);
        break;
    case POPLINER_EMIT_OPTIMUM:
        check_optimum(q, text);
        break;
    case POPLINER_EMIT_VLLM:
        check_vllm(q, text);
        break;
    case POPLINER_EMIT_MEGATRON:
        check_megatron(q, text);
        break;
    default:
        check_code(text);
        break;
    }
}

/* ---- */

static void on_warning(void *user, popliner_level level, const char *text) {
    FUZZ_CHECK(level == POPLINER_LEVEL_WARNING && *text != '\0' && strchr(text, '\n') == NULL);
    ++*(size_t *)user;
}

static void check_emit(const question *q, popliner_emit_format format) {
    popliner_emit_options o = POPLINER_EMIT_OPTIONS_INIT;
    popliner_error error = {.message = ""};
    size_t num_warnings = 0;
    popliner_listener listener = {
        .struct_size = sizeof listener, .user = &num_warnings, .message = on_warning};
    const char *name = popliner_name_of(POPLINER_NAMED_EMIT_FORMAT, (size_t)format);
    char *text = NULL;
    o.layer_path = (q->bits & HAS_PATH) != 0 ? q->texts[0] : NULL;
    o.head_modules = (const char *const *)&q->texts[1];
    o.num_head_modules = (q->bits & HAS_HEAD) != 0;
    o.tail_modules = (const char *const *)&q->texts[2];
    o.num_tail_modules = (q->bits & HAS_TAIL) != 0;
    o.listener = &listener;
    const popliner_status can = popliner_emit(&o, format, NULL, &error);
    fuzz_check_status(can, &error, 1u << POPLINER_ERROR_USAGE, name);
    o.certificate = q->certificate;
    const popliner_status status = popliner_emit(&o, format, &text, &error);
    fuzz_check_status(status, &error, 1u << POPLINER_ERROR_USAGE, name);
    FUZZ_CHECK((status == POPLINER_OK) == (text != NULL));
    FUZZ_CHECK(status != POPLINER_OK || can == POPLINER_OK);
    if (status != POPLINER_OK) {
        FUZZ_CHECK(num_warnings == 0);
        return;
    }
    FUZZ_CHECK(q->plan->num_stages > 0);
    FUZZ_CHECK(num_warnings > 0 || q->plan->status != POPLINER_PLAN_INFEASIBLE ||
               format == POPLINER_EMIT_PIPELINE); /* which says so itself */
    FUZZ_CHECK(*text != '\0' && text[strlen(text) - 1] == '\n');
    check_utf8(text, format == POPLINER_EMIT_PIPELINE ? DEL : '\t');
    check_format(q, format, text);
    free(text);
}

static void check_certificate(const question *q, popliner_certificate_form form) {
    popliner_error error = {.message = ""};
    char *text = NULL;
    const bool is_json =
        form == POPLINER_CERTIFICATE_JSON || form == POPLINER_CERTIFICATE_STAGES_JSON;
    FUZZ_CHECK(popliner_certificate_text(q->certificate, form, &text, &error) == POPLINER_OK);
    FUZZ_CHECK(text != NULL);
    if (is_json) {
        json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
        const json_t *stages = json_is_array(root) ? root : json_object_get(root, "stages");
        FUZZ_CHECK(root != NULL && json_array_size(stages) == q->plan->num_stages);
        json_decref(root);
    }
    check_utf8(text, is_json ? DEL : form == POPLINER_CERTIFICATE_CSV ? '\r' : '\t');
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    enum { NUM_FORMS = POPLINER_CERTIFICATE_CSV + 1 };
    fuzz_input input = {data, size};
    question q;
    const unsigned which = fuzz_byte(&input) % (POPLINER_NUM_EMIT_FORMATS + NUM_FORMS);
    take_question(&q, &input);
    if (which < POPLINER_NUM_EMIT_FORMATS)
        check_emit(&q, (popliner_emit_format)which);
    else
        check_certificate(&q, (popliner_certificate_form)(which - POPLINER_NUM_EMIT_FORMATS));
    free_question(&q);
    return 0;
}
