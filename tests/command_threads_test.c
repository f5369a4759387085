/* The command with several threads: for any number of them it prints, logs, stores and writes the
 * same, and ends with the same status. Built with the thread sanitizer, every run of it is a search
 * for races, too.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "command_run.h"
#include "made_profile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The first is what the others are compared with. */
static const char *const thread_options[] = {"--threads=1", "--threads=2", "--threads=4",
                                             "--threads=7"};

enum { NUM_THREAD_OPTIONS = sizeof thread_options / sizeof *thread_options };

enum { MOST_OPTIONS = 8, MOST_ARGUMENTS = 2 * MOST_OPTIONS };

/* What is asked: a run of the command. */
typedef struct question {
    bool stores;      /* the analysis */
    bool writes;      /* the integer program: it holds the memory of every stage that is possible,
                       * the answer only that of its own */
    bool asks_stored; /* also the analysis that was stored, for the same answer */
    const char *options[MOST_OPTIONS];
} question;

/* A run does several things where it can, because each has to read the profile first. The one that
 * stores comes first; what --evaluate evaluates depends on the profile. */
static const question questions[] = {
    {true, true, false, {"--solve", "--num-ipus=3", "--format=json"}},
    {false,
     true,
     false,
     {"--solve", "--num-ipus=3", "--memory-model=popliner", "--layer-breakdown",
      "--operation-breakdown", "--memory-totals", "--memory-affinity",
      "--interlayer-communication"}},
    {false, false, true, {"--solve", "--num-ipus=3", "--schedule=popart", "--format=json"}},
    {false,
     true,
     false,
     {"--solve", "--device-map=0,1,2", "--schedule=popart", "--require=layers:0..",
      "--effects=none"}},
    {false, false, false, {"--diagnose"}},
    {false, false, false, {"--evaluate"}},
};

enum { NUM_QUESTIONS = sizeof questions / sizeof *questions };

/* What is asked about. */
typedef struct subject {
    const char *name;
    const char *profile;
    const char *debug;
    const char *split;                 /* for --evaluate */
    const char *options[MOST_OPTIONS]; /* of all questions */
    bool is_too_large;                 /* no split fits */
    bool tries_default;                /* without --threads, too: a thread for each processor */
} subject;

typedef struct answer {
    command_run run;
    char question[2000]; /* the arguments, for messages */
    uint8_t *stored;     /* owned; NULL for none */
    size_t stored_size;
    uint8_t *program; /* owned; NULL for none */
    size_t program_size;
} answer;

static answer first;
static answer other;

/* ---- Asking --------------------------------------------------------------------------------- */

static size_t add(const char **arguments, size_t count, const char *argument) {
    assert_true(count < MOST_ARGUMENTS);
    arguments[count] = argument;
    return count + 1;
}

static size_t add_all(const char **arguments, size_t count, const char *const *options) {
    for (size_t i = 0; i < MOST_OPTIONS && options[i] != NULL; i++)
        count = add(arguments, count, options[i]);
    return count;
}

static void note_question(answer *a, const subject *s, const char *const *arguments) {
    int length = snprintf(a->question, sizeof a->question, "%s:", s->name);
    for (; *arguments != NULL && length < (int)sizeof a->question; arguments++)
        length +=
            snprintf(a->question + length, sizeof a->question - (size_t)length, " %s", *arguments);
}

/* The bytes of a file; NULL if there is none. */
static uint8_t *read_if_there(const char *path, size_t *size) {
    return access(path, R_OK) == 0 ? test_read_bytes(path, size) : NULL;
}

static void clear(answer *a) {
    free(a->stored);
    free(a->program);
    a->stored = NULL;
    a->stored_size = 0;
    a->program = NULL;
    a->program_size = 0;
}

/* Takes the times of day out of a log. */
static void blank_times(char *log) {
    for (; *log != '\0'; log += strcspn(log, "\n") + 1)
        memset(log, '-', strlen("hh:mm:ss"));
}

/* Asks about the profile of a subject, or about the analysis of it that was stored. The option may
 * be NULL. */
static void ask(answer *a, const subject *s, const question *q, bool of_stored,
                const char *thread_option) {
    const char *arguments[MOST_ARGUMENTS + 1] = {NULL};
    const char *stored = in_scratch("stored.popliner");
    const char *program = in_scratch("program.lp");
    size_t count = add_all(arguments, 0, q->options);
    if (strcmp(arguments[count - 1], "--evaluate") == 0)
        count = add(arguments, count, s->split);
    if (strcmp(q->options[0], "--diagnose") != 0) /* which needs none */
        count = add_all(arguments, count, s->options);
    if (q->stores) {
        count = add(arguments, count, "--save-to-file");
        count = add(arguments, count, stored);
        unlink(stored);
    }
    if (q->writes && test_has_glpk()) {
        count = add(arguments, count, "--output");
        count = add(arguments, count, output_into("lp", program));
        unlink(program);
    }
    count = add(arguments, count, of_stored ? "--load-from-file" : s->profile);
    count = add(arguments, count, of_stored ? stored : s->debug);
    if (thread_option != NULL)
        add(arguments, count, thread_option);

    clear(a);
    note_question(a, s, arguments);
    run_command(&a->run, arguments);
    /* A sanitizer ends a run with a status of its own, that of threads with 66; and what it reports
     * is no log. */
    if (a->run.status != 0 && a->run.status != 1)
        fail_msg("%s: exit status %d: %s", a->question, a->run.status, a->run.err);
    assert_is_log(&a->run);
    blank_times(a->run.err);
    assert_true(a->run.out_size > 0);
    bool is_written = q->writes && !s->is_too_large && test_has_glpk();
    a->stored = q->stores ? read_if_there(stored, &a->stored_size) : NULL;
    a->program = q->writes ? read_if_there(program, &a->program_size) : NULL;
    if ((a->stored != NULL) != q->stores || (a->program != NULL) != is_written)
        fail_msg("%s: not the files that were expected: %s", a->question, a->run.err);
}

/* ---- Comparing ------------------------------------------------------------------------------ */

/* Fails with the first line in which two texts differ. */
static void assert_same_text(const char *what, const char *actual, const char *expected) {
    for (size_t line = 1;; line++) {
        size_t length = strcspn(actual, "\n");
        size_t expected_length = strcspn(expected, "\n");
        if (length != expected_length || memcmp(actual, expected, length + 1) != 0)
            fail_msg("%s: line %zu of %s is '%.*s' instead of '%.*s'", other.question, line, what,
                     (int)length, actual, (int)expected_length, expected);
        if (actual[length] == '\0')
            return;
        actual += length + 1;
        expected += length + 1;
    }
}

static void assert_same_bytes(const char *what, const uint8_t *actual, size_t size,
                              const uint8_t *expected, size_t expected_size) {
    if (size != expected_size)
        fail_msg("%s: %s has %zu bytes instead of %zu", other.question, what, size, expected_size);
    for (size_t i = 0; i < size; i++) {
        if (actual[i] != expected[i])
            fail_msg("%s: byte %zu of %s is %u instead of %u", other.question, i, what, actual[i],
                     expected[i]);
    }
}

static void assert_same_answers(void) {
    assert_same_text("the output", other.run.out, first.run.out);
    assert_int_equal(other.run.out_size, first.run.out_size);
    assert_same_text("the log", other.run.err, first.run.err);
    if (other.run.status != first.run.status)
        fail_msg("%s: exit status %d instead of %d", other.question, other.run.status,
                 first.run.status);
    assert_same_bytes("the stored analysis", other.stored, other.stored_size, first.stored,
                      first.stored_size);
    assert_same_bytes("the integer program", other.program, other.program_size, first.program,
                      first.program_size);
}

/* A stored analysis has none that need the profile. */
static void leave_out_hints(command_run *run) {
    char *begin = strstr(run->out, "\"hints\": [");
    const char *end = begin == NULL ? NULL : strstr(begin, "\n    ]");
    if (end != NULL)
        memmove(begin, end, strlen(end) + 1);
    run->out_size = strlen(run->out);
}

/* Asks everything about a subject with every number of threads. */
static void check(const subject *s) {
    for (size_t i = 0; i < NUM_QUESTIONS; i++) {
        const question *q = &questions[i];
        ask(&first, s, q, false, thread_options[0]);
        for (size_t t = 1; t < NUM_THREAD_OPTIONS; t++) {
            if (!test_takes_case(t, 6))
                continue;
            ask(&other, s, q, false, thread_options[t]);
            assert_same_answers();
        }
        if (s->tries_default) {
            ask(&other, s, q, false, NULL);
            assert_same_answers();
        }
        leave_out_hints(&first.run);
        for (size_t t = 0; t < NUM_THREAD_OPTIONS && q->asks_stored; t++) {
            if (!test_takes_case(t, 6))
                continue;
            ask(&other, s, q, true, thread_options[t]);
            leave_out_hints(&other.run);
            assert_same_answers();
        }
    }
    clear(&first);
    clear(&other);
}

/* ---- Subjects ------------------------------------------------------------------------------- */

static void check_golden_case(void *user, const test_golden_files *files) {
    (void)user;
    const subject s = {
        .name = files->name, .profile = files->profile, .debug = files->debug, .split = "0"};
    check(&s);
}

static void golden_cases_give_the_same(void **state) {
    (void)state;
    test_each_golden_case(check_golden_case, NULL);
}

static void the_sample_gives_the_same(void **state) {
    (void)state;
    char *profile = test_project_file("data/sample/profile.pop");
    char *debug = test_project_file("data/sample/debug.cbor");
    const subject s = {.name = "data/sample",
                       .profile = profile,
                       .debug = debug,
                       .split = "1",
                       .tries_default = true};
    check(&s);
    free(profile);
    free(debug);
}

/* It has no names of layers, but all tiles of an IPU. */
static void a_real_profile_gives_the_same(void **state) {
    (void)state;
    char *profile = test_firehose_file("profile.pop");
    char *debug = test_firehose_file("debug.cbor");
    bool is_there = profile != NULL && debug != NULL;
    const subject s = {.name = "firehose",
                       .profile = profile,
                       .debug = debug,
                       .split = "A|p",
                       .options = {"--layer-name-regex=^(.)"}};
    if (is_there)
        check(&s);
    free(profile);
    free(debug);
    if (!is_there)
        test_skip("its data is in ../shared alone");
}

/* The small cases keep few threads busy. These have more rows than seven threads take at a time
 * while they read (4,096 a piece), and more tiles than they need to measure (4 each). */
static void check_made(const char *name, const char *model, const char *const *options,
                       bool is_too_large) {
    char profile[1100];
    char debug[1100];
    const char *directory = in_scratch("made");
    make_profile(directory, "--preset bert-large --debug-arguments 100 %s", model);
    snprintf(profile, sizeof profile, "%s/profile.pop", directory);
    snprintf(debug, sizeof debug, "%s/debug.cbor", directory);
    subject s = {.name = name,
                 .profile = profile,
                 .debug = debug,
                 .split = "Head|1",
                 .is_too_large = is_too_large};
    for (size_t i = 0; options[i] != NULL; i++)
        s.options[i] = options[i];
    check(&s);
}

/* Nothing fits: everything is measured twice, first up to the limit, then beyond it. */
static void a_large_model_gives_the_same(void **state) {
    (void)state;
    check_made("large model", "--layers 4 --tiles 40", (const char *const[]){NULL}, true);
}

/* Shared functions, and passes whose activations are kept. The limit is just below what the stages
 * Head-1 and 0-1 need on their fullest tile, so that not every thread learns by itself that they do
 * not fit. */
static void a_training_gives_the_same(void **state) {
    (void)state;
    check_made("training",
               "--layers 3 --tiles 32 --training --outline --hidden 64 --sequence 32 "
               "--vocabulary 500",
               (const char *const[]){"--mem-per-tile=61080", NULL}, false);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        SCRATCH_TEST(golden_cases_give_the_same),    SCRATCH_TEST(the_sample_gives_the_same),
        SCRATCH_TEST(a_real_profile_gives_the_same), SCRATCH_TEST(a_large_model_gives_the_same),
        SCRATCH_TEST(a_training_gives_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
