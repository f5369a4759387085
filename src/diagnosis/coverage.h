/* Which rules gave operations their layers.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_DIAGNOSIS_COVERAGE_H
#define PL_DIAGNOSIS_COVERAGE_H

#include "popliner/diagnosis.h"
#include "popliner/error.h"
#include "popliner/layers.h"
#include "popliner/operations.h"

/* Fills in how many operations got their layer by which rule and, if most got none, a regex that
 * may find some. Errors: MEMORY. O(operations * rules), and that of pl_suggest_regex. */
popliner_status pl_diagnose_coverage(const popliner_operations *operations,
                                     const popliner_layers *layers, popliner_diagnosis *diagnosis,
                                     popliner_error *error);

#endif
