/* The file of a stored analysis: a header with a version and a checksum, then named parts. Numbers
 * are as in memory, so the file is of one kind of machine.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "store/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "base/new_file.h"
#include "popliner/stage.h"
#include "popliner/utilities.h"

/* The version changes with any stored array, automatically with POPLINER_NUM_PARTS. */
enum { FORMAT_VERSION = 32 + POPLINER_NUM_PARTS };

/* The command recognises a stored analysis by its first bytes. */
static const char magic[16] = "popliner stored";

typedef struct header {
    char magic[sizeof magic];
    uint64_t version;
    uint64_t checksum; /* of all that follows */
} header;

static uint64_t checksum_of(const pl_text *file) {
    return XXH3_64bits(file->data + sizeof(header), file->length - sizeof(header));
}

/* ---- Writing ---- */

void pl_archive_begin(pl_text *file) {
    const header own = {.version = FORMAT_VERSION};
    pl_text_append(file, (const char *)&own, sizeof own);
}

void pl_archive_add(pl_text *file, const char *group, const pl_field *field) {
    const uint64_t length = (*field->count + field->extra_items) * field->item_size;
    pl_text_format(file, "%s%s", group, field->name);
    pl_text_append(file, "", 1);
    pl_text_append(file, (const char *)&length, sizeof length);
    if (length > 0)
        pl_text_append(file, pl_field_items(field), length);
}

popliner_status pl_archive_write(pl_text *file, const char *path, popliner_error *error) {
    header own = {.version = FORMAT_VERSION};
    popliner_status status = POPLINER_ERROR_MEMORY;
    if (!file->failed) {
        memcpy(own.magic, magic, sizeof magic);
        own.checksum = checksum_of(file);
        memcpy(file->data, &own, sizeof own);
        status = popliner_file_write(path, file->data, file->length, error);
    }
    free(file->data);
    *file = (pl_text){0};
    return status == POPLINER_ERROR_MEMORY ? pl_fail_memory(error, "storing the analysis") : status;
}

/* ---- Reading ---- */

/* Moves *at past a part, and returns its bytes; NULL if they end after those of the file. */
static char *take_part(const pl_text *file, size_t *at, const char **name, uint64_t *length) {
    char *end = memchr(file->data + *at, '\0', file->length - *at);
    const size_t left = end == NULL ? 0 : (size_t)(file->data + file->length - end) - 1;
    *name = file->data + *at;
    if (left < sizeof *length)
        return NULL;
    memcpy(length, end + 1, sizeof *length);
    if (*length > left - sizeof *length)
        return NULL;
    *at = file->length - (left - sizeof *length) + (size_t)*length;
    return end + 1 + sizeof *length;
}

void pl_archive_fail(pl_archive *archive, const char *what) {
    pl_outcome_fail(&archive->outcome, POPLINER_ERROR_INPUT,
                    "%s: is damaged (%s); store the analysis again", archive->path, what);
}

/* Checks the header, and that parts follow up to the end of the file. */
static void check(pl_archive *archive) {
    const pl_text *file = &archive->file;
    pl_outcome *outcome = &archive->outcome;
    header own = {.version = 0};
    memcpy(&own, pl_text_string(file), file->length < sizeof own ? file->length : sizeof own);
    if (memcmp(own.magic, magic, sizeof magic) != 0)
        outcome->status = pl_fail_because(outcome->error, POPLINER_REASON_NO_ANALYSIS,
                                          "%s: is not a stored analysis", archive->path);
    else if (file->length < sizeof own)
        pl_archive_fail(archive, "its header");
    else if (own.version != FORMAT_VERSION)
        pl_outcome_fail(outcome, POPLINER_ERROR_INPUT,
                        "%s: has format %llu, but this popliner reads format %d; store the "
                        "analysis again",
                        archive->path, (unsigned long long)own.version, (int)FORMAT_VERSION);
    else if (own.checksum != checksum_of(file))
        pl_archive_fail(archive, "its checksum");
    const char *name;
    uint64_t length = 0;
    for (size_t at = sizeof own; outcome->status == POPLINER_OK && at < file->length;)
        if (take_part(file, &at, &name, &length) == NULL)
            pl_archive_fail(archive, "its parts");
}

void pl_archive_read(pl_archive *archive, const char *path, popliner_error *error) {
    pl_outcome *outcome = &archive->outcome;
    struct stat info;
    *archive = (pl_archive){.path = strdup(path), .outcome.error = error};
    if (!pl_outcome_has(outcome, archive->path != NULL, "a file name"))
        return;
    outcome->status = pl_file_look(path, "a stored analysis", POPLINER_REASON_OTHER, &info, error);
    if (outcome->status == POPLINER_OK)
        outcome->status = pl_file_read(path, "the stored analysis", &archive->file, error);
    if (outcome->status == POPLINER_OK)
        check(archive);
}

void pl_archive_free(pl_archive *archive) {
    free(archive->path);
    free(archive->file.data);
    *archive = (pl_archive){0};
}

char *pl_archive_find(pl_archive *archive, const char *group, const char *name, size_t *length) {
    const size_t group_length = strlen(group);
    const char *own_name;
    uint64_t own_length = 0;
    for (size_t at = sizeof(header); at < archive->file.length;) {
        char *bytes = take_part(&archive->file, &at, &own_name, &own_length);
        if (strncmp(own_name, group, group_length) == 0 &&
            strcmp(own_name + group_length, name) == 0) {
            *length = (size_t)own_length;
            return bytes;
        }
    }
    return NULL;
}

void pl_archive_load(pl_archive *archive, const char *group, const pl_field *field,
                     pl_arrays *arrays) {
    size_t length = 0;
    const char *bytes = pl_archive_find(archive, group, field->name, &length);
    const size_t items = length / field->item_size;
    if (bytes == NULL || length % field->item_size != 0 || items < field->extra_items ||
        (*field->count != SIZE_MAX && *field->count != items - field->extra_items)) {
        char what[100];
        snprintf(what, sizeof what, "%s%s", group, field->name);
        pl_archive_fail(archive, what);
    }
    void *copy = archive->outcome.status == POPLINER_OK
                     ? pl_arrays_copy(arrays, bytes, items, field->item_size)
                     : NULL;
    if (!pl_outcome_has(&archive->outcome, copy != NULL, "the stored analysis"))
        return;
    *field->count = items - field->extra_items;
    pl_field_set_items(field, copy);
}
