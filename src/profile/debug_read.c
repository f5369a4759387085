/* Streams debug.cbor with libcbor.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "profile/debug_records.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cbor.h>

#include "base/failure.h"

/* ---- Callbacks of libcbor ---- */

#define ON_NUMBER(name, type)                                                                      \
    static void name(void *user, type number) {                                                    \
        pl_debug_on_number(user, number);                                                          \
    }
#define ON_OTHER(name, type)                                                                       \
    static void name(void *user, type value) {                                                     \
        (void)value;                                                                               \
        pl_debug_on_other(user);                                                                   \
    }

ON_NUMBER(on_uint8, uint8_t)
ON_NUMBER(on_uint16, uint16_t)
ON_NUMBER(on_uint32, uint32_t)
ON_NUMBER(on_uint64, uint64_t)
ON_OTHER(on_negative8, uint8_t)
ON_OTHER(on_negative16, uint16_t)
ON_OTHER(on_negative32, uint32_t)
ON_OTHER(on_negative64, uint64_t)
ON_OTHER(on_boolean, bool)

/* In Poplar's model of values numbers are doubles, so whole ones may be stored as floats. */
static void on_double(void *user, double number) {
    if (number >= 0 && number < 9007199254740992.0 && number == (double)(uint64_t)number)
        pl_debug_on_number(user, (uint64_t)number);
    else
        pl_debug_on_other(user);
}

static void on_float(void *user, float number) {
    on_double(user, (double)number);
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
    /* a tag is no item: the tagged item follows */
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

/* The bytes of the file in memory, if no item is longer. */
enum { WINDOW_BYTES = 1 << 20 };

/* A part of a file in memory. The file is not mapped: truncating a mapped file that is being read
 * would end the process, and its pages would count as memory of the process. */
typedef struct window {
    int file;
    uint8_t *bytes; /* [room], owned */
    size_t room;
    size_t used;
    size_t at;      /* the next item, at most `used` */
    uint64_t begin; /* position of bytes[0] in the file */
    uint64_t size;  /* of the file when it was opened */
    int fault;      /* errno of reading; 0: none */
    bool is_short;  /* the file ended before that */
} window;

static uint64_t place_in(const window *w) {
    return w->begin + w->at;
}

/* Reads `wanted` bytes after w->at, or all that follow. False with a fault, or if the file has
 * become shorter. */
static bool fill(window *w, size_t wanted) {
    if (w->at > 0)
        memmove(w->bytes, w->bytes + w->at, w->used - w->at);
    w->begin += w->at;
    w->used -= w->at;
    w->at = 0;
    uint64_t left = w->size - w->begin;
    size_t room = wanted > w->room ? wanted : w->room;
    if (room > left)
        room = (size_t)left;
    if (room > w->room) {
        uint8_t *bytes = realloc(w->bytes, room);
        if (bytes == NULL) {
            w->fault = ENOMEM;
            return false;
        }
        w->bytes = bytes;
        w->room = room;
    }
    while (w->used < room) {
        ssize_t count = read(w->file, w->bytes + w->used, room - w->used);
        if (count < 0 && errno == EINTR)
            continue;
        w->fault = count < 0 ? errno : 0;
        w->is_short = count == 0;
        if (count <= 0)
            return false;
        w->used += (size_t)count;
    }
    return true;
}

/* Reads the rest of an item that needs `required` bytes. False if the file does not have them. */
static bool fill_for_item(window *w, size_t required) {
    size_t seen = w->used - w->at;
    uint64_t left = w->size - place_in(w);
    if (seen >= left || required > left)
        return false;
    return fill(w, required > seen ? required : seen + 1);
}

/* Feeds the bytes to the callbacks, up to the end or to the first item that is incomplete or
 * malformed. */
static void decode(pl_debug_document *d, window *w, const popliner_listener *listener,
                   pl_bounds *bounds) {
    enum { ITEMS_BETWEEN = 4096 };
    uint64_t next_look = 0;
    size_t num_items = 0;
    while (place_in(w) < w->size && !d->is_finished && !d->is_malformed &&
           !d->records.is_out_of_memory) {
        struct cbor_decoder_result result =
            cbor_stream_decode(w->bytes + w->at, w->used - w->at, &callbacks, d);
        if (result.status == CBOR_DECODER_NEDATA && fill_for_item(w, result.required))
            continue;
        if (result.status == CBOR_DECODER_ERROR)
            d->is_malformed = true;
        if (result.status != CBOR_DECODER_FINISHED)
            break;
        w->at += result.read;
        if (num_items++ % ITEMS_BETWEEN == 0 && pl_bounds_ask(bounds))
            return;
        if (place_in(w) < next_look)
            continue;
        pl_progress(listener, "Reading debug information", place_in(w), w->size);
        next_look = place_in(w) + w->size / 100 + 1;
    }
    pl_progress(listener, "Reading debug information", w->size, w->size);
}

static popliner_status read_bytes(pl_debug_info *info, const char *path, window *w,
                                  const popliner_listener *listener, pl_bounds *bounds,
                                  popliner_error *error) {
    popliner_status status = POPLINER_OK;
    if (!fill(w, WINDOW_BYTES))
        return POPLINER_OK;
    const uint8_t *bytes = w->bytes;
    if (bytes[0] != 0xd9 && (bytes[0] & 0xe0) != 0xa0)
        return pl_fail_because(
            error, POPLINER_REASON_NO_DEBUG_INFO,
            "%s: is not debug information: a debug.cbor begins with a CBOR map%s", path,
            bytes[0] == '{' ? " (this looks like JSON, which is not supported)" : "");
    pl_debug_document *d = calloc(1, sizeof *d);
    if (d == NULL)
        return pl_fail_memory(error, "the debug information");
    d->records.info = info;
    if (!pl_debug_records_begin(&d->records)) {
        status = pl_fail_memory(error, "the debug information");
        goto done;
    }
    decode(d, w, listener, bounds);
    info->truncated = !d->is_finished;
    if (pl_bounds_are_over(bounds)) {
        status = pl_fail(error, POPLINER_ERROR_STOPPED,
                         "%s: reading it was stopped after %" PRIu64 " of %" PRIu64 " bytes", path,
                         place_in(w), w->size);
    } else if (d->records.is_out_of_memory || d->records.inputs.failed || d->chunks.failed) {
        status = pl_fail_memory(error, "the debug information");
    } else if (d->is_malformed && info->num_contexts == 0) {
        status = pl_fail_because(error, POPLINER_REASON_NO_DEBUG_INFO,
                                 "%s: is not debug information: not CBOR from byte %" PRIu64 " on",
                                 path, place_in(w));
    } else if (d->is_finished && !d->found_contexts) {
        status =
            pl_fail_because(error, POPLINER_REASON_NO_DEBUG_INFO,
                            "%s: is not debug information: it has no list called contexts", path);
    } else if (info->truncated && w->fault == 0 && !w->is_short) {
        pl_tell(listener, POPLINER_LEVEL_WARNING,
                "%s: %s after %zu debug contexts (byte %" PRIu64 " of %" PRIu64
                "); later contexts are missing.",
                path, d->is_malformed ? "is damaged" : "was cut off", info->num_contexts,
                place_in(w), w->size);
    } else if (place_in(w) < w->size) {
        pl_tell(listener, POPLINER_LEVEL_WARNING,
                "%s: ends at byte %" PRIu64 "; ignored %" PRIu64
                " bytes after it, so it may be damaged.",
                path, place_in(w), w->size - place_in(w));
    }
done:
    pl_debug_records_free(&d->records);
    free(d->chunks.data);
    free(d);
    return status;
}

/* Errors of the file itself take precedence over errors in the part that was read. */
static popliner_status check_file(const window *w, const struct stat *before, const char *path,
                                  popliner_status status, popliner_error *error) {
    struct stat now;
    if (w->fault == ENOMEM)
        return pl_fail_memory(error, "the debug information");
    if (w->fault != 0)
        return pl_fail(error, POPLINER_ERROR_INPUT, "%s: cannot be read: %s", path,
                       strerror(w->fault));
    if (status != POPLINER_OK && status != POPLINER_ERROR_INPUT)
        return status;
    if (w->is_short || fstat(w->file, &now) != 0 || now.st_size != before->st_size ||
        now.st_mtim.tv_sec != before->st_mtim.tv_sec ||
        now.st_mtim.tv_nsec != before->st_mtim.tv_nsec)
        return pl_fail(error, POPLINER_ERROR_INPUT,
                       "%s: changed while it was being read; read it again when no program writes "
                       "it any more",
                       path);
    return status;
}

popliner_status pl_debug_info_read(pl_bounds *bounds, const char *path,
                                   const popliner_listener *listener, pl_debug_info **result,
                                   popliner_error *error) {
    popliner_status status = POPLINER_OK;
    window w = {.file = -1};
    *result = NULL;
    pl_debug_info *info = calloc(1, sizeof *info);
    struct stat about;
    if (info == NULL) {
        status = pl_fail_memory(error, "the debug information");
        goto done;
    }
    /* without O_NONBLOCK opening a pipe would wait for a writer */
    w.file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (w.file < 0 || fstat(w.file, &about) != 0) {
        status = pl_fail_reading(error, path);
        goto done;
    }
    if (!S_ISREG(about.st_mode) || about.st_size == 0) {
        const bool is_file = S_ISREG(about.st_mode);
        status =
            pl_fail_because(error, is_file ? POPLINER_REASON_OTHER : POPLINER_REASON_NO_DEBUG_INFO,
                            "%s: is %s, expected debug information", path,
                            is_file ? "empty" : "not a regular file");
        goto done;
    }
    w.size = (uint64_t)about.st_size;
    status =
        check_file(&w, &about, path, read_bytes(info, path, &w, listener, bounds, error), error);
    pl_id_map_sort(&info->contexts);
    if (status == POPLINER_OK && !pl_debug_resolve(info))
        status = pl_fail_memory(error, "the debug information");
done:
    free(w.bytes);
    if (w.file >= 0)
        close(w.file);
    if (status == POPLINER_OK)
        *result = info;
    else
        pl_debug_info_free(info);
    return status;
}
