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

typedef struct mk_options {
    const char *directory; /* where profile.pop and debug.cbor go */
    mk_framework framework;
    uint64_t layers;
    uint64_t tiles;
    uint64_t hidden;     /* features of a position */
    uint64_t sequence;   /* positions */
    uint64_t vocabulary; /* rows of the embedding */
    uint64_t pieces;     /* lowered variables into which a tile's share of a tensor is cut */
    uint64_t seed;
    uint64_t debug_argument_bytes; /* of `args` in each poplibs record, about */
    uint64_t debug_nesting;        /* poplibs records inside that of a program */
    bool training;
    bool outline;
    bool force;
    bool quiet;
    bool help;
    bool version;
} mk_options;

/* Reads the command line; the strings are those of argv. A preset counts first, wherever it
 * stands, and the other options override it. */
popliner_status mk_options_read(mk_options *options, int argument_count, char *arguments[],
                                popliner_error *error);

void mk_options_help(FILE *stream);

#endif
