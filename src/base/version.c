/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "popliner/popliner.h"

const char *popliner_version(void) {
    return PL_VERSION; /* from the build */
}
