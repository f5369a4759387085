/* Recognises what INPUT is by its content.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_COMMAND_INPUT_H
#define PL_COMMAND_INPUT_H

typedef enum input_kind {
    INPUT_PROFILE, /* a profile or a directory; also what cannot be read, which reading reports */
    INPUT_STORED,  /* an analysis that was stored */
    INPUT_COSTS,   /* a file of costs; "-": standard input */
} input_kind;

/* Reads the first bytes of a regular file; a name that ends with .pop is that of a profile. */
input_kind input_kind_of(const char *path);

#endif
