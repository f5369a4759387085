/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sqlite_vfs.h"

#include <string.h>
#include <unistd.h>

/* The usual VFS's own file follows in memory. */
typedef struct file {
    sqlite3_file base;
    const char *path; /* SQLite's, which outlives the file */
    sqlite3_file *real;
} file;

static sqlite3_vfs *usual;
static vfs_plan *plan;

/* The file that ends earlier than it does; by its name, as there may be several connections. */
static char cut_path[4096];
static sqlite3_int64 cut_at;

void sqlite_vfs_follow(vfs_plan *new_plan) {
    plan = new_plan;
    cut_path[0] = '\0';
}

const char *sqlite_vfs_call_name(vfs_call call) {
    static const char *const names[NUM_VFS_CALLS] = {
        "open", "delete",    "access", "full path",  "read",       "write",      "truncate",
        "sync", "file size", "lock",   "check lock", "shared map", "shared lock"};
    return names[call];
}

size_t sqlite_vfs_codes(vfs_call call, int codes[VFS_MOST_CODES]) {
    static const int all[NUM_VFS_CALLS][VFS_MOST_CODES] = {
        [VFS_OPEN] = {SQLITE_CANTOPEN, SQLITE_IOERR, SQLITE_NOMEM},
        [VFS_DELETE] = {SQLITE_IOERR_DELETE, SQLITE_IOERR_NOMEM},
        [VFS_ACCESS] = {SQLITE_IOERR_ACCESS, SQLITE_NOMEM},
        [VFS_FULL_PATH] = {SQLITE_CANTOPEN, SQLITE_IOERR, SQLITE_NOMEM},
        [VFS_READ] = {SQLITE_IOERR_READ, SQLITE_IOERR_SHORT_READ, SQLITE_NOMEM,
                      SQLITE_IOERR_CORRUPTFS, SQLITE_BUSY},
        [VFS_WRITE] = {SQLITE_IOERR_WRITE, SQLITE_FULL, SQLITE_NOMEM},
        [VFS_TRUNCATE] = {SQLITE_IOERR_TRUNCATE, SQLITE_FULL},
        [VFS_SYNC] = {SQLITE_IOERR_FSYNC, SQLITE_FULL},
        [VFS_FILE_SIZE] = {SQLITE_IOERR_FSTAT, SQLITE_NOMEM},
        [VFS_LOCK] = {SQLITE_BUSY, SQLITE_IOERR_LOCK, SQLITE_NOMEM},
        [VFS_CHECK_LOCK] = {SQLITE_IOERR_CHECKRESERVEDLOCK, SQLITE_NOMEM},
        [VFS_SHARED_MAP] = {SQLITE_IOERR_SHMMAP, SQLITE_NOMEM, SQLITE_READONLY_CANTINIT},
        [VFS_SHARED_LOCK] = {SQLITE_BUSY, SQLITE_IOERR_SHMLOCK},
    };
    size_t count = 0;
    for (; count < VFS_MOST_CODES && all[call][count] != 0; count++)
        codes[count] = all[call][count];
    return count;
}

/* Counts a call; what it fails with, or SQLITE_OK. */
static int count(vfs_call call) {
    if (plan == NULL)
        return SQLITE_OK;
    plan->num_by_call[call]++;
    if (plan->calls != NULL && plan->num_calls < plan->max_calls)
        plan->calls[plan->num_calls] = (uint8_t)call;
    bool fails = ++plan->num_calls == plan->fail_at ||
                 (plan->for_good && plan->num_failed > 0 && plan->failed == call);
    if (!fails)
        return SQLITE_OK;
    plan->failed = call;
    plan->num_failed++;
    return plan->code;
}

static void note(vfs_call call, const char *path, uint64_t offset, const void *bytes, size_t size) {
    const vfs_change change = {call, path, offset, bytes, size};
    if (plan != NULL && plan->note != NULL && path != NULL)
        plan->note(plan->user, &change);
}

/* ---- Files ---------------------------------------------------------------------------------- */

static sqlite3_file *real_of(sqlite3_file *f) {
    return ((file *)f)->real;
}

static const char *path_of(sqlite3_file *f) {
    return ((file *)f)->path;
}

static bool is_cut(sqlite3_file *f) {
    return cut_path[0] != '\0' && path_of(f) != NULL && strcmp(cut_path, path_of(f)) == 0;
}

static int close_file(sqlite3_file *f) {
    return real_of(f)->pMethods->xClose(real_of(f));
}

static int read_file(sqlite3_file *f, void *bytes, int size, sqlite3_int64 offset) {
    int code = count(VFS_READ);
    if (code == SQLITE_IOERR_SHORT_READ && path_of(f) != NULL && cut_path[0] == '\0' &&
        strlen(path_of(f)) < sizeof cut_path) {
        strcpy(cut_path, path_of(f));
        cut_at = offset + size / 2;
    } else if (code != SQLITE_OK && code != SQLITE_IOERR_SHORT_READ) {
        return code;
    }
    code = real_of(f)->pMethods->xRead(real_of(f), bytes, size, offset);
    if (code != SQLITE_OK || !is_cut(f) || offset + size <= cut_at)
        return code;
    size_t left = offset < cut_at ? (size_t)(cut_at - offset) : 0;
    memset((char *)bytes + left, 0, (size_t)size - left);
    return SQLITE_IOERR_SHORT_READ;
}

static int write_file(sqlite3_file *f, const void *bytes, int size, sqlite3_int64 offset) {
    int code = count(VFS_WRITE);
    if (code != SQLITE_OK)
        return code;
    note(VFS_WRITE, path_of(f), (uint64_t)offset, bytes, (size_t)size);
    return real_of(f)->pMethods->xWrite(real_of(f), bytes, size, offset);
}

static int truncate_file(sqlite3_file *f, sqlite3_int64 size) {
    int code = count(VFS_TRUNCATE);
    if (code != SQLITE_OK)
        return code;
    note(VFS_TRUNCATE, path_of(f), (uint64_t)size, NULL, 0);
    return real_of(f)->pMethods->xTruncate(real_of(f), size);
}

static int sync_file(sqlite3_file *f, int flags) {
    int code = count(VFS_SYNC);
    if (code != SQLITE_OK)
        return code;
    note(VFS_SYNC, path_of(f), 0, NULL, 0);
    return real_of(f)->pMethods->xSync(real_of(f), flags);
}

static int size_file(sqlite3_file *f, sqlite3_int64 *size) {
    int code = count(VFS_FILE_SIZE);
    if (code == SQLITE_OK)
        code = real_of(f)->pMethods->xFileSize(real_of(f), size);
    if (code == SQLITE_OK && is_cut(f) && *size > cut_at)
        *size = cut_at;
    return code;
}

static int lock_file(sqlite3_file *f, int lock) {
    int code = count(VFS_LOCK);
    return code == SQLITE_OK ? real_of(f)->pMethods->xLock(real_of(f), lock) : code;
}

static int unlock_file(sqlite3_file *f, int lock) {
    return real_of(f)->pMethods->xUnlock(real_of(f), lock);
}

static int check_lock(sqlite3_file *f, int *is_reserved) {
    int code = count(VFS_CHECK_LOCK);
    return code == SQLITE_OK ? real_of(f)->pMethods->xCheckReservedLock(real_of(f), is_reserved)
                             : code;
}

static int control_file(sqlite3_file *f, int operation, void *argument) {
    return real_of(f)->pMethods->xFileControl(real_of(f), operation, argument);
}

static int sector_size(sqlite3_file *f) {
    return real_of(f)->pMethods->xSectorSize(real_of(f));
}

/* None of which the usual VFS might know of its disk. */
static int characteristics(sqlite3_file *f) {
    (void)f;
    return 0;
}

static int map_shared(sqlite3_file *f, int page, int size, int extend, void volatile **bytes) {
    int code = count(VFS_SHARED_MAP);
    *bytes = NULL;
    return code == SQLITE_OK ? real_of(f)->pMethods->xShmMap(real_of(f), page, size, extend, bytes)
                             : code;
}

static int lock_shared(sqlite3_file *f, int offset, int n, int flags) {
    int code = (flags & SQLITE_SHM_LOCK) != 0 ? count(VFS_SHARED_LOCK) : SQLITE_OK;
    return code == SQLITE_OK ? real_of(f)->pMethods->xShmLock(real_of(f), offset, n, flags) : code;
}

static void barrier_shared(sqlite3_file *f) {
    real_of(f)->pMethods->xShmBarrier(real_of(f));
}

static int unmap_shared(sqlite3_file *f, int delete) {
    return real_of(f)->pMethods->xShmUnmap(real_of(f), delete);
}

static const sqlite3_io_methods methods = {
    .iVersion = 2,
    .xClose = close_file,
    .xRead = read_file,
    .xWrite = write_file,
    .xTruncate = truncate_file,
    .xSync = sync_file,
    .xFileSize = size_file,
    .xLock = lock_file,
    .xUnlock = unlock_file,
    .xCheckReservedLock = check_lock,
    .xFileControl = control_file,
    .xSectorSize = sector_size,
    .xDeviceCharacteristics = characteristics,
    .xShmMap = map_shared,
    .xShmLock = lock_shared,
    .xShmBarrier = barrier_shared,
    .xShmUnmap = unmap_shared,
};

/* ---- The file system ------------------------------------------------------------------------ */

static int open_file(sqlite3_vfs *vfs, const char *path, sqlite3_file *f, int flags,
                     int *out_flags) {
    (void)vfs;
    file *own = (file *)f;
    *own = (file){.path = path, .real = (sqlite3_file *)(own + 1)};
    int code = count(VFS_OPEN);
    if (code != SQLITE_OK)
        return code;
    /* to the usual VFS's own xAccess an empty file is none */
    if (path != NULL && (flags & SQLITE_OPEN_CREATE) != 0 && access(path, F_OK) != 0)
        note(VFS_OPEN, path, 0, NULL, 0);
    code = usual->xOpen(usual, path, own->real, flags, out_flags);
    /* SQLite closes what has methods, even when opening failed */
    if (own->real->pMethods != NULL)
        own->base.pMethods = &methods;
    return code;
}

static int delete_file(sqlite3_vfs *vfs, const char *path, int sync) {
    (void)vfs;
    int code = count(VFS_DELETE);
    if (code != SQLITE_OK)
        return code;
    note(VFS_DELETE, path, 0, NULL, 0);
    return usual->xDelete(usual, path, sync);
}

static int access_file(sqlite3_vfs *vfs, const char *path, int flags, int *result) {
    (void)vfs;
    int code = count(VFS_ACCESS);
    return code == SQLITE_OK ? usual->xAccess(usual, path, flags, result) : code;
}

static int full_path(sqlite3_vfs *vfs, const char *path, int size, char *result) {
    (void)vfs;
    int code = count(VFS_FULL_PATH);
    return code == SQLITE_OK ? usual->xFullPathname(usual, path, size, result) : code;
}

/* Nobody else holds the lock that a fault withholds, so waiting for it would change nothing. */
static int sleep_for(sqlite3_vfs *vfs, int microseconds) {
    (void)vfs;
    return plan != NULL ? microseconds : usual->xSleep(usual, microseconds);
}

void sqlite_vfs_install(void) {
    static sqlite3_vfs own;
    if (usual != NULL)
        return;
    usual = sqlite3_vfs_find(NULL);
    own = *usual;
    own.pNext = NULL;
    own.zName = "faults";
    own.szOsFile = (int)sizeof(file) + usual->szOsFile;
    own.xOpen = open_file;
    own.xDelete = delete_file;
    own.xAccess = access_file;
    own.xFullPathname = full_path;
    own.xSleep = sleep_for;
    sqlite3_vfs_register(&own, 1);
}
