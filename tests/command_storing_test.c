/* Storing an analysis and loading it again, with the command.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "command_run.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_OPTIONS = 8 };

static command_run run;
static command_run loaded;

/* Everything that the command can print. */
static const char *const prints[][MOST_OPTIONS] = {
    {"--operation-breakdown"},
    {"--operation-breakdown", "--format=csv"},
    {"--operation-breakdown", "--layer-name-regex=(Layer|layer_|encoder/)(\\d+)"},
    {"--operation-breakdown", "--layer-name-regex=^(.)"},
    {"--operation-breakdown", "--inputs-regex-layer-0=a"},
    {"--layer-breakdown"},
    {"--layer-breakdown", "--format=csv"},
    {"--layer-breakdown", "--layer-order=natural"},
    {"--layer-breakdown", "--layer-name-regex=(Embedding|Layer\\d+/(?:Attention|FF)|CLS|cls)"},
    {"--layer-breakdown", "--layer-name-regex=(Embedding|Layer\\d+/(?:Attention|FF)|CLS|cls)",
     "--layer-order=natural"},
    {"--layer-breakdown", "--layer-name-regex=^(.)"},
    {"--layer-breakdown", "--layer-name-regex=nothing"},
    {"--memory-totals"},
    {"--memory-totals", "--format=csv"},
    {"--memory-affinity"},
    {"--interlayer-communication"},
    {"--interlayer-communication", "--layer-name-regex=^(.)", "--layer-order=natural"},
    {"--solve"},
    {"--solve", "--num-ipus=3", "--mem-per-tile=140000"},
    {"--solve", "--num-ipus=3", "--mem-per-tile=140000", "--solver=popliner"},
    {"--solve", "--num-ipus=2", "--mem-per-tile=300000", "--solver=popliner"},
    {"--solve", "--num-ipus=4", "--layer-order=natural", "--layer-name-regex=(.)$"},
    {"--solve", "--mem-per-tile=1"},
    {"--solve", "--mem-per-tile=1", "--format=json"},
    {"--solve", "--num-ipus=3", "--format=json"},
    {"--solve", "--num-ipus=3", "--format=json", "--layer-order=natural"},
    {"--solve", "--num-ipus=3", "--format=json", "--memory-model=popliner"},
    {"--solve", "--num-ipus=3", "--format=json", "--schedule=inference",
     "--objective=memory,balance"},
    {"--solve", "--num-ipus=3", "--format=json", "--schedule=popart"},
    {"--solve", "--num-ipus=3", "--format=json", "--schedule=popart", "--recompute=full"},
    {"--solve", "--num-ipus=3", "--format=json", "--schedule=popart", "--mem-per-tile=100000"},
    {"--solve", "--num-ipus=3", "--schedule=popart", "--mem-per-tile=1"},
    {"--solve", "--device-map=1,0", "--format=json", "--schedule=popart"},
    {"--solve", "--device-map=0,1,0", "--format=json"},
    {"--solve", "--num-ipus=1..3", "--reserve=gaps"},
    {"--solve", "--num-ipus=1..3", "--schedule=popart", "--format=json"},
    {"--solve", "--num-ipus=3", "--evaluate=whole", "--reserve=2%"},
    {"--solve", "--device-map=0,1", "--schedule=popart", "--require=layers:..1", "--format=json"},
    {"--solve", "--device-map=0,1,0", "--schedule=popart", "--require=place:0=1", "--format=json"},
};

/* Runs the command over `first` (and `second`) with the given options before them. */
static void run_over(command_run *result, const char *const *options, const char *first,
                     const char *second) {
    const char *arguments[MOST_OPTIONS + 4] = {NULL};
    size_t count = 0;
    for (; count < MOST_OPTIONS && options[count] != NULL; count++)
        arguments[count] = options[count];
    arguments[count++] = "-q";
    arguments[count++] = first;
    arguments[count] = second;
    run_command(result, arguments);
}

static void assert_same_prints(const char *profile, const char *debug, const char *stored) {
    for (size_t i = 0; i < sizeof prints / sizeof *prints; i++) {
        if (!test_takes_case(i, 8))
            continue;
        run_over(&run, prints[i], profile, debug);
        run_over(&loaded, prints[i], "--load-from-file", stored);
        assert_true(run.status == 0 || run.status == 1);
        assert_int_equal(loaded.status, run.status);
        assert_true(run.out_size > 0);
        assert_string_equal(loaded.out, run.out);
    }
}

static void stored_analyses_print_the_same(void **state) {
    (void)state;
    static const char *const cases[] = {"popart-inf", "popart-train-outline",
                                        "poptorch-train-outline", "tensorflow-inf"};
    const char *stored = in_scratch("stored");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char profile[500];
        char debug[500];
        if (!test_takes_case(i, 4))
            continue;
        snprintf(profile, sizeof profile, GOLDEN_DIRECTORY "%s/profile.pop", cases[i]);
        snprintf(debug, sizeof debug, GOLDEN_DIRECTORY "%s/debug.cbor", cases[i]);
        /* the second one replaces the first */
        RUN(&run, profile, debug, "--save-to-file", stored, "-q");
        assert_int_equal(run.status, 0);
        assert_string_equal(run.out, "");
        assert_is_log(&run);
        assert_holds(in_scratch(""), "stored");
        assert_same_prints(profile, debug, stored);
    }
}

/* Storing in PopLiner's model, too. */
static void analyses_of_either_model_serve_both(void **state) {
    (void)state;
    const char *stored = in_scratch("stored");
    RUN(&run, CASE_PROFILE, "--save-to-file", stored, "--memory-model=popliner", "-q");
    assert_int_equal(run.status, 0);
    assert_same_prints(CASE_PROFILE, CASE_DEBUG, stored);
}

/* The same lines behind the time. */
static void assert_same_log(const command_run *a, const command_run *b) {
    enum { TIME = 8 };
    const char *left = a->err;
    const char *right = b->err;
    while (*left != '\0' && *right != '\0') {
        size_t length = strcspn(left, "\n") + 1;
        assert_int_equal(strcspn(right, "\n") + 1, length);
        assert_true(length > TIME);
        assert_memory_equal(left + TIME, right + TIME, length - TIME);
        left += length;
        right += length;
    }
    assert_true(*left == '\0' && *right == '\0');
}

/* What was stored for one schedule serves no other that frees less. */
static void each_schedule_has_stages_of_its_own(void **state) {
    (void)state;
    static const char *const asked[][MOST_OPTIONS] = {
        {"--solve", "--num-ipus=2", "--mem-per-tile=20M", "--schedule=popart"},
        {"--solve", "--num-ipus=2", "--mem-per-tile=20M", "--schedule=tf-grouped"},
        {"--solve", "--num-ipus=2", "--mem-per-tile=20M", "--schedule=tf-interleaved"},
        {"--solve", "--num-ipus=2", "--mem-per-tile=20M", "--schedule=1f1b"},
    };
    const char *stored = in_scratch("stored");
    const char *profile = GOLDEN_DIRECTORY "popart-train/profile.pop";
    const char *debug = GOLDEN_DIRECTORY "popart-train/debug.cbor";
    RUN(&run, profile, debug, "--save-to-file", stored, "-q");
    assert_int_equal(run.status, 0);
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
        run_over(&run, asked[i], profile, debug);
        run_over(&loaded, asked[i], "--load-from-file", stored);
        assert_int_equal(loaded.status, run.status);
        assert_string_equal(loaded.out, run.out);
    }
}

/* What was measured when the analysis was stored is not measured again: the variables may even be
 * missing. */
static void solving_again_needs_no_variables(void **state) {
    (void)state;
    static const char *const usual[][MOST_OPTIONS] = {
        {"--solve", "--format=json"},
        {"--solve", "--format=json", "--num-ipus=2", "--objective=traffic,memory"},
        {"--solve", "--format=json", "--mem-per-tile=1"},
        {"--solve", "--format=json", "--schedule=popart"},
        {"--solve", "--format=json", "--schedule=popart", "--recompute=full"},
        {"--solve", "--format=json", "--schedule=popart", "--mem-per-tile=1"},
        {"--solve", "--num-ipus=1..4"},
    };
    const char *stored = in_scratch("stored");
    char profile[500];
    char debug[500];
    snprintf(profile, sizeof profile, GOLDEN_DIRECTORY "popart-train-outline/profile.pop");
    snprintf(debug, sizeof debug, GOLDEN_DIRECTORY "popart-train-outline/debug.cbor");
    RUN(&run, profile, debug, "--save-to-file", stored, "-q");
    assert_int_equal(run.status, 0);
    change_database(stored, "DELETE FROM arrays WHERE name LIKE 'variable%'");
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++) {
        run_over(&run, usual[i], profile, debug);
        run_over(&loaded, usual[i], "--load-from-file", stored);
        assert_int_equal(loaded.status, run.status);
        assert_true(run.out_size > 0);
        assert_string_equal(loaded.out, run.out);
        assert_same_log(&loaded, &run);
    }
    /* without a backward pass it does not matter what is recomputed */
    RUN(&run, CASE_PROFILE, CASE_DEBUG, "--save-to-file", stored, "-q");
    change_database(stored, "DELETE FROM arrays WHERE name LIKE 'variable%'");
    RUN(&loaded, stored, "--load-from-file", "--solve", "--schedule=popart", "--recompute=full",
        "-q");
    assert_int_equal(loaded.status, 0);
    RUN(&run, CASE_PROFILE, CASE_DEBUG, "--solve", "-q");
    assert_int_equal(run.status, 0);
    assert_true(run.out_size > 0 && loaded.out_size > run.out_size); /* a stash, of nothing */
    RUN(&run, profile, debug, "--save-to-file", stored, "-q");
    change_database(stored, "DELETE FROM arrays WHERE name LIKE 'variable%'");
    /* other layers, stages on one IPU, and tables do need them */
    RUN(&run, stored, "--load-from-file", "--solve", "--layer-name-regex=^(.)", "-q");
    assert_refused(&run, 3, "is damaged (variable_size_bytes)");
    RUN(&run, stored, "--load-from-file", "--solve", "--device-map=0,1,0", "-q");
    assert_refused(&run, 3, "is damaged (variable_size_bytes)");
    RUN(&run, stored, "--load-from-file", "--memory-totals", "-q");
    assert_refused(&run, 3, "is damaged (variable_size_bytes)");
    /* and damage to what was measured is found, too */
    RUN(&run, profile, debug, "--save-to-file", stored, "-q");
    change_database(stored, "UPDATE arrays SET bytes = zeroblob(length(bytes)) "
                            "WHERE name = 'stages/0/expected_tiles'");
    RUN(&run, stored, "--load-from-file", "--solve", "-q");
    assert_refused(&run, 3, "is damaged (stages/0/expected_tiles)");
}

/* The usual questions of every schedule, and others, are answered alike from a stored analysis; the
 * first of them without variables. */
static void every_schedule_is_answered_alike(void **state) {
    (void)state;
    enum { WITHOUT_VARIABLES = 8 };
    static const char *const questions[][MOST_OPTIONS] = {
        {"--solve", "--format=json", "--schedule=none"},
        {"--solve", "--format=json", "--schedule=inference"},
        {"--solve", "--format=json", "--schedule=popart", "--num-ipus=3"},
        {"--solve", "--format=json", "--schedule=tf-grouped", "--recompute=full"},
        {"--solve", "--format=json", "--schedule=popart", "--need=at-most"},
        {"--solve", "--format=json", "--schedule=popart", "--need=at-least"},
        {"--solve", "--format=json", "--need=at-most", "--mem-per-tile=30000"},
        {"--solve", "--format=json", "--need=at-least", "--mem-per-tile=30000"},
        /* measured when they are asked */
        {"--solve", "--format=json", "--schedule=tf-grouped", "--num-ipus=3"},
        {"--solve", "--format=json", "--schedule=tf-interleaved", "--num-ipus=3"},
        {"--solve", "--format=json", "--schedule=sequential", "--num-ipus=3"},
        {"--solve", "--format=json", "--effects=accumulators"},
        {"--solve", "--format=json", "--effects=layout,accumulators", "--schedule=popart"},
        {"--solve", "--format=json", "--effects=passing,buffers,accumulators",
         "--schedule=tf-grouped"},
        {"--solve", "--format=json", "--effects=all,accumulators=fp32", "--schedule=popart"},
        {"--solve", "--format=json", "--schedule=popart", "--recompute=standard"},
        {"--solve", "--format=json", "--reserve=1000", "--schedule=popart", "--need=at-most"},
        {"--evaluate=0", "--format=json", "--schedule=popart"},
        {"--evaluate=0", "--format=json", "--effects=buffers,accumulators",
         "--schedule=tf-grouped"},
    };
    static const char *const cases[] = {"popart-train-outline", "popart-train", "tensorflow-inf",
                                        "tensorflow-train", "poptorch-train-outline"};
    const char *stored = in_scratch("stored");
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        char profile[500];
        char debug[500];
        if (!test_takes_case(k, 5))
            continue;
        snprintf(profile, sizeof profile, GOLDEN_DIRECTORY "%s/profile.pop", cases[k]);
        snprintf(debug, sizeof debug, GOLDEN_DIRECTORY "%s/debug.cbor", cases[k]);
        RUN(&run, profile, debug, "--save-to-file", stored, "-q");
        assert_int_equal(run.status, 0);
        for (size_t i = sizeof questions / sizeof *questions; i-- > 0;) {
            if (i + 1 == WITHOUT_VARIABLES)
                change_database(stored, "DELETE FROM arrays WHERE name LIKE 'variable%'");
            if (strncmp(cases[k], "popart", 6) != 0 && strncmp(questions[i][0], "--ev", 4) == 0)
                continue; /* its layers have other names */
            run_over(&run, questions[i], profile, debug);
            run_over(&loaded, questions[i], "--load-from-file", stored);
            assert_true(run.status == 0 || run.status == 1);
            assert_int_equal(loaded.status, run.status);
            assert_true(run.out_size > 0);
            assert_string_equal(loaded.out, run.out);
            assert_same_log(&loaded, &run);
        }
        /* those of a pipeline that nothing was stored for do need the variables */
        if (strstr(cases[k], "train") == NULL)
            continue;
        static const char *const others[] = {"--effects=accumulators=fp32"};
        for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
            RUN(&run, stored, "--load-from-file", "--solve", "--schedule=popart", others[i], "-q");
            /* there may be a warning of the layers before */
            assert_int_equal(run.status, 3);
            assert_string_equal(run.out, "");
            assert_contains(run.err, "is damaged (variable_size_bytes)");
        }
    }
}

static void stored_analyses_need_no_profile(void **state) {
    (void)state;
    const char *profile = in_scratch("profile.pop");
    const char *stored = in_scratch("stored");
    copy_file(CASE_PROFILE, profile, SIZE_MAX);
    /* nor debug information, as there was none */
    RUN(&run, profile, "--save-to-file", stored, "--layer-breakdown", "--operation-breakdown");
    assert_int_equal(run.status, 0);
    assert_int_equal(remove(profile), 0);
    RUN(&loaded, stored, "--load-from-file", "--layer-breakdown", "--operation-breakdown", "-q");
    assert_int_equal(loaded.status, 0);
    assert_string_equal(loaded.out, run.out);
    /* and can be stored again, over themselves */
    RUN(&loaded, stored, "--load-from-file", "--save-to-file", stored, "-q");
    assert_int_equal(loaded.status, 0);
    RUN(&loaded, stored, "--load-from-file", "--layer-breakdown", "--operation-breakdown", "-q");
    assert_string_equal(loaded.out, run.out);
    assert_holds(in_scratch(""), "stored");
}

static void storing_goes_with_other_actions(void **state) {
    (void)state;
    RUN(&run, CASE_PROFILE, "--memory-totals", "--solve");
    RUN(&loaded, CASE_PROFILE, "--memory-totals", "--save-to-file", in_scratch("stored"),
        "--solve");
    assert_int_equal(loaded.status, 0);
    assert_string_equal(loaded.out, run.out);
    assert_is_log(&loaded);
    /* no split, and stored all the same */
    RUN(&loaded, CASE_PROFILE, "--solve", "--mem-per-tile=1", "--save-to-file",
        in_scratch("other"));
    assert_int_equal(loaded.status, 1);
    assert_holds(in_scratch(""), "other stored");
}

static void refuses_what_is_no_stored_analysis(void **state) {
    (void)state;
    const char *file = in_scratch("file");
    RUN(&run, file, "--load-from-file", "--solve");
    assert_refused(&run, 3, "file: no such file");
    test_write_bytes(file, "", 0);
    RUN(&run, file, "--load-from-file", "--solve");
    assert_refused(&run, 3, "file: is empty, expected a stored analysis");
    test_write_bytes(file, "hello\n", 6);
    RUN(&run, file, "--load-from-file", "--solve");
    assert_refused(&run, 3, "expected a stored analysis");
    RUN(&run, CASE_PROFILE, "--load-from-file", "--solve");
    assert_refused(
        &run, 3,
        "profile.pop: is not a stored analysis; only files written by --output analysis=FILE can "
        "be loaded");
    RUN(&run, CASE_DIRECTORY, "--load-from-file", "--solve");
    assert_refused(&run, 3, "is a directory, expected a stored analysis");
    remove(file);
    change_database(file, "CREATE TABLE people (name TEXT)");
    RUN(&run, file, "--load-from-file", "--solve");
    assert_refused(&run, 3,
                   "is not a stored analysis; only files written by --output analysis=FILE");
    /* its content says that it is one */
    RUN(&run, CASE_PROFILE, "--save-to-file", in_scratch("stored"), "-q");
    assert_int_equal(run.status, 0);
    RUN(&loaded, in_scratch("stored"), "--load-from-file", "--solve", "-q");
    RUN(&run, in_scratch("stored"), "--solve", "-q");
    assert_int_equal(run.status, 0);
    assert_string_equal(run.out, loaded.out);
    RUN(&run, in_scratch("stored"), CASE_DEBUG, "--load-from-file", "--solve");
    assert_refused(&run, 2, "a stored analysis needs no debug information");
    RUN(&run, in_scratch("stored"), "B", "--solve");
    assert_refused(&run, 2,
                   "stored: is a stored analysis, which has no second file; leave out B, or to "
                   "compare, write --compare B\n");
    change_database(in_scratch("stored"), "PRAGMA user_version = 77");
    RUN(&run, in_scratch("stored"), "--load-from-file", "--solve");
    assert_refused(&run, 3, "format 77");
}

static void refuses_cut_off_analyses(void **state) {
    (void)state;
    struct stat info;
    RUN(&run, CASE_PROFILE, "--save-to-file", in_scratch("stored"), "-q");
    assert_int_equal(stat(in_scratch("stored"), &info), 0);
    for (size_t part = 0; part < 8; part++) {
        size_t size = part == 0 ? 90 : (size_t)info.st_size / 8 * part;
        copy_file(in_scratch("stored"), in_scratch("cut"), size);
        RUN(&run, in_scratch("cut"), "--load-from-file", "--layer-breakdown");
        assert_refused(&run, 3, "cut: ");
    }
}

static void a_damaged_analysis_never_prints_anything_else(void **state) {
    (void)state;
    enum { STRIDE = 12007 };
    size_t size;
    size_t refused = 0;
    size_t tried = 0;
    RUN(&run, CASE_PROFILE, "--save-to-file", in_scratch("stored"), "-q", "--solve",
        "--operation-breakdown", "--memory-totals");
    assert_int_equal(run.status, 0);
    uint8_t *bytes = test_read_bytes(in_scratch("stored"), &size);
    for (size_t offset = 30; offset < size; offset += STRIDE, tried++) {
        bytes[offset] ^= 0x10;
        test_write_bytes(in_scratch("damaged"), bytes, size);
        bytes[offset] ^= 0x10;
        RUN(&loaded, in_scratch("damaged"), "--load-from-file", "-q", "--solve",
            "--operation-breakdown", "--memory-totals");
        if (loaded.status == 0) {
            assert_string_equal(loaded.out, run.out); /* the byte is part of nothing */
        } else {
            assert_refused(&loaded, 3, "damaged: ");
            refused++;
        }
    }
    free(bytes);
    assert_true(refused > tried / 4);
}

static void refuses_places_that_cannot_hold_an_analysis(void **state) {
    (void)state;
    make_directory(in_scratch("run"));
    copy_file(CASE_PROFILE, in_scratch("run/profile.pop"), SIZE_MAX);
    copy_file(CASE_DEBUG, in_scratch("run/debug.cbor"), SIZE_MAX);
    RUN(&run, in_scratch("run"), "--layer-breakdown", "--save-to-file",
        in_scratch("missing/stored"));
    assert_refused(&run, 3, "missing/stored");
    assert_contains(run.err, "No such file or directory");
    RUN(&run, in_scratch("run"), "--layer-breakdown", "--save-to-file",
        in_scratch("run/profile.pop/stored"));
    assert_refused(&run, 3, "run/profile.pop/stored");
    RUN(&run, in_scratch("run"), "--layer-breakdown", "--save-to-file", in_scratch("run"));
    assert_refused(&run, 3, "run: is a directory");
    if (geteuid() != 0) { /* root may write anywhere */
        assert_int_equal(chmod(in_scratch("run"), 0555), 0);
        RUN(&run, in_scratch("run"), "--layer-breakdown", "--save-to-file",
            in_scratch("run/stored"));
        assert_refused(&run, 3, "run: Permission denied");
        assert_int_equal(chmod(in_scratch("run"), 0755), 0);
    }
    struct stat before;
    struct stat after;
    assert_int_equal(stat("/dev/null", &before), 0);
    RUN(&run, in_scratch("run"), "--layer-breakdown", "--save-to-file=/dev/null");
    assert_refused(&run, 3, "/dev/null: is no regular file");
    assert_int_equal(stat("/dev/null", &after), 0);
    assert_true(S_ISCHR(after.st_mode) && before.st_ino == after.st_ino);
    assert_holds(in_scratch(""), "run");
    assert_holds(in_scratch("run"), "debug.cbor profile.pop");
}

static void writes_one_thing_into_a_file(void **state) {
    (void)state;
    const char *path = in_scratch("both");
    RUN(&run, CASE_PROFILE, CASE_DEBUG, "--save-to-file", path, "--solve", "--output",
        output_into("lp", path));
    assert_refused(&run, 2, ": is the file of --output ");
    RUN(&run, CASE_PROFILE, CASE_DEBUG, "--save-to-file", path, "--solve", "--output",
        output_into("mps", path));
    assert_refused(&run, 2, ": is the file of --output ");
    assert_holds(in_scratch(""), "");
}

static void never_overwrites_what_it_reads(void **state) {
    (void)state;
    copy_file(CASE_PROFILE, in_scratch("profile.pop"), SIZE_MAX);
    copy_file(CASE_DEBUG, in_scratch("debug.cbor"), SIZE_MAX);
    RUN(&run, in_scratch("profile.pop"), "--save-to-file", in_scratch("profile.pop"));
    assert_refused(&run, 2, "would overwrite the profile");
    RUN(&run, in_scratch(""), "--save-to-file", in_scratch("./profile.pop"));
    assert_refused(&run, 2, "would overwrite the profile");
    RUN(&run, in_scratch(""), "--save-to-file", in_scratch("debug.cbor"));
    assert_refused(&run, 2, "would overwrite the debug information");
    assert_true(hash_file(in_scratch("profile.pop")) == hash_file(CASE_PROFILE));
    assert_true(hash_file(in_scratch("debug.cbor")) == hash_file(CASE_DEBUG));
    assert_holds(in_scratch(""), "debug.cbor profile.pop");
}

/* SQLite would take what is written there for a part of the profile. */
static void never_writes_beside_a_profile_what_belongs_to_it(void **state) {
    static const char *const names[] = {"profile.pop-wal", "profile.pop-journal",
                                        "profile.pop-shm"};
    (void)state;
    copy_file(CASE_PROFILE, in_scratch("profile.pop"), SIZE_MAX);
    copy_file(CASE_DEBUG, in_scratch("debug.cbor"), SIZE_MAX);
    make_directory(in_scratch("other"));
    assert_int_equal(symlink("../profile.pop", in_scratch("other/link.pop")), 0);
    for (size_t i = 0; i < 3; i++) {
        char section[100];
        char *path = strdup(in_scratch(names[i]));
        snprintf(section, sizeof section, "tiles=%s", path);
        RUN(&run, in_scratch(""), "--save-to-file", path);
        assert_refused(&run, 2, "would be taken for a part of");
        RUN(&run, in_scratch("other/link.pop"), "--save-to-file", path);
        assert_refused(&run, 2, "would be taken for a part of");
        RUN(&run, in_scratch(""), "--output", section);
        assert_refused(&run, 2, "would be taken for a part of");
        RUN(&run, in_scratch(""), "--solve", "--num-ipus=2", "--output", output_into("lp", path));
        assert_refused(&run, 2, "would be taken for a part of");
        free(path);
    }
    assert_holds(in_scratch(""), "debug.cbor other profile.pop");
    /* beside any other database, too, and by a link */
    assert_int_equal(symlink("../profile.pop-journal", in_scratch("other/late")), 0);
    RUN(&run, CASE_PROFILE, "--save-to-file", in_scratch("profile.pop-journal"));
    assert_refused(&run, 2, "would be taken for a part of");
    RUN(&run, CASE_PROFILE, "--output", output_into("page", in_scratch("other/late")));
    assert_refused(&run, 2, "would be taken for a part of");
    /* of the same name elsewhere it is nothing special */
    RUN(&run, in_scratch(""), "-q", "--save-to-file", in_scratch("other/profile.pop-wal"));
    assert_int_equal(run.status, 0);
}

/* The same for integer programs, and their links and modes. */
static void programs_survive_a_full_disk(void) {
    static const char *const outputs[] = {"lp", "mps"};
    const char *costs = PROJECT_DIRECTORY "/data/costs/regions.json";
    struct rlimit before;
    struct stat info;
    char *path = strdup(in_scratch("program"));
    char *link = strdup(in_scratch("link"));
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    const struct rlimit little = {.rlim_cur = 300, .rlim_max = before.rlim_max};
    assert_int_equal(symlink("program", link), 0);
    for (size_t i = 0; i < 2; i++) {
        test_write_bytes(path, "earlier", 7);
        assert_int_equal(chmod(path, 0604), 0);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &little), 0);
        RUN(&run, costs, "-q", "--solve", "--num-ipus=2", "--output",
            output_into(outputs[i], link));
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
        assert_int_equal(run.status, 3);
        size_t size;
        uint8_t *bytes = test_read_bytes(path, &size);
        assert_int_equal(size, 7);
        assert_memory_equal(bytes, "earlier", 7);
        free(bytes);
        RUN(&run, costs, "-q", "--solve", "--num-ipus=2", "--output",
            output_into(outputs[i], link));
        assert_int_equal(run.status, 0);
        assert_int_equal(lstat(path, &info), 0);
        assert_true(S_ISREG(info.st_mode));
        assert_int_equal(info.st_mode & 07777, 0604);
        assert_true(info.st_size > 300);
        assert_int_equal(lstat(link, &info), 0);
        assert_true(S_ISLNK(info.st_mode));
    }
    assert_int_equal(unlink(link), 0);
    assert_int_equal(unlink(path), 0);
    free(link);
    free(path);
}

/* A file that may not grow stands for a disk that is full. */
static void a_full_disk_leaves_the_earlier_file(void **state) {
    (void)state;
    struct rlimit before;
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    struct sigaction kept;
    test_write_bytes(in_scratch("stored"), "earlier", 7);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(sigaction(SIGXFSZ, &ignore, &kept), 0);
    struct rlimit little = {.rlim_cur = 100000, .rlim_max = before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &little), 0);
    RUN(&run, CASE_PROFILE, "--save-to-file", in_scratch("stored"), "-q");
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_refused(&run, 3, "cannot be written");
    assert_holds(in_scratch(""), "stored");
    programs_survive_a_full_disk();
    assert_int_equal(sigaction(SIGXFSZ, &kept, NULL), 0);
    assert_holds(in_scratch(""), "stored");
    size_t size;
    uint8_t *bytes = test_read_bytes(in_scratch("stored"), &size);
    assert_int_equal(size, 7);
    free(bytes);
}

static void failures_leave_no_analysis(void **state) {
    (void)state;
    const char *stored = in_scratch("stored");
    RUN(&run, in_scratch("missing"), "--save-to-file", stored);
    assert_refused(&run, 3, "missing: no such file");
    copy_file(CASE_PROFILE, in_scratch("profile.pop"), 500000);
    RUN(&run, in_scratch("profile.pop"), "--save-to-file", stored);
    assert_int_equal(run.status, 3);
    RUN(&run, CASE_PROFILE, "--save-to-file", stored, "--layer-name-regex=(");
    assert_int_equal(run.status, 2);
    assert_holds(in_scratch(""), "profile.pop");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        SCRATCH_TEST(stored_analyses_print_the_same),
        SCRATCH_TEST(analyses_of_either_model_serve_both),
        SCRATCH_TEST(each_schedule_has_stages_of_its_own),
        SCRATCH_TEST(solving_again_needs_no_variables),
        SCRATCH_TEST(every_schedule_is_answered_alike),
        SCRATCH_TEST(stored_analyses_need_no_profile),
        SCRATCH_TEST(storing_goes_with_other_actions),
        SCRATCH_TEST(refuses_what_is_no_stored_analysis),
        SCRATCH_TEST(refuses_cut_off_analyses),
        SCRATCH_TEST(a_damaged_analysis_never_prints_anything_else),
        SCRATCH_TEST(refuses_places_that_cannot_hold_an_analysis),
        SCRATCH_TEST(writes_one_thing_into_a_file),
        SCRATCH_TEST(never_overwrites_what_it_reads),
        SCRATCH_TEST(never_writes_beside_a_profile_what_belongs_to_it),
        SCRATCH_TEST(a_full_disk_leaves_the_earlier_file),
        SCRATCH_TEST(failures_leave_no_analysis),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
