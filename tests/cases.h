/* Which cases a test takes: in the quick run as many as a second of a processor allows, more in the
 * full run, and in the nightly run those too that take hours. ctest says which by an argument
 * (tests/CMakeLists.txt).
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_TESTS_CASES_H
#define PL_TESTS_CASES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Takes the arguments of a test program after the name of the concept: --cases=quick, which is the
 * default, --cases=full or --cases=nightly; or KIND SEED, for a single instance of random ones.
 * False if they are something else. */
bool test_choose_cases(int num_arguments, char **arguments);

/* Whether every case is to be checked, as in the full and in the nightly run. The first "no" is
 * printed: ctest fails a test that leaves cases out of the full run (tests/CMakeLists.txt). */
bool test_takes_all(void);

/* Whether case `index` of many is to be checked: in the quick run if it is one of every `every`,
 * from the first on, and the less is left of the budget, the fewer of these, by a fixed order that
 * looks random; in the full run if it is one of the first two of `every`, or `every` is below 4; in
 * the nightly run always, for which the test needs a form unless `every` is below 4. */
bool test_takes_case(size_t index, size_t every);

/* Whether the budget left cases out: then it means nothing how often something was met. */
bool test_was_short(void);

/* What was met has to be enough, unless the budget left cases out. */
#define assert_met(enough) assert_true(test_was_short() || (enough))

/* Prints how many cases were taken and left. */
void test_report_cases(void);

/* How many there are to be in this run; the test needs a form for the nightly run. */
size_t test_chosen(size_t quick, size_t full, size_t nightly);

/* Whether the test was started for a single instance, of this kind; then its seed is told. */
bool test_replays(const char *kind, uint64_t *seed);

#endif
