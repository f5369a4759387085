/* Which programs are in operations that count, by their type.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_DIAGNOSIS_PROGRAM_TYPES_H
#define PL_DIAGNOSIS_PROGRAM_TYPES_H

#include "diagnosis/explained.h"
#include "popliner/diagnosis.h"
#include "popliner/error.h"

/* Fills in the types of programs. Errors: MEMORY. O(programs * types). */
popliner_status pl_diagnose_program_types(const pl_explained *explained,
                                          popliner_diagnosis *diagnosis, popliner_error *error);

#endif
