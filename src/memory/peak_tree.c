/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "memory/peak_tree.h"

#include <stdlib.h>
#include <string.h>

#include "base/growth.h"

struct pl_peak_node {
    uint64_t most_bytes;  /* of its places, without what was added to nodes above */
    uint64_t added_bytes; /* to all of its places at once */
};

/* Makes room for so many places. */
static bool reserve_nodes(pl_peak_tree *tree, size_t num_places) {
    void *nodes = tree->nodes;
    size_t num_leaves = 1;
    while (num_leaves < num_places)
        num_leaves *= 2;
    if (!pl_reserve(&nodes, &tree->capacity, 2 * num_leaves, sizeof *tree->nodes))
        return false;
    tree->nodes = nodes;
    tree->num_leaves = num_leaves;
    return true;
}

static uint64_t larger(uint64_t a, uint64_t b) {
    return a > b ? a : b;
}

/* Lets a node have the most of those below it; whether that changes it. */
static bool settle(pl_peak_tree *tree, size_t node) {
    struct pl_peak_node *nodes = tree->nodes;
    uint64_t before_bytes = nodes[node].most_bytes;
    nodes[node].most_bytes = nodes[node].added_bytes +
                             larger(nodes[2 * node].most_bytes, nodes[2 * node + 1].most_bytes);
    return nodes[node].most_bytes != before_bytes;
}

bool pl_peak_tree_begin(pl_peak_tree *tree, const uint64_t *bytes, size_t num_places) {
    if (!reserve_nodes(tree, num_places))
        return false;
    memset(tree->nodes, 0, 2 * tree->num_leaves * sizeof *tree->nodes);
    for (size_t i = 0; i < num_places; i++)
        tree->nodes[tree->num_leaves + i].most_bytes = bytes[i];
    for (size_t node = tree->num_leaves; --node > 0;)
        settle(tree, node);
    return true;
}

void pl_peak_tree_free(pl_peak_tree *tree) {
    free(tree->nodes);
    *tree = (pl_peak_tree){0};
}

bool pl_peak_tree_copy(pl_peak_tree *tree, const pl_peak_tree *from) {
    if (!reserve_nodes(tree, from->num_leaves))
        return false;
    memcpy(tree->nodes, from->nodes, 2 * from->num_leaves * sizeof *tree->nodes);
    return true;
}

static void add_to_node(pl_peak_tree *tree, size_t node, uint64_t bytes) {
    tree->nodes[node].most_bytes += bytes;
    tree->nodes[node].added_bytes += bytes;
}

void pl_peak_tree_add(pl_peak_tree *tree, size_t first_place, size_t end_place, uint64_t bytes) {
    if (first_place >= end_place)
        return;
    size_t left = first_place + tree->num_leaves;
    size_t end = end_place + tree->num_leaves;
    size_t before = left / 2; /* the ends, on their way to the root */
    size_t behind = (end - 1) / 2;
    /* level by level: what is the second child at the left end, or a first one at the right end, has
     * no parent inside the range */
    for (; left < end; left /= 2, end /= 2) {
        if (left % 2 == 1)
            add_to_node(tree, left++, bytes);
        if (end % 2 == 1)
            add_to_node(tree, --end, bytes);
    }
    for (; before != behind; before /= 2, behind /= 2) {
        settle(tree, before);
        settle(tree, behind);
    }
    if (before > 0)
        settle(tree, before);
    /* all that was added is below this one's parent */
    do
        before /= 2;
    while (before > 0 && settle(tree, before));
}

uint64_t pl_peak_tree_most(const pl_peak_tree *tree) {
    return tree->nodes[1].most_bytes;
}

/* The first place below a node that has the node's most. */
static size_t descend(const pl_peak_tree *tree, size_t node) {
    const struct pl_peak_node *nodes = tree->nodes;
    while (node < tree->num_leaves)
        node = 2 * node + (nodes[2 * node].most_bytes < nodes[2 * node + 1].most_bytes);
    return node - tree->num_leaves;
}

size_t pl_peak_tree_place(const pl_peak_tree *tree) {
    return descend(tree, 1);
}

/* What was added to the nodes above this one. */
static uint64_t added_above(const pl_peak_tree *tree, size_t node) {
    uint64_t bytes = 0;
    while ((node /= 2) > 0)
        bytes += tree->nodes[node].added_bytes;
    return bytes;
}

uint64_t pl_peak_tree_most_within(const pl_peak_tree *tree, size_t first_place, size_t end_place,
                                  size_t *place) {
    uint64_t most_bytes = 0;
    size_t most_node = 0;
    /* the largest nodes inside the range, from left to right */
    for (size_t at = first_place; at < end_place;) {
        size_t node = at + tree->num_leaves;
        size_t size = 1;
        for (; node % 2 == 0 && at + 2 * size <= end_place; node /= 2)
            size *= 2;
        uint64_t bytes = tree->nodes[node].most_bytes + added_above(tree, node);
        if (bytes > most_bytes) {
            most_bytes = bytes;
            most_node = node;
        }
        at += size;
    }
    *place = most_node == 0 ? first_place : descend(tree, most_node);
    return most_bytes;
}
