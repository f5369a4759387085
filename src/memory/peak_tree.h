/* Bytes at so many places in a row, added range by range, and the most of them.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_MEMORY_PEAK_TREE_H
#define PL_MEMORY_PEAK_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A segment tree: each node has what was added to all of its places at once and the most of what
 * was added below, so that adding to a range, however long, costs the depth of the tree at most,
 * and the most of all places is that of the first node. (Bentley, "Solutions to Klee's rectangle
 * problems", 1977, for the tree; that nothing has to be pushed down, because sums do not depend on
 * their order, is folklore.) What changes is noted and carried to the root for many ranges at once:
 * those of one unit lie close together. */
typedef struct pl_peak_tree {
    size_t num_leaves;          /* a power of two, at least the number of places */
    int depth;                  /* of the leaves: num_leaves is 2 to the power of it */
    size_t capacity;            /* of nodes, and twice that of the next two */
    struct pl_peak_node *nodes; /* [2 * num_leaves], owned; the first is 1, the leaves come last */
    bool *is_noted;             /* [num_leaves], owned: the nodes below which something changed */
    /* [num_leaves], owned: at each depth d, from 2 to the power of d on */
    uint32_t *noted;
    size_t num_noted[64]; /* at each depth */
} pl_peak_tree;

/* Makes the tree have as many places, with these bytes each; false when memory is short.
 * Zero-initialise before, free with pl_peak_tree_free. O(places). */
bool pl_peak_tree_begin(pl_peak_tree *tree, const uint64_t *bytes, size_t num_places);
void pl_peak_tree_free(pl_peak_tree *tree);

/* Makes the tree equal to another one, which is settled; false when memory is short. O(places), as
 * fast as copying. */
bool pl_peak_tree_copy(pl_peak_tree *tree, const pl_peak_tree *from);

/* Adds so many bytes at the places from first_place to end_place - 1. Afterwards the tree has to be
 * settled before it is asked. O(log places). */
void pl_peak_tree_add(pl_peak_tree *tree, size_t first_place, size_t end_place, uint64_t bytes);

/* Brings the tree up to date. O(ranges added * log places), less if they lie close together. */
void pl_peak_tree_settle(pl_peak_tree *tree);

/* The most bytes at any place; 0 if there is none. O(1). */
uint64_t pl_peak_tree_most(const pl_peak_tree *tree);

/* The first place that has the most; 0 if there is none. O(log places). */
size_t pl_peak_tree_place(const pl_peak_tree *tree);

/* The most at the places from first_place to end_place - 1, and the first of them that has it; 0
 * and first_place if there is none. O(log^2 places). */
uint64_t pl_peak_tree_most_within(const pl_peak_tree *tree, size_t first_place, size_t end_place,
                                  size_t *place);

#endif
