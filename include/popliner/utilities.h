/* popliner: files, texts and sizes as users know them.
 *
 * Threads: any number of threads may write files at once. If several write the same one, the
 * file is what one of them wrote. The other functions use their arguments alone.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef POPLINER_UTILITIES_H
#define POPLINER_UTILITIES_H

#include <stddef.h>
#include <stdint.h>

#include "popliner/error.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Writing files so that what was there is not lost ---- */

/* Writes a text or other `bytes`, of which there are `length`, into the file `path`. A regular file
 * holds what it held before until all is written and has reached the disk: it is written beside
 * that, as popliner-*.part, takes its place and keeps its mode. Where `path` is a link, what it
 * leads to is replaced. Devices and pipes are written into, as is a file in a folder where none can
 * be made: only such a file may be left in part, by a full disk. `error` may be NULL. Errors:
 * OUTPUT, MEMORY.
 *
 * Meanwhile the calling thread blocks the signals that ask a program to end (INT, TERM, HUP, QUIT,
 * ALRM, USR1, USR2, XCPU), so that a program of one thread leaves no .part: they come when the file
 * is done. All functions of the library that write a file do it in this way. */
popliner_status popliner_file_write(const char *path, const void *bytes, size_t length,
                                    popliner_error *error);

/* ---- Texts that come from files, for people who read them on a terminal ---- */

/* Room for what one character is shown as, with a NUL. */
#define POPLINER_PRINTABLE_SIZE 8

/* Writes what is to be shown of the first character of a UTF-8 text that is not empty, and returns
 * where the next one begins. Most are shown as they are. What a terminal may obey (C0 with tabs and
 * line ends, DEL, C1, line and paragraph separators, and what turns the direction of the text) is
 * shown as \n, \r, \t or \u001b, and a byte that is no UTF-8 as \xe9. O(1). */
const char *popliner_printable_take(const char *text, char shown[POPLINER_PRINTABLE_SIZE]);

/* ---- Sizes in bytes as people write them ---- */

/* Reads the size that a text begins with, "638976", "624KiB", "1.5M" or "1.5 GB": a decimal number
 * and, directly or after one blank, if wanted one of the units B, K, KB or kB (1000), M or MB, G or
 * GB, KiB (1024), MiB, GiB, written so. With a point it has to come to whole bytes. Returns what
 * follows in the text, with *bytes set; NULL if that is no size, or one above INT64_MAX.
 * O(characters of the number). */
const char *popliner_size_take(const char *text, uint64_t *bytes);

/* ---- Names of enumerators ---- */

/* Which enumeration. */
typedef enum popliner_named {
    POPLINER_NAMED_OBJECTIVE,   /* popliner_objective: "memory", "cycles", ... */
    POPLINER_NAMED_SECTION,     /* popliner_section: "summary", "plan", ... */
    POPLINER_NAMED_EMIT_FORMAT, /* popliner_emit_format: "json", "optimum", ... */
    POPLINER_NAMED_GROWTH,      /* popliner_growth: "largest-tile", "tiles", ... */
} popliner_named;

/* What users of the command and documents know an enumerator by, from the first one, 0, on; NULL
 * behind the last. Static. */
const char *popliner_name_of(popliner_named kind, size_t value);

#ifdef __cplusplus
}
#endif

#endif
