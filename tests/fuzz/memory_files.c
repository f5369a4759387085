/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _XOPEN_SOURCE 700 /* mkdtemp */
#include "memory_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sqlite3.h>

#include "fuzz.h"

/* What a small file stands for. Found by the file's number, which a new name does not change. */
typedef struct content {
    ino_t number; /* 0: none */
    int file;     /* is open, so that no other file gets the number */
    uint8_t *bytes;
    size_t size;
    size_t capacity;
    size_t num_open;
    size_t last_use;
} content;

typedef struct open_file {
    sqlite3_file base; /* first: what SQLite knows of it */
    content *content;
    int lock;
} open_file;

enum { MAX_CONTENTS = 8, MAX_PATHS = 16, MAX_PATH = 200 };

static char root[MAX_PATH / 2];
static char paths[MAX_PATHS][MAX_PATH];
static content contents[MAX_CONTENTS];
static size_t num_uses;

/* ---- The small files ------------------------------------------------------------------------ */

static void remove_root(void) {
    for (size_t i = MAX_PATHS; i > 0; i--) {
        if (paths[i - 1][0] != '\0' && unlink(paths[i - 1]) != 0)
            rmdir(paths[i - 1]);
    }
    rmdir(root);
}

static const char *keep_path(const char *folder, const char *name) {
    char path[MAX_PATH];
    FUZZ_CHECK(snprintf(path, sizeof path, "%s/%s", folder, name) < MAX_PATH);
    for (size_t i = 0; i < MAX_PATHS; i++) {
        if (paths[i][0] == '\0')
            strcpy(paths[i], path);
        if (strcmp(paths[i], path) == 0)
            return paths[i];
    }
    fuzz_end(__FILE__, __LINE__, "room for another path");
}

const char *memory_files_path(const char *folder, const char *name) {
    memory_files_begin();
    const char *place = keep_path(root, folder);
    mkdir(place, 0700);
    return keep_path(place, name);
}

/* The content of a small file. One that is not known is empty; it takes the place of the one that
 * has not been used for longest. */
static content *find_content(const char *path) {
    struct stat about;
    content *found = NULL;
    FUZZ_CHECK(stat(path, &about) == 0);
    for (size_t i = 0; i < MAX_CONTENTS; i++) {
        content *c = &contents[i];
        if (c->number == about.st_ino) {
            c->last_use = ++num_uses;
            return c;
        }
        if (c->num_open == 0 && (found == NULL || c->last_use < found->last_use))
            found = c;
    }
    FUZZ_CHECK(found != NULL);
    if (found->number != 0)
        close(found->file);
    found->file = open(path, O_RDONLY | O_CLOEXEC);
    FUZZ_CHECK(found->file >= 0);
    found->number = about.st_ino;
    found->size = 0;
    found->last_use = ++num_uses;
    return found;
}

static void resize(content *c, size_t size) {
    if (size > c->capacity) {
        c->capacity = size * 2;
        c->bytes = realloc(c->bytes, c->capacity);
        FUZZ_CHECK(c->bytes != NULL);
    }
    if (size > c->size)
        memset(c->bytes + c->size, 0, size - c->size);
    c->size = size;
}

void memory_files_set(const char *path, const void *bytes, size_t size) {
    static const char *last_path; /* whose small file is there, of this size */
    static size_t last_size;
    if (path != last_path || size != last_size) {
        int file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        /* an old time: what has just been written is waited for */
        static const struct timespec old[2] = {{1, 0}, {1, 0}};
        FUZZ_CHECK(file >= 0 && ftruncate(file, (off_t)size) == 0 && futimens(file, old) == 0);
        close(file);
        last_path = path;
        last_size = size;
    }
    content *c = find_content(path);
    resize(c, size);
    if (size > 0)
        memcpy(c->bytes, bytes, size);
}

/* ---- What SQLite calls ---------------------------------------------------------------------- */

static int close_file(sqlite3_file *file) {
    open_file *f = (open_file *)file;
    f->content->num_open--;
    return SQLITE_OK;
}

static int read_bytes(sqlite3_file *file, void *bytes, int count, sqlite3_int64 from) {
    const content *c = ((open_file *)file)->content;
    const size_t wanted = (size_t)count;
    const size_t start = (uint64_t)from < c->size ? (size_t)from : c->size;
    const size_t there = c->size - start < wanted ? c->size - start : wanted;
    if (there > 0)
        memcpy(bytes, c->bytes + start, there);
    memset((uint8_t *)bytes + there, 0, wanted - there);
    return there == wanted ? SQLITE_OK : SQLITE_IOERR_SHORT_READ;
}

static int tell_size(sqlite3_file *file, sqlite3_int64 *size) {
    *size = (sqlite3_int64)((open_file *)file)->content->size;
    return SQLITE_OK;
}

static int lock_file(sqlite3_file *file, int lock) {
    ((open_file *)file)->lock = lock;
    return SQLITE_OK;
}

static int is_reserved(sqlite3_file *file, int *answer) {
    *answer = ((open_file *)file)->lock >= SQLITE_LOCK_RESERVED;
    return SQLITE_OK;
}

static int control_file(sqlite3_file *file, int what, void *argument) {
    (void)file;
    (void)what;
    (void)argument;
    return SQLITE_NOTFOUND;
}

static int sector_size(sqlite3_file *file) {
    (void)file;
    return 512;
}

static int characteristics(sqlite3_file *file) {
    (void)file;
    return 0;
}

static const sqlite3_io_methods methods = {
    .iVersion = 1,
    .xClose = close_file,
    .xRead = read_bytes,
    .xFileSize = tell_size,
    .xLock = lock_file,
    .xUnlock = lock_file,
    .xCheckReservedLock = is_reserved,
    .xFileControl = control_file,
    .xSectorSize = sector_size,
    .xDeviceCharacteristics = characteristics,
};

static sqlite3_vfs *usual;

static int open_small_file(sqlite3_vfs *vfs, const char *path, sqlite3_file *file, int flags,
                           int *flags_out) {
    (void)vfs;
    if (path == NULL || strncmp(path, root, strlen(root)) != 0)
        return usual->xOpen(usual, path, file, flags, flags_out);
    if (access(path, F_OK) != 0) {
        file->pMethods = NULL;
        return SQLITE_CANTOPEN;
    }
    *(open_file *)file = (open_file){{&methods}, find_content(path), SQLITE_LOCK_NONE};
    ((open_file *)file)->content->num_open++;
    if (flags_out != NULL)
        *flags_out = flags;
    return SQLITE_OK;
}

/* ---- Its memory ----------------------------------------------------------------------------- */

/* SQLite asks for memory thousands of times in a run, which would take the sanitizer longer than
 * all else does: it gets pieces that are used again, of powers of two, behind each its size. */
enum { LEAST_SHIFT = 6, NUM_SHIFTS = 26, CHUNK_BYTES = 1 << 20 };

typedef union piece {
    struct {
        size_t shift;
        union piece *next; /* free */
    } at;
    max_align_t align;
} piece;

static piece *free_pieces[NUM_SHIFTS];

static int size_of(void *bytes) {
    return (int)(((size_t)1 << ((piece *)bytes - 1)->at.shift) - sizeof(piece));
}

static void *take(int size) {
    static uint8_t *chunk;
    static size_t left;
    size_t shift = LEAST_SHIFT;
    while ((size_t)1 << shift < (size_t)size + sizeof(piece))
        shift++;
    if (shift >= NUM_SHIFTS)
        return NULL;
    piece *found = free_pieces[shift];
    const size_t bytes = (size_t)1 << shift;
    if (found != NULL) {
        free_pieces[shift] = found->at.next;
    } else if (bytes > CHUNK_BYTES / 4) {
        found = malloc(bytes);
    } else {
        if (left < bytes) { /* what is left of the last one is lost: chunks are few */
            chunk = malloc(CHUNK_BYTES);
            left = CHUNK_BYTES;
        }
        found = (piece *)chunk;
        FUZZ_CHECK(chunk != NULL);
        chunk += bytes;
        left -= bytes;
    }
    if (found == NULL)
        return NULL;
    found->at.shift = shift;
    return found + 1;
}

static void give_back(void *bytes) {
    if (bytes == NULL)
        return;
    piece *p = (piece *)bytes - 1;
    p->at.next = free_pieces[p->at.shift];
    free_pieces[p->at.shift] = p;
}

static void *resize_piece(void *bytes, int size) {
    if (size <= size_of(bytes))
        return bytes;
    void *larger = take(size);
    if (larger != NULL) {
        memcpy(larger, bytes, (size_t)size_of(bytes));
        give_back(bytes);
    }
    return larger;
}

static int round_up(int size) {
    return (size + 7) & ~7;
}

static int begin_memory(void *user) {
    (void)user;
    return SQLITE_OK;
}

static void end_memory(void *user) {
    (void)user;
}

static const sqlite3_mem_methods memory = {
    .xMalloc = take,
    .xFree = give_back,
    .xRealloc = resize_piece,
    .xSize = size_of,
    .xRoundup = round_up,
    .xInit = begin_memory,
    .xShutdown = end_memory,
};

/* ---- All ------------------------------------------------------------------------------------ */

/* Nothing here makes a file beside a small one, and asking the system for each of them dozens of
 * times in a run takes a tenth of it. */
static bool is_beside_small_file(const char *path) {
    const size_t length = strlen(path);
    return root[0] != '\0' && strncmp(path, root, strlen(root)) == 0 &&
           ((length > 8 && strcmp(path + length - 8, "-journal") == 0) ||
            (length > 4 && strcmp(path + length - 4, "-wal") == 0));
}

static int look_for_file(sqlite3_vfs *vfs, const char *path, int flags, int *is_there) {
    if (!is_beside_small_file(path))
        return usual->xAccess(vfs, path, flags, is_there);
    *is_there = 0;
    return SQLITE_OK;
}

/* The linker (--wrap) has the library call this for stat. */
int __real_stat(const char *path, struct stat *about);
int __wrap_stat(const char *path, struct stat *about);

int __wrap_stat(const char *path, struct stat *about) {
    if (!is_beside_small_file(path))
        return __real_stat(path, about);
    errno = ENOENT;
    return -1;
}

/* What waits for another program would wait in vain. */
static int do_not_sleep(sqlite3_vfs *vfs, int microseconds) {
    (void)vfs;
    return microseconds;
}

void memory_files_begin(void) {
    static sqlite3_vfs vfs;
    if (usual != NULL)
        return;
    strcpy(root, access("/dev/shm", W_OK) == 0 ? "/dev/shm/fuzz-XXXXXX" : "/tmp/fuzz-XXXXXX");
    FUZZ_CHECK(mkdtemp(root) != NULL && atexit(remove_root) == 0);
    FUZZ_CHECK(sqlite3_config(SQLITE_CONFIG_MALLOC, &memory) == SQLITE_OK);
    FUZZ_CHECK(sqlite3_config(SQLITE_CONFIG_SINGLETHREAD) == SQLITE_OK);
    FUZZ_CHECK(sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0) == SQLITE_OK);
    FUZZ_CHECK(sqlite3_initialize() == SQLITE_OK);
    usual = sqlite3_vfs_find(NULL);
    FUZZ_CHECK(usual != NULL);
    vfs = *usual;
    vfs.pNext = NULL;
    vfs.zName = "fuzz";
    vfs.xOpen = open_small_file;
    vfs.xAccess = look_for_file;
    vfs.xSleep = do_not_sleep;
    if (vfs.szOsFile < (int)sizeof(open_file))
        vfs.szOsFile = (int)sizeof(open_file);
    FUZZ_CHECK(sqlite3_vfs_register(&vfs, 1) == SQLITE_OK);
}
