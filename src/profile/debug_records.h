/* Where in debug.cbor a reader is, the containers around the current item; and what is kept of it:
 * the records of its contexts and its table of strings, value by value.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_PROFILE_DEBUG_RECORDS_H
#define PL_PROFILE_DEBUG_RECORDS_H

#include "profile/debug_info.h"

/* ---- what is kept ---- */

/* The keys of a context that matter. */
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

/* The debug information that is being filled, the room behind its arrays, and the current record.
 * Zero-initialise but for `info`; free with pl_debug_records_free, which leaves `info` alone. */
typedef struct pl_debug_records {
    pl_debug_info *info;
    size_t strings_capacity;
    size_t contexts_capacity;
    size_t details_capacity;
    size_t outlined_capacity;
    size_t names_capacity;
    size_t name_bytes_capacity;
    bool is_out_of_memory; /* from then on, what is kept has gaps */

    pl_debug_key key; /* whose value comes next */
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

/* Puts "" in front of the strings. False when memory is short. */
bool pl_debug_records_begin(pl_debug_records *records);
void pl_debug_records_free(pl_debug_records *records);

/* ---- where the reader is ---- */

/* Deeper nesting than any real record has is taken for damage. */
enum { PL_DEBUG_MAX_DEPTH = 1000 };

/* Where the items of the current container go. */
typedef enum pl_debug_place {
    PL_DEBUG_PLACE_ROOT,     /* the values of the document's map */
    PL_DEBUG_PLACE_CONTEXTS, /* the records of "contexts" */
    PL_DEBUG_PLACE_RECORD,   /* the values of one record */
    PL_DEBUG_PLACE_LIST,     /* the items of a record's list that is kept */
    PL_DEBUG_PLACE_STRINGS,  /* the texts of "stringTable" */
    PL_DEBUG_PLACE_CHUNKS,   /* the pieces of a text of indefinite length */
    PL_DEBUG_PLACE_IGNORED,
} pl_debug_place;

/* A container that is not complete yet. */
typedef struct pl_debug_frame {
    pl_debug_place place;
    bool is_map;
    bool indefinite;
    bool expects_key;
    uint64_t items_left; /* keys and values; of a definite container */
} pl_debug_frame;

/* Zero-initialise but for records.info. */
typedef struct pl_debug_document {
    pl_debug_records records;
    pl_debug_frame stack[PL_DEBUG_MAX_DEPTH];
    size_t depth;
    bool is_finished;
    bool is_malformed;
    bool found_contexts;
    pl_debug_place next_place; /* of a container that is the value of the root's current key */
    pl_text chunks;            /* of a text of indefinite length */
} pl_debug_document;

/* The next item of the document, keys included. */
void pl_debug_on_text(pl_debug_document *document, const char *bytes, size_t length);
void pl_debug_on_number(pl_debug_document *document, uint64_t number);
/* One whose value never matters. */
void pl_debug_on_other(pl_debug_document *document);
/* Byte strings never matter either, but may be the pieces of one. */
void pl_debug_on_bytes(pl_debug_document *document);
/* `num_items` (of a map: pairs) follow, or as many as come before pl_debug_on_break. */
void pl_debug_on_container(pl_debug_document *document, bool is_map, bool is_indefinite,
                           uint64_t num_items);
/* Text or bytes of indefinite length begin. */
void pl_debug_on_chunks(pl_debug_document *document);
void pl_debug_on_break(pl_debug_document *document);

#endif
