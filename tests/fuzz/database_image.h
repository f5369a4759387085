/* The bytes of an SQLite file, before it is one.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_TESTS_FUZZ_DATABASE_IMAGE_H
#define PL_TESTS_FUZZ_DATABASE_IMAGE_H

#include <stddef.h>
#include <stdint.h>

#include <sqlite3.h>

/* What a file would hold that has what this connection sees; free it with sqlite3_free(). */
unsigned char *database_image_take(sqlite3 *sqlite, size_t *size);

/* Changes bytes as a record of an input tells, or cuts them off; returns how many there are. */
size_t database_image_change(unsigned char *image, size_t size, const uint8_t *record);

#endif
