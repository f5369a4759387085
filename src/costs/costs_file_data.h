/* Inner view of a cost file, and the readers of its formats.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_COSTS_COSTS_FILE_DATA_H
#define PL_COSTS_COSTS_FILE_DATA_H

#include "popliner/costs.h"

#include <jansson.h>

#include "base/bounds.h"
#include "base/id_map.h"
#include "costs/triangle.h"
#include "costs/unit_graph.h"
#include "costs/variants.h"
#include "pipeline/moments.h"

enum {
    /* A table of this many units may take 2 GiB, unless they add up; larger files are a mistake or
     * need joined units. */
    PL_MAX_UNITS = 16384,
    /* Samples of the times of a unit. */
    PL_MAX_SAMPLES = 256,
    /* Digits of times after the decimal point; further digits are rounded. */
    PL_TIME_DIGITS = 9,
    PL_TIME_SCALE = 1000000000,
};

/* The largest sum of the bytes of a region, and of all traffic. With it, the copies of a pipeline
 * of PL_MAX_UNITS stages stay far below POPLINER_PEAK_FORBIDDEN. */
#define PL_MAX_BYTES ((uint64_t)1 << 48)

/* Memory that a stage needs once if it has any of these units. */
typedef struct pl_shared_memory {
    size_t *units; /* distinct, ascending */
    size_t num_units;
    uint64_t *bytes; /* [num_regions] */
} pl_shared_memory;

/* The parts of additive peaks, from which the peaks of stages on one IPU are computed. */
typedef struct pl_additive_costs {
    size_t num_regions;
    uint64_t *capacity_bytes; /* [num_regions], UINT64_MAX for none */
    /* Sums over the units before unit u, by region: [(num_units + 1) * num_regions]. */
    uint64_t *memory_before;
    uint64_t *stash_before;
    uint64_t *inputs;        /* of each unit: [num_units * num_regions] */
    uint64_t *inputs_before; /* NULL, or such sums: a stage has the inputs of all its units */
    pl_shared_memory *shared;
    size_t num_shared;
    const uint64_t *workspace; /* of each unit, of which a device needs the largest; NULL: none.
                                * The table owns it. */
    pl_arrival *arrivals;      /* of shared memory and the largest workspace, in the first region */
    size_t num_arrivals;
    popliner_pipeline pipeline;
    bool has_working_set; /* of each stage, in its memory: see pl_costs_json */
    pl_moments moments;   /* of the pipeline's IPUs; none where the order is unknown */
} pl_additive_costs;

typedef struct pl_costs_file {
    popliner_costs_file info; /* first: it is what the caller has */
    popliner_costs *costs;
    struct pl_costs_file
        *estimates[POPLINER_NUM_NEEDS]; /* of sizes at least and at most, where the file
                                                      says these; owned */
    pl_arrays arrays; /* own the arrays below and in `additive` and `variants`, unless it is said */
    char **names;     /* one for each unit, like their strings */
    uint8_t *counted_units;     /* NULL if all units count */
    uint64_t *parameters;       /* [units], or NULL */
    pl_additive_costs additive; /* empty for graphs */
    /* empty except with POPLINER_RECOMPUTE_AUTO in popliner's own format */
    pl_variants variants;
    pl_choices choices;       /* of the costs, if there are variants */
    pl_layer_graph own_graph; /* empty unless a graph was read that is not a chain */
    pl_unit_graph own_units;  /* of own_graph */
    pl_graph_chain graph;     /* its place is NULL if the file is no graph, or a chain */
    pl_bounds bounds;         /* used while the file is read */
} pl_costs_file;

/* Checks whether reading should stop; cheap. Errors: STOPPED. */
popliner_status pl_costs_file_ask(pl_costs_file *file, const char *path, popliner_error *error);

/* Sets the pointers of the public view. */
void pl_costs_file_describe(pl_costs_file *file);

/* Each reader fills the empty *file. The caller frees it, also on failure. `path` is for messages;
 * has_lines is as for pl_json_reader. Errors: INPUT, MEMORY. */
popliner_status pl_read_costs_json(const json_t *root, bool has_lines, const char *path,
                                   const popliner_pipeline *pipeline, pl_costs_file *file,
                                   popliner_error *error);
/* A profile is a document that pl_read_graph_text made, with these amounts of a node. */
enum { PL_NUM_PROFILE_AMOUNTS = 4 };
extern const char *const pl_profile_amounts[PL_NUM_PROFILE_AMOUNTS];
popliner_status pl_read_graph_json(const json_t *root, bool is_profile, const char *path,
                                   const popliner_pipeline *pipeline, pl_costs_file *file,
                                   popliner_error *error);
/* `text` ends with a NUL that `length` does not count. */
popliner_status pl_read_graph_text(const char *text, size_t length, const char *path,
                                   const popliner_pipeline *pipeline, pl_costs_file *file,
                                   popliner_error *error);
/* Reads a table of layers, with commas, semicolons or tabs between its cells. `text` is as for
 * pl_read_graph_text. Sets *is_table to whether the first line after those that begin with '#' has
 * a column "name"; else the file stays empty. */
popliner_status pl_read_costs_csv(const char *text, size_t length, const char *path,
                                  const popliner_pipeline *pipeline, pl_costs_file *file,
                                  bool *is_table, popliner_error *error);

/* Fills the costs and names of *file, and unit_order if the graph has several orders. Of two
 * chains, by number and breadth first, takes the one whose best split has the fewest cycles in its
 * slowest stage, if traffic takes cycles and there are at most 4096 units; for splits into up to
 * `max_stages` stages (SIZE_MAX: the number of IPUs of file->info, or 16) of at most
 * file->info.bytes_per_tile bytes (0: any). Else the chain is by number. Each sum of an amount over
 * all nodes must be within its limit: PL_MAX_BYTES, or POPLINER_MAX_CYCLES for cycles (with
 * traffic, if it takes cycles). Errors: INPUT when there are no nodes or too many units; MEMORY.
 * The file keeps the units, and where they are; its reader moves the graph to file->own_graph.
 * O(units^2 * stages + edges * log(edges)). */
popliner_status pl_layer_graph_fill(const pl_layer_graph *graph, const char *path,
                                    size_t max_stages, pl_costs_file *file, popliner_error *error);

/* Makes the file whose chain has the units of `file` at place[units], which it takes. It refers to
 * `file`. Errors: MEMORY, STOPPED. O(units^2). */
popliner_status pl_layer_graph_arrange(const pl_costs_file *file, uint32_t *place,
                                       popliner_costs_file **arranged, popliner_error *error);

/* The keys of popliner's own format by kind of object, the required ones first. A test compares
 * them with docs/costs.schema.json. */
typedef struct pl_known_keys {
    const char *object;
    size_t num_required;
    const char *keys[21]; /* NULL after the last */
} pl_known_keys;
/* The keys, and ends of names of columns, of other estimates than the expected one, by need. */
extern const char *const pl_estimate_keys[POPLINER_NUM_NEEDS];
extern const pl_known_keys pl_costs_json_keys[];
extern const size_t pl_num_costs_json_keys;

#endif
