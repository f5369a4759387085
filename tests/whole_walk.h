/* Everything that the public walk tells of a profile.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_TESTS_WHOLE_WALK_H
#define PL_TESTS_WHOLE_WALK_H

#include <stdint.h>

#include "popliner/profile.h"

/* Calls every function of the walk for everything there is, and makes one number of all answers:
 * equal profiles have equal numbers. Fails the test if a call fails. */
uint64_t whole_walk(const popliner_profile *profile);

#endif
