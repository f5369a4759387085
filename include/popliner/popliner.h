/* popliner: says where to cut a large neural network over several IPUs.
 *
 * All headers at once. Begin with popliner/analysis.h.
 *
 * Threads: each header says what several threads may share. What two threads do not share needs
 * no care.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef POPLINER_POPLINER_H
#define POPLINER_POPLINER_H

#include "popliner/analysis.h"
#include "popliner/certificate.h"
#include "popliner/changes.h"
#include "popliner/costs.h"
#include "popliner/diagnosis.h"
#include "popliner/emit.h"
#include "popliner/error.h"
#include "popliner/operations.h"
#include "popliner/page.h"
#include "popliner/pipeline.h"
#include "popliner/profile.h"
#include "popliner/replicas.h"
#include "popliner/report.h"
#include "popliner/solver.h"
#include "popliner/stage.h"
#include "popliner/utilities.h"
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* "major.minor.patch" of the library that is linked; static text. */
const char *popliner_version(void);

/* ---- The structures of this interface ---- *
 *
 * The structures of this interface as the library was compiled with them, for a program
 * in another language, which cannot include the headers: it asks whether its own are the same, and
 * takes from here what the _INIT macros make.
 *
 * Threads: the functions return constants, so any number of threads may call them at once. */

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
