/* The tile and step where the compiler counts most, and what is explained there.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_DIAGNOSIS_BOTTLENECK_H
#define PL_DIAGNOSIS_BOTTLENECK_H

#include "diagnosis/explained.h"
#include "popliner/diagnosis.h"
#include "popliner/error.h"

/* Fills in the bottlenecks and what is missing, there and everywhere; the options say which units
 * are searched. Errors: MEMORY. Cost: a few passes over the variables and over what programs
 * touch. */
popliner_status pl_diagnose_bottleneck(const pl_explained *explained,
                                       const popliner_diagnosis_options *options,
                                       popliner_diagnosis *diagnosis, popliner_error *error);

#endif
