/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "solve/option_names.h"

#include "base/structs.h"

static void set(const char **name, const char *otherwise) {
    if (*name == NULL)
        *name = otherwise;
}

popliner_status pl_option_names_take(const popliner_option_names *callers,
                                     popliner_option_names *names, popliner_error *error) {
    static const popliner_option_names defaults = {
        .layer_name_regex = "layer_name_regex",
        .first_layer_regex = "first_layer_regex",
        .layer_name_regex_hint = "",
        .ipu = "ipu",
        .max_stages = "max_stages",
        .max_stage_bytes = "max_stage_bytes",
        .constraints = {[POPLINER_CONSTRAINT_MAX_STAGES] = "max_stages",
                        [POPLINER_CONSTRAINT_DEVICE_MAP] = "device_map",
                        [POPLINER_CONSTRAINT_MIN_UNITS] = "min_units",
                        [POPLINER_CONSTRAINT_MAX_UNITS] = "max_units",
                        [POPLINER_CONSTRAINT_REQUIRED_CUT] = "required cut after",
                        [POPLINER_CONSTRAINT_FORBIDDEN_CUT] = "forbidden cut after",
                        [POPLINER_CONSTRAINT_PAIR] = "pair",
                        [POPLINER_CONSTRAINT_PLACEMENT] = "placement"},
        .reserve = "reserve",
        .section = "section",
        .layer_path = "layer_path",
        .head_modules = "head_modules",
        .tail_modules = "tail_modules",
    };
    *names = (popliner_option_names)POPLINER_OPTION_NAMES_INIT;
    popliner_status status =
        pl_struct_take(names, sizeof *names, callers, "popliner_option_names", error);
    set(&names->layer_name_regex, defaults.layer_name_regex);
    set(&names->first_layer_regex, defaults.first_layer_regex);
    set(&names->layer_name_regex_hint, defaults.layer_name_regex_hint);
    set(&names->ipu, defaults.ipu);
    set(&names->max_stages, defaults.max_stages);
    set(&names->max_stage_bytes, defaults.max_stage_bytes);
    set(&names->reserve, defaults.reserve);
    for (size_t kind = 0; kind < POPLINER_NUM_CONSTRAINT_KINDS; kind++)
        set(&names->constraints[kind], defaults.constraints[kind]);
    set(&names->section, defaults.section);
    set(&names->layer_path, defaults.layer_path);
    set(&names->head_modules, defaults.head_modules);
    set(&names->tail_modules, defaults.tail_modules);
    return status;
}
