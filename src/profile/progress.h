/* Reports how far a profile and its debug information are read, as one task in bytes.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_PROFILE_PROGRESS_H
#define PL_PROFILE_PROGRESS_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "popliner/error.h"

/* Zero-initialise except for the listener and the sizes of the files. Of the profile, `percent` are
 * read, and the next reader adds next_percent in pieces. */
typedef struct pl_reading_progress {
    const popliner_listener *listener; /* may be NULL */
    uint64_t profile_bytes;
    uint64_t debug_bytes;
    uint64_t debug_done;
    unsigned percent;
    unsigned next_percent;
    size_t num_pieces;         /* 0: the reader has none */
    atomic_size_t pieces_done; /* any thread may add to it */
} pl_reading_progress;

/* The size of a file; 0 if that is unknown. */
uint64_t pl_file_bytes(const char *path);

/* Begins the next reader, with which `percent` of the profile will be read. */
void pl_reading_progress_next(pl_reading_progress *progress, unsigned percent);

/* Reports to the listener; for the calling thread only. */
void pl_reading_progress_tell(const pl_reading_progress *progress);

/* Returns a listener, for reading the debug information, that passes messages on and reports
 * progress as part of the whole. */
popliner_listener pl_reading_progress_of_debug(pl_reading_progress *progress);

#endif
