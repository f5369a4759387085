/* A library that is loaded before all others (LD_PRELOAD) and has allocations and system calls
 * fail. faults.py runs programs with it and says which; the two talk in lines over two pipes.
 *
 * Every allocation and every system call of the list below is a point; they are counted together,
 * from 1. FAULTS_CONTROL=IN,OUT: at each point the library writes "point NUMBER WHAT HOW STACK" and
 * reads what to do: "go", or "try FAULT", for which a copy of the process (fork) meets the fault
 * and runs to its end, before it asks again; HOW is "copy", or "alone" while several threads run,
 * of which a copy would have one. With FAULTS_ONCE it asks at the first point of each stack only.
 * FAULTS_AT=NUMBER:FAULT instead has a single point fail in the process itself. FAULT is
 *
 *     memory   an allocation gives NULL;  memory+  so do all later ones
 *     thread   no thread is made;  thread+  nor later
 *     NUMBER   a system call fails with this errno;  NUMBER+  so do all later ones of its kind
 *     short    it reads or writes less than was asked for
 *
 * close and fsync do their work before they fail. At the end of the process a report is written
 * into the file FAULTS_REPORT, or for copies FAULTS_COPY.report: "alive STACK COUNT" of blocks that
 * nobody freed, "frames STACK ADDRESS..." of these and of the fault, and
 * "points ALLOCATIONS CALLS". Copies write what they print into FAULTS_COPY.out and
 * FAULTS_COPY.err; a file that is being written is replaced by one of their own, which the other
 * side of the pipes has to undo.
 *
 * System calls are caught where the kernel is entered (seccomp), so those of the C library's own
 * streams, of realpath() and of SQLite are among them.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#define _GNU_SOURCE /* dlsym(RTLD_NEXT), dl_iterate_phdr, the registers of a signal's context */

#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <ucontext.h>
#include <unistd.h>

#ifndef __x86_64__
#error "registers and system calls are those of x86-64"
#endif

/* ---- System calls that are not caught ------------------------------------------------------- */

/* The kernel lets those from between these two addresses through. */
extern const char faults_raw_begin[];
extern const char faults_raw_end[];
long faults_raw(long number, long a, long b, long c, long d, long e, long f);

__asm__(".text\n"
        ".hidden faults_raw_begin\n"
        ".globl faults_raw_begin\n"
        "faults_raw_begin:\n"
        ".hidden faults_raw\n"
        ".globl faults_raw\n"
        ".type faults_raw, @function\n"
        "faults_raw:\n"
        "mov %rdi, %rax\n"
        "mov %rsi, %rdi\n"
        "mov %rdx, %rsi\n"
        "mov %rcx, %rdx\n"
        "mov %r8, %r10\n"
        "mov %r9, %r8\n"
        "mov 8(%rsp), %r9\n"
        "syscall\n"
        "ret\n"
        ".size faults_raw, . - faults_raw\n"
        ".hidden faults_raw_end\n"
        ".globl faults_raw_end\n"
        "faults_raw_end:\n");

static long raw(long number, long a, long b, long c, long d) {
    return faults_raw(number, a, b, c, d, 0, 0);
}

static void write_all(int file, const char *text, size_t length) {
    while (length > 0) {
        long written = raw(SYS_write, file, (long)text, (long)length, 0);
        if (written <= 0)
            return;
        text += written;
        length -= (size_t)written;
    }
}

static void die(const char *why) {
    write_all(STDERR_FILENO, "faults: ", 8);
    write_all(STDERR_FILENO, why, strlen(why));
    write_all(STDERR_FILENO, "\n", 1);
    raw(SYS_kill, raw(SYS_getpid, 0, 0, 0, 0), SIGABRT, 0, 0);
    raw(SYS_exit_group, 99, 0, 0, 0);
}

/* Memory of this library's own, zeroed. */
static void *own_pages(size_t size) {
    long pages = faults_raw(SYS_mmap, 0, (long)size, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (pages < 0 && pages > -4096)
        die("no memory for the tables");
    return (void *)pages;
}

/* ---- State ---------------------------------------------------------------------------------- */

/* What the system calls that can fail are called, and what kind they are of. */
static const struct known_call {
    int number;
    const char *name;
    char kind; /* with a fault for good all later ones of the same kind fail */
} known_calls[] = {
    {SYS_open, "open", 'o'},
    {SYS_openat, "open", 'o'},
    {SYS_read, "read", 'r'},
    {SYS_pread64, "pread", 'r'},
    {SYS_readv, "readv", 'r'},
    {SYS_write, "write", 'w'},
    {SYS_pwrite64, "pwrite", 'w'},
    {SYS_writev, "writev", 'w'},
    {SYS_ftruncate, "truncate", 'w'},
    {SYS_fallocate, "allocate", 'w'},
    {SYS_close, "close", 'c'},
    {SYS_fsync, "sync", 's'},
    {SYS_fdatasync, "sync", 's'},
    {SYS_rename, "rename", 'n'},
    {SYS_renameat, "rename", 'n'},
    {SYS_renameat2, "rename", 'n'},
    {SYS_link, "link", 'l'},
    {SYS_linkat, "link", 'l'},
    {SYS_symlink, "link", 'l'},
    {SYS_unlink, "unlink", 'u'},
    {SYS_unlinkat, "unlink", 'u'},
    {SYS_stat, "stat", 't'},
    {SYS_fstat, "stat", 't'},
    {SYS_lstat, "stat", 't'},
    {SYS_newfstatat, "stat", 't'},
    {SYS_statx, "stat", 't'},
    {SYS_access, "access", 't'},
    {SYS_faccessat, "access", 't'},
    {SYS_readlink, "readlink", 't'},
    {SYS_readlinkat, "readlink", 't'},
    {SYS_getcwd, "getcwd", 't'},
    {SYS_mmap, "mmap", 'm'},
    {SYS_mremap, "mmap", 'm'},
    {SYS_lseek, "seek", 'k'},
    {SYS_fcntl, "fcntl", 'f'},
    {SYS_getrandom, "random", 'g'},
    {SYS_dup, "dup", 'd'},
    {SYS_dup3, "dup", 'd'},
    {SYS_fchmod, "chmod", 'h'},
    {SYS_fchown, "chown", 'h'},
    {SYS_getdents64, "list", 'r'},
    {SYS_mkdir, "mkdir", 'n'},
    {SYS_sched_getaffinity, "affinity", 'a'},
};
enum { NUM_KNOWN_CALLS = sizeof known_calls / sizeof *known_calls };

enum { MAX_FRAMES = 60, MAX_STACKS = 1 << 14, NUM_PLACES = 1 << 15, NUM_BLOCKS = 1 << 16 };
enum { MAX_MODULES = 64 };

typedef struct stack {
    uint64_t hash;
    int num_frames;
    size_t alive; /* of the report */
    void *frames[MAX_FRAMES];
} stack;

typedef struct block {
    void *memory; /* NULL: none */
    uint64_t stack;
} block;

typedef struct module {
    uintptr_t begin;
    uintptr_t end;
    uintptr_t base;
    const char *name;
} module;

static stack *stacks;
static uint16_t *stack_places; /* by hash: which stack it is, from 1 */
static size_t num_stacks;
static block *blocks; /* by address */
static size_t num_blocks;
static module modules[MAX_MODULES];
static size_t num_modules;

static bool is_ready;               /* everything counts from here */
static atomic_uint num_points;      /* so far */
static atomic_uint num_allocations; /* among them */
static int control_in = -1;
static int control_out = -1;
static bool asks_once;    /* at each stack */
static unsigned fault_at; /* 0: nowhere */
static char fault[24];
static char lasting_kind; /* what fails for good; 'M': memory */
static int lasting_errno;
static uint64_t hit;
static const char *report_path;
static bool is_copy;
static atomic_int num_threads = 1;
static __thread int depth __attribute__((tls_model("initial-exec"))); /* within this library */

static atomic_flag lock = ATOMIC_FLAG_INIT;

static void enter(void) {
    while (atomic_flag_test_and_set(&lock))
        ;
}

static void leave(void) {
    atomic_flag_clear(&lock);
}

/* ---- Stacks --------------------------------------------------------------------------------- */

static int add_module(struct dl_phdr_info *info, size_t size, void *user) {
    (void)size;
    (void)user;
    const char *slash = strrchr(info->dlpi_name, '/');
    for (int i = 0; i < info->dlpi_phnum && num_modules < MAX_MODULES; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        if (part->p_type == PT_LOAD && (part->p_flags & PF_X) != 0)
            modules[num_modules++] = (module){
                info->dlpi_addr + part->p_vaddr, info->dlpi_addr + part->p_vaddr + part->p_memsz,
                info->dlpi_addr, slash != NULL ? slash + 1 : info->dlpi_name};
    }
    return 0;
}

static const module *find_module(const void *address) {
    for (size_t i = 0; i < num_modules; i++) {
        if ((uintptr_t)address >= modules[i].begin && (uintptr_t)address < modules[i].end)
            return &modules[i];
    }
    return NULL;
}

/* The same in every run, wherever the modules lie. */
static uint64_t stack_hash(void *const *frames, int num_frames) {
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (int i = 0; i < num_frames; i++) {
        const module *of = find_module(frames[i]);
        uint64_t place = of == NULL ? 0 : (uintptr_t)frames[i] - of->base + (uint64_t)of->name[0];
        hash = (hash ^ place) * UINT64_C(0x9e3779b97f4a7c15);
        hash ^= hash >> 29;
    }
    return hash | 1;
}

/* The stack of this hash, or the place for one. */
static uint16_t *find_stack(uint64_t hash) {
    size_t i = hash % NUM_PLACES;
    while (stack_places[i] != 0 && stacks[stack_places[i] - 1].hash != hash)
        i = (i + 1) % NUM_PLACES;
    return &stack_places[i];
}

/* Notes the stack of the caller's caller. */
static uint64_t take_stack(bool *is_new) {
    void *frames[MAX_FRAMES + 3];
    int num_frames = backtrace(frames, MAX_FRAMES + 3) - 2;
    if (num_frames < 0)
        num_frames = 0;
    uint64_t hash = stack_hash(frames + 2, num_frames);
    enter();
    uint16_t *place = find_stack(hash);
    *is_new = *place == 0;
    if (*is_new && num_stacks == MAX_STACKS)
        die("too many stacks");
    if (*is_new) {
        stack *added = &stacks[num_stacks++];
        *place = (uint16_t)num_stacks;
        added->hash = hash;
        added->num_frames = num_frames < MAX_FRAMES ? num_frames : MAX_FRAMES;
        memcpy(added->frames, frames + 2, (size_t)added->num_frames * sizeof *frames);
    }
    leave();
    return hash;
}

/* ---- Blocks --------------------------------------------------------------------------------- */

static size_t block_place(const void *memory) {
    return (size_t)(((uintptr_t)memory >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 20) % NUM_BLOCKS;
}

static void *add_block(void *memory, uint64_t from) {
    if (memory == NULL || blocks == NULL)
        return memory;
    size_t i = block_place(memory);
    enter();
    if (++num_blocks == NUM_BLOCKS)
        die("too many blocks");
    while (blocks[i].memory != NULL)
        i = (i + 1) % NUM_BLOCKS;
    blocks[i] = (block){memory, from};
    leave();
    return memory;
}

static void remove_block(const void *memory) {
    if (memory == NULL || blocks == NULL)
        return;
    size_t i = block_place(memory);
    enter();
    while (blocks[i].memory != NULL && blocks[i].memory != memory)
        i = (i + 1) % NUM_BLOCKS;
    bool is_known = blocks[i].memory != NULL;
    num_blocks -= is_known;
    /* those behind it move up, unless they are where they belong */
    for (size_t k = (i + 1) % NUM_BLOCKS; is_known && blocks[k].memory != NULL;
         k = (k + 1) % NUM_BLOCKS) {
        size_t wanted = block_place(blocks[k].memory);
        if ((k - wanted) % NUM_BLOCKS >= (k - i) % NUM_BLOCKS) {
            blocks[i] = blocks[k];
            i = k;
        }
    }
    if (is_known)
        blocks[i].memory = NULL;
    leave();
    if (!is_known && is_ready)
        die("something was freed that is no block");
}

/* ---- Copies --------------------------------------------------------------------------------- */

static char copy_path[3][400]; /* of the report, and of what it prints */

/* Puts a copy of a file that is being written into its place, unless it was done for another of its
 * descriptors; returns it open. The other process keeps the file itself. */
static long copy_written(int file, const char *link, const struct stat *info) {
    static struct {
        ino_t number;
        int file;
    } copied[8];
    static size_t num_copied;
    static const char gone[] = " (deleted)"; /* though the name may have been given back */
    char path[400];
    char own_path[410];
    struct stat named;
    size_t length = 0;
    const bool is_named = info->st_nlink > 0;
    long count = raw(SYS_readlinkat, AT_FDCWD, (long)link, (long)path, sizeof path - 1);
    if (count > 0)
        length = (size_t)count;
    path[length] = '\0';
    if (length > sizeof gone && strcmp(path + length - (sizeof gone - 1), gone) == 0)
        path[length - (sizeof gone - 1)] = '\0';
    for (size_t i = 0; i < num_copied; i++) {
        if (copied[i].number == info->st_ino) {
            snprintf(own_path, sizeof own_path, "/proc/self/fd/%d", copied[i].file);
            return raw(SYS_openat, AT_FDCWD, (long)own_path, O_RDWR, 0);
        }
    }
    /* what was made without a name and has one since is whole: it is closed, nothing else */
    if (is_named &&
        (raw(SYS_stat, (long)path, (long)&named, 0, 0) != 0 || named.st_ino != info->st_ino))
        return raw(SYS_openat, AT_FDCWD, (long)link, O_RDWR, 0);
    snprintf(own_path, sizeof own_path, "%s.own", path);
    if (!is_named)
        *strrchr(own_path, '/') = '\0'; /* the folder */
    long whole = raw(SYS_openat, AT_FDCWD, (long)link, O_RDONLY, 0);
    long own = raw(SYS_openat, AT_FDCWD, (long)own_path,
                   O_RDWR | (is_named ? O_CREAT | O_EXCL : O_TMPFILE), 0600);
    for (off_t done = 0; whole >= 0 && own >= 0 && done < info->st_size;) {
        if (raw(SYS_sendfile, own, whole, (long)&done, info->st_size - done) <= 0)
            return -1;
    }
    raw(SYS_close, whole, 0, 0, 0);
    if (num_copied < 8) {
        copied[num_copied].number = info->st_ino;
        copied[num_copied++].file = file;
    }
    return !is_named || raw(SYS_rename, (long)own_path, (long)path, 0, 0) == 0 ? own : -1;
}

/* A copy reads files at its own place, not where the others are, and writes into its own. */
static void reopen_files(void) {
    for (int file = 3; file < 64; file++) {
        char link[40];
        struct stat info;
        long flags = raw(SYS_fcntl, file, F_GETFL, 0, 0);
        if (flags < 0 || raw(SYS_fstat, file, (long)&info, 0, 0) != 0 || !S_ISREG(info.st_mode))
            continue;
        long place = raw(SYS_lseek, file, 0, SEEK_CUR, 0);
        snprintf(link, sizeof link, "/proc/self/fd/%d", file);
        long own = (flags & O_ACCMODE) == O_RDONLY
                       ? raw(SYS_openat, AT_FDCWD, (long)link, O_RDONLY, 0)
                       : copy_written(file, link, &info);
        if (own < 0)
            die("a file cannot be opened again");
        raw(SYS_lseek, own, place, SEEK_SET, 0);
        raw(SYS_dup3, own, file, O_CLOEXEC, 0);
        raw(SYS_close, own, 0, 0, 0);
    }
}

static void redirect(int file, const char *path) {
    long own = raw(SYS_openat, AT_FDCWD, (long)path, O_WRONLY | O_CREAT | O_APPEND, 0600);
    raw(SYS_dup3, own, file, 0, 0);
    raw(SYS_close, own, 0, 0, 0);
}

static void become_copy(void) {
    enum { SECONDS = 60 };
    is_copy = true;
    raw(SYS_close, control_in, 0, 0, 0);
    raw(SYS_close, control_out, 0, 0, 0);
    control_in = control_out = -1;
    report_path = copy_path[0];
    redirect(STDOUT_FILENO, copy_path[1]);
    redirect(STDERR_FILENO, copy_path[2]);
    reopen_files();
    raw(SYS_alarm, SECONDS, 0, 0, 0);
}

/* ---- Points --------------------------------------------------------------------------------- */

static void read_line(char *line, size_t size) {
    size_t length = 0;
    while (length < size - 1 && raw(SYS_read, control_in, (long)(line + length), 1, 0) == 1 &&
           line[length] != '\n')
        length++;
    line[length] = '\0';
}

/* Asks what to do; true in a copy that is to meet the fault. */
static bool ask(unsigned number, const char *what, uint64_t from) {
    char line[120];
    bool can_copy = num_threads == 1;
    int length = snprintf(line, sizeof line, "point %u %s %s %016llx\n", number, what,
                          can_copy ? "copy" : "alone", (unsigned long long)from);
    write_all(control_out, line, (size_t)length);
    for (;;) {
        read_line(line, sizeof line);
        if (strncmp(line, "try ", 4) != 0)
            break;
        /* not fork(), which locks what the caller may have locked already */
        long copy = faults_raw(SYS_clone, SIGCHLD, 0, 0, 0, 0, 0);
        if (copy == 0) {
            snprintf(fault, sizeof fault, "%.20s", line + 4);
            become_copy();
            return true;
        }
        int status = -1;
        if (copy < 0 || raw(SYS_wait4, copy, (long)&status, 0, 0) != copy)
            die("no copy of the process can be made");
        length = snprintf(line, sizeof line, "done %d\n", status);
        write_all(control_out, line, (size_t)length);
    }
    return false;
}

/* Whether the fault is to happen here. */
static bool meets_fault(const char *what, char kind, uint64_t from, bool is_new) {
    unsigned number = atomic_fetch_add(&num_points, 1) + 1;
    num_allocations += kind == 'M';
    bool is_here = control_in < 0         ? number == fault_at
                   : is_new || !asks_once ? ask(number, what, from)
                                          : false;
    if (!is_here)
        return false;
    hit = from;
    size_t length = strlen(fault);
    if (length > 0 && fault[length - 1] == '+') {
        lasting_kind = kind;
        lasting_errno = atoi(fault);
    }
    return true;
}

/* ---- Allocations ---------------------------------------------------------------------------- */

static void *(*real_malloc)(size_t size);
static void *(*real_calloc)(size_t count, size_t size);
static void *(*real_realloc)(void *memory, size_t size);
static void *(*real_memalign)(size_t alignment, size_t size);
static void (*real_free)(void *memory);

/* For what is allocated while these are looked up. */
static _Alignas(16) char early[1 << 14];
static size_t early_bytes;

static bool is_early(const void *memory) {
    return (const char *)memory >= early && (const char *)memory < early + sizeof early;
}

static void *take_early(size_t size) {
    void *memory = early + early_bytes;
    early_bytes += (size + 15) & ~(size_t)15;
    if (early_bytes > sizeof early)
        die("too much is allocated early");
    return memory;
}

static void look_up(void) {
    static bool looks;
    if (looks)
        return;
    looks = true;
    *(void **)&real_calloc = dlsym(RTLD_NEXT, "calloc");
    *(void **)&real_realloc = dlsym(RTLD_NEXT, "realloc");
    *(void **)&real_memalign = dlsym(RTLD_NEXT, "memalign");
    *(void **)&real_free = dlsym(RTLD_NEXT, "free");
    *(void **)&real_malloc = dlsym(RTLD_NEXT, "malloc");
}

/* Whether an allocation may be; *from gets its stack. */
static bool may_allocate(uint64_t *from) {
    *from = 0;
    if (!is_ready || depth > 0)
        return true;
    bool is_new;
    depth++;
    *from = take_stack(&is_new);
    bool may = lasting_kind != 'M' && !meets_fault("memory", 'M', *from, is_new);
    depth--;
    if (!may)
        errno = ENOMEM;
    return may;
}

void *malloc(size_t size) {
    uint64_t from;
    look_up();
    if (real_malloc == NULL)
        return take_early(size);
    return may_allocate(&from) ? add_block(real_malloc(size), from) : NULL;
}

void *calloc(size_t count, size_t size) {
    uint64_t from;
    look_up();
    if (real_malloc == NULL)
        return take_early(count * size);
    return may_allocate(&from) ? add_block(real_calloc(count, size), from) : NULL;
}

void *realloc(void *memory, size_t size) {
    uint64_t from;
    look_up();
    if (real_malloc == NULL || is_early(memory)) {
        void *moved = malloc(size);
        if (moved != NULL && memory != NULL)
            memcpy(moved, memory, size); /* what follows the old one is readable */
        return moved;
    }
    if (!may_allocate(&from))
        return NULL;
    remove_block(memory);
    void *grown = real_realloc(memory, size);
    if (grown == NULL && size > 0)
        add_block(memory, from);
    return add_block(grown, from);
}

void *reallocarray(void *memory, size_t count, size_t size) {
    size_t total;
    if (__builtin_mul_overflow(count, size, &total)) {
        errno = ENOMEM;
        return NULL;
    }
    return realloc(memory, total);
}

void *memalign(size_t alignment, size_t size) {
    uint64_t from;
    look_up();
    return may_allocate(&from) ? add_block(real_memalign(alignment, size), from) : NULL;
}

void *aligned_alloc(size_t alignment, size_t size) {
    return memalign(alignment, size);
}

int posix_memalign(void **memory, size_t alignment, size_t size) {
    *memory = memalign(alignment, size);
    return *memory == NULL ? ENOMEM : 0;
}

void free(void *memory) {
    if (memory == NULL || is_early(memory))
        return;
    int before = errno;
    remove_block(memory);
    real_free(memory);
    errno = before;
}

/* ---- Threads -------------------------------------------------------------------------------- */

typedef struct beginning {
    void *(*begin)(void *);
    void *argument;
} beginning;

static void *begin_thread(void *user) {
    beginning own = *(beginning *)user;
    void *result = own.begin(own.argument);
    atomic_fetch_sub(&num_threads, 1);
    return result;
}

/* The kernel's own call cannot be repeated from a signal handler: the new stack begins empty. */
int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*begin)(void *),
                   void *argument) {
    static int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    static beginning beginnings[1024]; /* threads that end by other ways than returning count on */
    static atomic_uint num_beginnings;
    bool is_new;
    depth++;
    if (real == NULL)
        *(void **)&real = dlsym(RTLD_NEXT, "pthread_create");
    uint64_t from = take_stack(&is_new);
    bool fails = lasting_kind == 'p' || meets_fault("thread", 'p', from, is_new);
    depth--;
    if (fails)
        return EAGAIN;
    beginning *own = &beginnings[atomic_fetch_add(&num_beginnings, 1) % 1024];
    *own = (beginning){begin, argument};
    atomic_fetch_add(&num_threads, 1);
    int code = real(thread, attributes, begin_thread, own);
    if (code != 0)
        atomic_fetch_sub(&num_threads, 1);
    return code;
}

/* ---- System calls --------------------------------------------------------------------------- */

static const struct known_call *find_call(int number, const long *arguments) {
    static const struct known_call log = {SYS_write, "log", 'L'};
    if ((number == SYS_write || number == SYS_writev) && arguments[0] == STDERR_FILENO)
        return &log;
    for (size_t i = 0; i < NUM_KNOWN_CALLS; i++) {
        if (known_calls[i].number == number)
            return &known_calls[i];
    }
    return NULL;
}

/* Half of what was asked for, but something. */
static long do_short(int number, long *arguments, struct iovec *less) {
    if (number == SYS_readv || number == SYS_writev) {
        *less = *(const struct iovec *)arguments[1];
        less->iov_len = (less->iov_len + 1) / 2;
        arguments[1] = (long)less;
        arguments[2] = 1;
    } else if (arguments[2] > 1) {
        arguments[2] = (arguments[2] + 1) / 2;
    }
    return raw(number, arguments[0], arguments[1], arguments[2], arguments[3]);
}

static long call_or_fail(int number, long *a, bool is_counted) {
    const struct known_call *known = find_call(number, a);
    int code = 0;
    if (is_counted && known != NULL) {
        bool is_new;
        uint64_t from = take_stack(&is_new);
        if (lasting_kind == known->kind) {
            code = lasting_errno;
        } else if (meets_fault(known->name, known->kind, from, is_new)) {
            if (strcmp(fault, "short") == 0)
                return do_short(number, a, &(struct iovec){0});
            code = atoi(fault);
        }
    }
    if (code != 0 && known->kind != 'c' && known->kind != 's')
        return -code;
    long result = faults_raw(number, a[0], a[1], a[2], a[3], a[4], a[5]);
    return code != 0 ? -code : result;
}

static void on_call(int signal, siginfo_t *info, void *user) {
    (void)signal;
    ucontext_t *context = user;
    greg_t *registers = context->uc_mcontext.gregs;
    long arguments[6] = {registers[REG_RDI], registers[REG_RSI], registers[REG_RDX],
                         registers[REG_R10], registers[REG_R8],  registers[REG_R9]};
    int before = errno;
    depth++;
    registers[REG_RAX] = call_or_fail(info->si_syscall, arguments, depth == 1);
    depth--;
    errno = before;
}

/* Has the kernel hand the known calls to on_call(), but for those of faults_raw(). */
static void catch_calls(void) {
    enum { BEFORE = 2, BEHIND = 8 };
    struct sock_filter filter[BEFORE + NUM_KNOWN_CALLS + BEHIND];
    uint64_t begin = (uintptr_t)faults_raw_begin;
    uint64_t end = (uintptr_t)faults_raw_end;
    size_t n = 0;
    filter[n++] =
        (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (size_t i = 0; i < NUM_KNOWN_CALLS; i++)
        filter[n++] =
            (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)known_calls[i].number,
                                         (uint8_t)(NUM_KNOWN_CALLS - i), 0);
    filter[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    /* the address behind the instruction, in two halves */
    filter[n++] = (struct sock_filter)BPF_STMT(
        BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, instruction_pointer) + 4);
    filter[n++] =
        (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)(begin >> 32), 0, 3);
    filter[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
                                               offsetof(struct seccomp_data, instruction_pointer));
    filter[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, (uint32_t)begin, 0, 1);
    filter[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, (uint32_t)end, 0, 1);
    filter[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP);
    filter[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog program = {(unsigned short)n, filter};
    struct sigaction action = {.sa_sigaction = on_call, .sa_flags = SA_SIGINFO | SA_NODEFER};
    if (begin >> 32 != end >> 32)
        die("the code lies across a border");
    if (sigaction(SIGSYS, &action, NULL) != 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        die("system calls cannot be caught here");
}

/* ---- Beginning and end ---------------------------------------------------------------------- */

static const char *variable(const char *name) {
    const char *value = getenv(name);
    return value == NULL ? "" : value;
}

__attribute__((constructor)) static void begin(void) {
    static const char *const endings[] = {"report", "out", "err"};
    void *frames[4];
    look_up();
    stacks = own_pages(MAX_STACKS * sizeof *stacks);
    stack_places = own_pages(NUM_PLACES * sizeof *stack_places);
    blocks = own_pages(NUM_BLOCKS * sizeof *blocks);
    dl_iterate_phdr(add_module, NULL);
    backtrace(frames, 4); /* loads what it needs */
    report_path = variable("FAULTS_REPORT");
    for (size_t i = 0; i < 3; i++)
        snprintf(copy_path[i], sizeof copy_path[i], "%s.%s", variable("FAULTS_COPY"), endings[i]);
    sscanf(variable("FAULTS_CONTROL"), "%d,%d", &control_in, &control_out);
    sscanf(variable("FAULTS_AT"), "%u:%20s", &fault_at, fault);
    asks_once = *variable("FAULTS_ONCE") != '\0';
    unsetenv("LD_PRELOAD");
    catch_calls();
    is_ready = true;
}

static void print_frames(char *line, size_t size, const stack *of) {
    size_t length = (size_t)snprintf(line, size, "frames %016llx", (unsigned long long)of->hash);
    for (int i = 0; i < of->num_frames && length < size - 120; i++) {
        const module *in = find_module(of->frames[i]);
        if (in != NULL)
            length += (size_t)snprintf(line + length, size - length, " %.60s+%llx", in->name,
                                       (unsigned long long)((uintptr_t)of->frames[i] - in->base));
    }
    snprintf(line + length, size - length, "\n");
}

__attribute__((destructor)) static void end(void) {
    static char line[MAX_FRAMES * 100];
    is_ready = false;
    depth++;
    if (*report_path == '\0')
        return;
    for (size_t i = 0; i < NUM_BLOCKS; i++) {
        if (blocks[i].memory != NULL && blocks[i].stack != 0)
            stacks[*find_stack(blocks[i].stack) - 1].alive++;
    }
    long file = raw(SYS_openat, AT_FDCWD, (long)report_path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    for (size_t i = 0; i < num_stacks; i++) {
        const stack *of = &stacks[i];
        if (of->alive > 0) {
            snprintf(line, sizeof line, "alive %016llx %zu\n", (unsigned long long)of->hash,
                     of->alive);
            write_all((int)file, line, strlen(line));
        }
        if (of->alive > 0 || of->hash == hit) {
            print_frames(line, sizeof line, of);
            write_all((int)file, line, strlen(line));
        }
    }
    snprintf(line, sizeof line, "points %u %u\n", (unsigned)num_allocations,
             (unsigned)num_points - (unsigned)num_allocations);
    write_all((int)file, line, strlen(line));
    raw(SYS_close, file, 0, 0, 0);
}
