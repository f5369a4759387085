/* What is explained of each memory category.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_DIAGNOSIS_CATEGORIES_H
#define PL_DIAGNOSIS_CATEGORIES_H

#include "diagnosis/explained.h"
#include "popliner/diagnosis.h"
#include "popliner/error.h"

/* Fills in the categories. Errors: MEMORY. O(variables + categories * tiles). */
popliner_status pl_diagnose_categories(const pl_explained *explained, popliner_diagnosis *diagnosis,
                                       popliner_error *error);

#endif
