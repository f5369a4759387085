/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "command/names.h"

#include <string.h>

static const popliner_option_names usual = {
    .struct_size = sizeof usual,
    .layer_name_regex = "--layer-name-regex",
    .first_layer_regex = "--inputs-regex-layer-0",
    .layer_name_regex_hint =
        "Use the --operation-breakdown flag to see the names of operations found.",
    .ipu = "--ipu",
    .max_stages = "--num-ipus",
    .max_stage_bytes = "--mem-per-tile",
    .reserve = "--reserve",
    .constraints = {[POPLINER_CONSTRAINT_MAX_STAGES] = "num-ipus",
                    [POPLINER_CONSTRAINT_DEVICE_MAP] = "device-map",
                    [POPLINER_CONSTRAINT_MIN_UNITS] = "min-layers",
                    [POPLINER_CONSTRAINT_MAX_UNITS] = "max-layers",
                    [POPLINER_CONSTRAINT_REQUIRED_CUT] = "cut-after",
                    [POPLINER_CONSTRAINT_FORBIDDEN_CUT] = "no-cut-after",
                    [POPLINER_CONSTRAINT_PAIR] = "together",
                    [POPLINER_CONSTRAINT_PLACEMENT] = "place"},
    .section = "--section",
    .layer_path = "--layer-path",
    .head_modules = "--head-modules",
    .tail_modules = "--tail-modules",
};

popliner_option_names names_of(const options *o) {
    static const char dashes[] = "--";
    popliner_option_names names = usual;
    const char *map = options_map_name(o);
    if (map != NULL)
        names.constraints[POPLINER_CONSTRAINT_DEVICE_MAP] = map + strlen(dashes);
    return names;
}
