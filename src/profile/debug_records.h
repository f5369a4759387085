/* The position of the reader in debug.cbor (the containers around the current item), and the
 * records of contexts and the table of strings that it stores.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_PROFILE_DEBUG_RECORDS_H
#define PL_PROFILE_DEBUG_RECORDS_H

#include "profile/debug_info.h"

/* ---- Stored data ---- */

/* The keys of a context that are stored. */
typedef enum pl_debug_key {
    PL_DEBUG_KEY_OTHER,
    PL_DEBUG_KEY_ID,
    PL_DEBUG_KEY_PARENT_ID,
    PL_DEBUG_KEY_NAME,
    PL_DEBUG_KEY_LAYER,
    PL_DEBUG_KEY_OPERATION_NAME,
    PL_DEBUG_KEY_INPUTS,
    PL_DEBUG_KEY_INSTANCE_ID,
    PL_DEBUG_KEY_TENSOR_ID,
    PL_DEBUG_KEY_OPID,
    PL_DEBUG_KEY_REPLACED,
    PL_DEBUG_KEY_OUTLINED,
} pl_debug_key;

/* The debug information that is being filled, the capacities of its arrays, and the current record.
 * Zero-initialise except for `info`; free with pl_debug_records_free, which does not free
 * `info`. */
typedef struct pl_debug_records {
    pl_debug_info *info;
    size_t strings_capacity;
    size_t contexts_capacity;
    size_t details_capacity;
    size_t outlined_capacity;
    size_t names_capacity;
    size_t name_bytes_capacity;
    bool is_out_of_memory; /* from then on the stored data has gaps */

    pl_debug_key key; /* of the next value */
    uint64_t id;
    bool has_id;
    uint64_t parent_id;
    uint32_t name;
    pl_debug_layer layer;
    bool has_details;
    pl_debug_details details;
    pl_text inputs;
    size_t num_inputs;
    uint64_t *ids[2]; /* of the replaced and the outlined contexts */
    size_t num_ids[2];
    size_t ids_capacity[2];
} pl_debug_records;

/* Stores "" as the first string. False if memory is short. */
bool pl_debug_records_begin(pl_debug_records *records);
void pl_debug_records_free(pl_debug_records *records);

/* ---- The position of the reader ---- */

/* Deeper nesting than in any real record counts as damage. */
enum { PL_DEBUG_MAX_DEPTH = 1000 };

/* The use of the items of a container. */
typedef enum pl_debug_place {
    PL_DEBUG_PLACE_ROOT,     /* the values of the document's map */
    PL_DEBUG_PLACE_CONTEXTS, /* the records of "contexts" */
    PL_DEBUG_PLACE_RECORD,   /* the values of one record */
    PL_DEBUG_PLACE_LIST,     /* the items of a stored list of a record */
    PL_DEBUG_PLACE_STRINGS,  /* the texts of "stringTable" */
    PL_DEBUG_PLACE_CHUNKS,   /* the parts of a text of indefinite length */
    PL_DEBUG_PLACE_IGNORED,
} pl_debug_place;

/* A container that is not complete yet. */
typedef struct pl_debug_frame {
    pl_debug_place place;
    bool is_map;
    bool indefinite;
    bool expects_key;
    uint64_t items_left; /* keys and values, in a definite container */
} pl_debug_frame;

/* Zero-initialise except for records.info. */
typedef struct pl_debug_document {
    pl_debug_records records;
    pl_debug_frame stack[PL_DEBUG_MAX_DEPTH];
    size_t depth;
    bool is_finished;
    bool is_malformed;
    bool found_contexts;
    pl_debug_place next_place; /* for a container that is the value of the root's current key */
    pl_text chunks;            /* of a text of indefinite length */
} pl_debug_document;

/* Take the next item of the document, keys included. */
void pl_debug_on_text(pl_debug_document *document, const char *bytes, size_t length);
void pl_debug_on_number(pl_debug_document *document, uint64_t number);
/* Takes an item whose value is never needed. */
void pl_debug_on_other(pl_debug_document *document);
/* Takes a byte string, which is never needed either, but may be a part of one. */
void pl_debug_on_bytes(pl_debug_document *document);
/* Begins a container of `num_items` (pairs in a map), or of indefinite length, which
 * pl_debug_on_break ends. */
void pl_debug_on_container(pl_debug_document *document, bool is_map, bool is_indefinite,
                           uint64_t num_items);
/* Begins a text or bytes of indefinite length. */
void pl_debug_on_chunks(pl_debug_document *document);
void pl_debug_on_break(pl_debug_document *document);

#endif
