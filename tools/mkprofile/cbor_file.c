/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "mkprofile/cbor_file.h"

#include "base/failure.h"

#include <cbor.h>
#include <errno.h>
#include <string.h>

/* The longest head of an item. */
enum { HEAD_BYTES = 9 };

static void write_bytes(mk_cbor_file *file, const void *bytes, size_t count) {
    if (file->error_number == 0 && fwrite(bytes, 1, count, file->stream) != count)
        file->error_number = errno != 0 ? errno : EIO;
}

void mk_cbor_open(mk_cbor_file *file, const char *path) {
    *file = (mk_cbor_file){.path = path};
    file->stream = fopen(path, "wb");
    if (file->stream == NULL)
        file->error_number = errno != 0 ? errno : EIO;
}

popliner_status mk_cbor_close(mk_cbor_file *file, popliner_error *error) {
    if (file->stream != NULL && fclose(file->stream) != 0 && file->error_number == 0)
        file->error_number = errno != 0 ? errno : EIO;
    file->stream = NULL;
    if (file->error_number != 0)
        return pl_fail(error, POPLINER_ERROR_OUTPUT, "%s cannot be written: %s.", file->path,
                       strerror(file->error_number));
    return POPLINER_OK;
}

void mk_cbor_number(mk_cbor_file *file, uint64_t value) {
    unsigned char head[HEAD_BYTES];
    write_bytes(file, head, cbor_encode_uint(value, head, sizeof head));
}

void mk_cbor_bool(mk_cbor_file *file, bool value) {
    unsigned char head[HEAD_BYTES];
    write_bytes(file, head, cbor_encode_bool(value, head, sizeof head));
}

void mk_cbor_text(mk_cbor_file *file, const char *text) {
    unsigned char head[HEAD_BYTES];
    size_t length = strlen(text);
    write_bytes(file, head, cbor_encode_string_start(length, head, sizeof head));
    write_bytes(file, text, length);
}

void mk_cbor_map(mk_cbor_file *file, size_t pairs) {
    unsigned char head[HEAD_BYTES];
    write_bytes(file, head, cbor_encode_map_start(pairs, head, sizeof head));
}

void mk_cbor_array(mk_cbor_file *file, size_t items) {
    unsigned char head[HEAD_BYTES];
    write_bytes(file, head, cbor_encode_array_start(items, head, sizeof head));
}

void mk_cbor_endless_array(mk_cbor_file *file) {
    unsigned char head[HEAD_BYTES];
    write_bytes(file, head, cbor_encode_indef_array_start(head, sizeof head));
}

void mk_cbor_break(mk_cbor_file *file) {
    unsigned char head[HEAD_BYTES];
    write_bytes(file, head, cbor_encode_break(head, sizeof head));
}
