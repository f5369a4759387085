/* --output: what it takes and rejects, and which files they leave behind.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "command_run.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "answer/certificate_data.h"
#include "json_schema.h"

#define SAMPLE PROJECT_DIRECTORY "/data/sample"

static command_run run;
static command_run other;

static const char *const sections[] = {
    "summary",   "tiles",  "categories", "liveness",  "variables", "operations",
    "programs",  "layers", "pairs",      "execution", "checks",    "vertices",
    "exchanges", "advice", "diagnosis",  "missing",   "addresses"};
enum { NUM_SECTIONS = sizeof sections / sizeof *sections };

/* Runs with standard output in a new file. */
#define PRINT(result, path, ...)                                                                   \
    (test_write_bytes(path, "", 0), RUN_INTO(result, path, __VA_ARGS__))

/* ---- what is asked for ---- */

static void plans_are_solved_for(void **state) {
    (void)state;
    char option[600];
    snprintf(option, sizeof option, "plan=%s", in_scratch("plan.csv"));
    RUN(&other, SAMPLE, "-q", "--solve", "--num-ipus", "2", "--output", "plan");
    RUN(&run, SAMPLE, "-q", "--num-ipus", "2", "--output", "plan");
    assert_int_equal(run.status, 0);
    assert_string_equal(run.out, other.out);
    RUN(&run, SAMPLE, "--solve", "--evaluate", "0", "--output", "plan");
    assert_refused(&run, 2, "--output plan: of --solve, or of --evaluate? Give one of them");
    RUN(&run, SAMPLE, "--solve", "--num-ipus", "1..2", "--output", "plan");
    assert_refused(&run, 2, "--output plan: is of one split; leave out --num-ipus");
    RUN(&run, SAMPLE, "--solve", "--pareto", "memory,traffic", "--output", option);
    assert_refused(&run, 2, "leave out --pareto");
    assert_holds(in_scratch(""), "");
}

/* What takes the place of the report: it is done all the same. */
static void one_output_is_printed(void **state) {
    (void)state;
    static const char *const tables[] = {"--memory-totals", "--layer-breakdown",
                                         "--operation-breakdown", "--memory-affinity",
                                         "--interlayer-communication"};
    static const char *const actions[][2] = {
        {"--solve", NULL}, {"--evaluate", "0"}, {"--diagnose", NULL}};
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        char message[100];
        snprintf(message, sizeof message, "%s: tiles is printed already; give --output %s=FILE",
                 tables[i], tables[i] + 2);
        RUN(&run, SAMPLE, "--output", "tiles", tables[i]);
        assert_refused(&run, 2, message);
    }
    RUN(&run, SAMPLE, "--output", "torch", "--output", "optimum");
    assert_refused(&run, 2,
                   "--output optimum: torch is printed already; give --output optimum=FILE");
    RUN(&other, SAMPLE, "-q", "--output", "tiles");
    for (size_t i = 0; i < sizeof actions / sizeof *actions; i++) {
        RUN(&run, SAMPLE, "-q", "--output", "tiles", actions[i][0], actions[i][1]);
        assert_string_equal(run.out, other.out);
    }
}

/* Nothing to do, and nothing to write: what the profile is, in a pipe the table summary. */
static void an_overview_comes_without_an_action(void **state) {
    (void)state;
    RUN(&run, SAMPLE, "-q");
    RUN(&other, SAMPLE, "-q", "--output", "summary");
    assert_int_equal(run.status, 0);
    assert_string_equal(run.out, other.out);
    RUN(&run, SAMPLE, "-q", "--format", "text");
    assert_int_equal(run.status, 0);
    assert_contains(
        run.out, "Fits on one IPU: the fullest tile needs 47,492 of 638,976 bytes, with gaps.\n");
    assert_contains(run.out, "\nLayers      4: 0 to 3; 16 of 86 operations belong to none\n");
    assert_contains(run.out, "\nTry         --solve ");
    RUN(&run, SAMPLE, "-q", "--format", "text", "--output", output_into("tiles", "/dev/null"));
    assert_string_equal(run.out, "");
    RUN(&run, SAMPLE, "--num-ipus", "2");
    assert_refused(&run, 2, "--num-ipus: not used by the overview; it is for --solve");
}

static void names_are_suggested(void **state) {
    (void)state;
    RUN(&run, SAMPLE, "--output", "tile");
    assert_refused(&run, 2, "tiles");
    RUN(&run, SAMPLE, "--output", "oprations");
    assert_refused(&run, 2, "operations");
    RUN(&run, SAMPLE, "--output", "livenes=x.csv");
    assert_refused(&run, 2, "liveness");
    RUN(&run, SAMPLE, "--output", "tiles.csv");
    assert_refused(&run, 2, "--output tiles.csv: of what? Did you mean tiles=tiles.csv?");
    RUN(&run, SAMPLE, "--output", "page");
    assert_refused(&run, 2, "--output page: into which file? Give page=FILE");
    RUN(&run, SAMPLE, "--output", "tiles=");
    assert_refused(&run, 2, "--output tiles=: into which file? Give tiles=FILE");
}

/* Every section, by the schema, and only by its own part of it. */
static void json_is_as_the_schema_says(void **state) {
    (void)state;
    json_error_t error;
    char complaint[SCHEMA_COMPLAINT_SIZE];
    json_t *schema = json_load_file(PROJECT_DIRECTORY "/docs/sections.schema.json", 0, &error);
    assert_non_null(schema);
    for (size_t i = 0; i <= NUM_SECTIONS; i++) {
        const char *name = i < NUM_SECTIONS ? sections[i] : "plan";
        const char *file = in_scratch("section.json");
        PRINT(&run, file, SAMPLE, "-q", "--format", "json", "--output", name,
              i < NUM_SECTIONS ? NULL : "--solve");
        assert_int_equal(run.status, 0);
        json_t *document = json_load_file(file, JSON_REJECT_DUPLICATES, &error);
        assert_non_null(document);
        if (!schema_accepts(schema, NULL, document, complaint) ||
            !schema_accepts(schema, name, document, complaint))
            fail_msg("%s: %s", name, complaint);
        for (int verdict = 0; i == NUM_SECTIONS && verdict <= POPLINER_FITS_NOT; verdict++) {
            json_t *row = json_array_get(json_object_get(document, "rows"), 0);
            json_object_set_new(row, "verdict",
                                json_string(pl_verdict_text((popliner_verdict)verdict)));
            assert_true(schema_accepts(schema, NULL, document, complaint));
        }
        /* a column too many, and one too few; a table without rows has neither */
        json_t *row = json_array_get(json_object_get(document, "rows"), 0);
        if (row != NULL) {
            json_object_set_new(row, "another", json_string(""));
            assert_false(schema_accepts(schema, NULL, document, complaint));
            json_object_del(row, "another");
            json_object_del(row, json_object_iter_key(json_object_iter(row)));
            assert_false(schema_accepts(schema, NULL, document, complaint));
        }
        json_decref(document);
    }
    json_decref(schema);
}

/* ---- files ---- */

/* Whether a file holds what --output prints with these options. */
static void assert_file(const char *path, const char *section, const char *format) {
    size_t size;
    PRINT(&run, in_scratch("printed"), SAMPLE, "-q", "--output", section, "--format", format);
    assert_int_equal(run.status, 0);
    assert_true(hash_file(path) == hash_file(in_scratch("printed")));
    uint8_t *bytes = test_read_bytes(path, &size);
    assert_true(size > 0);
    free(bytes);
    assert_int_equal(unlink(in_scratch("printed")), 0);
}

/* SECTION=FILE, of a file in the directory of the test; stands until four more calls. */
static const char *output(const char *section, const char *file) {
    static char options[5][700];
    static size_t next;
    char *option = options[next = (next + 1) % 5];
    snprintf(option, sizeof options[0], "%s=%s", section, in_scratch(file));
    return option;
}

static void names_of_files_choose_the_format(void **state) {
    (void)state;
    RUN(&run, SAMPLE, "-q", "--output", output("tiles", "a.csv"), "--output",
        output("tiles", "b.tsv"), "--output", output("layers", "c.json"), "--output",
        output("checks", "d"));
    assert_int_equal(run.status, 0);
    assert_string_equal(run.out, "");
    assert_holds(in_scratch(""), "a.csv b.tsv c.json d");
    assert_file(in_scratch("a.csv"), "tiles", "csv");
    assert_file(in_scratch("b.tsv"), "tiles", "tsv");
    assert_file(in_scratch("c.json"), "layers", "json");
    assert_file(in_scratch("d"), "checks", "tsv");
    /* --format is for the rest, and for the names that do not tell */
    RUN(&run, SAMPLE, "-q", "--output", output("tiles", "a.csv"), "--output", output("checks", "d"),
        "--output", output("checks", "e.txt"), "--format", "json");
    assert_int_equal(run.status, 0);
    assert_file(in_scratch("a.csv"), "tiles", "csv");
    assert_file(in_scratch("d"), "checks", "json");
    /* a file has all columns, whatever a screen has room for */
    size_t size;
    char *bytes = (char *)test_read_bytes(in_scratch("e.txt"), &size);
    bytes[size - 1] = '\0';
    static const char *const columns[] = {"relation",           "checked", "breached",
                                          "largest_difference", "where",   "untrusted"};
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        assert_non_null(strstr(bytes, columns[i]));
    free(bytes);
}

/* Beside the plan, which is printed as it is without them. */
static void files_come_beside_an_answer(void **state) {
    (void)state;
    RUN(&other, SAMPLE, "-q", "--solve", "--num-ipus", "2");
    RUN(&run, SAMPLE, "-q", "--solve", "--num-ipus", "2", "--output", output("plan", "p.csv"),
        "--output", output("tiles", "t.csv"));
    assert_int_equal(run.status, 0);
    assert_string_equal(run.out, other.out);
    assert_holds(in_scratch(""), "p.csv t.csv");
    assert_file(in_scratch("t.csv"), "tiles", "csv");
    PRINT(&run, in_scratch("printed"), SAMPLE, "-q", "--solve", "--num-ipus", "2", "--output",
          "plan", "--format", "csv");
    assert_true(hash_file(in_scratch("p.csv")) == hash_file(in_scratch("printed")));
    /* and beside another section */
    RUN(&run, SAMPLE, "-q", "--output", "checks", "--output", output("tiles", "u.csv"));
    assert_int_equal(run.status, 0);
    assert_contains(run.out, "relation\t");
    assert_true(hash_file(in_scratch("u.csv")) == hash_file(in_scratch("t.csv")));
}

static mode_t mode_of(const char *path) {
    struct stat info;
    assert_int_equal(stat(path, &info), 0);
    return info.st_mode & 07777;
}

static void files_that_are_there_are_replaced(void **state) {
    (void)state;
    char *path = strdup(in_scratch("tiles.csv"));
    test_write_bytes(path, "old", 3);
    assert_int_equal(chmod(path, 0640), 0);
    RUN(&run, SAMPLE, "-q", "--output", output("tiles", "tiles.csv"));
    assert_int_equal(run.status, 0);
    assert_holds(in_scratch(""), "tiles.csv");
    assert_int_equal(mode_of(path), 0640);
    assert_file(path, "tiles", "csv");
    free(path);
}

static void links_stay(void **state) {
    (void)state;
    struct stat info;
    make_directory(in_scratch("far"));
    test_write_bytes(in_scratch("far/real.csv"), "old", 3);
    assert_int_equal(chmod(in_scratch("far/real.csv"), 0604), 0);
    assert_int_equal(symlink("far/real.csv", in_scratch("link.csv")), 0);
    RUN(&run, SAMPLE, "-q", "--output", output("tiles", "link.csv"));
    assert_int_equal(run.status, 0);
    assert_int_equal(lstat(in_scratch("link.csv"), &info), 0);
    assert_true(S_ISLNK(info.st_mode));
    assert_holds(in_scratch("far"), "real.csv");
    assert_int_equal(mode_of(in_scratch("far/real.csv")), 0604);
    assert_file(in_scratch("far/real.csv"), "tiles", "csv");
    /* also one to a file that is not there yet */
    assert_int_equal(unlink(in_scratch("far/real.csv")), 0);
    RUN(&run, SAMPLE, "-q", "--output", output("tiles", "link.csv"));
    assert_int_equal(run.status, 0);
    assert_int_equal(lstat(in_scratch("link.csv"), &info), 0);
    assert_true(S_ISLNK(info.st_mode));
    assert_file(in_scratch("far/real.csv"), "tiles", "csv");
}

/* Found out before the profile is read, so that nothing is written, not even the others. */
static void folders_have_to_be_there(void **state) {
    (void)state;
    RUN(&run, SAMPLE, "--output", output("tiles", "good.csv"), "--output",
        output("tiles", "nowhere/bad.csv"));
    assert_refused(&run, 3, "nowhere/bad.csv");
    assert_holds(in_scratch(""), "");
    RUN(&run, SAMPLE, "--output", output("tiles", ""));
    assert_int_equal(run.status, 3);
    assert_string_equal(run.out, "");
}

static void files_are_written_once(void **state) {
    (void)state;
    RUN(&run, SAMPLE, "--output", output("tiles", "same.csv"), "--output",
        output("layers", "same.csv"));
    assert_refused(&run, 2, "same.csv");
    assert_holds(in_scratch(""), "");
    /* under another name */
    test_write_bytes(in_scratch("same.csv"), "old", 3);
    assert_int_equal(symlink("same.csv", in_scratch("link.csv")), 0);
    RUN(&run, SAMPLE, "--output", output("tiles", "same.csv"), "--output",
        output("layers", "link.csv"));
    assert_refused(&run, 2, "link.csv");
    RUN(&run, SAMPLE, "--output", output("tiles", "new"), "--save-to-file", in_scratch("new"));
    assert_refused(&run, 2, "is the file of --output tiles=");
    RUN(&run, SAMPLE, "--output", output("tiles", "link.csv"), "--save-to-file",
        in_scratch("same.csv"));
    assert_refused(&run, 2, "same.csv");
    assert_holds(in_scratch(""), "link.csv same.csv");
    /* in other words, where it is not there yet */
    assert_int_equal(mkdir(in_scratch("folder"), 0755), 0);
    assert_int_equal(symlink("folder", in_scratch("way")), 0);
    RUN(&run, SAMPLE, "--output", output_into("trace", in_scratch("folder/one")), "--output",
        output_into("page", in_scratch("./folder/one")));
    assert_refused(&run, 2, "folder/one: is the file of --output trace=");
    RUN(&run, SAMPLE, "--output", output_into("page", in_scratch("folder/one")), "--output",
        output("tiles", "way/one"));
    assert_refused(&run, 2, "way/one: is the file of --output page=");
    RUN(&run, SAMPLE, "--output", output("tiles", "folder/one"), "--output",
        output("layers", "way/../folder/../folder/one"));
    assert_refused(&run, 2, "is the file of --output tiles=");
    assert_holds(in_scratch("folder"), "");
    /* by a link that leads to what is not there yet */
    assert_int_equal(symlink("folder/one", in_scratch("late")), 0);
    RUN(&run, SAMPLE, "--output", output_into("trace", in_scratch("late")), "--output",
        output_into("page", in_scratch("folder/one")));
    assert_refused(&run, 2, "folder/one: is the file of --output trace=");
    assert_holds(in_scratch("folder"), "");
}

/* What else is read than the profile; and what is printed. */
static void what_is_read_is_not_overwritten(void **state) {
    (void)state;
    char *config = strdup(in_scratch("config.json"));
    char *report = strdup(in_scratch("report"));
    char *note = strdup(in_scratch("report/framework.json"));
    char *printed = strdup(in_scratch("printed"));
    test_write_bytes(config, "{\"solve\": true}", 15);
    const uint64_t before = hash_file(config);
    RUN(&run, SAMPLE, "--config", config, "--output",
        output_into("page", in_scratch("./config.json")));
    assert_refused(&run, 2, "config.json: would overwrite a file of --config");
    assert_int_equal(hash_file(config), before);
    make_directory(report);
    copy_file(SAMPLE "/profile.pop", in_scratch("report/profile.pop"), SIZE_MAX);
    test_write_bytes(note, "{}", 2);
    RUN(&run, report, "--output", output_into("page", note));
    assert_refused(&run, 2, "framework.json: would overwrite the framework.json that is read");
    test_write_bytes(printed, "", 0);
    const char *const arguments[] = {SAMPLE, "--solve", "--output", output_into("page", printed),
                                     NULL};
    run_command_into(&run, printed, arguments);
    assert_int_equal(run.status, 2);
    assert_contains(run.err, "printed: is standard output, too");
    free(printed);
    free(note);
    free(report);
    free(config);
}

static void profiles_are_not_overwritten(void **state) {
    (void)state;
    make_directory(in_scratch("report"));
    copy_file(SAMPLE "/profile.pop", in_scratch("report/profile.pop"), SIZE_MAX);
    copy_file(SAMPLE "/debug.cbor", in_scratch("report/debug.cbor"), SIZE_MAX);
    static const char *const files[] = {"report/profile.pop", "report/debug.cbor"};
    for (size_t i = 0; i < 2; i++) {
        uint64_t before = hash_file(in_scratch(files[i]));
        RUN(&run, in_scratch("report"), "--output", output("tiles", files[i]));
        assert_refused(&run, 2,
                       i == 0 ? "would overwrite the profile that is read"
                              : "would overwrite the debug information that is read");
        assert_true(hash_file(in_scratch(files[i])) == before);
    }
    assert_holds(in_scratch("report"), "debug.cbor profile.pop");
}

static void devices_are_written_into(void **state) {
    (void)state;
    RUN(&other, SAMPLE, "-q", "--output", "checks");
    RUN(&run, SAMPLE, "-q", "--output", "checks=/dev/stdout");
    assert_int_equal(run.status, 0);
    assert_string_equal(run.out, other.out);
    /* a file that it leads to keeps what is in it already */
    struct stat info;
    assert_int_equal(lstat("/dev/stdout", &info), 0);
    assert_true(S_ISLNK(info.st_mode));
    PRINT(&run, in_scratch("both"), SAMPLE, "-q", "--output", "pairs", "--output",
          "checks=/dev/stdout");
    assert_int_equal(run.status, 0);
    PRINT(&run, in_scratch("pairs"), SAMPLE, "-q", "--output", "pairs");
    size_t size;
    size_t first_size;
    char *both = (char *)test_read_bytes(in_scratch("both"), &size);
    char *first = (char *)test_read_bytes(in_scratch("pairs"), &first_size);
    assert_int_equal(size, first_size + other.out_size);
    assert_memory_equal(both, first, first_size);
    assert_memory_equal(both + first_size, other.out, other.out_size);
    free(first);
    free(both);
    RUN(&run, SAMPLE, "-q", "--output", "checks=/dev/null");
    assert_int_equal(run.status, 0);
    assert_string_equal(run.out, "");
    RUN(&run, SAMPLE, "-q", "--output", "tiles=/dev/full");
    assert_int_equal(run.status, 3);
    assert_contains(run.err, "/dev/full");
}

/* ---- the tables that were there before ---- */

static size_t count_of(const char *text, const char *part) {
    size_t count = 0;
    for (const char *at = text; (at = strstr(at, part)) != NULL; at++)
        count++;
    return count;
}

/* They keep their bytes, so a name that they cannot hold is told, once for each table. */
static void names_that_do_not_fit_are_told(void **state) {
    (void)state;
    static const struct {
        const char *option, *told, *section;
    } tables[] = {
        {"--operation-breakdown", "The table of operations has ", "--output operations"},
        {"--layer-breakdown", "The table of layers has ", "--output layers"},
        {"--memory-affinity", "The table of affinity between layers has ", "--output pairs"},
        {"--interlayer-communication", "The table of communication between layers has ",
         "--output pairs"},
    };
    static const struct {
        const char *sql; /* what Layer1 is called from then on, in all names of compute sets */
        const char *regex;
        const char *csv, *tsv; /* what is told then */
    } cases[] = {
        {"'Layer1'", "(Layer\\d)/", NULL, NULL},
        {"'Layer1,'", "(Layer\\d,?)/", "a name with the delimiter;", NULL},
        {"'Layer1' || char(9)", "(Layer\\d\\t?)/", NULL, "a name with the delimiter;"},
        {"'Layer1' || char(10)", "(Layer\\d\\n?)/", "a name with a line break;",
         "a name with a line break;"},
    };
    make_directory(in_scratch("report"));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char sql[300];
        copy_file(SAMPLE "/profile.pop", in_scratch("report/profile.pop"), SIZE_MAX);
        snprintf(sql, sizeof sql, "UPDATE compute_sets SET name = replace(name, 'Layer1', %s)",
                 cases[i].sql);
        change_database(in_scratch("report/profile.pop"), sql);
        for (size_t k = 0; k < 2 * sizeof tables / sizeof *tables; k++) {
            if (!test_takes_case(i + k / 2, 2))
                continue;
            const char *wanted = k % 2 == 0 ? cases[i].csv : cases[i].tsv;
            RUN(&run, in_scratch("report/profile.pop"), tables[k / 2].option, "--format",
                k % 2 == 0 ? "csv" : "tsv", "--layer-name-regex", cases[i].regex);
            assert_int_equal(run.status, 0);
            assert_contains(run.out, "Layer1");
            assert_int_equal(count_of(run.err, "quotes names"), wanted != NULL);
            if (wanted != NULL) {
                assert_contains(run.err, wanted);
                assert_contains(run.err, tables[k / 2].told);
                assert_contains(run.err, tables[k / 2].section);
            }
        }
    }
    RUN(&run, in_scratch("report/profile.pop"), "--operation-breakdown", "--layer-breakdown",
        "--layer-name-regex", "(Layer\\d\\n?)/");
    assert_int_equal(count_of(run.err, "quotes names"), 2);
}

/* ---- other models, stored analyses, plans that do not fit ---- */

static void either_model_is_shown(void **state) {
    (void)state;
    RUN(&run, SAMPLE, "-q", "--output", "layers", "--format", "csv");
    assert_contains(run.out, "\r\n0,Head,head,");
    RUN(&run, SAMPLE, "-q", "--output", "layers", "--format", "csv", "--memory-model", "popliner");
    assert_int_equal(run.status, 0);
    assert_contains(run.out, "\r\n0,None,unlayered,");
    assert_lacks(run.out, "Head");
}

/* Without debug.cbor only the names of debug contexts are missing. */
static void stored_analyses_show_the_same(void **state) {
    (void)state;
    char *stored = strdup(in_scratch("stored"));
    RUN(&run, SAMPLE, "-q", "--save-to-file", stored);
    assert_int_equal(run.status, 0);
    for (size_t i = 0; i < NUM_SECTIONS; i++) {
        if (strcmp(sections[i], "operations") == 0 || !test_takes_case(i, 3))
            continue;
        PRINT(&run, in_scratch("read"), SAMPLE, "-q", "--output", sections[i]);
        PRINT(&other, in_scratch("loaded"), stored, "--load-from-file", "-q", "--output",
              sections[i]);
        assert_int_equal(other.status, 0);
        if (hash_file(in_scratch("read")) != hash_file(in_scratch("loaded")))
            fail_msg("%s differs", sections[i]);
    }
    RUN(&run, SAMPLE, "-q", "--output", "plan", "--solve", "--num-ipus", "3");
    RUN(&other, stored, "--load-from-file", "-q", "--output", "plan", "--solve", "--num-ipus", "3");
    assert_int_equal(other.status, 0);
    assert_string_equal(other.out, run.out);
    uint64_t before = hash_file(stored);
    RUN(&run, stored, "--load-from-file", "--output", output("tiles", "stored"));
    assert_refused(&run, 2, "would overwrite the stored analysis that is read");
    assert_true(hash_file(stored) == before);
    free(stored);
}

static void plans_that_do_not_fit_are_shown(void **state) {
    (void)state;
    RUN(&run, SAMPLE, "-q", "--solve", "--num-ipus", "2", "--mem-per-tile", "3000", "--output",
        "plan", "--format", "csv");
    assert_int_equal(run.status, 1);
    assert_contains(run.out, "stage,ipu,");
    assert_contains(run.out, ",does not fit,");
    RUN(&other, SAMPLE, "-q", "--solve", "--num-ipus", "2", "--mem-per-tile", "3000", "--output",
        output("plan", "plan.csv"));
    assert_int_equal(other.status, 1);
    size_t size;
    uint8_t *bytes = test_read_bytes(in_scratch("plan.csv"), &size);
    assert_int_equal(size, run.out_size);
    assert_memory_equal(bytes, run.out, size);
    free(bytes);
    RUN(&run, SAMPLE, "-q", "--evaluate", "1", "--mem-per-tile", "3000", "--output", "plan");
    assert_int_equal(run.status, 1);
    assert_contains(run.out, "\tdoes not fit\t");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        SCRATCH_TEST(plans_are_solved_for),
        SCRATCH_TEST(one_output_is_printed),
        SCRATCH_TEST(an_overview_comes_without_an_action),
        SCRATCH_TEST(names_are_suggested),
        SCRATCH_TEST(json_is_as_the_schema_says),
        SCRATCH_TEST(names_of_files_choose_the_format),
        SCRATCH_TEST(files_come_beside_an_answer),
        SCRATCH_TEST(files_that_are_there_are_replaced),
        SCRATCH_TEST(links_stay),
        SCRATCH_TEST(folders_have_to_be_there),
        SCRATCH_TEST(files_are_written_once),
        SCRATCH_TEST(what_is_read_is_not_overwritten),
        SCRATCH_TEST(profiles_are_not_overwritten),
        SCRATCH_TEST(devices_are_written_into),
        SCRATCH_TEST(names_that_do_not_fit_are_told),
        SCRATCH_TEST(either_model_is_shown),
        SCRATCH_TEST(stored_analyses_show_the_same),
        SCRATCH_TEST(plans_that_do_not_fit_are_shown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
