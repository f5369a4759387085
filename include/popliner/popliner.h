/* popliner: splits a large neural network into pipeline stages for several IPUs.
 *
 * This header includes all others. Most programs need these functions:
 *
 *     popliner_analysis_read          reads a profile, with its debug information
 *     popliner_costs_create           a table of costs that the program fills, and
 *     popliner_costs_set_peak         what stages of it need
 *     popliner_costs_file_read        a file of costs, in any format
 *     popliner_analysis_solve         the best split of a profile, with its proof
 *     popliner_solve                  the best split of costs, and
 *     popliner_certificate_create     its proof
 *     popliner_analysis_evaluate      a given split
 *     popliner_certificate_text       an answer as text, table or JSON, and
 *     popliner_document_parse         members of that JSON by name
 *     popliner_emit                   the plan of a framework
 *     popliner_page_text              a page for a browser
 *
 * Programs of tests/examples: split_profile.c splits a profile, own_costs.c a table, stage_needs.c
 * reads members of an answer, many_profiles.c uses threads, profile_tour.c looks at a profile.
 *
 * Threads: each header says what several threads may share. Anything that two threads do not share
 * needs no care.
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
#include "popliner/screen.h"
#include "popliner/solver.h"
#include "popliner/stage.h"
#include "popliner/utilities.h"
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Returns "major.minor.patch" of the library that is linked; static text. */
const char *popliner_version(void);

/* ---- Structures of this interface ----
 *
 * The structures as the library was compiled with them, for programs in languages that cannot
 * include the headers: they compare sizes, and copy what the _INIT macros set.
 *
 * Threads: the functions return constants, so any number of threads may call them at once. */

/* Returns the name of structure i, "popliner_request", of all in the public headers that have
 * members there, ordered by name, from 0; NULL if i is out of range. Else sets *size_bytes to its
 * size, and *initial to as many bytes that its _INIT macro sets, or NULL if it has none. Both
 * pointers may be NULL. All is static memory. O(1). */
const char *popliner_structure_at(size_t i, size_t *size_bytes, const void **initial);

#ifdef __cplusplus
}
#endif

#endif
