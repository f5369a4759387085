/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "memory/peak_tree.h"

#include <stdlib.h>
#include <string.h>

#include "base/growth.h"
#include "base/numbers.h"

struct pl_peak_node {
    uint64_t max_bytes;   /* over its places, without what was added to nodes above */
    uint64_t added_bytes; /* to all of its places at once */
};

/* Allocates num_places places; nothing is noted then. */
static bool reserve_nodes(pl_peak_tree *tree, size_t num_places) {
    size_t num_leaves = 1;
    int depth = 0;
    for (; num_leaves < num_places; num_leaves *= 2)
        depth++;
    if (2 * num_leaves > tree->capacity) {
        pl_peak_tree_free(tree);
        tree->nodes = pl_new_array(2 * num_leaves, sizeof *tree->nodes);
        tree->is_noted = pl_new_array(num_leaves, sizeof *tree->is_noted);
        tree->noted = pl_new_array(num_leaves, sizeof *tree->noted);
        if (tree->nodes == NULL || tree->is_noted == NULL || tree->noted == NULL) {
            pl_peak_tree_free(tree);
            return false;
        }
        tree->capacity = 2 * num_leaves;
    } else {
        pl_peak_tree_settle(tree);
    }
    tree->num_leaves = num_leaves;
    tree->depth = depth;
    return true;
}

/* Updates a node from those below it; true if it changed. */
static bool update(pl_peak_tree *tree, size_t node) {
    struct pl_peak_node *nodes = tree->nodes;
    uint64_t before_bytes = nodes[node].max_bytes;
    nodes[node].max_bytes = nodes[node].added_bytes +
                            pl_larger(nodes[2 * node].max_bytes, nodes[2 * node + 1].max_bytes);
    return nodes[node].max_bytes != before_bytes;
}

bool pl_peak_tree_begin(pl_peak_tree *tree, const uint64_t *bytes, size_t num_places) {
    if (!reserve_nodes(tree, num_places))
        return false;
    memset(tree->nodes, 0, 2 * tree->num_leaves * sizeof *tree->nodes);
    for (size_t i = 0; i < num_places; i++)
        tree->nodes[tree->num_leaves + i].max_bytes = bytes[i];
    for (size_t node = tree->num_leaves; --node > 0;)
        update(tree, node);
    return true;
}

void pl_peak_tree_free(pl_peak_tree *tree) {
    free(tree->nodes);
    free(tree->is_noted);
    free(tree->noted);
    *tree = (pl_peak_tree){0};
}

bool pl_peak_tree_copy(pl_peak_tree *tree, const pl_peak_tree *from) {
    if (!reserve_nodes(tree, from->num_leaves))
        return false;
    memcpy(tree->nodes, from->nodes, 2 * from->num_leaves * sizeof *tree->nodes);
    return true;
}

/* Notes the parent of a changed node at a depth. */
static void note_parent(pl_peak_tree *tree, size_t node, int depth) {
    size_t parent = node / 2;
    if (depth == 0 || tree->is_noted[parent])
        return;
    tree->is_noted[parent] = true;
    tree->noted[((size_t)1 << (depth - 1)) + tree->num_noted[depth - 1]++] = (uint32_t)parent;
}

static void add_to_node(pl_peak_tree *tree, size_t node, int depth, uint64_t bytes) {
    tree->nodes[node].max_bytes += bytes;
    tree->nodes[node].added_bytes += bytes;
    note_parent(tree, node, depth);
}

void pl_peak_tree_add(pl_peak_tree *tree, size_t first_place, size_t end_place, uint64_t bytes) {
    size_t left = first_place + tree->num_leaves;
    size_t end = end_place + tree->num_leaves;
    /* a second child at the left end, or a first child at the right end, has its parent outside the
     * range */
    for (int depth = tree->depth; left < end; left /= 2, end /= 2, depth--) {
        if (left % 2 == 1)
            add_to_node(tree, left++, depth, bytes);
        if (end % 2 == 1)
            add_to_node(tree, --end, depth, bytes);
    }
}

void pl_peak_tree_settle(pl_peak_tree *tree) {
    for (int depth = tree->depth; depth-- > 0;) {
        const uint32_t *noted = tree->noted + ((size_t)1 << depth);
        for (size_t i = 0; i < tree->num_noted[depth]; i++) {
            tree->is_noted[noted[i]] = false;
            if (update(tree, noted[i]))
                note_parent(tree, noted[i], depth);
        }
        tree->num_noted[depth] = 0;
    }
}

uint64_t pl_peak_tree_most(const pl_peak_tree *tree) {
    return tree->nodes[1].max_bytes;
}

/* Returns the first place below a node that has the node's maximum. */
static size_t descend(const pl_peak_tree *tree, size_t node) {
    const struct pl_peak_node *nodes = tree->nodes;
    while (node < tree->num_leaves)
        node = 2 * node + (nodes[2 * node].max_bytes < nodes[2 * node + 1].max_bytes);
    return node - tree->num_leaves;
}

size_t pl_peak_tree_place(const pl_peak_tree *tree) {
    return descend(tree, 1);
}

/* Returns what was added to the nodes above this one. */
static uint64_t added_above(const pl_peak_tree *tree, size_t node) {
    uint64_t bytes = 0;
    while ((node /= 2) > 0)
        bytes += tree->nodes[node].added_bytes;
    return bytes;
}

uint64_t pl_peak_tree_most_within(const pl_peak_tree *tree, size_t first_place, size_t end_place,
                                  size_t *place) {
    uint64_t max_bytes = 0;
    size_t most_node = 0;
    /* the largest nodes inside the range, from left to right */
    for (size_t at = first_place; at < end_place;) {
        size_t node = at + tree->num_leaves;
        size_t size = 1;
        for (; node % 2 == 0 && at + 2 * size <= end_place; node /= 2)
            size *= 2;
        uint64_t bytes = tree->nodes[node].max_bytes + added_above(tree, node);
        if (bytes > max_bytes) {
            max_bytes = bytes;
            most_node = node;
        }
        at += size;
    }
    *place = most_node == 0 ? first_place : descend(tree, most_node);
    return max_bytes;
}
