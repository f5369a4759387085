/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profile/category.h"

#include <stddef.h>
#include <string.h>

static const struct {
    const char *name;
    pl_category category;
    bool is_never_named;
} known[] = {
    {"", PL_CATEGORY_NAMELESS, false},
    {"variable", PL_CATEGORY_VARIABLE, false},
    {"multiple", PL_CATEGORY_MULTIPLE, false},
    {"message", PL_CATEGORY_MESSAGE, false},
    {"globalMessage", PL_CATEGORY_GLOBAL_MESSAGE, false},
    {"outputEdge", PL_CATEGORY_OUTPUT_EDGE, false},
    {"rearrangement", PL_CATEGORY_REARRANGEMENT, false},
    {"constant", PL_CATEGORY_CONSTANT, false},
    {"vertexCode", PL_CATEGORY_VERTEX_CODE, true},
    {"vertexInstanceState", PL_CATEGORY_VERTEX_INSTANCE_STATE, true},
    {"vertexFieldData", PL_CATEGORY_VERTEX_FIELD_DATA, true},
    {"copyDescriptor", PL_CATEGORY_COPY_DESCRIPTOR, false},
    {"internalExchangeCode", PL_CATEGORY_INTERNAL_EXCHANGE_CODE, true},
    {"controlCode", PL_CATEGORY_CONTROL_CODE, true},
    {"stack", PL_CATEGORY_OTHER, true},
    {"hostExchangeCode", PL_CATEGORY_OTHER, true},
    {"globalExchangeCode", PL_CATEGORY_OTHER, true},
    {"hostExchangePacketHeader", PL_CATEGORY_OTHER, true},
    {"globalExchangePacketHeader", PL_CATEGORY_OTHER, true},
};

enum { NUM_KNOWN = sizeof known / sizeof *known };

/* Returns the row of a name; NUM_KNOWN if it is not known. */
static size_t find_name(const char *name) {
    size_t i = 0;
    while (i < NUM_KNOWN && strcmp(name, known[i].name) != 0)
        i++;
    return i;
}

pl_category pl_category_from_name(const char *name) {
    const size_t i = find_name(name);
    return i < NUM_KNOWN ? known[i].category : PL_CATEGORY_OTHER;
}

bool pl_category_is_never_named(const char *name) {
    const size_t i = find_name(name);
    return i < NUM_KNOWN && known[i].is_never_named;
}
