/* What is piped into the command.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_COMMAND_STANDARD_INPUT_H
#define PL_COMMAND_STANDARD_INPUT_H

#include <stddef.h>

#include "popliner/error.h"

/* Reads standard input to its end. *text has a NUL behind its `length` bytes; the caller frees it.
 * Errors: INPUT when it cannot be read or is longer than 256 MiB; MEMORY. */
popliner_status standard_input_read(char **text, size_t *length, popliner_error *error);

#endif
