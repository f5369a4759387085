/* What every harness needs: checks, numbers out of an input, and files in memory.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_TESTS_FUZZ_FUZZ_H
#define PL_TESTS_FUZZ_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "popliner/error.h"

/* What libFuzzer calls, and replay.c. A harness has the first two if it changes its inputs by
 * itself. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);

/* Ends the process, as a fault in memory does, when a promise is broken. */
#define FUZZ_CHECK(promise) ((promise) ? (void)0 : fuzz_end(__FILE__, __LINE__, #promise))
_Noreturn void fuzz_end(const char *file, int line, const char *promise);

/* Nothing but POPLINER_OK, or one of the statuses that `statuses` has a bit for (1 <<
 * POPLINER_ERROR_...), may come of this input; with it a sentence that names `place` (NULL: any),
 * and the same status in the error. Names and values of the input stand in sentences as they are:
 * only who shows them escapes what a terminal would obey. */
void fuzz_check_status(popliner_status status, const popliner_error *error, unsigned statuses,
                       const char *place);

/* An input, from which parts are taken. */
typedef struct fuzz_input {
    const uint8_t *at;
    size_t left;
} fuzz_input;

/* The next byte; 0 when none is left. */
uint8_t fuzz_byte(fuzz_input *input);
/* The next number, of as many bytes as the one before them says (0 to 8): so small ones are as
 * likely as large ones. */
uint64_t fuzz_number(fuzz_input *input);
/* The text up to the next NUL, or all that is left. The caller frees it. */
char *fuzz_text(fuzz_input *input);
/* A copy of so many of the next bytes, or of all that are left, of which *size is the number. It is
 * as large as that, so that the sanitizer sees who reads further; a NUL stands behind it if that is
 * wanted. The caller frees it. */
void *fuzz_copy(fuzz_input *input, size_t most, bool ends_with_nul, size_t *size);

/* Has a file in memory hold these bytes and no other; returns its path. There is but one. */
const char *fuzz_file(const void *bytes, size_t size);

/* The path of a file of this name in a folder that goes when the process ends: in memory, where the
 * system has one. */
const char *fuzz_path(const char *name);

/* Has the file at a path hold these bytes. */
void fuzz_write(const char *path, const void *bytes, size_t size);

#endif
