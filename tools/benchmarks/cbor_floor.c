/* The least time that any reader of a CBOR file can take which uses libcbor: one streaming pass
 * with callbacks that do nothing. tools/bench compares the command's loading with it.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cbor.h>

int main(int argc, char **argv) {
    if (argc != 2) {
        fprintf(stderr, "usage: popliner-cbor-floor FILE\n");
        return 2;
    }
    struct stat about = {0};
    int file = open(argv[1], O_RDONLY | O_CLOEXEC);
    void *mapped = MAP_FAILED;
    if (file >= 0 && fstat(file, &about) == 0)
        mapped = mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_PRIVATE, file, 0);
    if (mapped == MAP_FAILED) {
        fprintf(stderr, "%s: cannot be read: %s\n", argv[1], strerror(errno));
        if (file >= 0)
            close(file);
        return 3;
    }
    const unsigned char *bytes = mapped;
    size_t size = (size_t)about.st_size;
    size_t at = 0;
    size_t items = 0;
    while (at < size) {
        struct cbor_decoder_result result =
            cbor_stream_decode(bytes + at, size - at, &cbor_empty_callbacks, NULL);
        if (result.status != CBOR_DECODER_FINISHED)
            break;
        at += result.read;
        items++;
    }
    printf("%zu items in %zu of %zu bytes\n", items, at, size);
    munmap(mapped, size);
    close(file);
    return at == size ? EXIT_SUCCESS : 3;
}
