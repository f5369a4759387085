/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "memory/memory_model.h"

#include <stddef.h>

const pl_memory_model *pl_memory_model_find(popliner_memory_model id) {
    static const pl_memory_model *const models[] = {
        [POPLINER_MEMORY_MODEL_POPLINER] = &pl_popliner_model,
        [POPLINER_MEMORY_MODEL_FULL] = &pl_full_model,
    };
    return (size_t)id < sizeof models / sizeof *models ? models[id] : NULL;
}
