/* Lays text out for people: sentences, entries with a label, and tables with bars.
 *
 * A layout is as wide as the screen, but at least PL_LEAST_WIDTH, and sentences are no wider than
 * PL_MOST_WIDTH: no line is longer unless a single word or number is. Every text that is added
 * becomes printable, and ASCII where the screen has nothing else. Colours repeat what a word or a
 * sign says already.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_BASE_LAYOUT_H
#define PL_BASE_LAYOUT_H

#include "base/text.h"
#include "popliner/error.h"
#include "popliner/report.h"

enum { PL_LEAST_WIDTH = 40, PL_MOST_WIDTH = 100 };

typedef enum pl_tint {
    PL_TINT_NONE,
    PL_TINT_BOLD,
    PL_TINT_GREEN, /* from here on also bold */
    PL_TINT_YELLOW,
    PL_TINT_RED,
} pl_tint;

/* Begin with pl_layout_begin, end with pl_text_finish of its text. */
typedef struct pl_layout {
    popliner_plot_options screen; /* its width is that of the layout */
    pl_text text;
} pl_layout;

void pl_layout_begin(pl_layout *layout, const popliner_plot_options *screen);

/* ---- Sentences ------------------------------------------------------------------------------- */

/* Adds a paragraph: `bold` in this tint, then `plain`, wrapped between words. Frees both. */
void pl_layout_sentence(pl_layout *layout, pl_tint tint, pl_text bold, pl_text plain);

/* Adds "Try         --num-ipus 3    likely fits": a label of PL_LABEL_WIDTH characters, a subject
 * of subject_width (0: none), and words that wrap below themselves, which are freed. */
enum { PL_LABEL_WIDTH = 12 };
void pl_layout_entry(pl_layout *layout, const char *label, const char *subject,
                     size_t subject_width, pl_text words);

/* How many columns a text takes. */
size_t pl_layout_width_of(const char *text);

/* Adds a printable name of at most `width` characters. A longer one lacks its middle, if possible
 * whole parts between slashes. */
void pl_layout_add_name(const pl_layout *layout, pl_text *text, const char *name, size_t width);

/* ---- Tables ---------------------------------------------------------------------------------- */

typedef enum pl_grid_kind {
    PL_GRID_WORDS, /* to the left */
    PL_GRID_NAME,  /* to the left, and shortened where there is no room */
    PL_GRID_LIST,  /* to the left, and continued below, after a ',', where there is no room */
    PL_GRID_RIGHT,
    PL_GRID_BAR,
} pl_grid_kind;

/* A column. It is left out where all its cells are empty. */
typedef struct pl_grid_column {
    const char *name; /* may reach over the columns to its right that have none; NULL: none */
    pl_grid_kind kind;
    size_t gap;          /* blanks before it */
    size_t most_width;   /* of a name, a list, or a bar; 0: the usual */
    size_t least_screen; /* on narrower ones it is left out */
} pl_grid_column;

/* A bar from 0 to `bytes`, then a line to most_bytes if that is more, and a mark at limit_bytes. */
typedef struct pl_grid_bar {
    uint64_t bytes;
    uint64_t most_bytes;
    uint64_t limit_bytes; /* PL_NO_LIMIT: no mark */
} pl_grid_bar;

/* Limits from here on are none. */
#define PL_NO_LIMIT (UINT64_MAX - 1)

typedef struct pl_grid_cell {
    const char *text; /* NULL: a bar, or nothing */
    pl_grid_bar bar;
    bool is_bold; /* the row is, in its first cell */
} pl_grid_cell;

/* Zero-initialise all members except for the columns, unless these are named by the first row; rows
 * are added cell by cell. pl_grid_write frees it. */
typedef struct pl_grid {
    const pl_grid_column *columns;
    size_t num_columns;
    pl_grid_column *named; /* the columns, if the first row names them */
    bool has_names;        /* that row is complete */
    pl_grid_cell *cells;
    size_t num_cells;
    uint64_t top_bytes; /* the most that a bar or its limit has */
    pl_arrays arrays;   /* own the cells and their texts */
} pl_grid;

/* Names the column of the next cell; in rows after the first one it is known. Each row then ends
 * with pl_grid_end_row. */
void pl_grid_name(pl_grid *grid, pl_grid_column column);

void pl_grid_text(pl_grid *grid, const char *text);                  /* NULL: nothing */
void pl_grid_made(pl_grid *grid, pl_text text);                      /* which is freed */
void pl_grid_percent(pl_grid *grid, uint64_t bytes, uint64_t limit); /* PL_NO_LIMIT: nothing */
void pl_grid_bars(pl_grid *grid, pl_grid_bar bar);

/* Ends a row; one that is marked is bold. */
void pl_grid_end_row(pl_grid *grid, bool is_marked);

/* Adds the table: names of columns, then the first max_rows rows and how many more there are, with
 * `more`, which says where. Columns that do not fit come below, after the first column once
 * more. */
void pl_grid_write(pl_grid *grid, size_t max_rows, const char *more, pl_layout *layout);

#endif
