/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "memory/vertex_code.h"

#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "base/growth.h"
#include "read/profile_data.h"

typedef struct entry {
    const char *name;
    uint64_t size_bytes;
    uint32_t type;
} entry;

static int compare_entries(const void *left, const void *right) {
    const entry *a = left;
    const entry *b = right;
    int order = strcmp(a->name, b->name);
    if (order != 0)
        return order;
    if (a->size_bytes != b->size_bytes)
        return a->size_bytes < b->size_bytes ? -1 : 1;
    return (a->type > b->type) - (a->type < b->type);
}

popliner_status pl_vertex_kinds_find(pl_vertex_kinds *kinds, const popliner_profile *p,
                                     popliner_error *error) {
    size_t count = p->num_vertex_types;
    entry *entries = pl_new_array(count, sizeof *entries);
    kinds->kind_of_type = pl_new_array(count, sizeof *kinds->kind_of_type);
    kinds->code_of_type = pl_new_array(count, sizeof *kinds->code_of_type);
    if (entries == NULL || kinds->kind_of_type == NULL || kinds->code_of_type == NULL) {
        free(entries);
        return pl_fail_memory(error, "the vertex types");
    }
    for (size_t i = 0; i < count; i++)
        entries[i] = (entry){pl_profile_string(p, p->vertex_type_name[i]),
                             p->vertex_type_size_bytes[i], (uint32_t)i};
    qsort(entries, count, sizeof *entries, compare_entries);
    for (size_t i = 0; i < count;) {
        size_t end = i; /* behind the types of this name */
        uint32_t last = 0;
        for (; end < count && strcmp(entries[end].name, entries[i].name) == 0; end++)
            last = entries[end].type > last ? entries[end].type : last;
        uint32_t kind = entries[i].type;
        for (size_t k = i; k < end; k++) {
            if (k > i && entries[k].size_bytes != entries[k - 1].size_bytes)
                kind = entries[k].type;
            kinds->kind_of_type[entries[k].type] = kind;
            kinds->code_of_type[entries[k].type] = last;
        }
        i = end;
    }
    free(entries);
    return POPLINER_OK;
}

void pl_vertex_kinds_free(pl_vertex_kinds *kinds) {
    free(kinds->kind_of_type);
    free(kinds->code_of_type);
    *kinds = (pl_vertex_kinds){0};
}
