/* The plots of popliner/report.h.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_SHOW_PLOT_H
#define PL_SHOW_PLOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/growth.h"
#include "popliner/certificate.h"
#include "popliner/operations.h"
#include "popliner/profile.h"
#include "popliner/report.h"

/* Whether a plot can be as large as the options say. Errors: USAGE. */
popliner_status pl_plot_check(const popliner_plot_options *options, popliner_error *error);

/* Errors: MEMORY; of what is live at each step, USAGE if the variables are not loaded. */
popliner_status pl_plot_tiles(const popliner_profile *profile, const popliner_plot_options *options,
                              char **text, popliner_error *error);
popliner_status pl_plot_liveness(const popliner_profile *profile, const popliner_chain *chain,
                                 const popliner_plot_options *options, char **text,
                                 popliner_error *error);
popliner_status pl_plot_plan(const popliner_certificate *certificate,
                             const popliner_plot_options *options, char **text,
                             popliner_error *error);

/* ---- Bars drawn with characters ---- */

/* What a bar is made of. */
typedef enum pl_ink {
    PL_INK_BASE,  /* its lower part */
    PL_INK_REST,  /* what is above that */
    PL_INK_LIMIT, /* a line that it should not reach */
    PL_INK_OVER,  /* what is above the limit */
} pl_ink;

/* A text for a terminal; its options say what that can show. */
typedef struct pl_canvas {
    popliner_plot_options options;
    pl_text text;
} pl_canvas;

/* Columns of two parts each, from the bottom up: height lines, of left_width characters for the
 * axis and count columns each. */
typedef struct pl_columns {
    size_t count;
    const uint64_t *base_bytes;  /* [count] */
    const uint64_t *total_bytes; /* [count]: base and what is above it */
    uint64_t top_bytes;          /* of the highest line; at least 1 */
    uint64_t limit_bytes;        /* a line where it is below the top; 0: none */
} pl_columns;

enum { PL_AXIS_WIDTH = 10 };

void pl_canvas_columns(pl_canvas *canvas, const pl_columns *columns);

/* A bar to the right: `width` characters stand for top_bytes, and what it does not fill is left
 * empty. What is above the limit is marked as such, and so is the limit. */
void pl_canvas_bar(pl_canvas *canvas, size_t width, uint64_t bytes, uint64_t limit_bytes,
                   uint64_t top_bytes);

/* A name in exactly `width` characters: cut or filled. What a terminal would obey, and in ASCII
 * what it cannot show, is replaced. */
void pl_canvas_name(pl_canvas *canvas, const char *name, size_t width);

/* How a part of a bar looks, for captions. */
void pl_canvas_sample(pl_canvas *canvas, pl_ink ink);

/* "34,127" */
void pl_canvas_number(pl_canvas *canvas, uint64_t number);

#endif
