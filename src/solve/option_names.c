/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/structs.h"
#include "solve/constraint.h"

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
        .reserve = "reserve",
        .section = "section",
        .modules = "modules",
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
        set(&names->constraints[kind], pl_constraint_of((popliner_constraint_kind)kind)->name);
    set(&names->section, defaults.section);
    set(&names->modules, defaults.modules);
    return status;
}
