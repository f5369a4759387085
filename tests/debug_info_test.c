/* Reading debug information: documents of every legal form, odd ones, cut and damaged ones.
 *
 * Documents are written in a notation close to CBOR's own for diagnostics, and encoded here:
 *
 *   {'a': 1, 'b': [2, 3]}   map and array of definite length; {_ ...}, [_ ...] of indefinite
 *   'text'  (_ 'te', 'xt')  text in one piece, or in chunks
 *   7  -7                   whole numbers, as short as can be; 7_8 in 8 bytes
 *   7.0  7.0f  7.0h         double, single and half precision
 *   55799('x')              a tag; true false null undefined; h<a0ff> raw bytes
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "test_data.h"

#include <ctype.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "profile/debug_info.h"

/* ---- The notation --------------------------------------------------------------------------- */

typedef struct bytes {
    uint8_t data[70000];
    size_t size;
} bytes;

static void put(bytes *b, uint64_t value, int num_bytes) {
    assert_true(b->size + (size_t)num_bytes <= sizeof b->data);
    while (num_bytes-- > 0)
        b->data[b->size++] = (uint8_t)(value >> (8 * num_bytes));
}

/* The head of an item: major type and number. */
static void put_head(bytes *b, int major, uint64_t number) {
    uint8_t type = (uint8_t)(major << 5);
    int extra = number < 24 ? 0 : number <= 0xff ? 1 : number <= 0xffff ? 2 : number >> 32 ? 8 : 4;
    int code = extra == 0 ? (int)number : extra == 1 ? 24 : extra == 2 ? 25 : extra == 4 ? 26 : 27;
    put(b, (uint64_t)(type | code), 1);
    if (extra > 0)
        put(b, number, extra);
}

static void skip_blanks(const char **at) {
    while (isspace((unsigned char)**at) || **at == ',' || **at == ':')
        ++*at;
}

static bool take(const char **at, const char *word) {
    size_t length = strlen(word);
    if (strncmp(*at, word, length) != 0)
        return false;
    *at += length;
    return true;
}

/* Half precision of a small whole number or a simple fraction. */
static uint64_t half_of(double value) {
    uint64_t sign = value < 0 ? 0x8000 : 0;
    double size = value < 0 ? -value : value;
    uint64_t exponent = 15;
    if (size == 0)
        return sign;
    for (; size >= 2; exponent++)
        size /= 2;
    for (; size < 1; exponent--)
        size *= 2;
    return sign | exponent << 10 | (uint64_t)((size - 1) * 1024);
}

static void put_number(bytes *b, const char **at) {
    char *end_of_double;
    char *end_of_whole;
    double real = strtod(*at, &end_of_double);
    bool negative = **at == '-';
    uint64_t whole = strtoull(*at + negative, &end_of_whole, 10);
    if (end_of_double > end_of_whole) {
        *at = end_of_double;
        if (take(at, "f")) {
            float single = (float)real;
            uint32_t bits;
            memcpy(&bits, &single, sizeof bits);
            put(b, 0xfa, 1);
            put(b, bits, 4);
        } else if (take(at, "h")) {
            put(b, 0xf9, 1);
            put(b, half_of(real), 2);
        } else {
            uint64_t bits;
            memcpy(&bits, &real, sizeof bits);
            put(b, 0xfb, 1);
            put(b, bits, 8);
        }
        return;
    }
    assert_true(end_of_whole > *at);
    *at = end_of_whole;
    if (take(at, "_8")) {
        put(b, 0x1b, 1);
        put(b, whole, 8);
    } else {
        put_head(b, negative ? 1 : 0, negative ? whole - 1 : whole);
    }
}

static void put_item(bytes *b, const char **at);

/* The items of a container up to `close`; how many they are goes in front unless indefinite. */
static void put_container(bytes *b, const char **at, int major, char close) {
    bool indefinite = take(at, "_");
    size_t start = b->size;
    uint64_t count = 0;
    if (indefinite)
        put(b, (uint64_t)(major << 5 | 31), 1);
    for (skip_blanks(at); **at != close; skip_blanks(at)) {
        put_item(b, at);
        count++;
    }
    ++*at;
    if (indefinite) {
        put(b, 0xff, 1);
        return;
    }
    bytes head = {.size = 0};
    put_head(&head, major, major == 5 ? count / 2 : count);
    assert_true(b->size + head.size <= sizeof b->data);
    memmove(b->data + start + head.size, b->data + start, b->size - start);
    memcpy(b->data + start, head.data, head.size);
    b->size += head.size;
}

static void put_item(bytes *b, const char **at) {
    skip_blanks(at);
    if (take(at, "{")) {
        put_container(b, at, 5, '}');
    } else if (take(at, "[")) {
        put_container(b, at, 4, ']');
    } else if (take(at, "(")) {
        put_container(b, at, 3, ')');
    } else if (take(at, "h<")) {
        unsigned byte;
        while (sscanf(*at, "%2x", &byte) == 1) {
            put(b, byte, 1);
            *at += 2;
        }
        assert_true(take(at, ">"));
    } else if (take(at, "'")) {
        const char *end = strchr(*at, '\'');
        assert_non_null(end);
        put_head(b, 3, (uint64_t)(end - *at));
        for (; *at < end; ++*at)
            put(b, (uint8_t) * *at, 1);
        ++*at;
    } else if (take(at, "true")) {
        put(b, 0xf5, 1);
    } else if (take(at, "false")) {
        put(b, 0xf4, 1);
    } else if (take(at, "null")) {
        put(b, 0xf6, 1);
    } else if (take(at, "undefined")) {
        put(b, 0xf7, 1);
    } else {
        size_t start = b->size;
        put_number(b, at);
        if (take(at, "(")) { /* so it was a tag: major type 6 in place of 0 */
            b->data[start] |= 6 << 5;
            put_item(b, at);
            skip_blanks(at);
            assert_true(take(at, ")"));
        }
    }
}

static void encode(bytes *b, const char *notation) {
    b->size = 0;
    put_item(b, &notation);
    skip_blanks(&notation);
    assert_int_equal(*notation, '\0');
}

/* ---- Reading and expectations --------------------------------------------------------------- */

/* Reads bytes as a file of the test's directory. */
static popliner_status read_data(const char *directory, const void *data, size_t size,
                                 const popliner_listener *listener, pl_debug_info **info,
                                 popliner_error *error) {
    char *path = test_path(directory, "debug.cbor");
    test_write_bytes(path, data, size);
    popliner_status status = pl_debug_info_read(NULL, path, listener, info, error);
    free(path);
    return status;
}

/* Reads a complete document, without a warning. */
static pl_debug_info *expect_read(const char *directory, const char *notation) {
    static bytes b;
    encode(&b, notation);
    pl_debug_info *info = NULL;
    popliner_error error = {0};
    test_told told;
    popliner_listener listener = test_listen(&told);
    if (read_data(directory, b.data, b.size, &listener, &info, &error) != POPLINER_OK)
        fail_msg("%s: %s", notation, error.message);
    assert_false(info->truncated);
    assert_int_equal(told.messages[POPLINER_LEVEL_WARNING], 0);
    assert_int_equal(told.messages[POPLINER_LEVEL_ERROR], 0);
    assert_int_equal(told.progress_done, told.progress_total);
    return info;
}

static void expect_bytes_refused(const char *directory, const void *data, size_t size,
                                 const char *words) {
    pl_debug_info *info = (pl_debug_info *)&size;
    popliner_error error = {0};
    assert_int_equal(read_data(directory, data, size, NULL, &info, &error), POPLINER_ERROR_INPUT);
    assert_null(info);
    assert_int_equal(error.status, POPLINER_ERROR_INPUT);
    test_assert_sentence(error.message);
    assert_true(strncmp(error.message, directory, strlen(directory)) == 0);
    if (strstr(error.message, words) == NULL)
        fail_msg("no \"%s\" in \"%s\"", words, error.message);
}

static void expect_refused(const char *directory, const char *notation, const char *words) {
    static bytes b;
    encode(&b, notation);
    expect_bytes_refused(directory, b.data, b.size, words);
}

static void expect_path(const pl_debug_info *info, uint64_t id, const char *expected) {
    char path[300];
    assert_true(pl_debug_info_path(info, id, path, sizeof path));
    assert_string_equal(path, expected);
}

/* The id of the operation that a context belongs to, 0 if none. */
static uint64_t operation_of(const pl_debug_info *info, uint64_t id) {
    uint32_t context = pl_debug_operation_of(info, pl_debug_find(info, id));
    return context == PL_NONE ? 0 : info->contexts[context].id;
}

static const char *operation_name(const pl_debug_info *info, uint64_t id) {
    return pl_debug_operation_name(info, pl_debug_find(info, id));
}

static const pl_debug_details *details_of(const pl_debug_info *info, uint64_t id) {
    return pl_debug_get_details(info, pl_debug_find(info, id));
}

static const char *inputs_of(const pl_debug_info *info, uint64_t id) {
    const pl_debug_details *details = details_of(info, id);
    return details == NULL ? "" : pl_debug_text(info, details->inputs);
}

/* Asks for all that can be asked of every context. */
static void walk_all(const pl_debug_info *info) {
    char path[50];
    size_t count = info->num_contexts;
    for (size_t i = 0; i < count; i++) {
        uint64_t id = info->contexts[i].id;
        pl_debug_info_path(info, id, path, sizeof path);
        assert_true(strlen(path) < sizeof path);
        (void)operation_of(info, id);
        (void)strlen(operation_name(info, id));
        (void)strlen(inputs_of(info, id));
        const pl_debug_details *details = pl_debug_get_details(info, (uint32_t)i);
        if (details == NULL)
            continue;
        (void)strlen(pl_debug_text(info, details->instance_id));
        (void)strlen(pl_debug_text(info, details->tensor_id));
        for (size_t k = 0; k < details->num_outlined; k++) {
            (void)pl_debug_find(info, info->outlined_ids[details->first_outlined + k]);
            (void)pl_debug_find(info, info->replaced_ids[details->first_outlined + k]);
        }
    }
}

/* ---- The forms that one document may have --------------------------------------------------- */

/* An ONNX node with its PopART operation, the PopLibs call inside, and a call of outlined code. */
static void expect_the_document(const pl_debug_info *info) {
    assert_int_equal(info->num_contexts, 5);
    expect_path(info, 1, "model");
    expect_path(info, 912, "model/Layer0");
    expect_path(info, 1300, "model/Layer0/118");
    expect_path(info, 70000, "model/Layer0/118/matmul");
    char path[10];
    assert_false(pl_debug_info_path(info, 2, path, sizeof path));
    assert_string_equal(path, "");
    assert_int_equal(operation_of(info, 70000), 1300);
    assert_int_equal(operation_of(info, 1300), 1300);
    assert_int_equal(operation_of(info, 912), 0);
    assert_string_equal(operation_name(info, 70000), "Layer0/MatMul");
    assert_string_equal(operation_name(info, 912), "Layer0/MatMul");
    assert_string_equal(operation_name(info, 1), "");
    assert_string_equal(inputs_of(info, 1300), "Embedding:0/Layer0/W");
    assert_string_equal(inputs_of(info, 912), "");
    assert_string_equal(pl_debug_text(info, details_of(info, 1300)->instance_id), "118");
    assert_false(details_of(info, 1300)->is_call);
    assert_null(details_of(info, 1));
    assert_null(details_of(info, 2));

    const pl_debug_details *call = details_of(info, 5);
    assert_true(call->is_call);
    assert_string_equal(pl_debug_text(info, call->instance_id), "7");
    assert_int_equal(call->num_outlined, 2);
    assert_int_equal(info->replaced_ids[call->first_outlined], 12);
    assert_int_equal(info->replaced_ids[call->first_outlined + 1], 15);
    assert_int_equal(info->outlined_ids[call->first_outlined], 120);
    assert_int_equal(info->outlined_ids[call->first_outlined + 1], 1300);
}

static const char the_document[] =
    "{'contexts': [_"
    "{'id': 70000, 'parentId': 1300, 'name': 4, 'layer': 'poplibs', 'api': 'matMulGrouped', "
    "'args': {'A': {'shape': '[1, 128]', 'type': 'half'}, 'id': 5}},"
    "{'category': 'op', 'id': 1300, 'inputs': ['Embedding:0', 'Layer0/W'], 'instanceId': '118', "
    "'layer': 'popart', 'location': {'fileName': 5, 'functionName': 0, 'lineNumber': 671}, "
    "'name': 3, 'opid': 'ai.onnx.MatMul:9', 'outputs': ['Layer0/MatMul:0'], 'parentId': 912},"
    "{'id': 5, 'instanceId': '7', 'layer': 'popart', 'name': 0, 'opid': 'ai.graphcore.Call:1', "
    "'outlinedDebugContextIds': '[120,1300]', 'replacedDebugContextIds': '[12,15]'},"
    "{'domain': '', 'id': 912, 'layer': 'onnx', 'name': 2, 'opName': 'Layer0/MatMul', 'parentId': "
    "1},"
    "{'id': 1, 'layer': 'popartbuilder', 'name': 1}"
    "], 'stringTable': ['', 'model', 'Layer0', '118', 'matmul', 'op.cpp']}";

static void reads_the_form_of_the_real_file(void **state) {
    pl_debug_info *info = expect_read(*state, the_document);
    expect_the_document(info);
    pl_debug_info_free(info);
}

/* `text` with every occurrence of `from` replaced by `to`; the caller frees it. */
static char *replaced(const char *text, const char *from, const char *to) {
    char *result = calloc(4 * strlen(text) + 100, 1);
    assert_non_null(result);
    char *out = result;
    while (*text != '\0') {
        if (strncmp(text, from, strlen(from)) == 0) {
            out += sprintf(out, "%s", to);
            text += strlen(from);
        } else {
            *out++ = *text++;
        }
    }
    return result;
}

static void expect_the_document_with(const char *directory, const char *const changes[][2],
                                     size_t num_changes) {
    char *document = strdup(the_document);
    for (size_t i = 0; i < num_changes; i++) {
        char *next = replaced(document, changes[i][0], changes[i][1]);
        assert_string_not_equal(next, document);
        free(document);
        document = next;
    }
    pl_debug_info *info = expect_read(directory, document);
    expect_the_document(info);
    pl_debug_info_free(info);
    free(document);
}

#define EXPECT_THE_DOCUMENT_WITH(directory, ...)                                                   \
    do {                                                                                           \
        static const char *const changes[][2] = {__VA_ARGS__};                                     \
        expect_the_document_with(directory, changes, sizeof changes / sizeof *changes);            \
    } while (0)

static void reads_definite_and_indefinite_lengths(void **state) {
    EXPECT_THE_DOCUMENT_WITH(*state, {"[_", "["});
    EXPECT_THE_DOCUMENT_WITH(*state, {"{", "{_ "});
    EXPECT_THE_DOCUMENT_WITH(*state, {"[_", "["}, {"[", "[_ "}, {"'[_ ", "'["});
    EXPECT_THE_DOCUMENT_WITH(*state, {"[_", "["}, {"[", "[_ "}, {"'[_ ", "'["}, {"{", "{_ "});
    EXPECT_THE_DOCUMENT_WITH(*state, {"{'contexts'", "{_ 'contexts'"}, {"[_", "["});
}

static void reads_a_tagged_document(void **state) {
    EXPECT_THE_DOCUMENT_WITH(*state, {"{'contexts'", "55799({'contexts'"},
                             {"'op.cpp']}", "'op.cpp']})"});
    /* and tags on what is inside */
    EXPECT_THE_DOCUMENT_WITH(
        *state, {"'id': 1300", "1('id'): 30(1300)"},
        {"'layer': 'popart'", "'layer': 99(99('popart'))"}, {"'contexts': ", "'contexts': 55799("},
        {"}], 'stringTable'", "})], 'stringTable'"}, {"})], 'stringTable'", "}]), 'stringTable'"});
}

static void reads_chunked_strings(void **state) {
    EXPECT_THE_DOCUMENT_WITH(*state, {"'popart'", "(_ 'pop', '', 'art')"},
                             {"'Layer0/MatMul'", "(_ 'Layer0/', 'Mat', 'Mul')"},
                             {"'Layer0/W'", "(_ 'L', 'ayer0/W')"}, {"'model'", "(_ 'mo', 'del')"},
                             {"'118'", "(_ '118')"}, {"'domain': ''", "'domain': (_ )"});
    /* keys, too, and the string table's empty first entry */
    EXPECT_THE_DOCUMENT_WITH(*state, {"'contexts'", "(_ 'con', 'texts')"},
                             {"'stringTable': [''", "(_ 'string', 'Table'): [(_ '')"},
                             {"'parentId'", "(_ 'parent', 'Id')"}, {"'opid'", "(_ 'o', 'pid')"},
                             {"'[12,15]'", "(_ '[1', '2,1', '5]')"});
}

static void reads_numbers_of_every_encoding(void **state) {
    EXPECT_THE_DOCUMENT_WITH(*state, {"1300", "1300.0"}, {"912", "912.0"}, {"70000", "70000.0"},
                             {"'id': 1,", "'id': 1.0,"}, {"'name': 3", "'name': 3.0"},
                             {",1300.0]", ",1300]"});
    EXPECT_THE_DOCUMENT_WITH(*state, {"1300", "1300.0f"}, {"912", "912.0f"}, {"70000", "70000.0f"},
                             {"'name': 3", "'name': 3.0f"}, {",1300.0f]", ",1300]"});
    EXPECT_THE_DOCUMENT_WITH(*state, {"1300", "1300.0h"}, {"912", "912.0h"},
                             {"'name': 3", "'name': 3.0h"}, {",1300.0h]", ",1300]"});
    EXPECT_THE_DOCUMENT_WITH(*state, {"1300", "1300_8"}, {"'name': 3", "'name': 3_8"},
                             {",1300_8]", ",1300]"});
}

static void reads_keys_in_any_order(void **state) {
    pl_debug_info *info = expect_read(
        *state, "{'stringTable': ['', 'model', 'Layer0', '118', 'matmul', 'op.cpp'], 'contexts': ["
                "{'layer': 'poplibs', 'name': 4, 'parentId': 1300, 'id': 70000},"
                "{'parentId': 912, 'instanceId': '118', 'name': 3, 'layer': 'popart', 'inputs': "
                "['Embedding:0', 'Layer0/W'], 'id': 1300},"
                "{'replacedDebugContextIds': '[12,15]', 'outlinedDebugContextIds': '[120,1300]', "
                "'opid': 'ai.graphcore.Call:1', 'layer': 'popart', 'instanceId': '7', 'id': 5},"
                "{'parentId': 1, 'opName': 'Layer0/MatMul', 'name': 2, 'layer': 'onnx', 'id': 912},"
                "{'name': 1, 'layer': 'popartbuilder', 'id': 1}]}");
    expect_the_document(info);
    pl_debug_info_free(info);
}

static void reads_ids_as_text_and_as_lists(void **state) {
    EXPECT_THE_DOCUMENT_WITH(*state, {"'[120,1300]'", "[120, 1300]"}, {"'[12,15]'", "[_ 12, 15]"});
    EXPECT_THE_DOCUMENT_WITH(*state, {"'[120,1300]'", "[120.0, 1300.0f]"},
                             {"'[12,15]'", "'[ 12 , 15 ]'"});
    EXPECT_THE_DOCUMENT_WITH(*state, {"'instanceId': '7'", "'instanceId': 7"});
    EXPECT_THE_DOCUMENT_WITH(*state, {"'instanceId': '7'", "'instanceId': 7.0"},
                             {"'instanceId': '118'", "'instanceId': 118.0"});
}

/* ---- What the records may hold besides ------------------------------------------------------ */

static void ignores_unknown_keys_and_values(void **state) {
    EXPECT_THE_DOCUMENT_WITH(
        *state,
        {"{'id': 1,", "{'x': {'id': 9, 'contexts': [{'id': 3}], 'parentId': 70000}, 'y': [[['id', "
                      "4]], {_ 'inputs': [_ 'no']}], 'z': null, 'u': undefined, 't': true, 'n': "
                      "-17, 'f': 0.5, 'b': h<43010203>, 'c': h<5f4101ff>, 'id': 1,"},
        {"'contexts': [_", "'version': 3, 'flags': [1, {'contexts': [{'id': 99}]}], 'more': {'id': "
                           "1}, 'contexts': [_"});
    /* keys of other types than text, with values that look like known ones */
    EXPECT_THE_DOCUMENT_WITH(*state, {"'domain': '', 'id': 912", "'id': 912, 'domain': ''"},
                             {"{'id': 912,", "{'id': 912, 5: 77, -3: 78, 2.5: 79, true: 80, "
                                             "null: 81, [1]: 82, {'a': 1}: 83, h<4101>: "
                                             "84,"});
    EXPECT_THE_DOCUMENT_WITH(*state,
                             {"'stringTable': [", "5: ['no'], [1]: ['no'], 'stringTable': ["});
}

/* Whatever the key of an odd type follows, its value belongs to none that is known. */
static void keeps_values_from_keys_that_are_no_text(void **state) {
    static const char *const odd_keys[] = {
        "5", "-5", "0.5", "true", "null", "h<4101>", "[1, 2]", "{'name': 3}", "[]", "{_ }", "[_ ]"};
    for (size_t i = 0; i < sizeof odd_keys / sizeof *odd_keys; i++) {
        char notation[300];
        snprintf(notation, sizeof notation,
                 "{'contexts': [{'id': 1, %s: 2, 'name': 1, %s: 0, 'parentId': 3, %s: 4, 'layer': "
                 "'popart', %s: 'onnx'}], %s: [], 'stringTable': ['a', 'b'], %s: ['c', 'd']}",
                 odd_keys[i], odd_keys[i], odd_keys[i], odd_keys[i], odd_keys[i], odd_keys[i]);
        pl_debug_info *info = expect_read(*state, notation);
        assert_int_equal(info->num_contexts, 1);
        expect_path(info, 1, "b");
        assert_int_equal(info->contexts[0].parent_id, 3);
        assert_int_equal(operation_of(info, 1), 1);
        pl_debug_info_free(info);
    }
}

static void keeps_contexts_with_an_id_alone(void **state) {
    pl_debug_info *info =
        expect_read(*state, "{'contexts': [{}, {'name': 0}, {'id': 4}, {_ }, {'id': -4}, {'id': "
                            "'5'}, {'id': null}, {'id': 6.5}, 17, 'text', [], [1], null, {'id': "
                            "7, 'name': 'inline'}], 'stringTable': ['a']}");
    assert_int_equal(info->num_contexts, 2);
    expect_path(info, 4, "");
    expect_path(info, 7, "");
    pl_debug_info_free(info);
}

static void joins_inputs_as_they_are(void **state) {
    pl_debug_info *info = expect_read(
        *state, "{'contexts': [{'id': 1, 'inputs': null}, {'id': 2, 'inputs': 'a'}, {'id': 3, "
                "'inputs': {'a': 'b'}}, {'id': 4, 'inputs': []}, {'id': 5, 'inputs': ['a', 7, "
                "'b', null, ['x'], {'y': 'z', 3: 4}, 'c']}, {'id': 6, 'inputs': ['', 'a', '', "
                "'b']}, {'id': 7, 'inputs': [_ (_ 'x', 'y')]}, {'id': 8, 'input': ['a']}, {'id': "
                "9, 'inputs': 4}], 'stringTable': []}");
    assert_string_equal(inputs_of(info, 1), "");
    assert_string_equal(inputs_of(info, 2), "");
    assert_string_equal(inputs_of(info, 3), "");
    assert_string_equal(inputs_of(info, 4), "");
    assert_string_equal(inputs_of(info, 5), "a/b/c");
    assert_string_equal(inputs_of(info, 6), "/a//b"); /* as Python's join does */
    assert_string_equal(inputs_of(info, 7), "xy");
    assert_string_equal(inputs_of(info, 8), "");
    assert_string_equal(inputs_of(info, 9), "");
    pl_debug_info_free(info);
}

static void pairs_outlined_ids_of_any_length(void **state) {
    pl_debug_info *info = expect_read(
        *state,
        "{'contexts': [{'id': 1, 'replacedDebugContextIds': '[]', 'outlinedDebugContextIds': "
        "'[]'}, {'id': 2, 'replacedDebugContextIds': '[10,11,12]', 'outlinedDebugContextIds': "
        "[20]}, {'id': 3, 'outlinedDebugContextIds': [30, 31]}, {'id': 4, "
        "'replacedDebugContextIds': [40]}, {'id': 5, 'opid': 'ai.graphcore.Callable:1'}, {'id': "
        "6, 'opid': 'ai.graphcore.Call:2'}, {'id': 7, 'replacedDebugContextIds': '', "
        "'outlinedDebugContextIds': null}, {'id': 8, 'replacedDebugContextIds': "
        "'[99999999999999999999999999]', 'outlinedDebugContextIds': '[18446744073709551615]'}], "
        "'stringTable': []}");
    assert_true(details_of(info, 1)->is_call);
    assert_int_equal(details_of(info, 1)->num_outlined, 0);
    assert_int_equal(details_of(info, 2)->num_outlined, 1);
    assert_int_equal(info->replaced_ids[details_of(info, 2)->first_outlined], 10);
    assert_int_equal(info->outlined_ids[details_of(info, 2)->first_outlined], 20);
    assert_true(details_of(info, 3) == NULL || details_of(info, 3)->num_outlined == 0);
    assert_int_equal(details_of(info, 4)->num_outlined, 0);
    assert_true(details_of(info, 5) == NULL || !details_of(info, 5)->is_call);
    assert_true(details_of(info, 6)->is_call);
    assert_int_equal(details_of(info, 7)->num_outlined, 0);
    assert_int_equal(info->outlined_ids[details_of(info, 8)->first_outlined], UINT64_MAX);
    pl_debug_info_free(info);
}

static void finds_operations_of_two_layers(void **state) {
    pl_debug_info *info = expect_read(
        *state,
        "{'contexts': ["
        "{'id': 1, 'layer': 'xla_op', 'op_name': 'blocks_0/Relu', 'name': 0},"
        "{'id': 2, 'layer': 'hloinstruction', 'parentId': 1, 'hlo_name': 'dot.12'},"
        "{'id': 3, 'layer': 'poplar_driver', 'parentId': 2, 'class': 'MatMulOp'},"
        "{'id': 4, 'layer': 'poplibs', 'parentId': 3},"
        "{'id': 10, 'layer': 'poptorch', 'op_name': 'bert/Add'},"
        "{'id': 11, 'layer': 'popartbuilder', 'parentId': 10},"
        "{'id': 12, 'layer': 'onnx', 'opName': '', 'parentId': 11},"
        "{'id': 13, 'layer': 'popart', 'parentId': 12, 'tensorId': 'a.b.c'},"
        "{'id': 14, 'layer': 'popart', 'parentId': 13},"
        "{'id': 15, 'layer': 'poplibs', 'parentId': 14},"
        "{'id': 20, 'layer': 'popartist'}, {'id': 21, 'layer': 'pop'}, {'id': 22, 'layer': ''},"
        "{'id': 23, 'layer': 7}, {'id': 24}], 'stringTable': []}");
    assert_int_equal(operation_of(info, 4), 1);
    assert_string_equal(operation_name(info, 4), "blocks_0/Relu");
    assert_int_equal(operation_of(info, 13), 13);
    assert_int_equal(operation_of(info, 15), 14); /* the nearest */
    assert_string_equal(operation_name(info, 15), "bert/Add");
    assert_string_equal(pl_debug_text(info, details_of(info, 13)->tensor_id), "a.b.c");
    for (uint64_t id = 20; id < 25; id++)
        assert_int_equal(operation_of(info, id), 0);
    assert_int_equal(operation_of(info, 10), 0);
    assert_int_equal(operation_of(info, 0), 0);
    assert_int_equal(operation_of(info, 99), 0);
    assert_string_equal(operation_name(info, 99), "");
    pl_debug_info_free(info);
}

/* ---- Parents, names, ids -------------------------------------------------------------------- */

static void ends_at_odd_parents(void **state) {
    pl_debug_info *info = expect_read(
        *state,
        "{'contexts': ["
        "{'id': 1, 'name': 1}, {'id': 2, 'name': 2, 'parentId': 0}," /* missing, zero */
        "{'id': 3, 'name': 3, 'parentId': 999}, {'id': 4, 'name': 4, 'parentId': 3}," /* dangling */
        "{'id': 5, 'name': 1, 'parentId': 5},"                                        /* itself */
        "{'id': 6, 'name': 1, 'parentId': 7}, {'id': 7, 'name': 2, 'parentId': 8}, "  /* a ring */
        "{'id': 8, 'name': 3, 'parentId': 6}, {'id': 9, 'name': 4, 'parentId': 6}, "
        "{'id': 10, 'name': 4, 'parentId': null}, {'id': 11, 'name': 4, 'parentId': -1}, "
        "{'id': 12, 'name': 4, 'parentId': '3'}"
        "], 'stringTable': ['', 'a', 'b', 'c', 'd']}");
    expect_path(info, 1, "a");
    expect_path(info, 2, "b");
    expect_path(info, 3, "c");
    expect_path(info, 4, "c/d");
    expect_path(info, 10, "d");
    expect_path(info, 11, "d");
    expect_path(info, 12, "d");
    /* every context of a ring once, the asked one last */
    expect_path(info, 5, "a");
    expect_path(info, 6, "c/b/a");
    expect_path(info, 8, "b/a/c");
    expect_path(info, 9, "c/b/a/d");
    for (uint64_t id = 1; id <= 12; id++) {
        assert_int_equal(operation_of(info, id), 0);
        assert_string_equal(operation_name(info, id), "");
    }
    pl_debug_info_free(info);
}

static void finds_operations_in_rings(void **state) {
    pl_debug_info *info = expect_read(
        *state, "{'contexts': [{'id': 1, 'parentId': 3}, {'id': 2, 'parentId': 1}, {'id': 3, "
                "'parentId': 2, 'layer': 'popart', 'opName': 'x'}], 'stringTable': []}");
    for (uint64_t id = 1; id <= 3; id++) {
        assert_int_equal(operation_of(info, id), 3);
        assert_string_equal(operation_name(info, id), "x");
    }
    pl_debug_info_free(info);
}

static void keeps_the_first_of_equal_ids(void **state) {
    pl_debug_info *info = expect_read(
        *state, "{'contexts': [{'id': 4, 'name': 0}, {'id': 5, 'name': 1}, {'id': 4, 'name': 1, "
                "'parentId': 5}, {'id': 6, 'parentId': 4, 'name': 1}], 'stringTable': ['a', 'b']}");
    expect_path(info, 4, "a");
    expect_path(info, 5, "b");
    expect_path(info, 6, "a/b");
    pl_debug_info_free(info);
}

/* Ids are 64 bits; 0 stands for none, whatever the file says of it. */
static void takes_ids_of_any_size(void **state) {
    pl_debug_info *info = expect_read(
        *state, "{'contexts': [{'id': 18446744073709551615, 'name': 0, 'parentId': "
                "9223372036854775808}, {'id': 9223372036854775808, 'name': 1}, {'id': 0, 'name': "
                "1}, {'id': 2, 'name': 1, 'parentId': 0}], 'stringTable': ['a', 'b']}");
    expect_path(info, UINT64_MAX, "b/a");
    expect_path(info, 2, "b");
    char path[10];
    assert_false(pl_debug_info_path(info, 0, path, sizeof path));
    pl_debug_info_free(info);
}

static void leaves_out_names_that_are_not_in_the_table(void **state) {
    pl_debug_info *info = expect_read(
        *state,
        "{'contexts': [{'id': 1, 'name': 2}, {'id': 2, 'name': 3, 'parentId': 1}, {'id': 3, "
        "'name': 1, 'parentId': 2}, {'id': 4, 'name': 4294967295, 'parentId': 3}, {'id': 5, "
        "'name': 18446744073709551615, 'parentId': 4}, {'id': 6, 'name': -1, 'parentId': 5}, "
        "{'id': 7, 'name': 0, 'parentId': 6}, {'id': 8, 'name': 4294967298, 'parentId': 7}], "
        "'stringTable': ['z', '', 'root']}");
    expect_path(info, 2, "root");
    expect_path(info, 3, "root");
    expect_path(info, 6, "root");
    expect_path(info, 7, "root/z");
    expect_path(info, 8, "root/z");
    pl_debug_info_free(info);
}

/* A damaged entry must not shift the names after it. */
static void counts_string_table_entries_that_are_no_text(void **state) {
    pl_debug_info *info = expect_read(
        *state, "{'contexts': [{'id': 1, 'name': 0}, {'id': 2, 'name': 8}], 'stringTable': ['a', "
                "7, null, h<4101>, [1, 'x'], {'y': 'z'}, [], (_ 'b', 'b'), 'c']}");
    expect_path(info, 1, "a");
    expect_path(info, 2, "c");
    pl_debug_info_free(info);
}

static void cuts_paths_to_the_room_there_is(void **state) {
    pl_debug_info *info =
        expect_read(*state, "{'contexts': [{'id': 1, 'name': 0}, {'id': 2, 'name': 1, 'parentId': "
                            "1}], 'stringTable': ['abc', 'def']}");
    for (size_t size = 0; size < 12; size++) {
        char path[12] = "###########";
        assert_true(pl_debug_info_path(info, 2, path, size));
        for (size_t i = 0; i < 7 && i + 1 < size; i++)
            assert_int_equal(path[i], "abc/def"[i]);
        if (size > 0)
            assert_int_equal(path[size <= 8 ? size - 1 : 7], '\0');
        if (size < 11)
            assert_int_equal(path[size > 0 ? size : 0],
                             '#'); /* nothing past the end of the buffer */
    }
    pl_debug_info_free(info);
}

/* Sixty levels, as no real file has; the whole path is reported. */
static void walks_up_long_chains(void **state) {
    enum { LEVELS = 60 };
    char notation[6000] = "{'contexts': [";
    char expected[200] = "";
    for (int id = LEVELS; id > 0; id--)
        sprintf(notation + strlen(notation), "{'id': %d, 'parentId': %d, 'name': %d}, ", id, id - 1,
                id % 2);
    strcat(notation, "], 'stringTable': ['a', 'b']}");
    for (int id = 1; id <= LEVELS; id++)
        sprintf(expected + strlen(expected), "%s%s", id > 1 ? "/" : "", id % 2 ? "b" : "a");
    pl_debug_info *info = expect_read(*state, notation);
    expect_path(info, LEVELS, expected);
    pl_debug_info_free(info);
}

/* ---- Files larger than what is looked at at once -------------------------------------------- */

typedef struct large {
    uint8_t *data;
    size_t size;
    size_t num_contexts;
} large;

/* A document of some five MiB: texts of 0 to 300 bytes, one of two MiB, and bytes of as many, so
 * that items of all kinds lie across any boundary. */
static large make_large(void) {
    enum { LONG = 1 << 21, COUNT = 10000 };
    static bytes b;
    large l = {.data = malloc((size_t)LONG * 4), .num_contexts = COUNT};
    assert_non_null(l.data);
#define FLUSH() (memcpy(l.data + l.size, b.data, b.size), l.size += b.size, b.size = 0)
    b.size = 0;
    put_head(&b, 5, 3);
    put_head(&b, 3, 5);
    FLUSH();
    memcpy(l.data + l.size, "bytes", 5);
    l.size += 5;
    put_head(&b, 2, LONG);
    FLUSH();
    memset(l.data + l.size, 0xff, LONG);
    l.size += LONG;
    put_head(&b, 3, 8);
    FLUSH();
    memcpy(l.data + l.size, "contexts", 8);
    l.size += 8;
    put_head(&b, 4, COUNT);
    FLUSH();
    for (uint64_t id = 1; id <= COUNT; id++) {
        put_head(&b, 5, 3);
        put_head(&b, 3, 2);
        put(&b, 'i' << 8 | 'd', 2);
        put_head(&b, 0, id);
        put_head(&b, 3, 4);
        put(&b, (uint64_t)'n' << 24 | 'a' << 16 | 'm' << 8 | 'e', 4);
        put_head(&b, 0, id - 1);
        put_head(&b, 3, 1);
        put(&b, 'x', 1);
        put_head(&b, 1, id * 70000);
        FLUSH();
    }
    put_head(&b, 3, 11);
    FLUSH();
    memcpy(l.data + l.size, "stringTable", 11);
    l.size += 11;
    put_head(&b, 4, COUNT + 1);
    FLUSH();
    for (size_t i = 0; i <= COUNT; i++) {
        size_t length = i == COUNT ? LONG : 10 + i * 7 % 290;
        put_head(&b, 3, length);
        FLUSH();
        memset(l.data + l.size, 'a' + (int)(i % 26), length);
        l.size += length;
    }
#undef FLUSH
    return l;
}

static void reads_what_is_larger_than_a_window(void **state) {
    large l = make_large();
    pl_debug_info *info = NULL;
    popliner_error error = {0};
    assert_true(l.size > 5000000);
    assert_int_equal(read_data(*state, l.data, l.size, NULL, &info, &error), POPLINER_OK);
    assert_false(info->truncated);
    assert_int_equal(info->num_contexts, l.num_contexts);
    for (size_t i = 0; i < l.num_contexts; i++) {
        char path[400];
        char expected[400];
        size_t length = 10 + i * 7 % 290;
        memset(expected, 'a' + (int)(i % 26), length);
        expected[length] = '\0';
        assert_true(pl_debug_info_path(info, i + 1, path, sizeof path));
        assert_string_equal(path, expected);
    }
    pl_debug_info_free(info);
    /* cut within the bytes, within the contexts, and within the last text */
    const size_t cuts[] = {1500000, 2200000, l.size - 1};
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(read_data(*state, l.data, cuts[i], NULL, &info, &error), POPLINER_OK);
        assert_true(info->truncated);
        assert_int_equal(info->num_contexts == l.num_contexts, i == 2);
        pl_debug_info_free(info);
    }
    free(l.data);
}

/* Puts a text of the document. */
static void put_text(bytes *b, const char *text) {
    put_head(b, 3, strlen(text));
    for (; *text != '\0'; text++)
        put(b, (uint64_t)*text, 1);
}

/* A chain of contexts, the last of which is an operation, or that leads back to its beginning. */
static pl_debug_info *read_chain(const char *directory, size_t count, bool is_cyclic) {
    static bytes b;
    uint8_t *data = malloc(count * 40 + 1000);
    size_t size = 0;
    popliner_error error = {.message = ""};
    pl_debug_info *info = NULL;
    assert_non_null(data);
    for (size_t id = 0; id <= count; id++) {
        b.size = 0;
        if (id == 0) {
            put_head(&b, 5, 2);
            put_text(&b, "contexts");
            put_head(&b, 4, count);
        } else {
            put_head(&b, 5, id < count || is_cyclic ? 2 : 3);
            put_text(&b, "id");
            put_head(&b, 0, id);
            if (id < count || is_cyclic) {
                put_text(&b, "parentId");
                put_head(&b, 0, id < count ? id + 1 : 1);
            } else {
                put_text(&b, "layer");
                put_text(&b, "popart");
                put_text(&b, "opName");
                put_text(&b, "MatMul");
            }
        }
        if (id == count) {
            put_text(&b, "stringTable");
            put_head(&b, 4, 0);
        }
        memcpy(data + size, b.data, b.size);
        size += b.size;
    }
    if (read_data(directory, data, size, NULL, &info, &error) != POPLINER_OK)
        fail_msg("%s", error.message);
    assert_int_equal(info->num_contexts, count);
    free(data);
    return info;
}

/* Each of many programs may be at the end of a long way. */
static void walks_a_long_way_once(void **state) {
    enum { COUNT = 400000, MOST_SECONDS = 20 };
    for (int is_cyclic = 0; is_cyclic < 2; is_cyclic++) {
        pl_debug_info *info = read_chain(*state, COUNT, is_cyclic);
        time_t begin = time(NULL);
        for (size_t id = 1; id <= COUNT && time(NULL) - begin < MOST_SECONDS; id++) {
            assert_int_equal(operation_of(info, id), is_cyclic ? 0 : COUNT);
            assert_string_equal(operation_name(info, id), is_cyclic ? "" : "MatMul");
        }
        assert_true(time(NULL) - begin < MOST_SECONDS);
        pl_debug_info_free(info);
    }
}

/* Another program, which changes the file when it is read for the first time. */
typedef struct meddler {
    const char *path;
    const char *other;
    int deed;
    bool is_done;
} meddler;

enum { CUT_OFF, CUT_A_LITTLE, OVERWRITE, GROW, REPLACE, NUM_DEEDS };

static void meddle(void *user, const char *task, uint64_t done, uint64_t total) {
    meddler *m = user;
    (void)task;
    (void)done;
    if (m->is_done)
        return;
    m->is_done = true;
    FILE *file;
    switch (m->deed) {
    case CUT_OFF:
        assert_int_equal(truncate(m->path, 5000), 0);
        break;
    case CUT_A_LITTLE:
        assert_int_equal(truncate(m->path, (off_t)total - 1), 0);
        break;
    case OVERWRITE:
    case GROW:
        assert_non_null(file = fopen(m->path, m->deed == GROW ? "ab" : "r+b"));
        fputc('x', file);
        fclose(file);
        break;
    default:
        assert_int_equal(rename(m->other, m->path), 0);
    }
}

static void notices_that_the_file_changes(void **state) {
    large l = make_large();
    char *path = test_path(*state, "debug.cbor");
    char *other = test_path(*state, "other");
    for (int deed = 0; deed < NUM_DEEDS; deed++) {
        meddler m = {.path = path, .other = other, .deed = deed};
        const popliner_listener listener = {.user = &m, .progress = meddle};
        /* long ago, so that the time tells of what is done at once */
        const struct timespec times[] = {{.tv_sec = 1000000000}, {.tv_sec = 1000000000}};
        pl_debug_info *info = NULL;
        popliner_error error = {0};
        test_write_bytes(other, "{", 1);
        test_write_bytes(path, l.data, l.size);
        assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
        popliner_status status = pl_debug_info_read(NULL, path, &listener, &info, &error);
        if (deed == REPLACE) { /* the file that was opened is still whole */
            assert_int_equal(status, POPLINER_OK);
            assert_int_equal(info->num_contexts, l.num_contexts);
        } else {
            assert_int_equal(status, POPLINER_ERROR_INPUT);
            test_assert_sentence(error.message);
            assert_non_null(strstr(error.message, path));
            assert_non_null(
                strstr(error.message, "changed while it was being read; read it again"));
        }
        pl_debug_info_free(info);
    }
    free(other);
    free(path);
    free(l.data);
}

/* ---- Whole documents that are odd ----------------------------------------------------------- */

static void reads_documents_without_contexts_or_names(void **state) {
    static const char *const documents[] = {
        "{'contexts': [], 'stringTable': []}",
        "{_ 'contexts': [_ ], 'stringTable': [_ ]}",
        "{'contexts': []}",
        "{'stringTable': ['a'], 'contexts': []}",
        "55799({'contexts': []})",
    };
    for (size_t i = 0; i < sizeof documents / sizeof *documents; i++) {
        pl_debug_info *info = expect_read(*state, documents[i]);
        assert_int_equal(info->num_contexts, 0);
        pl_debug_info_free(info);
    }
    pl_debug_info *info = expect_read(*state, "{'contexts': [{'id': 1, 'name': 0}]}");
    expect_path(info, 1, "");
    pl_debug_info_free(info);
}

static void refuses_other_documents(void **state) {
    expect_refused(*state, "{}", "contexts");
    expect_refused(*state, "{_ }", "contexts");
    expect_refused(*state, "{'contexts': {}}", "contexts");
    expect_refused(*state, "{'contexts': 5, 'stringTable': ['a']}", "contexts");
    expect_refused(*state, "{'a': {'contexts': [{'id': 1}]}}", "contexts");
    expect_refused(*state, "[{'id': 1}]", "map");
    expect_refused(*state, "55799([])", "not debug information");
    expect_refused(*state, "55799(7)", "not debug information");
    expect_refused(*state, "'contexts'", "map");
    expect_bytes_refused(*state, "{\"contexts\": []}", 16, "JSON");
    expect_bytes_refused(*state, "plain text\n", 11, "not debug information");
    expect_bytes_refused(*state, "", 0, "empty");
    expect_bytes_refused(*state, "\0\0\0\0\0\0\0\0", 8, "not debug information");
    expect_bytes_refused(*state, "\xff\xff\xff\xff", 4, "not debug information");
}

static void refuses_what_is_no_file(void **state) {
    popliner_error error = {0};
    pl_debug_info *info = NULL;
    char *path = test_path(*state, "missing.cbor");
    assert_int_equal(pl_debug_info_read(NULL, path, NULL, &info, &error), POPLINER_ERROR_INPUT);
    assert_null(info);
    test_assert_sentence(error.message);
    assert_non_null(strstr(error.message, path));
    assert_non_null(strstr(error.message, "no such file"));
    assert_int_equal(pl_debug_info_read(NULL, path, NULL, &info, NULL), POPLINER_ERROR_INPUT);
    mkdir(path, 0700);
    assert_int_equal(pl_debug_info_read(NULL, path, NULL, &info, &error), POPLINER_ERROR_INPUT);
    assert_null(info);
    test_assert_sentence(error.message);
    assert_non_null(strstr(error.message, path));
    free(path);
    pl_debug_info_free(NULL);
}

/* Nested deeper than any stack should follow: refused or ignored, but never a crash. */
static void survives_deep_nesting(void **state) {
    static const char *const openings[] = {"\x81", "\x9f", "\xa1\x01", "\xbf\x61x",
                                           "\xc1", "\x7f", "\x5f"};
    enum { LEVELS = 20000 };
    for (size_t i = 0; i < sizeof openings / sizeof *openings; i++) {
        for (int inside = 0; inside < 2; inside++) {
            static bytes b;
            /* {"contexts": [{"id": 1}, {"x": ... or {"x": ... */
            encode(&b, "{'contexts': [{'id': 1}]}");
            if (inside) {
                b.data[0] = 0xa2;
                put(&b, 0x6178, 2);
            } else {
                b.size = 0;
                put(&b, 0xa161, 2);
                put(&b, 'x', 1);
            }
            size_t length = strlen(openings[i]);
            for (size_t level = 0; level < LEVELS; level++)
                put(&b,
                    length == 1 ? (uint8_t)openings[i][0]
                    : length == 2
                        ? (uint64_t)((uint8_t)openings[i][0] << 8 | (uint8_t)openings[i][1])
                        : 0xbf6178,
                    (int)length);
            pl_debug_info *info = NULL;
            popliner_error error = {0};
            popliner_status status = read_data(*state, b.data, b.size, NULL, &info, &error);
            if (status == POPLINER_OK) {
                assert_true(info->truncated);
                assert_int_equal(info->num_contexts, inside);
            } else {
                assert_int_equal(status, POPLINER_ERROR_INPUT);
                assert_int_equal(inside, 0);
            }
            pl_debug_info_free(info);
        }
    }
    /* a few hundred levels are no damage */
    static bytes b;
    encode(&b, "{'x': h<00>, 'contexts': [{'id': 1}]}");
    static bytes deep;
    deep.size = 0;
    put(&deep, 0xa26178, 3);
    for (int i = 0; i < 400; i++)
        put(&deep, 0x81, 1);
    memcpy(deep.data + deep.size, b.data + 3, b.size - 3);
    deep.size += b.size - 3;
    pl_debug_info *info = NULL;
    assert_int_equal(read_data(*state, deep.data, deep.size, NULL, &info, NULL), POPLINER_OK);
    assert_false(info->truncated);
    assert_int_equal(info->num_contexts, 1);
    pl_debug_info_free(info);
}

/* A chunk that is itself in chunks is not CBOR, and was once read out of freed memory. */
static void survives_chunks_within_chunks(void **state) {
    static bytes b;
    encode(&b, "{'contexts': [{'id': 1}, {'id': 2, 'opName': h<7f>, 'abcdefgh', h<7f>, "
               "'abcdefghijklmnopqrstuvwxyz', h<ff>, h<ff>}]}");
    /* the notation counted the pieces: the second record is a map of 2 */
    uint8_t *map = (uint8_t *)memchr(b.data, 0x02, b.size) - 4;
    assert_int_equal(*map & 0xe0, 0xa0);
    *map = 0xa2;
    pl_debug_info *info = NULL;
    popliner_error error = {0};
    test_told told;
    popliner_listener listener = test_listen(&told);
    assert_int_equal(read_data(*state, b.data, b.size, &listener, &info, &error), POPLINER_OK);
    assert_true(info->truncated);
    assert_int_equal(info->num_contexts, 1);
    assert_int_equal(told.messages[POPLINER_LEVEL_WARNING], 1);
    assert_non_null(strstr(told.last[POPLINER_LEVEL_WARNING], "damaged"));
    pl_debug_info_free(info);
}

/* ---- Cut and damaged files ------------------------------------------------------------------ */

/* Reads the first `length` bytes and returns how many contexts that gave. */
static size_t read_cut(const char *directory, const uint8_t *data, size_t length, size_t size) {
    pl_debug_info *info = NULL;
    popliner_error error = {0};
    test_told told;
    popliner_listener listener = test_listen(&told);
    popliner_status status = read_data(directory, data, length, &listener, &info, &error);
    if (status != POPLINER_OK)
        fail_msg("cut at %zu: %s", length, error.message);
    assert_int_equal(info->truncated, length < size);
    assert_int_equal(told.messages[POPLINER_LEVEL_WARNING], length < size ? 1 : 0);
    if (length < size)
        assert_non_null(strstr(told.last[POPLINER_LEVEL_WARNING], "cut off"));
    assert_int_equal(told.progress_done, told.progress_total);
    walk_all(info);
    size_t count = info->num_contexts;
    pl_debug_info_free(info);
    return count;
}

/* Every cut gives at least the contexts of the cuts before it, and the whole gives all. */
static void check_cuts(const char *directory, const uint8_t *data, size_t size, size_t stride,
                       size_t num_contexts) {
    size_t previous = 0;
    for (size_t length = 1; length < size; length += stride) {
        size_t count = read_cut(directory, data, length, size);
        assert_true(count >= previous);
        previous = count;
    }
    assert_true(previous <= num_contexts);
    assert_int_equal(read_cut(directory, data, size, size), num_contexts);
}

static void reads_as_far_as_a_cut_file_goes(void **state) {
    static bytes b;
    static const char *const openings[][2] = {{"[_", "[_"}, {"[_", "["}, {"{", "{_ "}};
    for (size_t i = 0; i < 3; i++) {
        char *document = replaced(the_document, openings[i][0], openings[i][1]);
        encode(&b, document);
        assert_true(b.size > 500);
        check_cuts(*state, b.data, b.size, test_takes_all() ? 1 : 4, 5);
        free(document);
    }
}

static void reads_as_far_as_a_cut_golden_file_goes(void **state) {
    char *path = test_golden_file("popart-wide", "debug.cbor");
    if (path == NULL)
        test_skip("its data is in ../shared alone");
    pl_debug_info *info = NULL;
    assert_int_equal(pl_debug_info_read(NULL, path, NULL, &info, NULL), POPLINER_OK);
    size_t num_contexts = info->num_contexts;
    pl_debug_info_free(info);
    size_t size;
    uint8_t *data = test_read_bytes(path, &size);
    check_cuts(*state, data, size, test_takes_all() ? 97 : 470, num_contexts);
    free(data);
    free(path);
}

/* Whatever it is: another document, or the rest of a longer file. */
static void warns_of_bytes_behind_the_end(void **state) {
    static bytes b;
    encode(&b, the_document);
    const size_t size = b.size;
    memcpy(b.data + size, b.data, 3);
    pl_debug_info *info = NULL;
    popliner_error error = {0};
    test_told told;
    popliner_listener listener = test_listen(&told);
    assert_int_equal(read_data(*state, b.data, size + 3, &listener, &info, &error), POPLINER_OK);
    assert_false(info->truncated);
    assert_int_equal(info->num_contexts, 5);
    assert_int_equal(told.messages[POPLINER_LEVEL_WARNING], 1);
    assert_non_null(strstr(told.last[POPLINER_LEVEL_WARNING], "ignored 3 bytes after it"));
    pl_debug_info_free(info);
}

static void survives_any_changed_byte(void **state) {
    static bytes b;
    char *document = replaced(the_document, "'Layer0/MatMul'", "(_ 'Layer0/', 'MatMul')");
    encode(&b, document);
    free(document);
    static const uint8_t values[] = {0x00, 0x1b, 0x5f, 0x7f, 0x80, 0x9f,
                                     0xbb, 0xbf, 0xd9, 0xfb, 0xff};
    for (size_t place = 0; place < b.size; place++) {
        uint8_t before = b.data[place];
        for (size_t k = 0; k < sizeof values + 3; k++) {
            if (!test_takes_case(place + k, 3))
                continue;
            if (k < sizeof values)
                b.data[place] = values[k];
            else if (k == sizeof values + 2)
                b.data[place] = before ^ 0x20;
            else
                b.data[place] = before ^ (uint8_t)(1 << (3 * (k & 1)));
            pl_debug_info *info = NULL;
            popliner_error error = {0};
            popliner_status status = read_data(*state, b.data, b.size, NULL, &info, &error);
            if (status == POPLINER_OK) {
                walk_all(info);
            } else {
                assert_int_equal(status, POPLINER_ERROR_INPUT);
                test_assert_sentence(error.message);
                assert_null(info);
            }
            pl_debug_info_free(info);
        }
        b.data[place] = before;
    }
}

/* ---- Real and golden files ------------------------------------------------------------------ */

static void reads_the_real_files(void **state) {
    (void)state;
    char *path = test_firehose_file("debug.cbor");
    char *cut_path = test_firehose_file("debug-truncated.cbor");
    if (path == NULL || cut_path == NULL) {
        free(path);
        free(cut_path);
        test_skip("its data is in ../shared alone");
    }
    test_told told;
    popliner_listener listener = test_listen(&told);
    pl_debug_info *info = NULL;
    assert_int_equal(pl_debug_info_read(NULL, path, &listener, &info, NULL), POPLINER_OK);
    assert_int_equal(told.messages[POPLINER_LEVEL_WARNING], 0);
    assert_false(info->truncated);
    size_t num_contexts = info->num_contexts;
    assert_true(num_contexts > 68);
    /* only the layers poplar and poplibs, so no operations; every parent that is named exists */
    for (size_t i = 0; i < num_contexts; i++) {
        assert_int_equal(operation_of(info, info->contexts[i].id), 0);
        assert_string_equal(operation_name(info, info->contexts[i].id), "");
        assert_true(info->contexts[i].name < info->num_names);
    }

    pl_debug_info *cut = NULL;
    listener = test_listen(&told);
    assert_int_equal(pl_debug_info_read(NULL, cut_path, &listener, &cut, NULL), POPLINER_OK);
    assert_int_equal(cut->num_contexts, 68);
    assert_true(cut->truncated);
    assert_int_equal(told.messages[POPLINER_LEVEL_WARNING], 1);
    assert_non_null(strstr(told.last[POPLINER_LEVEL_WARNING], "68"));
    char name[10];
    assert_true(pl_debug_info_path(cut, cut->contexts[0].id, name, sizeof name));
    assert_string_equal(name, ""); /* the names were at the end */
    pl_debug_info_free(cut);
    pl_debug_info_free(info);
    free(path);
    free(cut_path);
}

static void check_golden_file(void *user, const test_golden_files *files) {
    (void)user;
    test_told told;
    popliner_listener listener = test_listen(&told);
    pl_debug_info *info = NULL;
    assert_int_equal(pl_debug_info_read(NULL, files->debug, &listener, &info, NULL), POPLINER_OK);
    assert_int_equal(told.messages[POPLINER_LEVEL_WARNING], 0);
    assert_int_equal(told.progress_done, told.progress_total);
    size_t operations = 0;
    for (size_t k = 0; k < info->num_contexts; k++)
        operations += info->contexts[k].layer == PL_DEBUG_LAYER_OPERATIONS;
    assert_true(operations > 10);
    walk_all(info);
    pl_debug_info_free(info);
}

static void reads_every_golden_file(void **state) {
    (void)state;
    test_each_golden_case(check_golden_file, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_DIRECTORY(reads_the_form_of_the_real_file),
        IN_DIRECTORY(reads_definite_and_indefinite_lengths),
        IN_DIRECTORY(reads_a_tagged_document),
        IN_DIRECTORY(reads_chunked_strings),
        IN_DIRECTORY(reads_numbers_of_every_encoding),
        IN_DIRECTORY(reads_keys_in_any_order),
        IN_DIRECTORY(reads_ids_as_text_and_as_lists),
        IN_DIRECTORY(ignores_unknown_keys_and_values),
        IN_DIRECTORY(keeps_values_from_keys_that_are_no_text),
        IN_DIRECTORY(keeps_contexts_with_an_id_alone),
        IN_DIRECTORY(joins_inputs_as_they_are),
        IN_DIRECTORY(pairs_outlined_ids_of_any_length),
        IN_DIRECTORY(finds_operations_of_two_layers),
        IN_DIRECTORY(ends_at_odd_parents),
        IN_DIRECTORY(finds_operations_in_rings),
        IN_DIRECTORY(keeps_the_first_of_equal_ids),
        IN_DIRECTORY(takes_ids_of_any_size),
        IN_DIRECTORY(leaves_out_names_that_are_not_in_the_table),
        IN_DIRECTORY(counts_string_table_entries_that_are_no_text),
        IN_DIRECTORY(cuts_paths_to_the_room_there_is),
        IN_DIRECTORY(walks_up_long_chains),
        IN_DIRECTORY(reads_documents_without_contexts_or_names),
        IN_DIRECTORY(refuses_other_documents),
        IN_DIRECTORY(refuses_what_is_no_file),
        IN_DIRECTORY(survives_deep_nesting),
        IN_DIRECTORY(survives_chunks_within_chunks),
        IN_DIRECTORY(reads_as_far_as_a_cut_file_goes),
        IN_DIRECTORY(reads_as_far_as_a_cut_golden_file_goes),
        IN_DIRECTORY(warns_of_bytes_behind_the_end),
        IN_DIRECTORY(survives_any_changed_byte),
        cmocka_unit_test(reads_the_real_files),
        cmocka_unit_test(reads_every_golden_file),
        IN_DIRECTORY(reads_what_is_larger_than_a_window),
        IN_DIRECTORY(walks_a_long_way_once),
        IN_DIRECTORY(notices_that_the_file_changes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
