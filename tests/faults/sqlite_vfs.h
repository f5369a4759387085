/* A SQLite VFS for tests, in front of the usual one: it counts what SQLite asks of files, has one
 * of these calls fail, and tells what would have to reach the disk.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_TESTS_FAULTS_SQLITE_VFS_H
#define PL_TESTS_FAULTS_SQLITE_VFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sqlite3.h>

typedef enum vfs_call {
    VFS_OPEN,
    VFS_DELETE,
    VFS_ACCESS,
    VFS_FULL_PATH,
    VFS_READ,
    VFS_WRITE,
    VFS_TRUNCATE,
    VFS_SYNC,
    VFS_FILE_SIZE,
    VFS_LOCK,
    VFS_CHECK_LOCK,
    VFS_SHARED_MAP,
    VFS_SHARED_LOCK,
    NUM_VFS_CALLS
} vfs_call;

/* What became of a file. */
typedef struct vfs_change {
    vfs_call call; /* OPEN: it was made; DELETE, WRITE, TRUNCATE, SYNC */
    const char *path;
    uint64_t offset; /* of WRITE; the new size of TRUNCATE */
    const void *bytes;
    size_t size;
} vfs_change;

/* How the calls go; to be set before SQLite is used, and looked at behind it. By one thread. */
typedef struct vfs_plan {
    size_t fail_at; /* the number, from 1, of the call that fails; 0: none does */
    bool for_good;  /* all later ones of its kind fail, too */
    int code;       /* what SQLite is told; SQLITE_IOERR_SHORT_READ: the file ends in the middle
                     * of what is read, and from then on */
    void (*note)(void *user, const vfs_change *change); /* or NULL: called before the change */
    void *user;

    uint8_t *calls; /* NULL, or room for the first max_calls: the vfs_call of each */
    size_t max_calls;

    size_t num_calls; /* that could fail */
    size_t num_by_call[NUM_VFS_CALLS];
    vfs_call failed; /* what failed, if num_failed is not 0 */
    size_t num_failed;
} vfs_plan;

/* Makes it the VFS of all files that are opened from now on. */
void sqlite_vfs_install(void);

/* Follow this plan from now on; NULL: as without it. */
void sqlite_vfs_follow(vfs_plan *plan);

/* What a call may fail with; the number of codes. */
enum { VFS_MOST_CODES = 5 };
size_t sqlite_vfs_codes(vfs_call call, int codes[VFS_MOST_CODES]);

const char *sqlite_vfs_call_name(vfs_call call);

#endif
