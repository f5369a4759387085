/* Reading popliner's own format of costs, which docs/costs.md describes: what its parts share.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_COSTS_COSTS_JSON_H
#define PL_COSTS_COSTS_JSON_H

#include "base/id_map.h"
#include "base/json_reader.h"
#include "base/names.h"
#include "costs/costs.h"
#include "costs/costs_file_data.h"
#include "costs/triangle.h"

/* The kinds of objects, as places in pl_costs_json_keys. */
enum {
    PL_COSTS_KEYS_FILE,
    PL_COSTS_KEYS_REGION,
    PL_COSTS_KEYS_UNIT,
    PL_COSTS_KEYS_SHARED,
    PL_COSTS_KEYS_INTERVAL,
    PL_COSTS_KEYS_DEVICES,
    PL_COSTS_KEYS_VARIANT,
};

/* While a file is read. */
typedef struct pl_costs_json {
    pl_json_reader json;
    const json_t *root;
    popliner_costs_file *file;
    popliner_pipeline pipeline;
    size_t num_units;
    size_t num_regions;
    pl_names units;
    pl_names regions;
    bool has_cycles;
    bool has_kept;     /* something that the pipeline's stages keep copies of */
    bool has_pipeline; /* something that depends on the pipeline */
    uint64_t scale;
    uint64_t sum_cycles;
    uint64_t *sum_bytes;        /* [num_regions], of all that can add up */
    uint64_t *memory;           /* [num_units * num_regions] */
    uint64_t *stash;            /* the same */
    uint64_t *cycles;           /* [num_units] */
    uint64_t *cut_cycles;       /* [num_units + 1], by the unit behind the cut */
    pl_interval_sums sums;      /* bytes by region */
    pl_id_map listed;           /* intervals, by first_unit * num_units + last_unit */
    uint64_t *interval_bytes;   /* [3 * num_regions]: memory, stash, inputs */
    uint64_t *recompute_cycles; /* [num_units]: what recomputing all of a stage adds */
    size_t *variant_interval;   /* [variants of the file]: of listed ones, the place */
    size_t variant_capacity;
    pl_peak_line *lines; /* [num_regions], of an interval of a pipeline; else NULL */
} pl_costs_json;

/* ---- Values: each fails with INPUT, and says what was expected, or with MEMORY ---- */

popliner_status pl_costs_json_fail_memory(const pl_costs_json *r);

/* The object has the keys that it must have, and none but the known ones. */
popliner_status pl_costs_json_check_keys(const pl_costs_json *r, int keys,
                                         const pl_json_place *place, const json_t *value);

/* Bytes by region: a list with one number for each, or one number that holds for all. */
popliner_status pl_costs_json_bytes(const pl_costs_json *r, const pl_json_place *place,
                                    const json_t *value, uint64_t *bytes);

/* Bytes of an object's key if it has it, which can add up with others to the same stage. */
popliner_status pl_costs_json_additive_bytes(pl_costs_json *r, const pl_json_place *owner,
                                             const json_t *object, const char *key,
                                             uint64_t *bytes);

popliner_status pl_costs_json_cycles(const pl_costs_json *r, const pl_json_place *place,
                                     const json_t *value, uint64_t *cycles);
/* They must not add up to more than can be counted. */
popliner_status pl_costs_json_add_up_cycles(pl_costs_json *r, const pl_json_place *place,
                                            uint64_t cycles);

/* The unit that is named. */
popliner_status pl_costs_json_find_unit(pl_costs_json *r, const pl_json_place *place,
                                        const json_t *value, size_t *unit);

/* ---- The parts of the file, in the order in which they need each other ---- */

popliner_status pl_costs_json_read_regions(pl_costs_json *r);
popliner_status pl_costs_json_read_units(pl_costs_json *r, bool is_listed);
popliner_status pl_costs_json_read_shared(pl_costs_json *r);

/* ---- What stages choose from, for POPLINER_RECOMPUTE_AUTO ---- */

/* The same of a listed interval, whose bytes are in interval_bytes. */
popliner_status pl_costs_json_read_interval_variants(pl_costs_json *r, size_t i,
                                                     const json_t *value, size_t interval,
                                                     uint64_t cycles);

/* Completes them when all is read, and the table is made. */
popliner_status pl_costs_json_finish_variants(pl_costs_json *r, bool is_listed);

/* ---- The table ---- */

/* Fills the table from the costs of the units, or from the list of intervals. */
popliner_status pl_costs_json_fill_additive(pl_costs_json *r);
popliner_status pl_costs_json_fill_listed(pl_costs_json *r, const json_t *list);

#endif
