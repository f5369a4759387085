/* The digests of a stage meter, and all else that it needs to measure stages without the variables
 * of the profile, as bytes.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_STORE_STORED_METER_H
#define PL_STORE_STORED_METER_H

#include "memory/stage.h"

/* Writes a meter of the full memory model, after completing its digests. The caller frees
 * text->data. False if memory is short. */
bool pl_stored_meter_write(pl_text *text, pl_stage_meter *meter);

/* Reads a meter for the chain, which it then refers to; NULL if the bytes are damaged, or if
 * *is_short: of memory. */
pl_stage_meter *pl_stored_meter_read(const char *bytes, size_t length, const pl_chain *chain,
                                     size_t num_threads, bool *is_short);

#endif
