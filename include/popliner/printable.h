/* Texts that come from files, for people who read them on a terminal.
 *
 * Threads: the functions use their arguments alone, so any number of threads may call them at
 * once.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef POPLINER_PRINTABLE_H
#define POPLINER_PRINTABLE_H

#ifdef __cplusplus
extern "C" {
#endif

/* Room for what one character is shown as, with a NUL. */
#define POPLINER_PRINTABLE_SIZE 8

/* Writes what is to be shown of the first character of a UTF-8 text that is not empty, and returns
 * where the next one begins. Most are shown as they are. What a terminal may obey (C0 with tabs and
 * line ends, DEL, C1, line and paragraph separators, and what turns the direction of the text) is
 * shown as \n, \r, \t or \u001b, and a byte that is no UTF-8 as \xe9. O(1). */
const char *popliner_printable_take(const char *text, char shown[POPLINER_PRINTABLE_SIZE]);

#ifdef __cplusplus
}
#endif

#endif
