/* Streams debug.cbor: libcbor takes the bytes apart, this file knows where in the document it is
 * and keeps the few values that are needed.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "profile/debug_data.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cbor.h>

#include "base/failure.h"

/* Deeper nesting than any real record has is taken for damage. */
enum { MOST_DEPTH = 1000 };

/* The keys of a context that matter. */
typedef enum record_key {
    KEY_OTHER,
    KEY_ID,
    KEY_PARENT_ID,
    KEY_NAME,
    KEY_LAYER,
    KEY_OPERATION_NAME,
    KEY_INPUTS,
    KEY_INSTANCE_ID,
    KEY_TENSOR_ID,
    KEY_OPID,
    KEY_REPLACED,
    KEY_OUTLINED,
} record_key;

/* Where the items of the current container go. */
typedef enum place {
    PLACE_ROOT,     /* the values of the document's map */
    PLACE_CONTEXTS, /* the records of "contexts" */
    PLACE_RECORD,   /* the values of one record */
    PLACE_LIST,     /* the items of a record's list that is kept */
    PLACE_STRINGS,  /* the texts of "stringTable" */
    PLACE_CHUNKS,   /* the pieces of a text of indefinite length */
    PLACE_IGNORED,
} place;

typedef struct frame {
    place place;
    bool is_map;
    bool indefinite;
    bool expects_key;
    uint64_t items_left; /* keys and values; of a definite container */
} frame;

typedef struct reader {
    pl_debug_info *info;
    frame stack[MOST_DEPTH];
    size_t depth;
    bool finished;      /* the document is complete */
    bool out_of_memory; /* the callbacks cannot return it */
    bool malformed;
    bool found_contexts;
    place next_place; /* of a container that is the value of the root's current key */

    record_key key;
    uint64_t id;
    bool has_id;
    uint64_t parent_id;
    uint32_t name;
    bool is_operation;
    bool has_details;
    pl_debug_details details;
    pl_text inputs;
    size_t num_inputs;
    pl_text chunks;
    uint64_t *ids[2]; /* of KEY_REPLACED and KEY_OUTLINED */
    size_t num_ids[2];
    size_t ids_capacity[2];
} reader;

static pl_debug_string keep_string(reader *r, const char *bytes, size_t length) {
    pl_debug_info *info = r->info;
    void *strings = info->string_bytes;
    if (length == 0)
        return 0;
    if (info->strings_length + length + 1 >= UINT32_MAX ||
        !pl_reserve(&strings, &info->strings_capacity, info->strings_length + length + 1, 1)) {
        r->out_of_memory = true;
        return 0;
    }
    info->string_bytes = strings;
    pl_debug_string string = (pl_debug_string)info->strings_length;
    memcpy(info->string_bytes + string, bytes, length);
    info->string_bytes[string + length] = '\0';
    info->strings_length += length + 1;
    return string;
}

static void keep_name(reader *r, const char *bytes, size_t length) {
    pl_debug_info *info = r->info;
    void *offsets = info->name_offset;
    void *names = info->name_bytes;
    bool room = pl_reserve(&offsets, &info->names_capacity, info->num_names + 1, sizeof(uint64_t));
    info->name_offset = offsets;
    room = room &&
           pl_reserve(&names, &info->name_bytes_capacity, info->name_bytes_length + length + 1, 1);
    info->name_bytes = names;
    if (!room) {
        r->out_of_memory = true;
        return;
    }
    info->name_offset[info->num_names++] = info->name_bytes_length;
    memcpy(info->name_bytes + info->name_bytes_length, bytes, length);
    info->name_bytes[info->name_bytes_length + length] = '\0';
    info->name_bytes_length += length + 1;
}

static void keep_id(reader *r, int list, uint64_t id) {
    void *ids = r->ids[list];
    if (!pl_reserve(&ids, &r->ids_capacity[list], r->num_ids[list] + 1, sizeof(uint64_t))) {
        r->out_of_memory = true;
        return;
    }
    r->ids[list] = ids;
    r->ids[list][r->num_ids[list]++] = id;
}

/* PopART writes lists of ids as text, "[12,15,19]". */
static void keep_ids_of_text(reader *r, int list, const char *text, size_t length) {
    size_t i = 0;
    while (i < length) {
        if (text[i] < '0' || text[i] > '9') {
            i++;
            continue;
        }
        uint64_t id = 0;
        for (; i < length && text[i] >= '0' && text[i] <= '9'; i++)
            id = id * 10 + (uint64_t)(text[i] - '0');
        keep_id(r, list, id);
    }
}

static void begin_record(reader *r) {
    r->has_id = false;
    r->parent_id = 0;
    r->name = PL_NONE;
    r->is_operation = false;
    r->has_details = false;
    r->details = (pl_debug_details){0};
    r->inputs.length = 0;
    r->num_inputs = 0;
    r->num_ids[0] = 0;
    r->num_ids[1] = 0;
}

/* Keeps the parallel lists of an outlined call. */
static bool end_outlined(reader *r) {
    pl_debug_info *info = r->info;
    size_t count = r->num_ids[0] < r->num_ids[1] ? r->num_ids[0] : r->num_ids[1];
    void *outlined = info->outlined_ids;
    void *replaced = info->replaced_ids;
    bool room = pl_reserve(&outlined, &info->outlined_capacity, info->num_outlined + count,
                           sizeof(uint64_t));
    info->outlined_ids = outlined;
    room = room && pl_reserve(&replaced, &info->replaced_capacity, info->num_outlined + count,
                              sizeof(uint64_t));
    info->replaced_ids = replaced;
    if (!room)
        return false;
    memcpy(info->replaced_ids + info->num_outlined, r->ids[0], count * sizeof(uint64_t));
    memcpy(info->outlined_ids + info->num_outlined, r->ids[1], count * sizeof(uint64_t));
    r->details.first_outlined = info->num_outlined;
    r->details.num_outlined = count;
    info->num_outlined += count;
    return true;
}

static bool reserve_context(pl_debug_info *info) {
    size_t needed = info->num_contexts + 1;
    void *ids = info->context_id;
    void *parents = info->context_parent_id;
    void *names = info->context_name;
    void *details = info->context_details;
    void *operations = info->context_is_operation;
    bool room = info->num_contexts < PL_NONE - 1 &&
                pl_reserve(&ids, &info->contexts_capacity[0], needed, sizeof(uint64_t));
    info->context_id = ids;
    room = room && pl_reserve(&parents, &info->contexts_capacity[1], needed, sizeof(uint64_t));
    info->context_parent_id = parents;
    room = room && pl_reserve(&names, &info->contexts_capacity[2], needed, sizeof(uint32_t));
    info->context_name = names;
    room = room && pl_reserve(&details, &info->contexts_capacity[3], needed, sizeof(uint32_t));
    info->context_details = details;
    room = room && pl_reserve(&operations, &info->contexts_capacity[4], needed, 1);
    info->context_is_operation = operations;
    return room;
}

static void end_record(reader *r) {
    pl_debug_info *info = r->info;
    if (!r->has_id)
        return;
    if (r->inputs.length > 0)
        r->details.inputs = keep_string(r, r->inputs.data, r->inputs.length);
    bool room = reserve_context(info);
    if (room && r->num_ids[0] > 0 && r->num_ids[1] > 0)
        room = end_outlined(r);
    uint32_t details = PL_NONE;
    if (room && r->has_details) {
        void *items = info->details;
        room = pl_reserve(&items, &info->details_capacity, info->num_details + 1,
                          sizeof *info->details);
        info->details = items;
        if (room) {
            details = (uint32_t)info->num_details;
            info->details[info->num_details++] = r->details;
        }
    }
    if (!room || !pl_id_map_add(&info->contexts, r->id, (uint32_t)info->num_contexts)) {
        r->out_of_memory = true;
        return;
    }
    info->context_id[info->num_contexts] = r->id;
    info->context_parent_id[info->num_contexts] = r->parent_id;
    info->context_name[info->num_contexts] = r->name;
    info->context_details[info->num_contexts] = details;
    info->context_is_operation[info->num_contexts] = r->is_operation;
    info->num_contexts++;
    info->num_read++;
}

static bool equals(const char *bytes, size_t length, const char *text) {
    return strlen(text) == length && memcmp(bytes, text, length) == 0;
}

/* Files have tens of millions of keys: nearly all are told apart by their length. */
static record_key key_of(const char *bytes, size_t length) {
    switch (length) {
    case 2:
        return memcmp(bytes, "id", 2) == 0 ? KEY_ID : KEY_OTHER;
    case 4:
        return memcmp(bytes, "name", 4) == 0   ? KEY_NAME
               : memcmp(bytes, "opid", 4) == 0 ? KEY_OPID
                                               : KEY_OTHER;
    case 5:
        return memcmp(bytes, "layer", 5) == 0 ? KEY_LAYER : KEY_OTHER;
    case 6:
        return memcmp(bytes, "opName", 6) == 0   ? KEY_OPERATION_NAME
               : memcmp(bytes, "inputs", 6) == 0 ? KEY_INPUTS
                                                 : KEY_OTHER;
    case 7:
        return memcmp(bytes, "op_name", 7) == 0 ? KEY_OPERATION_NAME : KEY_OTHER;
    case 8:
        return memcmp(bytes, "parentId", 8) == 0   ? KEY_PARENT_ID
               : memcmp(bytes, "tensorId", 8) == 0 ? KEY_TENSOR_ID
                                                   : KEY_OTHER;
    case 10:
        return memcmp(bytes, "instanceId", 10) == 0 ? KEY_INSTANCE_ID : KEY_OTHER;
    case 23:
        return memcmp(bytes, "replacedDebugContextIds", 23) == 0   ? KEY_REPLACED
               : memcmp(bytes, "outlinedDebugContextIds", 23) == 0 ? KEY_OUTLINED
                                                                   : KEY_OTHER;
    default:
        return KEY_OTHER;
    }
}

/* An item of the innermost container is complete: closes the containers that it completes. */
static void end_item(reader *r) {
    while (r->depth > 0) {
        frame *top = &r->stack[r->depth - 1];
        if (top->is_map)
            top->expects_key = !top->expects_key;
        if (top->indefinite || --top->items_left > 0)
            return;
        if (top->place == PLACE_RECORD)
            end_record(r);
        r->depth--;
    }
    r->finished = true;
}

static void on_key(reader *r, const char *bytes, size_t length) {
    switch (r->stack[r->depth - 1].place) {
    case PLACE_ROOT:
        r->next_place = PLACE_IGNORED;
        if (equals(bytes, length, "contexts"))
            r->next_place = PLACE_CONTEXTS;
        else if (equals(bytes, length, "stringTable"))
            r->next_place = PLACE_STRINGS;
        break;
    case PLACE_RECORD:
        r->key = key_of(bytes, length);
        break;
    default:
        break;
    }
}

/* A key that is no text: its value is none of those that matter. */
static void on_odd_key(reader *r) {
    switch (r->stack[r->depth - 1].place) {
    case PLACE_ROOT:
        r->next_place = PLACE_IGNORED;
        break;
    case PLACE_RECORD:
        r->key = KEY_OTHER;
        break;
    default:
        break;
    }
}

static void on_record_text(reader *r, const char *bytes, size_t length) {
    switch (r->key) {
    case KEY_LAYER:
        /* the layers of libpva's operation analysis, see DEVELOPMENT.md */
        r->is_operation = equals(bytes, length, "popart") || equals(bytes, length, "xla_op");
        break;
    case KEY_OPERATION_NAME:
        r->details.operation_name = keep_string(r, bytes, length);
        r->has_details = true;
        break;
    case KEY_INSTANCE_ID:
        r->details.instance_id = keep_string(r, bytes, length);
        r->has_details = true;
        break;
    case KEY_TENSOR_ID:
        r->details.tensor_id = keep_string(r, bytes, length);
        r->has_details = true;
        break;
    case KEY_OPID: {
        static const char call[] = "ai.graphcore.Call:";
        if (length >= sizeof call - 1 && memcmp(bytes, call, sizeof call - 1) == 0) {
            r->details.is_call = true;
            r->has_details = true;
        }
        break;
    }
    case KEY_REPLACED:
        r->details.is_call = true;
        r->has_details = true;
        keep_ids_of_text(r, 0, bytes, length);
        break;
    case KEY_OUTLINED:
        keep_ids_of_text(r, 1, bytes, length);
        break;
    default:
        break;
    }
}

static void on_text(reader *r, const char *bytes, size_t length) {
    if (r->depth == 0) {
        r->malformed = true;
        return;
    }
    const frame *top = &r->stack[r->depth - 1];
    if (top->place == PLACE_CHUNKS) {
        pl_text_append(&r->chunks, bytes, length);
        return; /* a piece is no item of its own */
    }
    if (top->is_map && top->expects_key) {
        on_key(r, bytes, length);
    } else if (top->place == PLACE_RECORD) {
        on_record_text(r, bytes, length);
    } else if (top->place == PLACE_STRINGS) {
        keep_name(r, bytes, length);
    } else if (top->place == PLACE_LIST && r->key == KEY_INPUTS) {
        if (r->num_inputs++ > 0)
            pl_text_add(&r->inputs, "/");
        pl_text_append(&r->inputs, bytes, length);
        r->has_details = true;
    }
    end_item(r);
}

static void on_number(reader *r, uint64_t number) {
    if (r->depth == 0) {
        r->malformed = true;
        return;
    }
    const frame *top = &r->stack[r->depth - 1];
    if (top->is_map && top->expects_key) {
        on_odd_key(r);
    } else if (top->place == PLACE_STRINGS) {
        keep_name(r, "", 0); /* no name, but it counts */
    } else if (top->place == PLACE_RECORD) {
        char text[24];
        switch (r->key) {
        case KEY_ID:
            r->id = number;
            r->has_id = true;
            break;
        case KEY_PARENT_ID:
            r->parent_id = number;
            break;
        case KEY_NAME:
            r->name = number < PL_NONE ? (uint32_t)number : PL_NONE;
            break;
        case KEY_INSTANCE_ID: /* text in every file seen, but a number would be natural too */
            snprintf(text, sizeof text, "%" PRIu64, number);
            on_record_text(r, text, strlen(text));
            break;
        default:
            break;
        }
    } else if (top->place == PLACE_LIST && r->key == KEY_REPLACED) {
        keep_id(r, 0, number);
    } else if (top->place == PLACE_LIST && r->key == KEY_OUTLINED) {
        keep_id(r, 1, number);
    }
    end_item(r);
}

/* An item whose value never matters. */
static void on_other(reader *r) {
    if (r->depth == 0) {
        r->malformed = true;
        return;
    }
    const frame *top = &r->stack[r->depth - 1];
    if (top->is_map && top->expects_key)
        on_odd_key(r);
    else if (top->place == PLACE_STRINGS)
        keep_name(r, "", 0);
    end_item(r);
}

static void on_container(reader *r, bool is_map, bool indefinite, uint64_t items) {
    place inner = PLACE_IGNORED;
    if (r->depth == 0) {
        if (r->finished || !is_map) {
            r->malformed = true;
            return;
        }
        inner = PLACE_ROOT;
    } else {
        const frame *top = &r->stack[r->depth - 1];
        bool is_key = top->is_map && top->expects_key;
        if (is_key)
            on_odd_key(r);
        else if (top->place == PLACE_STRINGS)
            keep_name(r, "", 0);
        if (top->place == PLACE_ROOT && !is_map && !is_key) {
            inner = r->next_place;
            r->found_contexts = r->found_contexts || inner == PLACE_CONTEXTS;
        } else if (top->place == PLACE_CONTEXTS && is_map) {
            inner = PLACE_RECORD;
            begin_record(r);
        } else if (top->place == PLACE_RECORD && !is_map && !is_key &&
                   (r->key == KEY_INPUTS || r->key == KEY_REPLACED || r->key == KEY_OUTLINED)) {
            inner = PLACE_LIST;
            if (r->key == KEY_REPLACED) {
                r->details.is_call = true;
                r->has_details = true;
            }
        }
    }
    if (r->depth == MOST_DEPTH || items > UINT64_MAX / 2) {
        r->malformed = true;
        return;
    }
    r->stack[r->depth++] = (frame){.place = inner,
                                   .is_map = is_map,
                                   .indefinite = indefinite,
                                   .expects_key = is_map,
                                   .items_left = is_map ? items * 2 : items};
    if (!indefinite && items == 0) {
        if (inner == PLACE_RECORD)
            end_record(r);
        r->depth--;
        if (r->depth == 0)
            r->finished = true;
        else
            end_item(r);
    }
}

static void on_break(reader *r) {
    if (r->depth == 0 || !r->stack[r->depth - 1].indefinite) {
        r->malformed = true;
        return;
    }
    frame top = r->stack[--r->depth];
    if (top.is_map && !top.expects_key) {
        r->malformed = true; /* a key without a value */
        return;
    }
    if (top.place == PLACE_CHUNKS) {
        on_text(r, r->chunks.length > 0 ? r->chunks.data : "", r->chunks.length);
        return;
    }
    if (top.place == PLACE_RECORD)
        end_record(r);
    if (r->depth == 0)
        r->finished = true;
    else
        end_item(r);
}

static void on_uint8(void *user, uint8_t number) {
    on_number(user, number);
}

static void on_uint16(void *user, uint16_t number) {
    on_number(user, number);
}

static void on_uint32(void *user, uint32_t number) {
    on_number(user, number);
}

static void on_uint64(void *user, uint64_t number) {
    on_number(user, number);
}

static void on_negative8(void *user, uint8_t number) {
    (void)number;
    on_other(user);
}

static void on_negative16(void *user, uint16_t number) {
    (void)number;
    on_other(user);
}

static void on_negative32(void *user, uint32_t number) {
    (void)number;
    on_other(user);
}

static void on_negative64(void *user, uint64_t number) {
    (void)number;
    on_other(user);
}

/* Numbers are doubles in Poplar's own model of values, so whole ones may come as floats. */
static void on_double(void *user, double number) {
    if (number >= 0 && number < 9007199254740992.0 && number == (double)(uint64_t)number)
        on_number(user, (uint64_t)number);
    else
        on_other(user);
}

static void on_float(void *user, float number) {
    on_double(user, (double)number);
}

static void on_boolean(void *user, bool value) {
    (void)value;
    on_other(user);
}

static void on_string(void *user, cbor_data bytes, size_t length) {
    on_text(user, (const char *)bytes, length);
}

static void on_bytes(void *user, cbor_data bytes, size_t length) {
    reader *r = user;
    (void)bytes;
    (void)length;
    if (r->depth > 0 && r->stack[r->depth - 1].place == PLACE_CHUNKS)
        return;
    on_other(user);
}

static void on_chunks(void *user) {
    reader *r = user;
    if (r->depth == 0 || r->depth == MOST_DEPTH ||
        r->stack[r->depth - 1].place == PLACE_CHUNKS) { /* a chunk has no chunks */
        r->malformed = true;
        return;
    }
    r->chunks.length = 0;
    r->stack[r->depth++] = (frame){.place = PLACE_CHUNKS, .indefinite = true};
}

static void on_array(void *user, size_t items) {
    on_container(user, false, false, items);
}

static void on_open_array(void *user) {
    on_container(user, false, true, 0);
}

static void on_map(void *user, size_t pairs) {
    on_container(user, true, false, pairs);
}

static void on_open_map(void *user) {
    on_container(user, true, true, 0);
}

static void on_tag(void *user, uint64_t tag) {
    /* a tag is no item: what it tags follows */
    (void)user;
    (void)tag;
}

static void on_nothing(void *user) {
    on_other(user);
}

static void on_end(void *user) {
    on_break(user);
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
static size_t decode(reader *r, mapping *file, const popliner_listener *listener) {
    const uint8_t *bytes = file->bytes;
    size_t size = file->size;
    size_t at = 0;
    size_t next_look = 0;
    while (at < size && !r->finished && !r->malformed && !r->out_of_memory) {
        struct cbor_decoder_result result =
            cbor_stream_decode(bytes + at, size - at, &callbacks, r);
        if (result.status == CBOR_DECODER_ERROR)
            r->malformed = true;
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

static popliner_status read_bytes(pl_debug_info *info, const char *path, mapping *file,
                                  const popliner_listener *listener, popliner_error *error) {
    popliner_status status = POPLINER_OK;
    const uint8_t *bytes = file->bytes;
    if (bytes[0] != 0xd9 && (bytes[0] & 0xe0) != 0xa0)
        return pl_fail(error, POPLINER_ERROR_INPUT,
                       "%s: is no debug information: a debug.cbor begins with a CBOR map%s", path,
                       bytes[0] == '{' ? " (this looks like JSON, which is not supported)" : "");
    reader *r = calloc(1, sizeof *r);
    if (r == NULL)
        return pl_fail_memory(error, "the debug information");
    r->info = info;
    size_t used = decode(r, file, listener);
    info->truncated = !r->finished;
    if (r->out_of_memory || r->inputs.failed || r->chunks.failed) {
        status = pl_fail_memory(error, "the debug information");
    } else if (r->malformed && info->num_contexts == 0) {
        status = pl_fail(error, POPLINER_ERROR_INPUT,
                         "%s: is no debug information: not CBOR from byte %zu on", path, used);
    } else if (r->finished && !r->found_contexts) {
        status = pl_fail(error, POPLINER_ERROR_INPUT,
                         "%s: is no debug information: it has no list called contexts", path);
    } else if (info->truncated) {
        pl_tell(listener, POPLINER_LEVEL_WARNING,
                "%s: %s after %zu debug contexts (byte %zu of %zu); only these are used, so "
                "programs may seem to belong to no operation.",
                path, r->malformed ? "is damaged" : "was cut off", info->num_contexts, used,
                file->size);
    }
    free(r->inputs.data);
    free(r->chunks.data);
    free(r->ids[0]);
    free(r->ids[1]);
    free(r);
    return status;
}

popliner_status pl_debug_info_read(const char *path, const popliner_listener *listener,
                                   pl_debug_info **result, popliner_error *error) {
    popliner_status status = POPLINER_OK;
    void *bytes = MAP_FAILED;
    mapping map = {0};
    *result = NULL;
    pl_debug_info *info = calloc(1, sizeof *info);
    /* without O_NONBLOCK opening a pipe would wait for a writer */
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat about;
    if (info == NULL || (info->string_bytes = malloc(16)) == NULL) {
        status = pl_fail_memory(error, "the debug information");
        goto done;
    }
    info->strings_capacity = 16;
    info->strings_length = 1;
    info->string_bytes[0] = '\0';
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
        pl_debug_info_free(info);
    return status;
}

void pl_debug_info_free(pl_debug_info *info) {
    if (info == NULL)
        return;
    pl_id_map_free(&info->contexts);
    free(info->string_bytes);
    free(info->context_id);
    free(info->context_parent_id);
    free(info->context_name);
    free(info->context_details);
    free(info->context_is_operation);
    free(info->details);
    free(info->outlined_ids);
    free(info->replaced_ids);
    free(info->name_offset);
    free(info->name_bytes);
    free(info);
}

size_t pl_debug_info_num_contexts(const pl_debug_info *info) {
    return info->num_contexts;
}

size_t pl_debug_info_num_read(const pl_debug_info *info) {
    return info->num_read;
}

bool pl_debug_info_is_truncated(const pl_debug_info *info) {
    return info->truncated;
}

uint32_t pl_debug_find(const pl_debug_info *info, uint64_t id) {
    return id == 0 ? PL_NONE : pl_id_map_find(&info->contexts, id);
}

uint32_t pl_debug_parent(const pl_debug_info *info, uint32_t context) {
    return pl_debug_find(info, info->context_parent_id[context]);
}

uint32_t pl_debug_operation_of(const pl_debug_info *info, uint32_t context) {
    size_t steps = 0; /* more than there are contexts: the parents are cyclic */
    while (context != PL_NONE && steps++ < info->num_contexts) {
        if (info->context_is_operation[context])
            return context;
        context = pl_debug_parent(info, context);
    }
    return PL_NONE;
}

const pl_debug_details *pl_debug_get_details(const pl_debug_info *info, uint32_t context) {
    if (context == PL_NONE || info->context_details[context] == PL_NONE)
        return NULL;
    return &info->details[info->context_details[context]];
}

const char *pl_debug_operation_name(const pl_debug_info *info, uint32_t context) {
    size_t steps = 0;
    while (context != PL_NONE && steps++ < info->num_contexts) {
        const pl_debug_details *details = pl_debug_get_details(info, context);
        if (details != NULL && details->operation_name != 0)
            return pl_debug_text(info, details->operation_name);
        context = pl_debug_parent(info, context);
    }
    return "";
}

bool pl_debug_info_path(const pl_debug_info *info, uint64_t id, char *path, size_t size) {
    enum { MOST_PARENTS = 100 };
    uint32_t chain[MOST_PARENTS];
    size_t length = 0;
    uint32_t context = pl_debug_find(info, id);
    bool known = context != PL_NONE;
    for (; context != PL_NONE && length < MOST_PARENTS; context = pl_debug_parent(info, context)) {
        bool met = false; /* the parents are cyclic */
        for (size_t i = 0; i < length && !met; i++)
            met = chain[i] == context;
        if (met)
            break;
        chain[length++] = context;
    }
    size_t used = 0;
    if (size > 0)
        path[0] = '\0';
    while (length-- > 0 && used < size) {
        uint32_t name = info->context_name[chain[length]];
        if (name >= info->num_names)
            continue;
        const char *text = info->name_bytes + info->name_offset[name];
        if (*text != '\0') {
            int written = snprintf(path + used, size - used, "%s%s", used > 0 ? "/" : "", text);
            used += written > 0 ? (size_t)written : 0;
        }
    }
    return known;
}
