/* The concepts whose tests a program holds: tests/CMakeLists.txt makes the table of its list.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_TESTS_CONCEPTS_H
#define PL_TESTS_CONCEPTS_H

typedef struct test_concept {
    const char *name;
    int (*run)(void); /* main of tests/<name>_test.c */
} test_concept;

/* Ends with one without a name. */
extern const test_concept test_concepts[];

#endif
