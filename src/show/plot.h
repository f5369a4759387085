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

/* The parts of a bar. */
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

/* A bar to the right: `width` characters stand for top_bytes, and what it does not fill is left
 * empty. What is above the limit is marked as such, and so is the limit. */
void pl_canvas_bar(pl_canvas *canvas, size_t width, uint64_t bytes, uint64_t limit_bytes,
                   uint64_t top_bytes);

#endif
