/* Options that popliner had, and what replaced them: messages about them name that.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "command/option_table.h"

#include <string.h>

static const struct {
    const char *name;
    const char *instead;
} former[] = {
    {"section", "--output TABLE"},
    {"emit", "--output NAME"},
    {"html", "--output page=FILE"},
    {"plot", "--output TABLE --format plot"},
    {"trace", "--output trace=FILE"},
    {"write-lp", "--output lp=FILE"},
    {"write-mps", "--output mps=FILE"},
    {"max-growth", "--fail-on growth=N%"},
    {"tolerance", "--fail-on unexplained=N%"},
    {"strict", "--fail-on contradiction"},
    {"layer-operations-only", "--layers only:A..B"},
    {"costs", "the file of costs as INPUT"},
    {"sweep", "a range, like --num-ipus 1..8"},
    {"ipu-mem-per-tile", "--mem-per-tile IPU=BYTES"},
    {"link-bandwidth", "--bandwidth"},
    {"replica-bandwidth", "--bandwidth replicas=BYTES"},
    {"cut-after", "--require cut:LAYER"},
    {"no-cut-after", "--require no-cut:LAYER"},
    {"together", "--require together:LAYER,LAYER"},
    {"place", "--require place:LAYER=IPU"},
    {"min-layers", "--require layers:N.."},
    {"max-layers", "--require layers:..N"},
    {"interleave", "--device-map interleaved:N"},
    {"v-shape", "--device-map v"},
    {"copies", "--schedule NAME:COPIES"},
    {"accumulators", "--effects accumulators=fp16"},
    {"micro-batch-size", "--batch N/SIZE"},
    {"risk", "--need"},
    {"calibrate", "--compiled DIR"},
    {"layer-path", "--modules PATH.{}"},
    {"head-modules", "--modules HEAD,{}"},
    {"tail-modules", "--modules {},TAIL"},
};

const char *option_instead_of(const char *name, size_t length) {
    for (size_t i = 0; i < sizeof former / sizeof *former; i++)
        if (strlen(former[i].name) == length && memcmp(former[i].name, name, length) == 0)
            return former[i].instead;
    return NULL;
}
