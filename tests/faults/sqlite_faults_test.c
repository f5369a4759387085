/* Whatever SQLite asks of files fails, call by call: what is read is the same or refused. In the
 * quick run only some of the calls fail.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "test_data.h"
#include "test_sql.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "faults/sqlite_vfs.h"
#include "profile/profile_data.h"
#include "profile/read.h"

/* ---- What is done --------------------------------------------------------------------------- */

/* A profile, and what reading it gives without a fault. */
typedef struct subject {
    char *path;
    popliner_profile *profile;
} subject;

static bool is_same_profile(popliner_profile *a, popliner_profile *b) {
    pl_field fields[PL_MAX_FIELDS];
    pl_field others[PL_MAX_FIELDS];
    size_t count = pl_profile_fields(a, fields);
    assert_int_equal(pl_profile_fields(b, others), count);
    for (size_t i = 0; i < count; i++) {
        size_t size = (*fields[i].count + fields[i].extra_items) * fields[i].item_size;
        if (*fields[i].count != *others[i].count ||
            (size > 0 && memcmp(pl_field_items(&fields[i]), pl_field_items(&others[i]), size) != 0))
            return false;
    }
    return true;
}

static popliner_status read_again(subject *s, popliner_error *error) {
    const pl_read_options options = {.num_threads = 1};
    popliner_profile *profile = NULL;
    popliner_status status = pl_read_profile(s->path, &options, &profile, error);
    if (status == POPLINER_OK && !is_same_profile(s->profile, profile))
        fail_msg("reads something else");
    assert_int_equal(profile != NULL, status == POPLINER_OK);
    pl_profile_free(profile);
    return status;
}

/* ---- Faults --------------------------------------------------------------------------------- */

/* How runs ended. */
typedef struct tally {
    size_t done;
    size_t refused;
    size_t without_memory;
} tally;

static bool is_memory(int code) {
    return code == SQLITE_NOMEM || code == SQLITE_IOERR_NOMEM;
}

/* Reads with a fault. */
static void meet_fault(subject *s, vfs_plan plan, vfs_call call, tally *t) {
    char what[100];
    popliner_error error = {.message = ""};
    snprintf(what, sizeof what, "call %zu (%s), code %d%s", plan.fail_at,
             sqlite_vfs_call_name(call), plan.code, plan.for_good ? ", and later ones" : "");
    sqlite_vfs_follow(&plan);
    popliner_status status = read_again(s, &error);
    sqlite_vfs_follow(NULL);
    if (plan.num_failed == 0)
        fail_msg("%s: was not made", what);
    if (plan.failed != call)
        fail_msg("%s: was %s this time", what, sqlite_vfs_call_name(plan.failed));
    t->done += status == POPLINER_OK;
    if (status == POPLINER_OK)
        return;
    popliner_status expected = is_memory(plan.code) ? POPLINER_ERROR_MEMORY : POPLINER_ERROR_INPUT;
    if (status != expected || error.status != status)
        fail_msg("%s: ends with %d, not %d: %s", what, (int)status, (int)expected, error.message);
    test_assert_sentence(error.message);
    if (status == POPLINER_ERROR_MEMORY)
        t->without_memory++;
    else
        t->refused++;
}

static void meet_all_faults(const char *name, subject *s) {
    enum { MOST_CALLS = 100000, EVERY = 41 };
    uint8_t *calls = test_new_array(MOST_CALLS, 1);
    bool is_met[NUM_VFS_CALLS] = {false};
    vfs_plan usual = {.calls = calls, .max_calls = MOST_CALLS};
    popliner_error error = {.message = ""};
    tally t = {0};
    size_t num_runs = 0;
    sqlite_vfs_follow(&usual);
    if (read_again(s, &error) != POPLINER_OK)
        fail_msg("%s", error.message);
    sqlite_vfs_follow(NULL);
    assert_true(usual.num_calls > 10 && usual.num_calls < MOST_CALLS);
    for (size_t i = 0; i < usual.num_calls; i++) {
        int codes[VFS_MOST_CODES];
        size_t num_codes = sqlite_vfs_codes(calls[i], codes);
        if (!test_takes_case(i, EVERY) && is_met[calls[i]])
            continue;
        is_met[calls[i]] = true;
        for (size_t k = 0; k < 2 * num_codes; k++) {
            const vfs_plan plan = {
                .fail_at = i + 1, .for_good = k >= num_codes, .code = codes[k % num_codes]};
            meet_fault(s, plan, calls[i], &t);
            num_runs++;
        }
    }
    print_message("%s: %zu calls, %zu faults: %zu without effect, %zu refused, %zu for memory\n",
                  name, usual.num_calls, num_runs, t.done, t.refused, t.without_memory);
    assert_true(t.refused > 0 && t.without_memory > 0);
    free(calls);
}

/* ---- Tests ---------------------------------------------------------------------------------- */

static void copy_sample(const char *to) {
    char *from = test_project_file("data/sample/profile.pop");
    size_t size;
    uint8_t *bytes = test_read_bytes(from, &size);
    test_write_bytes(to, bytes, size);
    free(bytes);
    free(from);
}

static void begin(subject *s, const char *directory) {
    *s = (subject){.path = test_path(directory, "profile.pop")};
    copy_sample(s->path);
}

static void meet(const char *name, subject *s) {
    assert_int_equal(pl_read_profile(s->path, NULL, &s->profile, NULL), POPLINER_OK);
    meet_all_faults(name, s);
    pl_profile_free(s->profile);
    free(s->path);
}

static void reads_right_or_not_at_all(void **state) {
    subject s;
    begin(&s, *state);
    meet("read", &s);
}

/* With a log beside it, which another connection keeps. */
static void reads_a_log_right_or_not_at_all(void **state) {
    subject s;
    begin(&s, *state);
    sqlite3 *writer = test_open_sql(s.path, SQLITE_OPEN_READWRITE);
    test_run_sql(writer, "PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0;"
                         "UPDATE vars_info SET size_bytes = size_bytes + 4");
    meet("read a log", &s);
    sqlite3_close(writer);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_DIRECTORY(reads_right_or_not_at_all),
        IN_DIRECTORY(reads_a_log_right_or_not_at_all),
    };
    sqlite_vfs_install();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
