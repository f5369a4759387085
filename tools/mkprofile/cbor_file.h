/* A file of CBOR items, written one after another.
 *
 * The first failure sticks; mk_cbor_close() tells it.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MK_CBOR_FILE_H
#define MK_CBOR_FILE_H

#include "popliner/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef struct mk_cbor_file {
    FILE *stream;
    const char *path;
    int error_number; /* errno of the first failure, 0 for none */
} mk_cbor_file;

void mk_cbor_open(mk_cbor_file *file, const char *path);
popliner_status mk_cbor_close(mk_cbor_file *file, popliner_error *error);

void mk_cbor_number(mk_cbor_file *file, uint64_t value);
void mk_cbor_bool(mk_cbor_file *file, bool value);
void mk_cbor_text(mk_cbor_file *file, const char *text);
void mk_cbor_map(mk_cbor_file *file, size_t pairs);
void mk_cbor_array(mk_cbor_file *file, size_t items);
void mk_cbor_endless_array(mk_cbor_file *file); /* until mk_cbor_break() */
void mk_cbor_break(mk_cbor_file *file);

#endif
