/* The digests of a stage meter, and all else that it needs to measure stages without the variables
 * of the profile, as bytes.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_STORE_STORED_METER_H
#define PL_STORE_STORED_METER_H

#include "memory/stage.h"
#include "store/coder.h"

/* Writes a meter of the full memory model, after completing its digests. The coder is short of
 * memory if it cannot. */
void pl_stored_meter_write(pl_coder *coder, pl_stage_meter *meter);

/* Reads a meter for the chain, which it then refers to; NULL if the coder fails. */
pl_stage_meter *pl_stored_meter_read(pl_coder *coder, const pl_chain *chain, size_t num_threads);

#endif
