/* popliner: writing files, and parsing and printing texts and sizes for users.
 *
 * Threads: any number of threads may write files at once. If several write one file, it holds the
 * bytes of one of them. The other functions use only their arguments.
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

/* ---- Writing files ---- */

/* Writes `length` bytes to `path`. A regular file keeps its old contents until all bytes are on the
 * disk: they are written to popliner-*.part in the same directory, which then replaces the file and
 * keeps its mode. If `path` is a link, its target is replaced. Devices and pipes are written
 * directly, as are a link's missing target and a file in a directory where no file can be created:
 * only such a file may be incomplete if the disk is full. `error` may be NULL. Errors: OUTPUT,
 * MEMORY.
 *
 * Meanwhile the calling thread blocks the signals that ask a program to end (INT, TERM, HUP, QUIT,
 * ALRM, USR1, USR2, XCPU), which arrive when the file is complete, so that a program of one thread
 * leaves no .part. All functions of the library that write a file do so. */
popliner_status popliner_file_write(const char *path, const void *bytes, size_t length,
                                    popliner_error *error);

/* ---- Printing texts of files on a terminal ---- */

/* Space for one printed character, with a NUL. */
#define POPLINER_PRINTABLE_SIZE 8

/* Prints the first character of a non-empty UTF-8 text into `shown`, and returns the start of the
 * next one. Most characters are unchanged. Those that a terminal may obey (C0 with tabs and line
 * ends, DEL, C1, line and paragraph separators, and changes of the text's direction) become \n, \r,
 * \t or \u001b, and a byte that is not UTF-8 becomes \xe9. O(1). */
const char *popliner_printable_take(const char *text, char shown[POPLINER_PRINTABLE_SIZE]);

/* ---- Sizes in bytes ---- */

/* Parses a size at the start of `text`, such as "638976", "624KiB", "1.5M" or "1.5 GB": a decimal
 * number, then optionally, after at most one blank, a unit: B, K, KB or kB (1000), M or MB, G or
 * GB, T or TB, Ki or KiB (1024), Mi or MiB, Gi or GiB, Ti or TiB, in this spelling. "11.6GiB" is
 * rounded to the nearest byte; without a unit, or in B, a number has no fraction. Sets *bytes and
 * returns the rest of the text; NULL if there is no such size, or it exceeds INT64_MAX.
 * O(characters of the number). */
const char *popliner_size_take(const char *text, uint64_t *bytes);

/* ---- Misspelt names ---- */

/* Returns how many characters have to be inserted, left out, replaced, or exchanged with their
 * neighbour to make `name` of `text`, so that callers can suggest the nearest name; SIZE_MAX if
 * they are more than one for every three characters of the text, or more than three. Ignores the
 * case of ASCII letters. A number is no misspelling, and neither are more than 100 characters.
 * Neither text needs a NUL. O(length * name_length) if the lengths are similar, else O(length). */
size_t popliner_misspelling(const char *text, size_t length, const char *name, size_t name_length);

/* ---- Names of enumerators ---- */

/* The enumerations with names. */
typedef enum popliner_named {
    POPLINER_NAMED_OBJECTIVE,   /* popliner_objective: "memory", "cycles", ... */
    POPLINER_NAMED_SECTION,     /* popliner_section: "summary", "plan", ... */
    POPLINER_NAMED_EMIT_FORMAT, /* popliner_emit_format: "pipeline", "optimum", ... */
    POPLINER_NAMED_GROWTH,      /* popliner_growth: "largest-tile", "tiles", ... */
    POPLINER_NAMED_VERDICT,     /* popliner_verdict: "fits", "likely fits", ... */
    POPLINER_NAMED_PART,        /* popliner_part, as columns: "variables_bytes", ... */
    POPLINER_NAMED_MEANING,     /* popliner_objective: "the peak memory of a tile", ... */
    /* popliner_verdict: "1,372 of 1,373", ...: how many of the random cases with it did fit, of
     * limits near what a stage was expected to need (docs/benchmarks.md); NULL: there was none */
    POPLINER_NAMED_RECORD,
} popliner_named;

/* Returns the name, or the meaning, of an enumerator in the command and the documents, from value 0
 * on; NULL if it is out of range. Static. */
const char *popliner_name_of(popliner_named kind, size_t value);

#ifdef __cplusplus
}
#endif

#endif
