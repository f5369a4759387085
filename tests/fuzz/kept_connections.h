/* Connections of SQLite that are opened once for many runs, with the statements that were prepared:
 * both would take longer than all else.
 *
 * Programs that use this are linked with kept_connections.c in the place of some functions of
 * SQLite (CMakeLists.txt); to the library it looks as if it opened, prepared and closed each time.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_TESTS_FUZZ_KEPT_CONNECTIONS_H
#define PL_TESTS_FUZZ_KEPT_CONNECTIONS_H

#include <stdbool.h>

/* Keeps connections that only read the database at this path, or no longer. What they find there
 * may change while none is open, if the header tells of it as SQLite's writers do. */
void kept_connections_use(const char *path, bool is_kept);

#endif
