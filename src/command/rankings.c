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
    bool has_limit;    /* the bytes are shown as a share of it */
    const char *after; /* what the bytes are */
} rankings[] = {
    {POPLINER_SECTION_LAYERS, "largest_tile_bytes", "unit", "kind", "is the largest: it needs",
     false,
     " on its fullest tile. All bytes here are without layout, what compiling a stage alone adds "
     "and what a pipeline stores, which --evaluate counts."},
    {POPLINER_SECTION_TILES, "live_bytes", "tile", NULL, "is the fullest: it has", true,
     ", without gaps."},
};

enum { SHARE_SIZE = WORDS_NUMBER_SIZE + 40 };

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

/* Writes " of 638,976 bytes (5 %)", of the requested limit. */
static void write_share(const session *s, uint64_t value, char text[SHARE_SIZE]) {
    const uint64_t asked = s->options.mem_per_tile.all.bytes;
    const uint64_t limit = asked > 0 ? asked : session_profile(s).bytes_per_tile;
    char limit_text[WORDS_NUMBER_SIZE];
    words_number(limit_text, limit);
    snprintf(text, SHARE_SIZE, " of %s bytes (%.0f %%)", limit_text,
             limit == 0 ? 0 : 100 * (double)value / (double)limit);
}

/* Writes "Tile 3 is the fullest: it has 33,478 of 638,976 bytes (5 %), without gaps." */
static void write_headline(const session *s, size_t i, const char *table, char *text, size_t size) {
    const char *first = strchr(table, '\n') + 1;
    const char *name = field_at(first, place_of(table, rankings[i].name));
    const size_t kind_place =
        rankings[i].kind == NULL ? SIZE_MAX : place_of(table, rankings[i].kind);
    const char *kind = kind_place == SIZE_MAX ? "" : field_at(first, kind_place);
    const uint64_t value = strtoull(field_at(first, place_of(table, rankings[i].by)), NULL, 10);
    char bytes[WORDS_NUMBER_SIZE];
    char share[SHARE_SIZE] = " bytes";
    words_number(bytes, value);
    if (rankings[i].has_limit)
        write_share(s, value, share);
    snprintf(text, size, "%s%.*s %s %s%s%s",
             rankings[i].kind == NULL         ? "Tile "
             : strncmp(kind, "layer", 5) == 0 ? "Layer "
                                              : "",
             (int)strcspn(name, "\t\n"), name, rankings[i].words, bytes, share, rankings[i].after);
}

popliner_status screen_section(session *s, popliner_section section, char **text,
                               popliner_error *error) {
    char headline[500];
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
