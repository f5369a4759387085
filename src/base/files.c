/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "popliner/utilities.h"

#include <errno.h>
#include <string.h>

#include "base/failure.h"
#include "base/new_file.h"

popliner_status popliner_file_write(const char *path, const void *bytes, size_t length,
                                    popliner_error *error) {
    pl_new_file file;
    int fault = pl_new_file_begin(&file, path);
    if (fault == 0)
        fault = pl_new_file_end(&file, pl_new_file_add(&file, bytes, length));
    if (fault == ENOMEM)
        return pl_fail_memory(error, "a file name");
    return fault == 0 ? POPLINER_OK
                      : pl_fail(error, POPLINER_ERROR_OUTPUT, "%s cannot be written: %s", path,
                                strerror(fault));
}
