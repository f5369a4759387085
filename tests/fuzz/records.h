/* Inputs that are lists of changes: a head, then records of equal size.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_TESTS_FUZZ_RECORDS_H
#define PL_TESTS_FUZZ_RECORDS_H

#include <stddef.h>
#include <stdint.h>

enum { RECORD_SIZE = 8, MAX_RECORDS = 24 };

/* The records of an input that are looked at: all behind the head, but MAX_RECORDS at most. */
size_t records_count(size_t size, size_t head_size);

/* For LLVMFuzzerCustomMutator: adds, removes, repeats, moves or changes a record, or leaves it to
 * libFuzzer. */
size_t records_mutate(uint8_t *data, size_t size, size_t max_size, unsigned seed, size_t head_size);

/* The number that the last five bytes of a record mean: small, large, near a border, or any. */
int64_t records_number(const uint8_t *record);

#endif
