/* Plans in the words of frameworks: names, counts and what each format refuses. tests/emit_test.py
 * has the samples of docs/emit.md, and reads many plans back.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "plain_options.h"
#include "test.h"

#include "emit/emit_data.h"
#include "popliner/emit.h"
#include "solve/plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_STAGES = 8 };

/* A split: the units behind its stages, and their IPUs. */
typedef struct split {
    size_t num_units;
    const char *const *names;
    const uint8_t *counted;
    size_t num_stages;
    size_t ends[MAX_STAGES]; /* the last unit of each stage */
    size_t ipus[MAX_STAGES];
    popliner_plan_status status;
    const char *const *choices;
    popliner_schedule schedule;
    popliner_recompute recompute;
} split;

static const char *const usual_names[] = {"Head", "0", "1", "2", "3", "Tail"};
static const uint8_t usual_counted[] = {0, 1, 1, 1, 1, 0};

/* [ Head 0 | 1 2 | 3 Tail ] */
static const split sample = {.num_units = 6,
                             .names = usual_names,
                             .counted = usual_counted,
                             .num_stages = 3,
                             .ends = {1, 3, 5},
                             .ipus = {0, 1, 2}};

/* The last unit and the IPU of each stage, a digit each. */
static split split_of(size_t num_units, const char *const *names, const uint8_t *counted,
                      const char *ends, const char *ipus) {
    split s = {.num_units = num_units, .names = names, .counted = counted};
    for (; *ends != '\0'; s.num_stages++) {
        s.ends[s.num_stages] = (size_t)(*ends++ - '0');
        s.ipus[s.num_stages] = (size_t)(*ipus++ - '0');
    }
    return s;
}

static const char *const head_modules[] = {"model.embed_tokens"};
static const char *const tail_modules[] = {"model.norm", "lm_head"};

static popliner_emit_options with_modules(void) {
    popliner_emit_options o = POPLINER_EMIT_OPTIONS_INIT;
    o.layer_path = "model.layers.{}";
    o.head_modules = head_modules;
    o.num_head_modules = 1;
    o.tail_modules = tail_modules;
    o.num_tail_modules = 2;
    return o;
}

static popliner_certificate *certificate_of(const split *s) {
    popliner_solver_options options = PLAIN_SOLVER_OPTIONS;
    popliner_certificate_input input = POPLINER_CERTIFICATE_INPUT_INIT;
    popliner_certificate *certificate = NULL;
    popliner_costs *costs = NULL;
    popliner_plan *plan = calloc(1, sizeof *plan);
    assert_non_null(plan);
    plan->stages = calloc(s->num_stages + 1, sizeof *plan->stages);
    assert_non_null(plan->stages);
    plan->num_stages = s->num_stages;
    plan->status = s->status;
    for (size_t i = 0; i < s->num_stages; i++) {
        plan->stages[i].first_unit = i == 0 ? 0 : s->ends[i - 1] + 1;
        plan->stages[i].last_unit = s->ends[i];
        plan->stages[i].ipu = s->ipus[i];
    }
    plan->choices = s->choices != NULL ? calloc(s->num_stages, sizeof *plan->choices) : NULL;
    for (size_t i = 0; plan->choices != NULL && i < s->num_stages; i++)
        plan->choices[i] = strdup(s->choices[i]);
    assert_int_equal(popliner_costs_create(s->num_units, 1, &costs, NULL), POPLINER_OK);
    options.counted_units = s->counted;
    input.plan = plan;
    input.costs = costs;
    input.options = &options;
    input.unit_names = s->names;
    input.schedule = s->schedule;
    input.recompute = s->recompute;
    assert_int_equal(popliner_certificate_create(&input, &certificate, NULL), POPLINER_OK);
    popliner_costs_free(costs);
    return certificate;
}

/* What a listener received. */
typedef struct told {
    size_t count;
    size_t about_recomputing;
    char last[500];
} told;

static void take_message(void *user, popliner_level level, const char *text) {
    told *t = user;
    assert_int_equal(level, POPLINER_LEVEL_WARNING);
    assert_null(strchr(text, '\n'));
    t->count++;
    t->about_recomputing += strstr(text, "recompute") != NULL;
    strncpy(t->last, text, sizeof t->last - 1);
}

/* The text of a split, or NULL; then *error says why. */
static char *emit(const split *s, const popliner_emit_options *options, popliner_emit_format format,
                  told *t, popliner_error *error) {
    popliner_certificate *certificate = certificate_of(s);
    popliner_listener listener = POPLINER_LISTENER_INIT;
    popliner_emit_options own = *options;
    char *text = "not set";
    *t = (told){0};
    listener.user = t;
    listener.message = take_message;
    own.listener = &listener;
    own.certificate = certificate;
    popliner_status status = popliner_emit(&own, format, &text, error);
    popliner_certificate_free(certificate);
    if (status == POPLINER_OK)
        return text;
    assert_int_equal(status, POPLINER_ERROR_USAGE);
    assert_null(text);
    assert_int_equal(t->count, 0);
    return NULL;
}

static void assert_emits(const split *s, const popliner_emit_options *options,
                         popliner_emit_format format, const char *expected) {
    popliner_error error = {.message = ""};
    told t;
    char *text = emit(s, options, format, &t, &error);
    assert_string_equal(text == NULL ? error.message : text, expected);
    free(text);
}

static void assert_refuses(const split *s, const popliner_emit_options *options,
                           popliner_emit_format format, const char *expected) {
    popliner_error error = {.message = ""};
    told t;
    char *text = emit(s, options, format, &t, &error);
    assert_string_equal(text == NULL ? error.message : text, expected);
    assert_null(text);
}

static bool can_emit(const split *s, const popliner_emit_options *options,
                     popliner_emit_format format) {
    popliner_error error = {.message = ""};
    told t;
    char *text = emit(s, options, format, &t, &error);
    bool can = text != NULL;
    free(text);
    return can;
}

static void formats_have_names(void **state) {
    (void)state;
    static const char *const names[] = {
        "pipeline", "optimum",    "poptorch",    "megatron", "vllm",  "torch",
        "titan",    "accelerate", "tensorflow",  "popart",   "popxl", "automodel",
        "bridge",   "hybrid",     "sglang",      "tensorrt", "llama", "deepspeed",
        "paddle",   "mindspore",  "mindformers", "order",    "passes"};
    assert_int_equal(sizeof names / sizeof *names, POPLINER_NUM_EMIT_FORMATS);
    for (size_t i = 0; i < POPLINER_NUM_EMIT_FORMATS; i++)
        assert_string_equal(pl_emit_format_name((popliner_emit_format)i), names[i]);
    assert_null(pl_emit_format_name(POPLINER_NUM_EMIT_FORMATS));
    assert_null(pl_emit_format_name((popliner_emit_format)-1));
}

/* The names of torchtitan's own models: nothing to warn of. */
static void titan_lists_all_modules(void **state) {
    (void)state;
    static const char *const first[] = {"tok_embeddings"};
    static const char *const last[] = {"norm", "lm_head"};
    static const char *const old_last[] = {"norm", "output"};
    popliner_emit_options o = with_modules();
    o.layer_path = "layers.{}";
    o.head_modules = first;
    o.tail_modules = last;
    assert_emits(&sample, &o, POPLINER_EMIT_TITAN,
                 "from torchtitan.config import ParallelismConfig\n\n"
                 "parallelism = ParallelismConfig(\n"
                 "    pipeline_parallel_degree=3,\n"
                 "    module_fqns_per_model_part=[\n"
                 "        [\"tok_embeddings\", \"layers.0\"],\n"
                 "        [\"layers.1\", \"layers.2\"],\n"
                 "        [\"layers.3\", \"norm\", \"lm_head\"],\n"
                 "    ],\n"
                 ")\n");
    /* models of today have no "output" */
    o.tail_modules = old_last;
    popliner_error old_error;
    told old;
    free(emit(&sample, &o, POPLINER_EMIT_TITAN, &old, &old_error));
    assert_int_equal(old.count, 1);
    assert_non_null(strstr(old.last, "is lm_head since"));
    /* whichever class the model is of, nobody else can say where its ends run */
    free(emit(&sample, &o, POPLINER_EMIT_OPTIMUM, &old, &old_error));
    assert_non_null(strstr(old.last, "PopTorch, which runs this"));
    assert_int_equal(old.count, 2);
    /* deeper modules are warned of, in the file and by the listener */
    o = with_modules();
    popliner_error error;
    told t;
    char *text = emit(&sample, &o, POPLINER_EMIT_TITAN, &t, &error);
    assert_non_null(text);
    assert_int_equal(t.count, 1);
    assert_int_equal(strncmp(text, "# ", 2), 0);
    assert_int_equal(strncmp(text + 2, t.last + strlen("titan: "), strlen(t.last) - 7), 0);
    free(text);
    o.num_head_modules = 0;
    assert_refuses(&sample, &o, POPLINER_EMIT_TITAN,
                   "titan: drops modules that are not named; give those before and after the "
                   "layers (modules)");
}

/* Keras wants a stage for each of its layers. */
static void lacking_modules_are_warned_of(void **state) {
    (void)state;
    static const popliner_emit_format formats[] = {POPLINER_EMIT_TENSORFLOW,
                                                   POPLINER_EMIT_ACCELERATE};
    static const char *const lists[] = {"stage_of_layer", "device_map"};
    for (size_t i = 0; i < 2; i++) {
        popliner_emit_options o = with_modules();
        popliner_error error;
        told t;
        free(emit(&sample, &o, formats[i], &t, &error));
        assert_int_equal(t.count, 0);
        o.num_head_modules = 0;
        char *text = emit(&sample, &o, formats[i], &t, &error);
        assert_non_null(text);
        assert_int_equal(t.count, 1);
        assert_non_null(strstr(t.last, lists[i]));
        assert_non_null(strstr(t.last, "(modules)"));
        free(text);
    }
    /* without a path it names no Keras layers */
    popliner_emit_options o = POPLINER_EMIT_OPTIONS_INIT;
    popliner_error error;
    told t;
    free(emit(&sample, &o, POPLINER_EMIT_TENSORFLOW, &t, &error));
    assert_int_equal(t.count, 0);
}

/* Which device maps each format can say. */
static void ipus_are_sayable_or_not(void **state) {
    (void)state;
    enum { OWN = 1, FROM_0 = 2, TURN = 4, V = 8, MANY = 16, NEVER = 32, UP = 64, PLAIN = 128 };
    static const struct {
        size_t ipus[4];
        size_t num_stages;
        unsigned is; /* what the map is an example of; PLAIN: rank k is IPU k */
    } maps[] = {
        {{0, 1, 2, 3}, 4, OWN | FROM_0 | TURN | UP | PLAIN | MANY},
        {{0}, 1, OWN | FROM_0 | TURN | UP | PLAIN},
        {{0, 1, 0, 1}, 4, FROM_0 | TURN | PLAIN | MANY},
        {{0, 1, 1, 0}, 4, FROM_0 | V | PLAIN | MANY},
        {{0, 1, 0}, 3, FROM_0 | PLAIN | MANY},
        {{0, 0, 1}, 3, FROM_0 | PLAIN | MANY},
        {{0, 0}, 2, FROM_0 | PLAIN},
        {{1, 0}, 2, OWN | TURN | MANY},
        {{0, 2}, 2, OWN | TURN | UP | MANY},
        {{1, 2}, 2, OWN | TURN | MANY},
        {{0, 2, 1}, 3, OWN | TURN | FROM_0 | MANY},
        {{0, 1, 0, 0}, 4, FROM_0 | PLAIN | MANY},
    };
    static const struct {
        popliner_emit_format format;
        unsigned needs; /* one of these, or none, */
        unsigned more;  /* and all of these */
    } rules[] = {
        {POPLINER_EMIT_PIPELINE, 0, 0},         {POPLINER_EMIT_OPTIMUM, UP, 0},
        {POPLINER_EMIT_POPTORCH, FROM_0, MANY}, {POPLINER_EMIT_MEGATRON, TURN, 0},
        {POPLINER_EMIT_VLLM, OWN, 0},           {POPLINER_EMIT_TORCH, OWN, 0},
        {POPLINER_EMIT_TITAN, TURN | V, 0},     {POPLINER_EMIT_ACCELERATE, 0, 0},
        {POPLINER_EMIT_TENSORFLOW, 0, MANY},    {POPLINER_EMIT_POPART, 0, MANY},
        {POPLINER_EMIT_POPXL, 0, MANY},         {POPLINER_EMIT_AUTOMODEL, TURN | V, 0},
        {POPLINER_EMIT_BRIDGE, TURN, 0},        {POPLINER_EMIT_SGLANG, OWN, 0},
        {POPLINER_EMIT_TENSORRT, OWN, 0},       {POPLINER_EMIT_LLAMA, OWN, 0},
        {POPLINER_EMIT_DEEPSPEED, OWN, 0},      {POPLINER_EMIT_PADDLE, OWN, 0},
        {POPLINER_EMIT_MINDSPORE, OWN, PLAIN},  {POPLINER_EMIT_MINDFORMERS, TURN, PLAIN},
        {POPLINER_EMIT_HYBRID, NEVER, 0}, /* these layers have no symbols */
        {POPLINER_EMIT_ORDER, NEVER, 0},  /* there are no micro-batches */
        {POPLINER_EMIT_PASSES, NEVER, 0},
    };
    assert_int_equal(sizeof rules / sizeof *rules, POPLINER_NUM_EMIT_FORMATS);
    const popliner_emit_options o = with_modules();
    size_t num_said = 0;
    for (size_t m = 0; m < sizeof maps / sizeof *maps; m++) {
        split s = {.num_units = 6,
                   .names = usual_names,
                   .counted = usual_counted,
                   .num_stages = maps[m].num_stages,
                   .ends = {0},
                   .ipus = {0}};
        for (size_t i = 0; i < s.num_stages; i++) {
            s.ends[i] = i + 1 == s.num_stages ? 5 : i + 1;
            s.ipus[i] = maps[m].ipus[i];
        }
        for (size_t r = 0; r < sizeof rules / sizeof *rules; r++) {
            bool may = (rules[r].needs == 0 || (maps[m].is & rules[r].needs) != 0) &&
                       (maps[m].is & rules[r].more) == rules[r].more;
            if (can_emit(&s, &o, rules[r].format) != may)
                fail_msg("map %zu, %s: expected %d", m, pl_emit_format_name(rules[r].format), may);
            num_said += may;
        }
    }
    assert_int_equal(num_said, 141);
    const split turned = split_of(6, usual_names, usual_counted, "25", "10");
    assert_refuses(
        &turned, &o, POPLINER_EMIT_MINDSPORE,
        "mindspore: needs stage k on IPU k, not 1,0; change device_map, or use pipeline");
    assert_emits(&turned, &o, POPLINER_EMIT_VLLM,
                 "CUDA_VISIBLE_DEVICES=1,0 VLLM_PP_LAYER_PARTITION=2,2\n");
    assert_emits(&turned, &o, POPLINER_EMIT_LLAMA, "-dev CUDA1,CUDA0 -ngl all -sm layer -ts 2,3\n");
    assert_emits(&turned, &o, POPLINER_EMIT_TENSORRT,
                 "import os\n\n# before tensorrt_llm is imported\n"
                 "os.environ[\"CUDA_VISIBLE_DEVICES\"] = \"1,0\"\n"
                 "pipeline = dict(pipeline_parallel_size=2, pp_partition=[2, 2])\n");
    const split one = split_of(6, usual_names, usual_counted, "5", "0");
    assert_refuses(
        &one, &o, POPLINER_EMIT_POPART,
        "popart: needs two IPUs or more; this plan is on one, which needs no annotation");
    assert_emits(&one, &o, POPLINER_EMIT_TORCH,
                 "from torch.distributed.pipelining import SplitPoint\n\nsplit_spec = {}\n");
    assert_emits(&one, &o, POPLINER_EMIT_MEGATRON,
                 "--pipeline-model-parallel-size 1 --pipeline-model-parallel-layout "
                 "\"EttttL\"\n");
}

static void head_and_tail_may_stand_alone(void **state) {
    (void)state;
    const split s = split_of(6, usual_names, usual_counted, "045", "012");
    popliner_emit_options o = with_modules();
    assert_emits(&s, &o, POPLINER_EMIT_OPTIMUM,
                 "{\n    \"ipus_per_replica\": 3,\n    \"layers_per_ipu\": [0, 4, 0]\n}\n");
    assert_emits(&s, &o, POPLINER_EMIT_MEGATRON,
                 "--pipeline-model-parallel-size 3 --pipeline-model-parallel-layout "
                 "\"E|tttt|L\"\n");
    assert_refuses(&s, &o, POPLINER_EMIT_VLLM,
                   "vllm: stage 0 has only 'Head', no layer; require layers (require layers:1..), "
                   "or use a format like pipeline");
    const split tail = split_of(6, usual_names, usual_counted, "45", "01");
    assert_refuses(&tail, &o, POPLINER_EMIT_VLLM,
                   "vllm: stage 1 has only 'Tail', no layer; require layers (require layers:1..), "
                   "or use a format like pipeline");
    assert_emits(&s, &o, POPLINER_EMIT_TORCH,
                 "from torch.distributed.pipelining import SplitPoint\n\n"
                 "split_spec = {\n"
                 "    \"model.layers.0\": SplitPoint.BEGINNING,\n"
                 "    \"model.norm\": SplitPoint.BEGINNING,\n"
                 "}\n");
    o.num_tail_modules = 0;
    static const popliner_emit_format modules[] = {POPLINER_EMIT_TORCH, POPLINER_EMIT_POPTORCH,
                                                   POPLINER_EMIT_ACCELERATE};
    for (size_t i = 0; i < sizeof modules / sizeof *modules; i++) {
        char expected[200];
        snprintf(expected, sizeof expected,
                 "%s: stage 2 begins after the last layer; give its modules: modules",
                 pl_emit_format_name(modules[i]));
        assert_refuses(&s, &o, modules[i], expected);
    }
    assert_refuses(&s, &o, POPLINER_EMIT_TENSORFLOW,
                   "tensorflow: stage 2 has no named Keras layer; give its layers: modules");
    o.num_head_modules = 0;
    assert_refuses(&s, &o, POPLINER_EMIT_TENSORFLOW,
                   "tensorflow: stage 0 has no named Keras layer; give its layers: modules");
    o.layer_path = NULL;
    assert_emits(&s, &o, POPLINER_EMIT_TENSORFLOW,
                 "device_mapping = [0, 1, 2]\n"
                 "layers_of_stage = [\n    [],\n    [\"0\", \"1\", \"2\", \"3\"],\n    [],\n]\n");
}

/* True if a format can express layers that are not called 0, 1, 2, ... */
static bool takes_any_names(popliner_emit_format format) {
    static const popliner_emit_format others[] = {
        POPLINER_EMIT_VLLM,     POPLINER_EMIT_OPTIMUM, POPLINER_EMIT_MEGATRON,
        POPLINER_EMIT_BRIDGE,   POPLINER_EMIT_HYBRID,  POPLINER_EMIT_SGLANG,
        POPLINER_EMIT_TENSORRT, POPLINER_EMIT_LLAMA,   POPLINER_EMIT_MINDFORMERS,
        POPLINER_EMIT_ORDER,    POPLINER_EMIT_PASSES};
    bool takes = true;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        takes = takes && format != others[i];
    return takes;
}

/* No module can be named between several units before the layers, or after them. */
static void head_and_tail_stay_together(void **state) {
    (void)state;
    static const char *const names[] = {"Head", "pool", "0", "1", "norm", "Tail"};
    static const uint8_t counted[] = {0, 0, 1, 1, 0, 0};
    const split head = split_of(6, names, counted, "015", "012");
    const split tail = split_of(6, names, counted, "345", "012");
    const split with_layer = split_of(6, names, counted, "05", "01");
    const split together = split_of(6, names, counted, "135", "012");
    const split *const splits[] = {&head, &tail, &with_layer, &together};
    popliner_emit_options o = with_modules();
    for (size_t i = 0; i < sizeof splits / sizeof *splits; i++)
        for (size_t k = 0; k < POPLINER_NUM_EMIT_FORMATS; k++) {
            const popliner_emit_format format = (popliner_emit_format)k;
            const bool by_rows =
                format == POPLINER_EMIT_DEEPSPEED || format == POPLINER_EMIT_PADDLE;
            const bool may = format == POPLINER_EMIT_PIPELINE || splits[i] == &together;
            /* one module is named for two rows before the layers, two for those after them */
            if (takes_any_names(format))
                assert_int_equal(can_emit(splits[i], &o, format),
                                 may || (by_rows && splits[i] == &tail));
            o.num_head_modules = o.num_tail_modules = 0;
            if (!may)
                assert_int_equal(can_emit(splits[i], &o, format), by_rows);
            o = with_modules();
        }
    assert_refuses(&head, &o, POPLINER_EMIT_OPTIMUM,
                   "optimum: the part before the layers is cut ('pool' is in stage 1); keep it "
                   "together, or use pipeline");
    assert_refuses(&tail, &o, POPLINER_EMIT_TORCH,
                   "torch: the part after the layers is cut ('norm' is in stage 1); keep it "
                   "together, or use pipeline");
}

/* Formats that count layers want to know that they count the right ones. */
static void counted_layers_have_numbers(void **state) {
    (void)state;
    static const popliner_emit_format counts[] = {POPLINER_EMIT_OPTIMUM, POPLINER_EMIT_MEGATRON,
                                                  POPLINER_EMIT_VLLM};
    static const struct {
        const char *names[3];
        bool may;
    } cases[] = {
        {{"0", "1", "2"}, true},        {{"1", "2", "3"}, true},
        {{"2", "3", "4"}, false},       {{"0", "2", "3"}, false},
        {{"0", "2", "1"}, false},       {{"1", "0", "2"}, false},
        {{"a", "b", "c"}, false},       {{"00", "01", "02"}, false},
        {{"0", "1", "1x"}, false},      {{"0", "1", " 2"}, false},
        {{"0", "1", ""}, false},        {{"0", "+1", "2"}, false},
        {{"l.0", "l.1", "l.2"}, true},  {{"l1", "l2", "l3"}, true},
        {{"l.0", "l.2", "l.1"}, false}, {{"l.0", "m.1", "l.2"}, false},
        {{"l.0", "l1", "l.2"}, false},  {{"l9", "l10", "l11"}, false},
    };
    popliner_emit_options o = POPLINER_EMIT_OPTIONS_INIT;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
            const split s = split_of(3, cases[i].names, NULL, "02", "01");
            if (can_emit(&s, &o, counts[k]) != cases[i].may)
                fail_msg("case %zu, %s", i, pl_emit_format_name(counts[k]));
        }
    const split s = split_of(3, cases[4].names, NULL, "02", "01");
    assert_refuses(
        &s, &o, POPLINER_EMIT_VLLM,
        "vllm: counts layers; expected layer 1, found '2'; end their names with numbers, "
        "and add a column 'layer' with true for each of them, false for all else, or use "
        "a format that names layers, like torch");
    /* from 1 on they are right, unless a layer 0 was missed */
    const split one = split_of(3, cases[1].names, NULL, "02", "01");
    popliner_error error;
    told t;
    char *text = emit(&one, &o, POPLINER_EMIT_MINDFORMERS, &t, &error);
    assert_non_null(strstr(text, "offset: [0, 1]\n"));
    assert_string_equal(t.last,
                        "mindformers: There is no layer 0, so layer 1 counts as the first layer of "
                        "the model.");
    free(text);
}

/* Where no unit is marked, those with numbers are the layers, if no other reading is possible. */
static void numbers_mark_layers(void **state) {
    (void)state;
    static const char *const names[] = {"embedding", "encoder.0", "encoder.1", "mtp.0", "head"};
    static const char *const two_runs[] = {"embedding", "a.0", "a.1", "b.0", "head"};
    static const char *const gap[] = {"embedding", "a.0", "pool", "a.1", "head"};
    static const uint8_t all[] = {1, 1, 1, 1, 1};
    static const uint8_t some[] = {0, 1, 1, 1, 1};
    split s = split_of(5, names, NULL, "14", "01");
    popliner_emit_options o = POPLINER_EMIT_OPTIONS_INIT;
    popliner_error error;
    told t;
    for (int i = 0; i < 2; i++, s.counted = all) {
        char *text = emit(&s, &o, POPLINER_EMIT_MEGATRON, &t, &error);
        assert_string_equal(text, "--mtp-num-layers 1 --pipeline-model-parallel-size 2 "
                                  "--pipeline-model-parallel-layout \"Et|tmL\"\n");
        assert_string_equal(t.last,
                            "megatron: Layers are encoder.0 to encoder.1, as their names have "
                            "numbers; units before and after them are no layers. A column 'layer' "
                            "can change this.");
        free(text);
    }
    s.counted = some;
    assert_refuses(&s, &o, POPLINER_EMIT_MEGATRON,
                   "megatron: counts layers; expected layer encoder.2, found 'mtp.0'; end their "
                   "names with numbers, and add a column 'layer' with true for each of them, false "
                   "for all else, or use a format that names layers, like torch");
    s.counted = NULL;
    s.names = two_runs;
    assert_false(can_emit(&s, &o, POPLINER_EMIT_MEGATRON));
    s.names = gap;
    assert_false(can_emit(&s, &o, POPLINER_EMIT_MEGATRON));
    /* formats that name layers have all of them */
    s.names = names;
    o.layer_path = "{}";
    s.ends[0] = 0;
    assert_emits(&s, &o, POPLINER_EMIT_TORCH,
                 "from torch.distributed.pipelining import SplitPoint\n\n"
                 "split_spec = {\n"
                 "    \"encoder.0\": SplitPoint.BEGINNING,\n"
                 "}\n");
}

static void names_are_quoted(void **state) {
    (void)state;
    static const char *const names[] = {"a\"b", "c\\d\n", "{}{x}", "\xc3\xa9\xf0\x9f\x99\x82\x7f",
                                        "'''\"\"\""};
    const split s = split_of(5, names, NULL, "01234", "01234");
    popliner_emit_options o = POPLINER_EMIT_OPTIONS_INIT;
    o.layer_path = "m\"odel.{}\n";
    assert_emits(&s, &o, POPLINER_EMIT_TORCH,
                 "from torch.distributed.pipelining import SplitPoint\n\n"
                 "split_spec = {\n"
                 "    \"m\\\"odel.c\\\\d\\u000a\\u000a\": SplitPoint.BEGINNING,\n"
                 "    \"m\\\"odel.{}{x}\\u000a\": SplitPoint.BEGINNING,\n"
                 "    \"m\\\"odel.\\u00e9\\U0001f642\\u007f\\u000a\": SplitPoint.BEGINNING,\n"
                 "    \"m\\\"odel.'''\\\"\\\"\\\"\\u000a\": SplitPoint.BEGINNING,\n"
                 "}\n");
    static const char *const broken[] = {"a", "\xc3("};
    const split no_utf8 = split_of(2, broken, NULL, "01", "01");
    assert_refuses(&no_utf8, &o, POPLINER_EMIT_TORCH,
                   "torch: the name of layer 1 is not UTF-8: '\xc3('");
}

static void modules_have_names_of_their_own(void **state) {
    (void)state;
    static const char *const last[] = {"model.norm", "model.layers.2"};
    popliner_emit_options o = with_modules();
    o.tail_modules = last;
    assert_refuses(&sample, &o, POPLINER_EMIT_TITAN,
                   "titan: two modules have the name \"model.layers.2\"; change modules");
}

static void options_are_checked(void **state) {
    (void)state;
    popliner_option_names names = POPLINER_OPTION_NAMES_INIT;
    popliner_emit_options o = POPLINER_EMIT_OPTIONS_INIT;
    popliner_error error;
    names.modules = "-p";
    o.option_names = &names;
    assert_int_equal(popliner_emit(&o, POPLINER_EMIT_TORCH, NULL, &error), POPLINER_ERROR_USAGE);
    assert_string_equal(
        error.message, "torch: needs names of modules; the plan has only those of layers; give -p, "
                       "like model.layers.{}");
    assert_refuses(&sample, &o, POPLINER_EMIT_TORCH, error.message);
    assert_int_equal(popliner_emit(&o, POPLINER_EMIT_VLLM, NULL, NULL), POPLINER_OK);
    assert_int_equal(popliner_emit(NULL, POPLINER_EMIT_PIPELINE, NULL, NULL), POPLINER_OK);
    const size_t map[] = {1, 0};
    o.device_map = map;
    o.num_mapped_stages = 2;
    assert_int_equal(popliner_emit(&o, POPLINER_EMIT_PIPELINE, NULL, NULL), POPLINER_OK);
    assert_int_equal(popliner_emit(&o, POPLINER_EMIT_VLLM, NULL, NULL), POPLINER_OK);
    assert_int_equal(popliner_emit(&o, POPLINER_EMIT_MINDFORMERS, NULL, &error),
                     POPLINER_ERROR_USAGE);
    assert_string_equal(
        error.message,
        "mindformers: needs stage k on IPU k, not 1,0; change device_map, or use pipeline");
    o.num_mapped_stages = 0;
    o.layer_path = "model.layers.%d";
    assert_int_equal(popliner_emit(&o, POPLINER_EMIT_PIPELINE, NULL, &error), POPLINER_ERROR_USAGE);
    assert_string_equal(error.message, "pipeline: -p model.layers.%d: has no {} for the "
                                       "layer's name; expected a path like model.layers.{}");
    o.layer_path = "a.{}.b.{}";
    assert_int_equal(popliner_emit(&o, POPLINER_EMIT_PIPELINE, NULL, &error), POPLINER_ERROR_USAGE);
    assert_string_equal(error.message, "pipeline: -p a.{}.b.{}: has {} twice; expected one");
    o.layer_path = "\xff{}";
    assert_int_equal(popliner_emit(&o, POPLINER_EMIT_PIPELINE, NULL, NULL), POPLINER_ERROR_USAGE);
    o = with_modules();
    static const char *const empty[] = {"a", ""};
    o.tail_modules = empty;
    assert_int_equal(popliner_emit(&o, POPLINER_EMIT_PIPELINE, NULL, &error), POPLINER_ERROR_USAGE);
    assert_string_equal(error.message,
                        "pipeline: modules: module 1 has no name, or the name is not UTF-8");
    o = with_modules();
    o.struct_size = 0;
    assert_int_equal(popliner_emit(&o, POPLINER_EMIT_PIPELINE, NULL, NULL), POPLINER_ERROR_USAGE);
    assert_int_equal(popliner_emit(NULL, POPLINER_NUM_EMIT_FORMATS, NULL, NULL),
                     POPLINER_ERROR_USAGE);
}

/* A best effort is told to be one; what is no split of the chain is refused. */
static void plans_that_do_not_fit(void **state) {
    (void)state;
    const popliner_emit_options o = with_modules();
    split s = sample;
    s.status = POPLINER_PLAN_INFEASIBLE;
    popliner_error error;
    told t;
    char *text = emit(&s, &o, POPLINER_EMIT_TORCH, &t, &error);
    assert_non_null(strstr(text, "# This split does not fit"));
    assert_int_equal(t.count, 1);
    free(text);
    s.num_stages = 2;
    assert_refuses(&s, &o, POPLINER_EMIT_PIPELINE,
                   "pipeline: the plan does not split the whole chain");
    s.num_stages = 0;
    assert_refuses(&s, &o, POPLINER_EMIT_PIPELINE,
                   "pipeline: the plan does not split the whole chain");
    static const uint8_t none[] = {0, 0, 0, 0, 0, 0};
    s = sample;
    s.counted = none;
    assert_refuses(&s, &o, POPLINER_EMIT_OPTIMUM, "optimum: the plan has no layer");
    static const char *const choices[] = {"none", "none", "full"};
    s = sample;
    s.choices = choices;
    text = emit(&s, &o, POPLINER_EMIT_TORCH, &t, &error);
    assert_string_equal(
        t.last, "torch: The format does not include the choices of stages: none | none | full.");
    free(text);
}

/* What Optimum Graphcore runs: a head on IPU 0, IPUs without layers, an encoder and a decoder. */
static void optimum_has_other_ipus(void **state) {
    (void)state;
    static const char *const names[] = {"e", "enc.0", "enc.1", "between", "dec.0", "dec.1", "Tail"};
    static const uint8_t counted[] = {0, 1, 1, 0, 1, 1, 0};
    const popliner_emit_options o = with_modules();
    split s = split_of(7, names, counted, "1256", "0130");
    assert_emits(&s, &o, POPLINER_EMIT_OPTIMUM,
                 "{\n    \"ipus_per_replica\": 4,\n    \"layers_per_ipu\": [1, 1, 0, 2]\n}\n");
    assert_refuses(&s, &o, POPLINER_EMIT_LLAMA,
                   "llama: counts layers; expected layer enc.2, found 'dec.0'; end their names "
                   "with numbers, and add a column 'layer' with true for each of them, false for "
                   "all else, or use a format that names layers, like torch");
    s.ends[1] = 4;
    assert_refuses(&s, &o, POPLINER_EMIT_OPTIMUM,
                   "optimum: encoder and decoder share stage 1; cut between them (require "
                   "cut:enc.1)");
    s.ends[1] = 2;
    s.ends[2] = 4;
    assert_refuses(&s, &o, POPLINER_EMIT_OPTIMUM,
                   "optimum: needs ascending IPUs from 0 on (a last stage without layers may be on "
                   "IPU 0), not 0,1,3,0; change device_map, or use pipeline");
}

/* How stages that keep something recompute is said, or how to have it so. */
static void stages_that_recompute(void **state) {
    (void)state;
    static const struct {
        popliner_emit_format format;
        popliner_recompute recompute;
        const char *words;
    } cases[] = {
        {POPLINER_EMIT_PIPELINE, POPLINER_RECOMPUTE_FULL, "\"recompute\": \"full\""},
        {POPLINER_EMIT_PIPELINE, POPLINER_RECOMPUTE_STANDARD, "\"recompute\": \"standard\""},
        {POPLINER_EMIT_PIPELINE, POPLINER_RECOMPUTE_NONE, "\"recompute\": null"},
        {POPLINER_EMIT_POPART, POPLINER_RECOMPUTE_FULL,
         "\nopts.autoRecomputation = popart.RecomputationType.Pipeline\n"},
        {POPLINER_EMIT_POPART, POPLINER_RECOMPUTE_STANDARD,
         "\nopts.autoRecomputation = popart.RecomputationType.Standard\n"},
        {POPLINER_EMIT_POPTORCH, POPLINER_RECOMPUTE_NONE, "\"autoRecomputation\", 0)"},
        {POPLINER_EMIT_POPTORCH, POPLINER_RECOMPUTE_STANDARD, "\"autoRecomputation\", 1)"},
        {POPLINER_EMIT_TENSORFLOW, POPLINER_RECOMPUTE_FULL, "allow_recompute"},
        {POPLINER_EMIT_TITAN, POPLINER_RECOMPUTE_FULL, "full activation checkpointing"},
        {POPLINER_EMIT_AUTOMODEL, POPLINER_RECOMPUTE_FULL, "those of each layer: popliner.costs"},
        {POPLINER_EMIT_BRIDGE, POPLINER_RECOMPUTE_FULL, "full, uniform by 1 layer,"},
        {POPLINER_EMIT_DEEPSPEED, POPLINER_RECOMPUTE_FULL, "activation_checkpoint_interval"},
        {POPLINER_EMIT_TORCH, POPLINER_RECOMPUTE_FULL, "the format does not include that"},
        {POPLINER_EMIT_POPXL, POPLINER_RECOMPUTE_STANDARD, "the format does not include that"},
        {POPLINER_EMIT_MINDFORMERS, POPLINER_RECOMPUTE_FULL, "\n  recompute: true\n"},
        /* without comments: the listener alone hears of it */
        {POPLINER_EMIT_OPTIMUM, POPLINER_RECOMPUTE_NONE, NULL},
        {POPLINER_EMIT_OPTIMUM, POPLINER_RECOMPUTE_FULL, NULL},
        {POPLINER_EMIT_MEGATRON, POPLINER_RECOMPUTE_FULL, NULL},
    };
    const popliner_emit_options o = with_modules();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        popliner_error error = {.message = ""};
        told t;
        split s = sample;
        s.num_stages = 2;
        s.ends[1] = 5;
        /* nothing is kept, so nothing is recomputed */
        s.recompute = POPLINER_RECOMPUTE_NONE;
        char *without = emit(&s, &o, cases[i].format, &t, &error);
        const size_t usual_count = t.count;
        s.schedule = POPLINER_SCHEDULE_POPART;
        s.recompute = cases[i].recompute;
        char *text = emit(&s, &o, cases[i].format, &t, &error);
        const bool is_said = cases[i].words != NULL && strstr(text, cases[i].words) != NULL;
        const bool is_heard = t.count == usual_count + 1 && t.about_recomputing == 1;
        if (cases[i].words == NULL ? !is_heard : !is_said)
            fail_msg("case %zu: %s\n%s", i, t.last, text);
        if (cases[i].format != POPLINER_EMIT_PIPELINE)
            assert_string_not_equal(cases[i].words == NULL ? t.last : text, without);
        free(text);
        free(without);
    }
    /* it is PopTorch's default */
    popliner_error error;
    told t;
    split s = sample;
    s.num_stages = 2;
    s.ends[1] = 5;
    s.schedule = POPLINER_SCHEDULE_POPART;
    s.recompute = POPLINER_RECOMPUTE_FULL;
    free(emit(&s, &o, POPLINER_EMIT_POPTORCH, &t, &error));
    assert_int_equal(t.count, 0);
}

/* How many IPUs are reserved, by roundUpNumIPUs of PopTorch: powers of two up to 64, then multiples
 * of 64. */
static void reserved_ipus(void **state) {
    (void)state;
    static const size_t cases[][2] = {{2, 2},   {3, 4},    {4, 4},     {5, 8},    {63, 64},
                                      {64, 64}, {65, 128}, {128, 128}, {130, 192}};
    const popliner_emit_options o = with_modules();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t n = cases[i][0];
        char expected[100];
        const char **names = calloc(n, sizeof *names);
        popliner_plan *plan = calloc(1, sizeof *plan);
        popliner_costs *costs = NULL;
        popliner_certificate *certificate = NULL;
        popliner_certificate_input input = POPLINER_CERTIFICATE_INPUT_INIT;
        char numbers[130][24];
        char *text = NULL;
        plan->stages = calloc(n, sizeof *plan->stages);
        plan->num_stages = n;
        for (size_t k = 0; k < n; k++) {
            plan->stages[k].first_unit = plan->stages[k].last_unit = plan->stages[k].ipu = k;
            snprintf(numbers[k], sizeof numbers[k], "%zu", k);
            names[k] = numbers[k];
        }
        assert_int_equal(popliner_costs_create(n, 1, &costs, NULL), POPLINER_OK);
        input.plan = plan;
        input.costs = costs;
        input.unit_names = names;
        assert_int_equal(popliner_certificate_create(&input, &certificate, NULL), POPLINER_OK);
        popliner_emit_options own = o;
        own.certificate = certificate;
        assert_int_equal(popliner_emit(&own, POPLINER_EMIT_POPTORCH, &text, NULL), POPLINER_OK);
        snprintf(expected, sizeof expected, "rounds %zu IPUs up to %zu:", n, cases[i][1]);
        assert_int_equal(strstr(text, expected) != NULL, cases[i][1] != n);
        assert_int_equal(strstr(text, "autoRoundNumIPUs(True)") != NULL, cases[i][1] != n);
        free(text);
        popliner_certificate_free(certificate);
        popliner_costs_free(costs);
        free(names);
    }
}

/* Two layers of 10 cycles each, four IPUs, nine micro-batches of each pipeline: four pipelines of
 * one stage take 180 cycles for 36 micro-batches, two of two stages (9 + 1) * 10 = 100 for 18. That
 * is 0.2 and 0.18 of them a cycle, but where an IPU has 60 bytes, one layer fits on it. */
static void replicas_are_said(void **state) {
    (void)state;
    static const char *const names[] = {"0", "1"};
    popliner_costs *costs = NULL;
    popliner_solver_options solver = PLAIN_SOLVER_OPTIONS;
    popliner_replicas_options asked = POPLINER_REPLICAS_OPTIONS_INIT;
    popliner_certificate_input input = POPLINER_CERTIFICATE_INPUT_INIT;
    popliner_replicas *answer = NULL;
    popliner_emit_options o = POPLINER_EMIT_OPTIONS_INIT;
    popliner_error error;
    char *text = NULL;
    assert_int_equal(popliner_costs_create(2, 1, &costs, NULL), POPLINER_OK);
    for (size_t first = 0; first < 2; first++)
        for (size_t last = first; last < 2; last++) {
            size_t n = last - first + 1;
            assert_int_equal(popliner_costs_set_peak(costs, first, last, 1, 50 * n, NULL), 0);
            assert_int_equal(popliner_costs_set_cycles(costs, first, last, 10 * n, NULL), 0);
        }
    solver.mem_per_tile = 60;
    asked.solver = &solver;
    asked.total_ipus = 4;
    asked.micro_batches = 9;
    input.costs = costs;
    input.options = &solver;
    input.unit_names = names;
    assert_int_equal(popliner_replicas_solve(costs, &asked, &answer, NULL), POPLINER_OK);
    static const struct {
        popliner_emit_format format;
        const char *expected;
    } cases[] = {
        {POPLINER_EMIT_OPTIMUM, "{\n    \"ipus_per_replica\": 2,\n    \"layers_per_ipu\": [1, 1],\n"
                                "    \"replication_factor\": 2,\n"
                                "    \"gradient_accumulation_steps\": 9\n}\n"},
        {POPLINER_EMIT_POPTORCH, "opts.replicationFactor(2)\n"
                                 "opts.Training.gradientAccumulation(9)\n"},
        {POPLINER_EMIT_TITAN, "    pipeline_parallel_degree=2,\n"
                              "    data_parallel_replicate_degree=2,\n"},
        {POPLINER_EMIT_TENSORFLOW, "device_mapping = [0, 1]\nnum_ipus = 4\n"
                                   "gradient_accumulation_count = 9\n"},
        {POPLINER_EMIT_POPART, "opts.enableReplicatedGraphs = True\n"
                               "opts.replicatedGraphCount = 2\n"
                               "opts.enableGradientAccumulation = True\n"
                               "opts.accumulationFactor = 9\n"},
        {POPLINER_EMIT_POPXL, "replication_factor = 2\nsteps = 9\n"},
        {POPLINER_EMIT_PIPELINE, "\"replicas\": 2,\n    \"micro_batches\": 9,\n"},
        {POPLINER_EMIT_VLLM, "VLLM_PP_LAYER_PARTITION=1,1\n"},
    };
    o = with_modules();
    o.replicas = answer;
    o.names = &input;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(popliner_emit(&o, cases[i].format, &text, &error), 0);
        if (strstr(text, cases[i].expected) == NULL)
            assert_string_equal(text, cases[i].expected);
        free(text);
    }
    /* a format without words for replicas says so */
    popliner_listener listener = POPLINER_LISTENER_INIT;
    told t = {0};
    listener.user = &t;
    listener.message = take_message;
    o.listener = &listener;
    assert_int_equal(popliner_emit(&o, POPLINER_EMIT_MEGATRON, &text, &error), 0);
    assert_string_equal(t.last,
                        "megatron: The format has no replicas, and this plan has 2: start it on 4 "
                        "devices.");
    free(text);
    popliner_replicas_free(answer);
    solver.mem_per_tile = 40;
    assert_int_equal(popliner_replicas_solve(costs, &asked, &answer, NULL), POPLINER_OK);
    o.replicas = answer;
    assert_int_equal(popliner_emit(&o, POPLINER_EMIT_PIPELINE, &text, &error),
                     POPLINER_ERROR_USAGE);
    assert_string_equal(error.message, "pipeline: nothing fits, so there is no plan");
    assert_null(text);
    popliner_replicas_free(answer);
    popliner_costs_free(costs);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(formats_have_names),
        cmocka_unit_test(titan_lists_all_modules),
        cmocka_unit_test(lacking_modules_are_warned_of),
        cmocka_unit_test(ipus_are_sayable_or_not),
        cmocka_unit_test(head_and_tail_may_stand_alone),
        cmocka_unit_test(head_and_tail_stay_together),
        cmocka_unit_test(counted_layers_have_numbers),
        cmocka_unit_test(numbers_mark_layers),
        cmocka_unit_test(names_are_quoted),
        cmocka_unit_test(modules_have_names_of_their_own),
        cmocka_unit_test(options_are_checked),
        cmocka_unit_test(plans_that_do_not_fit),
        cmocka_unit_test(stages_that_recompute),
        cmocka_unit_test(optimum_has_other_ipus),
        cmocka_unit_test(reserved_ipus),
        cmocka_unit_test(replicas_are_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
