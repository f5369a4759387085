/* A model as a pipeline over several IPUs, by the rules of docs/internals/pipeline-profiles.md.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MK_PIPELINE_H
#define MK_PIPELINE_H

#include "mkprofile/network_plan.h"

/* Gives operations and tensors their IPUs, adds what is copied between IPUs and what is kept for
 * the backward pass, and orders the operations of the loop. With one IPU nothing changes. */
void mk_make_pipeline(mk_network_plan *plan);

#endif
