/* A split as formats see it: layers in stages on IPUs, without memory and cycles.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_EMIT_EMIT_DATA_H
#define PL_EMIT_EMIT_DATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/growth.h"
#include "popliner/emit.h"
#include "popliner/pipeline.h"

/* The layers first_layer ... first_layer + num_layers - 1, and what runs before or behind all
 * layers. */
typedef struct pl_emit_stage {
    size_t first_unit;
    size_t last_unit;
    size_t ipu;
    size_t first_layer;
    size_t num_layers;
    bool has_head;
    bool has_tail;
} pl_emit_stage;

typedef struct pl_emission {
    popliner_emit_options options;
    popliner_option_names names; /* complete */
    const char *format_name;

    const char *status;
    bool fits;
    const char *const *unit_names;
    size_t num_units;
    char *const *stage_choices;   /* [num_stages], how each recomputes; NULL: alike */
    popliner_recompute recompute; /* how all do, if anything is kept */
    bool keeps;                   /* a stage keeps something for its backward pass */
    size_t num_replicas;
    uint64_t micro_batches; /* of each replica; 0: unknown */
    bool is_of_profile;

    const char **layers; /* [num_layers] their names, as far as they are UTF-8 */
    size_t num_layers;
    size_t stray_unit; /* one between two layers that is none; SIZE_MAX: none */
    pl_emit_stage *stages;
    size_t num_stages;
    size_t num_ipus; /* that are used */
    size_t max_ipu;  /* the largest number among them */

    pl_text notes; /* warnings, a line each */
} pl_emission;

/* ---- what formats share ---- */

/* Fills *error with what a format cannot say, or needs; its name comes before the words. Returns
 * USAGE. */
popliner_status pl_emit_refuse(const pl_emission *e, popliner_error *error, const char *words, ...);

/* Adds a warning, without a line end. */
void pl_emit_note(pl_emission *e, const char *words, ...);

/* Adds a text within double quotes, in ASCII: a string of Python. */
void pl_emit_quote(pl_text *text, const char *string);

/* Notes that a list of all modules may lack some, where those of an end were not given. */
void pl_emit_note_lacking(pl_emission *e, const char *list);

/* The path of a layer's module, within such quotes. Without a path in the options: its name. */
void pl_emit_layer(const pl_emission *e, pl_text *text, size_t layer);

/* "[0, 1, 2]": the IPU of each stage. */
void pl_emit_ipus(const pl_emission *e, pl_text *text);

/* How many IPUs PopTorch reserves for so many: a power of two, or a multiple of 64. */
size_t pl_emit_reserved_ipus(size_t num_ipus);

/* ---- the formats ---- */

/* Adds the text of a split that the format can say, and notes. Errors: USAGE for what depends on
 * more than the rules of its row in the table; MEMORY where it is not kept in the text. */
typedef popliner_status pl_emitter(pl_emission *e, pl_text *text, popliner_error *error);

pl_emitter pl_emit_json;

/* Formats that count layers. */
pl_emitter pl_emit_optimum;
pl_emitter pl_emit_megatron;
pl_emitter pl_emit_vllm;

/* Formats that name the modules of a PyTorch model. */
pl_emitter pl_emit_poptorch;
pl_emitter pl_emit_torch;
pl_emitter pl_emit_titan;
pl_emitter pl_emit_accelerate;

/* Formats of Graphcore that number stages and IPUs. */
pl_emitter pl_emit_tensorflow;
pl_emitter pl_emit_popart;
pl_emitter pl_emit_popxl;

/* "json", "optimum", ...; NULL for a format that there is not. */
const char *pl_emit_format_name(popliner_emit_format format);

#endif
