/* The programs of what a pipeline adds to a model.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MK_PIPELINE_LOWERING_H
#define MK_PIPELINE_LOWERING_H

#include "mkprofile/programs.h"

/* Adds a tensor to its stash. */
void mk_lower_stash(mk_builder *builder, mk_span tensor, mk_span stash);

/* Takes `restored` out of a stash, directly or, `in_place`, through a slice. */
void mk_lower_restore(mk_builder *builder, mk_span stash, mk_span restored, bool in_place);

/* Takes `out` from a buffer and puts `in` there; with no buffer it copies. */
void mk_lower_fifo(mk_builder *builder, mk_span in, mk_span buffer, uint64_t depth, mk_span out);

/* Copies tensors to other IPUs, all at once. */
void mk_lower_send(mk_builder *builder, const mk_span *sources, const mk_span *destinations,
                   size_t count);

/* Tells the other IPUs which program is to run. */
void mk_lower_broadcast(mk_builder *builder, mk_span program_id);

#endif
