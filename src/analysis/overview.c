/* The overview of a profile: what it is, and whether it fits one IPU.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "analysis/analysis_data.h"
#include "answer/certificate_data.h"
#include "base/layout.h"
#include "base/text.h"
#include "memory/chain_data.h"
#include "model/layers.h"
#include "model/operations.h"
#include "popliner/screen.h"

/* `whole` is the model as one stage. */
static void write_verdict(const pl_certificate *whole, pl_layout *layout) {
    const popliner_verdict verdict = whole->verdicts[0];
    const popliner_stage_detail *stage = &whole->details[0];
    pl_text bold = {0};
    pl_text rest = {0};
    pl_text_add(&bold, pl_verdict_text(verdict));
    if (bold.length > 0)
        bold.data[0] = (char)(bold.data[0] - 'a' + 'A');
    pl_text_add(&bold, " on one IPU:");
    pl_text_add(&rest, "the fullest tile needs ");
    pl_text_add_grouped(&rest, stage->need_bytes[POPLINER_NEED_EXPECTED]);
    pl_text_add(&rest, " of ");
    pl_text_add_grouped(&rest, pl_certificate_limit(whole, 0));
    pl_text_add(&rest, " bytes, with gaps.");
    pl_layout_made_sentence(layout,
                            verdict == POPLINER_FITS       ? PL_TINT_GREEN
                            : verdict == POPLINER_FITS_NOT ? PL_TINT_RED
                                                           : PL_TINT_YELLOW,
                            &bold, &rest);
}

static void write_device(const popliner_profile_info *info, pl_layout *layout) {
    pl_text text = {0};
    pl_text_format(&text, "Poplar %s",
                   *info->poplar_version == '\0' ? "(version not recorded)" : info->poplar_version);
    pl_layout_made_entry(layout, "Compiler", &text);
    pl_text_format(&text, "%s%s%zu %s with %zu tiles of ", info->architecture,
                   *info->architecture == '\0' ? "" : ": ", info->num_ipus,
                   info->num_ipus == 1 ? "IPU" : "IPUs", info->tiles_per_ipu);
    pl_text_add_grouped(&text, info->bytes_per_tile);
    pl_text_add(&text, " bytes");
    pl_layout_made_entry(layout, "Device", &text);
}

static void write_layers(const popliner_analysis *a, const popliner_chain *chain,
                         pl_layout *layout) {
    const size_t num_operations = popliner_operations_count(a->operations);
    const char *first = NULL;
    const char *last = NULL;
    size_t num_layers = 0;
    size_t num_outside = 0;
    pl_text text = {0};
    for (size_t i = 0; i < popliner_chain_num_units(chain); i++)
        if (pl_chain_unit_at(chain, i)->kind == POPLINER_UNIT_LAYER) {
            last = pl_chain_unit_at(chain, i)->label;
            first = first == NULL ? last : first;
            num_layers++;
        }
    for (size_t i = 0; i < num_operations; i++)
        num_outside += pl_layers_unit_of(a->layers, i) == 0;
    pl_text_add_grouped(&text, num_layers);
    if (num_layers > 0) {
        pl_text_add(&text, num_layers > 1 ? ": " : ", ");
        pl_layout_add_name(layout, &text, first, 24);
        pl_text_add(&text, num_layers > 1 ? " to " : "");
        if (num_layers > 1)
            pl_layout_add_name(layout, &text, last, 24);
    }
    pl_text_add(&text, "; ");
    pl_text_add_grouped(&text, num_outside);
    pl_text_add(&text, " of ");
    pl_text_add_grouped(&text, num_operations);
    pl_text_add(&text, " operations belong to none");
    pl_layout_made_entry(layout, "Layers", &text);
}

static void write_state(const popliner_analysis *a, bool is_training, pl_layout *layout) {
    size_t num_breaches = 0;
    pl_text text = {0};
    pl_text_add(&text, is_training ? "yes; what stages keep for it depends on the schedule" : "no");
    pl_layout_made_entry(layout, "Training", &text);
    for (size_t i = 0; i < PL_NUM_RELATIONS; i++)
        num_breaches += a->checks[i].breached > 0;
    if (num_breaches == 0)
        pl_text_add(&text, "the profile is consistent");
    else
        pl_text_format(&text, "%zu of %d relations are breached", num_breaches, PL_NUM_RELATIONS);
    pl_layout_made_entry(layout, "Checks", &text);
}

popliner_status popliner_screen_overview(popliner_analysis *analysis,
                                         const popliner_certificate *callers,
                                         const popliner_hint *hints, size_t num_hints,
                                         const popliner_plot_options *screen, char **text,
                                         popliner_error *error) {
    const pl_certificate *whole = (const pl_certificate *)callers;
    const popliner_memory_model model = POPLINER_MEMORY_MODEL_FULL;
    const popliner_chain *chain = NULL;
    const popliner_layers *layers = NULL;
    popliner_profile_info info = POPLINER_PROFILE_INFO_INIT;
    bool is_training = false;
    pl_layout layout;
    size_t width = 0;
    *text = NULL;
    popliner_status status = popliner_analysis_layers(analysis, &layers, error);
    if (status == POPLINER_OK)
        status = popliner_analysis_chain(analysis, model, &chain, error);
    if (status == POPLINER_OK)
        status = popliner_analysis_is_training(analysis, model, &is_training, error);
    if (status == POPLINER_OK)
        status = popliner_profile_get_info(analysis->profile, &info, error);
    if (status != POPLINER_OK)
        return status;
    pl_layout_begin(&layout, screen);
    if (whole != NULL && whole->is_measured)
        write_verdict(whole, &layout);
    pl_layout_empty_line(&layout);
    write_device(&info, &layout);
    write_layers(analysis, chain, &layout);
    write_state(analysis, is_training, &layout);
    for (size_t i = 0; i < num_hints; i++) {
        const size_t own = pl_layout_width_of(hints[i].option);
        width = own > width ? own : width;
    }
    for (size_t i = 0; i < num_hints; i++)
        pl_layout_entry(&layout, i == 0 ? hints[i].label : "", hints[i].option, width,
                        hints[i].words);
    return pl_layout_finish(&layout, POPLINER_OK, text, error);
}
