/* Reads debug.cbor, item by item (RFC 8949); functions that follow the structure of the document
 * take the items. Nearly all of them are skipped.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "profile/debug_info.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/failure.h"
#include "base/new_file.h"
#include "base/numbers.h"

/* ---- Items ---- */

typedef enum item_kind {
    ITEM_OTHER,
    ITEM_NUMBER, /* whole, and not negative */
    ITEM_TEXT,
    ITEM_ARRAY,
    ITEM_MAP,
    ITEM_BREAK,
    ITEM_TAG, /* is no item: the tagged one follows */
} item_kind;

typedef struct item {
    item_kind kind;
    bool is_open;     /* a container of indefinite length, which a break ends */
    uint64_t number;  /* or the bytes of a text, the items of an array, the pairs of a map */
    const char *text; /* valid until the next item is read */
} item;

/* ---- The file ---- */

/* The bytes of the file in memory, if no item is longer. */
enum { WINDOW_BYTES = 1 << 20 };

/* A part of a file in memory. The file is not mapped: truncating a mapped file that is being read
 * would end the process, and its pages would count as memory of the process. */
typedef struct window {
    FILE *file;
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
    const uint64_t left = w->size - place_in(w);
    const size_t room = (size_t)pl_smaller(pl_more(wanted, w->room), left);
    if (w->at > 0)
        memmove(w->bytes, w->bytes + w->at, w->used - w->at);
    w->begin += w->at;
    w->used -= w->at;
    w->at = 0;
    if (!pl_grow(&w->bytes, &w->room, room, 1)) {
        w->fault = ENOMEM;
        return false;
    }
    w->used += fread(w->bytes + w->used, 1, room - w->used, w->file);
    w->fault = ferror(w->file) != 0 ? errno : 0;
    w->is_short = w->used < room;
    return w->used == room;
}

/* ---- Reading items ---- */

/* Deeper nesting than in any real record counts as damage. */
enum { MAX_DEPTH = 1000 };

typedef struct reader {
    pl_debug_info *info; /* which is filled */
    const popliner_listener *listener;
    pl_bounds *bounds;
    window window;
    item item; /* the current one */
    size_t depth;
    bool has_ended; /* no further item can be read, and containers are incomplete */
    bool is_malformed;
    pl_text chunks; /* of a text or bytes of indefinite length */
    bool is_in_chunks;
} reader;

/* Ends reading because of damage. */
static bool fail_malformed(reader *r) {
    r->has_ended = r->is_malformed = true;
    return false;
}

/* Reports progress, and looks at what else may end reading. */
static void look_up(reader *r) {
    const window *w = &r->window;
    r->has_ended = r->info->arrays.failed || pl_bounds_ask(r->bounds);
    if (!r->has_ended)
        pl_progress(r->listener, "Listing debug contexts", place_in(w), w->size);
}

/* Returns `count` bytes from the next item on; NULL if there are fewer, which ends reading. */
static const uint8_t *look_ahead(reader *r, uint64_t count) {
    window *w = &r->window;
    if (count > w->used - w->at) {
        r->has_ended = count > w->size - place_in(w) || !fill(w, (size_t)count);
        if (!r->has_ended)
            look_up(r);
    }
    return r->has_ended ? NULL : w->bytes + w->at;
}

/* Returns the number in 2, 4 or 8 bytes of floating point, if it is not negative. */
static double float_of(uint64_t bits, size_t num_bytes) {
    const uint32_t word = (uint32_t)bits;
    const int exponent = (int)(word >> 10); /* of two bytes */
    float single;
    double number;
    memcpy(&single, &word, sizeof single);
    memcpy(&number, &bits, sizeof number);
    if (num_bytes != 2)
        return num_bytes == sizeof single ? (double)single : number;
    if (exponent >= 0x1f) /* not finite, or negative */
        return -1;
    return ldexp((word & 0x3ff) + (exponent > 0 ? 0x400 : 0), (exponent > 0 ? exponent : 1) - 25);
}

/* Completes an item of major type 7: a break, a word such as true, or a number. In Poplar's model
 * of values numbers are doubles, so whole ones may be stored as floats. */
static void take_simple(item *it, size_t num_bytes) {
    const double number = num_bytes < 2 ? -1 : float_of(it->number, num_bytes);
    if (it->is_open) {
        it->kind = ITEM_BREAK;
    } else if (number >= 0 && number < 9007199254740992.0 && number == (double)(uint64_t)number) {
        it->kind = ITEM_NUMBER;
        it->number = (uint64_t)number;
    }
}

static bool join_chunks(reader *r);

/* Reads the next item. False at the end of what can be read. */
static bool next(reader *r) {
    /* for each major type, which numbers may follow it in its byte; those that stand for nothing
     * yet are damage */
    static const struct {
        item_kind kind;
        uint32_t valid;
    } types[] = {{ITEM_NUMBER, 0x0fffffff}, {ITEM_OTHER, 0x0fffffff}, {ITEM_OTHER, 0x8fffffff},
                 {ITEM_TEXT, 0x8fffffff},   {ITEM_ARRAY, 0x8fffffff}, {ITEM_MAP, 0x8fffffff},
                 {ITEM_TAG, 0x0fe0003f},    {ITEM_OTHER, 0x8ef00000}};
    enum { BYTES = 2, TEXT, SIMPLE = 7, IN_ONE_BYTE = 24, OPEN = 31 };
    do {
        const uint8_t *bytes = r->has_ended ? NULL : look_ahead(r, 1);
        if (bytes == NULL)
            return false;
        const unsigned major = *bytes >> 5;
        const unsigned low = *bytes & 0x1f;
        const size_t more = low < IN_ONE_BYTE || low == OPEN ? 0 : (size_t)1 << (low - IN_ONE_BYTE);
        item it = {types[major].kind, low == OPEN, low < IN_ONE_BYTE ? low : 0, NULL};
        uint64_t size = 1 + more;
        if ((types[major].valid >> low & 1) == 0)
            return fail_malformed(r);
        if ((bytes = look_ahead(r, size)) == NULL)
            return false;
        for (size_t i = 1; i <= more; i++)
            it.number = it.number << 8 | bytes[i];
        if (major == SIMPLE) {
            take_simple(&it, more);
        } else if ((major == BYTES || major == TEXT) && it.is_open) {
            r->window.at++;
            return join_chunks(r);
        } else if (major == BYTES || major == TEXT) {
            size = it.number < UINT64_MAX - size ? size + it.number : UINT64_MAX;
            if ((bytes = look_ahead(r, size)) == NULL)
                return false;
            it.text = (const char *)bytes + 1 + more;
        }
        r->window.at += (size_t)size;
        r->item = it;
    } while (r->item.kind == ITEM_TAG);
    return true;
}

/* Makes one text of the chunks that follow. */
static bool join_chunks(reader *r) {
    if (r->is_in_chunks) /* a chunk has no chunks */
        return fail_malformed(r);
    r->is_in_chunks = true;
    r->chunks.length = 0;
    while (next(r) && r->item.kind != ITEM_BREAK) {
        if (r->item.kind == ITEM_TEXT)
            pl_text_append(&r->chunks, r->item.text, r->item.number);
        else if (r->item.kind != ITEM_OTHER)
            fail_malformed(r);
    }
    const char *text = r->chunks.length > 0 ? r->chunks.data : "";
    r->item = (item){.kind = ITEM_TEXT, .number = r->chunks.length, .text = text};
    r->is_in_chunks = false;
    return !r->has_ended;
}

/* The rest of a container. */
typedef struct container {
    bool is_map;
    bool is_open;
    uint64_t num_items; /* keys and values: that follow or, if it is open, that were read */
} container;

static container enter(reader *r) {
    const item *it = &r->item;
    const bool is_map = it->kind == ITEM_MAP;
    if (it->number > UINT64_MAX / 2 || r->depth++ == MAX_DEPTH)
        fail_malformed(r);
    return (container){is_map, it->is_open, is_map ? 2 * it->number : it->number};
}

/* Reads the next item of a container. False after its last, and at the end of what can be read. */
static bool next_in(reader *r, container *c) {
    if ((!c->is_open && c->num_items == 0) || !next(r)) {
        r->depth -= !r->has_ended;
        return false;
    }
    if (r->item.kind != ITEM_BREAK) {
        c->num_items += c->is_open ? 1 : UINT64_MAX;
        return true;
    }
    if (!c->is_open || (c->is_map && c->num_items % 2 != 0)) /* a key without a value */
        return fail_malformed(r);
    r->depth--;
    return false;
}

/* Skips the contents of the current item. */
static void skip(reader *r) {
    if (r->item.kind != ITEM_ARRAY && r->item.kind != ITEM_MAP)
        return;
    container c = enter(r);
    while (next_in(r, &c))
        skip(r);
}

static bool equals(const item *it, const char *text) {
    return it->kind == ITEM_TEXT && strlen(text) == it->number &&
           memcmp(it->text, text, it->number) == 0;
}

/* ---- Stored data ---- */

/* Appends a text; returns its offset, or 0 if memory is short. */
static size_t append(reader *r, char **texts, size_t *length, const char *bytes, size_t count) {
    const size_t offset = *length;
    if (!pl_arrays_grow(&r->info->arrays, texts, offset + count + 1, 1))
        return 0;
    if (count > 0)
        memcpy(*texts + offset, bytes, count);
    (*texts)[offset + count] = '\0';
    *length += count + 1;
    return offset;
}

static pl_debug_string keep_string(reader *r, const char *bytes, size_t length) {
    pl_debug_info *info = r->info;
    if (info->strings_length + length + 1 >= UINT32_MAX)
        info->arrays.failed = true;
    return (pl_debug_string)append(r, &info->string_bytes, &info->strings_length, bytes, length);
}

/* Reads the file's table of strings; what is no text counts as an empty one. */
static void read_names(reader *r) {
    pl_debug_info *info = r->info;
    container c = enter(r);
    while (next_in(r, &c)) {
        const bool is_text = r->item.kind == ITEM_TEXT;
        const size_t offset = append(r, &info->name_bytes, &info->name_bytes_length, r->item.text,
                                     is_text ? r->item.number : 0);
        if (pl_arrays_grow(&info->arrays, &info->name_offset, info->num_names + 1,
                           sizeof *info->name_offset))
            info->name_offset[info->num_names++] = offset;
        skip(r);
    }
}

/* ---- Records ---- */

typedef enum key_kind {
    KEY_ID,
    KEY_PARENT_ID,
    KEY_NAME,
    KEY_LAYER,
    KEY_DETAIL, /* a text of the details */
    KEY_OPID,
    KEY_INPUTS, /* this and the rest have lists */
    KEY_REPLACED,
    KEY_OUTLINED,
} key_kind;

/* A key of a context that is stored. */
typedef struct record_key {
    const char *name;
    key_kind kind;
    size_t into; /* offset in the details */
} record_key;

/* Files have tens of millions of keys: the length alone distinguishes nearly all. */
static const record_key *find_key(const item *it) {
    enum { MAX_LENGTH = 23 };
#define DETAIL(member) KEY_DETAIL, offsetof(pl_debug_details, member)
    static const record_key keys[MAX_LENGTH + 1][2] = {
        [2] = {{"id", KEY_ID, 0}},
        [4] = {{"name", KEY_NAME, 0}, {"opid", KEY_OPID, 0}},
        [5] = {{"layer", KEY_LAYER, 0}},
        [6] = {{"opName", DETAIL(operation_name)}, {"inputs", KEY_INPUTS, 0}},
        [7] = {{"op_name", DETAIL(operation_name)}},
        [8] = {{"parentId", KEY_PARENT_ID, 0}, {"tensorId", DETAIL(tensor_id)}},
        [10] = {{"instanceId", DETAIL(instance_id)}},
        [23] = {{"replacedDebugContextIds", KEY_REPLACED, 0},
                {"outlinedDebugContextIds", KEY_OUTLINED, 0}},
    };
    if (it->kind != ITEM_TEXT || it->number > MAX_LENGTH)
        return NULL;
    const record_key *of_length = keys[it->number];
    for (size_t i = 0; i < 2 && of_length[i].name != NULL; i++)
        if (memcmp(it->text, of_length[i].name, it->number) == 0)
            return &of_length[i];
    return NULL;
}

/* The current record. */
typedef struct record {
    bool has_id;
    pl_debug_context own;
    bool has_details;
    pl_debug_details details;
    size_t num_ids[2]; /* of the replaced and the outlined contexts */
} record;

static void keep_id(reader *r, record *c, bool is_outlined, uint64_t id) {
    pl_debug_info *info = r->info;
    uint64_t **ids = is_outlined ? &info->outlined_ids : &info->replaced_ids;
    const size_t place = info->num_outlined + c->num_ids[is_outlined];
    if (!pl_arrays_grow(&info->arrays, ids, place + 1, sizeof **ids))
        return;
    (*ids)[place] = id;
    c->num_ids[is_outlined]++;
}

/* PopART writes lists of ids as text, "[12,15,19]". */
static void keep_ids_of_text(reader *r, record *c, bool is_outlined) {
    const char *text = r->item.text;
    const char *end = text + r->item.number;
    while (text < end) {
        uint64_t id = 0;
        const char *begin = text;
        for (; text < end && *text >= '0' && *text <= '9'; text++)
            id = id * 10 + (uint64_t)(*text - '0');
        if (text > begin)
            keep_id(r, c, is_outlined, id);
        else
            text++;
    }
}

static void read_text(reader *r, record *c, const record_key *key) {
    static const char call[] = "ai.graphcore.Call:";
    const item *it = &r->item;
    switch (key->kind) {
    case KEY_LAYER:
        /* the layers of libpva's operation analysis, see docs/internals/model.md */
        c->own.layer = equals(it, "popart") || equals(it, "xla_op") ? PL_DEBUG_LAYER_OPERATIONS
                       : equals(it, "poplar")                       ? PL_DEBUG_LAYER_POPLAR
                                                                    : PL_DEBUG_LAYER_OTHER;
        break;
    case KEY_DETAIL:
        *(pl_debug_string *)(void *)((char *)&c->details + key->into) =
            it->number == 0 ? 0 : keep_string(r, it->text, it->number);
        c->has_details = true;
        break;
    case KEY_OPID:
        if (it->number >= sizeof call - 1 && memcmp(it->text, call, sizeof call - 1) == 0)
            c->details.is_call = c->has_details = true;
        break;
    case KEY_REPLACED:
        c->details.is_call = c->has_details = true;
        keep_ids_of_text(r, c, false);
        break;
    case KEY_OUTLINED:
        keep_ids_of_text(r, c, true);
        break;
    default:
        break;
    }
}

static void read_number(reader *r, record *c, const record_key *key) {
    const uint64_t number = r->item.number;
    char text[24];
    if (key->kind == KEY_ID) {
        c->own.id = number;
        c->has_id = true;
    } else if (key->kind == KEY_PARENT_ID) {
        c->own.parent_id = number;
    } else if (key->kind == KEY_NAME) {
        c->own.name = number < PL_NONE ? (uint32_t)number : PL_NONE;
    } else if (key->into == offsetof(pl_debug_details, instance_id)) {
        /* text in all known files, but a number would also be valid */
        snprintf(text, sizeof text, "%" PRIu64, number);
        r->item = (item){.kind = ITEM_TEXT, .number = strlen(text), .text = text};
        read_text(r, c, key);
    }
}

static void read_list(reader *r, record *c, const record_key *key) {
    pl_debug_info *info = r->info;
    container list = enter(r);
    bool has_inputs = false; /* of this list, as the last string */
    if (key->kind == KEY_REPLACED)
        c->details.is_call = c->has_details = true;
    while (next_in(r, &list)) {
        const item *it = &r->item;
        if (key->kind == KEY_INPUTS && it->kind == ITEM_TEXT) {
            if (has_inputs)
                info->string_bytes[info->strings_length - 1] = '/';
            const pl_debug_string text = keep_string(r, it->text, it->number);
            c->details.inputs = has_inputs ? c->details.inputs : text;
            has_inputs = true;
            c->has_details = true;
        } else if (key->kind != KEY_INPUTS && it->kind == ITEM_NUMBER) {
            keep_id(r, c, key->kind == KEY_OUTLINED, it->number);
        }
        skip(r);
    }
}

static void end_record(reader *r, record *c) {
    pl_debug_info *info = r->info;
    pl_arrays *arrays = &info->arrays;
    const size_t i = info->num_contexts;
    if (c->num_ids[0] > 0 && c->num_ids[1] > 0) {
        c->details.first_outlined = info->num_outlined;
        c->details.num_outlined = c->num_ids[0] < c->num_ids[1] ? c->num_ids[0] : c->num_ids[1];
        info->num_outlined += c->details.num_outlined;
    }
    if (i >= PL_NONE - 2 || !pl_id_map_add(&info->ids, c->own.id, i))
        arrays->failed = true;
    if (c->has_details &&
        pl_arrays_grow(arrays, &info->details, info->num_details + 1, sizeof *info->details)) {
        c->own.details = (uint32_t)info->num_details;
        info->details[info->num_details++] = c->details;
    }
    if (pl_arrays_grow(arrays, &info->contexts, i + 1, sizeof *info->contexts))
        info->contexts[info->num_contexts++] = c->own;
}

static void read_record(reader *r) {
    container map = enter(r);
    record c = {.own = {.name = PL_NONE, .details = PL_NONE}};
    while (next_in(r, &map)) {
        const record_key *key = find_key(&r->item);
        skip(r);
        if (!next_in(r, &map))
            break;
        if (key != NULL && r->item.kind == ITEM_TEXT)
            read_text(r, &c, key);
        else if (key != NULL && r->item.kind == ITEM_NUMBER)
            read_number(r, &c, key);
        else if (key != NULL && r->item.kind == ITEM_ARRAY && key->kind >= KEY_INPUTS)
            read_list(r, &c, key);
        else
            skip(r);
    }
    if (!r->has_ended && c.has_id)
        end_record(r, &c);
}

/* ---- The document ---- */

static void read_contexts(reader *r) {
    container list = enter(r);
    while (next_in(r, &list)) {
        if (r->item.kind == ITEM_MAP)
            read_record(r);
        else
            skip(r);
    }
}

/* Reads the document, up to its end or to the first item that is incomplete or malformed. Returns
 * whether it has contexts. */
static bool read_document(reader *r) {
    bool has_contexts = false;
    if (!next(r))
        return false;
    if (r->item.kind != ITEM_MAP)
        return fail_malformed(r);
    container map = enter(r);
    while (next_in(r, &map)) {
        const bool are_contexts = equals(&r->item, "contexts");
        const bool are_names = equals(&r->item, "stringTable");
        skip(r);
        if (!next_in(r, &map))
            break;
        const bool is_list = r->item.kind == ITEM_ARRAY;
        has_contexts = has_contexts || (are_contexts && is_list);
        if (are_contexts && is_list)
            read_contexts(r);
        else if (are_names && is_list)
            read_names(r);
        else
            skip(r);
    }
    return has_contexts;
}

static const char memory[] = "the debug information";

/* Reads the file, unless its first byte is that of another kind of file. Returns whether it has
 * contexts. */
static bool read_file(reader *r) {
    window *w = &r->window;
    if (!fill(w, WINDOW_BYTES) || (w->bytes[0] != 0xd9 && (w->bytes[0] & 0xe0) != 0xa0))
        return false;
    keep_string(r, "", 0);
    look_up(r);
    const bool has_contexts = read_document(r);
    r->info->truncated = r->has_ended;
    return has_contexts;
}

static bool has_changed(const window *w, const struct stat *before) {
    struct stat now;
    return w->is_short || fstat(fileno(w->file), &now) != 0 || now.st_size != before->st_size ||
           now.st_mtim.tv_sec != before->st_mtim.tv_sec ||
           now.st_mtim.tv_nsec != before->st_mtim.tv_nsec;
}

/* Fails for what is wrong with the file, first with the file itself, and warns of what is damaged;
 * else completes the information. */
static popliner_status end_reading(reader *r, const char *path, const struct stat *before,
                                   bool has_contexts, popliner_error *error) {
    pl_debug_info *info = r->info;
    const window *w = &r->window;
    const char *why = NULL;
    char place[60] = "";
    if (pl_bounds_are_over(r->bounds))
        return pl_fail(error, POPLINER_ERROR_STOPPED,
                       "%s: reading it was stopped after %" PRIu64 " of %" PRIu64 " bytes", path,
                       place_in(w), w->size);
    errno = w->fault;
    if (w->fault != 0)
        return pl_fail_reading(error, path);
    pl_id_map_sort(&info->ids);
    pl_debug_resolve(info);
    if (info->arrays.failed || r->chunks.failed)
        return pl_fail_memory(error, memory);
    if (has_changed(w, before))
        return pl_fail(error, POPLINER_ERROR_INPUT,
                       "%s: changed while it was being read; read it again when no program writes "
                       "it any more",
                       path);
    if (info->strings_length == 0)
        why = w->bytes[0] == '{' ? "a debug.cbor begins with a CBOR map (this looks like JSON, "
                                   "which is not supported)"
                                 : "a debug.cbor begins with a CBOR map";
    else if (r->is_malformed && info->num_contexts == 0)
        snprintf(place, sizeof place, "not CBOR from byte %" PRIu64 " on", place_in(w));
    else if (!r->has_ended && !has_contexts)
        why = "it has no list called contexts";
    if (why != NULL || place[0] != '\0')
        return pl_fail_because(error, POPLINER_REASON_NO_DEBUG_INFO,
                               "%s: is not debug information: %s", path, why != NULL ? why : place);
    if (info->truncated)
        pl_tell(r->listener, POPLINER_LEVEL_WARNING,
                "%s: %s after %zu debug contexts (byte %" PRIu64 " of %" PRIu64
                "); later contexts are missing.",
                path, r->is_malformed ? "is damaged" : "was cut off", info->num_contexts,
                place_in(w), w->size);
    else if (place_in(w) < w->size)
        pl_tell(r->listener, POPLINER_LEVEL_WARNING,
                "%s: ends at byte %" PRIu64 "; ignored %" PRIu64
                " bytes after it, so it may be damaged.",
                path, place_in(w), w->size - place_in(w));
    pl_progress(r->listener, "Listing debug contexts", w->size, w->size);
    return POPLINER_OK;
}

popliner_status pl_debug_info_read(pl_bounds *bounds, const char *path,
                                   const popliner_listener *listener, pl_debug_info **result,
                                   popliner_error *error) {
    struct stat about;
    *result = NULL;
    PL_TRY(pl_file_look(path, "debug information", POPLINER_REASON_NO_DEBUG_INFO, &about, error));
    pl_debug_info *info = calloc(1, sizeof *info);
    if (info == NULL)
        return pl_fail_memory(error, memory);
    reader r = {.info = info,
                .listener = listener,
                .bounds = bounds,
                .window = {.file = fopen(path, "rb"), .size = (uint64_t)about.st_size}};
    popliner_status status;
    if (r.window.file == NULL) {
        status = pl_fail_reading(error, path);
    } else {
        const bool has_contexts = read_file(&r);
        status = end_reading(&r, path, &about, has_contexts, error);
        (void)fclose(r.window.file); /* it was only read */
    }
    free(r.chunks.data);
    free(r.window.bytes);
    if (status == POPLINER_OK)
        *result = info;
    else
        pl_debug_info_free(info);
    return status;
}
