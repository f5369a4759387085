/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _GNU_SOURCE /* memfd_create */
#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/text.h"

void fuzz_end(const char *file, int line, const char *promise) {
    fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, promise);
    abort();
}

void fuzz_check_status(popliner_status status, const popliner_error *error, unsigned statuses,
                       const char *place) {
    if (status == POPLINER_OK)
        return;
    const size_t length = strnlen(error->message, sizeof error->message);
    const char *fault = (statuses >> status & 1) == 0        ? "this status must not be"
                        : error->status != status            ? "the error has another status"
                        : length == 0                        ? "there is no message"
                        : length == sizeof error->message    ? "the message has no end"
                        : error->message[length - 1] == '\n' ? "the message has a line end"
                        : place != NULL && strstr(error->message, place) == NULL
                            ? "the message does not say where"
                            : NULL;
    if (fault == NULL)
        return;
    fprintf(stderr, "status %d, '%.1000s': %s\n", (int)status, error->message, fault);
    abort();
}

uint8_t fuzz_byte(fuzz_input *input) {
    if (input->left == 0)
        return 0;
    input->left--;
    return *input->at++;
}

uint64_t fuzz_number(fuzz_input *input) {
    uint64_t number = 0;
    for (unsigned i = fuzz_byte(input) % 9; i > 0; i--)
        number = number << 8 | fuzz_byte(input);
    return number;
}

void *fuzz_copy(fuzz_input *input, size_t most, bool ends_with_nul, size_t *size) {
    *size = most < input->left ? most : input->left;
    char *bytes = malloc(*size + ends_with_nul > 0 ? *size + ends_with_nul : 1);
    FUZZ_CHECK(bytes != NULL);
    if (*size > 0)
        memcpy(bytes, input->at, *size);
    if (ends_with_nul)
        bytes[*size] = '\0';
    input->at += *size;
    input->left -= *size;
    return bytes;
}

char *fuzz_text(fuzz_input *input) {
    const void *end = input->left == 0 ? NULL : memchr(input->at, 0, input->left);
    size_t length = end == NULL ? input->left : (size_t)((const uint8_t *)end - input->at);
    char *text = fuzz_copy(input, length, true, &length);
    fuzz_byte(input); /* the NUL */
    return text;
}

const char *fuzz_file(const void *bytes, size_t size) {
    static char path[32];
    static int file = -1;
    if (file < 0) {
        file = memfd_create("fuzz", MFD_CLOEXEC);
        FUZZ_CHECK(file >= 0);
        snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    }
    FUZZ_CHECK(pwrite(file, bytes, size, 0) == (ssize_t)size);
    FUZZ_CHECK(ftruncate(file, (off_t)size) == 0);
    return path;
}

/* ---- Files of a name ------------------------------------------------------------------------ */

enum { MAX_PATHS = 8, MAX_PATH = 100 };

static char root[MAX_PATH / 2];
static char paths[MAX_PATHS][MAX_PATH];

static void remove_root(void) {
    for (size_t i = 0; i < MAX_PATHS; i++)
        unlink(paths[i]);
    rmdir(root);
}

const char *fuzz_path(const char *name) {
    char path[MAX_PATH];
    if (root[0] == '\0') {
        strcpy(root, access("/dev/shm", W_OK) == 0 ? "/dev/shm/fuzz-XXXXXX" : "/tmp/fuzz-XXXXXX");
        FUZZ_CHECK(mkdtemp(root) != NULL && atexit(remove_root) == 0);
    }
    snprintf(path, sizeof path, "%s/%s", root, name);
    for (size_t i = 0; i < MAX_PATHS; i++) {
        if (paths[i][0] == '\0')
            strcpy(paths[i], path);
        if (strcmp(paths[i], path) == 0)
            return paths[i];
    }
    fuzz_end(__FILE__, __LINE__, "room for another path");
}

void fuzz_write(const char *path, const void *bytes, size_t size) {
    FILE *file = fopen(path, "wb");
    FUZZ_CHECK(file != NULL && fwrite(bytes, 1, size, file) == size && fclose(file) == 0);
}
