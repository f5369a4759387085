/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profile/debug_document.h"

#include <string.h>

/* An item of the innermost container is complete: closes the containers that it completes. */
static void end_item(pl_debug_document *d) {
    while (d->depth > 0) {
        pl_debug_frame *top = &d->stack[d->depth - 1];
        if (top->is_map)
            top->expects_key = !top->expects_key;
        if (top->indefinite || --top->items_left > 0)
            return;
        if (top->place == PL_DEBUG_PLACE_RECORD)
            pl_debug_end_record(&d->records);
        d->depth--;
    }
    d->is_finished = true;
}

static bool equals(const char *bytes, size_t length, const char *text) {
    return strlen(text) == length && memcmp(bytes, text, length) == 0;
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
        pl_debug_record_key(&d->records, bytes, length);
        break;
    default:
        break;
    }
}

/* A key that is no text: its value is none of those that matter. */
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
        return; /* a piece is no item of its own */
    }
    if (top->is_map && top->expects_key) {
        on_key(d, bytes, length);
    } else if (top->place == PL_DEBUG_PLACE_RECORD) {
        pl_debug_record_text(&d->records, bytes, length);
    } else if (top->place == PL_DEBUG_PLACE_STRINGS) {
        pl_debug_keep_name(&d->records, bytes, length);
    } else if (top->place == PL_DEBUG_PLACE_LIST) {
        pl_debug_list_text(&d->records, bytes, length);
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
        pl_debug_keep_name(&d->records, "", 0); /* no name, but it counts */
    end_item(d);
}

void pl_debug_on_number(pl_debug_document *d, uint64_t number) {
    const pl_debug_frame *top = d->depth == 0 ? NULL : &d->stack[d->depth - 1];
    if (top != NULL && !(top->is_map && top->expects_key)) {
        if (top->place == PL_DEBUG_PLACE_RECORD)
            pl_debug_record_number(&d->records, number);
        else if (top->place == PL_DEBUG_PLACE_LIST)
            pl_debug_list_number(&d->records, number);
    }
    pl_debug_on_other(d);
}

void pl_debug_on_bytes(pl_debug_document *d) {
    if (d->depth == 0 || d->stack[d->depth - 1].place != PL_DEBUG_PLACE_CHUNKS)
        pl_debug_on_other(d);
}

/* What the items of a container are for, which begins here. */
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
        pl_debug_begin_record(&d->records);
        return PL_DEBUG_PLACE_RECORD;
    case PL_DEBUG_PLACE_RECORD:
        if (is_map || !pl_debug_record_list(&d->records))
            break;
        return PL_DEBUG_PLACE_LIST;
    case PL_DEBUG_PLACE_STRINGS:
        pl_debug_keep_name(&d->records, "", 0);
        break;
    default:
        break;
    }
    return PL_DEBUG_PLACE_IGNORED;
}

/* The innermost container is complete, and so may be those around it. */
static void end_container(pl_debug_document *d) {
    if (d->stack[--d->depth].place == PL_DEBUG_PLACE_RECORD)
        pl_debug_end_record(&d->records);
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
        d->stack[d->depth - 1].place == PL_DEBUG_PLACE_CHUNKS) { /* a chunk has no chunks */
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
