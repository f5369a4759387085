/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "command/option_table.h"

#include <string.h>

#define AT(member) offsetof(options, member)
const option option_table[] = {
    {.name = "Actions"},
    {&kind_flag, 0, "solve", NULL, AT(solve), "solving popliner-1.0.0", NULL,
     .help = "find the best split that fits, with proof", .action = SOLVE},
    {&kind_split, 0, "evaluate", "CUTS", AT(evaluate), "solving memory", NULL,
     .help = "show what a split of your own needs: 1,3 cuts after layers 1 and 3",
     .action = EVALUATE},
    {&kind_flag, 0, "diagnose", NULL, AT(diagnose), "checks profiles", NULL,
     .help = "compare the analysis with the compiler's own totals", .action = DIAGNOSE},
    {&kind_text, 0, "compare", "OLD", AT(compare), "checks profiles", NULL,
     .help = "show what changed since OLD, an earlier report or stored analysis",
     .action = COMPARE},
    {&kind_text, 0, "compiled", "DIR", AT(compiled), "checks memory", NULL,
     .help = "with --evaluate: compare with the pipeline as compiled in DIR", .uses = EVALUATE},
    {.name = "Input"},
    {&kind_names, 0, "report", "NAME,...|all", AT(reports), "profiles", "the only one",
     .help = "which report of a directory; several share one split"},
    {&kind_number, 0, "ipu", "N", AT(ipu), "profiles checks", "all IPUs",
     .help = "only the tiles of this IPU, numbered from 0", .copied = COPIED_TILES},
    {&kind_text, 0, "layer-name-regex", "REGEX", AT(layer_name_regex), "layers popliner-1.0.0",
     POPLINER_LAYER_NAME_REGEX, .help = "what its group captures is the layer's name",
     .copied = COPIED_INPUT},
    {&kind_text, 0, "inputs-regex-layer-0", "REGEX", AT(inputs_regex_layer_0),
     "layers popliner-1.0.0", POPLINER_FIRST_LAYER_REGEX,
     .help = "operations with an input that matches belong to the first layer",
     .copied = COPIED_INPUT},
    {&kind_layer_order, 0, "layer-order", "steps|natural", AT(layer_order), "layers popliner-1.0.0",
     "steps", .help = "layers as they first run, or by the numbers in their names",
     .copied = COPIED_INPUT},
    {.name = "Solving"},
    {&kind_ipus, 'n', "num-ipus", "N|A..B", AT(num_ipus), "solving popliner-1.0.0",
     "the fewest that fit, up to 16",
     .help = "use at most N IPUs; A..B: a row for each; --total-ipus: of a pipeline",
     .uses = SPLITS | OR_WARNED},
    {&kind_memory_by_ipu, 'm', "mem-per-tile", "[I=]BYTES,...", AT(lists[LIST_LIMITS]),
     "solving memory popliner-1.0.0", "the profile's; 638976 on a Mk2 IPU",
     .help = "bytes of a tile; I= or I..J= limits single IPUs",
     .uses = SPLITS | OR_WARNED | OR_OVERVIEW},
    {&kind_objectives, 0, "objective", "NAME,...", AT(objective), "solving",
     "memory,traffic; without --num-ipus or --device-map: ipus,memory,traffic; where limits "
     "differ: "
     "headroom,traffic, or tokens with caches; for graphs of layers: cycles",
     .help = "what to make as small as possible, most important first", .uses = SOLVING},
    {&kind_percent, 0, "slack", "PERCENT", AT(slack_percent), "solving", "0%",
     .help = "how much worse each objective may be, in favour of the next", .uses = SOLVING},
    {&kind_objectives, 0, "pareto", "A,B,...", AT(pareto), "solving",
     "after throughput,memory: traffic",
     .help = "table of the Pareto front of A and B; further names break ties", .uses = SOLVE,
     .implied = SOLVE},
    {&kind_rules, 0, "require", "RULE", AT(require), "constraints", "layers:1..",
     .help = "a constraint on layers; may be given again", .uses = SOLVING,
     .copied = COPIED_CONSTRAINT},
    {&kind_map, 0, "device-map", "MAP", AT(device_map), "constraints pipeline", "0,1,2,...",
     .help = "IPU of each stage, so also their number: 0,1,2 is 3 stages", .uses = SPLITS},
    {&kind_speeds, 0, "ipu-speed", "[I=]FACTOR,...", AT(lists[LIST_SPEEDS]), "costs solving", "1",
     .help = "speed of the IPUs, or of single ones: 0=0.5,3=2", .uses = SOLVING},
    {&kind_bandwidths, 0, "bandwidth", "[WHERE=]BYTES,...", AT(lists[LIST_LINKS]), "costs solving",
     "64 GB/s for profiles; else transfers take no time",
     .help = "bytes a cycle over a link; WHERE: a link like 1-2, or replicas", .uses = SOLVING},
    {&kind_solver, 0, "solver", "NAME", AT(method), "solving popliner-1.0.0", "auto",
     .help = "how to search; popliner: the greedy search of PopLiner 1.0.0", .uses = SOLVE},
    {.name = "Pipeline"},
    {&kind_schedule, 0, "schedule", "NAME[:COPIES]", AT(schedule), "pipeline memory", "none",
     .help = "order of the work of a step; decides what each stage stores", .uses = SPLITS,
     .copied = COPIED_PIPELINE},
    {&kind_count, 0, "micro-batches", "N", AT(micro_batches), "pipeline", "no limit",
     .help = "micro-batches of a step in each pipeline; shows the time of a step", .uses = SPLITS,
     .copied = COPIED_PIPELINE},
    {&kind_recompute, 0, "recompute", "HOW", AT(recompute), "pipeline memory", "none",
     .help = "how activations are recomputed; with --evaluate, also one way per stage",
     .uses = SPLITS, .copied = COPIED_PIPELINE},
    {&kind_count, 0, "total-ipus", "N", AT(total_ipus), "pipeline", NULL,
     .help = "share N IPUs among replicas for the best throughput", .uses = SOLVE,
     .implied = SOLVE},
    {&kind_batch, 0, "batch", "N[/SIZE]", AT(batch), "pipeline", "SIZE 1",
     .help = "N samples in a step, over all replicas; SIZE in a micro-batch", .uses = SOLVE},
    {.name = "Memory"},
    {&kind_need, 0, "need", "at-most|expected|at-least", AT(need), "memory", "expected",
     .help = "which estimate of a stage's memory must be within the limit", .uses = SPLITS},
    {&kind_reserve, 0, "reserve", "[I=]BYTES|N%|gaps", AT(lists[LIST_RESERVES]), "memory", "none",
     .help = "memory to keep free on every tile, or on those of single IPUs", .uses = SPLITS},
    {&kind_effects, 0, "effects", "NAME,...", AT(effects), "memory",
     "all; if --reserve is given, all but layout",
     .help = "kinds of memory to add, of a stage that is compiled alone", .uses = SPLITS,
     .copied = COPIED_MEMORY},
    {&kind_memory_model, 0, "memory-model", "full|popliner", AT(memory_model),
     "memory popliner-1.0.0", "full; popliner for the tables and the solver of 1.0.0",
     .help = "full counts all memory; popliner is the incomplete count of 1.0.0",
     .uses = ALL_ACTIONS ^ LAYER_PAIRS},
    {.name = "Output"},
    {&kind_output, 'o', "output", "WHAT[=FILE]", AT(outputs), "output frameworks popliner-1.0.0",
     "the report", .help = "what to show instead of the report, or to write into FILE"},
    {&kind_format, 0, "format", "FORMAT", AT(format), "output popliner-1.0.0", "text",
     .help = "format of what is shown, and of files without a known ending"},
    {&kind_modules, 0, "modules", "NAME,...", AT(modules), "frameworks", NULL,
     .help = "modules in order, {} for the layer: embed,model.layers.{},norm", .uses = PLANS},
    {&kind_layers, 0, "layers", "[only:]A..B|all", AT(layers), "layers checks", "the whole model",
     .help = "where to search for the bottleneck; only: and no operations outside",
     .uses = DIAGNOSE},
    {&kind_failures, 0, "fail-on", "RULE,...", AT(fail_on), "checks exit-status", "unexplained=5%",
     .help = "exit status 1 if growth or unexplained memory is above this limit"},
    {&kind_color, 0, "color", "auto|always|never", AT(color), "output", "auto",
     .help = "colours; auto: on a terminal, unless NO_COLOR is set"},
    {&kind_flag, 0, "paths", NULL, AT(paths), "output", NULL,
     .help = "name files by their paths in pages and comparisons", .uses = PAGE | COMPARE},
    {.name = "Running"},
    {&kind_time, 0, "time-limit", "TIME", AT(time_limit_seconds), "running solving", "none",
     .help = "stop after this time, with the best answer so far"},
    {&kind_bytes, 0, "max-memory", "BYTES", AT(max_memory_bytes), "running", "the machine's",
     .help = "memory that popliner itself may use at most"},
    {&kind_count, 0, "threads", "N", AT(num_threads), "running", "all processors",
     .help = "number of threads; the answer does not depend on it"},
    {&kind_flag, 'q', "quiet", NULL, AT(quiet), "running", NULL,
     .help = "only the answer, warnings and errors", .cancels = "verbose"},
    {&kind_flag, 'v', "verbose", NULL, AT(verbose), "running", NULL,
     .help = "more detail in reports and log", .cancels = "quiet"},
    {&kind_help, 'h', "help", "[TOPIC]", AT(help), "running popliner-1.0.0", NULL,
     .help = "the help, or that of a topic, an option, or all"},
    {&kind_flag, 'V', "version", NULL, AT(version), "running", NULL, .help = "print the version"},
    {.name = "PopLiner 1.0.0"},
    {&kind_flag, 0, "memory-totals", NULL, AT(tables), "popliner-1.0.0", NULL,
     .help = "memory of the model and of its first ten tiles", .output = "memory-totals"},
    {&kind_flag, 0, "operation-breakdown", NULL, AT(tables), "popliner-1.0.0", NULL,
     .help = "memory of each operation", .output = "operation-breakdown"},
    {&kind_flag, 0, "layer-breakdown", NULL, AT(tables), "popliner-1.0.0", NULL,
     .help = "memory of each layer", .output = "layer-breakdown"},
    {&kind_flag, 0, "memory-affinity", NULL, AT(tables), "popliner-1.0.0", NULL,
     .help = "bytes of variables that two layers share", .output = "memory-affinity"},
    {&kind_flag, 0, "interlayer-communication", NULL, AT(tables), "popliner-1.0.0", NULL,
     .help = "bytes that pass from layer to layer", .output = "interlayer-communication"},
    {&kind_text, 0, "save-to-file", "FILE", AT(save_to_file), "popliner-1.0.0 output", NULL,
     .help = "as --output analysis=FILE; prints --solve as 1.0.0 did", .output = "analysis"},
    {&kind_flag, 0, "load-from-file", NULL, AT(load_from_file), "popliner-1.0.0 profiles", NULL,
     .help = "INPUT is a stored analysis; prints --solve as 1.0.0 did", .copied = COPIED_INPUT},
};

const size_t num_options = sizeof option_table / sizeof *option_table;

size_t option_place(size_t offset) {
    size_t place = 0;
    while (option_table[place].kind == NULL || option_table[place].offset != offset)
        place++;
    return place;
}
_Static_assert(sizeof option_table / sizeof *option_table <= MAX_OPTIONS, "given has no room");

/* ---- what was given ---- */

const options options_usual = {.fail_on = {.unexplained_percent = 5},
                               .require = {.min_layers = MIN_LAYERS_USUAL},
                               .format = FORMAT_TEXT,
                               .memory_model = -1,
                               .effects = {POPLINER_EFFECTS_ALL, POPLINER_ACCUMULATORS_AUTO},
                               .ipu = ALL_IPUS};

const char *options_shown_path(const options *o, const char *path) {
    const char *end = path + strlen(path);
    while (end > path + 1 && end[-1] == '/')
        end--;
    const char *begin = end;
    while (begin > path && begin[-1] != '/')
        begin--;
    return o->paths || begin == end ? path : begin;
}
