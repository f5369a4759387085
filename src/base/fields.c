/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/fields.h"

#include <stdlib.h>
#include <string.h>

#include "base/growth.h"

void *pl_field_items(const pl_field *field) {
    void *items;
    memcpy(&items, field->pointer, sizeof items);
    return items;
}

void pl_field_set_items(const pl_field *field, void *items) {
    memcpy(field->pointer, &items, sizeof items);
}

bool pl_fields_reserve(const pl_field *fields, size_t num_fields, size_t *capacity, size_t needed) {
    size_t grown = *capacity;
    for (size_t i = 0; i < num_fields && needed > *capacity; i++) {
        void *items = pl_field_items(&fields[i]);
        grown = *capacity;
        if (!pl_grow(&items, &grown, needed, fields[i].item_size))
            return false;
        pl_field_set_items(&fields[i], items);
    }
    *capacity = grown;
    return true;
}

bool pl_fields_allocate(const pl_field *fields, size_t num_fields) {
    bool memory = true;
    for (size_t i = 0; i < num_fields; i++) {
        if (pl_field_items(&fields[i]) == NULL)
            pl_field_set_items(&fields[i], pl_new_array(*fields[i].count + fields[i].extra_items,
                                                        fields[i].item_size));
        memory = memory && pl_field_items(&fields[i]) != NULL;
    }
    return memory;
}

void pl_fields_free(const pl_field *fields, size_t num_fields) {
    for (size_t i = 0; i < num_fields; i++) {
        free(pl_field_items(&fields[i]));
        pl_field_set_items(&fields[i], NULL);
    }
}
