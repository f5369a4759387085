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

/* Section i of a diagnosis. */
static const json_t *rows_of(const json_t *document, size_t i) {
    static const char *const names[] = {"diagnosis", "missing", "checks"};
    const json_t *section = json_array_get(member(document, "sections"), i);
    assert_string_equal(text(section, "section"), names[i]);
    return member(section, "rows");
}

/* Whether a row of what is missing is at this place. */
static bool is_item(const json_t *row, const char *place) {
    return strcmp(text(row, "place"), place) == 0;
}

/* The first programs of such a row, three at most. */
static size_t programs_of(const json_t *row, uint64_t programs[3]) {
    const char *list = json_string_value(member(row, "programs"));
    unsigned long long ids[3];
    const int count = list == NULL ? 0 : sscanf(list, "%llu %llu %llu", &ids[0], &ids[1], &ids[2]);
    for (int i = 0; i < count; i++)
        programs[i] = ids[i];
    return count < 0 ? 0 : (size_t)count;
}

/* The row of this group and name; NULL if there is none. */
static const json_t *row_of(const json_t *document, const char *group, const char *name) {
    size_t place;
    const json_t *row;
    json_array_foreach(rows_of(document, 0), place,
                       row) if (strcmp(text(row, "group"), group) == 0 &&
                                strcmp(text(row, "name"), name) == 0) return row;
    return NULL;
}

/* The sum of a column over the rows of a group; without one: how many there are. */
static uint64_t sum_of(const json_t *document, const char *group, const char *column) {
    uint64_t sum = 0;
    size_t place;
    const json_t *row;
    json_array_foreach(rows_of(document, 0), place, row) if (strcmp(text(row, "group"), group) == 0)
        sum += column == NULL ? 1 : number(row, column);
    return sum;
}

static void diagnosis_as_json_has_all_its_rows(void **state) {
    (void)state;
    static const char *const models[] = {"full", "popliner"};
    for (int i = 0; i < 2; i++) {
        RUN(&run, CASE_PROFILE, "--diagnose", "--format", "json", "--memory-model", models[i]);
        assert_int_equal(run.status, 0);
        assert_is_log(&run);
        json_t *json = printed_json();
        const json_t *bytes = row_of(json, "bottleneck", "bytes");
        assert_string_equal(text(row_of(json, "model", "memory_model"), "value"), models[i]);
        assert_true(json_is_false(member(json, "layer_operations_only")));
        uint64_t truth = ask("SELECT max(always_live_bytes + not_always_live_max_bytes) "
                             "FROM memory_by_tile");
        assert_int_equal(number(bytes, "value"), truth);
        assert_int_equal(number(row_of(json, "bottleneck", "tile"), "value"),
                         ask("SELECT tile FROM memory_by_tile ORDER BY always_live_bytes + "
                             "not_always_live_max_bytes DESC, tile LIMIT 1"));
        number(row_of(json, "bottleneck", "step"), "value");
        text(row_of(json, "bottleneck", "program"), "value");
        uint64_t missing_bytes = 0;
        size_t place;
        const json_t *row;
        size_t num_missing = 0;
        json_array_foreach(rows_of(json, 1), place, row) {
            missing_bytes += is_item(row, "bottleneck") ? number(row, "size_bytes") : 0;
            num_missing += is_item(row, "all");
        }
        assert_true(num_missing > 0);
        assert_int_equal(missing_bytes, truth - number(bytes, "explained"));
        assert_int_equal(number(row_of(json, "model", "tiles_off"), "value"), 0);
        number(row_of(json, "model", "bytes"), "value");
        assert_true(sum_of(json, "category", NULL) > 5);
        assert_true(sum_of(json, "programs", NULL) > 2);
        assert_true(sum_of(json, "category", "value") >= sum_of(json, "category", "explained"));
        assert_int_equal(sum_of(json, "category", "tiles_exceeded"), 0);
        assert_int_equal(sum_of(json, "programs", "value"), ask("SELECT count(*) FROM programs"));
        assert_true(sum_of(json, "programs", "value") > sum_of(json, "programs", "explained"));
        const uint64_t num_operations = sum_of(json, "layers", "value");
        assert_true(num_operations > 0);
        assert_null(row_of(json, "suggestion", "regex"));
        assert_int_equal(json_array_size(rows_of(json, 2)), POPLINER_RELATION_COMPUTE_SETS + 1);
        const json_t *steps = json_array_get(rows_of(json, 2), POPLINER_RELATION_STEPS);
        assert_string_equal(text(steps, "relation"), "steps");
        assert_int_equal(number(steps, "checked"), ask("SELECT count(*) FROM depth_first_steps"));
        assert_int_equal(number(steps, "breached"), 0);
        assert_int_equal(number(steps, "largest_difference"), 0);
        assert_true(json_is_null(member(steps, "where")));
        json_decref(json);
        RUN(&run, CASE_PROFILE, "--output", "operations", "--format", "json", "-q");
        json = printed_json();
        assert_int_equal(json_array_size(member(json, "rows")), num_operations);
        json_decref(json);
    }
}

static uint64_t diagnosed_truth(const char *layers) {
    RUN(&run, CASE_PROFILE, "--diagnose", "--format=json", "--fail-on=unexplained=100%", "-q",
        "--layers", layers);
    assert_int_equal(run.status, 0);
    json_t *json = printed_json();
    uint64_t truth = number(row_of(json, "bottleneck", "bytes"), "value");
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
        char regex[200];
        snprintf(regex, sizeof regex, "%s", text(row_of(json, "suggestion", "regex"), "value"));
        assert_string_not_equal(regex, "");
        assert_string_not_equal(text(row_of(json, "suggestion", "example"), "value"), "");
        size_t suggested = number(row_of(json, "suggestion", "layers"), "value");
        json_decref(json);
        assert_int_equal(suggested, num_layers[i]);
        RUN(&run, profile, "--diagnose", "--layer-name-regex", regex, "-q", "--format=json",
            "--fail-on=unexplained=100%");
        json = printed_json();
        assert_null(row_of(json, "suggestion", "regex"));
        assert_true(number(row_of(json, "layers", "name"), "value") * 4 >
                    sum_of(json, "layers", "value"));
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
    test_alter(in_scratch("profile.pop"), sql);
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
    const json_t *item;
    json_array_foreach(rows_of(json, 1), i, item) {
        uint64_t programs[3];
        size_t count = 0;
        if (!is_item(item, "all") || number(item, "num_programs") == 0 ||
            number(item, "num_programs") > 3)
            continue;
        bool is_planted = true;
        for (size_t k = 0; k < programs_of(item, programs); k++)
            is_planted = is_planted && programs[k] >= 100 && programs[k] <= 130;
        if (!is_planted)
            continue;
        char told[100] = "";
        bool is_told[2] = {false};
        for (size_t k = 0; k < programs_of(item, programs); k++) {
            const size_t kind = programs[k] % 2;
            if (!is_told[kind])
                sprintf(told + strlen(told), "%s%s", count++ > 0 ? "; " : "", expected[kind]);
            is_told[kind] = true;
        }
        assert_string_equal(text(item, "reasons"), told);
        assert_int_equal(number(item, "compiler_bytes"), 0);
        num_with[count]++;
    }
    json_decref(json);
    assert_true(num_with[1] > 0);
    assert_true(num_with[2] > 0);
    RUN(&run, file, CASE_DEBUG, "--output=missing", "--format=tsv", "-q");
    assert_contains(run.out, "\tno debug id; debug id not in the debug information\t");
}

static json_t *succeeded_json(void) {
    assert_int_equal(run.status, 0);
    return printed_json();
}

/* The row of control code over all tiles, of the section alone. */
static const json_t *missing_control_code(const json_t *section) {
    size_t i;
    const json_t *row;
    json_array_foreach(member(section, "rows"), i,
                       row) if (is_item(row, "all") &&
                                strcmp(text(row, "category"), "controlCode") == 0) return row;
    fail_msg("no control code is missing");
    return NULL;
}

/* The control code of faulty programs is theirs: the category has them, the reason and their bytes,
 * and each of them has these itself. (How much each has is compared with SQL elsewhere.) */
static void missing_code_is_that_of_programs(void **state) {
    (void)state;
    RUN(&run, CASE_PROFILE, CASE_DEBUG, "--output=missing", "--format=json", "-q");
    json_t *clean = succeeded_json();
    RUN(&run,
        changed_case("UPDATE programs SET debug_id = 0, name = 'mine' WHERE id IN (150, 151, 152);"
                     "UPDATE compute_sets SET debug_id = 0"),
        CASE_DEBUG, "--output=missing", "--format=json", "-q");
    json_t *json = succeeded_json();
    RUN(&run, in_scratch("profile.pop"), CASE_DEBUG, "--output=programs", "--format=json", "-q");
    json_t *programs = succeeded_json();
    uint64_t more_bytes = 0;
    size_t num_faulty = 0;
    size_t i;
    const json_t *row;
    json_array_foreach(member(programs, "rows"), i, row) {
        if (number(row, "program") < 150 || number(row, "program") > 152)
            continue;
        assert_string_equal(text(row, "missing_reason"), "no debug id");
        more_bytes += number(row, "control_code_bytes");
        num_faulty++;
    }
    assert_int_equal(num_faulty, 3);
    assert_true(more_bytes > 0);
    const json_t *now = missing_control_code(json);
    const json_t *then = missing_control_code(clean);
    assert_int_equal(number(now, "size_bytes"), number(then, "size_bytes") + more_bytes);
    assert_int_equal(number(now, "compiler_bytes"), number(then, "compiler_bytes"));
    assert_int_equal(number(now, "num_programs"), number(then, "num_programs") + 3);
    assert_non_null(strstr(text(now, "reasons"), "no debug id"));
    assert_null(strstr(text(then, "reasons"), "no debug id"));
    json_decref(programs);
    json_decref(json);
    json_decref(clean);
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

/* A diagnosis, and in "programs" and "variables" what the sections of these names have. */
static json_t *diagnose(const char *name) {
    RUN(&run, in_scratch(name), "--diagnose", "--format", "json", "--fail-on=unexplained=100%",
        "-v");
    assert_int_equal(run.status, 0);
    json_t *json = printed_json();
    assert_int_equal(number(row_of(json, "model", "tiles_off"), "value"), 0);
    static const char *const sections[] = {"programs", "variables"};
    for (size_t i = 0; i < 2; i++) {
        RUN(&run, in_scratch(name), "--output", sections[i], "--format", "json", "-q");
        assert_int_equal(json_object_set_new(json, sections[i], printed_json()), 0);
    }
    return json;
}

/* The reason why a program is missing, NULL if it is not. */
static const char *reason_of(const json_t *diagnosis, uint64_t program) {
    const json_t *row = json_array_get(member(member(diagnosis, "programs"), "rows"), program);
    assert_int_equal(number(row, "program"), program);
    return json_string_value(member(row, "missing_reason"));
}

static const char *name_of(const json_t *row) {
    const char *name = json_string_value(member(row, "name"));
    return name == NULL ? "" : name;
}

/* The debug context of the variable of a name. */
static const char *context_of(const json_t *diagnosis, const char *name) {
    size_t i;
    const json_t *row;
    json_array_foreach(member(member(diagnosis, "variables"), "rows"), i, row) {
        if (strcmp(name_of(row), name) == 0)
            return text(row, "debug_context");
    }
    fail_msg("there is no variable %s", name);
    return "";
}

static bool has_variable(const json_t *diagnosis, const json_t *variable) {
    size_t i;
    const json_t *item;
    json_array_foreach(rows_of(diagnosis, 1), i, item) {
        if (is_item(item, "all") && strcmp(name_of(item), name_of(variable)) == 0 &&
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
    size_t num_missing = 0;
    json_array_foreach(member(member(faulty, "programs"), "rows"), i, item) {
        const char *reason = reason_of(faulty, i);
        if (reason == NULL)
            continue;
        num_missing++;
        snprintf(subject, sizeof subject, "%zu", i);
        const char *before = reason_of(clean, i);
        if (before == NULL)
            assert_true(find_planted(p, false, subject) != SIZE_MAX);
        else
            assert_string_equal(reason, before);
    }
    assert_int_equal(num_missing,
                     sum_of(faulty, "programs", "value") - sum_of(faulty, "programs", "explained"));
    size_t num_untouched = 0;
    json_array_foreach(rows_of(faulty, 1), i, item) {
        if (!is_item(item, "all") || has_variable(clean, item))
            continue;
        if (strncmp(text(item, "reasons"), reasons[UNTOUCHED], strlen(reasons[UNTOUCHED])) == 0) {
            assert_true(find_planted(p, true, name_of(item)) != SIZE_MAX);
            assert_int_equal(number(item, "num_programs"), 0);
            assert_string_equal(text(item, "debug_context"), context_of(faulty, name_of(item)));
            num_untouched++;
            continue;
        }
        /* what else is new is their code, which has no name, or touched by them */
        uint64_t programs[3];
        const char *category = text(item, "category");
        if (*name_of(item) == '\0' && number(item, "num_programs") == 0) {
            assert_true(strcmp(category, "internalExchangeCode") == 0 ||
                        strcmp(category, "controlCode") == 0 ||
                        strcmp(category, "copyDescriptor") == 0 ||
                        strncmp(category, "vertex", 6) == 0);
            continue;
        }
        assert_true(number(item, "num_programs") > 0);
        for (size_t k = 0; k < programs_of(item, programs); k++) {
            snprintf(subject, sizeof subject, "%llu", (unsigned long long)programs[k]);
            assert_true(find_planted(p, false, subject) != SIZE_MAX ||
                        reason_of(clean, programs[k]) != NULL);
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
        cmocka_unit_test(diagnosis_as_json_has_all_its_rows),
        cmocka_unit_test(layers_restrict_the_search),
        cmocka_unit_test(suggests_a_regex_that_finds_layers),
        SCRATCH_TEST(tables_cope_with_odd_categories),
        SCRATCH_TEST(a_variable_has_the_reasons_of_all_its_programs),
        SCRATCH_TEST(missing_code_is_that_of_programs),
        cmocka_unit_test(totals_are_the_originals),
        SCRATCH_TEST(planted_faults_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
