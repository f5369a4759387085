/* The file of the small profile, in which values, rows, columns and tables have changed.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_TESTS_FUZZ_TABLE_CHANGES_H
#define PL_TESTS_FUZZ_TABLE_CHANGES_H

#include <stddef.h>
#include <stdint.h>

/* Makes it with the changes of these records; free it with sqlite3_free(). */
unsigned char *table_changes_make(const uint8_t *records, size_t num_records, size_t *size);

#endif
