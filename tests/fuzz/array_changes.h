/* Arrays as a profile and a stored analysis have them, and changes of them by records of an input.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_TESTS_FUZZ_ARRAY_CHANGES_H
#define PL_TESTS_FUZZ_ARRAY_CHANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Arrays that have their items for the same things are of one group: things come and go in all of
 * them. */
typedef struct changing_array {
    uint8_t *bytes; /* with malloc(); the caller's */
    size_t item_size;
    size_t num_items;   /* with the extra ones */
    size_t extra_items; /* that an array of starts has more, and never loses */
    size_t group;
    bool is_changed;
} changing_array;

/* Applies one record. Arrays of a group stay of equal length, unless `breaks_groups`. */
void array_change(changing_array *arrays, size_t num_arrays, const uint8_t *record,
                  bool breaks_groups);

#endif
