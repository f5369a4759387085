/* Calls the library, so that it has to be linked.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>

#include <popliner/popliner.h>

int main(void) {
    return puts(popliner_version()) < 0;
}
