/* Machines with too little memory: the n-th allocation fails, alone or with all that follow.
 *
 * A test that links scarce_memory.c gives the linker the options that tests/CMakeLists.txt lists
 * for it. Then these are refused: the allocations of the library and the test, and those that
 * jansson, PCRE2, SQLite and zlib make for the library.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_TESTS_SCARCE_MEMORY_H
#define PL_TESTS_SCARCE_MEMORY_H

#include "test.h"

#include "popliner/error.h"

/* First of all in main(): SQLite takes its allocator only before its first use. */
void scarce_memory_prepare(void);

/* Something that makes a text of all that it finds out, which is freed here. */
typedef popliner_status (*scarce_memory_task)(void *user, char **text, popliner_error *error);

/* Does the task with plenty of memory, then with the first, second, ... allocation refused until
 * there is none left to refuse, once alone and once with all later ones. Each time the text is the
 * same, or the failure is MEMORY; and nothing is left behind. Returns how many allocations the task
 * makes. */
size_t scarce_memory_check(const char *what, scarce_memory_task task, void *user);

#endif
