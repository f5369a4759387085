/* Feeds files to a harness, without libFuzzer: replay FOLDER... reads every file of the folders in
 * alphabetic order, or, where there are many and POPLINER_TEST_ALL is not set, every third one. A
 * folder that is not there is an empty one; no file at all is a mistake.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "fuzz.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* What harnesses that change their inputs call, which only libFuzzer has them do. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size) {
    (void)data;
    return size < max_size ? size : max_size;
}

/* The bytes of a file, no more and no less; NULL if it cannot be read or is no file. */
static uint8_t *read_file(const char *path, size_t *size) {
    struct stat about;
    uint8_t *bytes = NULL;
    FILE *stream = fopen(path, "rb");
    if (stream == NULL)
        return NULL;
    if (fstat(fileno(stream), &about) == 0 && S_ISREG(about.st_mode)) {
        *size = (size_t)about.st_size;
        bytes = malloc(*size > 0 ? *size : 1);
        if (bytes != NULL && fread(bytes, 1, *size, stream) != *size) {
            free(bytes);
            bytes = NULL;
        }
    }
    fclose(stream);
    return bytes;
}

static int is_visible(const struct dirent *entry) {
    return entry->d_name[0] != '.';
}

/* Which of so many files are fed: every so many-th. */
static int stride_of(int count) {
    enum { MANY = 1000, STRIDE = 3 };
    if (count < MANY || getenv("POPLINER_TEST_ALL") != NULL)
        return 1;
    printf("[  QUICK   ] not all cases\n");
    return STRIDE;
}

/* The number of files that were fed, or -1. */
static int replay(const char *folder) {
    struct dirent **entries;
    int num_fed = 0;
    const int count = scandir(folder, &entries, is_visible, alphasort);
    if (count < 0 && errno == ENOENT)
        return 0;
    const int stride = stride_of(count);
    for (int i = 0; i < count; i++) {
        char path[4096];
        size_t size;
        snprintf(path, sizeof path, "%s/%s", folder, entries[i]->d_name);
        free(entries[i]);
        if (i % stride != 0)
            continue;
        uint8_t *bytes = read_file(path, &size);
        if (bytes == NULL) {
            fprintf(stderr, "%s: cannot be read\n", path);
            num_fed = -1;
            continue;
        }
        printf("%s\n", path);
        fflush(stdout); /* so that the last line names the input that ended the process */
        LLVMFuzzerTestOneInput(bytes, size);
        free(bytes);
        num_fed += num_fed >= 0;
    }
    if (count >= 0)
        free(entries);
    return count < 0 ? -1 : num_fed;
}

int main(int argc, char **argv) {
    int num_fed = 0;
    for (int i = 1; i < argc; i++) {
        const int added = replay(argv[i]);
        if (added < 0)
            return EXIT_FAILURE;
        num_fed += added;
    }
    printf("inputs: %d\n", num_fed);
    return num_fed > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
