/* A profile of sixteen programs, on two tiles, which agrees with itself in all that is checked: two
 * layers and a function, exchanges of each kind, a loop, streams, estimated and measured cycles.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_TESTS_FUZZ_SMALL_PROFILE_H
#define PL_TESTS_FUZZ_SMALL_PROFILE_H

#include <sqlite3.h>

/* Makes it in memory, with small pages. */
sqlite3 *small_profile_make(void);

#endif
