/* Functions that the readers of popliner's own format of costs (docs/costs.md) share.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_COSTS_COSTS_JSON_H
#define PL_COSTS_COSTS_JSON_H

#include "base/id_map.h"
#include "base/json_reader.h"
#include "costs/costs.h"
#include "costs/costs_file_data.h"
#include "costs/triangle.h"

/* Kinds of objects: indices into pl_costs_json_keys. */
enum {
    PL_COSTS_KEYS_FILE,
    PL_COSTS_KEYS_REGION,
    PL_COSTS_KEYS_UNIT,
    PL_COSTS_KEYS_SHARED,
    PL_COSTS_KEYS_DEVICES,
    PL_COSTS_KEYS_ESTIMATE,
    PL_COSTS_KEYS_VARIANT,
};

/* State while a file is read. */
typedef struct pl_costs_json {
    pl_json_reader json;
    pl_json_value root;
    pl_costs_file *file;
    popliner_pipeline pipeline;
    size_t num_units;
    size_t num_regions;
    pl_names units;
    pl_names regions;
    bool has_cycles;
    bool has_kept;         /* stages store copies of something */
    bool has_pipeline;     /* something depends on the pipeline */
    bool recomputes_units; /* each alone; what is recomputed then stays for a pass of the weights */
    uint64_t scale;
    uint64_t sum_cycles;
    uint64_t *sum_bytes; /* [num_regions], of all bytes that can be added up */
    uint64_t *memory;    /* [num_regions], of the unit that is read, in `additive` */
    uint64_t *stash;
    uint64_t *inputs;
    size_t num_samples;         /* of the time of each unit */
    uint64_t *cycles;           /* [num_units * num_samples] */
    uint64_t *forward;          /* [num_units * num_samples], of the cycles */
    bool has_passes;            /* some units have them */
    uint64_t *cut_cycles;       /* [num_units + 1], by the unit after the cut */
    pl_interval_sums sums;      /* bytes by region */
    uint64_t *region_bytes;     /* [num_regions], scratch */
    size_t num_working_sets;    /* stashes that a stage that may recompute holds besides copies */
    uint64_t *recompute_cycles; /* [num_units]: what recomputing a whole stage adds */
    uint64_t sharded_bytes;     /* of the unit that is read, divided; variants also have it */
    pl_arrays arrays;           /* own what neither the file nor the table takes */
} pl_costs_json;

/* ---- Values. What fails, fails in the outcome of `json` ---- */

static inline bool pl_costs_json_is_well(const pl_costs_json *r) {
    return pl_json_is_well(&r->json);
}

/* Fails unless there was memory. True if nothing has failed. */
bool pl_costs_json_has(pl_costs_json *r, bool memory);

/* True if some item of a list has a key that is not 0. */
bool pl_costs_json_any_has(const json_t *list, const char *key);

/* Checks that `value` is an object with all required keys and no unknown ones. */
void pl_costs_json_check_keys(pl_costs_json *r, int keys, const pl_json_value *value);

/* Reads bytes by region: a list with one number for each, or one number for all. */
void pl_costs_json_bytes(pl_costs_json *r, const pl_json_value *value, uint64_t *bytes);

/* Reads cycles; `otherwise` if they are missing. */
uint64_t pl_costs_json_cycles(pl_costs_json *r, const pl_json_value *value, uint64_t otherwise);

/* Adds to the sum of all cycles, which is limited. */
void pl_costs_json_add_up_cycles(pl_costs_json *r, const pl_json_value *value, uint64_t cycles);

/* Returns the unit that `value` names; 0 if it names none, which fails. */
size_t pl_costs_json_find_unit(pl_costs_json *r, const pl_json_value *value);

/* ---- The parts of the file, in the order in which they are read ---- */

void pl_costs_json_read_regions(pl_costs_json *r);
void pl_costs_json_read_units(pl_costs_json *r);
void pl_costs_json_read_shared(pl_costs_json *r);
void pl_costs_json_add_workspaces(pl_costs_json *r);

/* ---- Variants, for POPLINER_RECOMPUTE_AUTO ---- */

/* The shared_bytes of variants: of the first region. */
uint64_t pl_costs_json_shared_bytes(const void *additive, const popliner_interval *stages,
                                    size_t num_stages);

/* Completes the variants, once the table is made. */
void pl_costs_json_finish_variants(pl_costs_json *r);

/* ---- The table ---- */

/* Fills the table from the costs of the units. */
void pl_costs_json_fill_additive(pl_costs_json *r);

#endif
