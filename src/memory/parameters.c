/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "memory/parameters.h"

#include <strings.h>

#include "pipeline/pipeline.h"

static bool is_accumulator_name(const char *name) {
    static const char word[] = "accum";
    for (; *name != '\0'; name++)
        if ((*name == 'a' || *name == 'A') && strncasecmp(name, word, sizeof word - 1) == 0)
            return true;
    return false;
}

bool pl_has_accumulators(const popliner_profile *p) {
    size_t named = 0; /* the first tensor that may be one */
    while (named < p->num_unlowered &&
           !is_accumulator_name(pl_profile_string(p, p->unlowered_name[named])))
        named++;
    for (size_t i = 0; named < p->num_unlowered && i < p->num_variables; i++) {
        uint32_t unlowered = p->variable_unlowered[i];
        if (unlowered != PL_NONE && unlowered >= named &&
            p->class_always_live[p->variable_class[i]] &&
            p->category[p->variable_category[i]] == PL_CATEGORY_VARIABLE &&
            is_accumulator_name(pl_profile_string(p, p->unlowered_name[unlowered])))
            return true;
    }
    return false;
}

bool pl_wants_accumulators(const popliner_pipeline *pipeline, bool is_training) {
    return is_training && pipeline->accumulators != POPLINER_ACCUMULATORS_NONE &&
           pl_pipeline_kind(pipeline) != PL_SCHEDULE_PLAIN;
}

uint64_t pl_accumulator_factor(const popliner_pipeline *pipeline, bool has_accumulators) {
    switch (pipeline->accumulators) {
    case POPLINER_ACCUMULATORS_NONE:
        break;
    case POPLINER_ACCUMULATORS_FP16:
        return 1;
    case POPLINER_ACCUMULATORS_FP32:
        return 2;
    case POPLINER_ACCUMULATORS_AUTO:
        return has_accumulators ? 0 : 1;
    }
    return 0;
}
