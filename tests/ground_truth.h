/* Checks that a profile agrees with itself: its tables of memory are recomputed from its variables,
 * its steps from its programs, byte by byte and step by step.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_TESTS_GROUND_TRUTH_H
#define PL_TESTS_GROUND_TRUTH_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>

/* Whether the profile holds to these relations, on every tile and at every step:
 * 1. always_live_bytes of a tile are those of its variables in always live classes;
 * 2. not_always_live_max_bytes is the most that its other variables take up at any step;
 * 3. total counts the addresses in use, total_including_gaps ends after the last of them;
 * 4. memory_by_category tells bytes with an address of their own from those that share it;
 * 5. the running sum of memory_not_always_live_by_step_and_ipu is what is live at each step;
 * 6. vertices, edges, variables and compute sets are as many as graph_info says;
 * 7. vertices take up the same by type, by compute set and by category;
 * 8. depth_first_steps is the walk of the program tree.
 * If not, the first difference found is reported in `why`. */
bool ground_truth_holds(sqlite3 *db, char *why, size_t why_size);

/* Whether no two variables of a tile share an address while both are live, and every variable is
 * aligned. */
bool lives_keep_apart(sqlite3 *db, char *why, size_t why_size);

/* Whether every id of a variable, program, class, type, region or table row that the profile
 * mentions exists in it. */
bool references_exist(sqlite3 *db, char *why, size_t why_size);

#endif
