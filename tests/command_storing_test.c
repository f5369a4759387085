/* Stored analyses that are damaged, and disks that are full; tests/cli/storing.cli has the rest.
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

static command_run run;
static command_run loaded;

static void a_damaged_analysis_never_prints_anything_else(void **state) {
    (void)state;
    enum { STRIDE = 12007 };
    size_t size;
    size_t refused = 0;
    size_t tried = 0;
    RUN(&run, CASE_PROFILE, "--save-to-file", in_scratch("stored"), "-q", "--solve", "--output",
        "tiles");
    assert_int_equal(run.status, 0);
    uint8_t *bytes = test_read_bytes(in_scratch("stored"), &size);
    for (size_t offset = 30; offset < size; offset += STRIDE, tried++) {
        bytes[offset] ^= 0x10;
        test_write_bytes(in_scratch("damaged"), bytes, size);
        bytes[offset] ^= 0x10;
        RUN(&loaded, in_scratch("damaged"), "--load-from-file", "-q", "--solve", "--output",
            "tiles");
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
    if (test_has_glpk())
        programs_survive_a_full_disk();
    assert_int_equal(sigaction(SIGXFSZ, &kept, NULL), 0);
    assert_holds(in_scratch(""), "stored");
    size_t size;
    uint8_t *bytes = test_read_bytes(in_scratch("stored"), &size);
    assert_int_equal(size, 7);
    free(bytes);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        SCRATCH_TEST(a_damaged_analysis_never_prints_anything_else),
        SCRATCH_TEST(a_full_disk_leaves_the_earlier_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
