/* The time that work takes.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_BASE_CLOCK_H
#define PL_BASE_CLOCK_H

/* Seconds of a clock that only goes forward. */
double pl_clock_seconds(void);

#endif
