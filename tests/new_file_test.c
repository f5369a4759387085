/* Files that are written whole or not at all: links, modes, faults, writers at once, signals.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "test_data.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/new_file.h"
#include "popliner/utilities.h"

/* ---- What other functions do when they fail ------------------------------------------------- */

/* Errors that the next calls give; 0: none. */
static int fsync_fault;
static int close_fault;
static int rename_fault;
static int num_synced_files;
static int num_synced_then; /* when a file got its name */
static int signal_at_rename;

int __real_fsync(int file);
int __wrap_fsync(int file);
int __real_close(int file);
int __wrap_close(int file);
int __real_rename(const char *from, const char *to);
int __wrap_rename(const char *from, const char *to);

int __wrap_fsync(int file) {
    if (fsync_fault != 0) {
        errno = fsync_fault;
        return -1;
    }
    num_synced_files++;
    return __real_fsync(file);
}

int __wrap_close(int file) {
    int result = __real_close(file);
    if (close_fault == 0)
        return result;
    errno = close_fault;
    return -1;
}

int __wrap_rename(const char *from, const char *to) {
    if (signal_at_rename != 0)
        raise(signal_at_rename);
    num_synced_then = num_synced_files;
    if (rename_fault == 0)
        return __real_rename(from, to);
    errno = rename_fault;
    return -1;
}

/* ---- Files ---------------------------------------------------------------------------------- */

static void expect_holds(const char *path, const char *text) {
    size_t size;
    uint8_t *bytes = test_read_bytes(path, &size);
    assert_int_equal(size, strlen(text));
    assert_memory_equal(bytes, text, size);
    free(bytes);
}

static size_t count_files(const char *directory) {
    size_t count = 0;
    DIR *folder = opendir(directory);
    assert_non_null(folder);
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;)
        count += entry->d_name[0] != '.';
    closedir(folder);
    return count;
}

static void write_text(const char *path, const char *text) {
    popliner_error error = {.message = ""};
    if (popliner_file_write(path, text, strlen(text), &error) != POPLINER_OK)
        fail_msg("%s", error.message);
}

static void expect_fault(const char *path, int fault) {
    popliner_error error = {.message = ""};
    assert_int_equal(popliner_file_write(path, "new", 3, &error), POPLINER_ERROR_OUTPUT);
    assert_int_equal(error.status, POPLINER_ERROR_OUTPUT);
    assert_non_null(strstr(error.message, path));
    assert_non_null(strstr(error.message, strerror(fault)));
    assert_int_equal(popliner_file_write(path, "new", 3, NULL), POPLINER_ERROR_OUTPUT);
}

static mode_t mode_of(const char *path) {
    struct stat info;
    assert_int_equal(stat(path, &info), 0);
    return info.st_mode & 07777;
}

static bool is_link(const char *path) {
    struct stat info;
    assert_int_equal(lstat(path, &info), 0);
    return S_ISLNK(info.st_mode);
}

static void makes_and_replaces(void **state) {
    char *path = test_path(*state, "file");
    mode_t before = umask(027);
    num_synced_files = 0;
    write_text(path, "first");
    expect_holds(path, "first");
    assert_int_equal(mode_of(path), 0640);
    /* before the file got its name: the old or the new one survives a loss of power */
    assert_int_equal(num_synced_files, 1);
    assert_int_equal(num_synced_then, 1);
    assert_int_equal(chmod(path, 0604), 0);
    write_text(path, "");
    expect_holds(path, "");
    assert_int_equal(mode_of(path), 0604);
    assert_int_equal(count_files(*state), 1);
    umask(before);
    free(path);
}

/* From the folder itself, where a name has no slash. */
static void takes_any_name(void **state) {
    char name[256];
    char before[4096];
    static const char *const names[] = {"plain", "file:x.pl", "a?b#c%41", "-"};
    assert_non_null(getcwd(before, sizeof before));
    assert_int_equal(chdir(*state), 0);
    for (size_t i = 0; i < 4; i++) {
        write_text(names[i], names[i]);
        expect_holds(names[i], names[i]);
    }
    /* as long as names can be */
    memset(name, 'x', 255);
    name[255] = '\0';
    write_text(name, "long");
    write_text(name, "longer");
    expect_holds(name, "longer");
    assert_int_equal(count_files("."), 5);
    assert_int_equal(chdir(before), 0);
}

static void keeps_links(void **state) {
    char *folder = test_path(*state, "far");
    char *real = test_path(*state, "far/real");
    char *link = test_path(*state, "link");
    char *second = test_path(*state, "far/second");
    assert_int_equal(mkdir(folder, 0700), 0);
    assert_int_equal(symlink("far/second", link), 0);
    assert_int_equal(symlink("real", second), 0);
    for (int i = 0; i < 2; i++) { /* to what is not there, and to what is */
        const char *text = i == 0 ? "made" : "replaced";
        write_text(link, text);
        assert_true(is_link(link));
        assert_true(is_link(second));
        assert_false(is_link(real));
        expect_holds(real, text);
        assert_int_equal(count_files(folder), 2);
        assert_int_equal(count_files(*state), 2);
    }
    /* one that leads to itself */
    assert_int_equal(unlink(real), 0);
    assert_int_equal(symlink("../link", real), 0);
    expect_fault(link, ELOOP);
    free(second);
    free(link);
    free(real);
    free(folder);
}

static void faults_leave_what_was_there(void **state) {
    static int *const faults[] = {&fsync_fault, &close_fault, &rename_fault};
    char *path = test_path(*state, "file");
    char *none = test_path(*state, "none");
    char *nowhere = test_path(*state, "nowhere/file");
    write_text(path, "old");
    for (size_t i = 0; i < 3; i++) {
        *faults[i] = EIO;
        expect_fault(path, EIO);
        expect_fault(none, EIO);
        *faults[i] = 0;
        expect_holds(path, "old");
        assert_int_equal(count_files(*state), 1);
    }
    /* a file system that cannot sync is none */
    fsync_fault = EINVAL;
    write_text(path, "new");
    fsync_fault = 0;
    expect_holds(path, "new");
    expect_fault(nowhere, ENOENT);
    expect_fault(*state, EISDIR);
    free(nowhere);
    free(none);
    free(path);
}

/* A file that may not grow stands for a disk that is full. */
static void a_full_disk_leaves_what_was_there(void **state) {
    static char bytes[1 << 16];
    struct rlimit before;
    char *path = test_path(*state, "file");
    popliner_error error = {.message = ""};
    write_text(path, "old");
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    struct rlimit little = {.rlim_cur = 1 << 12, .rlim_max = before.rlim_max};
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &little), 0);
    assert_int_equal(popliner_file_write(path, bytes, sizeof bytes, &error), POPLINER_ERROR_OUTPUT);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, SIG_DFL);
    assert_non_null(strstr(error.message, strerror(EFBIG)));
    expect_holds(path, "old");
    assert_int_equal(count_files(*state), 1);
    free(path);
}

/* ---- What is written where it is ------------------------------------------------------------ */

static void writes_into_devices_and_pipes(void **state) {
    char *path = test_path(*state, "pipe");
    char text[10] = "";
    assert_int_equal(mkfifo(path, 0600), 0);
    int reader = open(path, O_RDONLY | O_NONBLOCK);
    assert_true(reader >= 0);
    write_text(path, "through");
    assert_int_equal(read(reader, text, sizeof text), 7);
    assert_string_equal(text, "through");
    close(reader);
    write_text("/dev/null", "nothing");
    expect_fault("/dev/full", ENOSPC);
    free(path);
}

/* As a child, in a folder that cannot be written but by root. */
static void writes_into_a_file_of_a_closed_folder(void **state) {
    char *path = test_path(*state, "file");
    write_text(path, "old");
    assert_int_equal(chmod(path, 0666), 0);
    assert_int_equal(chmod(*state, 0555), 0);
    pid_t child = fork();
    if (child == 0) {
        enum { NOBODY = 65534 };
        if (geteuid() == 0 && setuid(NOBODY) != 0)
            _exit(2);
        _exit(popliner_file_write(path, "new", 3, NULL) == POPLINER_OK ? 0 : 3);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(chmod(*state, 0755), 0);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    expect_holds(path, "new");
    free(path);
}

/* ---- Writers at once, and signals ----------------------------------------------------------- */

enum { NUM_WRITERS = 4, ROUNDS = 100, LARGE = 1 << 16 };

static void *write_often(void *path) {
    static char letters[] = "abcdefgh";
    static atomic_int taken;
    char *text = malloc(LARGE);
    int number = atomic_fetch_add(&taken, 1) % 8;
    bool done = text != NULL;
    if (done)
        memset(text, letters[number], LARGE);
    for (int i = 0; done && i < ROUNDS; i++)
        done = popliner_file_write(path, text, LARGE, NULL) == POPLINER_OK;
    free(text);
    return done ? path : NULL;
}

static void writers_at_once_do_not_mix(void **state) {
    pthread_t threads[NUM_WRITERS];
    char *path = test_path(*state, "file");
    write_text(path, "x");
    for (size_t i = 0; i < NUM_WRITERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, write_often, path), 0);
    for (int i = 0; i < 200; i++) {
        size_t size;
        uint8_t *bytes = test_read_bytes(path, &size);
        assert_true(size == LARGE || size == 1);
        for (size_t k = 1; k < size; k++)
            assert_int_equal(bytes[k], bytes[0]);
        free(bytes);
    }
    for (size_t i = 0; i < NUM_WRITERS; i++) {
        void *result;
        assert_int_equal(pthread_join(threads[i], &result), 0);
        assert_non_null(result);
    }
    assert_int_equal(count_files(*state), 1);
    free(path);
}

static void signals_wait(void **state) {
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    char *path = test_path(*state, "file");
    for (size_t i = 0; i < 3; i++) {
        write_text(path, "old");
        pid_t child = fork();
        if (child == 0) {
            signal_at_rename = signals[i];
            popliner_file_write(path, "new", 3, NULL);
            _exit(0);
        }
        int status = 0;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFSIGNALED(status));
        assert_int_equal(WTERMSIG(status), signals[i]);
        expect_holds(path, "new");
        assert_int_equal(count_files(*state), 1);
    }
    /* and what is blocked afterwards is what was before */
    sigset_t before;
    sigset_t after;
    pthread_sigmask(SIG_SETMASK, NULL, &before);
    write_text(path, "old");
    popliner_file_write(*state, "new", 3, NULL);
    rename_fault = EIO;
    expect_fault(path, EIO);
    rename_fault = 0;
    pthread_sigmask(SIG_SETMASK, NULL, &after);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(sigismember(&after, signals[i]), sigismember(&before, signals[i]));
    free(path);
}

/* ---- What is left when nothing can wait ----------------------------------------------------- */

/* Writes `path` again and again until it is killed. */
static void write_until_killed(const char *path) {
    static char bytes[1 << 18];
    while (popliner_file_write(path, bytes, sizeof bytes, NULL) == POPLINER_OK)
        ;
    _exit(1);
}

static void killing_leaves_the_old_or_the_new(void **state) {
    enum { NUM_KILLS = 99, MOST_NANOSECONDS = 4000000, SIZE_BYTES = 1 << 18 };
    char *path = test_path(*state, "file");
    unsigned seed = 26;
    for (int i = 0; i < NUM_KILLS; i++) {
        pid_t child = fork();
        if (child == 0)
            write_until_killed(path);
        seed = seed * 1103515245u + 12345u;
        nanosleep(&(struct timespec){.tv_nsec = (long)(seed >> 8) % MOST_NANOSECONDS}, NULL);
        kill(child, SIGKILL);
        int status = 0;
        struct stat info;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFSIGNALED(status));
        assert_true(stat(path, &info) != 0 || info.st_size == SIZE_BYTES);
        assert_in_range(count_files(*state), 0, 2 + i); /* a part of each run */
    }
    free(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_DIRECTORY(makes_and_replaces),
        IN_DIRECTORY(takes_any_name),
        IN_DIRECTORY(keeps_links),
        IN_DIRECTORY(faults_leave_what_was_there),
        IN_DIRECTORY(a_full_disk_leaves_what_was_there),
        IN_DIRECTORY(writes_into_devices_and_pipes),
        IN_DIRECTORY(writes_into_a_file_of_a_closed_folder),
        IN_DIRECTORY(writers_at_once_do_not_mix),
        IN_DIRECTORY(signals_wait),
        IN_DIRECTORY(killing_leaves_the_old_or_the_new),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
