/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/machine.h"

#include <unistd.h>

size_t pl_machine_processors(void) {
    long online = -1;
#ifdef _SC_NPROCESSORS_ONLN /* not in POSIX, but nearly everywhere, like the one below */
    online = sysconf(_SC_NPROCESSORS_ONLN);
#endif
    return online > 0 ? (size_t)online : 1;
}

uint64_t pl_machine_memory_bytes(void) {
    long pages = -1;
    long page_bytes = sysconf(_SC_PAGESIZE);
#ifdef _SC_PHYS_PAGES
    pages = sysconf(_SC_PHYS_PAGES);
#endif
    return pages > 0 && page_bytes > 0 ? (uint64_t)pages * (uint64_t)page_bytes : UINT64_MAX;
}
