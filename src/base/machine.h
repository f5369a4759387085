/* What the machine has.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_BASE_MACHINE_H
#define PL_BASE_MACHINE_H

#include <stddef.h>
#include <stdint.h>

/* The processors that are online, at least 1. */
size_t pl_machine_processors(void);

/* Its memory without swap; UINT64_MAX where the system does not tell. */
uint64_t pl_machine_memory_bytes(void);

#endif
