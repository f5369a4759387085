/* What is kept of debug.cbor: the records of its contexts and its table of strings, value by value.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_PROFILE_DEBUG_RECORDS_H
#define PL_PROFILE_DEBUG_RECORDS_H

#include "profile/debug_data.h"

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

/* Adds an entry to the file's table of strings. */
void pl_debug_keep_name(pl_debug_records *records, const char *bytes, size_t length);

/* A record begins, or is complete. One without an id is left out. */
void pl_debug_begin_record(pl_debug_records *records);
void pl_debug_end_record(pl_debug_records *records);

/* A key of the record, and its value. */
void pl_debug_record_key(pl_debug_records *records, const char *bytes, size_t length);
void pl_debug_record_text(pl_debug_records *records, const char *bytes, size_t length);
void pl_debug_record_number(pl_debug_records *records, uint64_t number);

/* The value is a list: whether its items are wanted, and these. */
bool pl_debug_record_list(pl_debug_records *records);
void pl_debug_list_text(pl_debug_records *records, const char *bytes, size_t length);
void pl_debug_list_number(pl_debug_records *records, uint64_t number);

#endif
