/* Inside view of a costs file, and the readers of its formats.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_COSTS_COSTS_FILE_DATA_H
#define PL_COSTS_COSTS_FILE_DATA_H

#include "popliner/costs.h"

#include <jansson.h>

#include "base/bounds.h"
#include "costs/variants.h"

enum {
    /* A table of this many units takes 1 GiB; more are a mistake or need joining first. */
    PL_MAX_UNITS = 16384,
    /* Digits behind the point that times keep. */
    PL_TIME_DIGITS = 9,
    PL_TIME_SCALE = 1000000000,
};

/* The most that all bytes of a region (or all traffic) may add up to. With it, the copies of a
 * pipeline of PL_MAX_UNITS stages stay far below POPLINER_PEAK_FORBIDDEN. */
#define PL_MAX_BYTES ((uint64_t)1 << 48)

/* Memory that a stage needs once if it holds any of these units. */
typedef struct pl_shared_memory {
    size_t *units; /* owned; distinct, ascending */
    size_t num_units;
    uint64_t *bytes; /* [num_regions], owned */
} pl_shared_memory;

/* What the peaks of additive costs are made of, for stages that share an IPU. */
typedef struct pl_additive_costs {
    size_t num_regions;
    uint64_t *capacity_bytes; /* [num_regions], UINT64_MAX for none */
    /* Of the units before unit u, by region: [(num_units + 1) * num_regions]. */
    uint64_t *memory_before;
    uint64_t *stash_before;
    uint64_t *inputs; /* of each unit: [num_units * num_regions] */
    pl_shared_memory *shared;
    size_t num_shared;
    popliner_pipeline pipeline;
} pl_additive_costs;

struct popliner_costs_file {
    /* What callers see. Readers fill its numbers; it gets the pointers when all is read. */
    popliner_costs_file_info info;
    popliner_costs *costs;
    char **names; /* [num_names], owned as are the strings */
    size_t num_names;
    uint8_t *counted_units; /* NULL if all are */
    char *time_unit;
    popliner_ipu_limit *limits; /* [info.num_ipu_limits] */
    uint64_t *parameters;       /* [units], or NULL */
    popliner_ipu_speed *speeds; /* [info.num_ipu_speeds] */
    popliner_ipu_link *links;   /* [info.num_ipu_links] */
    pl_additive_costs additive; /* empty for graphs and listed intervals */
    pl_variants variants;       /* empty but for POPLINER_RECOMPUTE_AUTO of popliner's own format */
    pl_bounds bounds;           /* while it is read */
};

/* Asks whether reading is to go on, which is cheap. Errors: STOPPED. */
popliner_status pl_costs_file_ask(popliner_costs_file *file, const char *path,
                                  popliner_error *error);

/* Each fills the empty *file, whose owner frees it on failure, too. `path` is for messages.
 * Errors: INPUT, MEMORY. */
popliner_status pl_read_costs_json(const json_t *root, const char *path,
                                   const popliner_pipeline *pipeline, popliner_costs_file *file,
                                   popliner_error *error);
popliner_status pl_read_graph_json(const json_t *root, const char *path,
                                   const popliner_pipeline *pipeline, popliner_costs_file *file,
                                   popliner_error *error);
/* `text` ends with a NUL that is not counted in `length`. */
popliner_status pl_read_graph_text(const char *text, size_t length, const char *path,
                                   popliner_costs_file *file, popliner_error *error);
/* The same of a table of layers. */
popliner_status pl_read_costs_csv(const char *text, size_t length, const char *path,
                                  const popliner_pipeline *pipeline, popliner_costs_file *file,
                                  popliner_error *error);

/* Whether the first line has a column "name"; *delimiter is what stands between the columns: a
 * comma, a semicolon or a tab. */
bool pl_is_costs_csv(const char *text, char *delimiter);

/* The keys that popliner's own format knows, for each kind of object in it, the required ones
 * first; docs/costs.schema.json lists the same. */
typedef struct pl_known_keys {
    const char *object;
    size_t num_required;
    const char *keys[13]; /* NULL behind the last */
} pl_known_keys;
extern const pl_known_keys pl_costs_json_keys[];
extern const size_t pl_num_costs_json_keys;

#endif
