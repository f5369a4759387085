/* Tables for people whose largest row comes first, with a sentence about it.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "command/screen.h"

#include <stdlib.h>
#include <string.h>

#include "command/words.h"

/* Which tables, and by which column. */
static const struct {
    popliner_section section;
    const char *by;
    const char *name; /* the column that names a row */
    const char *kind; /* the column of what it is; NULL: a tile */
    const char *words;
} rankings[] = {
    {POPLINER_SECTION_LAYERS, "largest_tile_bytes", "unit", "kind",
     "is the largest: as a stage of its own it needs"},
    {POPLINER_SECTION_TILES, "live_bytes", "tile", NULL, "is the fullest: it has"},
};

typedef struct row {
    const char *text; /* with its line end */
    uint64_t value;
} row;

static int compare_rows(const void *left, const void *right) {
    const row *a = left;
    const row *b = right;
    return a->value != b->value ? (a->value < b->value) - (a->value > b->value)
                                : (a->text > b->text) - (a->text < b->text);
}

/* The place of a column in the line of names; SIZE_MAX: there is none. */
static size_t place_of(const char *names, const char *wanted) {
    const size_t size = strlen(wanted);
    for (size_t place = 0;; place++) {
        const size_t length = strcspn(names, "\t\n");
        if (length == size && memcmp(names, wanted, size) == 0)
            return place;
        if (names[length] != '\t')
            return SIZE_MAX;
        names += length + 1;
    }
}

static const char *field_at(const char *line, size_t place) {
    for (; place > 0; place--)
        line += strcspn(line, "\t\n") + 1;
    return line;
}

/* Puts the rows in order; the line of names stays the first. False without memory. */
static bool sort(char **table, size_t place) {
    size_t count = 0;
    const char *rest = strchr(*table, '\n');
    for (const char *c = rest; c != NULL; c = strchr(c + 1, '\n'))
        count++;
    row *rows = calloc(count + 1, sizeof *rows);
    char *sorted = malloc(strlen(*table) + 1);
    bool done = rows != NULL && sorted != NULL && rest != NULL;
    if (done) {
        size_t length = (size_t)(rest + 1 - *table);
        memcpy(sorted, *table, length);
        count = 0;
        for (const char *line = rest + 1; *line != '\0'; line += strcspn(line, "\n") + 1)
            rows[count++] = (row){line, strtoull(field_at(line, place), NULL, 10)};
        qsort(rows, count, sizeof *rows, compare_rows);
        for (size_t i = 0; i < count; i++) {
            const size_t size = strcspn(rows[i].text, "\n") + 1;
            memcpy(sorted + length, rows[i].text, size);
            length += size;
        }
        sorted[length] = '\0';
        free(*table);
        *table = sorted;
        sorted = NULL;
    }
    free(rows);
    free(sorted);
    return done;
}

/* Writes "Layer 3 is the largest: as a stage of its own it needs 33,478 of 638,976 bytes (5 %)". */
static void write_headline(const session *s, size_t i, const char *table, char *text, size_t size) {
    const char *first = strchr(table, '\n') + 1;
    const char *name = field_at(first, place_of(table, rankings[i].name));
    const size_t kind_place =
        rankings[i].kind == NULL ? SIZE_MAX : place_of(table, rankings[i].kind);
    const char *kind = kind_place == SIZE_MAX ? "" : field_at(first, kind_place);
    const uint64_t limit = session_profile(s).bytes_per_tile;
    const uint64_t value = strtoull(field_at(first, place_of(table, rankings[i].by)), NULL, 10);
    char bytes[WORDS_NUMBER_SIZE];
    char limit_text[WORDS_NUMBER_SIZE];
    words_number(bytes, value);
    words_number(limit_text, limit);
    snprintf(text, size, "%s%.*s %s %s of %s bytes (%.0f %%).",
             rankings[i].kind == NULL         ? "Tile "
             : strncmp(kind, "layer", 5) == 0 ? "Layer "
                                              : "",
             (int)strcspn(name, "\t\n"), name, rankings[i].words, bytes, limit_text,
             limit == 0 ? 0 : 100 * (double)value / (double)limit);
}

popliner_status screen_section(session *s, popliner_section section, char **text,
                               popliner_error *error) {
    char headline[300];
    size_t i = 0;
    while (i < sizeof rankings / sizeof *rankings && rankings[i].section != section)
        i++;
    const bool is_ranked = i < sizeof rankings / sizeof *rankings;
    const char *end = strchr(*text, '\n');
    if (!is_ranked || end == NULL || end[1] == '\0')
        return screen_table(s, NULL, SIZE_MAX, text, error);
    if (!sort(text, place_of(*text, rankings[i].by))) {
        free(*text);
        *text = NULL;
        return fail_memory(error, "a table");
    }
    write_headline(s, i, *text, headline, sizeof headline);
    return screen_table(s, headline, 0, text, error);
}
