/* debug.cbor: any bytes as such a file. What comes of it has every index within range, and the
 * paths of its contexts are the same however they are asked for.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "fuzz.h"

#include <string.h>

#include "profile/debug_info.h"

static void on_message(void *user, popliner_level level, const char *text) {
    FUZZ_CHECK(level == POPLINER_LEVEL_WARNING && strstr(text, user) == text);
}

/* The nearest operation from a context upwards, step by step. */
static uint32_t find_operation(const pl_debug_info *info, uint32_t context) {
    size_t steps = 0; /* more than there are contexts: the parents are cyclic */
    while (context != PL_NONE && info->contexts[context].layer != PL_DEBUG_LAYER_OPERATIONS)
        context = steps++ < info->num_contexts
                      ? pl_debug_find(info, info->contexts[context].parent_id)
                      : PL_NONE;
    return context;
}

/* What leads from a context to others, and to its texts. */
static void check_context(const pl_debug_info *info, uint32_t i) {
    const uint32_t details = info->contexts[i].details;
    char path[512];
    char cut[16];
    /* 0 is the id of none */
    const bool is_known = pl_debug_info_path(info, info->contexts[i].id, path, sizeof path);
    FUZZ_CHECK(is_known == (info->contexts[i].id != 0));
    FUZZ_CHECK(details == PL_NONE || details < info->num_details);
    FUZZ_CHECK(pl_debug_operation_of(info, i) == find_operation(info, i));
    FUZZ_CHECK(strlen(pl_debug_operation_name(info, i)) < info->strings_length + 1);
    pl_debug_info_path(info, info->contexts[i].id, cut, sizeof cut);
    FUZZ_CHECK(strlen(path) < sizeof path && strlen(cut) < sizeof cut);
    FUZZ_CHECK(strncmp(cut, path, strlen(cut)) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const char *path = fuzz_file(data, size);
    popliner_error error = {.message = ""};
    pl_debug_info *info = NULL;
    popliner_listener listener = POPLINER_LISTENER_INIT;
    char name[64];
    strcpy(name, path);
    listener.user = name;
    listener.message = on_message;
    const popliner_status status = pl_debug_info_read(NULL, path, &listener, &info, &error);
    fuzz_check_status(status, &error, 1u << POPLINER_ERROR_INPUT, path);
    FUZZ_CHECK((status == POPLINER_OK) == (info != NULL));
    if (info == NULL)
        return 0;
    FUZZ_CHECK(info->num_contexts <= size);
    for (uint32_t i = 0; i < info->num_contexts && i < 64; i++)
        check_context(info, i);
    for (size_t i = 0; i < info->num_names; i++)
        FUZZ_CHECK(info->name_offset[i] < info->name_bytes_length);
    for (size_t i = 0; i < info->num_details; i++) {
        const pl_debug_details *it = &info->details[i];
        FUZZ_CHECK(it->operation_name < info->strings_length && it->inputs < info->strings_length);
        FUZZ_CHECK(it->instance_id < info->strings_length && it->tensor_id < info->strings_length);
        FUZZ_CHECK(it->first_outlined <= info->num_outlined &&
                   it->num_outlined <= info->num_outlined - it->first_outlined);
    }
    pl_debug_info_free(info);
    return 0;
}
