/* Streams debug.cbor: libcbor takes the bytes apart.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "profile/debug_document.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cbor.h>

#include "base/failure.h"

/* ---- What libcbor calls ---- */

static void on_uint8(void *user, uint8_t number) {
    pl_debug_on_number(user, number);
}

static void on_uint16(void *user, uint16_t number) {
    pl_debug_on_number(user, number);
}

static void on_uint32(void *user, uint32_t number) {
    pl_debug_on_number(user, number);
}

static void on_uint64(void *user, uint64_t number) {
    pl_debug_on_number(user, number);
}

static void on_negative8(void *user, uint8_t number) {
    (void)number;
    pl_debug_on_other(user);
}

static void on_negative16(void *user, uint16_t number) {
    (void)number;
    pl_debug_on_other(user);
}

static void on_negative32(void *user, uint32_t number) {
    (void)number;
    pl_debug_on_other(user);
}

static void on_negative64(void *user, uint64_t number) {
    (void)number;
    pl_debug_on_other(user);
}

/* Numbers are doubles in Poplar's own model of values, so whole ones may come as floats. */
static void on_double(void *user, double number) {
    if (number >= 0 && number < 9007199254740992.0 && number == (double)(uint64_t)number)
        pl_debug_on_number(user, (uint64_t)number);
    else
        pl_debug_on_other(user);
}

static void on_float(void *user, float number) {
    on_double(user, (double)number);
}

static void on_boolean(void *user, bool value) {
    (void)value;
    pl_debug_on_other(user);
}

static void on_string(void *user, cbor_data bytes, size_t length) {
    pl_debug_on_text(user, (const char *)bytes, length);
}

static void on_bytes(void *user, cbor_data bytes, size_t length) {
    (void)bytes;
    (void)length;
    pl_debug_on_bytes(user);
}

static void on_chunks(void *user) {
    pl_debug_on_chunks(user);
}

static void on_array(void *user, size_t items) {
    pl_debug_on_container(user, false, false, items);
}

static void on_open_array(void *user) {
    pl_debug_on_container(user, false, true, 0);
}

static void on_map(void *user, size_t pairs) {
    pl_debug_on_container(user, true, false, pairs);
}

static void on_open_map(void *user) {
    pl_debug_on_container(user, true, true, 0);
}

static void on_tag(void *user, uint64_t tag) {
    /* a tag is no item: what it tags follows */
    (void)user;
    (void)tag;
}

static void on_nothing(void *user) {
    pl_debug_on_other(user);
}

static void on_end(void *user) {
    pl_debug_on_break(user);
}

static const struct cbor_callbacks callbacks = {
    .uint8 = on_uint8,
    .uint16 = on_uint16,
    .uint32 = on_uint32,
    .uint64 = on_uint64,
    .negint64 = on_negative64,
    .negint32 = on_negative32,
    .negint16 = on_negative16,
    .negint8 = on_negative8,
    .byte_string_start = on_chunks,
    .byte_string = on_bytes,
    .string = on_string,
    .string_start = on_chunks,
    .indef_array_start = on_open_array,
    .array_start = on_array,
    .indef_map_start = on_open_map,
    .map_start = on_map,
    .tag = on_tag,
    .float2 = on_float,
    .float4 = on_float,
    .float8 = on_double,
    .undefined = on_nothing,
    .null = on_nothing,
    .boolean = on_boolean,
    .indef_break = on_end,
};

/* ---- The file ---- */

/* A file in memory, of which the beginning is given back while it is read: its pages would count as
 * memory of the process. */
typedef struct mapping {
    uint8_t *bytes;
    size_t size;
    size_t released; /* bytes that are gone; whole pages */
} mapping;

enum { RELEASED_BYTES = 1 << 24 };

static void release_before(mapping *file, size_t at) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t end = at / page * page;
    if (end > file->released && munmap(file->bytes + file->released, end - file->released) == 0)
        file->released = end;
}

/* Feeds the bytes to the callbacks. Returns how many were used: all of them, or the place of the
 * first item that is incomplete or malformed. */
static size_t decode(pl_debug_document *d, mapping *file, const popliner_listener *listener) {
    const uint8_t *bytes = file->bytes;
    size_t size = file->size;
    size_t at = 0;
    size_t next_look = 0;
    while (at < size && !d->is_finished && !d->is_malformed && !d->records.is_out_of_memory) {
        struct cbor_decoder_result result =
            cbor_stream_decode(bytes + at, size - at, &callbacks, d);
        if (result.status == CBOR_DECODER_ERROR)
            d->is_malformed = true;
        if (result.status != CBOR_DECODER_FINISHED)
            break;
        at += result.read;
        if (at < next_look)
            continue;
        pl_progress(listener, "Reading debug information", at, size);
        next_look = at + (size / 100 < RELEASED_BYTES ? size / 100 : RELEASED_BYTES) + 1;
        if (at - file->released > RELEASED_BYTES)
            release_before(file, at);
    }
    pl_progress(listener, "Reading debug information", size, size);
    return at;
}

static popliner_status read_bytes(popliner_debug_info *info, const char *path, mapping *file,
                                  const popliner_listener *listener, popliner_error *error) {
    popliner_status status = POPLINER_OK;
    const uint8_t *bytes = file->bytes;
    if (bytes[0] != 0xd9 && (bytes[0] & 0xe0) != 0xa0)
        return pl_fail(error, POPLINER_ERROR_INPUT,
                       "%s: is no debug information: a debug.cbor begins with a CBOR map%s", path,
                       bytes[0] == '{' ? " (this looks like JSON, which is not supported)" : "");
    pl_debug_document *d = calloc(1, sizeof *d);
    if (d == NULL)
        return pl_fail_memory(error, "the debug information");
    d->records.info = info;
    if (!pl_debug_records_begin(&d->records)) {
        status = pl_fail_memory(error, "the debug information");
        goto done;
    }
    size_t used = decode(d, file, listener);
    info->truncated = !d->is_finished;
    if (d->records.is_out_of_memory || d->records.inputs.failed || d->chunks.failed) {
        status = pl_fail_memory(error, "the debug information");
    } else if (d->is_malformed && info->num_contexts == 0) {
        status = pl_fail(error, POPLINER_ERROR_INPUT,
                         "%s: is no debug information: not CBOR from byte %zu on", path, used);
    } else if (d->is_finished && !d->found_contexts) {
        status = pl_fail(error, POPLINER_ERROR_INPUT,
                         "%s: is no debug information: it has no list called contexts", path);
    } else if (info->truncated) {
        pl_tell(listener, POPLINER_LEVEL_WARNING,
                "%s: %s after %zu debug contexts (byte %zu of %zu); only these are used, so "
                "programs may seem to belong to no operation.",
                path, d->is_malformed ? "is damaged" : "was cut off", info->num_contexts, used,
                file->size);
    }
done:
    pl_debug_records_free(&d->records);
    free(d->chunks.data);
    free(d);
    return status;
}

popliner_status popliner_debug_info_read(const char *path, const popliner_listener *listener,
                                         popliner_debug_info **result, popliner_error *error) {
    popliner_status status = POPLINER_OK;
    void *bytes = MAP_FAILED;
    mapping map = {0};
    *result = NULL;
    popliner_debug_info *info = calloc(1, sizeof *info);
    /* without O_NONBLOCK opening a pipe would wait for a writer */
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat about;
    if (info == NULL) {
        status = pl_fail_memory(error, "the debug information");
        goto done;
    }
    if (file < 0 || fstat(file, &about) != 0) {
        status =
            pl_fail(error, POPLINER_ERROR_INPUT, "%s: cannot be read: %s", path, strerror(errno));
        goto done;
    }
    if (!S_ISREG(about.st_mode) || about.st_size == 0) {
        status = pl_fail(error, POPLINER_ERROR_INPUT, "%s: is %s, not debug information", path,
                         S_ISREG(about.st_mode) ? "empty" : "not a regular file");
        goto done;
    }
    map.size = (size_t)about.st_size;
    bytes = mmap(NULL, map.size, PROT_READ, MAP_PRIVATE, file, 0);
    if (bytes == MAP_FAILED) {
        status = errno == ENOMEM ? pl_fail_memory(error, "the debug information")
                                 : pl_fail(error, POPLINER_ERROR_INPUT, "%s: cannot be read: %s",
                                           path, strerror(errno));
        goto done;
    }
    map.bytes = bytes;
    status = read_bytes(info, path, &map, listener, error);
    pl_id_map_sort(&info->contexts);
done:
    if (bytes != MAP_FAILED)
        munmap(map.bytes + map.released, map.size - map.released);
    if (file >= 0)
        close(file);
    if (status == POPLINER_OK)
        *result = info;
    else
        popliner_debug_info_free(info);
    return status;
}
