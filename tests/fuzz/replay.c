/* Feeds inputs to a harness, without libFuzzer: replay [--cases=RUN] LIST FOLDER feeds every line
 * of the file LIST, in the quick run one of four, then every file of FOLDER in alphabetic order. A
 * line is an input in the quoting of libFuzzer's dictionaries: \xNN is a byte, \\ a backslash, any
 * other visible character is itself. A folder that does not exist is an empty one; no input at all
 * is a mistake.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "cases.h"
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

/* Feeds a copy of just this size, so that the sanitizer sees who reads past its end. */
static bool feed(const void *bytes, size_t size) {
    uint8_t *copy = malloc(size > 0 ? size : 1);
    if (copy == NULL)
        return false;
    if (size > 0)
        memcpy(copy, bytes, size);
    fflush(stdout); /* so that the last line names the input that ended the process */
    LLVMFuzzerTestOneInput(copy, size);
    free(copy);
    return true;
}

/* The value of a hexadecimal digit, -1 for any other character. */
static int digit_of(char c) {
    static const char digits[] = "0123456789abcdef";
    const char *found = c == '\0' ? NULL : strchr(digits, c);
    return found == NULL ? -1 : (int)(found - digits);
}

/* Replaces the quoted `line` by the bytes it means; returns their number, or -1 if it is not quoted
 * so. */
static long unquote(char *line) {
    const char *from = line;
    char *to = line;
    while (*from != '\0') {
        if (*from != '\\') {
            *to++ = *from++;
        } else if (from[1] == '\\') {
            *to++ = '\\';
            from += 2;
        } else {
            const int high = from[1] == 'x' ? digit_of(from[2]) : -1;
            const int low = high < 0 ? -1 : digit_of(from[3]);
            if (low < 0)
                return -1;
            *to++ = (char)(high << 4 | low);
            from += 4;
        }
    }
    return to - line;
}

/* Feeds the lines of the file; returns their number, or -1. */
static int replay_lines(const char *path) {
    char *line = NULL;
    size_t capacity = 0;
    int num_fed = 0;
    size_t number = 0;
    ssize_t length;
    FILE *stream = fopen(path, "r");
    if (stream == NULL) {
        perror(path);
        return -1;
    }
    while (num_fed >= 0 && (length = getline(&line, &capacity, stream)) >= 0) {
        if (!test_takes_case(number++, 4))
            continue;
        line[strcspn(line, "\n")] = '\0';
        printf("%s:%zu\n", path, number);
        const long size = unquote(line);
        if (size < 0 || !feed(line, (size_t)size)) {
            fprintf(stderr, "%s:%zu: not an input in libFuzzer's quoting\n", path, number);
            num_fed = -1;
        } else {
            num_fed++;
        }
    }
    free(line);
    fclose(stream);
    return num_fed;
}

/* Feeds the bytes of a file. */
static bool replay_file(const char *path) {
    enum { MOST = 1 << 20 };
    static uint8_t bytes[MOST];
    FILE *stream = fopen(path, "rb");
    if (stream == NULL)
        return false;
    const size_t size = fread(bytes, 1, sizeof bytes, stream);
    const bool is_whole = feof(stream) && !ferror(stream);
    fclose(stream);
    printf("%s\n", path);
    return is_whole && feed(bytes, size);
}

static int is_visible(const struct dirent *entry) {
    return entry->d_name[0] != '.';
}

/* Feeds the files of the folder; returns their number, or -1. */
static int replay_files(const char *folder) {
    struct dirent **entries;
    int num_fed = 0;
    const int count = scandir(folder, &entries, is_visible, alphasort);
    if (count < 0)
        return errno == ENOENT ? 0 : -1;
    for (int i = 0; i < count; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s", folder, entries[i]->d_name);
        free(entries[i]);
        if (num_fed >= 0 && !replay_file(path)) {
            fprintf(stderr, "%s: cannot be read\n", path);
            num_fed = -1;
        }
        num_fed += num_fed >= 0;
    }
    free(entries);
    return num_fed;
}

int main(int argc, char **argv) {
    if (argc < 3 || !test_choose_cases(argc - 3, argv + 1)) {
        fprintf(stderr, "usage: %s [--cases=quick|full] LIST FOLDER\n", argv[0]);
        return EXIT_FAILURE;
    }
    const int num_lines = replay_lines(argv[argc - 2]);
    const int num_files = num_lines < 0 ? -1 : replay_files(argv[argc - 1]);
    if (num_files < 0)
        return EXIT_FAILURE;
    printf("inputs: %d\n", num_lines + num_files);
    return num_lines + num_files > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
