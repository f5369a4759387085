/* The parts of a stage's memory: one table with a row for each.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_MEMORY_PARTS_H
#define PL_MEMORY_PARTS_H

#include "popliner/profile.h"
#include "popliner/stage.h"
#include "profile/category.h"

/* The groups of code, the kinds of memory that programs need in addition to data: the parts from
 * PL_FIRST_CODE to UNEXPLAINED. */
enum {
    PL_FIRST_CODE = POPLINER_PART_VERTEX_CODE,
    PL_VERTEX_CODE = POPLINER_PART_VERTEX_CODE - PL_FIRST_CODE,
    PL_VERTEX_STATE = POPLINER_PART_VERTEX_STATE - PL_FIRST_CODE,
    PL_EXCHANGE_CODE = POPLINER_PART_EXCHANGE_CODE - PL_FIRST_CODE,
    PL_CONTROL_CODE = POPLINER_PART_CONTROL_CODE - PL_FIRST_CODE,
    PL_NUM_CODE_GROUPS = POPLINER_PART_UNEXPLAINED - PL_FIRST_CODE,
};

/* When `mem` of a certificate shows a part; the parts are in its order. */
typedef enum pl_part_place {
    PL_PART_ALWAYS,
    PL_PART_FULL,     /* in the full model */
    PL_PART_TRAINING, /* in the full model, for a pipeline that trains */
    PL_PART_KEPT,     /* for a pipeline that stores something */
    PL_PART_NOWHERE,
} pl_part_place;

typedef struct pl_part_row {
    const char *name;     /* "vertex_code", as in JSON */
    const char *column;   /* "vertex_code_bytes", as in tables */
    const char *text;     /* for people: "vertex code" */
    pl_category category; /* the category of its always-live variables; OTHER for none */
    pl_part_place place;
} pl_part_row;

extern const pl_part_row pl_parts[POPLINER_NUM_PARTS];

/* Returns the group of variables of a category; PL_NUM_CODE_GROUPS for data and everything that
 * programs do not report. Vertex field data and copy descriptors are vertex state if the profile
 * has them by compute set. */
int pl_code_group(const popliner_profile *profile, size_t category);

/* A part of the fullest tile of a stage. */
typedef struct pl_tile_part {
    const char *key;  /* "code_bytes", as in JSON */
    const char *text; /* for people: "code and vertex state" */
    size_t place;     /* of the bytes in popliner_stage_detail */
} pl_tile_part;

enum { PL_NUM_TILE_PARTS = 8 };
extern const pl_tile_part pl_tile_parts[PL_NUM_TILE_PARTS];

/* Returns a member of pl_tile_parts. */
uint64_t pl_tile_part_bytes(const popliner_stage_detail *detail, size_t part);

/* True if the part is within another part. */
static inline bool pl_part_is_within(int part) {
    return (POPLINER_PARTS_WITHIN >> part & 1) != 0;
}

/* Returns the sum of the parts that are not within others. */
static inline uint64_t pl_parts_sum(const uint64_t part_bytes[POPLINER_NUM_PARTS]) {
    uint64_t bytes = 0;
    for (int part = 0; part < POPLINER_NUM_PARTS; part++)
        bytes += pl_part_is_within(part) ? 0 : part_bytes[part];
    return bytes;
}

/* On a tile, or over all: the parts of a stage, the stash of one copy, the layout without copies;
 * and what copies change. An array of numbers, which is stored as bytes. */
enum {
    PL_SUM_COPY_LAYOUT = POPLINER_NUM_PARTS, /* of each copy */
    PL_SUM_FREED,                            /* not live itself if there are copies */
    PL_SUM_FREED_LAYOUT,
    PL_NUM_DETAIL_SUMS,
};
typedef struct pl_detail_sums {
    uint64_t bytes[PL_NUM_DETAIL_SUMS];
} pl_detail_sums;

#endif
