/* Diagnoses and totals against SQL and each other; and faults that were planted into
 * profiles, which a diagnosis has to name. tests/cli/diagnosis.cli has what they say.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "command_run.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "popliner/diagnosis.h"
#include "profile/blob_codec.h"
#include "test_sql.h"

static command_run run;

/* ---- What it printed ------------------------------------------------------------------------ */

static json_t *printed_json(void) {
    json_error_t error;
    json_t *json = json_loads(run.out, 0, &error);
    if (json == NULL)
        fail_msg("no JSON: %s in: %s %s", error.text, run.out, run.err);
    return json;
}

static json_t *member(const json_t *object, const char *key) {
    json_t *value = json_object_get(object, key);
    if (value == NULL)
        fail_msg("no key '%s'", key);
    return value;
}

static uint64_t number(const json_t *object, const char *key) {
    const json_t *value = member(object, key);
    if (!json_is_integer(value) || json_integer_value(value) < 0)
        fail_msg("'%s' is no count", key);
    return (uint64_t)json_integer_value(value);
}

static const char *text(const json_t *object, const char *key) {
    const char *value = json_string_value(member(object, key));
    if (value == NULL)
        fail_msg("'%s' is no text", key);
    return value;
}

static sqlite3 *open_case(void) {
    return test_open_sql("file:" CASE_PROFILE "?immutable=1",
                         SQLITE_OPEN_READONLY | SQLITE_OPEN_URI);
}

/* One number from the profile of the case. */
static uint64_t ask(const char *sql) {
    sqlite3 *db = open_case();
    uint64_t value = test_ask(db, sql);
    sqlite3_close(db);
    return value;
}

/* ---- Diagnosis ------------------------------------------------------------------------------ */

static void diagnosis_as_json_has_all_its_keys(void **state) {
    (void)state;
    static const char *const models[] = {"full", "popliner"};
    for (int i = 0; i < 2; i++) {
        RUN(&run, CASE_PROFILE, "--diagnose", "--format", "json", "--memory-model", models[i]);
        assert_int_equal(run.status, 0);
        assert_is_log(&run);
        json_t *json = printed_json();
        const json_t *bottleneck = member(json, "bottleneck");
        assert_string_equal(text(json, "memory_model"), models[i]);
        assert_true(json_is_false(member(json, "layer_operations_only")));
        uint64_t truth = ask("SELECT max(always_live_bytes + not_always_live_max_bytes) "
                             "FROM memory_by_tile");
        assert_int_equal(number(bottleneck, "truth_bytes"), truth);
        assert_int_equal(number(bottleneck, "tile"),
                         ask("SELECT tile FROM memory_by_tile ORDER BY always_live_bytes + "
                             "not_always_live_max_bytes DESC, tile LIMIT 1"));
        assert_int_equal(number(bottleneck, "unexplained_bytes"),
                         truth - number(bottleneck, "explained_bytes"));
        number(bottleneck, "step");
        text(bottleneck, "program");
        assert_true(json_is_array(member(bottleneck, "missing_variables")));
        assert_int_equal(number(json, "tiles_off"), 0);
        number(member(json, "model_bottleneck"), "bytes");
        assert_true(json_array_size(member(json, "categories")) > 5);
        assert_true(json_array_size(member(json, "programs")) > 2);
        assert_true(json_array_size(member(json, "missing_variables")) > 0);
        const json_t *coverage = member(json, "coverage");
        const char *note;
        json_t *count;
        json_int_t sum = 0;
        json_object_foreach(member(coverage, "by_note"), note, count) sum +=
            json_integer_value(count);
        assert_int_equal(sum, number(coverage, "operations"));
        assert_string_equal(text(coverage, "suggested_regex"), "");
        assert_int_equal(json_array_size(member(json, "checks")),
                         POPLINER_RELATION_COMPUTE_SETS + 1);
        const json_t *steps = json_array_get(member(json, "checks"), POPLINER_RELATION_STEPS);
        assert_string_equal(text(steps, "relation"), "steps");
        assert_int_equal(number(steps, "checked"), ask("SELECT count(*) FROM depth_first_steps"));
        assert_int_equal(number(steps, "breached"), 0);
        assert_int_equal(number(steps, "largest_bytes"), 0);
        assert_string_equal(text(steps, "where"), "");
        size_t place;
        const json_t *row;
        json_array_foreach(member(json, "categories"), place, row) {
            assert_int_equal(json_integer_value(member(row, "difference_bytes")),
                             json_integer_value(member(row, "explained_bytes")) -
                                 json_integer_value(member(row, "truth_bytes")));
            number(row, "tiles_exceeded");
        }
        json_array_foreach(member(json, "programs"), place, row) assert_int_equal(
            number(row, "all") - number(row, "seen"), json_array_size(member(row, "missing")));
        json_decref(json);
    }
}

static uint64_t diagnosed_truth(const char *layers) {
    RUN(&run, CASE_PROFILE, "--diagnose", "--format=json", "--fail-on=unexplained=100%", "-q",
        "--layers", layers);
    assert_int_equal(run.status, 0);
    json_t *json = printed_json();
    uint64_t truth = number(member(json, "bottleneck"), "truth_bytes");
    json_decref(json);
    return truth;
}

static void layers_restrict_the_search(void **state) {
    (void)state;
    uint64_t most = 0;
    for (int layer = 0; layer < 4; layer++) {
        char name[2] = {(char)('0' + layer), '\0'};
        uint64_t truth = diagnosed_truth(name);
        most = truth > most ? truth : most;
    }
    assert_int_equal(diagnosed_truth("0..3"), most);
    assert_true(diagnosed_truth("1..2") <= most);
    assert_true(diagnosed_truth("1..2") >= diagnosed_truth("2"));
    assert_int_equal(diagnosed_truth("2..2"), diagnosed_truth("2"));
    assert_int_equal(diagnosed_truth("Head..2"), diagnosed_truth("..2"));
    assert_int_equal(diagnosed_truth("1..Tail"), diagnosed_truth("1.."));
}

static void suggests_a_regex_that_finds_layers(void **state) {
    (void)state;
    static const char *const cases[] = {"popart-inf", "popart-train", "poptorch-inf",
                                        "tensorflow-inf"};
    static const size_t num_layers[] = {4, 3, 12, 7};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char profile[500];
        snprintf(profile, sizeof profile, GOLDEN_DIRECTORY "%s/profile.pop", cases[i]);
        RUN(&run, profile, "--diagnose", "--layer-name-regex", "nothing(\\d+)", "-q",
            "--inputs-regex-layer-0=nothing", "--format=json", "--fail-on=unexplained=100%");
        json_t *json = printed_json();
        const json_t *coverage = member(json, "coverage");
        char regex[200];
        snprintf(regex, sizeof regex, "%s", text(coverage, "suggested_regex"));
        assert_string_not_equal(regex, "");
        assert_string_not_equal(text(coverage, "suggestion_example"), "");
        size_t suggested = number(coverage, "suggested_layers");
        json_decref(json);
        assert_int_equal(suggested, num_layers[i]);
        RUN(&run, profile, "--diagnose", "--layer-name-regex", regex, "-q", "--format=json",
            "--fail-on=unexplained=100%");
        json = printed_json();
        assert_string_equal(text(member(json, "coverage"), "suggested_regex"), "");
        assert_true(number(member(member(json, "coverage"), "by_note"), "name") * 4 >
                    number(member(json, "coverage"), "operations"));
        json_decref(json);
        RUN(&run, profile, "--layer-breakdown", "--layer-name-regex", regex, "-q");
        size_t lines = 0;
        for (const char *c = run.out; *c != '\0'; c++)
            lines += *c == '\n';
        assert_int_equal(lines, 1 + 1 + suggested + 1); /* header, None, layers, an empty line */
    }
}

/* ---- Totals --------------------------------------------------------------------------------- */

/* A copy of the case in the scratch directory, changed by `sql`. */
static const char *changed_case(const char *sql) {
    size_t size;
    free(test_read_bytes(CASE_PROFILE, &size));
    copy_file(CASE_PROFILE, in_scratch("profile.pop"), size);
    change_database(in_scratch("profile.pop"), sql);
    return in_scratch("profile.pop");
}

/* The bytes of the variables of a category, over all tiles. */
static uint64_t bytes_of_category(const json_t *document, const char *category) {
    size_t i;
    json_t *row;
    json_array_foreach(member(document, "rows"), i,
                       row) if (strcmp(json_string_value(member(row, "category")), category) ==
                                0) return number(row, "variables_bytes");
    fail_msg("no category %s", category);
    return 0;
}

static void tables_cope_with_odd_categories(void **state) {
    (void)state;
    RUN(&run, CASE_PROFILE, "--output=categories", "--format=json", "-q");
    json_t *clean = printed_json();
    uint64_t messages = bytes_of_category(clean, "message");
    assert_true(messages > 0);
    json_decref(clean);
    RUN(&run,
        changed_case("UPDATE var_categories SET name = CAST(x'ff41' AS TEXT) "
                     "WHERE name = 'message'"),
        "--output=categories", "--format=json", "-q");
    json_t *json = printed_json();
    assert_int_equal(bytes_of_category(json, "\xef\xbf\xbd"
                                             "A"),
                     messages);
    json_decref(json);
}

/* Of the programs in the middle of the case, those with even numbers lose their debug ids, and the
 * others have one that is nowhere: so every variable that only some of them touch is missing for
 * one reason, or for both. */
static void a_variable_has_the_reasons_of_all_its_programs(void **state) {
    (void)state;
    static const char *const expected[] = {"no debug id", "debug id not in the debug information"};
    const char *file =
        changed_case("UPDATE programs SET debug_id = CASE id % 2 WHEN 0 THEN 0 ELSE 888888888 END"
                     " WHERE id BETWEEN 100 AND 130;"
                     "UPDATE compute_sets SET debug_id = 0");
    RUN(&run, file, CASE_DEBUG, "--diagnose", "--format=json", "--fail-on=unexplained=100%", "-q");
    assert_int_equal(run.status, 1); /* the profile's ids are those of the debug information */
    json_t *json = printed_json();
    size_t num_with[3] = {0}; /* items with so many reasons */
    size_t i;
    size_t k;
    const json_t *item;
    const json_t *program;
    json_array_foreach(member(json, "missing_variables"), i, item) {
        const json_t *reasons = member(item, "reasons");
        assert_string_equal(json_string_value(json_array_get(reasons, 0)), text(item, "reason"));
        size_t count = 0;
        bool is_planted = number(item, "num_programs") > 0 && number(item, "num_programs") <= 3;
        json_array_foreach(member(item, "programs"), k, program) is_planted =
            is_planted && number(program, "program") >= 100 && number(program, "program") <= 130;
        if (!is_planted || json_array_size(member(item, "parts")) > 0)
            continue;
        bool is_told[2] = {false};
        json_array_foreach(member(item, "programs"), k, program) {
            size_t kind = number(program, "program") % 2;
            if (!is_told[kind])
                assert_string_equal(json_string_value(json_array_get(reasons, count++)),
                                    expected[kind]);
            is_told[kind] = true;
        }
        assert_int_equal(json_array_size(reasons), count);
        assert_int_equal(number(item, "compiler_bytes"), 0);
        num_with[count]++;
    }
    json_decref(json);
    assert_true(num_with[1] > 0);
    assert_true(num_with[2] > 0);
    RUN(&run, file, CASE_DEBUG, "--output=missing", "--format=tsv", "-q");
    assert_contains(run.out, "\tno debug id; debug id not in the debug information\t");
}

/* The control code of faulty programs is listed under their numbers. All parts, and what is the
 * compiler's own, are what is missing. (How much each has is compared with SQL elsewhere.) */
static void missing_code_is_listed_by_program(void **state) {
    (void)state;
    RUN(&run,
        changed_case("UPDATE programs SET debug_id = 0, name = 'mine' WHERE id IN (150, 151, 152);"
                     "UPDATE compute_sets SET debug_id = 0"),
        CASE_DEBUG, "--diagnose", "--format=json", "--fail-on=unexplained=100%", "-q");
    assert_int_equal(run.status, 0);
    json_t *json = printed_json();
    size_t num_named = 0;
    size_t i;
    size_t k;
    const json_t *item;
    const json_t *part;
    json_array_foreach(member(json, "missing_variables"), i, item) {
        uint64_t sum = number(item, "compiler_bytes");
        bool is_control = strcmp(text(item, "category"), "controlCode") == 0;
        json_array_foreach(member(item, "parts"), k, part) {
            const json_t *first = json_array_get(member(part, "programs"), 0);
            sum += number(part, "size_bytes");
            assert_true(number(part, "num_programs") > 0);
            assert_int_equal(json_is_string(member(part, "vertex_type")),
                             strcmp(text(item, "category"), "vertexCode") == 0);
            if (!is_control || strcmp(text(first, "name"), "mine") != 0)
                continue;
            assert_true(number(first, "program") >= 150 && number(first, "program") <= 152);
            assert_string_equal(json_string_value(json_array_get(member(part, "reasons"), 0)),
                                "no debug id");
            num_named++;
        }
        if (number(item, "num_programs") == 0 && sum > 0)
            assert_int_equal(sum, number(item, "size_bytes"));
    }
    json_decref(json);
    assert_int_equal(num_named, 3);
    RUN(&run, in_scratch("profile.pop"), CASE_DEBUG, "--output=missing", "--format=tsv", "-q");
    for (int program = 150; program <= 152; program++) {
        char fields[100];
        snprintf(fields, sizeof fields, "\tno debug id\t1\t%d\t", program);
        assert_contains(run.out, fields);
    }
    assert_lacks(run.out, "of missing programs");
}

static void totals_are_the_originals(void **state) {
    (void)state;
    size_t size;
    uint8_t *original = test_read_bytes(CASE_DIRECTORY "/memory-totals.tsv", &size);
    RUN(&run, CASE_PROFILE, "--memory-totals", "--memory-model", "popliner");
    assert_int_equal(run.out_size, size);
    assert_memory_equal(run.out, original, size);
    RUN(&run, CASE_PROFILE, "--memory-totals");
    assert_int_equal(run.out_size, size);
    assert_memory_equal(run.out, original, size);
    free(original);
}

/* ---- Planted faults ------------------------------------------------------------------------- */

enum { NO_DEBUG_ID, NO_OPERATION, UNTOUCHED, NUM_FAULTS, MOST_PLANTED = 100 };

static const char *const fault_names[NUM_FAULTS] = {"no-debug-id", "no-operation", "untouched"};
static const char *const reasons[NUM_FAULTS] = {
    "no debug id", "context chain without operation layer", "touched by no program"};

/* What the tool said that it planted: the id of a program or the name of a variable. */
typedef struct planted {
    size_t count;
    int kind[MOST_PLANTED];
    char subject[MOST_PLANTED][64];
} planted;

static planted make_faulty(const char *name, const char *options) {
    char command[2000];
    planted p = {.count = 0};
    snprintf(command, sizeof command, "'%s' --output '%s' --force %s >'%s'", MKPROFILE_TOOL,
             in_scratch(name), options, in_scratch("told"));
    int status = system(command);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    FILE *file = fopen(in_scratch("told"), "r");
    assert_non_null(file);
    char line[200];
    while (fgets(line, sizeof line, file) != NULL) {
        char kind[20];
        char subject[64];
        for (int k = 0; k < NUM_FAULTS; k++) {
            if (sscanf(line, "%19s %63s", kind, subject) == 2 &&
                strcmp(kind, fault_names[k]) == 0) {
                assert_true(p.count < MOST_PLANTED);
                p.kind[p.count] = k;
                strcpy(p.subject[p.count++], subject);
            }
        }
    }
    fclose(file);
    return p;
}

static json_t *diagnose(const char *name) {
    RUN(&run, in_scratch(name), "--diagnose", "--format", "json", "--fail-on=unexplained=100%",
        "-v");
    assert_int_equal(run.status, 0);
    json_t *json = printed_json();
    assert_int_equal(number(json, "tiles_off"), 0);
    return json;
}

/* The reason that a diagnosis has for a missing program, NULL if it is not missing. */
static const char *reason_of(const json_t *diagnosis, uint64_t program) {
    size_t i;
    size_t k;
    const json_t *group;
    const json_t *item;
    json_array_foreach(member(diagnosis, "programs"), i, group) {
        json_array_foreach(member(group, "missing"), k, item) {
            if (number(item, "program") == program)
                return text(item, "reason");
        }
    }
    return NULL;
}

static bool has_variable(const json_t *diagnosis, const json_t *variable) {
    size_t i;
    const json_t *item;
    json_array_foreach(member(diagnosis, "missing_variables"), i, item) {
        if (strcmp(text(item, "name"), text(variable, "name")) == 0 &&
            strcmp(text(item, "category"), text(variable, "category")) == 0)
            return true;
    }
    return false;
}

/* The place of what was planted, or SIZE_MAX. */
static size_t find_planted(const planted *p, bool is_variable, const char *subject) {
    for (size_t i = 0; i < p->count; i++) {
        if ((p->kind[i] == UNTOUCHED) == is_variable && strcmp(p->subject[i], subject) == 0)
            return i;
    }
    return SIZE_MAX;
}

/* Programs are numbered by the profile's rows, which in these profiles are the ids. */
static void assert_named(const planted *p, const json_t *clean, const json_t *faulty,
                         bool has_calls) {
    size_t i;
    size_t k;
    const json_t *group;
    const json_t *item;
    char subject[64];
    for (i = 0; i < p->count; i++) {
        if (p->kind[i] == UNTOUCHED)
            continue;
        uint64_t program = strtoull(p->subject[i], NULL, 10);
        const char *reason = reason_of(faulty, program);
        assert_null(reason_of(clean, program));
        /* one in a function still belongs to the operation that calls it */
        if (reason == NULL && !has_calls)
            fail_msg("%s %s is not told", fault_names[p->kind[i]], p->subject[i]);
        if (reason != NULL)
            assert_string_equal(reason, reasons[p->kind[i]]);
    }
    json_array_foreach(member(faulty, "programs"), i, group) {
        json_array_foreach(member(group, "missing"), k, item) {
            snprintf(subject, sizeof subject, "%llu", (unsigned long long)number(item, "program"));
            const char *before = reason_of(clean, number(item, "program"));
            if (before == NULL)
                assert_true(find_planted(p, false, subject) != SIZE_MAX);
            else
                assert_string_equal(text(item, "reason"), before);
        }
    }
    size_t num_untouched = 0;
    json_array_foreach(member(faulty, "missing_variables"), i, item) {
        if (has_variable(clean, item))
            continue;
        if (strcmp(text(item, "reason"), reasons[UNTOUCHED]) == 0) {
            assert_true(find_planted(p, true, text(item, "name")) != SIZE_MAX);
            assert_int_equal(number(item, "num_programs"), 0);
            assert_string_equal(text(item, "debug_context"), text(item, "name"));
            num_untouched++;
            continue;
        }
        /* what else is new is their code, which has no name, or touched by them */
        const json_t *program;
        const char *category = text(item, "category");
        if (*text(item, "name") == '\0' && number(item, "num_programs") == 0) {
            assert_true(strcmp(category, "internalExchangeCode") == 0 ||
                        strcmp(category, "controlCode") == 0 ||
                        strcmp(category, "copyDescriptor") == 0 ||
                        strncmp(category, "vertex", 6) == 0);
            continue;
        }
        assert_true(number(item, "num_programs") > 0);
        json_array_foreach(member(item, "programs"), k, program) {
            snprintf(subject, sizeof subject, "%llu",
                     (unsigned long long)number(program, "program"));
            assert_true(find_planted(p, false, subject) != SIZE_MAX ||
                        reason_of(clean, number(program, "program")) != NULL);
        }
    }
    for (i = 0; i < p->count; i++)
        num_untouched -= p->kind[i] == UNTOUCHED;
    assert_int_equal(num_untouched, 0);
}

static void planted_faults_are_named(void **state) {
    (void)state;
    static const struct {
        const char *options;
        bool has_calls;
    } styles[] = {
        {"--framework popart --layers 2 --tiles 8", false},
        {"--framework popart --layers 2 --tiles 8 --outline", true},
        {"--framework poptorch --layers 2 --tiles 8", false},
        {"--framework tensorflow --layers 2 --tiles 8", false},
        {"--framework tensorflow --layers 1 --tiles 8 --training", false},
    };
    static const char *const faults[] = {
        "--fault no-debug-id:5",
        "--fault no-operation:7",
        "--fault untouched:4",
        "--fault no-debug-id:9 --fault no-operation:8 --fault untouched:18",
    };
    static const size_t counts[] = {5, 7, 4, 35};
    for (size_t i = 0; i < sizeof styles / sizeof *styles; i++) {
        assert_int_equal(make_faulty("clean", styles[i].options).count, 0);
        json_t *clean = diagnose("clean");
        for (size_t k = 0; k < sizeof faults / sizeof *faults; k++) {
            char options[300];
            if (!test_takes_case(4 * i + k, 3))
                continue;
            snprintf(options, sizeof options, "%s %s", styles[i].options, faults[k]);
            planted p = make_faulty("faulty", options);
            assert_int_equal(p.count, counts[k]);
            json_t *faulty = diagnose("faulty");
            assert_named(&p, clean, faulty, styles[i].has_calls);
            json_decref(faulty);
        }
        json_decref(clean);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(diagnosis_as_json_has_all_its_keys),
        cmocka_unit_test(layers_restrict_the_search),
        cmocka_unit_test(suggests_a_regex_that_finds_layers),
        SCRATCH_TEST(tables_cope_with_odd_categories),
        SCRATCH_TEST(a_variable_has_the_reasons_of_all_its_programs),
        SCRATCH_TEST(missing_code_is_listed_by_program),
        cmocka_unit_test(totals_are_the_originals),
        SCRATCH_TEST(planted_faults_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
