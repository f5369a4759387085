/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "command/input.h"

#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The header of an SQLite database: its first 16 bytes, and where the id of its application is.
 * Poplar sets none, stored analyses have this one. */
enum { HEADER_BYTES = 72, ID_PLACE = 68 };
static const char sqlite_magic[16] = "SQLite format 3";
static const char stored_id[] = "PPLN";

static input_kind kind_of_file(const char *path) {
    char header[HEADER_BYTES] = "";
    const int file = open(path, O_RDONLY | O_CLOEXEC); /* takes no memory, which may be short */
    if (file < 0)
        return INPUT_PROFILE;
    const ssize_t count = read(file, header, sizeof header);
    (void)close(file); /* it was only read */
    if (count < (ssize_t)sizeof sqlite_magic ||
        memcmp(header, sqlite_magic, sizeof sqlite_magic) != 0)
        return INPUT_COSTS;
    return memcmp(header + ID_PLACE, stored_id, strlen(stored_id)) == 0 ? INPUT_STORED
                                                                        : INPUT_PROFILE;
}

input_kind input_kind_of(const char *path) {
    static const char end[] = ".pop";
    struct stat info;
    const size_t length = strlen(path);
    if (strcmp(path, "-") == 0)
        return INPUT_COSTS;
    if (stat(path, &info) != 0 || S_ISDIR(info.st_mode))
        return INPUT_PROFILE;
    if (!S_ISREG(info.st_mode))
        return INPUT_COSTS;
    const bool is_named = length >= strlen(end) && strcmp(path + length - strlen(end), end) == 0;
    const input_kind kind = kind_of_file(path);
    return is_named && kind == INPUT_COSTS ? INPUT_PROFILE : kind;
}
