/* Bytes at a row of places, added range by range, and their maximum.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_MEMORY_PEAK_TREE_H
#define PL_MEMORY_PEAK_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A segment tree. Each node has what was added to all of its places at once, and the maximum of
 * what was added below it, so that adding to a range costs at most the depth of the tree, and the
 * maximum of all places is that of the root. (Bentley, "Solutions to Klee's rectangle problems",
 * 1977, for the tree; that sums need no pushing down, because their order does not matter, is
 * folklore.) Changes are noted and carried to the root for many ranges at once: those of one unit
 * are close together. */
typedef struct pl_peak_tree {
    size_t num_leaves;          /* a power of two, at least the number of places */
    int depth;                  /* of the leaves: num_leaves is 2^depth */
    size_t capacity;            /* of `nodes`, and twice that of `is_noted` and `noted` */
    struct pl_peak_node *nodes; /* [2 * num_leaves], owned; the root is 1, the leaves come last */
    bool *is_noted;             /* [num_leaves], owned: nodes below which something changed */
    /* [num_leaves], owned: those of depth d from index 2^d on */
    uint32_t *noted;
    size_t num_noted[64]; /* at each depth */
} pl_peak_tree;

/* Initialises the tree with `bytes` of num_places places; false if memory is short. Zero-initialise
 * before, free with pl_peak_tree_free. O(places). */
bool pl_peak_tree_begin(pl_peak_tree *tree, const uint64_t *bytes, size_t num_places);
void pl_peak_tree_free(pl_peak_tree *tree);

/* Makes the tree equal to another one, which is settled; false if memory is short. O(places), as
 * fast as copying. */
bool pl_peak_tree_copy(pl_peak_tree *tree, const pl_peak_tree *from);

/* Adds `bytes` at the places from first_place to end_place - 1. Settle the tree before the next
 * query. O(log places). */
void pl_peak_tree_add(pl_peak_tree *tree, size_t first_place, size_t end_place, uint64_t bytes);

/* Updates the tree. O(ranges added * log places), less if they are close together. */
void pl_peak_tree_settle(pl_peak_tree *tree);

/* Returns the maximum over all places; 0 if there is none. O(1). */
uint64_t pl_peak_tree_most(const pl_peak_tree *tree);

/* Returns the first place that has the maximum; 0 if there is none. O(log places). */
size_t pl_peak_tree_place(const pl_peak_tree *tree);

/* Returns the maximum over the places from first_place to end_place - 1, and sets *place to the
 * first place that has it; 0 and first_place if there is none. O(log^2 places). */
uint64_t pl_peak_tree_most_within(const pl_peak_tree *tree, size_t first_place, size_t end_place,
                                  size_t *place);

#endif
