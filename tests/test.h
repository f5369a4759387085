/* What every test file needs: cmocka with its prerequisites, and repeatable random numbers.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_TESTS_TEST_H
#define PL_TESTS_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Many tests are in one program: there "main" is defined as another name (tests/CMakeLists.txt). */
#ifdef main
int main(void);
#endif

/* Ends a test, saying what is missing, as tools/test repeats it. */
#define test_skip(reason)                                                                          \
    do {                                                                                           \
        print_message("left out: %s\n", reason);                                                   \
        skip();                                                                                    \
    } while (0)

/* The next number of a 64-bit linear congruential sequence (Knuth's MMIX constants); use the upper
 * bits. */
static inline uint64_t test_random(uint64_t previous) {
    return previous * 6364136223846793005u + 1442695040888963407u;
}

/* The next number of the sequence, made one of 0 ... limit - 1. */
static inline size_t test_below(uint64_t *random, size_t limit) {
    *random = test_random(*random);
    return (size_t)((*random >> 20) % limit);
}

#endif
