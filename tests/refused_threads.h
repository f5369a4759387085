/* Machines that give no further thread.
 *
 * A test that links refused_threads.c gives the linker the option that tests/CMakeLists.txt lists
 * for it.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_TESTS_REFUSED_THREADS_H
#define PL_TESTS_REFUSED_THREADS_H

#include <stdbool.h>

/* While it is set, pthread_create() fails with EAGAIN, for the library as for the test. */
extern bool refuses_threads;

#endif
