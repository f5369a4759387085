/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "command/standard_input.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command/session.h"

popliner_status standard_input_read(char **text, size_t *length, popliner_error *error) {
    enum { FIRST_BYTES = 1 << 16, MAX_MIB = 256 };
    const size_t max_bytes = (size_t)MAX_MIB << 20;
    popliner_status status = POPLINER_OK;
    char *bytes = NULL;
    size_t capacity = 0;
    size_t count = 0;
    *text = NULL;
    *length = 0;
    while (status == POPLINER_OK && count == capacity) {
        capacity = capacity == 0 ? FIRST_BYTES : 2 * capacity;
        if (capacity > max_bytes)
            capacity = max_bytes + 1;
        char *grown = realloc(bytes, capacity + 1);
        if (grown == NULL) {
            status =
                session_fail(error, POPLINER_ERROR_MEMORY, "not enough memory for standard input");
            break;
        }
        bytes = grown;
        count += fread(bytes + count, 1, capacity - count, stdin);
        if (ferror(stdin))
            status = session_fail(error, POPLINER_ERROR_INPUT, "standard input: cannot be read: %s",
                                  strerror(errno));
        else if (count > max_bytes)
            status = session_fail(error, POPLINER_ERROR_INPUT,
                                  "standard input: is longer than %d MiB; give the name of a file",
                                  MAX_MIB);
    }
    if (status != POPLINER_OK) {
        free(bytes);
        return status;
    }
    bytes[count] = '\0';
    *text = bytes;
    *length = count;
    return POPLINER_OK;
}
