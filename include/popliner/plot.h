/* popliner: plots of bytes for a terminal, made of characters.
 *
 * Threads: like the functions of popliner/analysis.h: while one thread works with an analysis,
 * others wait.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef POPLINER_PLOT_H
#define POPLINER_PLOT_H

#include <stdbool.h>
#include <stddef.h>

#include "popliner/analysis.h"
#include "popliner/certificate.h"
#include "popliner/chain.h"
#include "popliner/error.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum popliner_plot {
    POPLINER_PLOT_TILES,    /* what is live on each tile by the compiler's account */
    POPLINER_PLOT_LIVENESS, /* what is live on all tiles at each step, and the units of the chain */
    POPLINER_PLOT_PLAN,     /* what each stage of a certificate needs, against its limit */
} popliner_plot;

/* How a plot looks. Begin with POPLINER_PLOT_OPTIONS_INIT. */
typedef struct popliner_plot_options {
    size_t struct_size;
    size_t width;    /* of a line, in characters; from 40 to 1000 */
    size_t height;   /* of what is drawn, without axes and captions, in lines; from 4 to 200 */
    bool is_ascii;   /* else blocks of Unicode in UTF-8 */
    bool has_colour; /* by the escape sequences of ECMA-48 */
} popliner_plot_options;

#define POPLINER_PLOT_OPTIONS_INIT                                                                 \
    { sizeof(popliner_plot_options), 80, 16, false, false }

/* Makes a plot, complete with its last line end, which the caller frees with free(). `model` says
 * what the units of LIVENESS are; `certificate` is that of PLAN, else NULL. `options` may be NULL.
 * Where there are more tiles or steps than columns, each column is the largest of several. What a
 * loaded analysis lacks is loaded. Errors: USAGE for a plot, model or size that there is not, or
 * for PLAN without a certificate of a profile; INPUT when a file that was loaded is damaged;
 * MEMORY. Cost: LIVENESS takes a pass over the variables. */
popliner_status popliner_plot_text(popliner_analysis *analysis, popliner_plot plot,
                                   popliner_memory_model model,
                                   const popliner_certificate *certificate,
                                   const popliner_plot_options *options, char **text,
                                   popliner_error *error);

#ifdef __cplusplus
}
#endif

#endif
