/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/structs.h"

#include <stdio.h>
#include <string.h>

#include "base/failure.h"
#include "popliner/popliner.h"

/* Reads and checks the struct_size of a caller's structure. */
static popliner_status take_size(size_t own_size, const void *callers, const char *type,
                                 size_t *size, popliner_error *error) {
    memcpy(size, callers, sizeof *size);
    if (*size >= sizeof *size && *size <= own_size)
        return POPLINER_OK;
    char init[64]; /* the type in the name of its macro */
    snprintf(init, sizeof init, "%s", type);
    for (char *c = init; *c != '\0'; c++)
        *c = *c >= 'a' && *c <= 'z' ? (char)(*c - 'a' + 'A') : *c; /* independent of the locale */
    return pl_fail(error, POPLINER_ERROR_USAGE,
                   "struct_size of %s is %zu, and not from %zu to %zu: begin with %s_INIT", type,
                   *size, sizeof *size, own_size, init);
}

popliner_status pl_struct_take(void *own, size_t own_size, const void *callers, const char *type,
                               popliner_error *error) {
    size_t size = 0;
    if (callers == NULL)
        return POPLINER_OK;
    PL_TRY(take_size(own_size, callers, type, &size, error));
    memcpy(own, callers, size);
    memcpy(own, &own_size, sizeof own_size);
    return POPLINER_OK;
}

popliner_status pl_struct_fill(void *callers, const void *own, size_t own_size, const char *type,
                               popliner_error *error) {
    size_t size = 0;
    PL_TRY(take_size(own_size, callers, type, &size, error));
    memcpy(callers, own, size);
    memcpy(callers, &size, sizeof size);
    return POPLINER_OK;
}

const char *popliner_version(void) {
    return PL_VERSION; /* from the build */
}
