/* What the user asks for: the command line of popliner-mkprofile and its presets.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MK_OPTIONS_H
#define MK_OPTIONS_H

#include "popliner/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef enum mk_framework { MK_POPART, MK_POPTORCH, MK_TENSORFLOW } mk_framework;

/* The part of the model that is wanted: layers from first to last, both included. */
typedef struct mk_part {
    bool is_given; /* if not, it is the whole model */
    bool has_head; /* what comes before the layers */
    bool has_tail; /* and behind them */
    uint64_t first_layer;
    uint64_t last_layer;
} mk_part;

/* Most IPUs of a pipeline. */
#define MK_MAX_IPUS 64

/* When the programs of a pipeline's stages run; PopART and PopTorch have one way only. */
typedef enum mk_schedule {
    MK_GROUPED,
    MK_INTERLEAVED,
    MK_SEQUENTIAL,
} mk_schedule;

typedef enum mk_fault_kind {
    MK_FAULT_NO_DEBUG_ID,  /* of a program */
    MK_FAULT_NO_OPERATION, /* above the debug context of a program */
    MK_FAULT_UNTOUCHED,    /* a variable that no program uses */
    MK_FAULT_KIND_COUNT,
} mk_fault_kind;

typedef struct mk_options {
    const char *directory; /* where profile.pop and debug.cbor go */
    mk_framework framework;
    uint64_t num_layers;
    uint64_t tiles_per_ipu;
    uint64_t num_tiles;         /* of all IPUs */
    uint64_t num_ipus;          /* 1 unless the model is a pipeline */
    uint64_t cuts[MK_MAX_IPUS]; /* the last layer of each IPU but the last */
    mk_schedule schedule;
    uint64_t num_skips;  /* connections over many layers */
    uint64_t hidden;     /* features of a position */
    uint64_t sequence;   /* positions */
    uint64_t vocabulary; /* rows of the embedding */
    uint64_t num_pieces; /* lowered variables into which a tile's share of a tensor is cut */
    uint64_t seed;       /* of the model */
    uint64_t plan_seed;  /* of how it is planned: that of the model unless told */
    bool has_plan_seed;
    bool maps_in_turn;             /* tensors start where the one before ended, not just anywhere */
    uint64_t debug_argument_bytes; /* of `args` in each poplibs record, about */
    uint64_t debug_nesting;        /* poplibs records inside that of a program */
    mk_part part;
    uint64_t faults[MK_FAULT_KIND_COUNT]; /* how many of each kind */
    bool training;
    bool accumulate; /* gradients, before they are used */
    bool outline;
    bool execution; /* tables of an execution, too */
    bool force;
    bool quiet;
    bool help;
    bool version;
} mk_options;

/* Reads the command line; the strings are those of argv. A preset counts first, wherever it
 * stands, and the other options override it. */
popliner_status mk_options_read(mk_options *options, int num_arguments, char *arguments[],
                                popliner_error *error);

/* How the command line calls a kind of fault. */
const char *mk_fault_name(mk_fault_kind kind);

void mk_options_help(FILE *stream);

#endif
