/* Where the variables of a profile are and when they live, for a page.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_SHOW_PAGE_VARIABLES_H
#define PL_SHOW_PAGE_VARIABLES_H

#include "base/growth.h"
#include "memory/unit_usage.h"
#include "popliner/error.h"
#include "popliner/profile.h"

/* Adds an object:
 *
 *   "named"    bytes on every tile of each unlowered variable, by category of its pieces
 *   "layers"   the same of what the operations of each unit touch, by category
 *   "lives"    of the pieces that are not always live: the bytes of each unlowered variable (none:
 *              0), category and class
 *   "classes"  when those classes live: how many ranges each has, the first step of each range and
 *              the one behind its last
 *
 * Of "named" and "lives" the largest are there, as many as there is room for; "is_whole" says
 * whether these are all. The bytes on tiles are in blocks of "block" tiles, in each of them row
 * after row: the width of a number in bits, the least number (LEB128), and, unless the width is 0,
 * by how much each number is above it, in so many bits, from the lowest bit of the first byte on.
 * All numbers of a table stand for so many times 2^"shift" bytes.
 *
 * `usage` is of units that count from 0 again at num_units. Errors: MEMORY; USAGE where the
 * variables are not loaded. O(variables + rows * tiles), shared among the threads (0: as many as
 * there are processors). */
popliner_status pl_page_add_variables(pl_text *text, const popliner_profile *profile,
                                      const pl_unit_usage *usage, size_t num_units,
                                      size_t num_threads, popliner_error *error);

#endif
