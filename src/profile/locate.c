/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "popliner/locate.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/failure.h"
#include "base/growth.h"

/* directory/middle name, as new text; NULL without memory. */
static char *join(const char *directory, const char *middle, const char *name) {
    pl_text path = {0};
    pl_text_format(&path, "%s/%s%s", directory, middle, name);
    if (path.failed) {
        free(path.data);
        return NULL;
    }
    return path.data;
}

static bool is_file(const char *path) {
    struct stat info;
    return stat(path, &info) == 0 && !S_ISDIR(info.st_mode);
}

/* The directory part of a path, "." if it has none; NULL without memory. */
static char *directory_of(const char *path) {
    const char *slash = strrchr(path, '/');
    if (slash == NULL)
        return pl_copy_string(".", 1);
    return pl_copy_string(path, slash == path ? 1 : (size_t)(slash - path));
}

/* Looks for a debug.cbor near the profile; *debug_path stays NULL without one. False when memory is
 * short. */
static bool find_debug(const char *profile_path, char **debug_path) {
    static const char *const places[] = {"", "../"};
    char *directory = directory_of(profile_path);
    bool memory = directory != NULL;
    for (size_t i = 0; memory && i < sizeof places / sizeof *places; i++) {
        char *candidate = join(directory, places[i], "debug.cbor");
        memory = candidate != NULL;
        if (memory && is_file(candidate)) {
            *debug_path = candidate;
            break;
        }
        free(candidate);
    }
    free(directory);
    return memory;
}

popliner_status popliner_locate(const char *profile, const char *debug, char **profile_path,
                                char **debug_path, popliner_error *error) {
    struct stat info;
    bool memory = true;
    *profile_path = NULL;
    *debug_path = NULL;
    if (stat(profile, &info) != 0)
        return pl_fail(error, POPLINER_ERROR_INPUT, "%s: cannot be read: %s", profile,
                       strerror(errno));
    if (S_ISDIR(info.st_mode))
        *profile_path = join(profile, "", "profile.pop");
    else
        *profile_path = pl_copy_string(profile, strlen(profile));
    memory = *profile_path != NULL;
    if (memory && S_ISDIR(info.st_mode) && !is_file(*profile_path)) {
        pl_fail(error, POPLINER_ERROR_INPUT, "%s: the directory holds no profile.pop", profile);
        free(*profile_path);
        *profile_path = NULL;
        return POPLINER_ERROR_INPUT;
    }
    if (memory && debug != NULL) {
        *debug_path = pl_copy_string(debug, strlen(debug));
        memory = *debug_path != NULL;
    } else if (memory) {
        memory = find_debug(*profile_path, debug_path);
    }
    if (!memory) {
        free(*profile_path);
        *profile_path = NULL;
        return pl_fail_memory(error, "file names");
    }
    return POPLINER_OK;
}
