/* popliner: the structures of this interface as the library was compiled with them, for a program
 * in another language, which cannot include the headers: it asks whether its own are the same, and
 * takes from here what the _INIT macros make.
 *
 * Threads: the functions return constants, so any number of threads may call them at once.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef POPLINER_STRUCTURES_H
#define POPLINER_STRUCTURES_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A structure. Static memory, with all that it points to; later versions may append members. */
typedef struct popliner_structure {
    const char *name; /* "popliner_request" */
    size_t size_bytes;
    /* What its _INIT macro makes, so many bytes to be copied; NULL if it has none. */
    const void *initial;
} popliner_structure;

/* Structure i of all in the public headers that have members there, in the order of their names,
 * the first being 0; NULL behind the last. O(1). */
const popliner_structure *popliner_structure_at(size_t i);

#ifdef __cplusplus
}
#endif

#endif
