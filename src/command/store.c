/* --save-to-file: storing the analysis.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "command/commands.h"

popliner_status store_analysis(session *s, popliner_error *error) {
    return popliner_analysis_store(s->analysis, session_memory_model(s, POPLINER_MEMORY_MODEL_FULL),
                                   s->options.save_to_file, error);
}
