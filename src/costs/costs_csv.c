/* Reads a table of layers (CSV) by making the JSON document of popliner's own format that has the
 * same content.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "costs/costs_file_data.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "base/growth.h"
#include "base/json_reader.h"
#include "base/text.h"
#include "popliner/utilities.h"

struct reader;

/* The columns, and the keys of a unit that they become. */
typedef enum column {
    COLUMN_NAME,
    COLUMN_MEMORY,
    COLUMN_TIME,
    COLUMN_FORWARD,
    COLUMN_BACKWARD,
    COLUMN_STASH,
    COLUMN_INPUTS,
    COLUMN_PARAMETERS,
    COLUMN_KV,
    COLUMN_KV_TOKENS,
    COLUMN_CACHE,
    COLUMN_WORKSPACE,
    COLUMN_RECOMPUTED,
    COLUMN_SHARDED,
    COLUMN_LAYER,
    COLUMN_KIND,
    COLUMN_SHARED, /* a list of its own, not a key of a unit, as are the next ones */
    COLUMN_TIED,
    COLUMN_CUT,
    NUM_COLUMNS
} column;

/* Returns what becomes of a cell; NULL after a failure. */
typedef json_t *cell_reader(struct reader *r, const char *cell);
static cell_reader read_text, read_bytes, read_times, read_flag;

static const struct {
    const char *name;
    const char *key; /* of a unit; NULL: none */
    cell_reader *read;
    bool is_estimated; /* there are columns of what it may be at least and at most */
} columns[NUM_COLUMNS] = {
    [COLUMN_NAME] = {"name", "name", read_text, false},
    [COLUMN_MEMORY] = {"memory", "memory", read_bytes, true},
    [COLUMN_TIME] = {"time", "cycles", read_times, false},
    [COLUMN_FORWARD] = {"forward", "forward", read_times, false},
    [COLUMN_BACKWARD] = {"backward", "backward", read_times, false},
    [COLUMN_STASH] = {"stash", "stash", read_bytes, true},
    [COLUMN_INPUTS] = {"inputs", "inputs", read_bytes, true},
    [COLUMN_PARAMETERS] = {"parameters", "parameters", read_bytes, false},
    [COLUMN_KV] = {"kv", "kv", read_bytes, false},
    [COLUMN_KV_TOKENS] = {"kv_tokens", "kv_tokens", read_bytes, false},
    [COLUMN_CACHE] = {"cache", "cache", read_bytes, false},
    [COLUMN_WORKSPACE] = {"workspace", "workspace", read_bytes, true},
    [COLUMN_RECOMPUTED] = {"recomputed", "recomputed", read_bytes, true},
    [COLUMN_SHARDED] = {"sharded", "sharded", read_bytes, true},
    [COLUMN_LAYER] = {"layer", "layer", read_flag, false},
    [COLUMN_KIND] = {"kind", "kind", read_text, false},
    [COLUMN_SHARED] = {"shared", NULL, read_bytes, false},
    [COLUMN_TIED] = {"tied", NULL, read_bytes, false},
    [COLUMN_CUT] = {"cut", NULL, read_bytes, false},
};

/* A column of times in this unit. */
static const char CYCLES[] = "cycles";

typedef struct reader {
    const char *path;
    pl_outcome outcome;
    pl_costs_file *file;
    char *rest;         /* of the text, which is divided into cells in place */
    size_t line;        /* of the last row that was read, from 1 */
    size_t end_line;    /* after it */
    const char *column; /* whose cell is read; NULL: of none */
    char delimiter;
    char **cells; /* [room], of a row */
    size_t num_cells;
    size_t room;
    /* [need], the index of the cell; SIZE_MAX: there is no such column */
    size_t places[POPLINER_NUM_NEEDS][NUM_COLUMNS];
    size_t num_columns;
    json_t *root;
    json_t *units;
    json_t *cuts;
    json_t *shared; /* an object with what units share, by its name */
} reader;

/* Quotes the cell, so that a terminal does not obey its control characters; `hint` follows it. */
static void refuse_with(reader *r, const char *what, const char *cell, const char *hint) {
    char beginning[101];
    pl_text told = {0};
    snprintf(beginning, sizeof beginning, "%s", cell);
    pl_quote_json(&told, beginning);
    pl_outcome_fail(&r->outcome, POPLINER_ERROR_INPUT, "%s: line %zu%s%s: %s: %s%s", r->path,
                    r->line, r->column == NULL ? "" : ": ", r->column == NULL ? "" : r->column,
                    what, told.failed ? "(not enough memory to tell)" : told.data, hint);
    free(told.data);
}

static void refuse(reader *r, const char *what, const char *cell) {
    refuse_with(r, what, cell, "");
}

/* Suggests the column that was meant, or names all. */
static void refuse_column(reader *r, char *cell, popliner_need need) {
    const char *nearest = NULL;
    bool is_estimated = false;
    size_t least = SIZE_MAX;
    pl_text all = {0};
    pl_text hint = {0};
    for (size_t c = 0; c <= NUM_COLUMNS; c++) {
        const char *name = c < NUM_COLUMNS ? columns[c].name : CYCLES;
        const size_t found = popliner_misspelling(cell, strlen(cell), name, strlen(name));
        pl_text_format(&all, "%s, ", name);
        if (found >= least)
            continue;
        nearest = name;
        is_estimated = need > 0 && c < NUM_COLUMNS && columns[c].is_estimated;
        least = found;
    }
    if (nearest == NULL)
        pl_text_format(&hint, "; there are %sand sizes with _least or _most", pl_text_string(&all));
    else
        pl_text_format(&hint, "; did you mean %s%s%s?", nearest, is_estimated ? "_" : "",
                       is_estimated ? pl_estimate_keys[need] : "");
    if (need != POPLINER_NEED_EXPECTED)
        cell[strlen(cell)] = '_';
    refuse_with(r, "unknown column", cell, pl_text_string(&hint));
    free(all.data);
    free(hint.data);
}

/* Fails unless there was memory. True if nothing has failed. */
static bool has(reader *r, bool memory) {
    return pl_outcome_has(&r->outcome, memory, "the table of layers");
}

/* Adds a new member to an object, unless something has failed. */
static void add(reader *r, json_t *object, const char *key, json_t *value) {
    if (r->outcome.status == POPLINER_OK)
        has(r, json_object_set_new(object, key, value) == 0);
    else
        json_decref(value);
}

static json_t *new_text(reader *r, const char *text, size_t length) {
    json_t *made = json_stringn(text, length);
    if (made == NULL)
        refuse(r, "the text is not UTF-8", text);
    return made;
}

/* ---- Rows and cells, by RFC 4180 ------------------------------------------------------------- */

/* Takes the cell at the start of the rest; *is_last if it ends the row. */
static char *take_cell(reader *r, bool *is_last) {
    char *from = r->rest + strspn(r->rest, " ");
    char *cell = from;
    char *to = from;
    const char end_marks[] = {r->delimiter, '\r', '\n', '\0'};
    if (*from == '"') {
        for (from++; *from != '\0' && (*from != '"' || from[1] == '"'); from++) {
            from += *from == '"';
            r->end_line += *from == '\n';
            *to++ = *from;
        }
        if (*from == '\0')
            refuse(r, "a quoted cell does not end", cell);
        from += *from != '\0';
        from += strspn(from, " ");
        if (strchr(end_marks, *from) == NULL)
            refuse(r, "something follows a quoted cell", from);
    } else {
        from += strcspn(from, end_marks);
        to = from;
        while (to > cell && to[-1] == ' ')
            to--;
    }
    *is_last = *from != r->delimiter;
    if (*from == '\r' && from[1] == '\n')
        from++;
    r->end_line += *from == '\n' || *from == '\r';
    r->rest = *from == '\0' ? from : from + 1;
    *to = '\0';
    return cell;
}

static void add_cell(reader *r, char *cell) {
    if (has(r, pl_grow(&r->cells, &r->room, r->num_cells + 1, sizeof *r->cells)))
        r->cells[r->num_cells++] = cell;
}

/* Takes the next row that is not empty. False at the end, or once something has failed. */
static bool take_row(reader *r) {
    bool is_last = false;
    r->num_cells = 0;
    r->column = NULL;
    r->rest += strspn(r->rest, " ");
    while (*r->rest == '\r' || *r->rest == '\n') {
        r->end_line += *r->rest == '\n' || r->rest[1] != '\n';
        r->rest++;
        r->rest += strspn(r->rest, " ");
    }
    r->line = r->end_line;
    while (r->outcome.status == POPLINER_OK && *r->rest != '\0' && !is_last) {
        add_cell(r, take_cell(r, &is_last));
        /* a delimiter at the very end is followed by an empty cell */
        if (!is_last && *r->rest == '\0')
            add_cell(r, r->rest);
    }
    return r->outcome.status == POPLINER_OK && r->num_cells > 0;
}

/* ---- The first row --------------------------------------------------------------------------- */

static bool is_same_name(const char *cell, const char *name) {
    size_t i = 0;
    while (name[i] != '\0' && tolower((unsigned char)cell[i]) == name[i])
        i++;
    return cell[i] == name[i];
}

/* Ends "time (ms)" after "time" and returns "ms"; NULL without a unit. */
static char *split_unit(char *cell) {
    const size_t length = strlen(cell);
    char *opening = strchr(cell, '(');
    if (opening == NULL || length < 3 || cell[length - 1] != ')' || opening == cell + length - 2)
        return NULL;
    cell[length - 1] = '\0';
    char *end = opening;
    while (end > cell && end[-1] == ' ')
        end--;
    *end = '\0';
    return opening + 1;
}

/* Ends "memory_most" after "memory"; the estimate that the end says. */
static popliner_need take_estimate(char *cell) {
    char *end = strrchr(cell, '_');
    popliner_need need = POPLINER_NEED_MOST;
    while (end != NULL && need > POPLINER_NEED_EXPECTED &&
           !is_same_name(end + 1, pl_estimate_keys[need]))
        need--;
    if (end == NULL || end == cell)
        return POPLINER_NEED_EXPECTED;
    if (need != POPLINER_NEED_EXPECTED)
        *end = '\0'; /* where the '_' was */
    return need;
}

static void take_column(reader *r, size_t place, const char **time_unit) {
    char *cell = r->cells[place];
    const char *unit = split_unit(cell);
    column c = COLUMN_NAME;
    popliner_need need = POPLINER_NEED_EXPECTED;
    if (is_same_name(cell, CYCLES) && unit == NULL) {
        c = COLUMN_TIME;
        unit = CYCLES;
    } else {
        need = take_estimate(cell);
        while (c < NUM_COLUMNS &&
               (!is_same_name(cell, columns[c].name) || (need > 0 && !columns[c].is_estimated)))
            c++;
        if (c == NUM_COLUMNS) {
            refuse_column(r, cell, need);
            return;
        }
        if (unit != NULL && columns[c].read != read_times)
            refuse(r,
                   "only time has a unit in the first row; write those of sizes after the number, "
                   "like 1.5M",
                   cell);
    }
    size_t *own = &r->places[need][c];
    if (*own != SIZE_MAX)
        refuse(r, "the column appears twice", cell);
    *own = place;
    if (r->places[0][COLUMN_TIME] != SIZE_MAX &&
        (r->places[0][COLUMN_FORWARD] != SIZE_MAX || r->places[0][COLUMN_BACKWARD] != SIZE_MAX))
        refuse(r, "time is the sum of forward and backward; remove it, or these", cell);
    if (r->places[0][COLUMN_LAYER] != SIZE_MAX && r->places[0][COLUMN_KIND] != SIZE_MAX)
        refuse(r, "kind says which units are layers; remove the column layer", cell);
    if (columns[c].read != read_times)
        return;
    if (unit == NULL)
        unit = "units";
    if (*time_unit != NULL && strcmp(*time_unit, unit) != 0)
        refuse(r, "an earlier column has times in another unit", unit);
    *time_unit = unit;
}

/* Returns the end of the blank lines and the lines that begin with '#' at the start of a text. */
static const char *skip_comments(const char *text) {
    const char *line = text + strspn(text, " \t\r\n");
    while (*line == '#') {
        line += strcspn(line, "\r\n");
        line += strspn(line, " \t\r\n");
    }
    return line;
}

/* Takes what comments say of the whole table: what it leaves out, and of how many samples a
 * micro-batch is. */
static void take_comments(reader *r, const char *head) {
    static const char left_out[] = "# Not counted: ";
    static const char of_samples[] = "# A micro-batch has ";
    for (const char *line = r->rest; line < head; line += strcspn(line, "\r\n")) {
        line += strspn(line, " \t\r\n");
        const size_t length = strcspn(line, "\r\n");
        if (strncmp(line, left_out, sizeof left_out - 1) == 0) {
            const size_t from = sizeof left_out - 1;
            add(r, r->root, "not_counted", new_text(r, line + from, length - from));
        }
        const bool has_samples = strncmp(line, of_samples, sizeof of_samples - 1) == 0;
        const long long samples = has_samples ? strtoll(line + sizeof of_samples - 1, NULL, 10) : 0;
        if (samples > 0)
            add(r, r->root, "samples", json_integer(samples));
    }
}

/* Returns the first of the delimiters that a line has, else a comma. */
static char find_delimiter(const char *line) {
    const size_t length = strcspn(line, "\r\n");
    for (const char *mark = ",;\t"; *mark != '\0'; mark++)
        if (memchr(line, *mark, length) != NULL)
            return *mark;
    return ',';
}

/* Reads the first row. Returns whether it is that of a table: a column is called "name". */
static bool read_head(reader *r) {
    const char *time_unit = NULL;
    const char *head = skip_comments(r->rest);
    const char *word = strstr(head, columns[COLUMN_NAME].name);
    const bool has_word = word != NULL && word < head + strcspn(head, "\r\n");
    bool is_table = false;
    r->delimiter = find_delimiter(head);
    take_comments(r, head);
    for (; r->rest < head; r->rest++)
        r->end_line += *r->rest == '\n' || (*r->rest == '\r' && r->rest[1] != '\n');
    for (size_t c = 0; c < NUM_COLUMNS; c++)
        for (popliner_need need = 0; need < POPLINER_NUM_NEEDS; need++)
            r->places[need][c] = SIZE_MAX;
    if (!take_row(r)) /* if that is why, tell the mistake in a cell */
        return has_word;
    r->num_columns = r->num_cells;
    for (size_t i = 0; i < r->num_cells; i++)
        is_table = is_table || is_same_name(r->cells[i], columns[COLUMN_NAME].name);
    for (size_t i = 0; is_table && i < r->num_cells; i++)
        take_column(r, i, &time_unit);
    if (r->outcome.status == POPLINER_OK && time_unit != NULL)
        add(r, r->root, "time_unit", new_text(r, time_unit, strlen(time_unit)));
    return is_table;
}

/* ---- The others ------------------------------------------------------------------------------ */

static json_t *read_text(reader *r, const char *cell) {
    return new_text(r, cell, strlen(cell));
}

static json_t *read_bytes(reader *r, const char *cell) {
    uint64_t bytes = 0;
    const char *end = popliner_size_take(cell, &bytes);
    if (end == NULL || *end != '\0' || bytes > PL_MAX_BYTES)
        refuse(r, "expected bytes, like 638976, 624KiB or 1.5M, at most 2^48", cell);
    return json_integer((json_int_t)bytes);
}

/* Reads a number, or several with spaces between them, of samples. */
static json_t *read_times(reader *r, const char *cell) {
    json_t *times = pl_json_numbers(cell, strlen(cell), " ");
    if (json_is_null(times))
        refuse(r, "expected a number, at least 0, or several with spaces between them", cell);
    return times;
}

static json_t *read_flag(reader *r, const char *cell) {
    const bool is_true = is_same_name(cell, "true") || is_same_name(cell, "1");
    if (!is_true && !is_same_name(cell, "false") && !is_same_name(cell, "0"))
        refuse(r, "expected true or false", cell);
    return json_boolean(is_true);
}

/* Takes what others have, too, from the memory of the row's unit. */
static void take_tied(reader *r, json_t *unit, json_t *bytes, const char *name) {
    json_t *own[] = {json_object_get(unit, "memory"),
                     json_object_get(json_object_get(unit, "least"), "memory"),
                     json_object_get(json_object_get(unit, "most"), "memory")};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
        const json_int_t rest = json_integer_value(own[i]) - json_integer_value(bytes);
        if (rest < 0 && (i == 0 || own[i] != NULL))
            refuse(r, "the layer's memory is less than what is tied, which is part of it", name);
        else if (own[i] != NULL)
            json_integer_set(own[i], rest);
    }
}

/* Adds the row's unit to what it shares: "NAME:BYTES", which ends here. */
static void add_shared(reader *r, column c, char *cell, json_t *unit) {
    char *colon = strchr(cell, ':');
    if (colon == NULL || colon == cell) {
        refuse(r, "expected what is shared, with its bytes, like tied:24MiB", cell);
        return;
    }
    *colon = '\0';
    json_decref(new_text(r, cell, strlen(cell))); /* refuses what cannot be a key */
    if (r->outcome.status != POPLINER_OK)
        return;
    json_t *bytes = read_bytes(r, colon + 1);
    json_t *own = json_object_get(r->shared, cell);
    if (own == NULL) {
        own = json_pack("{s:[], s:O}", "units", "memory", bytes);
        add(r, r->shared, cell, own);
    } else if (!json_equal(bytes, json_object_get(own, "memory"))) {
        refuse(r, "what has this name has other bytes in an earlier row", cell);
    }
    if (r->outcome.status == POPLINER_OK)
        has(r,
            json_array_append(json_object_get(own, "units"), json_object_get(unit, "name")) == 0);
    if (r->outcome.status == POPLINER_OK && c == COLUMN_TIED)
        take_tied(r, unit, bytes, cell);
    json_decref(bytes);
}

/* Several may have spaces between them. */
static void read_shared(reader *r, column c, char *cell, json_t *unit) {
    for (size_t length; r->outcome.status == POPLINER_OK; cell += length + 1) {
        cell += strspn(cell, " ");
        length = strcspn(cell, " ");
        const bool is_last = cell[length] == '\0';
        cell[length] = '\0';
        if (length > 0)
            add_shared(r, c, cell, unit);
        if (is_last)
            return;
    }
}

static void read_cell(reader *r, column c, char *cell, json_t *unit) {
    r->column = columns[c].name;
    if (c == COLUMN_SHARED || c == COLUMN_TIED)
        read_shared(r, c, cell, unit);
    else if (c == COLUMN_CUT)
        has(r, json_array_append_new(r->cuts, read_bytes(r, *cell == '\0' ? "0" : cell)) == 0);
    else if (*cell != '\0' || c == COLUMN_NAME)
        add(r, unit, columns[c].key, columns[c].read(r, cell));
}

static void read_row(reader *r) {
    json_t *unit = json_pack("{s:I}", "line", (json_int_t)r->line);
    has(r, json_array_append_new(r->units, unit) == 0);
    if (r->num_cells != r->num_columns)
        pl_outcome_fail(&r->outcome, POPLINER_ERROR_INPUT,
                        "%s: line %zu: expected as many cells as the first row has, %zu, found %zu",
                        r->path, r->line, r->num_columns, r->num_cells);
    if (json_array_size(r->units) > PL_MAX_UNITS)
        pl_outcome_fail(&r->outcome, POPLINER_ERROR_INPUT,
                        "%s: line %zu: expected at most %d layers", r->path, r->line,
                        (int)PL_MAX_UNITS);
    for (popliner_need need = POPLINER_NUM_NEEDS; need-- > 0;) {
        const char *key = pl_estimate_keys[need];
        for (column c = 0; r->outcome.status == POPLINER_OK && c < NUM_COLUMNS; c++) {
            const size_t place = r->places[need][c];
            if (place == SIZE_MAX || (key != NULL && *r->cells[place] == '\0'))
                continue;
            if (key != NULL && json_object_get(unit, key) == NULL)
                add(r, unit, key, json_object());
            read_cell(r, c, r->cells[place], key == NULL ? unit : json_object_get(unit, key));
        }
    }
}

static void read_rows(reader *r) {
    while (take_row(r)) {
        read_row(r);
        if (r->outcome.status == POPLINER_OK)
            r->outcome.status = pl_costs_file_ask(r->file, r->path, r->outcome.error);
    }
    if (json_array_size(r->units) == 0)
        pl_outcome_fail(&r->outcome, POPLINER_ERROR_INPUT, "%s: the table has no layers", r->path);
    json_t *list = json_object_size(r->shared) > 0 ? json_array() : NULL;
    const char *name;
    json_t *own;
    json_object_foreach(r->shared, name, own) {
        has(r, json_array_append(list, own) == 0);
    }
    if (list != NULL)
        add(r, r->root, "shared", list);
    /* there is no cut after the last layer */
    json_array_remove(r->cuts, json_array_size(r->cuts) - 1);
    if (r->places[0][COLUMN_CUT] != SIZE_MAX)
        add(r, r->root, "cuts", json_incref(r->cuts));
}

popliner_status pl_read_costs_csv(const char *text, size_t length, const char *path,
                                  const popliner_pipeline *pipeline, pl_costs_file *file,
                                  bool *is_table, popliner_error *error) {
    char *copy = strndup(text, length);
    reader r = {.path = path, .outcome.error = error, .file = file, .rest = copy, .end_line = 1};
    r.root = json_pack("{s:s, s:i}", "format", "popliner-costs", "version", 1);
    r.units = json_array();
    r.cuts = json_array();
    r.shared = json_object();
    const bool has_nul = copy != NULL && strlen(copy) < length;
    *is_table = has(&r, copy != NULL && r.root != NULL && r.cuts != NULL && r.shared != NULL &&
                            json_object_set(r.root, "units", r.units) == 0) &&
                read_head(&r);
    if (*is_table && has_nul)
        pl_outcome_fail(&r.outcome, POPLINER_ERROR_INPUT, "%s: a NUL character is in the table",
                        path);
    if (*is_table && r.outcome.status == POPLINER_OK)
        read_rows(&r);
    popliner_status status = r.outcome.status;
    if (*is_table && status == POPLINER_OK)
        status = pl_read_costs_json(r.root, true, path, pipeline, file, error);
    json_decref(r.root);
    json_decref(r.units);
    json_decref(r.cuts);
    json_decref(r.shared);
    free(r.cells);
    free(copy);
    return status;
}
