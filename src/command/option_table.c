/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "command/option_table.h"
#include "popliner/utilities.h"

#include <stdlib.h>
#include <string.h>

#include "popliner/solver.h"

static const char *section_word(int i) {
    return popliner_name_of(POPLINER_NAMED_SECTION, (size_t)i);
}

static const char *emit_word(int i) {
    return popliner_name_of(POPLINER_NAMED_EMIT_FORMAT, (size_t)i);
}

static const char *objective_word(int i) {
    return popliner_name_of(POPLINER_NAMED_OBJECTIVE, (size_t)i);
}

#define AT(member) offsetof(options, member)

const option option_table[] = {
    {.kind = KIND_HEADING, .name = "What to do (several may be given)"},
    {KIND_FLAG, 0, "solve", NULL, AT(solve), .help = "choose the split points, print them as JSON",
     .action = SOLVE},
    {KIND_TEXT, 0, "evaluate", "'A|B|...'", AT(evaluate),
     .help =
         "memory per stage of a split given by hand: cut after\nthe layers A, B, ... (or Head); "
         "'whole' for no cut",
     .action = EVALUATE},
    {KIND_FLAG, 0, "diagnose", NULL, AT(diagnose),
     .help = "what the analysis explains of the compiler's own\naccount, what it misses, and why",
     .action = DIAGNOSE},
    {KIND_FLAG, 0, "memory-totals", NULL, AT(memory_totals),
     .help = "memory of the whole model, and the compiler's own\naccount of every tile by category",
     .action = MEMORY_TOTALS},
    {KIND_FLAG, 0, "operation-breakdown", NULL, AT(operation_breakdown),
     .help = "table of the operations with layer and memory", .action = OPERATION_BREAKDOWN},
    {KIND_FLAG, 0, "layer-breakdown", NULL, AT(layer_breakdown),
     .help = "table of the layers with their memory", .action = LAYER_BREAKDOWN},
    {KIND_FLAG, 0, "memory-affinity", NULL, AT(memory_affinity),
     .help = "bytes of the variables that each pair of layers uses", .action = MEMORY_AFFINITY},
    {KIND_FLAG, 0, "interlayer-communication", NULL, AT(interlayer_communication),
     .help = "bytes of the variables that go live in one layer\nand die in another",
     .action = INTERLAYER_COMMUNICATION},
    {KIND_CHOICE, 0, "section", "NAME", AT(section),
     .help =
         "one table of what is known, for other programs: summary,\ntiles, categories, liveness, "
         "variables, operations,\nprograms, layers, pairs, execution, checks, "
         "vertices,\nexchanges, "
         "advice, diagnosis, missing; plan: of --solve\nor --evaluate, instead of what they print\n"
         "(docs/sections.md)",
     .word = section_word, .action = SECTION},
    {KIND_OUTPUT, 0, "output", "SECTION=FILE", AT(outputs),
     .help =
         "write such a table into a file, beside whatever is\nprinted; .csv, .tsv or .json says in "
         "which format",
     .word = section_word, .action = OUTPUT, .what = "the section"},
    {KIND_EMIT, 0, "emit", "FORMAT[=FILE]", AT(emits),
     .help =
         "the plan of --solve or --evaluate for a framework, instead\nof what these print, or into "
         "a "
         "file: json, optimum,\npoptorch, megatron, vllm, torch, titan, accelerate,\ntensorflow, "
         "popart, popxl (docs/emit.md)",
     .word = emit_word, .action = EMIT, .what = "the plan"},
    {KIND_WRITTEN, 0, "html", "FILE", AT(html),
     .help = "write a page for a browser that shows the profile, and\nthe plan of --solve or "
             "--evaluate: "
             "its cuts can be moved\n(docs/page.md)",
     .action = HTML, .excluded = BESIDE_GREEDY, .what = "the page"},
    {KIND_CHOICE, 0, "plot", "tiles|liveness|plan", AT(plot),
     .help = "draw what is live on the tiles, or at the steps, as wide\nas the terminal; plan: "
             "what each "
             "stage of --solve or\n--evaluate needs, instead of what they print",
     .choices = "tiles|liveness|plan", .action = PLOT},
    {KIND_WRITTEN, 0, "trace", "FILE", AT(trace),
     .help = "write programs, cycles and memory along the steps as a\ntrace for Perfetto, with the "
             "stages "
             "of --solve or\n--evaluate (docs/trace.md)",
     .action = TRACE, .what = "the trace"},
    {KIND_REPORTS, 0, "compare", "OTHER", AT(compare),
     .help =
         "what changed since OTHER, the profile, directory or\nstored analysis before: device, "
         "tiles, "
         "categories,\nlayers; with --solve or --evaluate also the stages,\ninstead of what these "
         "print (docs/compare.md)",
     .action = COMPARE, .excluded = BESIDE_EMIT},
    {KIND_GROWTH, 0, "max-growth", "[WHAT=]PERCENT,...", AT(max_growth),
     .help = "with --compare: exit status 1 if the largest tile, of the\nmodel or of the stages, "
             "grew by "
             "more; WHAT: any of the\ntiles, categories, layers, stages, or the cycles",
     .uses = COMPARE},
    {KIND_WRITTEN, 0, "save-to-file", "FILE", AT(save_to_file),
     .help = "store the analysis; later runs load it faster", .action = SAVE_TO_FILE},
    {KIND_FLAG, 0, "load-from-file", NULL, AT(load_from_file),
     .help = "PROFILE is such a stored analysis; give no DEBUG", .copied = COPIED_INPUT},
    {KIND_REPEATED, 0, "report", "NAME", AT(reports),
     .help =
         "PROFILE holds several reports, as training and\ninference: take this one. Given again, "
         "or "
         "all: --solve\nfinds one split for them together, and --evaluate tells\nwhat each needs "
         "(docs/reports.md)",
     .excluded = BESIDE_COSTS},
    {.kind = KIND_HEADING, .name = "Solving"},
    {KIND_COUNT, 0, "num-ipus", "N", AT(num_ipus), .help = "most IPUs to use (default: 16)",
     .uses = SPLITS | OR_WARNED},
    {KIND_TEXT, 0, "objective", "LIST", AT(objective),
     .help = "what is to be smallest, one within the best for those\nbefore it: memory (the "
             "largest tile), "
             "cycles (the\nslowest IPU), traffic (bytes over the cuts), ipus,\nbalance (spread "
             "over the "
             "IPUs; if it is first, without a\ndevice map, memory comes before it, or cycles of\n"
             "graphs and of costs without memory)\n"
             "(default: memory,traffic; of graphs cycles)",
     .word = objective_word, .choices = "throughput", .uses = SOLVING,
     .excluded = BESIDE_GREEDY | BESIDE_PARETO},
    {KIND_PERCENT, 0, "slack", "PERCENT", AT(slack_percent),
     .help = "how far each objective may miss its best for the sake\nof the next (default: 0)",
     .uses = SOLVING, .excluded = BESIDE_GREEDY | BESIDE_PARETO | BESIDE_REPLICAS | BESIDE_AUTO},
    {KIND_BYTES, 0, "mem-per-tile", "BYTES", AT(mem_per_tile_bytes),
     .help = "memory that a stage may use on a tile, like 638976 or\n"
             "624KiB: K = 1000, KiB = 1024, so also KB, M, MB, MiB,\nG, ..., for all BYTES "
             "(default: the "
             "profile's own,\n"
             "638976 on a Mk2 IPU)",
     .uses = SPLITS | OR_WARNED},
    {KIND_REPEATED, 0, "ipu-mem-per-tile", "I=BYTES,...", AT(ipu_mem_per_tile),
     .help = "the same for single IPUs, counted from 0", .uses = SPLITS, .excluded = BESIDE_GREEDY},
    {KIND_REPEATED, 0, "ipu-speed", "I=FACTOR,...", AT(ipu_speed),
     .help =
         "speeds of single IPUs, like 0=0.5,3=2 (others: 1): the\ncycles of a stage are divided by "
         "that of its IPU",
     .uses = SOLVING, .excluded = BESIDE_GREEDY | BESIDE_AUTO},
    {KIND_REPEATED, 0, "link-bandwidth", "[I-J=]BYTES,...", AT(link_bandwidth),
     .help = "what the links between IPUs carry in a unit of time, and\nthose of single ones, like "
             "64,1-2=0.5: the cycles of an\nIPU are more by what its cuts take; not where "
             "stages\nshare "
             "IPUs (default: of a profile 64 GB/s, of costs no\nlimit)",
     .uses = SOLVING, .excluded = BESIDE_GREEDY | BESIDE_AUTO | BESIDE_REPORTS},
    {KIND_TEXT, 0, "sweep", "WHAT=A..B", AT(sweep),
     .help = "with --solve: a table of the best splits for num-ipus\nor mem-per-tile from A to B; "
             "mem-per-tile=200K..600K:50K",
     .choices = "num-ipus|mem-per-tile", .uses = SOLVE,
     .excluded = BESIDE_GREEDY | BESIDE_STAGES | BESIDE_EMIT | BESIDE_COMPARE | BESIDE_PARETO |
                 BESIDE_REPLICAS | BESIDE_AUTO | BESIDE_REPORTS},
    {KIND_TEXT, 0, "pareto", "A,B", AT(pareto),
     .help = "with --solve, instead of --objective: a table of all best\ncompromises of two "
             "objectives; "
             "more of them (A,B,C)\ndecide between equal splits",
     .word = objective_word, .uses = SOLVE,
     .excluded = BESIDE_GREEDY | BESIDE_STAGES | BESIDE_EMIT | BESIDE_COMPARE | BESIDE_REPLICAS |
                 BESIDE_AUTO | BESIDE_REPORTS},
    {KIND_READ, 0, "costs", "FILE", AT(costs),
     .help =
         "solve for costs from a file, or from standard input\n(-), instead of a profile "
         "(docs/costs.md: a table of\nlayers as CSV, JSON; layer graphs; PipeDream's graph.txt)",
     .excluded = BESIDE_GREEDY},
    {KIND_WRITTEN, 0, "write-lp", "FILE", AT(write_lp),
     .help = "with --solve: write the integer program of the first\nobjective as CPLEX LP",
     .uses = SOLVE,
     .excluded = BESIDE_GREEDY | BESIDE_COMPARE | BESIDE_PARETO | BESIDE_REPLICAS | BESIDE_AUTO |
                 BESIDE_REPORTS,
     .what = "the integer program"},
    {KIND_WRITTEN, 0, "write-mps", "FILE", AT(write_mps), .help = "the same as free MPS",
     .uses = SOLVE,
     .excluded = BESIDE_GREEDY | BESIDE_COMPARE | BESIDE_PARETO | BESIDE_REPLICAS | BESIDE_AUTO |
                 BESIDE_REPORTS,
     .what = "the integer program"},
    {KIND_CHOICE, 0, "solver", "auto|ilp|dp|greedy", AT(solver),
     .help =
         "auto: the best split, with proof, the fastest way\n(default); the same by ilp: integer "
         "programs alone;\ndp: a dynamic program alone; greedy: the algorithm of\nPopLiner 1.0.0",
     .choices = "auto|ilp|dp|greedy", .uses = SOLVE},
    {KIND_CHOICE, 0, "memory-model", "full|popliner", AT(memory_model),
     .help = "full: all that the compiler counts (default of\n--solve); popliner: as PopLiner "
             "1.0.0, less "
             "than\n"
             "is needed (default of the tables and of greedy)",
     .choices = "full|popliner", .values = (const int[]){MODEL_FULL, MODEL_POPLINER},
     .uses = ALL_ACTIONS ^ (MEMORY_AFFINITY | INTERLAYER_COMMUNICATION), .excluded = BESIDE_COSTS},
    {KIND_RESERVE, 0, "reserve", "BYTES|N%|gaps", AT(reserve),
     .help = "memory to keep free on every tile: bytes, a percentage\nof --mem-per-tile, or the "
             "most that "
             "the layout wastes\n"
             "on any tile: its highest address less what is live\n"
             "(default: none; --effects counts the layout)",
     .uses = SPLITS},
    {.kind = KIND_HEADING, .name = "Constraints (L, A, B: layers, or Head and Tail)"},
    {KIND_NUMBER, 0, "min-layers", "N", AT(min_layers),
     .help = "fewest layers of a stage (default: 1); with 0 an IPU\nmay be for Head or Tail alone",
     .uses = SOLVING, .excluded = BESIDE_GREEDY, .copied = COPIED_CONSTRAINT},
    {KIND_COUNT, 0, "max-layers", "N", AT(max_layers), .help = "most layers of a stage",
     .uses = SOLVING, .excluded = BESIDE_GREEDY, .copied = COPIED_CONSTRAINT},
    {KIND_REPEATED, 0, "cut-after", "L", AT(cut_after), .help = "there must be a cut behind L",
     .uses = SOLVING, .excluded = BESIDE_GREEDY, .copied = COPIED_CONSTRAINT},
    {KIND_REPEATED, 0, "no-cut-after", "L", AT(no_cut_after), .help = "there must be none",
     .uses = SOLVING, .excluded = BESIDE_GREEDY, .copied = COPIED_CONSTRAINT},
    {KIND_REPEATED, 0, "together", "A,B", AT(together), .help = "A and B must run on the same IPU",
     .uses = SOLVING, .excluded = BESIDE_GREEDY, .copied = COPIED_CONSTRAINT},
    {KIND_REPEATED, 0, "place", "L=I,...", AT(place), .help = "L must run on IPU I",
     .uses = SOLVING, .excluded = BESIDE_GREEDY, .copied = COPIED_CONSTRAINT},
    {KIND_TEXT, 0, "device-map", "I,I,...", AT(device_map),
     .help = "the IPU of each stage, of exactly so many; stages on the\nsame one share its memory "
             "(default: 0,1,2,...)",
     .uses = SPLITS, .excluded = BESIDE_GREEDY | BESIDE_REPLICAS | BESIDE_REPORTS},
    {KIND_COUNT, 0, "interleave", "V", AT(interleave),
     .help = "V stages on each of the --num-ipus N IPUs: the device\nmap 0,1,...,N-1, V times",
     .uses = SPLITS, .excluded = BESIDE_GREEDY | BESIDE_REPORTS},
    {KIND_FLAG, 0, "v-shape", NULL, AT(v_shape),
     .help = "two stages on each, there and back: the device map\n0,1,...,N-1,N-1,...,1,0",
     .uses = SPLITS, .excluded = BESIDE_GREEDY | BESIDE_REPLICAS | BESIDE_REPORTS},
    {KIND_CHOICE, 0, "schedule", "NAME", AT(schedule),
     .help = "of the pipeline: popart (or training), tf-grouped,\n"
             "tf-interleaved, sequential, inference or none; the first\n"
             "three add the activations that early stages keep\n(default: none)",
     .choices = "none|inference|training|popart|tf-grouped|tf-interleaved|sequential",
     .values = (const int[]){POPLINER_SCHEDULE_NONE, POPLINER_SCHEDULE_INFERENCE,
                             POPLINER_SCHEDULE_POPART, POPLINER_SCHEDULE_POPART,
                             POPLINER_SCHEDULE_TF_GROUPED, POPLINER_SCHEDULE_TF_INTERLEAVED,
                             POPLINER_SCHEDULE_SEQUENTIAL},
     .uses = SPLITS, .excluded = BESIDE_GREEDY, .copied = COPIED_PIPELINE},
    {KIND_RECOMPUTE, 0, "recompute", "none|standard|full|auto", AT(recompute),
     .help = "full: keep only the inputs of each stage, and take the\n"
             "cycles of its forward pass once more; standard: for a\n"
             "profile compiled with recomputation, keep also what comes\n"
             "from or goes to other IPUs; auto: what is best for each\n"
             "stage, memory against cycles (of --costs: also for each\n"
             "layer that has variants), auto:standard,full of these\n"
             "alone; with --evaluate also one for each stage, like\n"
             "full,none (default: none)",
     .choices = "none|standard|full|auto", .uses = SPLITS, .excluded = BESIDE_GREEDY,
     .copied = COPIED_PIPELINE},
    {KIND_TEXT, 0, "copies", "NAME|N,N,...", AT(copies),
     .help =
         "copies of its activations that a stage keeps, instead of\nthose of --schedule: 1f1b, "
         "gpipe, "
         "zero-bubble,\ninterleaved (+N: N more), or your own numbers for the\nlast stage, the one "
         "before it, ...: 1,2,3,5, or 0,1,...\nif it goes on like that",
     .choices = "1f1b|gpipe|zero-bubble|interleaved", .uses = SPLITS, .excluded = BESIDE_GREEDY,
     .copied = COPIED_PIPELINE},
    {KIND_COUNT, 0, "micro-batches", "M", AT(micro_batches),
     .help = "micro-batches of a step in each pipeline: no stage keeps\nmore by a rule of --copies "
             "(N,N,... and +N are as given)",
     .uses = SPLITS, .excluded = BESIDE_GREEDY, .copied = COPIED_PIPELINE},
    {KIND_EFFECTS, 0, "effects", "LIST|all|none", AT(effects),
     .help = "what compiling a stage by itself adds: layout, passing,\n"
             "buffers (default: all; without layout if --reserve is\n"
             "given; none with PopLiner's memory model)",
     .choices = "layout|passing|buffers|none", .uses = SPLITS,
     .excluded = BESIDE_GREEDY | BESIDE_COSTS | BESIDE_MODEL, .copied = COPIED_MEMORY},
    {KIND_CHOICE, 0, "accumulators", "none|fp16|fp32|auto", AT(accumulators),
     .help = "of gradients, in a pipeline that trains: auto adds as\n"
             "many bytes as the parameters where the profile has none,\n"
             "fp16 the same in any case, fp32 twice as many (default:\n"
             "auto)",
     .choices = "none|fp16|fp32|auto", .uses = SPLITS,
     .excluded = BESIDE_GREEDY | BESIDE_COSTS | BESIDE_MODEL, .copied = COPIED_MEMORY},
    {KIND_CHOICE, 0, "risk", "low|expected|high", AT(need),
     .help = "what is taken for the memory of a stage: low: what it\n"
             "needs at most; high: what it needs at least (default:\n"
             "expected)",
     .choices = "low|expected|high",
     .values = (const int[]){POPLINER_NEED_MOST, POPLINER_NEED_EXPECTED, POPLINER_NEED_LEAST},
     .uses = SPLITS, .excluded = BESIDE_GREEDY | BESIDE_COSTS | BESIDE_MODEL},
    {.kind = KIND_HEADING, .name = "Replicas"},
    {KIND_COUNT, 0, "total-ipus", "N", AT(total_ipus),
     .help =
         "how many stages, and how many pipelines beside each\nother, have the largest throughput "
         "(--objective\nthroughput,...) on N IPUs; with\n--micro-batches, of each pipeline, or "
         "--batch",
     .uses = SOLVE, .excluded = BESIDE_STAGES | BESIDE_COMPARE | BESIDE_AUTO | BESIDE_REPORTS},
    {KIND_COUNT, 0, "batch", "N", AT(batch),
     .help = "samples of a step in all pipelines together, of which\neach takes the same number",
     .uses = SOLVE, .excluded = WITHOUT_REPLICAS},
    {KIND_COUNT, 0, "micro-batch-size", "N", AT(micro_batch_size),
     .help = "samples of a micro-batch (default: 1)", .uses = SOLVE, .excluded = WITHOUT_REPLICAS},
    {KIND_TEXT, 0, "replica-bandwidth", "BYTES", AT(replica_bandwidth),
     .help =
         "what an IPU exchanges with other pipelines in a unit of\nthe costs' time (of a profile, "
         "a cycle), to add up\ngradients (default: no end to it)",
     .uses = SOLVE, .excluded = BESIDE_MODEL | WITHOUT_REPLICAS},
    {.kind = KIND_HEADING, .name = "Profiles of pipelines"},
    {KIND_REPORTS, 0, "calibrate", "DIR", AT(calibrate),
     .help = "with --evaluate: compare what is predicted with the\npipeline as it was compiled; "
             "DIR is its "
             "report, or has\none for each IPU (0/profile.pop, ...)",
     .uses = EVALUATE,
     .excluded = BESIDE_COSTS | BESIDE_MODEL | BESIDE_STAGES | BESIDE_EMIT | BESIDE_COMPARE |
                 BESIDE_REPORTS},
    {KIND_READ, 0, "calibration", "FILE", AT(calibration),
     .help = "predict with the correction that --calibrate printed\nwith --format json",
     .uses = SPLITS, .excluded = BESIDE_GREEDY | BESIDE_COSTS | BESIDE_MODEL | BESIDE_REPORTS,
     .copied = COPIED_MEMORY},
    {KIND_NUMBER, 0, "ipu", "N", AT(ipu),
     .help = "tables, --diagnose and --save-to-file for the tiles of\nthis IPU alone, which are "
             "numbered "
             "from 0 then\n(default: of all IPUs)",
     .excluded = BESIDE_COSTS | BESIDE_REPORTS, .copied = COPIED_TILES},
    {.kind = KIND_HEADING, .name = "Diagnosis"},
    {KIND_TEXT, 0, "layers", "A-B", AT(layers),
     .help = "look for the bottleneck in these layers only", .uses = DIAGNOSE,
     .excluded = BESIDE_COSTS | BESIDE_REPORTS},
    {KIND_FLAG, 0, "layer-operations-only", NULL, AT(layer_operations_only),
     .help = "leave out operations in no layer", .uses = DIAGNOSE,
     .excluded = BESIDE_COSTS | BESIDE_REPORTS},
    {KIND_PERCENT, 0, "tolerance", "PERCENT", AT(tolerance_percent),
     .help = "exit status 1 if the explained bytes are further from\nthe truth at the bottleneck "
             "(default: "
             "5)",
     .uses = DIAGNOSE, .excluded = BESIDE_COSTS | BESIDE_REPORTS},
    {KIND_FLAG, 0, "strict", NULL, AT(strict),
     .help = "exit status 3, and no answer, for any action on a\nprofile that contradicts itself "
             "(default: "
             "a warning,\n"
             "and status 1 of --diagnose)",
     .excluded = BESIDE_COSTS},
    {.kind = KIND_HEADING, .name = "Layers"},
    {KIND_TEXT, 0, "layer-name-regex", "REGEX", AT(layer_name_regex),
     .help = "a layer's name is what the groups capture, or the\nwhole match (default: " //
     POPLINER_LAYER_NAME_REGEX ")",
     .excluded = BESIDE_COSTS, .copied = COPIED_INPUT},
    {KIND_TEXT, 0, "inputs-regex-layer-0", "REGEX", AT(inputs_regex_layer_0),
     .help = "operations with such an input are of the first layer\n(default: " //
     POPLINER_FIRST_LAYER_REGEX ")",
     .excluded = BESIDE_COSTS, .copied = COPIED_INPUT},
    {KIND_CHOICE, 0, "layer-order", "steps|natural", AT(layer_order),
     .help = "as they first run (default: steps), or by name with\nnumbers in order",
     .choices = "steps|natural",
     .values = (const int[]){POPLINER_LAYER_ORDER_STEPS, POPLINER_LAYER_ORDER_NATURAL},
     .excluded = BESIDE_COSTS, .copied = COPIED_INPUT},
    {.kind = KIND_HEADING, .name = "Names of modules, for --emit"},
    {KIND_TEXT, 0, "layer-path", "PATH", AT(layer_path),
     .help = "the module of a layer, like model.layers.{}: {} stands\nfor the layer's name",
     .uses = EMIT},
    {KIND_TEXT, 0, "head-modules", "A,B,...", AT(head_modules),
     .help = "the modules before the first layer: model.embed_tokens", .uses = EMIT},
    {KIND_TEXT, 0, "tail-modules", "A,B,...", AT(tail_modules),
     .help = "those behind the last one: model.norm,lm_head", .uses = EMIT},
    {.kind = KIND_HEADING, .name = "Output"},
    {KIND_CHOICE, 0, "format", "tsv|csv|json", AT(format),
     .help = "of tables (default: tsv); --solve prints its stages as\n"
             "one (default: as PopLiner's JSON), or with json the\n"
             "answer with its proof (docs/certificate.md);\n"
             "--memory-totals has json, too; --diagnose and\n"
             "--evaluate have json alone (default: text to read)",
     .choices = "tsv|csv|json"},
    {KIND_READ, 0, "config", "FILE", AT(config_path),
     .help =
         "options from a JSON object with their names as keys; what\nthe command line gives, too, "
         "counts instead\n(docs/config.md)"},
    {KIND_FLAG, 0, "paths", NULL, AT(paths),
     .help = "have pages and comparisons name files by their paths, as\nthey were given (default: "
             "by their "
             "names alone)",
     .uses = HTML | COMPARE},
    {KIND_FLAG, 0, "no-notes", NULL, AT(no_notes),
     .help =
         "leave out framework.json and app.json, which may hold\ntokens: without this, pages and "
         "stored analyses have what\nthey say",
     .excluded = BESIDE_COSTS},
    {KIND_COUNT, 0, "threads", "N", AT(num_threads),
     .help = "threads that read and measure (default: one for each\nprocessor); the result is the "
             "same for "
             "any number",
     .excluded = BESIDE_COSTS},
    {KIND_SECONDS, 0, "time-limit", "SECONDS", AT(time_limit_seconds),
     .help = "for each solve, for all of --pareto: then print the best\nknown, as Ctrl-C does; and "
             "for all "
             "else, with --solve at\nleast 5: then end with status 1"},
    {KIND_BYTES, 0, "max-memory", "BYTES", AT(max_memory_bytes),
     .help = "memory that may be used: what needs more ends with\nstatus 4 (default: that of the "
             "machine)"},
    {KIND_FLAG, 'q', "quiet", NULL, AT(quiet), .help = "log only warnings and errors, no progress"},
    {KIND_FLAG, 'v', "verbose", NULL, AT(verbose),
     .help = "log also what was read, with time and memory"},
    {KIND_FLAG, 'h', "help", NULL, AT(help), .help = "print this and end"},
    {KIND_FLAG, 0, "version", NULL, AT(version), .help = "print the version and end"},
};

const size_t num_options = sizeof option_table / sizeof *option_table;
_Static_assert(sizeof option_table / sizeof *option_table <= MAX_OPTIONS, "given has no room");

bool option_is_repeated(const option *o) {
    return o->kind == KIND_REPEATED || o->kind == KIND_OUTPUT || o->kind == KIND_GROWTH ||
           o->kind == KIND_EMIT;
}

const char *option_choices(const option *o, char text[CHOICES_BYTES]) {
    size_t length = 0;
    *text = '\0';
    for (int i = 0; o->word != NULL && o->word(i) != NULL && length < CHOICES_BYTES; i++)
        length += (size_t)snprintf(text + length, CHOICES_BYTES - length, "%s%s", i == 0 ? "" : "|",
                                   o->word(i));
    if (o->choices != NULL && length < CHOICES_BYTES)
        snprintf(text + length, CHOICES_BYTES - length, "%s%s", length == 0 ? "" : "|", o->choices);
    return text;
}

int option_choice(const option *o, const char *name, size_t length) {
    char text[CHOICES_BYTES];
    const char *choice = option_choices(o, text);
    for (int place = 0; choice != NULL; place++) {
        const size_t size = strcspn(choice, "|");
        if (size == length && memcmp(choice, name, size) == 0)
            return place;
        choice = choice[size] == '\0' ? NULL : choice + size + 1;
    }
    return -1;
}

/* ---- help ---- */

/* One option of the help: name and value to the left, the lines of its text to the right. */
static void print_option(FILE *stream, const option *o) {
    enum { TEXT_COLUMN = 27 };
    int width = fprintf(stream, "  ");
    if (o->letter != '\0')
        width += fprintf(stream, "-%c, ", o->letter);
    width += fprintf(stream, "--%s", o->name);
    if (o->value != NULL)
        width += fprintf(stream, " %s", o->value);
    const char *line = o->help;
    bool first = width < TEXT_COLUMN;
    if (!first)
        fprintf(stream, "\n");
    while (line != NULL) {
        const char *end = strchr(line, '\n');
        int length = end == NULL ? (int)strlen(line) : (int)(end - line);
        fprintf(stream, "%*s%.*s\n", first ? TEXT_COLUMN - width : TEXT_COLUMN, "", length, line);
        first = false;
        line = end == NULL ? NULL : end + 1;
    }
}

const char options_about_profiles[] =
    "Profiles: compile for one IPU, one replica, with POPLAR_ENGINE_OPTIONS=\n"
    "'{\"autoReport.all\":\"true\", \"autoReport.outputLoweredVars\":\"true\",\n"
    "\"debug.allowOutOfMemory\":\"true\"}'; a model that runs out of memory while\n"
    "compiling is fine. For PopART and PopTorch set the environment variable\n"
    "POPART_POPLINER_OUTLINER_REGEX to the layer regex when you compile, so that code\n"
    "of different layers is not merged into shared functions; unset it when you\n"
    "compile the pipeline. docs/guide.md goes through all of it.\n";

const char options_about_exit[] =
    "Exit status: 0 done, 1 no split fits (the best effort is printed), a stage of\n"
    "--evaluate does not, no layer was found, --diagnose is out of --tolerance or\n"
    "finds a contradiction, --compare finds more growth than --max-growth, or the\n"
    "work was not done in time, 2 wrong usage, 3 unreadable or unsupported input (or\n"
    "a file that cannot be written, or with --strict a profile that contradicts\n"
    "itself), 4 internal error or not enough memory.\n";

void options_print_help(FILE *stream) {
    fprintf(stream,
            "Usage: popliner [options] PROFILE [DEBUG]\n"
            "       popliner [options] --costs FILE --solve\n"
            "\n"
            "Says where to cut a neural network so that it fits on several IPUs.\n"
            "\n"
            "  PROFILE  the profile.pop that Poplar wrote, or the directory that holds it\n"
            "  DEBUG    its debug.cbor (default: beside the profile, else one directory up)\n");
    for (size_t i = 0; i < num_options; i++) {
        if (option_table[i].kind == KIND_HEADING)
            fprintf(stream, "\n%s:\n", option_table[i].name);
        else
            print_option(stream, &option_table[i]);
    }
    fprintf(stream,
            "\n"
            "%s"
            "\n"
            "Tables and JSON go to standard output, the log to standard error.\n"
            "\n"
            "%s",
            options_about_profiles, options_about_exit);
}

const option_described *options_describe(size_t i, option_described *described) {
    if (i >= num_options)
        return NULL;
    const option *o = &option_table[i];
    *described = (option_described){.is_heading = o->kind == KIND_HEADING,
                                    .is_repeated = option_is_repeated(o),
                                    .letter = o->letter,
                                    .name = o->name,
                                    .value = o->value,
                                    .help = o->help};
    option_choices(o, described->choices);
    return described;
}

/* ---- what was given ---- */

const options options_usual = {.tolerance_percent = 5,
                               .min_layers = MIN_LAYERS_USUAL,
                               .accumulators = POPLINER_ACCUMULATORS_AUTO,
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

const option_path *options_path_at(const options *o, size_t i, option_path *path) {
    for (size_t k = 0; k < num_options; k++) {
        const option *own = &option_table[k];
        const size_t count = own->kind == KIND_OUTPUT    ? o->outputs.count
                             : own->kind == KIND_EMIT    ? o->emits.count
                             : own->kind == KIND_WRITTEN ? 1
                             : own->kind == KIND_READ    ? 1
                             : own->kind == KIND_REPORTS ? 1
                                                         : 0;
        for (size_t n = 0; n < count; n++) {
            const char *value = own->kind == KIND_OUTPUT ? o->outputs.items[n].path
                                : own->kind == KIND_EMIT
                                    ? o->emits.items[n].path
                                    : *(const char *const *)((const char *)o + own->offset);
            if (value == NULL || i-- > 0)
                continue;
            *path = (option_path){own->name, own->what, value,
                                  own->kind == KIND_READ      ? PATH_READ
                                  : own->kind == KIND_REPORTS ? PATH_READ_REPORT
                                                              : PATH_WRITTEN};
            return path;
        }
    }
    return NULL;
}

/* Effects as --effects takes them. */
static const char *effects_text(const option *o, unsigned effects, char text[CHOICES_BYTES]) {
    char all[CHOICES_BYTES];
    *text = '\0';
    option_choices(o, all);
    for (char *name = strtok(all, "|"); effects != 0; name = strtok(NULL, "|"), effects >>= 1)
        if ((effects & 1) != 0)
            strcat(strcat(text, *text == '\0' ? "" : ","), name);
    return *text == '\0' ? "none" : text;
}

/* The value of an option of one value as it would be given; NULL if it is as usual. */
static const char *value_text(const options *o, const option *own, char text[CHOICES_BYTES]) {
    const char *place = (const char *)o + own->offset;
    size_t number = 0;
    switch (own->kind) {
    case KIND_FLAG:
        return *(const bool *)place ? "" : NULL;
    case KIND_TEXT:
        return *(const char *const *)place;
    case KIND_READ:
        return *(const char *const *)place == NULL
                   ? NULL
                   : options_shown_path(o, *(const char *const *)place);
    case KIND_COUNT:
    case KIND_NUMBER:
        number = *(const size_t *)(const void *)place;
        snprintf(text, CHOICES_BYTES, "%zu", number);
        return number == (own->kind == KIND_COUNT ? 0 : SIZE_MAX) ? NULL : text;
    case KIND_EFFECTS:
        return o->effects == POPLINER_EFFECTS_ALL ? NULL : effects_text(own, o->effects, text);
    case KIND_CHOICE:
    case KIND_RECOMPUTE:
        return memcmp(place, (const char *)&options_usual + own->offset, sizeof(int)) == 0
                   ? NULL
                   : o->given.values[own - option_table];
    default:
        return NULL;
    }
}

void options_copy(const options *o, copied words,
                  void (*add)(void *user, const char *name, const char *value), void *user) {
    char text[CHOICES_BYTES];
    for (size_t i = 0; i < num_options; i++) {
        const option *own = &option_table[i];
        const repeated *list = (const repeated *)(const void *)((const char *)o + own->offset);
        if (own->copied != words)
            continue;
        const char *value = value_text(o, own, text);
        if (value != NULL)
            add(user, own->name, own->kind == KIND_FLAG ? NULL : value);
        for (size_t k = 0; own->kind == KIND_REPEATED && k < list->count; k++)
            add(user, own->name, list->texts[k]);
    }
}
