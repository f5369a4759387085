/* Stores a profile and its operations alone, loads them, and changes parts of what is stored.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef STORED_H
#define STORED_H

#include <stdlib.h>
#include <string.h>

#include "base/new_file.h"
#include "store/store.h"

static inline popliner_status save_stored(const popliner_profile *profile,
                                          const pl_operations *operations, const char *path,
                                          popliner_error *error) {
    const pl_stored_contents contents = {.profile = profile, .operations = operations};
    return pl_stored_analysis_save(&contents, path, error);
}

/* The caller frees *profile, which lacks its variables, and *operations. Errors: those of
 * pl_stored_analysis_open. */
static inline popliner_status load_stored(const char *path, popliner_profile **profile,
                                          pl_operations **operations, popliner_error *error) {
    pl_stored_analysis *analysis;
    *profile = NULL;
    *operations = NULL;
    popliner_status status = pl_stored_analysis_open(path, &analysis, error);
    if (status == POPLINER_OK) {
        *profile = analysis->profile;
        *operations = analysis->operations;
        analysis->profile = NULL;
        analysis->operations = NULL;
        pl_stored_analysis_close(analysis);
    }
    return status;
}

/* A part of a file, as the format has it: its name, a NUL, the number of bytes, and the bytes. */
typedef struct stored_part {
    const char *name;
    const uint8_t *bytes;
    uint64_t size;
} stored_part;

enum { STORED_HEADER = 32 };

/* The part at *at, first STORED_HEADER; false after the last. */
static inline bool stored_next(const char *file, size_t size, size_t *at, stored_part *part) {
    if (*at == size)
        return false;
    part->name = file + *at;
    *at += strlen(part->name) + 1;
    memcpy(&part->size, file + *at, sizeof part->size);
    part->bytes = (const uint8_t *)file + *at + sizeof part->size;
    *at += sizeof part->size + (size_t)part->size;
    return true;
}

/* Replaces a part by `size` bytes, or removes it if they are NULL. False if there is none. */
static inline bool stored_replace(const char *path, const char *name, const void *bytes,
                                  size_t size) {
    pl_text file = {0};
    pl_text made = {0};
    size_t at = STORED_HEADER;
    stored_part part;
    bool found = pl_file_read(path, "a file", &file, NULL) == POPLINER_OK;
    bool is_there = false;
    pl_archive_begin(&made);
    while (found && stored_next(file.data, file.length, &at, &part)) {
        const bool is_it = strcmp(part.name, name) == 0;
        const void *own = is_it ? bytes : part.bytes;
        size_t own_size = is_it ? size : (size_t)part.size;
        is_there = is_there || is_it;
        if (own != NULL)
            pl_archive_add(&made, "", &(pl_field){part.name, &own, 1, &own_size, 0});
    }
    free(file.data);
    return pl_archive_write(&made, path, NULL) == POPLINER_OK && is_there;
}

#endif
