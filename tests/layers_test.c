/* Layers: the rules by which they are found, one by one. golden_test.py has those that PopLiner
 * finds.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "golden_case.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/growth.h"
#include "model/layers.h"
#include "model/operations.h"
#include "profile/profile_data.h"
#include "test_data.h"

static bool same_name(const char *a, const char *b) {
    return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

/* ---- What it tells -------------------------------------------------------------------------- */

/* Collects messages, one to a line, with their level before it. */
static void collect(void *user, popliner_level level, const char *text) {
    pl_text_format(user, "%s: %s\n", level == POPLINER_LEVEL_WARNING ? "WARNING" : "INFO", text);
}

static popliner_status assign(const popliner_profile *profile, const pl_operations *operations,
                              pl_layer_options options, pl_text *told, pl_layers **layers,
                              popliner_error *error) {
    const popliner_listener listener = {.user = told, .message = collect};
    options.listener = told == NULL ? NULL : &listener;
    return pl_layers_assign(profile, operations, &options, layers, error);
}

/* ---- Rules, one by one ---------------------------------------------------------------------- */

typedef struct made_operation {
    const char *name;
    const char *inputs;
    bool is_tensor;
    const char *layer; /* expected; NULL for none */
    const char *note;  /* expected */
} made_operation;

enum { MOST = 300 };

typedef struct made_list {
    pl_operations operations;
    pl_operation_row rows[MOST + 1];
    uint32_t program[MOST];
    popliner_operation items[MOST];
    char strings[10000];
} made_list;

static uint32_t add_string(made_list *list, const char *text) {
    uint32_t string = (uint32_t)list->operations.strings_length;
    assert_true(string + strlen(text) < sizeof list->strings);
    strcpy(list->strings + string, text);
    list->operations.strings_length += strlen(text) + 1;
    return string;
}

/* Operation i has program i alone. */
static void make_list(made_list *list, const made_operation *operations, size_t count,
                      bool of_framework) {
    assert_true(count <= MOST);
    *list = (made_list){.operations = {.count = count, .of_framework = of_framework}};
    pl_operations *o = &list->operations;
    o->strings = list->strings;
    o->rows = list->rows;
    o->program = list->program;
    o->num_programs = count;
    o->items = list->items;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t name = add_string(list, operations[i].name);
        const uint32_t inputs = add_string(list, operations[i].inputs);
        list->rows[i] = (pl_operation_row){0, operations[i].is_tensor, name, inputs, i, i, i, 0};
        list->program[i] = i;
    }
    list->rows[count].programs_start = (uint32_t)count;
    pl_operations_complete(o);
}

static void check_made(const popliner_profile *profile, const made_operation *operations,
                       size_t count, bool of_framework, pl_layer_options options, pl_text *told) {
    made_list list;
    pl_layers *layers;
    popliner_error error;
    make_list(&list, operations, count, of_framework);
    if (!of_framework)
        pl_operations_list_unlowered(&list.operations, profile);
    if (assign(profile, &list.operations, options, told, &layers, &error) != POPLINER_OK)
        fail_msg("%s", error.message);
    for (size_t i = 0; i < count; i++) {
        const char *layer = pl_layers_name(layers, pl_layer_at(layers, i)->unit);
        if (!same_name(layer, operations[i].layer))
            fail_msg("%s is in layer %s instead of %s", operations[i].name, layer,
                     operations[i].layer);
        if (operations[i].note != NULL)
            assert_string_equal(pl_layer_at(layers, i)->note, operations[i].note);
    }
    pl_arrays_free(&list.operations.arrays);
    pl_layers_free(layers);
}

static const popliner_profile no_profile = {.num_unlowered = 0};
static const pl_layer_options defaults = {.name_regex = NULL};

#define CHECK(...)                                                                                 \
    do {                                                                                           \
        const made_operation made[] = {__VA_ARGS__};                                               \
        check_made(&no_profile, made, sizeof made / sizeof *made, true, defaults, NULL);           \
    } while (false)

static void takes_the_one_result_in_the_name(void **state) {
    (void)state;
    CHECK({"Layer3/MatMul", "layer5", false, "3", ""});
    CHECK({"layer/3/x", "", false, "3", ""});
    CHECK({"model/blocks_12/conv", "", false, "12", ""});
    CHECK({"bert/encoder.7/attention", "", false, "7", ""});
    /* the same result twice is one */
    CHECK({"layer3/layer3", "", false, "3", ""});
    CHECK({"xlayer3", "", false, NULL, "0_input_layers"});
}

static void then_the_one_result_in_the_inputs(void **state) {
    (void)state;
    CHECK({"MatMul", "weights/layer5", false, "5", "deduced_from_input_names"});
    /* points of tensor names count as separators */
    CHECK({"MatMul", "bert.encoder.layer.2.attention", false, "2", "deduced_from_input_names"});
    CHECK({"MatMul", "a.layer.2.x/b.layer.2.y", false, "2", "deduced_from_input_names"});
    CHECK({"MatMul", "layer1/layer2/layer1", false, NULL, "2_input_layers"});
    /* two results in the name decide nothing; the inputs are asked then */
    CHECK({"layer1/layer2", "layer3", false, "3", "deduced_from_input_names"});
    CHECK({"layer1/layer2", "", false, NULL, "0_input_layers"});
    CHECK({"layer1/layer2", "layer3/layer4/layer5", false, NULL, "3_input_layers"});
}

static void ignores_tensors(void **state) {
    (void)state;
    CHECK({"Tensor/layer1", "layer1", true, NULL, "tensor_filter"},
          {"Call(1)", "", false, "2", "deduced_from_following_operation"},
          {"Tensor/layer1", "layer1", true, NULL, "tensor_filter"}, {"layer2", "", false, "2", ""});
}

static void gives_a_call_the_layer_of_what_follows(void **state) {
    (void)state;
    CHECK({"Call(1)", "", false, "2", "deduced_from_following_operation"},
          {"Call(2)", "", false, "2", "deduced_from_following_operation"},
          {"layer2/a", "", false, "2", ""},
          {"Call(3)", "x", false, "3", "deduced_from_following_operation"},
          {"MatMul", "layer3", false, "3", "deduced_from_input_names"});
    /* inputs decide before */
    CHECK({"Call(1)", "layer7", false, "7", "deduced_from_input_names"},
          {"layer2", "", false, "2", ""});
    /* it is enough that the name begins so */
    CHECK({"Callback", "", false, "2", "deduced_from_following_operation"},
          {"layer2", "", false, "2", ""});
    CHECK({"MyCall", "", false, NULL, "0_input_layers"}, {"layer2", "", false, "2", ""});
    /* nothing follows, or nothing in a layer */
    CHECK({"Call(1)", "", false, NULL, "deduced_from_following_operation"});
    CHECK({"Call(1)", "", false, NULL, "deduced_from_following_operation"},
          {"MatMul", "", false, NULL, "0_input_layers"}, {"layer2", "", false, "2", ""});
    /* several layers in the inputs: none, and what comes before has none to follow */
    CHECK({"Call(1)", "", false, NULL, "deduced_from_following_operation"},
          {"Call(2)", "layer1/layer2", false, NULL, "2_input_layers"},
          {"layer2", "", false, "2", ""});
}

static void gives_embeddings_the_first_layer(void **state) {
    (void)state;
    CHECK({"Call(1)", "", false, "4", "deduced_from_following_operation"},
          {"Gather", "x/Embedding_Dict", false, "4", "inputs_regex_layer_0"},
          {"layer4", "", false, "4", ""}, {"layer2", "", false, "2", ""});
    CHECK({"layer4", "", false, "4", ""}, {"layer2", "", false, "2", ""},
          {"Gather", "bert.word_embeddings.weight", false, "4", "inputs_regex_layer_0"});
    /* a Call before it follows it, wherever the first layer is */
    CHECK({"layer4", "", false, "4", ""},
          {"Call(1)", "", false, "4", "deduced_from_following_operation"},
          {"Gather", "Embedding_Dict", false, "4", "inputs_regex_layer_0"},
          {"layer2", "", false, "2", ""});
    /* as for the rules before it: only where these say nothing */
    CHECK({"layer4", "", false, "4", ""}, {"layer2", "Embedding_Dict", false, "2", ""},
          {"Gather", "layer2/Embedding_Dict", false, "2", "deduced_from_input_names"});
    /* even if the inputs name two layers */
    CHECK({"layer4", "", false, "4", ""}, {"layer2", "", false, "2", ""},
          {"Gather", "layer2/layer4/Embedding_Dict", false, "4", "inputs_regex_layer_0"});
    /* a Call takes that of what follows instead */
    CHECK({"layer4", "", false, "4", ""},
          {"Call(1)", "Embedding_Dict", false, "2", "deduced_from_following_operation"},
          {"layer2", "", false, "2", ""});
    /* there is no layer at all */
    CHECK({"Gather", "Embedding_Dict", false, NULL, "inputs_regex_layer_0"});
    /* the regex may be another; it also sees slashes for the points of names */
    const made_operation made[] = {{"Gather", "my.table", false, "1", "inputs_regex_layer_0"},
                                   {"Gather", "Embedding_Dict", false, NULL, "0_input_layers"},
                                   {"layer1", "", false, "1", ""}};
    check_made(&no_profile, made, 3, true, (pl_layer_options){.first_layer_regex = "my/table"},
               NULL);
    /* the first layer is the first in the order that was requested */
    const made_operation orders[] = {{"layer4", "", false, "4", ""},
                                     {"layer2", "", false, "2", ""},
                                     {"Gather", "Embedding_Dict", false, "2", NULL}};
    check_made(&no_profile, orders, 3, true,
               (pl_layer_options){.order = POPLINER_LAYER_ORDER_NATURAL}, NULL);
}

static void takes_what_the_groups_capture(void **state) {
    (void)state;
    const made_operation whole[] = {{"a/Block7/x", "", false, "Block7", ""},
                                    {"y", "Block8", false, "Block8", "deduced_from_input_names"}};
    check_made(&no_profile, whole, 2, true, (pl_layer_options){.name_regex = "Block\\d"}, NULL);
    const made_operation two[] = {{"a/Block7/x", "", false, "ck7", ""},
                                  {"Block7/Block8", "Block7", false, "ck7", NULL}};
    check_made(&no_profile, two, 2, true,
               (pl_layer_options){.name_regex = "Blo(c)(?:k)(?<=(k))(\\d)"}, NULL);
    /* an empty result is also a layer */
    const made_operation empty[] = {{"x", "", false, "", ""}, {"y", "", false, "", ""}};
    check_made(&no_profile, empty, 2, true, (pl_layer_options){.name_regex = "$"}, NULL);
}

static void accepts_an_empty_list(void **state) {
    (void)state;
    pl_text told = {0};
    check_made(&no_profile, NULL, 0, true, defaults, &told);
    assert_non_null(strstr(told.data, "WARNING: Only found layers for 0% of operations."));
    free(told.data);
}

/* ---- Names of variables --------------------------------------------------------------------- */

static void asks_the_variables_where_there_is_no_framework(void **state) {
    (void)state;
    /* program i touches the lists list_of_program[start[i]] ...; names: */
    char strings[] = "\0weights of layer/1\0layer/2\0scratch\0layer/1 and layer/3";
    uint32_t names[] = {1, 20, 28, 36};
    assert_string_equal(strings + names[2], "scratch");
    uint32_t unlowered[] = {0, 0, 1, 2, 3, PL_NONE};
    uint32_t variables[] = {0, 1, 3, /* layer 1 twice, and scratch */
                            2,       /* layer 2 */
                            3, 5,    /* scratch, and one without a name */
                            4};      /* layers 1 and 3 */
    uint64_t list_start[] = {0, 3, 4, 6, 7};
    uint32_t lists[] = {0, 0, 1, 2, 3, 0};
    uint32_t lists_start[] = {0, 1, 3, 4, 5, 6, 6};
    const popliner_profile profile = {
        .strings = strings,
        .strings_length = sizeof strings,
        .num_unlowered = 4,
        .unlowered_name = names,
        .num_variables = 6,
        .variable_unlowered = unlowered,
        .num_lists = 4,
        .list_start = list_start,
        .num_list_variables = 7,
        .list_variable = variables,
        .num_programs = 6,
        .program_lists_start = lists_start,
        .num_program_lists = 6,
        .program_list = lists,
    };
    const pl_layer_options options = {.name_regex = "layer/(\\d)"};
    const made_operation own[] = {
        {"mul", "", false, "1", "deduced_from_variable_names"},
        {"mul", "", false, NULL, "2_variable_layers"}, /* lists 0 and 1 */
        {"mul", "", false, NULL, "0_input_layers"},
        {"mul", "", false, NULL, "2_variable_layers"},
        {"layer/7", "", false, "7", ""}, /* its name decides */
        {"mul", "", false, NULL, "0_input_layers"},
    };
    pl_text told = {0};
    check_made(&profile, own, 6, false, options, &told);
    assert_non_null(strstr(told.data, "Only found layers for 33% of operations"));
    free(told.data);
    /* PopLiner does not, so that frameworks' operations are not asked either */
    const made_operation of_framework[] = {
        {"mul", "", false, NULL, "0_input_layers"},
        {"mul", "", false, NULL, "0_input_layers"},
        {"mul", "", false, NULL, "0_input_layers"},
        {"mul", "", false, NULL, "0_input_layers"},
        {"layer/7", "", false, "7", ""},
        {"mul", "", false, NULL, "0_input_layers"},
    };
    check_made(&profile, of_framework, 6, true, options, NULL);
}

/* The sets that a text names: bit n for "of Set n". */
static unsigned sets_in(const char *text) {
    unsigned sets = 0;
    for (const char *at = text; (at = strstr(at, "of Set ")) != NULL; at++) {
        if (at[7] >= '0' && at[7] <= '9')
            sets |= 1u << strtoul(at + 7, NULL, 10) % 32;
    }
    return sets;
}

static void finds_the_sets_of_the_real_profile(void **state) {
    (void)state;
    golden_case c;
    real_load(&c);
    const popliner_profile *p = c.profile;
    pl_layers *layers = assign_layers(&c, "of Set (\\d+)", POPLINER_LAYER_ORDER_NATURAL);
    assert_int_equal(pl_layers_num_units(layers), 3);
    assert_string_equal(pl_layers_name(layers, 1), "0");
    assert_string_equal(pl_layers_name(layers, 2), "1");
    size_t by_name = 0;
    size_t by_variables = 0;
    for (size_t i = 0; i < pl_operations_count(c.operations); i++) {
        const popliner_operation *operation = pl_operation_at(c.operations, i);
        const char *note = "";
        unsigned sets = sets_in(operation->name);
        if (sets != 1 && sets != 2) {
            sets = 0;
            note = "deduced_from_variable_names";
            for (size_t k = 0; k < operation->num_programs; k++) {
                uint32_t program = operation->programs[k];
                for (uint32_t l = p->program_lists_start[program];
                     l < p->program_lists_start[program + 1]; l++) {
                    uint32_t list = p->program_list[l];
                    for (uint64_t v = p->list_start[list]; v < p->list_start[list + 1]; v++) {
                        uint32_t unlowered = p->variable_unlowered[p->list_variable[v]];
                        if (unlowered != PL_NONE)
                            sets |= sets_in(pl_profile_string(p, p->unlowered_name[unlowered]));
                    }
                }
            }
        }
        assert_true(sets < 4);
        size_t unit = sets == 1 ? 1 : sets == 2 ? 2 : 0;
        assert_int_equal(pl_layer_at(layers, i)->unit, unit);
        assert_string_equal(pl_layer_at(layers, i)->note, unit > 0    ? note
                                                          : sets == 3 ? "2_variable_layers"
                                                                      : "0_input_layers");
        by_name += unit > 0 && *note == '\0';
        by_variables += unit > 0 && *note != '\0';
    }
    assert_true(by_name > 0 && by_variables > 0);
    pl_layers_free(layers);
    golden_free(&c);
}

/* ---- Order ---------------------------------------------------------------------------------- */

/* Layers of the given names, in this order of steps, come out in natural order as listed. */
static void assert_natural_order(size_t count, const char *const *by_steps,
                                 const char *const *natural) {
    made_operation operations[20];
    made_list list;
    assert_true(count <= 20);
    for (size_t i = 0; i < count; i++)
        operations[i] = (made_operation){by_steps[i], "", false, NULL, NULL};
    make_list(&list, operations, count, true);
    for (int k = 0; k < 2; k++) {
        pl_layers *layers;
        const pl_layer_options options = {.name_regex = "^.+$",
                                          .order = k == 0 ? POPLINER_LAYER_ORDER_STEPS
                                                          : POPLINER_LAYER_ORDER_NATURAL};
        popliner_error error;
        assert_int_equal(assign(&no_profile, &list.operations, options, NULL, &layers, &error),
                         POPLINER_OK);
        assert_int_equal(pl_layers_num_units(layers), count + 1);
        assert_null(pl_layers_name(layers, 0));
        for (size_t i = 0; i < count; i++) {
            assert_string_equal(pl_layers_name(layers, i + 1), k == 0 ? by_steps[i] : natural[i]);
            assert_string_equal(pl_layers_name(layers, pl_layer_at(layers, i)->unit), by_steps[i]);
        }
        pl_layers_free(layers);
    }
}

#define ASSERT_NATURAL_ORDER(count, ...)                                                           \
    do {                                                                                           \
        static const char *const all[2][count] = {__VA_ARGS__};                                    \
        assert_natural_order(count, all[0], all[1]);                                               \
    } while (false)

static void compares_runs_of_digits_as_numbers(void **state) {
    (void)state;
    ASSERT_NATURAL_ORDER(4, {"10", "2", "1", "11"}, {"1", "2", "10", "11"});
    ASSERT_NATURAL_ORDER(4, {"a10", "a2b", "a2", "b1"}, {"a2", "a2b", "a10", "b1"});
    ASSERT_NATURAL_ORDER(4, {"Layer10/FF", "Layer9/FF", "Layer9/Attention", "CLS"},
                         {"CLS", "Layer9/Attention", "Layer9/FF", "Layer10/FF"});
    ASSERT_NATURAL_ORDER(3, {"1.10.2", "1.9.30", "1.9.4"}, {"1.9.4", "1.9.30", "1.10.2"});
    /* beyond any integer */
    ASSERT_NATURAL_ORDER(
        2, {"100000000000000000000000000000000000000000", "99999999999999999999999999999999999999"},
        {"99999999999999999999999999999999999999", "100000000000000000000000000000000000000000"});
}

static void ignores_leading_zeros(void **state) {
    (void)state;
    ASSERT_NATURAL_ORDER(4, {"010", "9", "008", "007a"}, {"007a", "008", "9", "010"});
    /* equal as numbers: they keep the order of steps */
    ASSERT_NATURAL_ORDER(4, {"01", "1", "0", "00"}, {"0", "00", "01", "1"});
    ASSERT_NATURAL_ORDER(3, {"a0", "a", "a00b"}, {"a", "a0", "a00b"});
}

static void orders_other_characters_by_their_bytes(void **state) {
    (void)state;
    ASSERT_NATURAL_ORDER(5, {"b", "a", "\u00e9", "B", "1"}, {"1", "B", "a", "b", "\u00e9"});
}

static void orders_by_the_first_operation_that_is_in_the_layer(void **state) {
    (void)state;
    /* "5" is seen first where it decides nothing, from either end */
    const made_operation made[] = {{"layer5/layer1", "", false, NULL, NULL},
                                   {"layer3", "", false, "3", ""},
                                   {"layer5", "", false, "5", ""},
                                   {"layer5/layer9", "", false, NULL, NULL}};
    made_list list;
    pl_layers *layers;
    make_list(&list, made, 4, true);
    assert_int_equal(assign(&no_profile, &list.operations, defaults, NULL, &layers, NULL),
                     POPLINER_OK);
    assert_int_equal(pl_layers_num_units(layers), 3);
    assert_string_equal(pl_layers_name(layers, 1), "3");
    assert_string_equal(pl_layers_name(layers, 2), "5");
    pl_layers_free(layers);
}

static void keeps_many_layers_apart(void **state) {
    (void)state;
    enum { COUNT = 300 };
    made_operation made[COUNT];
    char names[COUNT][16];
    for (size_t i = 0; i < COUNT; i++) {
        size_t number = i * 7 % COUNT;
        snprintf(names[i], sizeof names[i], "layer%zu", number);
        made[i] = (made_operation){names[i], "", false, strchr(names[i], 'r') + 1, ""};
    }
    check_made(&no_profile, made, COUNT, true, defaults, NULL);
    check_made(&no_profile, made, COUNT, true,
               (pl_layer_options){.order = POPLINER_LAYER_ORDER_NATURAL}, NULL);
}

/* ---- Messages and errors -------------------------------------------------------------------- */

static void assert_told(const made_operation *made, size_t count, const char *regex,
                        const char *expected, const char *not_expected) {
    made_list list;
    pl_layers *layers;
    pl_text told = {0};
    pl_text_add(&told, "");
    make_list(&list, made, count, true);
    assert_int_equal(assign(&no_profile, &list.operations, (pl_layer_options){.name_regex = regex},
                            &told, &layers, NULL),
                     POPLINER_OK);
    if (strstr(told.data, expected) == NULL)
        fail_msg("'%s' is not told: %s", expected, told.data);
    if (strstr(told.data, not_expected) != NULL)
        fail_msg("'%s' is told: %s", not_expected, told.data);
    pl_layers_free(layers);
    free(told.data);
}

static void tells_for_how_many_operations_it_found_layers(void **state) {
    (void)state;
    const made_operation made[] = {
        {"layer1", "", false, NULL, NULL},  {"x", "", false, NULL, NULL},
        {"Tensor", "", true, NULL, NULL},   {"y", "layer2/layer3", false, NULL, NULL},
        {"Call(1)", "", false, NULL, NULL}, /* nothing follows, but a rule applied */
        {"Tensor/t", "", true, NULL, NULL},
    };
    assert_told(made, 1, NULL, "INFO: Layers found for 100% of operations\n", "WARNING");
    assert_told(made, 2, NULL, "INFO: Layers found for 50% of operations\n", "WARNING");
    assert_told(made, 3, NULL, "INFO: Layers found for 50% of operations\n", "WARNING");
    assert_told(made, 4, NULL, "WARNING: Only found layers for 33% of operations. ", "INFO");
    assert_told(made, 6, NULL, "INFO: Layers found for 50% of operations\n", "WARNING");
    /* tensors alone leave nothing to count */
    assert_told(made + 5, 1, NULL, "WARNING: Only found layers for 0% of operations. ", "INFO");
}

static void tells_of_calls_that_mix_layers(void **state) {
    (void)state;
    const made_operation made[] = {{"layer1", "", false, NULL, NULL},
                                   {"MatMul", "layer1/layer2", false, NULL, NULL},
                                   {"Call(1)", "layer1/layer2", false, NULL, NULL}};
    assert_told(made, 2, NULL, "INFO", "Calls");
    assert_told(made, 3, "[Ll]ayer(\\d)",
                "WARNING: Calls were found with inputs from multiple layers - which can lead to "
                "poor results. Consider recompiling your profile with the environment variable: "
                "POPART_POPLINER_OUTLINER_REGEX='[Ll]ayer(\\d)'\n",
                "INFO");
}

/* Steps are the places in the list. */
static void tells_of_layers_that_run_in_two_places(void **state) {
    (void)state;
    const made_operation made[] = {
        {"encoder/layer/0/a", "", false, NULL, NULL},
        {"encoder/layer/0/b", "", false, NULL, NULL},
        {"encoder/layer/1/a", "", false, NULL, NULL},
        {"encoder/layer/2/a", "", false, NULL, NULL},
        {"bridge", "", false, NULL, NULL},
        {"decoder/layer/0/a", "", false, NULL, NULL},
        {"decoder/layer/1/a", "", false, NULL, NULL},
        {"decoder/layer/2/a", "", false, NULL, NULL},
        {"decoder/layer/2/g", "", false, NULL, NULL},
        {"encoder/layer/0/g", "", false, NULL, NULL},
    };
    static const char *const apart = "(encoder|decoder)(?:" POPLINER_LAYER_NAME_REGEX ")";
    assert_told(
        made, 10, NULL,
        "WARNING: 3 layers run in two places and count once: '0' at step 0 in 'encoder' and "
        "5 in 'decoder', to '2'. To separate them use "
        "name_regex '(encoder|decoder)(?:" POPLINER_LAYER_NAME_REGEX ")'.",
        "zebra");
    /* which does so */
    assert_told(made, 10, apart, "INFO: Layers found", "WARNING");
    pl_layers *layers;
    made_list list;
    make_list(&list, made, 10, true);
    assert_int_equal(assign(&no_profile, &list.operations, (pl_layer_options){.name_regex = apart},
                            NULL, &layers, NULL),
                     POPLINER_OK);
    assert_int_equal(pl_layers_num_units(layers), 7);
    assert_string_equal(pl_layers_name(layers, 4), "decoder0");
    pl_layers_free(layers);
    /* one layer alone has no order; without a group the whole match names a layer */
    assert_told(made, 6, NULL, "INFO: Layers found", "WARNING");
    assert_told(made, 10, "(layer/\\d)/|zebra",
                "use name_regex '(encoder/|decoder/)(?:(layer/\\d)/|zebra)'.", "\\d+");
    assert_told(made, 10, "layer/\\d", "use name_regex '(?:encoder/|decoder/)(?:layer/\\d)'.",
                "\\d+");
    assert_told(made, 10, "(?:encoder/|decoder/)(?:layer/\\d)", "INFO: Layers found", "WARNING");
}

static void tells_not_of_other_passes(void **state) {
    (void)state;
    /* gradients go back, and what updates weights comes after them */
    const made_operation trained[] = {
        {"layer/0", "", false, NULL, NULL},           {"layer/1", "", false, NULL, NULL},
        {"gradients/layer/1", "", false, NULL, NULL}, {"gradients/layer/0", "", false, NULL, NULL},
        {"update/layer/0", "", false, NULL, NULL},    {"update/layer/1", "", false, NULL, NULL},
    };
    /* the same layers once more, other layers in another scope, scopes in turn */
    const made_operation others[] = {
        {"layer/0", "", false, NULL, NULL},   {"layer/1", "", false, NULL, NULL},
        {"layer/0", "", false, NULL, NULL},   {"layer/1", "", false, NULL, NULL},
        {"x/layer/2", "", false, NULL, NULL}, {"x/layer/3", "", false, NULL, NULL},
        {"y/layer/3", "", false, NULL, NULL}, {"x/layer/4", "", false, NULL, NULL},
        {"y/layer/4", "", false, NULL, NULL},
    };
    const made_operation updated_backward[] = {trained[0], trained[1], trained[2],
                                               trained[3], trained[5], trained[4]};
    assert_told(updated_backward, 6, NULL, "INFO: Layers found for 100%", "WARNING");
    assert_told(trained, 6, NULL, "INFO: Layers found for 100%", "WARNING");
    assert_told(others, 9, NULL, "INFO: Layers found for 100%", "WARNING");
}

static void tells_of_a_regex_that_matches_nothing(void **state) {
    (void)state;
    const made_operation made[] = {{"Tensor/block3", "", true, NULL, NULL},
                                   {"blocks/x", "", false, NULL, NULL},
                                   {"add", "model.block.4", false, NULL, NULL}};
    assert_told(made, 3, "block_(\\d+)",
                "'block_(\\d+)' matches nothing. The first operations are 'blocks/x', 'add'.\n",
                "100%");
    /* inputs are matched with slashes for points */
    assert_told(made, 3, "block\\.4",
                "'block\\.4' matches nothing. The first operations are 'blocks/x', 'add'.\n",
                "100%");
    assert_told(made, 3, "s/x", "Layers found for 50%", "matches nothing");
}

static void refuses_bad_regexes(void **state) {
    (void)state;
    static const struct {
        pl_layer_options options;
        const char *option;
    } bad[] = {
        {{.name_regex = "Layer(\\d+"}, "name_regex: "},
        {{.first_layer_regex = "a[", .name_regex = "layer"}, "first_layer_regex: "},
        {{.name_regex = "(a+)+$"}, "name_regex: "},
        {{.first_layer_regex = "(a+)+$"}, "first_layer_regex: "},
    };
    char long_name[2000];
    memset(long_name, 'a', sizeof long_name);
    long_name[sizeof long_name - 2] = '!';
    long_name[sizeof long_name - 1] = '\0';
    const made_operation made[] = {{long_name, long_name, false, NULL, NULL}};
    made_list list;
    make_list(&list, made, 1, true);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        pl_layers *layers;
        popliner_error error;
        assert_int_equal(
            assign(&no_profile, &list.operations, bad[i].options, NULL, &layers, &error),
            POPLINER_ERROR_USAGE);
        assert_null(layers);
        assert_non_null(strstr(error.message, bad[i].option));
        if (i < 2)
            assert_non_null(strstr(error.message, "offset"));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_the_one_result_in_the_name),
        cmocka_unit_test(then_the_one_result_in_the_inputs),
        cmocka_unit_test(ignores_tensors),
        cmocka_unit_test(gives_a_call_the_layer_of_what_follows),
        cmocka_unit_test(gives_embeddings_the_first_layer),
        cmocka_unit_test(takes_what_the_groups_capture),
        cmocka_unit_test(accepts_an_empty_list),
        cmocka_unit_test(asks_the_variables_where_there_is_no_framework),
        cmocka_unit_test(finds_the_sets_of_the_real_profile),
        cmocka_unit_test(compares_runs_of_digits_as_numbers),
        cmocka_unit_test(ignores_leading_zeros),
        cmocka_unit_test(orders_other_characters_by_their_bytes),
        cmocka_unit_test(orders_by_the_first_operation_that_is_in_the_layer),
        cmocka_unit_test(keeps_many_layers_apart),
        cmocka_unit_test(tells_for_how_many_operations_it_found_layers),
        cmocka_unit_test(tells_of_calls_that_mix_layers),
        cmocka_unit_test(tells_of_layers_that_run_in_two_places),
        cmocka_unit_test(tells_not_of_other_passes),
        cmocka_unit_test(tells_of_a_regex_that_matches_nothing),
        cmocka_unit_test(refuses_bad_regexes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
