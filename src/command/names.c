/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "command/names.h"

const popliner_option_names command_names = {
    .struct_size = sizeof command_names,
    .layer_name_regex = "--layer-name-regex",
    .first_layer_regex = "--inputs-regex-layer-0",
    .layer_name_regex_hint =
        "Use the --operation-breakdown flag to see the names of operations found.",
    .ipu = "--ipu",
    .max_stages = "--num-ipus",
    .max_stage_bytes = "--mem-per-tile",
    .max_stage_bytes_note = "(plus what --reserve keeps free)",
    .constraints = {[POPLINER_CONSTRAINT_MAX_STAGES] = "num-ipus",
                    [POPLINER_CONSTRAINT_DEVICE_MAP] = "device-map",
                    [POPLINER_CONSTRAINT_MIN_UNITS] = "min-layers",
                    [POPLINER_CONSTRAINT_MAX_UNITS] = "max-layers",
                    [POPLINER_CONSTRAINT_REQUIRED_CUT] = "cut-after",
                    [POPLINER_CONSTRAINT_FORBIDDEN_CUT] = "no-cut-after",
                    [POPLINER_CONSTRAINT_PAIR] = "together",
                    [POPLINER_CONSTRAINT_PLACEMENT] = "place"},
    .section = "--section",
};
