/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profile/debug_records.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool pl_debug_records_begin(pl_debug_records *r) {
    pl_debug_info *info = r->info;
    if (!pl_grow(&info->string_bytes, &r->strings_capacity, 1, 1))
        return false;
    info->strings_length = 1;
    info->string_bytes[0] = '\0';
    return true;
}

void pl_debug_records_free(pl_debug_records *r) {
    free(r->inputs.data);
    free(r->ids[0]);
    free(r->ids[1]);
}

/* ---- Stored data ---- */

static pl_debug_string keep_string(pl_debug_records *r, const char *bytes, size_t length) {
    pl_debug_info *info = r->info;
    if (length == 0)
        return 0;
    if (info->strings_length + length + 1 >= UINT32_MAX ||
        !pl_grow(&info->string_bytes, &r->strings_capacity, info->strings_length + length + 1, 1)) {
        r->is_out_of_memory = true;
        return 0;
    }
    pl_debug_string string = (pl_debug_string)info->strings_length;
    memcpy(info->string_bytes + string, bytes, length);
    info->string_bytes[string + length] = '\0';
    info->strings_length += length + 1;
    return string;
}

/* Adds an entry to the file's table of strings. */
static void keep_name(pl_debug_records *r, const char *bytes, size_t length) {
    pl_debug_info *info = r->info;
    if (!pl_grow(&info->name_offset, &r->names_capacity, info->num_names + 1,
                 sizeof *info->name_offset) ||
        !pl_grow(&info->name_bytes, &r->name_bytes_capacity, info->name_bytes_length + length + 1,
                 1)) {
        r->is_out_of_memory = true;
        return;
    }
    info->name_offset[info->num_names++] = info->name_bytes_length;
    memcpy(info->name_bytes + info->name_bytes_length, bytes, length);
    info->name_bytes[info->name_bytes_length + length] = '\0';
    info->name_bytes_length += length + 1;
}

static void keep_id(pl_debug_records *r, int list, uint64_t id) {
    if (!pl_grow(&r->ids[list], &r->ids_capacity[list], r->num_ids[list] + 1, sizeof(uint64_t))) {
        r->is_out_of_memory = true;
        return;
    }
    r->ids[list][r->num_ids[list]++] = id;
}

/* PopART writes lists of ids as text, "[12,15,19]". */
static void keep_ids_of_text(pl_debug_records *r, int list, const char *text, size_t length) {
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

/* Stores the parallel lists of an outlined call. */
static bool end_outlined(pl_debug_records *r) {
    pl_debug_info *info = r->info;
    size_t count = r->num_ids[0] < r->num_ids[1] ? r->num_ids[0] : r->num_ids[1];
    const pl_column_room columns[] = {PL_COLUMN_ROOM(info->outlined_ids),
                                      PL_COLUMN_ROOM(info->replaced_ids)};
    if (!pl_grow_columns(columns, 2, &r->outlined_capacity, info->num_outlined + count))
        return false;
    memcpy(info->replaced_ids + info->num_outlined, r->ids[0], count * sizeof(uint64_t));
    memcpy(info->outlined_ids + info->num_outlined, r->ids[1], count * sizeof(uint64_t));
    r->details.first_outlined = info->num_outlined;
    r->details.num_outlined = count;
    info->num_outlined += count;
    return true;
}

static bool reserve_context(pl_debug_records *r) {
    pl_debug_info *info = r->info;
    const pl_column_room columns[] = {
        PL_COLUMN_ROOM(info->context_id), PL_COLUMN_ROOM(info->context_parent_id),
        PL_COLUMN_ROOM(info->context_name), PL_COLUMN_ROOM(info->context_details),
        PL_COLUMN_ROOM(info->context_layer)};
    return info->num_contexts < PL_NONE - 2 &&
           pl_grow_columns(columns, sizeof columns / sizeof *columns, &r->contexts_capacity,
                           info->num_contexts + 1);
}

/* ---- Records ---- */

static void begin_record(pl_debug_records *r) {
    r->has_id = false;
    r->parent_id = 0;
    r->name = PL_NONE;
    r->layer = PL_DEBUG_LAYER_UNKNOWN;
    r->has_details = false;
    r->details = (pl_debug_details){0};
    r->inputs.length = 0;
    r->num_inputs = 0;
    r->num_ids[0] = 0;
    r->num_ids[1] = 0;
}

static void end_record(pl_debug_records *r) {
    pl_debug_info *info = r->info;
    if (!r->has_id)
        return;
    if (r->inputs.length > 0)
        r->details.inputs = keep_string(r, r->inputs.data, r->inputs.length);
    bool room = reserve_context(r);
    if (room && r->num_ids[0] > 0 && r->num_ids[1] > 0)
        room = end_outlined(r);
    uint32_t details = PL_NONE;
    if (room && r->has_details) {
        room = pl_grow(&info->details, &r->details_capacity, info->num_details + 1,
                       sizeof *info->details);
        if (room) {
            details = (uint32_t)info->num_details;
            info->details[info->num_details++] = r->details;
        }
    }
    if (!room || !pl_id_map_add(&info->contexts, r->id, info->num_contexts)) {
        r->is_out_of_memory = true;
        return;
    }
    info->context_id[info->num_contexts] = r->id;
    info->context_parent_id[info->num_contexts] = r->parent_id;
    info->context_name[info->num_contexts] = r->name;
    info->context_details[info->num_contexts] = details;
    info->context_layer[info->num_contexts] = (uint8_t)r->layer;
    info->num_contexts++;
    info->num_read++;
}

static bool equals(const char *bytes, size_t length, const char *text) {
    return strlen(text) == length && memcmp(bytes, text, length) == 0;
}

/* Files have tens of millions of keys: the length alone distinguishes nearly all. */
static pl_debug_key key_of(const char *bytes, size_t length) {
    switch (length) {
    case 2:
        return memcmp(bytes, "id", 2) == 0 ? PL_DEBUG_KEY_ID : PL_DEBUG_KEY_OTHER;
    case 4:
        return memcmp(bytes, "name", 4) == 0   ? PL_DEBUG_KEY_NAME
               : memcmp(bytes, "opid", 4) == 0 ? PL_DEBUG_KEY_OPID
                                               : PL_DEBUG_KEY_OTHER;
    case 5:
        return memcmp(bytes, "layer", 5) == 0 ? PL_DEBUG_KEY_LAYER : PL_DEBUG_KEY_OTHER;
    case 6:
        return memcmp(bytes, "opName", 6) == 0   ? PL_DEBUG_KEY_OPERATION_NAME
               : memcmp(bytes, "inputs", 6) == 0 ? PL_DEBUG_KEY_INPUTS
                                                 : PL_DEBUG_KEY_OTHER;
    case 7:
        return memcmp(bytes, "op_name", 7) == 0 ? PL_DEBUG_KEY_OPERATION_NAME : PL_DEBUG_KEY_OTHER;
    case 8:
        return memcmp(bytes, "parentId", 8) == 0   ? PL_DEBUG_KEY_PARENT_ID
               : memcmp(bytes, "tensorId", 8) == 0 ? PL_DEBUG_KEY_TENSOR_ID
                                                   : PL_DEBUG_KEY_OTHER;
    case 10:
        return memcmp(bytes, "instanceId", 10) == 0 ? PL_DEBUG_KEY_INSTANCE_ID : PL_DEBUG_KEY_OTHER;
    case 23:
        return memcmp(bytes, "replacedDebugContextIds", 23) == 0   ? PL_DEBUG_KEY_REPLACED
               : memcmp(bytes, "outlinedDebugContextIds", 23) == 0 ? PL_DEBUG_KEY_OUTLINED
                                                                   : PL_DEBUG_KEY_OTHER;
    default:
        return PL_DEBUG_KEY_OTHER;
    }
}

static void record_key(pl_debug_records *r, const char *bytes, size_t length) {
    r->key = key_of(bytes, length);
}

static void record_text(pl_debug_records *r, const char *bytes, size_t length) {
    switch (r->key) {
    case PL_DEBUG_KEY_LAYER:
        /* the layers of libpva's operation analysis, see docs/internals/model.md */
        r->layer = equals(bytes, length, "popart") || equals(bytes, length, "xla_op")
                       ? PL_DEBUG_LAYER_OPERATIONS
                   : equals(bytes, length, "poplar") ? PL_DEBUG_LAYER_POPLAR
                                                     : PL_DEBUG_LAYER_OTHER;
        break;
    case PL_DEBUG_KEY_OPERATION_NAME:
        r->details.operation_name = keep_string(r, bytes, length);
        r->has_details = true;
        break;
    case PL_DEBUG_KEY_INSTANCE_ID:
        r->details.instance_id = keep_string(r, bytes, length);
        r->has_details = true;
        break;
    case PL_DEBUG_KEY_TENSOR_ID:
        r->details.tensor_id = keep_string(r, bytes, length);
        r->has_details = true;
        break;
    case PL_DEBUG_KEY_OPID: {
        static const char call[] = "ai.graphcore.Call:";
        if (length >= sizeof call - 1 && memcmp(bytes, call, sizeof call - 1) == 0) {
            r->details.is_call = true;
            r->has_details = true;
        }
        break;
    }
    case PL_DEBUG_KEY_REPLACED:
        r->details.is_call = true;
        r->has_details = true;
        keep_ids_of_text(r, 0, bytes, length);
        break;
    case PL_DEBUG_KEY_OUTLINED:
        keep_ids_of_text(r, 1, bytes, length);
        break;
    default:
        break;
    }
}

static void record_number(pl_debug_records *r, uint64_t number) {
    char text[24];
    switch (r->key) {
    case PL_DEBUG_KEY_ID:
        r->id = number;
        r->has_id = true;
        break;
    case PL_DEBUG_KEY_PARENT_ID:
        r->parent_id = number;
        break;
    case PL_DEBUG_KEY_NAME:
        r->name = number < PL_NONE ? (uint32_t)number : PL_NONE;
        break;
    case PL_DEBUG_KEY_INSTANCE_ID: /* text in all known files, but a number would also be valid */
        snprintf(text, sizeof text, "%" PRIu64, number);
        record_text(r, text, strlen(text));
        break;
    default:
        break;
    }
}

/* Begins a list: true if its items are stored. */
static bool record_list(pl_debug_records *r) {
    if (r->key == PL_DEBUG_KEY_REPLACED) {
        r->details.is_call = true;
        r->has_details = true;
    }
    return r->key == PL_DEBUG_KEY_INPUTS || r->key == PL_DEBUG_KEY_REPLACED ||
           r->key == PL_DEBUG_KEY_OUTLINED;
}

static void list_text(pl_debug_records *r, const char *bytes, size_t length) {
    if (r->key != PL_DEBUG_KEY_INPUTS)
        return;
    if (r->num_inputs++ > 0)
        pl_text_add(&r->inputs, "/");
    pl_text_append(&r->inputs, bytes, length);
    r->has_details = true;
}

static void list_number(pl_debug_records *r, uint64_t number) {
    if (r->key == PL_DEBUG_KEY_REPLACED)
        keep_id(r, 0, number);
    else if (r->key == PL_DEBUG_KEY_OUTLINED)
        keep_id(r, 1, number);
}

/* ---- The position of the reader ---- */

/* Completes an item of the innermost container, and the containers that it completes. */
static void end_item(pl_debug_document *d) {
    while (d->depth > 0) {
        pl_debug_frame *top = &d->stack[d->depth - 1];
        if (top->is_map)
            top->expects_key = !top->expects_key;
        if (top->indefinite || --top->items_left > 0)
            return;
        if (top->place == PL_DEBUG_PLACE_RECORD)
            end_record(&d->records);
        d->depth--;
    }
    d->is_finished = true;
}

static void on_key(pl_debug_document *d, const char *bytes, size_t length) {
    switch (d->stack[d->depth - 1].place) {
    case PL_DEBUG_PLACE_ROOT:
        d->next_place = PL_DEBUG_PLACE_IGNORED;
        if (equals(bytes, length, "contexts"))
            d->next_place = PL_DEBUG_PLACE_CONTEXTS;
        else if (equals(bytes, length, "stringTable"))
            d->next_place = PL_DEBUG_PLACE_STRINGS;
        break;
    case PL_DEBUG_PLACE_RECORD:
        record_key(&d->records, bytes, length);
        break;
    default:
        break;
    }
}

/* Takes a key that is no text: its value is not stored. */
static void on_odd_key(pl_debug_document *d) {
    switch (d->stack[d->depth - 1].place) {
    case PL_DEBUG_PLACE_ROOT:
        d->next_place = PL_DEBUG_PLACE_IGNORED;
        break;
    case PL_DEBUG_PLACE_RECORD:
        d->records.key = PL_DEBUG_KEY_OTHER;
        break;
    default:
        break;
    }
}

void pl_debug_on_text(pl_debug_document *d, const char *bytes, size_t length) {
    if (d->depth == 0) {
        d->is_malformed = true;
        return;
    }
    const pl_debug_frame *top = &d->stack[d->depth - 1];
    if (top->place == PL_DEBUG_PLACE_CHUNKS) {
        pl_text_append(&d->chunks, bytes, length);
        return; /* a part is no item */
    }
    if (top->is_map && top->expects_key) {
        on_key(d, bytes, length);
    } else if (top->place == PL_DEBUG_PLACE_RECORD) {
        record_text(&d->records, bytes, length);
    } else if (top->place == PL_DEBUG_PLACE_STRINGS) {
        keep_name(&d->records, bytes, length);
    } else if (top->place == PL_DEBUG_PLACE_LIST) {
        list_text(&d->records, bytes, length);
    }
    end_item(d);
}

void pl_debug_on_other(pl_debug_document *d) {
    if (d->depth == 0) {
        d->is_malformed = true;
        return;
    }
    const pl_debug_frame *top = &d->stack[d->depth - 1];
    if (top->is_map && top->expects_key)
        on_odd_key(d);
    else if (top->place == PL_DEBUG_PLACE_STRINGS)
        keep_name(&d->records, "", 0); /* not a name, but it counts */
    end_item(d);
}

void pl_debug_on_number(pl_debug_document *d, uint64_t number) {
    const pl_debug_frame *top = d->depth == 0 ? NULL : &d->stack[d->depth - 1];
    if (top != NULL && !(top->is_map && top->expects_key)) {
        if (top->place == PL_DEBUG_PLACE_RECORD)
            record_number(&d->records, number);
        else if (top->place == PL_DEBUG_PLACE_LIST)
            list_number(&d->records, number);
    }
    pl_debug_on_other(d);
}

void pl_debug_on_bytes(pl_debug_document *d) {
    if (d->depth == 0 || d->stack[d->depth - 1].place != PL_DEBUG_PLACE_CHUNKS)
        pl_debug_on_other(d);
}

/* Returns the use of the items of a container that begins here. */
static pl_debug_place place_inside(pl_debug_document *d, bool is_map) {
    if (d->depth == 0)
        return PL_DEBUG_PLACE_ROOT;
    const pl_debug_frame *top = &d->stack[d->depth - 1];
    if (top->is_map && top->expects_key) {
        on_odd_key(d);
        return PL_DEBUG_PLACE_IGNORED;
    }
    switch (top->place) {
    case PL_DEBUG_PLACE_ROOT:
        if (is_map)
            break;
        d->found_contexts = d->found_contexts || d->next_place == PL_DEBUG_PLACE_CONTEXTS;
        return d->next_place;
    case PL_DEBUG_PLACE_CONTEXTS:
        if (!is_map)
            break;
        begin_record(&d->records);
        return PL_DEBUG_PLACE_RECORD;
    case PL_DEBUG_PLACE_RECORD:
        if (is_map || !record_list(&d->records))
            break;
        return PL_DEBUG_PLACE_LIST;
    case PL_DEBUG_PLACE_STRINGS:
        keep_name(&d->records, "", 0);
        break;
    default:
        break;
    }
    return PL_DEBUG_PLACE_IGNORED;
}

/* Completes the innermost container, and possibly those around it. */
static void end_container(pl_debug_document *d) {
    if (d->stack[--d->depth].place == PL_DEBUG_PLACE_RECORD)
        end_record(&d->records);
    end_item(d);
}

void pl_debug_on_container(pl_debug_document *d, bool is_map, bool is_indefinite,
                           uint64_t num_items) {
    if (d->depth == 0 && (d->is_finished || !is_map)) {
        d->is_malformed = true;
        return;
    }
    pl_debug_place place = place_inside(d, is_map);
    if (d->depth == PL_DEBUG_MAX_DEPTH || num_items > UINT64_MAX / 2) {
        d->is_malformed = true;
        return;
    }
    d->stack[d->depth++] = (pl_debug_frame){.place = place,
                                            .is_map = is_map,
                                            .indefinite = is_indefinite,
                                            .expects_key = is_map,
                                            .items_left = is_map ? num_items * 2 : num_items};
    if (!is_indefinite && num_items == 0)
        end_container(d);
}

void pl_debug_on_chunks(pl_debug_document *d) {
    if (d->depth == 0 || d->depth == PL_DEBUG_MAX_DEPTH ||
        d->stack[d->depth - 1].place == PL_DEBUG_PLACE_CHUNKS) { /* a part has no parts */
        d->is_malformed = true;
        return;
    }
    d->chunks.length = 0;
    d->stack[d->depth++] = (pl_debug_frame){.place = PL_DEBUG_PLACE_CHUNKS, .indefinite = true};
}

void pl_debug_on_break(pl_debug_document *d) {
    if (d->depth == 0 || !d->stack[d->depth - 1].indefinite) {
        d->is_malformed = true;
        return;
    }
    const pl_debug_frame *top = &d->stack[d->depth - 1];
    if (top->is_map && !top->expects_key) {
        d->is_malformed = true; /* a key without a value */
        return;
    }
    if (top->place == PL_DEBUG_PLACE_CHUNKS) {
        d->depth--;
        pl_debug_on_text(d, d->chunks.length > 0 ? d->chunks.data : "", d->chunks.length);
        return;
    }
    end_container(d);
}
