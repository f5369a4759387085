/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profile/category.h"

#include <string.h>

static const char *const names[PL_NUM_CATEGORIES] = {
    [PL_CATEGORY_NAMELESS] = "",
    [PL_CATEGORY_VARIABLE] = "variable",
    [PL_CATEGORY_MULTIPLE] = "multiple",
    [PL_CATEGORY_MESSAGE] = "message",
    [PL_CATEGORY_GLOBAL_MESSAGE] = "globalMessage",
    [PL_CATEGORY_OUTPUT_EDGE] = "outputEdge",
    [PL_CATEGORY_REARRANGEMENT] = "rearrangement",
    [PL_CATEGORY_CONSTANT] = "constant",
    [PL_CATEGORY_VERTEX_CODE] = "vertexCode",
    [PL_CATEGORY_VERTEX_INSTANCE_STATE] = "vertexInstanceState",
    [PL_CATEGORY_VERTEX_FIELD_DATA] = "vertexFieldData",
    [PL_CATEGORY_COPY_DESCRIPTOR] = "copyDescriptor",
    [PL_CATEGORY_INTERNAL_EXCHANGE_CODE] = "internalExchangeCode",
    [PL_CATEGORY_CONTROL_CODE] = "controlCode",
};

pl_category pl_category_from_name(const char *name) {
    for (int category = PL_CATEGORY_OTHER + 1; category < PL_NUM_CATEGORIES; category++) {
        if (strcmp(name, names[category]) == 0)
            return (pl_category)category;
    }
    return PL_CATEGORY_OTHER;
}

bool pl_category_is_model_data(pl_category category) {
    switch (category) {
    case PL_CATEGORY_NAMELESS:
    case PL_CATEGORY_VARIABLE:
    case PL_CATEGORY_MULTIPLE:
    case PL_CATEGORY_MESSAGE:
    case PL_CATEGORY_GLOBAL_MESSAGE:
    case PL_CATEGORY_OUTPUT_EDGE:
    case PL_CATEGORY_REARRANGEMENT:
    case PL_CATEGORY_CONSTANT:
        return true;
    case PL_CATEGORY_OTHER:
    case PL_CATEGORY_VERTEX_CODE:
    case PL_CATEGORY_VERTEX_INSTANCE_STATE:
    case PL_CATEGORY_VERTEX_FIELD_DATA:
    case PL_CATEGORY_COPY_DESCRIPTOR:
    case PL_CATEGORY_INTERNAL_EXCHANGE_CODE:
    case PL_CATEGORY_CONTROL_CODE:
    case PL_NUM_CATEGORIES:
        break;
    }
    return false;
}

bool pl_category_is_never_named(const char *name) {
    static const char *const never[] = {
        "stack",
        "vertexInstanceState",
        "vertexFieldData",
        "vertexCode",
        "controlCode",
        "internalExchangeCode",
        "hostExchangeCode",
        "globalExchangeCode",
        "hostExchangePacketHeader",
        "globalExchangePacketHeader",
    };
    for (size_t i = 0; i < sizeof never / sizeof *never; i++) {
        if (strcmp(name, never[i]) == 0)
            return true;
    }
    return false;
}
