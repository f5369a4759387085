/* What standard output can show.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_COMMAND_TERMINAL_H
#define PL_COMMAND_TERMINAL_H

#include "popliner/plot.h"

/* A plot for standard output: as wide as the terminal (or as COLUMNS says; 80 where neither tells),
 * in Unicode where the locale's characters are UTF-8, in colour on a terminal alone, and never with
 * NO_COLOR set (no-color.org) or on a dumb one. */
popliner_plot_options terminal_plot_options(void);

#endif
