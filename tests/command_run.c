/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _XOPEN_SOURCE 700 /* terminals */
#include "command_run.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <regex.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "command/command.h"

enum { MOST_ARGUMENTS = 80, PATH_BYTES = 500 };

static char scratch[PATH_BYTES];

/* ---- Files ---------------------------------------------------------------------------------- */

int make_scratch(void **state) {
    int failed = test_begin_directory(state);
    snprintf(scratch, sizeof scratch, "%s", (const char *)*state);
    return failed;
}

const char *in_scratch(const char *name) {
    static char paths[10][PATH_BYTES * 2];
    static size_t next;
    char *path = paths[next++ % 10];
    snprintf(path, sizeof *paths, "%s/%s", scratch, name);
    return path;
}

const char *output_into(const char *what, const char *path) {
    static char values[10][PATH_BYTES * 2];
    static size_t next;
    char *value = values[next++ % 10];
    snprintf(value, sizeof *values, "%s=%s", what, path);
    return value;
}

static int is_shown(const struct dirent *entry) {
    return strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
}

void assert_holds(const char *directory, const char *names) {
    struct dirent **entries = NULL;
    char found[2000] = "";
    size_t length = 0;
    int count = scandir(directory, &entries, is_shown, alphasort);
    for (int i = 0; i < count; i++) {
        length += (size_t)snprintf(found + length, sizeof found - length, "%s%s", i > 0 ? " " : "",
                                   entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
    assert_true(count >= 0);
    assert_string_equal(found, names);
}

void make_directory(const char *path) {
    assert_int_equal(mkdir(path, 0777), 0);
}

void copy_file(const char *from, const char *to, size_t size) {
    size_t whole;
    uint8_t *bytes = test_read_bytes(from, &whole);
    test_write_bytes(to, bytes, size < whole ? size : whole);
    free(bytes);
}

/* ---- Running -------------------------------------------------------------------------------- */

/* Reads a file until its end, or until a terminal's other side is gone, and NUL-terminates. */
static size_t read_all(int file, char *text, size_t capacity) {
    size_t size = 0;
    for (;;) {
        assert_true(size < capacity);
        ssize_t more = read(file, text + size, capacity - size);
        if (more < 0 && errno == EINTR)
            continue;
        if (more <= 0)
            break;
        size += (size_t)more;
    }
    assert_true(size < capacity);
    text[size] = '\0';
    return size;
}

static void make_room(command_run *run, size_t size) {
    if (size <= run->out_room)
        return;
    run->out = realloc(run->out, size);
    run->out_room = size;
    assert_non_null(run->out);
}

/* What was printed into a file; how much that is may depend on how far a run came. */
static void take_output(command_run *run, int out) {
    const off_t size = lseek(out, 0, SEEK_END);
    assert_true(size >= 0);
    make_room(run, (size_t)size + 1);
    lseek(out, 0, SEEK_SET);
    run->out_size = read_all(out, run->out, run->out_room);
}

/* A file that is gone when it is closed. */
static int open_unnamed(void) {
    FILE *file = tmpfile();
    assert_non_null(file);
    int copy = dup(fileno(file));
    fclose(file);
    assert_true(copy >= 0);
    return copy;
}

/* Starts the command in a copy of this process; -1 for `out` closes standard output. Standard input
 * is a file, or ours. */
static pid_t start(const char *const *arguments, const char *in_path, int out, int err) {
    static const int met_by_cmocka[] = {SIGFPE, SIGILL, SIGSEGV, SIGBUS, SIGSYS};
    char *argv[MOST_ARGUMENTS] = {"popliner"};
    int count = 1;
    for (; arguments[count - 1] != NULL; count++) {
        assert_true(count < MOST_ARGUMENTS - 1);
        argv[count] = (char *)arguments[count - 1];
    }
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child > 0)
        return child;
    for (size_t i = 0; i < sizeof met_by_cmocka / sizeof *met_by_cmocka; i++)
        signal(met_by_cmocka[i], SIG_DFL);
    const int in = in_path == NULL ? STDIN_FILENO : open(in_path, O_RDONLY);
    if (in < 0 || dup2(in, STDIN_FILENO) < 0 || dup2(err, STDERR_FILENO) < 0 ||
        (out >= 0 ? dup2(out, STDOUT_FILENO) : close(STDOUT_FILENO)) < 0)
        _exit(127);
    exit(popliner_command(count, argv));
}

static int wait_for(pid_t child) {
    int status = 0;
    while (waitpid(child, &status, 0) < 0)
        assert_int_equal(errno, EINTR);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void read_log(int file, char *text, size_t size) {
    lseek(file, 0, SEEK_SET);
    read_all(file, text, size);
    if (strstr(text, "Sanitizer: ") != NULL || strstr(text, " runtime error: ") != NULL)
        fail_msg("%s", text);
}

static void run_with(command_run *run, const char *in_path, int out, const char *const *arguments) {
    int err = open_unnamed();
    run->status = wait_for(start(arguments, in_path, out, err));
    read_log(err, run->err, sizeof run->err);
    close(err);
}

void run_command(command_run *run, const char *const *arguments) {
    run_command_from(run, NULL, arguments);
}

void run_command_from(command_run *run, const char *in_path, const char *const *arguments) {
    int out = open_unnamed();
    run_with(run, in_path, out, arguments);
    take_output(run, out);
    close(out);
}

/* Whether a file holds a text by now. */
static bool holds(int file, const char *text) {
    char start[4096];
    ssize_t size = pread(file, start, sizeof start - 1, 0);
    start[size > 0 ? size : 0] = '\0';
    return strstr(start, text) != NULL;
}

/* How long a process has worked, or 0 once it has ended. */
static double work_of(pid_t process) {
    clockid_t clock;
    struct timespec time;
    if (clock_getcpuclockid(process, &clock) != 0 || clock_gettime(clock, &time) != 0)
        return 0;
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void pause_shortly(void) {
    nanosleep(&(struct timespec){0, 10000000}, NULL);
}

void run_command_interrupted(command_run *run, int signal_number, const char *told, double seconds,
                             const char *const *arguments) {
    int out = open_unnamed();
    int err = open_unnamed();
    pid_t child = start(arguments, NULL, out, err);
    for (int tries = 0; !holds(err, told); tries++) {
        assert_true(tries < 60000);
        pause_shortly();
    }
    const double start = work_of(child);
    for (double now = start; now > 0 && now < start + seconds; now = work_of(child))
        pause_shortly();
    kill(child, signal_number);
    run->status = wait_for(child);
    read_log(err, run->err, sizeof run->err);
    close(err);
    take_output(run, out);
    close(out);
}

void run_command_into(command_run *run, const char *out_path, const char *const *arguments) {
    int out = out_path == NULL ? -1 : open(out_path, O_WRONLY | O_CLOEXEC);
    assert_true(out_path == NULL || out >= 0);
    make_room(run, 1);
    run->out_size = 0;
    run->out[0] = '\0';
    run_with(run, NULL, out, arguments);
    if (out >= 0)
        close(out);
}

void run_command_on_terminal(command_run *run, const char *const *arguments) {
    int screen = posix_openpt(O_RDWR | O_NOCTTY);
    if (screen < 0 || grantpt(screen) != 0 || unlockpt(screen) != 0)
        test_skip("there are no terminals");
    int terminal = open(ptsname(screen), O_RDWR | O_NOCTTY | O_CLOEXEC);
    assert_true(terminal >= 0);
    assert_int_equal(fcntl(screen, F_SETFD, FD_CLOEXEC), 0);
    int out = open_unnamed();
    pid_t child = start(arguments, NULL, out, terminal);
    close(terminal);
    read_all(screen, run->err, sizeof run->err);
    run->status = wait_for(child);
    close(screen);
    take_output(run, out);
    close(out);
}

/* ---- What it says --------------------------------------------------------------------------- */

void assert_contains(const char *text, const char *part) {
    if (strstr(text, part) == NULL)
        fail_msg("'%s' is not in: %s", part, text);
}

void assert_is_log(const command_run *run) {
    regex_t line;
    assert_int_equal(regcomp(&line,
                             "^([0-9]{2}:[0-9]{2}:[0-9]{2} (INFO   |WARNING|ERROR  ) |"
                             "debug: |warning: |error: )?[^[:cntrl:]]+$",
                             REG_EXTENDED | REG_NOSUB),
                     0);
    static char rest[sizeof run->err];
    char *place = NULL;
    strcpy(rest, run->err);
    assert_true(*rest == '\0' || rest[strlen(rest) - 1] == '\n');
    for (char *text = strtok_r(rest, "\n", &place); text != NULL;
         text = strtok_r(NULL, "\n", &place)) {
        if (regexec(&line, text, 0, NULL, 0) != 0)
            fail_msg("no line of a log: %s", text);
    }
    regfree(&line);
}

void assert_refused(const command_run *run, int status, const char *part) {
    if (run->status != status)
        fail_msg("exit status %d instead of %d: %s", run->status, status, run->err);
    assert_is_log(run);
    assert_string_equal(run->out, "");
    assert_true(strncmp(run->err, "error: ", 7) == 0 ||
                strncmp(run->err + strcspn(run->err, " "), " ERROR   ", 9) == 0);
    assert_contains(run->err, part);
    /* one line: the first line end is the last character */
    assert_ptr_equal(strchr(run->err, '\n'), run->err + strlen(run->err) - 1);
}
