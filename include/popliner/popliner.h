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
#include "popliner/calibration.h"
#include "popliner/certificate.h"
#include "popliner/chain.h"
#include "popliner/changes.h"
#include "popliner/copies.h"
#include "popliner/costs.h"
#include "popliner/diagnosis.h"
#include "popliner/emit.h"
#include "popliner/error.h"
#include "popliner/files.h"
#include "popliner/listener.h"
#include "popliner/operations.h"
#include "popliner/page.h"
#include "popliner/pareto.h"
#include "popliner/pipeline.h"
#include "popliner/plot.h"
#include "popliner/printable.h"
#include "popliner/profile.h"
#include "popliner/replicas.h"
#include "popliner/report.h"
#include "popliner/sections.h"
#include "popliner/sizes.h"
#include "popliner/solver.h"
#include "popliner/stage.h"
#include "popliner/structures.h"
#include "popliner/trace.h"
#include "popliner/variants.h"

#ifdef __cplusplus
extern "C" {
#endif

/* "major.minor.patch" of the library that is linked; static text. */
const char *popliner_version(void);

#ifdef __cplusplus
}
#endif

#endif
