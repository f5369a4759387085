/* Reads framework.json and app.json, the notes of a report.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "profile/profile_readers.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/failure.h"
#include "base/growth.h"
#include "base/json_reader.h"
#include "base/json_writer.h"
#include "base/new_file.h"

/* Limits of what is stored of one file: names repeat the keys above them, so a small file may have
 * long names. */
enum { MAX_FILE_BYTES = 1 << 20, MAX_ROWS = 10000, MAX_TEXT_BYTES = 4 << 20, MAX_DEPTH = 64 };

const char *const pl_note_files[POPLINER_NUM_NOTE_FILES] = {POPLINER_NOTE_FILES};

/* The state of adding the rows of a file. What fails, fails in the reading. */
typedef struct notes {
    pl_reading *reading;
    uint8_t group;
    size_t num_rows; /* of this group */
    size_t text_bytes;
    pl_text name; /* of the current value */
    bool is_cut;  /* some values were left out */
} notes;

/* ---- Rows ---- */

static void add_row(notes *n, pl_note_kind kind, const char *value) {
    popliner_profile *p = n->reading->profile;
    const size_t i = p->num_notes;
    n->text_bytes += n->name.length + strlen(value);
    if (n->num_rows == MAX_ROWS || n->text_bytes > MAX_TEXT_BYTES) {
        n->is_cut = true;
        return;
    }
    const pl_string name = pl_profile_add_string(p, n->name.data == NULL ? "" : n->name.data);
    const pl_string text = pl_profile_add_string(p, value);
    if (!pl_profile_reserve(p, &p->num_notes))
        return;
    p->note_group[i] = n->group;
    p->note_kind[i] = (uint8_t)kind;
    p->note_name[i] = name;
    p->note_value[i] = text;
    p->num_notes++;
    n->num_rows++;
}

/* Adds a value that has no others in it. */
static void add_scalar(notes *n, const json_t *value) {
    char digits[PL_DIGITS] = "";
    const json_int_t number = json_integer_value(value);
    const bool is_small = number <= PL_NOTE_MOST_NUMBER && number >= -PL_NOTE_MOST_NUMBER;
    if (json_is_real(value))
        pl_write_digits(json_real_value(value), digits);
    else if (json_is_integer(value))
        snprintf(digits, sizeof digits, "%" PRId64, (int64_t)number);
    add_row(n,
            json_is_integer(value) && is_small ? PL_NOTE_NUMBER
            : json_is_number(value) || json_is_string(value) || json_is_boolean(value)
                ? PL_NOTE_TEXT
                : PL_NOTE_NONE,
            json_is_string(value)    ? json_string_value(value)
            : json_is_boolean(value) ? (json_is_true(value) ? "true" : "false")
                                     : digits);
}

static void add_value(notes *n, json_t *value, size_t depth);

/* Adds a value below the one that n->name names. */
static void add_member(notes *n, const char *key, json_t *value, size_t depth) {
    const size_t length = n->name.length;
    pl_text_add(&n->name, length > 0 ? "." : "");
    pl_text_add(&n->name, key);
    if (!pl_reading_has(n->reading, !n->name.failed))
        return;
    add_value(n, value, depth + 1);
    n->name.length = length;
    n->name.data[length] = '\0';
}

static bool goes_on(const notes *n) {
    return !n->is_cut && pl_reading_has(n->reading, true);
}

static void add_members(notes *n, json_t *value, size_t depth) {
    const char *key;
    json_t *member;
    char place[24];
    if (depth == MAX_DEPTH) {
        n->is_cut = true;
    } else if (json_is_object(value)) {
        json_object_foreach(value, key, member) {
            if (goes_on(n))
                add_member(n, key, member, depth);
        }
    } else {
        for (size_t i = 0; goes_on(n) && i < json_array_size(value); i++) {
            snprintf(place, sizeof place, "%zu", i);
            add_member(n, place, json_array_get(value, i), depth);
        }
    }
}

static void add_value(notes *n, json_t *value, size_t depth) {
    if (json_object_size(value) + json_array_size(value) == 0)
        add_scalar(n, value);
    else
        add_members(n, value, depth);
}

/* ---- Files ---- */

/* Adds the rows of a document. */
static void add_document(notes *n, const char *path, json_t *root) {
    add_value(n, root, 0);
    if (n->is_cut)
        pl_tell(n->reading->options->listener, POPLINER_LEVEL_WARNING,
                "%s: left out what exceeds %d values, %d bytes of names and texts, or depth %d",
                path, MAX_ROWS, MAX_TEXT_BYTES, MAX_DEPTH);
}

/* Reads a file of notes, if there is one that can be read. */
static void read_notes(notes *n, const char *path) {
    pl_reading *r = n->reading;
    popliner_error wrong = {0};
    popliner_status status = POPLINER_OK;
    pl_text text = {0};
    json_t *root = NULL;
    struct stat info;
    const bool is_seen = stat(path, &info) == 0;
    if (!is_seen && (errno == ENOENT || errno == ENOTDIR))
        return;
    if (is_seen && !S_ISREG(info.st_mode))
        status = pl_fail(&wrong, POPLINER_ERROR_INPUT, "%s: is no file", path);
    else if (is_seen && info.st_size > MAX_FILE_BYTES)
        status = pl_fail(&wrong, POPLINER_ERROR_INPUT, "%s: has more than 1 MiB", path);
    else
        status = pl_file_read(path, "the notes of the report", &text, &wrong);
    if (status == POPLINER_OK)
        status = pl_json_parse(text.data, text.length, path, &root, &wrong);
    if (status == POPLINER_OK)
        add_document(n, path, root);
    else if (status == POPLINER_ERROR_INPUT)
        pl_tell(r->options->listener, POPLINER_LEVEL_WARNING, "%s; the file is left out",
                wrong.message);
    else
        pl_outcome_fail(&r->database.outcome, status, "%s", wrong.message);
    json_decref(root);
    free(text.data);
}

void pl_report_notes_read(pl_reading *r) {
    const char *slash = strrchr(r->path, '/');
    const size_t length = slash == NULL ? 0 : (size_t)(slash + 1 - r->path);
    const size_t num_groups = r->options->leaves_out_notes ? 0 : POPLINER_NUM_NOTE_FILES;
    for (uint8_t group = 0; group < num_groups; group++) {
        notes n = {.reading = r, .group = group};
        pl_text path = {0};
        pl_text_append(&path, r->path, length);
        pl_text_add(&path, pl_note_files[group]);
        if (pl_reading_has(r, !path.failed))
            read_notes(&n, path.data);
        free(n.name.data);
        free(path.data);
    }
}
