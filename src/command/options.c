/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "command/options.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "command/values.h"
#include "popliner/sizes.h"

/* What an option does with its value. */
typedef enum kind {
    KIND_HEADING,  /* no option: begins a group of the help */
    KIND_FLAG,     /* bool at `offset` */
    KIND_TEXT,     /* const char * at `offset` */
    KIND_WRITTEN,  /* the same, the path of a file that is written */
    KIND_READ,     /* of a file that is read */
    KIND_REPORTS,  /* of a report, or of a directory with some */
    KIND_COUNT,    /* size_t at `offset`, at least 1 */
    KIND_NUMBER,   /* the same, but may be 0 */
    KIND_BYTES,    /* uint64_t at `offset`, at least 1 */
    KIND_PERCENT,  /* double at `offset`, 0 to 100 */
    KIND_GROWTH,   /* percentages by what may grow, for --max-growth */
    KIND_RESERVE,  /* bytes, "N%" or "gaps" */
    KIND_EFFECTS,  /* names separated by ',', or "none" */
    KIND_SECONDS,  /* double at `offset`, above 0 */
    KIND_REPEATED, /* repeated at `offset` */
    KIND_CHOICE,   /* one of `choices`, see set_choice */
    KIND_OUTPUT,   /* "SECTION=FILE", see set_output */
    KIND_EMIT,     /* "FORMAT" or "FORMAT=FILE", see set_emit */
} kind;

typedef struct option {
    kind kind;
    char letter; /* '\0': none */
    const char *name;
    const char *value;   /* how the help calls it */
    const char *choices; /* separated by '|'; of a text for completions alone */
    size_t offset;
    const char *help; /* lines of at most 54 characters */
} option;

#define SCHEDULES "none|inference|training|popart|tf-grouped|tf-interleaved|sequential"

/* In that order. */
static const popliner_schedule schedules[] = {
    POPLINER_SCHEDULE_NONE,       POPLINER_SCHEDULE_INFERENCE,  POPLINER_SCHEDULE_POPART,
    POPLINER_SCHEDULE_POPART,     POPLINER_SCHEDULE_TF_GROUPED, POPLINER_SCHEDULE_TF_INTERLEAVED,
    POPLINER_SCHEDULE_SEQUENTIAL,
};

/* In the order of their bits, but for the last. */
#define EFFECTS "layout|passing|buffers|none"

/* In the order of popliner_plot. */
#define PLOTS "tiles|liveness|plan"

/* In the order of popliner_section. */
#define SECTIONS                                                                                   \
    "summary|plan|tiles|categories|liveness|variables|operations|programs|layers|pairs|"           \
    "execution|checks|vertices|exchanges|advice|diagnosis|missing"

/* In the order of popliner_emit_format. */
#define EMITTED "json|optimum|poptorch|megatron|vllm|torch|titan|accelerate|tensorflow|popart|popxl"

/* In the order of popliner_objective. */
#define OBJECTIVES "memory|cycles|traffic|ipus|balance"

static const char *const recomputes[] = {"none", "standard", "full", "auto"};

static const option table[] = {
    {KIND_HEADING, 0, "What to do (several may be given)", NULL, NULL, 0, NULL},
    {KIND_FLAG, 0, "solve", NULL, NULL, offsetof(options, solve),
     "choose the split points, print them as JSON"},
    {KIND_TEXT, 0, "evaluate", "'A|B|...'", NULL, offsetof(options, evaluate),
     "memory per stage of a split given by hand: cut after\nthe layers A, B, ... (or Head); "
     "'whole' for no cut"},
    {KIND_FLAG, 0, "diagnose", NULL, NULL, offsetof(options, diagnose),
     "what the analysis explains of the compiler's own\naccount, what it misses, and why"},
    {KIND_FLAG, 0, "memory-totals", NULL, NULL, offsetof(options, memory_totals),
     "memory of the whole model, and the compiler's own\naccount of every tile by category"},
    {KIND_FLAG, 0, "operation-breakdown", NULL, NULL, offsetof(options, operation_breakdown),
     "table of the operations with layer and memory"},
    {KIND_FLAG, 0, "layer-breakdown", NULL, NULL, offsetof(options, layer_breakdown),
     "table of the layers with their memory"},
    {KIND_FLAG, 0, "memory-affinity", NULL, NULL, offsetof(options, memory_affinity),
     "bytes of the variables that each pair of layers uses"},
    {KIND_FLAG, 0, "interlayer-communication", NULL, NULL,
     offsetof(options, interlayer_communication),
     "bytes of the variables that go live in one layer\nand die in another"},
    {KIND_CHOICE, 0, "section", "NAME", SECTIONS, 0,
     "one table of what is known, for other programs: summary,\ntiles, categories, liveness, "
     "variables, operations,\nprograms, layers, pairs, execution, checks, vertices,\nexchanges, "
     "advice, diagnosis, missing; plan: of --solve\nor --evaluate, instead of what they print\n"
     "(docs/sections.md)"},
    {KIND_OUTPUT, 0, "output", "SECTION=FILE", SECTIONS, 0,
     "write such a table into a file, beside whatever is\nprinted; .csv, .tsv or .json says in "
     "which format"},
    {KIND_EMIT, 0, "emit", "FORMAT[=FILE]", EMITTED, 0,
     "the plan of --solve or --evaluate for a framework, instead\nof what these print, or into a "
     "file: json, optimum,\npoptorch, megatron, vllm, torch, titan, accelerate,\ntensorflow, "
     "popart, popxl (docs/emit.md)"},
    {KIND_WRITTEN, 0, "html", "FILE", NULL, offsetof(options, html),
     "write a page for a browser that shows the profile, and\nthe plan of --solve or --evaluate: "
     "its cuts can be moved\n(docs/page.md)"},
    {KIND_CHOICE, 0, "plot", PLOTS, PLOTS, 0,
     "draw what is live on the tiles, or at the steps, as wide\nas the terminal; plan: what each "
     "stage of --solve or\n--evaluate needs, instead of what they print"},
    {KIND_WRITTEN, 0, "trace", "FILE", NULL, offsetof(options, trace),
     "write programs, cycles and memory along the steps as a\ntrace for Perfetto, with the stages "
     "of --solve or\n--evaluate (docs/trace.md)"},
    {KIND_REPORTS, 0, "compare", "OTHER", NULL, offsetof(options, compare),
     "what changed since OTHER, the profile, directory or\nstored analysis before: device, tiles, "
     "categories,\nlayers; with --solve or --evaluate also the stages,\ninstead of what these "
     "print (docs/compare.md)"},
    {KIND_GROWTH, 0, "max-growth", "[WHAT=]PERCENT,...", NULL, 0,
     "with --compare: exit status 1 if the largest tile, of the\nmodel or of the stages, grew by "
     "more; WHAT: any of the\ntiles, categories, layers, stages, or the cycles"},
    {KIND_WRITTEN, 0, "save-to-file", "FILE", NULL, offsetof(options, save_to_file),
     "store the analysis; later runs load it faster"},
    {KIND_FLAG, 0, "load-from-file", NULL, NULL, offsetof(options, load_from_file),
     "PROFILE is such a stored analysis; give no DEBUG"},
    {KIND_REPEATED, 0, "report", "NAME", NULL, offsetof(options, reports),
     "PROFILE holds several reports, as training and\ninference: take this one. Given again, or "
     "all: --solve\nfinds one split for them together, and --evaluate tells\nwhat each needs "
     "(docs/reports.md)"},

    {KIND_HEADING, 0, "Solving", NULL, NULL, 0, NULL},
    {KIND_COUNT, 0, "num-ipus", "N", NULL, offsetof(options, num_ipus),
     "most IPUs to use (default: 16)"},
    {KIND_TEXT, 0, "objective", "LIST", OBJECTIVES "|throughput", offsetof(options, objective),
     "what is to be smallest, one within the best for those\nbefore it: memory (the largest tile), "
     "cycles (the\nslowest IPU), traffic (bytes over the cuts), ipus,\nbalance (spread over the "
     "IPUs; if it is first, without a\ndevice map, memory comes before it, or cycles of\n"
     "graphs and of costs without memory)\n"
     "(default: memory,traffic; of graphs cycles)"},
    {KIND_PERCENT, 0, "slack", "PERCENT", NULL, offsetof(options, slack_percent),
     "how far each objective may miss its best for the sake\nof the next (default: 0)"},
    {KIND_BYTES, 0, "mem-per-tile", "BYTES", NULL, offsetof(options, mem_per_tile_bytes),
     "memory that a stage may use on a tile, like 638976 or\n"
     "624KiB: K = 1000, KiB = 1024, so also KB, M, MB, MiB,\nG, ..., for all BYTES (default: the "
     "profile's own,\n"
     "638976 on a Mk2 IPU)"},
    {KIND_REPEATED, 0, "ipu-mem-per-tile", "I=BYTES,...", NULL, offsetof(options, ipu_mem_per_tile),
     "the same for single IPUs, counted from 0"},
    {KIND_REPEATED, 0, "ipu-speed", "I=FACTOR,...", NULL, offsetof(options, ipu_speed),
     "speeds of single IPUs, like 0=0.5,3=2 (others: 1): the\ncycles of a stage are divided by "
     "that of its IPU"},
    {KIND_REPEATED, 0, "link-bandwidth", "[I-J=]BYTES,...", NULL, offsetof(options, link_bandwidth),
     "what the links between IPUs carry in a unit of time, and\nthose of single ones, like "
     "64,1-2=0.5: the cycles of an\nIPU are more by what its cuts take; not where stages\nshare "
     "IPUs (default: of a profile 64 GB/s, of costs no\nlimit)"},
    {KIND_TEXT, 0, "sweep", "WHAT=A..B", "num-ipus|mem-per-tile", offsetof(options, sweep),
     "with --solve: a table of the best splits for num-ipus\nor mem-per-tile from A to B; "
     "mem-per-tile=200K..600K:50K"},
    {KIND_TEXT, 0, "pareto", "A,B", OBJECTIVES, offsetof(options, pareto),
     "with --solve, instead of --objective: a table of all best\ncompromises of two objectives; "
     "more of them (A,B,C)\ndecide between equal splits"},
    {KIND_READ, 0, "costs", "FILE", NULL, offsetof(options, costs),
     "solve for costs from a file, or from standard input\n(-), instead of a profile "
     "(docs/costs.md: a table of\nlayers as CSV, JSON; layer graphs; PipeDream's graph.txt)"},
    {KIND_WRITTEN, 0, "write-lp", "FILE", NULL, offsetof(options, write_lp),
     "with --solve: write the integer program of the first\nobjective as CPLEX LP"},
    {KIND_WRITTEN, 0, "write-mps", "FILE", NULL, offsetof(options, write_mps),
     "the same as free MPS"},
    {KIND_CHOICE, 0, "solver", "auto|ilp|dp|greedy", "auto|ilp|dp|greedy", 0,
     "auto: the best split, with proof, the fastest way\n(default); the same by ilp: integer "
     "programs alone;\ndp: a dynamic program alone; greedy: the algorithm of\nPopLiner 1.0.0"},
    {KIND_CHOICE, 0, "memory-model", "full|popliner", "full|popliner", 0,
     "full: all that the compiler counts (default of\n--solve); popliner: as PopLiner 1.0.0, less "
     "than\n"
     "is needed (default of the tables and of greedy)"},

    {KIND_RESERVE, 0, "reserve", "BYTES|N%|gaps", NULL, 0,
     "memory to keep free on every tile: bytes, a percentage\nof --mem-per-tile, or the most that "
     "the layout wastes\n"
     "on any tile: its highest address less what is live\n"
     "(default: none; --effects counts the layout)"},

    {KIND_HEADING, 0, "Constraints (L, A, B: layers, or Head and Tail)", NULL, NULL, 0, NULL},
    {KIND_NUMBER, 0, "min-layers", "N", NULL, offsetof(options, min_layers),
     "fewest layers of a stage (default: 1); with 0 an IPU\nmay be for Head or Tail alone"},
    {KIND_COUNT, 0, "max-layers", "N", NULL, offsetof(options, max_layers),
     "most layers of a stage"},
    {KIND_REPEATED, 0, "cut-after", "L", NULL, offsetof(options, cut_after),
     "there must be a cut behind L"},
    {KIND_REPEATED, 0, "no-cut-after", "L", NULL, offsetof(options, no_cut_after),
     "there must be none"},
    {KIND_REPEATED, 0, "together", "A,B", NULL, offsetof(options, together),
     "A and B must run on the same IPU"},
    {KIND_REPEATED, 0, "place", "L=I,...", NULL, offsetof(options, place), "L must run on IPU I"},
    {KIND_TEXT, 0, "device-map", "I,I,...", NULL, offsetof(options, device_map),
     "the IPU of each stage, of exactly so many; stages on the\nsame one share its memory "
     "(default: 0,1,2,...)"},
    {KIND_COUNT, 0, "interleave", "V", NULL, offsetof(options, interleave),
     "V stages on each of the --num-ipus N IPUs: the device\nmap 0,1,...,N-1, V times"},
    {KIND_FLAG, 0, "v-shape", NULL, NULL, offsetof(options, v_shape),
     "two stages on each, there and back: the device map\n0,1,...,N-1,N-1,...,1,0"},
    {KIND_CHOICE, 0, "schedule", "NAME", SCHEDULES, 0,
     "of the pipeline: popart (or training), tf-grouped,\n"
     "tf-interleaved, sequential, inference or none; the first\n"
     "three add the activations that early stages keep\n(default: none)"},
    {KIND_CHOICE, 0, "recompute", "none|standard|full|auto", "none|standard|full|auto", 0,
     "full: keep only the inputs of each stage, and take the\n"
     "cycles of its forward pass once more; standard: for a\n"
     "profile compiled with recomputation, keep also what comes\n"
     "from or goes to other IPUs; auto: what is best for each\n"
     "stage, memory against cycles (of --costs: also for each\n"
     "layer that has variants), auto:standard,full of these\n"
     "alone; with --evaluate also one for each stage, like\n"
     "full,none (default: none)"},

    {KIND_TEXT, 0, "copies", "NAME|N,N,...", "1f1b|gpipe|zero-bubble|interleaved",
     offsetof(options, copies),
     "copies of its activations that a stage keeps, instead of\nthose of --schedule: 1f1b, gpipe, "
     "zero-bubble,\ninterleaved (+N: N more), or your own numbers for the\nlast stage, the one "
     "before it, ...: 1,2,3,5, or 0,1,...\nif it goes on like that"},
    {KIND_COUNT, 0, "micro-batches", "M", NULL, offsetof(options, micro_batches),
     "micro-batches of a step in each pipeline: no stage keeps\nmore by a rule of --copies "
     "(N,N,... and +N are as given)"},

    {KIND_EFFECTS, 0, "effects", "LIST|all|none", EFFECTS, 0,
     "what compiling a stage by itself adds: layout, passing,\n"
     "buffers (default: all; without layout if --reserve is\n"
     "given; none with PopLiner's memory model)"},
    {KIND_CHOICE, 0, "accumulators", "none|fp16|fp32|auto", "none|fp16|fp32|auto", 0,
     "of gradients, in a pipeline that trains: auto adds as\n"
     "many bytes as the parameters where the profile has none,\n"
     "fp16 the same in any case, fp32 twice as many (default:\n"
     "auto)"},
    {KIND_CHOICE, 0, "risk", "low|expected|high", "low|expected|high", 0,
     "what is taken for the memory of a stage: low: what it\n"
     "needs at most; high: what it needs at least (default:\n"
     "expected)"},

    {KIND_HEADING, 0, "Replicas", NULL, NULL, 0, NULL},
    {KIND_COUNT, 0, "total-ipus", "N", NULL, offsetof(options, total_ipus),
     "how many stages, and how many pipelines beside each\nother, have the largest throughput "
     "(--objective\nthroughput,...) on N IPUs; with\n--micro-batches, of each pipeline, or "
     "--batch"},
    {KIND_COUNT, 0, "batch", "N", NULL, offsetof(options, batch),
     "samples of a step in all pipelines together, of which\neach takes the same number"},
    {KIND_COUNT, 0, "micro-batch-size", "N", NULL, offsetof(options, micro_batch_size),
     "samples of a micro-batch (default: 1)"},
    {KIND_TEXT, 0, "replica-bandwidth", "BYTES", NULL, offsetof(options, replica_bandwidth),
     "what an IPU exchanges with other pipelines in a unit of\nthe costs' time (of a profile, "
     "a cycle), to add up\ngradients (default: no end to it)"},

    {KIND_HEADING, 0, "Profiles of pipelines", NULL, NULL, 0, NULL},
    {KIND_REPORTS, 0, "calibrate", "DIR", NULL, offsetof(options, calibrate),
     "with --evaluate: compare what is predicted with the\npipeline as it was compiled; DIR is its "
     "report, or has\none for each IPU (0/profile.pop, ...)"},
    {KIND_READ, 0, "calibration", "FILE", NULL, offsetof(options, calibration),
     "predict with the correction that --calibrate printed\nwith --format json"},
    {KIND_NUMBER, 0, "ipu", "N", NULL, offsetof(options, ipu),
     "tables, --diagnose and --save-to-file for the tiles of\nthis IPU alone, which are numbered "
     "from 0 then\n(default: of all IPUs)"},

    {KIND_HEADING, 0, "Diagnosis", NULL, NULL, 0, NULL},
    {KIND_TEXT, 0, "layers", "A-B", NULL, offsetof(options, layers),
     "look for the bottleneck in these layers only"},
    {KIND_FLAG, 0, "layer-operations-only", NULL, NULL, offsetof(options, layer_operations_only),
     "leave out operations in no layer"},
    {KIND_PERCENT, 0, "tolerance", "PERCENT", NULL, offsetof(options, tolerance_percent),
     "exit status 1 if the explained bytes are further from\nthe truth at the bottleneck (default: "
     "5)"},

    {KIND_FLAG, 0, "strict", NULL, NULL, offsetof(options, strict),
     "exit status 3, and no answer, for any action on a\nprofile that contradicts itself (default: "
     "a warning,\n"
     "and status 1 of --diagnose)"},

    {KIND_HEADING, 0, "Layers", NULL, NULL, 0, NULL},
    {KIND_TEXT, 0, "layer-name-regex", "REGEX", NULL, offsetof(options, layer_name_regex),
     "a layer's name is what the groups capture, or the\nwhole match (default: " //
     POPLINER_LAYER_NAME_REGEX ")"},
    {KIND_TEXT, 0, "inputs-regex-layer-0", "REGEX", NULL, offsetof(options, inputs_regex_layer_0),
     "operations with such an input are of the first layer\n(default: " //
     POPLINER_FIRST_LAYER_REGEX ")"},
    {KIND_CHOICE, 0, "layer-order", "steps|natural", "steps|natural", 0,
     "as they first run (default: steps), or by name with\nnumbers in order"},

    {KIND_HEADING, 0, "Names of modules, for --emit", NULL, NULL, 0, NULL},
    {KIND_TEXT, 0, "layer-path", "PATH", NULL, offsetof(options, layer_path),
     "the module of a layer, like model.layers.{}: {} stands\nfor the layer's name"},
    {KIND_TEXT, 0, "head-modules", "A,B,...", NULL, offsetof(options, head_modules),
     "the modules before the first layer: model.embed_tokens"},
    {KIND_TEXT, 0, "tail-modules", "A,B,...", NULL, offsetof(options, tail_modules),
     "those behind the last one: model.norm,lm_head"},

    {KIND_HEADING, 0, "Output", NULL, NULL, 0, NULL},
    {KIND_CHOICE, 0, "format", "tsv|csv|json", "tsv|csv|json", 0,
     "of tables (default: tsv); --solve prints its stages as\n"
     "one (default: as PopLiner's JSON), or with json the\n"
     "answer with its proof (docs/certificate.md);\n"
     "--memory-totals has json, too; --diagnose and\n"
     "--evaluate have json alone (default: text to read)"},
    {KIND_READ, 0, "config", "FILE", NULL, offsetof(options, config_path),
     "options from a JSON object with their names as keys; what\nthe command line gives, too, "
     "counts instead\n(docs/config.md)"},
    {KIND_FLAG, 0, "paths", NULL, NULL, offsetof(options, paths),
     "have pages and comparisons name files by their paths, as\nthey were given (default: by their "
     "names alone)"},
    {KIND_FLAG, 0, "no-notes", NULL, NULL, offsetof(options, no_notes),
     "leave out framework.json and app.json, which may hold\ntokens: without this, pages and "
     "stored analyses have what\nthey say"},
    {KIND_COUNT, 0, "threads", "N", NULL, offsetof(options, num_threads),
     "threads that read and measure (default: one for each\nprocessor); the result is the same for "
     "any number"},
    {KIND_SECONDS, 0, "time-limit", "SECONDS", NULL, offsetof(options, time_limit_seconds),
     "for each solve, for all of --pareto: then print the best\nknown, as Ctrl-C does; and for all "
     "else, with --solve at\nleast 5: then end with status 1"},
    {KIND_BYTES, 0, "max-memory", "BYTES", NULL, offsetof(options, max_memory_bytes),
     "memory that may be used: what needs more ends with\nstatus 4 (default: that of the machine)"},
    {KIND_FLAG, 'q', "quiet", NULL, NULL, offsetof(options, quiet),
     "log only warnings and errors, no progress"},
    {KIND_FLAG, 'v', "verbose", NULL, NULL, offsetof(options, verbose),
     "log also what was read, with time and memory"},
    {KIND_FLAG, 'h', "help", NULL, NULL, offsetof(options, help), "print this and end"},
    {KIND_FLAG, 0, "version", NULL, NULL, offsetof(options, version), "print the version and end"},
};

enum { NUM_OPTIONS = sizeof table / sizeof *table };

/* The place of `value` among `choices`, or -1. */
static int find_choice(const char *choices, const char *value) {
    size_t length = strlen(value);
    for (int place = 0; choices != NULL; place++) {
        const char *end = strchr(choices, '|');
        size_t size = end == NULL ? strlen(choices) : (size_t)(end - choices);
        if (size == length && memcmp(choices, value, size) == 0)
            return place;
        choices = end == NULL ? NULL : end + 1;
    }
    return -1;
}

/* Takes several ways of recomputing, separated by ',': of each stage, or behind "auto:" those that
 * it chooses from. False if it is something else. */
static bool take_recomputes(const char *value, options *result) {
    static const char prefix[] = "auto:";
    bool is_auto = strncmp(value, prefix, strlen(prefix)) == 0;
    unsigned ways = 0;
    if (!is_auto && strchr(value, ',') == NULL)
        return false;
    for (const char *name = is_auto ? value + strlen(prefix) : value; name != NULL;) {
        char own[16];
        size_t length = strcspn(name, ",");
        snprintf(own, sizeof own, "%.*s", (int)length, name);
        int choice = length < sizeof own ? find_choice("none|standard|full", own) : -1;
        if (choice < 0)
            return false;
        ways |= 1u << choice;
        name = name[length] == ',' ? name + length + 1 : NULL;
    }
    result->recompute = is_auto ? POPLINER_RECOMPUTE_AUTO : POPLINER_RECOMPUTE_NONE;
    result->recompute_ways = is_auto ? ways : 0;
    result->recomputes = value;
    return true;
}

static popliner_status set_choice(const option *o, const char *value, options *result,
                                  popliner_error *error) {
    if (strcmp(o->name, "recompute") == 0 && take_recomputes(value, result))
        return POPLINER_OK;
    int choice = find_choice(o->choices, value);
    if (choice < 0) {
        char hint[NEAREST_HINT_BYTES];
        nearest n = nearest_begin(value, strlen(value));
        nearest_offer_list(&n, o->choices, '|');
        return fail_usage(error, "--%s %s: expected one of %s%s", o->name, value, o->choices,
                          nearest_hint(&n, "", "", hint));
    }
    if (strcmp(o->name, "section") == 0) {
        result->section = (popliner_section)choice;
        result->has_section = true;
    } else if (strcmp(o->name, "plot") == 0) {
        result->plot = (popliner_plot)choice;
        result->has_plot = true;
    } else if (strcmp(o->name, "format") == 0) {
        result->format = (popliner_format)choice;
        result->has_format = true;
    } else if (strcmp(o->name, "solver") == 0)
        result->solver = (solver_choice)choice;
    else if (strcmp(o->name, "memory-model") == 0)
        result->memory_model = choice == 0 ? MODEL_FULL : MODEL_POPLINER;
    else if (strcmp(o->name, "schedule") == 0) {
        result->schedule = schedules[choice];
        result->schedule_name = value;
    } else if (strcmp(o->name, "recompute") == 0) {
        result->recompute = (popliner_recompute)choice;
        result->recomputes = NULL;
        result->recompute_ways = 0;
    } else if (strcmp(o->name, "accumulators") == 0)
        result->accumulators = (popliner_accumulators)choice;
    else if (strcmp(o->name, "risk") == 0)
        result->need = choice == 0   ? POPLINER_NEED_MOST
                       : choice == 1 ? POPLINER_NEED_EXPECTED
                                     : POPLINER_NEED_LEAST;
    else if (strcmp(o->name, "layer-order") == 0)
        result->layer_order =
            choice == 0 ? POPLINER_LAYER_ORDER_STEPS : POPLINER_LAYER_ORDER_NATURAL;
    return POPLINER_OK;
}

static popliner_status set_number(const option *o, const char *value, uint64_t min, uint64_t max,
                                  uint64_t *number, popliner_error *error) {
    char *end = NULL;
    errno = 0;
    unsigned long long parsed = strtoull(value, &end, 10);
    /* strtoull takes signs and spaces: digits alone are meant */
    if (*value == '\0' || strspn(value, "0123456789") != strlen(value))
        return fail_usage(error, "--%s %s: expected a whole number", o->name, value);
    if (errno == ERANGE || parsed < min || parsed > max)
        return fail_usage(error, "--%s %s: expected a number from %llu to %llu", o->name, value,
                          (unsigned long long)min, (unsigned long long)max);
    *number = parsed;
    return POPLINER_OK;
}

static popliner_status set_bytes(const option *o, const char *value, uint64_t *bytes,
                                 popliner_error *error) {
    const char *end = popliner_size_take(value, bytes);
    if (end == NULL || *end != '\0' || *bytes == 0)
        return fail_usage(
            error,
            "--%s %s: expected a whole number of bytes from 1 to %llu, like 638976, 624KiB "
            "or 1.5M",
            o->name, value, (unsigned long long)INT64_MAX);
    return POPLINER_OK;
}

static popliner_status set_percent(const option *o, const char *value, double *percent,
                                   popliner_error *error) {
    char *end = NULL;
    const size_t length = strspn(value, "0123456789.");
    *percent = strtod(value, &end);
    if (length == 0 || end != value + length || (*end != '\0' && strcmp(end, "%") != 0) ||
        *percent > 100)
        return fail_usage(error, "--%s %s: expected a percentage from 0 to 100, like 2.5 or 2.5%%",
                          o->name, value);
    return POPLINER_OK;
}

static popliner_status set_seconds(const option *o, const char *value, double *seconds,
                                   popliner_error *error) {
    char *end = NULL;
    *seconds = strtod(value, &end);
    if (strspn(value, "0123456789.") != strlen(value) || *end != '\0' || !(*seconds > 0))
        return fail_usage(error, "--%s %s: expected a number of seconds above 0", o->name, value);
    return POPLINER_OK;
}

static popliner_status add_repeated(const char *value, repeated *list, popliner_error *error) {
    const char **texts = realloc(list->texts, (list->count + 1) * sizeof *texts);
    if (texts == NULL)
        return fail_memory(error, "the options");
    texts[list->count++] = value;
    list->texts = texts;
    return POPLINER_OK;
}

static popliner_status set_reserve(const option *o, const char *value, options *result,
                                   popliner_error *error) {
    size_t length = strlen(value);
    if (strcmp(value, "gaps") == 0) {
        result->reserve = RESERVE_GAPS;
        return POPLINER_OK;
    }
    if (length > 1 && value[length - 1] == '%') {
        double percent = 0;
        popliner_status status = set_percent(o, value, &percent, error);
        result->reserve = RESERVE_PERCENT;
        result->reserve_amount = (uint64_t)(percent * 100 + 0.5);
        return status;
    }
    const char *end = popliner_size_take(value, &result->reserve_amount);
    result->reserve = RESERVE_BYTES;
    if (end == NULL || *end != '\0')
        return fail_usage(
            error,
            "--%s %s: expected a whole number of bytes up to %llu, like 60000 or 60K, a "
            "percentage, like 5%%, or gaps",
            o->name, value, (unsigned long long)INT64_MAX);
    return POPLINER_OK;
}

static popliner_status set_effects(const option *o, const char *value, options *result,
                                   popliner_error *error) {
    result->has_effects = true;
    result->effects = 0;
    if (strcmp(value, "none") == 0)
        return POPLINER_OK;
    if (strcmp(value, "all") == 0) {
        result->effects = POPLINER_EFFECTS_ALL;
        return POPLINER_OK;
    }
    for (const char *name = value;; name++) {
        char own[16] = "";
        size_t length = strcspn(name, ",");
        if (length < sizeof own)
            memcpy(own, name, length);
        int choice = find_choice(o->choices, own);
        if (choice < 0 || 1u << choice > POPLINER_EFFECTS_ALL) {
            char hint[NEAREST_HINT_BYTES];
            nearest n = nearest_begin(name, length);
            nearest_offer_list(&n, o->choices, '|');
            return fail_usage(error,
                              "--%s %s: expected none, all, or some of layout,passing,buffers%s",
                              o->name, value, nearest_hint(&n, "", "", hint));
        }
        result->effects |= 1u << choice;
        name += length;
        if (*name == '\0')
            return POPLINER_OK;
    }
}

/* What may grow, by its name; POPLINER_NUM_GROWTHS if it is none. */
static popliner_growth find_growth(const char *name, size_t length) {
    for (int i = 0; i < POPLINER_NUM_GROWTHS; i++) {
        const char *own = popliner_growth_name((popliner_growth)i);
        if (strlen(own) == length && memcmp(own, name, length) == 0)
            return (popliner_growth)i;
    }
    return POPLINER_NUM_GROWTHS;
}

/* "5", "layers=5", or several of them with commas between them. */
static popliner_status set_growth(const option *o, const char *value, options *result,
                                  popliner_error *error) {
    for (const char *part = value;; part++) {
        char number[24] = "";
        const size_t length = strcspn(part, ",");
        const size_t name = strcspn(part, "=,");
        const size_t start = name < length ? name + 1 : 0;
        const popliner_growth of =
            start == 0 ? POPLINER_GROWTH_LARGEST_TILE : find_growth(part, name);
        if (of == POPLINER_NUM_GROWTHS) {
            char hint[NEAREST_HINT_BYTES];
            nearest n = nearest_begin(part, name);
            for (int i = 0; i < POPLINER_NUM_GROWTHS; i++) {
                const char *own = popliner_growth_name((popliner_growth)i);
                nearest_offer(&n, own, strlen(own));
            }
            return fail_usage(
                error,
                "--%s %s: expected PERCENT, or WHAT=PERCENT with one of largest-tile, "
                "tiles, categories, layers, stages, cycles%s",
                o->name, value, nearest_hint(&n, "", "", hint));
        }
        if (length - start < sizeof number)
            memcpy(number, part + start, length - start);
        popliner_status status = set_percent(o, number, &result->max_growth_percent[of], error);
        if (status != POPLINER_OK)
            return fail_usage(
                error, "--%s %s: expected percentages from 0 to 100, like 2.5 or layers=2.5%%",
                o->name, value);
        if (result->max_growth[of] != NULL && strcmp(result->max_growth[of], value) != 0)
            result->overridden = (overridden){o->name, result->max_growth[of], value};
        result->max_growth[of] = value;
        part += length;
        if (*part == '\0')
            return POPLINER_OK;
    }
}

/* Takes the choice that "CHOICE" or "CHOICE=FILE" begins with, which `expected` words for a
 * message. *path is what is behind the '=', NULL without one. */
static popliner_status take_choice_of_file(const option *o, const char *value, const char *expected,
                                           int *choice, const char **path, popliner_error *error) {
    char name[16] = "";
    size_t length = strcspn(value, "=");
    if (length < sizeof name)
        memcpy(name, value, length);
    *choice = find_choice(o->choices, name);
    *path = value[length] == '=' ? value + length + 1 : NULL;
    if (*choice < 0) {
        char hint[NEAREST_HINT_BYTES];
        nearest n = nearest_begin(value, length);
        nearest_offer_list(&n, o->choices, '|');
        return fail_usage(error, "--%s %s: expected %s %s%s", o->name, value, expected, o->choices,
                          nearest_hint(&n, "", "", hint));
    }
    const bool needs_path = o->kind == KIND_OUTPUT;
    if (*path == NULL ? needs_path : **path == '\0')
        return fail_usage(error, "--%s %s: into which file? Give --%s %s=FILE", o->name, value,
                          o->name, name);
    return POPLINER_OK;
}

static popliner_status set_output(const option *o, const char *value, options *result,
                                  popliner_error *error) {
    int section;
    const char *path;
    popliner_status status = take_choice_of_file(o, value, "SECTION=FILE with one of the sections",
                                                 &section, &path, error);
    if (status != POPLINER_OK)
        return status;
    output_file *outputs = realloc(result->outputs, (result->num_outputs + 1) * sizeof *outputs);
    if (outputs == NULL)
        return fail_memory(error, "the options");
    outputs[result->num_outputs++] = (output_file){(popliner_section)section, path};
    result->outputs = outputs;
    return POPLINER_OK;
}

static popliner_status set_emit(const option *o, const char *value, options *result,
                                popliner_error *error) {
    int format;
    const char *path;
    popliner_status status = take_choice_of_file(
        o, value, "FORMAT or FORMAT=FILE with one of the formats", &format, &path, error);
    if (status != POPLINER_OK)
        return status;
    emitted_file *emits = realloc(result->emits, (result->num_emits + 1) * sizeof *emits);
    if (emits == NULL)
        return fail_memory(error, "the options");
    emits[result->num_emits++] = (emitted_file){(popliner_emit_format)format, path};
    result->emits = emits;
    return POPLINER_OK;
}

static popliner_status set(const option *o, const char *value, options *result,
                           popliner_error *error) {
    char *place = (char *)result + o->offset;
    uint64_t number = 0;
    popliner_status status = POPLINER_OK;
    switch (o->kind) {
    case KIND_FLAG:
        *(bool *)place = true;
        break;
    case KIND_TEXT:
    case KIND_WRITTEN:
    case KIND_READ:
    case KIND_REPORTS:
        *(const char **)place = value;
        break;
    case KIND_COUNT:
    case KIND_NUMBER:
        status = set_number(o, value, o->kind == KIND_COUNT, 1000000, &number, error);
        if (status == POPLINER_OK)
            *(size_t *)place = (size_t)number;
        break;
    case KIND_BYTES:
        status = set_bytes(o, value, (uint64_t *)place, error);
        break;
    case KIND_PERCENT:
        status = set_percent(o, value, (double *)place, error);
        break;
    case KIND_GROWTH:
        status = set_growth(o, value, result, error);
        break;
    case KIND_RESERVE:
        status = set_reserve(o, value, result, error);
        break;
    case KIND_EFFECTS:
        status = set_effects(o, value, result, error);
        break;
    case KIND_CHOICE:
        status = set_choice(o, value, result, error);
        break;
    case KIND_SECONDS:
        status = set_seconds(o, value, (double *)place, error);
        break;
    case KIND_REPEATED:
        status = add_repeated(value, (repeated *)place, error);
        break;
    case KIND_OUTPUT:
        status = set_output(o, value, result, error);
        break;
    case KIND_EMIT:
        status = set_emit(o, value, result, error);
        break;
    case KIND_HEADING:
        break;
    }
    return status;
}

/* The option that an argument begins with, and the value behind its '=', if any. */
static const option *find(const char *argument, const char **value) {
    *value = NULL;
    for (size_t i = 0; i < NUM_OPTIONS; i++) {
        const option *o = &table[i];
        if (o->kind == KIND_HEADING)
            continue;
        if (argument[1] != '-') {
            if (o->letter != '\0' && argument[1] == o->letter && argument[2] == '\0')
                return o;
            continue;
        }
        size_t length = strlen(o->name);
        if (strncmp(argument + 2, o->name, length) != 0)
            continue;
        if (argument[2 + length] == '=')
            *value = argument + 2 + length + 1;
        if (argument[2 + length] == '=' || argument[2 + length] == '\0')
            return o;
    }
    return NULL;
}

/* Refuses an argument that is no option, and names the one that it may have been meant to be. */
static popliner_status fail_unknown(const char *argument, popliner_error *error) {
    char hint[NEAREST_HINT_BYTES];
    const char *name = argument + strspn(argument, "-");
    nearest n = nearest_begin(name, strcspn(name, "="));
    for (size_t i = 0; i < NUM_OPTIONS; i++)
        if (table[i].kind != KIND_HEADING)
            nearest_offer(&n, table[i].name, strlen(table[i].name));
    return fail_usage(error, "%s: unknown option%s", argument,
                      nearest_hint(&n, "--", "; see popliner --help", hint));
}

/* Whether an argument is an option of ours, and so not the value of the one before it: a value was
 * forgotten more likely than a file is to be called "--solve". Behind a '=' it may be. */
static bool is_option(const char *argument) {
    const char *value;
    return argument[0] == '-' && find(argument, &value) != NULL;
}

/* What was given, by place in the table. */
typedef struct given {
    bool is[NUM_OPTIONS];
    bool is_own[NUM_OPTIONS];        /* by the command line, not by the file of --config */
    const char *values[NUM_OPTIONS]; /* NULL for flags */
} given;

/* Whether all values of an option count, and not the last one alone. */
static bool is_repeated(const option *o) {
    return o->kind == KIND_REPEATED || o->kind == KIND_OUTPUT || o->kind == KIND_GROWTH ||
           o->kind == KIND_EMIT;
}

/* Notes that an option was given. Of two values the last one counts, as with PopLiner 1.0.0, so
 * that a script can add its own behind others'; the user is told of it. */
static void note(given *g, const option *o, const char *value, bool is_own, options *result) {
    size_t place = (size_t)(o - table);
    const char *before = g->values[place];
    if (!is_repeated(o) && before != NULL && value != NULL && strcmp(before, value) != 0)
        result->overridden = (overridden){o->name, before, value};
    g->is[place] = true;
    g->is_own[place] = is_own;
    g->values[place] = value;
}

/* The first of these options, a list that ends with NULL, that was given; NULL if none was. */
static const char *first_given(const given *g, const char *const *names) {
    for (; *names != NULL; names++)
        for (size_t i = 0; i < NUM_OPTIONS; i++)
            if (g->is[i] && strcmp(table[i].name, *names) == 0)
                return *names;
    return NULL;
}

/* The same of the command line alone. What a file says serves many runs, so it may be of no use to
 * some of them. */
static const char *first_own(const given *g, const char *const *names) {
    for (; *names != NULL; names++)
        for (size_t i = 0; i < NUM_OPTIONS; i++)
            if (g->is_own[i] && strcmp(table[i].name, *names) == 0)
                return *names;
    return NULL;
}

/* The value that an option was given. */
static const char *given_value(const given *g, const char *name) {
    size_t place = 0;
    while (strcmp(table[place].name, name) != 0)
        place++;
    return g->values[place];
}

/* What can be done, as bits. */
enum {
    SOLVE = 1 << 0,
    EVALUATE = 1 << 1,
    DIAGNOSE = 1 << 2,
    MEMORY_TOTALS = 1 << 3,
    OPERATION_BREAKDOWN = 1 << 4,
    LAYER_BREAKDOWN = 1 << 5,
    MEMORY_AFFINITY = 1 << 6,
    INTERLAYER_COMMUNICATION = 1 << 7,
    SAVE_TO_FILE = 1 << 8,
    SECTION = 1 << 9,
    OUTPUT = 1 << 10,
    TRACE = 1 << 11,
    PLOT = 1 << 12,
    HTML = 1 << 13,
    COMPARE = 1 << 14,
    EMIT = 1 << 15,
    NUM_ACTIONS = 16,
    ALL_ACTIONS = (1 << NUM_ACTIONS) - 1,
    NEW_ACTIONS = EVALUATE | DIAGNOSE | SECTION | OUTPUT | TRACE | PLOT | HTML | COMPARE |
                  EMIT, /* that PopLiner 1.0.0 did not have */
};
static const char *const action_names[NUM_ACTIONS] = {
    "solve",
    "evaluate",
    "diagnose",
    "memory-totals",
    "operation-breakdown",
    "layer-breakdown",
    "memory-affinity",
    "interlayer-communication",
    "save-to-file",
    "section",
    "output",
    "trace",
    "plot",
    "html",
    "compare",
    "emit",
};

static unsigned actions_of(const options *o) {
    return (o->solve ? SOLVE : 0u) | (o->evaluate != NULL ? EVALUATE : 0u) |
           (o->diagnose ? DIAGNOSE : 0u) | (o->memory_totals ? MEMORY_TOTALS : 0u) |
           (o->operation_breakdown ? OPERATION_BREAKDOWN : 0u) |
           (o->layer_breakdown ? LAYER_BREAKDOWN : 0u) |
           (o->memory_affinity ? MEMORY_AFFINITY : 0u) |
           (o->interlayer_communication ? INTERLAYER_COMMUNICATION : 0u) |
           (o->save_to_file != NULL ? SAVE_TO_FILE : 0u) | (o->has_section ? SECTION : 0u) |
           (o->num_outputs > 0 ? OUTPUT : 0u) | (o->trace != NULL ? TRACE : 0u) |
           (o->has_plot ? PLOT : 0u) | (o->html != NULL ? HTML : 0u) |
           (o->compare != NULL ? COMPARE : 0u) | (o->num_emits > 0 ? EMIT : 0u);
}

/* Options that not every action uses: with others alone they would be ignored without a word. What
 * is not here says what is read and how, or is for every run, but for --format, which has rules of
 * its own. PopLiner 1.0.0 took the first two with anything, so there are scripts that do. */
typedef struct use {
    const char *option;
    unsigned actions;
    bool is_only_warned_of; /* with what PopLiner 1.0.0 had, too */
} use;
static const use uses[] = {
    {"num-ipus", SOLVE | EVALUATE | HTML, true},
    {"mem-per-tile", SOLVE | EVALUATE | HTML, true},
    {"reserve", SOLVE | EVALUATE | HTML, false},
    {"schedule", SOLVE | EVALUATE | HTML, false},
    {"recompute", SOLVE | EVALUATE | HTML, false},
    {"copies", SOLVE | EVALUATE | HTML, false},
    {"micro-batches", SOLVE | EVALUATE | HTML, false},
    {"total-ipus", SOLVE, false},
    {"batch", SOLVE, false},
    {"micro-batch-size", SOLVE, false},
    {"replica-bandwidth", SOLVE, false},
    {"effects", SOLVE | EVALUATE | HTML, false},
    {"accumulators", SOLVE | EVALUATE | HTML, false},
    {"risk", SOLVE | EVALUATE | HTML, false},
    {"calibrate", EVALUATE, false},
    {"calibration", SOLVE | EVALUATE | HTML, false},
    {"memory-model", ALL_ACTIONS & ~(MEMORY_AFFINITY | INTERLAYER_COMMUNICATION), false},
    {"layers", DIAGNOSE, false},
    {"layer-operations-only", DIAGNOSE, false},
    {"tolerance", DIAGNOSE, false},
    {"solver", SOLVE, false},
    {"objective", SOLVE | HTML, false},
    {"slack", SOLVE | HTML, false},
    {"ipu-mem-per-tile", SOLVE | EVALUATE | HTML, false},
    {"ipu-speed", SOLVE | HTML, false},
    {"link-bandwidth", SOLVE | HTML, false},
    {"sweep", SOLVE, false},
    {"pareto", SOLVE, false},
    {"write-lp", SOLVE, false},
    {"write-mps", SOLVE, false},
    {"min-layers", SOLVE | HTML, false},
    {"max-layers", SOLVE | HTML, false},
    {"cut-after", SOLVE | HTML, false},
    {"no-cut-after", SOLVE | HTML, false},
    {"together", SOLVE | HTML, false},
    {"place", SOLVE | HTML, false},
    {"device-map", SOLVE | EVALUATE | HTML, false},
    {"interleave", SOLVE | EVALUATE | HTML, false},
    {"v-shape", SOLVE | EVALUATE | HTML, false},
    {"max-growth", COMPARE, false},
    {"paths", HTML | COMPARE, false},
    {"layer-path", EMIT, false},
    {"head-modules", EMIT, false},
    {"tail-modules", EMIT, false},
};

static const char *const unknown_to_greedy[] = {
    "html",         "costs",        "objective",      "slack",      "ipu-mem-per-tile",
    "sweep",        "write-lp",     "write-mps",      "min-layers", "max-layers",
    "cut-after",    "no-cut-after", "together",       "place",      "device-map",
    "interleave",   "v-shape",      "schedule",       "recompute",  "effects",
    "accumulators", "risk",         "calibration",    "copies",     "micro-batches",
    "pareto",       "ipu-speed",    "link-bandwidth", NULL};
static const char *const profile_only[] = {
    "memory-model", "layer-name-regex", "inputs-regex-layer-0",
    "layer-order",  "layers",           "layer-operations-only",
    "tolerance",    "strict",           "no-notes",
    "effects",      "accumulators",     "risk",
    "calibrate",    "calibration",      "ipu",
    "report",       "threads",          NULL};

/* What goes with a file of costs: solving alone. */
static popliner_status check_costs(const options *o, const given *g, popliner_error *error) {
    if (o->profile != NULL)
        return fail_usage(error, "--costs %s: is solved instead of a profile, but '%s' was given",
                          o->costs, o->profile);
    const unsigned others = actions_of(o) & ~(unsigned)(SOLVE | EMIT);
    const char *other = o->load_from_file ? "load-from-file" : NULL;
    for (size_t i = 0; i < NUM_ACTIONS && other == NULL; i++)
        if ((others >> i & 1) != 0)
            other = action_names[i];
    if (other != NULL)
        return fail_usage(error, "--costs %s: can be solved, and nothing else; leave out --%s%s",
                          o->costs, other, o->solve ? "" : ", and give --solve");
    if (!o->solve)
        return fail_usage(error, "--costs %s: can be solved, and nothing else: give --solve",
                          o->costs);
    if (o->reserve == RESERVE_GAPS)
        return fail_usage(error, "--reserve gaps: costs from a file have no layout");
    if (o->recompute == POPLINER_RECOMPUTE_STANDARD)
        return fail_usage(error,
                          "--recompute standard: costs from a file say themselves what is kept; "
                          "leave it out, or give full");
    const char *name = first_own(g, profile_only);
    if (name != NULL)
        return fail_usage(error, "--%s is for profiles and means nothing for --costs", name);
    return POPLINER_OK;
}

bool options_show_plan(const options *o) {
    return (o->has_section && o->section == POPLINER_SECTION_PLAN) ||
           (o->has_plot && o->plot == POPLINER_PLOT_PLAN);
}

/* The option that needs the one split of --solve or --evaluate; NULL if none does. */
static const char *plan_option(const options *o) {
    for (size_t i = 0; i < o->num_outputs; i++)
        if (o->outputs[i].section == POPLINER_SECTION_PLAN)
            return "--output plan";
    if (!options_show_plan(o))
        return NULL;
    return o->has_plot ? "--plot plan" : "--section plan";
}

/* Whether there is what sections, plots and traces show, and nothing else is printed beside the
 * first two. */
static popliner_status check_shown(const options *o, const given *g, popliner_error *error) {
    static const char *const of_several[] = {"sweep", "pareto", "total-ipus", "calibrate", NULL};
    const unsigned printing =
        actions_of(o) & ~(unsigned)(SAVE_TO_FILE | SECTION | OUTPUT | TRACE | PLOT | HTML | EMIT);
    const unsigned splitting = printing & (SOLVE | EVALUATE);
    const char *plan = plan_option(o);
    const char *several = first_given(g, of_several);
    const char *shown = o->has_plot ? "plot" : "section";
    if (plan != NULL && splitting != SOLVE && splitting != EVALUATE)
        return fail_usage(error, "%s: give --solve or --evaluate, whose stages it shows%s", plan,
                          splitting != 0 ? ", not both" : "");
    plan = plan == NULL && o->trace != NULL && splitting != 0 ? "--trace" : plan;
    if (plan != NULL && several != NULL)
        return fail_usage(error, "%s: shows the stages of one split; leave out --%s", plan,
                          several);
    if (plan != NULL && splitting == (SOLVE | EVALUATE))
        return fail_usage(
            error, "%s: shows the stages of --solve or of --evaluate; give one of them", plan);
    if (o->has_plot && o->has_section)
        return fail_usage(error,
                          "--plot and --section exclude each other: write the section into a file "
                          "with --output");
    if ((o->has_plot || o->has_section) &&
        (options_show_plan(o) ? printing != splitting : printing != 0))
        return fail_usage(error, "--%s %s: is all that is printed; leave out the rest%s", shown,
                          given_value(g, shown),
                          o->has_plot ? "" : ", or write the section into a file with --output");
    if (o->has_plot && o->has_format)
        return fail_usage(error, "--plot: has no --format; --section gives its numbers");
    return POPLINER_OK;
}

/* Whether there is one split to write, and at most one format for standard output, alone there. */
static popliner_status check_emit(const options *o, const given *g, popliner_error *error) {
    static const char *const module_options[] = {"layer-path", "head-modules", "tail-modules",
                                                 NULL};
    static const char *const of_several[] = {"sweep", "pareto", "calibrate", "compare", NULL};
    const unsigned splitting = actions_of(o) & (SOLVE | EVALUATE);
    const unsigned files = SAVE_TO_FILE | OUTPUT | TRACE | HTML | EMIT;
    const char *module_option = first_own(g, module_options);
    const char *several = first_given(g, of_several);
    const char *printed = NULL;
    if (o->num_emits == 0)
        return module_option == NULL
                   ? POPLINER_OK
                   : fail_usage(error, "--%s means something for --emit only", module_option);
    const char *name = popliner_emit_format_name(o->emits[0].format);
    if (splitting != SOLVE && splitting != EVALUATE)
        return fail_usage(error, "--emit %s: give --solve or --evaluate, whose plan it writes%s",
                          name, splitting != 0 ? ", not both" : "");
    if (several != NULL)
        return fail_usage(error, "--emit %s: writes the plan of one split; leave out --%s", name,
                          several);
    for (size_t i = 0; i < o->num_emits; i++) {
        if (o->emits[i].path != NULL)
            continue;
        name = popliner_emit_format_name(o->emits[i].format);
        if (printed != NULL)
            return fail_usage(
                error,
                "--emit %s and --emit %s are both for standard output; give one of them a "
                "file, like --emit %s=FILE",
                printed, name, name);
        printed = name;
    }
    if (printed != NULL && (actions_of(o) & ~files) != splitting)
        return fail_usage(
            error,
            "--emit %s: is all that is printed; leave out the rest, or write it into a "
            "file, like --emit %s=FILE",
            printed, printed);
    if (printed != NULL && o->has_format)
        return fail_usage(error,
                          "--emit %s: is printed instead of what has a --format; leave it out, or "
                          "write it into a file, like --emit %s=FILE",
                          printed, printed);
    return POPLINER_OK;
}

/* Whether --compare has one split of each side, or none, and is all that is printed. */
static popliner_status check_compare(const options *o, const given *g, popliner_error *error) {
    static const char *const others[] = {"sweep",    "pareto",    "total-ipus", "calibrate",
                                         "write-lp", "write-mps", NULL};
    const unsigned others_done = actions_of(o) & ~(unsigned)(COMPARE | SOLVE | EVALUATE |
                                                             SAVE_TO_FILE | OUTPUT | TRACE | HTML);
    const char *other = first_given(g, others);
    if (o->compare == NULL)
        return POPLINER_OK;
    if (others_done != 0)
        return fail_usage(error, "--compare %s: is all that is printed; leave out the rest",
                          o->compare);
    if (o->solve && o->evaluate != NULL)
        return fail_usage(error,
                          "--compare %s: shows the stages of --solve or of --evaluate; give one "
                          "of them",
                          o->compare);
    if (o->max_growth[POPLINER_GROWTH_STAGES] != NULL && !o->solve && o->evaluate == NULL)
        return fail_usage(
            error,
            "--max-growth %s: there are no stages without --solve and --evaluate: give "
            "one of them",
            o->max_growth[POPLINER_GROWTH_STAGES]);
    if (other != NULL)
        return fail_usage(error, "--compare %s: compares one split of each side; leave out --%s",
                          o->compare, other);
    return POPLINER_OK;
}

/* What says nothing beside --pareto. */
static popliner_status check_pareto(const options *o, const given *g, popliner_error *error) {
    static const char *const names[] = {"objective", "slack",     "sweep",
                                        "write-lp",  "write-mps", NULL};
    const char *name = first_given(g, names);
    if (o->pareto != NULL && name != NULL)
        return fail_usage(error, "--pareto %s: leave out --%s: %s", o->pareto, name,
                          strcmp(name, "objective") == 0 ? "the objectives are those of --pareto"
                          : strcmp(name, "slack") == 0   ? "the best compromises are exact"
                          : strcmp(name, "sweep") == 0
                              ? "each of its values has compromises of its own"
                              : "each compromise has an integer program of its own");
    return POPLINER_OK;
}

/* Whether what is swept was given a value, too. */
static popliner_status check_sweep(const options *o, popliner_error *error) {
    bool is_of_ipus = o->sweep != NULL && strncmp(o->sweep, "num-ipus", 8) == 0;
    bool is_of_memory = o->sweep != NULL && strncmp(o->sweep, "mem-per-tile", 12) == 0;
    if (o->sweep != NULL && (o->write_lp != NULL || o->write_mps != NULL))
        return fail_usage(error, "--sweep: each value has an integer program of its own; leave out "
                                 "--write-lp and --write-mps, or the sweep");
    if (is_of_ipus && options_map_name(o) != NULL)
        return fail_usage(error,
                          "--sweep %s and %s exclude each other: the map says how many "
                          "stages there are",
                          o->sweep, options_map_name(o));
    if ((is_of_ipus && o->num_ipus > 0) || (is_of_memory && o->mem_per_tile_bytes > 0))
        return fail_usage(error, "--sweep %s: leave out --%s, which it goes through", o->sweep,
                          is_of_ipus ? "num-ipus" : "mem-per-tile");
    return POPLINER_OK;
}

const char *options_map_name(const options *o) {
    if (o->total_ipus > 0) /* --interleave: one map for each number of IPUs */
        return NULL;
    return o->device_map != NULL ? "--device-map"
           : o->interleave > 0   ? "--interleave"
           : o->v_shape          ? "--v-shape"
                                 : NULL;
}

/* Whether a device map is given in one way, and what is to be known for it. */
static popliner_status check_map(const options *o, popliner_error *error) {
    enum { V_SHAPED = 2, MOST_STAGES = 65536 };
    const char *name = options_map_name(o);
    if (name == NULL)
        return POPLINER_OK;
    if (o->calibrate != NULL)
        return fail_usage(
            error, "--calibrate %s: compares one stage with each IPU, in order; leave out %s",
            o->calibrate, name);
    bool is_short = o->interleave > 0 || o->v_shape;
    if (o->device_map != NULL && is_short)
        return fail_usage(error,
                          "--device-map %s and %s exclude each other: both say which IPU each "
                          "stage is on",
                          o->device_map, o->interleave > 0 ? "--interleave" : "--v-shape");
    if (o->device_map != NULL && o->num_ipus > 0)
        return fail_usage(error, "--device-map %s says which IPUs there are; leave out --num-ipus",
                          o->device_map);
    if (o->v_shape && o->interleave > 0 && o->interleave != V_SHAPED)
        return fail_usage(error,
                          "--v-shape has two stages on each IPU, not %zu as --interleave says",
                          o->interleave);
    if (is_short && o->num_ipus == 0 && (actions_of(o) & (SOLVE | EVALUATE)) != 0)
        return fail_usage(error, "%s: on how many IPUs? Give --num-ipus", name);
    size_t num_rounds = o->interleave > 0 ? o->interleave : V_SHAPED;
    if (o->num_ipus > 0 && is_short && num_rounds > MOST_STAGES / o->num_ipus)
        return fail_usage(error, "%s: %zu stages on each of %zu IPUs are more than %d", name,
                          num_rounds, o->num_ipus, MOST_STAGES);
    return POPLINER_OK;
}

size_t options_chunks(const options *o) {
    return o->interleave > 0 ? o->interleave : 1;
}

bool options_keep_activations(const options *o) {
    return o->copies != NULL || o->schedule == POPLINER_SCHEDULE_POPART ||
           o->schedule == POPLINER_SCHEDULE_TF_GROUPED ||
           o->schedule == POPLINER_SCHEDULE_TF_INTERLEAVED;
}

/* Settles which effects there are, and what does not go with them. */
static popliner_status check_effects(options *o, const given *g, popliner_error *error) {
    static const char *const names[] = {"effects",     "accumulators",      "risk", "calibrate",
                                        "calibration", "replica-bandwidth", NULL};
    const char *name = first_given(g, names);
    if (name != NULL && o->memory_model == MODEL_POPLINER)
        return fail_usage(error, "--%s: PopLiner's memory model knows nothing of it", name);
    /* what is kept free takes the place of what the layout wastes */
    if (!o->has_effects)
        o->effects = POPLINER_EFFECTS_ALL &
                     ~(o->reserve == RESERVE_NOTHING ? 0u : (unsigned)POPLINER_EFFECT_LAYOUT);
    return POPLINER_OK;
}

static const char *const replicas_only[] = {"batch", "micro-batch-size", "replica-bandwidth", NULL};
static const char *const unknown_to_replicas[] = {"device-map", "v-shape", "sweep",  "write-lp",
                                                  "write-mps",  "slack",   "pareto", NULL};

static popliner_status check_replicas(const options *o, const given *g, popliner_error *error) {
    const char *name = first_given(g, replicas_only);
    if (o->total_ipus == 0)
        return name == NULL
                   ? POPLINER_OK
                   : fail_usage(error, "--%s means something with --total-ipus only", name);
    name = first_given(g, unknown_to_replicas);
    if (name != NULL)
        return fail_usage(error, "--total-ipus and --%s exclude each other", name);
    if (o->solver == SOLVER_GREEDY)
        return fail_usage(error, "--solver greedy knows nothing of --total-ipus");
    if (o->interleave > 1 && o->solver == SOLVER_DP)
        return fail_usage(error,
                          "--solver dp: stages that share an IPU, as --interleave has them, are "
                          "beyond a dynamic program; auto and ilp solve for them");
    if ((o->micro_batches > 0) == (o->batch > 0))
        return fail_usage(
            error,
            "--total-ipus %zu: give --micro-batches, of each pipeline, or --batch, of all "
            "of them",
            o->total_ipus);
    if (o->micro_batch_size > 0 && o->batch == 0)
        return fail_usage(error, "--micro-batch-size %zu: means something with --batch only",
                          o->micro_batch_size);
    return POPLINER_OK;
}

static popliner_status check_recompute(const options *o, const given *g, popliner_error *error) {
    static const char *const unknown_to_auto[] = {"sweep",  "write-lp",       "write-mps",
                                                  "slack",  "ipu-speed",      "total-ipus",
                                                  "pareto", "link-bandwidth", NULL};
    bool is_auto = o->recompute == POPLINER_RECOMPUTE_AUTO;
    const char *value = o->recomputes != NULL ? o->recomputes : recomputes[o->recompute];
    const char *other = is_auto ? first_given(g, unknown_to_auto) : NULL;
    if (o->html != NULL && (is_auto || o->recomputes != NULL))
        return fail_usage(error,
                          "--html %s: all stages of a page recompute alike; give --recompute one "
                          "way",
                          o->html);
    if (other != NULL)
        return fail_usage(
            error,
            "--recompute auto and --%s exclude each other; leave out one of them, or say "
            "one way, like --recompute full",
            other);
    if (is_auto && o->evaluate != NULL)
        return fail_usage(error,
                          "--recompute auto: is what --solve chooses; for --evaluate give one "
                          "way, or one for each stage, like full,none");
    if (o->recompute_ways != 0 && o->costs != NULL)
        return fail_usage(error,
                          "--recompute %s: what to choose from is for profiles, a file of costs "
                          "says it itself; give auto",
                          value);
    if (!is_auto && o->recomputes != NULL && (o->solve || o->calibrate != NULL))
        return fail_usage(
            error, "--recompute %s: one for each stage is for --evaluate alone; give %s one way%s",
            value, o->solve ? "--solve" : "--calibrate",
            o->solve ? ", or auto to have it chosen" : "");
    bool has_meaning = options_keep_activations(o) || (is_auto && o->costs != NULL) ||
                       (o->recompute == POPLINER_RECOMPUTE_NONE && o->recomputes == NULL);
    return has_meaning
               ? POPLINER_OK
               : fail_usage(error,
                            "--recompute %s means something for --schedule training (popart), "
                            "tf-grouped and tf-interleaved, and with --copies, only",
                            value);
}

static popliner_status check_solving(const options *o, const given *g, popliner_error *error) {
    const char *name = first_given(g, unknown_to_greedy);
    if (name != NULL && o->solver == SOLVER_GREEDY)
        return fail_usage(error, "--solver greedy knows nothing of --%s", name);
    popliner_status status = check_recompute(o, g, error);
    if (status != POPLINER_OK)
        return status;
    if (o->copies != NULL && o->schedule == POPLINER_SCHEDULE_INFERENCE)
        return fail_usage(error,
                          "--copies %s: --schedule inference keeps nothing; leave out one of them",
                          o->copies);
    if (o->html != NULL && o->calibrate != NULL)
        return fail_usage(error,
                          "--html %s: a page does not compare with a compiled pipeline; leave out "
                          "--calibrate",
                          o->html);
    if (o->copies != NULL && o->calibrate != NULL)
        return fail_usage(error,
                          "--calibrate %s: knows the copies of --schedule; leave out --copies",
                          o->calibrate);
    if (o->micro_batches > 0 && o->copies == NULL && o->total_ipus == 0)
        return fail_usage(error,
                          "--micro-batches means something with --copies or --total-ipus only");
    status = check_replicas(o, g, error);
    if (status != POPLINER_OK)
        return status;
    status = check_pareto(o, g, error);
    if (status == POPLINER_OK)
        status = check_sweep(o, error);
    return status == POPLINER_OK ? check_map(o, error) : status;
}

/* "--solve", "--solve and --evaluate": these actions, in the order of the names. */
static void list_actions(unsigned actions, char *text, size_t size) {
    size_t length = 0;
    *text = '\0';
    for (size_t i = 0; i < NUM_ACTIONS; i++) {
        unsigned left = actions >> i;
        if ((left & 1) != 0 && length < size)
            length += (size_t)snprintf(text + length, size - length, "%s--%s",
                                       length == 0 ? ""
                                       : left > 1  ? ", "
                                                   : " and ",
                                       action_names[i]);
    }
}

/* Whether what was given is used by something that is done. */
static popliner_status check_uses(options *o, const given *g, popliner_error *error) {
    const unsigned done = actions_of(o);
    char of[200];
    char others[200];
    for (size_t i = 0; i < sizeof uses / sizeof *uses; i++) {
        const use *u = &uses[i];
        const char *const name[] = {u->option, NULL};
        if (first_given(g, name) == NULL || (u->actions & done) != 0 ||
            (done != 0 && first_own(g, name) == NULL))
            continue;
        list_actions(u->actions, of, sizeof of);
        list_actions(done, others, sizeof others);
        if (!u->is_only_warned_of || (done & ~(unsigned)NEW_ACTIONS) == 0)
            return fail_usage(error, "--%s means something for %s only%s%s", u->option, of,
                              done == 0 ? "" : ", not for ", others);
        o->unused[o->num_unused++] = u->option;
    }
    /* as JSON it is the compiler's account alone */
    if (first_given(g, (const char *const[]){"memory-model", NULL}) != NULL &&
        done == MEMORY_TOTALS && o->format == POPLINER_FORMAT_JSON)
        return fail_usage(error,
                          "--memory-model means nothing for --memory-totals --format json, which "
                          "is the compiler's own account");
    return POPLINER_OK;
}

bool options_are_together(const options *o) {
    return o->reports.count > 1 ||
           (o->reports.count == 1 && strcmp(o->reports.texts[0], "all") == 0);
}

/* Whether what is asked can be asked of several reports together. */
static popliner_status check_together(const options *o, const given *g, popliner_error *error) {
    static const char *const others[] = {"ipu",        "sweep",
                                         "pareto",     "total-ipus",
                                         "device-map", "interleave",
                                         "v-shape",    "link-bandwidth",
                                         "write-lp",   "write-mps",
                                         "calibrate",  "calibration",
                                         "layers",     "layer-operations-only",
                                         "tolerance",  NULL};
    const unsigned done = actions_of(o) & ~(unsigned)(SOLVE | EVALUATE);
    const char *other = first_given(g, others);
    if (o->reports.count > 0 && o->load_from_file)
        return fail_usage(error,
                          "--report %s: a stored analysis is of one report; leave out --report",
                          o->reports.texts[0]);
    for (size_t i = 0; i < o->reports.count; i++)
        for (size_t k = 0; k < o->reports.count; k++)
            if (i != k && (strcmp(o->reports.texts[i], "all") == 0 ||
                           (i < k && strcmp(o->reports.texts[i], o->reports.texts[k]) == 0)))
                return fail_usage(error,
                                  "--report %s: is given beside --report %s; leave out one of them",
                                  o->reports.texts[i], o->reports.texts[k]);
    if (!options_are_together(o))
        return POPLINER_OK;
    for (size_t i = 0; i < NUM_ACTIONS; i++)
        if ((done >> i & 1) != 0)
            return fail_usage(error,
                              "--%s: is of one report: give one --report NAME, or leave it out",
                              action_names[i]);
    if (other != NULL)
        return fail_usage(error,
                          "--%s: means nothing for several reports together: give one --report "
                          "NAME, or leave it out",
                          other);
    if (o->solve && o->evaluate != NULL)
        return fail_usage(error,
                          "--report: several reports are solved for or evaluated together; give "
                          "one of --solve and --evaluate");
    if (o->solver == SOLVER_GREEDY)
        return fail_usage(error, "--solver greedy: knows nothing of several reports; leave it out");
    if (o->recompute == POPLINER_RECOMPUTE_AUTO || o->recomputes != NULL)
        return fail_usage(error,
                          "--recompute %s: all stages of several reports recompute alike; give "
                          "one way",
                          o->recomputes != NULL ? o->recomputes : "auto");
    return POPLINER_OK;
}

/* Whether all that is printed can be printed in the format that was asked for. */
static popliner_status check_format(const options *o, popliner_error *error) {
    if (!o->has_format || o->has_section || o->compare != NULL || options_are_together(o))
        return POPLINER_OK;
    const char *name = o->format == POPLINER_FORMAT_CSV ? "csv" : "tsv";
    if (o->format != POPLINER_FORMAT_JSON && (o->diagnose || o->evaluate != NULL))
        return fail_usage(error,
                          "--format %s: --%s prints json, or text to read if no format is given",
                          name, o->diagnose ? "diagnose" : "evaluate");
    bool has_tables = o->operation_breakdown || o->layer_breakdown || o->memory_affinity ||
                      o->interlayer_communication;
    int num_documents = o->memory_totals + o->diagnose + (o->evaluate != NULL) + o->solve;
    if (num_documents == 0 && !has_tables && o->num_outputs == 0)
        return fail_usage(error, "--format: --save-to-file prints nothing");
    if (o->format == POPLINER_FORMAT_JSON && has_tables)
        return fail_usage(error, "--format json: the breakdowns, --memory-affinity and "
                                 "--interlayer-communication are tables: choose tsv or csv");
    if (o->format == POPLINER_FORMAT_JSON && num_documents > 1)
        return fail_usage(error, "--format json: give one of --solve, --evaluate, --diagnose and "
                                 "--memory-totals: each is a document of its own");
    return POPLINER_OK;
}

static popliner_status check(options *o, const given *g, popliner_error *error) {
    if (o->help || o->version)
        return POPLINER_OK;
    if (o->quiet && o->verbose)
        return fail_usage(error, "--quiet and --verbose exclude each other");
    popliner_status status = check_solving(o, g, error);
    if (status == POPLINER_OK)
        status = check_effects(o, g, error);
    if (status == POPLINER_OK)
        status = check_emit(o, g, error);
    if (status != POPLINER_OK)
        return status;
    if (o->costs != NULL) {
        status = check_costs(o, g, error);
        return status == POPLINER_OK ? check_uses(o, g, error) : status;
    }
    if (o->profile == NULL)
        return fail_usage(
            error, "no profile given; usage: popliner [options] PROFILE [DEBUG]; see popliner "
                   "--help");
    if (o->load_from_file && o->debug != NULL)
        return fail_usage(error,
                          "--load-from-file: a stored analysis needs no debug information, but "
                          "'%s' was given",
                          o->debug);
    status = check_together(o, g, error);
    if (status == POPLINER_OK)
        status = check_uses(o, g, error);
    if (status != POPLINER_OK)
        return status;
    if (o->ipu != ALL_IPUS && (o->solve || o->evaluate != NULL))
        return fail_usage(error, "--ipu %zu: --%s splits the whole model; leave out --ipu", o->ipu,
                          o->solve ? "solve" : "evaluate");
    if (actions_of(o) == 0)
        return fail_usage(error,
                          "nothing to do: give at least one of --solve, --evaluate, --diagnose, "
                          "--layer-breakdown, "
                          "--operation-breakdown, --memory-totals, --memory-affinity, "
                          "--interlayer-communication, --section, --output, --plot, --trace, "
                          "--html, --compare, --save-to-file");
    status = check_shown(o, g, error);
    if (status == POPLINER_OK)
        status = check_compare(o, g, error);
    return status == POPLINER_OK ? check_format(o, error) : status;
}

/* ---- parsing ---- */

/* What is known of the arguments before them. */
typedef struct parsing {
    options *result;
    given given;
    const given *skipped; /* options that are not to be taken; NULL: none */
    bool is_file;         /* the arguments are those of a file */
    bool only_names;      /* behind "--" */
} parsing;

static popliner_status take_file(parsing *p, const char *argument, popliner_error *error) {
    options *result = p->result;
    if (argument[0] == '\0')
        return fail_usage(error, "an empty file name was given; expected PROFILE [DEBUG]");
    if (result->profile == NULL)
        result->profile = argument;
    else if (result->debug == NULL)
        result->debug = argument;
    else
        return fail_usage(error, "'%s': a third file was given; expected PROFILE [DEBUG]",
                          argument);
    return POPLINER_OK;
}

/* Takes the argument; *num_taken becomes 2 if its value is the next one, which is NULL behind the
 * last. */
static popliner_status take_argument(parsing *p, const char *argument, const char *next,
                                     int *num_taken, popliner_error *error) {
    *num_taken = 1;
    if (p->only_names || argument[0] != '-' || argument[1] == '\0')
        return take_file(p, argument, error);
    if (strcmp(argument, "--") == 0) {
        p->only_names = true;
        return POPLINER_OK;
    }
    const char *value;
    const option *o = find(argument, &value);
    if (o == NULL)
        return fail_unknown(argument, error);
    if (o->kind == KIND_FLAG && value != NULL)
        return fail_usage(error, "--%s takes no value", o->name);
    if (o->kind != KIND_FLAG) {
        if (value == NULL && next != NULL && !is_option(next)) {
            value = next;
            *num_taken = 2;
        }
        if (value == NULL || *value == '\0')
            return fail_usage(error, "--%s needs a value: %s", o->name, o->value);
    }
    if (p->skipped != NULL && p->skipped->is[o - table])
        return POPLINER_OK;
    popliner_status status = set(o, value, p->result, error);
    if (status == POPLINER_OK)
        note(&p->given, o, value, !p->is_file, p->result);
    return status;
}

static popliner_status take_arguments(parsing *p, int argc, char **argv, popliner_error *error) {
    popliner_status status = POPLINER_OK;
    int num_taken = 1;
    for (int i = 1; status == POPLINER_OK && i < argc; i += num_taken)
        status = take_argument(p, argv[i], i + 1 < argc ? argv[i + 1] : NULL, &num_taken, error);
    return status;
}

/* How the file of --config may say an option. */
static config_rule rule_of(const char *name) {
    for (size_t i = 0; i < NUM_OPTIONS; i++)
        if (table[i].kind != KIND_HEADING && strcmp(table[i].name, name) == 0)
            return (config_rule){
                .is_known = strcmp(name, "config") != 0,
                .is_repeated = is_repeated(&table[i]),
                .separator = strcmp(name, "evaluate") == 0 ? '|' : ',',
            };
    return (config_rule){0};
}

/* Puts the name of the file before a message. */
static popliner_status in_config(const char *path, popliner_error *error) {
    const popliner_error told = *error;
    return fail(error, told.status, "%s: %s", path, told.message);
}

/* Says which option a key of the file may have been meant to be. */
static popliner_status fail_key(popliner_error *error) {
    char hint[NEAREST_HINT_BYTES];
    const char *key = strchr(error->message, '"');
    nearest n = nearest_begin(key == NULL ? "" : key + 1, key == NULL ? 0 : strcspn(key + 1, "\""));
    for (size_t i = 0; i < NUM_OPTIONS; i++)
        if (table[i].kind != KIND_HEADING && strcmp(table[i].name, "config") != 0)
            nearest_offer(&n, table[i].name, strlen(table[i].name));
    nearest_offer_list(&n, "profile|debug", '|');
    const char *text = nearest_hint(&n, "", "; popliner --help lists them", hint);
    const popliner_error told = *error;
    return fail(error, told.status, "%s%s", told.message, text);
}

/* Takes what the file of --config says and the arguments, `own`, do not. */
static popliner_status take_config(parsing *p, const options *own, popliner_error *error) {
    const char *path = own->config_path;
    config *c = &p->result->config;
    popliner_status status = config_read(path, rule_of, c, error);
    if (status == POPLINER_ERROR_USAGE)
        return fail_key(error);
    for (size_t i = 0; status == POPLINER_OK && i < c->num_words; i++) {
        const bool is_file = i < c->num_files;
        int num_taken;
        if (is_file && (own->profile != NULL || own->costs != NULL))
            continue;
        status = is_file ? take_file(p, c->words[i], error)
                         : take_argument(p, c->words[i], NULL, &num_taken, error);
        if (status != POPLINER_OK)
            return in_config(path, error);
    }
    return status;
}

/* Either of two options in the arguments stands against the other in the file. */
static void exclude(given *g, const char *name, const char *other) {
    const bool is_given = first_given(g, (const char *const[]){name, other, NULL}) != NULL;
    for (size_t i = 0; i < NUM_OPTIONS; i++)
        if (strcmp(table[i].name, name) == 0 || strcmp(table[i].name, other) == 0)
            g->is[i] = is_given;
}

/* What goes through an option's values in the arguments stands against its value in the file. */
static void set_aside(given *g, const options *own) {
    const char *const names[] = {
        own->sweep != NULL && strncmp(own->sweep, "num-ipus", 8) == 0 ? "num-ipus" : "",
        own->sweep != NULL && strncmp(own->sweep, "mem-per-tile", 12) == 0 ? "mem-per-tile" : "",
        own->pareto != NULL ? "objective" : "",
    };
    for (size_t k = 0; k < sizeof names / sizeof *names; k++)
        for (size_t i = 0; i < NUM_OPTIONS; i++)
            if (table[i].kind != KIND_HEADING && strcmp(table[i].name, names[k]) == 0)
                g->is[i] = true;
}

static void begin_options(options *result) {
    *result = (options){.tolerance_percent = 5,
                        .min_layers = MIN_LAYERS_USUAL,
                        .accumulators = POPLINER_ACCUMULATORS_AUTO,
                        .ipu = ALL_IPUS};
    for (size_t i = 0; i < POPLINER_NUM_GROWTHS; i++)
        result->max_growth_percent[i] = -1;
}

popliner_status options_parse(int argc, char **argv, options *result, popliner_error *error) {
    parsing p = {.result = result};
    begin_options(result);
    popliner_status status = take_arguments(&p, argc, argv, error);
    if (status == POPLINER_OK && result->config_path != NULL && !result->help && !result->version) {
        /* again, behind what the file says and the arguments do not */
        options own = *result;
        given told = p.given;
        exclude(&told, "quiet", "verbose");
        set_aside(&told, &own);
        p = (parsing){.result = result, .skipped = &told, .is_file = true};
        begin_options(result);
        status = take_config(&p, &own, error);
        p.skipped = NULL;
        p.is_file = false;
        p.only_names = false;
        if (status == POPLINER_OK)
            status = take_arguments(&p, argc, argv, error);
        options_free(&own);
    }
    return status == POPLINER_OK ? check(result, &p.given, error) : status;
}

void options_free(options *o) {
    for (size_t i = 0; i < NUM_OPTIONS; i++)
        if (table[i].kind == KIND_REPEATED)
            free(((repeated *)(void *)((char *)o + table[i].offset))->texts);
    free(o->outputs);
    free(o->emits);
    config_free(&o->config);
}

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

const option_described *options_describe(size_t i, option_described *described) {
    if (i >= NUM_OPTIONS)
        return NULL;
    const option *o = &table[i];
    *described = (option_described){.is_heading = o->kind == KIND_HEADING,
                                    .is_repeated = is_repeated(o),
                                    .letter = o->letter,
                                    .name = o->name,
                                    .value = o->value,
                                    .choices = o->choices,
                                    .help = o->help};
    return described;
}

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
    for (size_t k = 0; k < NUM_OPTIONS; k++) {
        const option *own = &table[k];
        const size_t count = own->kind == KIND_OUTPUT    ? o->num_outputs
                             : own->kind == KIND_EMIT    ? o->num_emits
                             : own->kind == KIND_WRITTEN ? 1
                             : own->kind == KIND_READ    ? 1
                             : own->kind == KIND_REPORTS ? 1
                                                         : 0;
        for (size_t n = 0; n < count; n++) {
            const char *value = own->kind == KIND_OUTPUT ? o->outputs[n].path
                                : own->kind == KIND_EMIT
                                    ? o->emits[n].path
                                    : *(const char *const *)((const char *)o + own->offset);
            if (value == NULL || i-- > 0)
                continue;
            *path = (option_path){own->name, value,
                                  own->kind == KIND_READ      ? PATH_READ
                                  : own->kind == KIND_REPORTS ? PATH_READ_REPORT
                                                              : PATH_WRITTEN};
            return path;
        }
    }
    return NULL;
}

void options_print_help(FILE *stream) {
    fprintf(stream,
            "Usage: popliner [options] PROFILE [DEBUG]\n"
            "       popliner [options] --costs FILE --solve\n"
            "\n"
            "Says where to cut a neural network so that it fits on several IPUs.\n"
            "\n"
            "  PROFILE  the profile.pop that Poplar wrote, or the directory that holds it\n"
            "  DEBUG    its debug.cbor (default: beside the profile, else one directory up)\n");
    for (size_t i = 0; i < NUM_OPTIONS; i++) {
        if (table[i].kind == KIND_HEADING)
            fprintf(stream, "\n%s:\n", table[i].name);
        else
            print_option(stream, &table[i]);
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
