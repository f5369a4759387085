/* A split for formats: layers in stages on IPUs, without memory and cycles.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_EMIT_EMIT_DATA_H
#define PL_EMIT_EMIT_DATA_H

#include "base/growth.h"
#include "popliner/emit.h"
#include "popliner/pipeline.h"

/* The layers first_layer ... first_layer + num_layers - 1, and the parts that run before or after
 * all layers. */
typedef struct pl_emit_stage {
    size_t first_unit;
    size_t last_unit;
    size_t ipu;
    size_t rank; /* of its IPU among those in use, in the order in which the stages use them */
    size_t first_layer;
    size_t num_layers;
    size_t num_mtp; /* units after the layers that predict further tokens: "mtp", "mtp.0", ... */
    bool has_head;
    bool has_tail; /* anything after the layers */
    bool has_end;  /* anything after the layers but MTP layers */
} pl_emit_stage;

/* A module before, among or after the layers: its name, for a layer of the options' path. */
typedef struct pl_emit_module {
    const char *name;
    size_t stage;
    bool is_layer;
} pl_emit_module;

/* Properties and needs of a format. */
enum {
    NEEDS_PATH = 1 << 0,
    NEEDS_ENDS = 1 << 1,       /* the modules before and after the layers */
    HAS_MTP = 1 << 2,          /* MTP layers may be in another stage than the end */
    COUNTS_LAYERS = 1 << 3,    /* by number, so layer names must be numbers */
    HAS_EMPTY_STAGES = 1 << 4, /* a stage may have no layer */
    NEEDS_TWO_IPUS = 1 << 5,
    HAS_COMMENTS = 1 << 6,  /* after a '#' */
    HAS_REPLICAS = 1 << 7,  /* it has replicas */
    HAS_RECOMPUTE = 1 << 8, /* it has recomputation, the same for all stages */
    NAMES_DEVICES = 1 << 9, /* it says which device has which rank */
    IS_VISIBLE = 1 << 10,   /* CUDA_VISIBLE_DEVICES says that: in order, IPU means rank */
    COUNTS_ROWS = 1 << 11,  /* any row may begin a stage */
    HAS_STACKS = 1 << 12,   /* layers of an encoder, and then of a decoder */
    HAS_CHOICES = 1 << 13,  /* stages may recompute in full, or not */
    HAS_HOST = 1 << 14,     /* layers may have their experts on the host */
};

struct pl_certificate_input;

typedef struct pl_emission {
    popliner_emit_options options;
    popliner_option_names names; /* complete */
    const char *format_name;

    const struct pl_certificate_input *in; /* with the plan; NULL: a device map alone */
    const popliner_plan *plan;
    size_t num_head_units; /* before the layers, and after them */
    size_t num_tail_units;
    bool has_head_bytes;        /* those before the layers need memory */
    popliner_pipeline pipeline; /* with the micro-batches */
    bool keeps;                 /* a stage stores activations for its backward pass */
    size_t num_replicas;
    uint64_t micro_batches;      /* of each replica; 0: unknown */
    const uint64_t *pass_cycles; /* see pl_certificate */
    unsigned traits;             /* of the format */
    size_t second_stack;         /* the first layer of the decoder; SIZE_MAX: one stack */
    bool has_unmarked_ends; /* layers were found by their numbers, and others are before or after */

    pl_arrays arrays;    /* own the next ones */
    const char **layers; /* [num_layers] names, not necessarily UTF-8 */
    size_t num_layers;
    size_t stray_unit;       /* a unit between two layers that is no layer; SIZE_MAX: none */
    size_t stray_layer;      /* the layer before it */
    pl_emit_module *modules; /* [num_modules], in the order in which they run */
    size_t num_modules;
    pl_emit_stage *stages;
    size_t num_stages;
    size_t num_ipus;    /* the number of IPUs in use */
    size_t max_ipu;     /* the largest number of an IPU in use */
    bool has_own_order; /* some stage's IPU is not its rank */

    pl_text notes; /* warnings, one on each line */
} pl_emission;

/* ---- the split ---- */

/* Takes the layers and stages of a plan. Errors: USAGE if it does not split the whole chain;
 * MEMORY. O(units + stages * IPUs). */
popliner_status pl_emit_take_plan(pl_emission *e, const struct pl_certificate_input *input,
                                  const popliner_plan *plan, popliner_error *error);

/* Sets num_ipus, max_ipu and the ranks from the stages. O(stages * IPUs). */
void pl_emit_count_ipus(pl_emission *e);

/* Checks that the names of layers end with 0, 1, 2, ... or 1, 2, 3, ..., after equal beginnings,
 * and notes what was assumed. Errors: USAGE. */
popliner_status pl_emit_check_numbers(pl_emission *e, popliner_error *error);

/* ---- helpers of all formats ---- */

/* Sets *error to the format's name and what it cannot express or needs. Returns USAGE. */
popliner_status pl_emit_refuse(const pl_emission *e, popliner_error *error, const char *words, ...);

/* True if each stage has an IPU of its own. */
static inline bool pl_emit_has_own_ipus(const pl_emission *e) {
    return e->num_ipus == e->num_stages;
}

/* Adds a warning, without a line end. */
void pl_emit_note(pl_emission *e, const char *words, ...);

/* The placeholder for the layer's name in a path. */
#define PL_EMIT_HOLE "{}"

/* Appends a Python string: in double quotes, in ASCII. */
void pl_emit_quote(pl_text *text, const char *string);

/* True if the choice of a stage is which of its layers have their experts on the host. */
bool pl_emit_is_of_host(const char *choice);

/* The place of a stage's first module in a list of all; of stage num_stages their number. */
size_t pl_emit_first_entry(const pl_emission *e, size_t stage);

/* Appends a template with its values: see emit_values.c. */
void pl_emit_fill(const pl_emission *e, const char *template, pl_text *text);

/* ---- the formats ---- */

/* Checks further rules of a format for a split that its row in the table allows. Errors: USAGE. */
typedef popliner_status pl_emit_check(pl_emission *e, popliner_error *error);

pl_emit_check pl_emit_check_optimum;
pl_emit_check pl_emit_check_hybrid;
pl_emit_check pl_emit_check_entries;

/* Appends what is no template. Errors: USAGE; MEMORY unless text->failed reports it. */
typedef popliner_status pl_emitter(pl_emission *e, pl_text *text, popliner_error *error);

pl_emitter pl_emit_json;
pl_emitter pl_emit_order;
pl_emitter pl_emit_passes;

/* Returns "json", "optimum", ...; NULL for an invalid format. */
const char *pl_emit_format_name(size_t format);

#endif
