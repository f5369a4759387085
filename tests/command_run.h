/* Runs the command as a user does, and looks at what it says, prints and leaves behind. Every test
 * has a directory of its own for files.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_TESTS_COMMAND_RUN_H
#define PL_TESTS_COMMAND_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "test_data.h"

#define GOLDEN_DIRECTORY PROJECT_DIRECTORY "/tests/golden/"

/* A case with few layers, and what it says. */
#define CASE_DIRECTORY GOLDEN_DIRECTORY "popart-inf"
#define CASE_PROFILE CASE_DIRECTORY "/profile.pop"
#define CASE_DEBUG CASE_DIRECTORY "/debug.cbor"

/* What a run came to. Zero-initialise. */
typedef struct command_run {
    int status; /* exit status, or -1 if a signal ended it */
    size_t out_size;
    char *out; /* standard output, NUL-terminated; overwritten by the next run, never freed */
    size_t out_room;
    char err[1 << 17]; /* standard error, NUL-terminated */
} command_run;

/* Runs the command with these arguments, which end with NULL. */
void run_command(command_run *run, const char *const *arguments);
#define RUN(run, ...) run_command(run, (const char *const[]){__VA_ARGS__, NULL})

/* The same, but standard input is the file `in_path`. */
void run_command_from(command_run *run, const char *in_path, const char *const *arguments);
#define RUN_FROM(run, in_path, ...)                                                                \
    run_command_from(run, in_path, (const char *const[]){__VA_ARGS__, NULL})

/* The same, but standard output is the file `out_path`, or closed if that is NULL. */
void run_command_into(command_run *run, const char *out_path, const char *const *arguments);
#define RUN_INTO(run, out_path, ...)                                                               \
    run_command_into(run, out_path, (const char *const[]){__VA_ARGS__, NULL})

/* The same, but standard error is a terminal, whose text is *err. */
void run_command_on_terminal(command_run *run, const char *const *arguments);
#define RUN_ON_TERMINAL(run, ...)                                                                  \
    run_command_on_terminal(run, (const char *const[]){__VA_ARGS__, NULL})

/* The same, but once it has logged the text `told`, and has worked for so many seconds of a
 * processor, it gets a signal: SIGINT as from Ctrl-C, or another one. */
void run_command_interrupted(command_run *run, int signal_number, const char *told, double seconds,
                             const char *const *arguments);

/* Set-up of a test: its directory. */
int make_scratch(void **state);
#define SCRATCH_TEST(test) cmocka_unit_test_setup_teardown(test, make_scratch, test_end_directory)

/* The path of a file in that directory; stands until ten more calls. */
const char *in_scratch(const char *name);

/* "WHAT=PATH", a value of --output; good for the next ten calls. */
const char *output_into(const char *what, const char *path);

/* Whether the directory, or one in it, holds these files and no others: names in alphabetical
 * order, separated by blanks. */
void assert_holds(const char *directory, const char *names);

void make_directory(const char *path);
/* Copies a file's first `size` bytes, or all. */
void copy_file(const char *from, const char *to, size_t size);

void assert_contains(const char *text, const char *part);

/* Standard error is a log: lines of time, level and message. */
void assert_is_log(const command_run *run);

/* The run ended with this status, printed nothing, and said one sentence that contains `part`. */
void assert_refused(const command_run *run, int status, const char *part);

#endif
