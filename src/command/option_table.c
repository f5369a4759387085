/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "command/option_table.h"
#include "command/output_table.h"
#include "popliner/utilities.h"

#include <stdlib.h>
#include <string.h>

#define AT(member) offsetof(options, member)

const option option_table[] = {
    {.name = "What to do (several may be given)"},
    {&kind_flag, 0, "solve", NULL, AT(solve), .help = "choose the split points, print them as JSON",
     .action = SOLVE},
    {&kind_split, 0, "evaluate", "A,B,...", AT(evaluate),
     .help =
         "memory per stage of a split given by hand: cut after\nthe layers A, B, ... (or Head); "
         "'whole' for no cut",
     .action = EVALUATE},
    {&kind_flag, 0, "diagnose", NULL, AT(diagnose),
     .help = "what the analysis explains of the compiler's own\naccount, what it misses, and why",
     .action = DIAGNOSE},
    {&kind_flag, 0, "memory-totals", NULL, AT(memory_totals),
     .help = "memory of the whole model, and the compiler's own\naccount of every tile by category",
     .output = "memory-totals"},
    {&kind_flag, 0, "operation-breakdown", NULL, AT(operation_breakdown),
     .help = "table of the operations with layer and memory", .output = "operation-breakdown"},
    {&kind_flag, 0, "layer-breakdown", NULL, AT(layer_breakdown),
     .help = "table of the layers with their memory", .output = "layer-breakdown"},
    {&kind_flag, 0, "memory-affinity", NULL, AT(memory_affinity),
     .help = "bytes of the variables that each pair of layers uses", .output = "memory-affinity"},
    {&kind_flag, 0, "interlayer-communication", NULL, AT(interlayer_communication),
     .help = "bytes of the variables that go live in one layer\nand die in another",
     .output = "interlayer-communication"},
    {&kind_reports, 0, "compare", "OTHER", AT(compare),
     .help =
         "what changed since OTHER, the profile, directory or\nstored analysis before: device, "
         "tiles, "
         "categories,\nlayers; with --solve or --evaluate also the stages,\ninstead of what these "
         "print (docs/compare.md)",
     .action = COMPARE},
    {&kind_text, 0, "save-to-file", "FILE", AT(save_to_file),
     .help = "the same as --output analysis=FILE", .output = "analysis"},
    {&kind_flag, 0, "load-from-file", NULL, AT(load_from_file),
     .help = "INPUT is a stored analysis (this is recognised without\nthe option, too)",
     .copied = COPIED_INPUT},
    {&kind_texts, 0, "report", "NAME", AT(reports),
     .help =
         "INPUT holds several reports, as training and\ninference: take this one. Given again, "
         "or "
         "all: --solve\nfinds one split for them together, and --evaluate tells\nwhat each needs "
         "(docs/reports.md)"},
    {.name = "Solving"},
    {&kind_ipus, 'n', "num-ipus", "N|A..B", AT(num_ipus),
     .help = "most IPUs to use (default: the fewest that fit, up to\n"
             "16); a range: with --solve, a table of the best splits",
     .uses = SPLITS | OR_WARNED},
    {&kind_objectives, 0, "objective", "LIST", AT(objective),
     .help = "what is to be smallest, one within the best for those\nbefore it: memory (the "
             "largest tile), "
             "cycles (the\nslowest IPU), traffic (bytes over the cuts), ipus,\nbalance (spread "
             "over the "
             "IPUs; if it is first, without a\ndevice map, memory comes before it, or cycles of\n"
             "graphs and of costs without memory)\n"
             "(default: memory,traffic; of graphs cycles; without\n--num-ipus ipus,memory,traffic)",
     .uses = SOLVING},
    {&kind_percent, 0, "slack", "PERCENT", AT(slack_percent),
     .help = "how far each objective may miss its best for the sake\nof the next (default: 0)",
     .uses = SOLVING},
    {&kind_memory_by_ipu, 'm', "mem-per-tile", "[I=]BYTES,...", AT(mem_per_tile),
     .help = "memory that a stage may use on a tile, like 638976 or\n"
             "624KiB: K = 1000, KiB = 1024, so also KB, M, MB, MiB,\n"
             "G, ..., for all BYTES; I=, I..J=: of single IPUs; with\n"
             "--solve a range 400K..600K:50K: a table (default: the\n"
             "profile's own, 638976 on a Mk2 IPU)",
     .uses = SPLITS | OR_WARNED},
    {&kind_speeds, 0, "ipu-speed", "[I=]FACTOR,...", AT(ipu_speed),
     .help = "speeds of the IPUs, or of single ones, like 0=0.5,3=2:\nthe cycles of a stage are "
             "divided by that of its IPU\n(default: 1)",
     .uses = SOLVING},
    {&kind_bandwidths, 0, "bandwidth", "[WHERE=]BYTES,...", AT(bandwidth),
     .help = "what links between IPUs carry in a unit of the costs'\n"
             "time (of a profile, a cycle), or single ones, like\n"
             "64,1-2=0.5: the cycles of an IPU are more by what its\n"
             "cuts take; not where stages share IPUs (default: of a\n"
             "profile 64 GB/s, of costs no limit); replicas=BYTES, with\n"
             "--total-ipus: what an IPU exchanges with the other\n"
             "pipelines to add up gradients (default: no limit)",
     .uses = SOLVING},
    {&kind_pareto, 0, "pareto", "A,B", AT(pareto),
     .help = "with --solve, instead of --objective: a table of all best\ncompromises of two "
             "objectives; "
             "more of them (A,B,C)\ndecide between equal splits",
     .uses = SOLVE},
    {&kind_solver, 0, "solver", "auto|ilp|dp|popliner", AT(solver),
     .help =
         "auto: the best split, proven by integer programs and a\ndynamic program (default); the "
         "same "
         "by one alone: ilp,\ndp; popliner: the algorithm and the memory model of\nPopLiner 1.0.0",
     .uses = SOLVE},
    {&kind_memory_model, 0, "memory-model", "full|popliner", AT(memory_model),
     .help = "full: all that the compiler counts (default of\n--solve); popliner: as PopLiner "
             "1.0.0, less "
             "than\n"
             "is needed (default of the tables and of\n--solver popliner)",
     .uses = ALL_ACTIONS ^ LAYER_PAIRS},
    {&kind_reserve, 0, "reserve", "BYTES|N%|gaps", AT(reserve),
     .help = "memory to keep free on every tile: bytes, a percentage\nof --mem-per-tile, or the "
             "most that "
             "the layout wastes\n"
             "on any tile: its highest address less what is live\n"
             "(default: none; --effects counts the layout)",
     .uses = SPLITS},
    {&kind_rules, 0, "require", "RULE", AT(require),
     .help = "a constraint: cut:L,... a cut after each of these layers;\n"
             "no-cut:L,... none; together:L,L,... all on one IPU;\n"
             "place:L=I,... on IPU I; layers:A..B layers of a stage\n"
             "(default: layers:1..; with 0.. an IPU may be for Head or\nTail alone)",
     .uses = SOLVING, .copied = COPIED_CONSTRAINT},
    {&kind_map, 0, "device-map", "I,I,...|interleaved:V|v", AT(device_map),
     .help = "the IPU of each stage, of exactly so many; stages on the\n"
             "same one share its memory; interleaved:V: V stages on\n"
             "each of the --num-ipus N IPUs, in turn, 0,1,...,N-1, V\n"
             "times; v: two on each, there and back (default: 0,1,2,...)",
     .uses = SPLITS},
    {&kind_schedule, 0, "schedule", "NAME[:COPIES]", AT(schedule),
     .help = "of the pipeline: popart, tf-grouped and tf-interleaved\n"
             "add the activations that early stages keep; sequential,\n"
             "inference and none do not; 1f1b, gpipe, zero-bubble and\n"
             "interleaved (+N: N more) are rules for the copies that a\n"
             "stage keeps, also after another schedule (popart:gpipe);\n"
             "or your own numbers for the last stage, the one before\n"
             "it, ...: none:1,2,3,5, or none:0,1,... if it goes on like\n"
             "that (default: none)",
     .uses = SPLITS, .copied = COPIED_PIPELINE},
    {&kind_recompute, 0, "recompute", "none|standard|full|auto", AT(recompute),
     .help = "full: keep only the inputs of each stage, and take the\n"
             "cycles of its forward pass once more; standard: for a\n"
             "profile compiled with recomputation, keep also what comes\n"
             "from or goes to other IPUs; auto: what is best for each\n"
             "stage, memory against cycles (of costs also for each\n"
             "layer that has variants), auto:standard,full of these\n"
             "alone; with --evaluate also one for each stage, like\n"
             "full,none (default: none)",
     .uses = SPLITS, .copied = COPIED_PIPELINE},
    {&kind_count, 0, "micro-batches", "M", AT(micro_batches),
     .help = "micro-batches of a step in each pipeline: no stage keeps\nmore by a rule for copies "
             "(N,N,... and +N are as given)",
     .uses = SPLITS, .copied = COPIED_PIPELINE},
    {&kind_effects, 0, "effects", "NAME,...|all|none", AT(effects),
     .help = "what compiling a stage by itself adds: layout, passing,\n"
             "buffers; accumulators: of gradients, in a pipeline that\n"
             "trains, as many bytes as the parameters where the profile\n"
             "has none, accumulators=fp16 the same in any case, =fp32\n"
             "twice as many (default: all; without layout if --reserve\n"
             "is given; none with PopLiner's memory model)",
     .uses = SPLITS, .copied = COPIED_MEMORY},
    {&kind_need, 0, "need", "at-most|expected|at-least", AT(need),
     .help = "which estimate of a stage's memory is held against the\n"
             "limit (default: expected)",
     .uses = SPLITS},
    {.name = "Replicas"},
    {&kind_count, 0, "total-ipus", "N", AT(total_ipus),
     .help =
         "how many stages, and how many pipelines beside each\nother, have the largest throughput "
         "(--objective\nthroughput,...) on N IPUs; with\n--micro-batches, of each pipeline, or "
         "--batch",
     .uses = SOLVE},
    {&kind_batch, 0, "batch", "N[/SIZE]", AT(batch),
     .help = "samples of a step in all pipelines together, of which\neach takes the same number; "
             "SIZE: samples of a\nmicro-batch (default: 1)",
     .uses = SOLVE},
    {.name = "Profiles of pipelines"},
    {&kind_reports, 0, "compiled", "DIR", AT(compiled),
     .help = "with --evaluate: compare what is predicted with the\npipeline as it was compiled; "
             "DIR is its "
             "report, or has\none for each IPU (0/profile.pop, ...)",
     .uses = EVALUATE},
    {&kind_read, 0, "calibration", "FILE", AT(calibration),
     .help = "predict with the correction that --compiled printed\nwith --format json",
     .uses = SPLITS, .copied = COPIED_MEMORY},
    {&kind_number, 0, "ipu", "N", AT(ipu),
     .help = "tables, --diagnose and --save-to-file for the tiles of\nthis IPU alone, which are "
             "numbered "
             "from 0 then\n(default: of all IPUs)",
     .copied = COPIED_TILES},
    {.name = "Diagnosis"},
    {&kind_layers, 0, "layers", "[only:]A..B|all", AT(layers),
     .help = "look for the bottleneck in these layers; only: leave out\noperations in no layer",
     .uses = DIAGNOSE},
    {&kind_failures, 0, "fail-on", "RULE,...", AT(fail_on),
     .help = "exit status 1 with --diagnose on unexplained=3%: the\n"
             "explained bytes are further from the truth at the\n"
             "bottleneck (default: 5%); with --compare on growth=2%:\n"
             "the largest tile, of the model or of the stages, grew by\n"
             "more; growth.tiles, .categories, .layers, .stages: any of\n"
             "these, .cycles; contradiction: status 3, and no answer, for\n"
             "any action on a profile that contradicts itself (default:\n"
             "a warning, and status 1 of --diagnose)"},
    {.name = "Layers"},
    {&kind_text, 0, "layer-name-regex", "REGEX", AT(layer_name_regex),
     .help = "a layer's name is what the groups capture, or the\nwhole match (default: " //
     POPLINER_LAYER_NAME_REGEX ")",
     .copied = COPIED_INPUT},
    {&kind_text, 0, "inputs-regex-layer-0", "REGEX", AT(inputs_regex_layer_0),
     .help = "operations with such an input are of the first layer\n(default: " //
     POPLINER_FIRST_LAYER_REGEX ")",
     .copied = COPIED_INPUT},
    {&kind_layer_order, 0, "layer-order", "steps|natural", AT(layer_order),
     .help = "as they first run (default: steps), or by name with\nnumbers in order",
     .copied = COPIED_INPUT},
    {.name = "Names of modules, for plans"},
    {&kind_modules, 0, "modules", "NAME,...", AT(modules),
     .help = "the modules in order, with {} for the name of a layer:\n"
             "model.embed_tokens,model.layers.{},model.norm,lm_head; {}\n"
             "by itself: a layer has no path",
     .uses = PLANS},
    {.name = "Output"},
    {&kind_output, 'o', "output", "WHAT[=FILE]", AT(outputs),
     .help =
         "what to show instead of the report, or to write into\nFILE beside it: a table, a plan "
         "for a framework, page,\ntrace, analysis, lp, mps (docs/sections.md, "
         "docs/emit.md)"},
    {&kind_format, 0, "format", "text|tsv|csv|json|plot", AT(format),
     .help = "of what is shown, and of files whose names do not end\nwith it (default: text on a "
             "terminal, else tsv); plot:\nof the outputs tiles, liveness and plan"},
    {&kind_color, 0, "color", "auto|always|never", AT(color),
     .help = "colours; auto (default): on a terminal, unless NO_COLOR\nis set"},
    {&kind_read, 0, "config", "FILE", AT(config_path),
     .help =
         "options from a JSON object with their names as keys; what\nthe command line gives, too, "
         "counts instead\n(docs/config.md)"},
    {&kind_flag, 0, "paths", NULL, AT(paths),
     .help = "have pages and comparisons name files by their paths, as\nthey were given (default: "
             "by their "
             "names alone)",
     .uses = PAGE | COMPARE},
    {&kind_flag, 0, "no-notes", NULL, AT(no_notes),
     .help =
         "leave out framework.json and app.json, which may hold\ntokens: without this, pages and "
         "stored analyses have what\nthey say"},
    {&kind_count, 0, "threads", "N", AT(num_threads),
     .help = "threads that read and measure (default: one for each\nprocessor); the result is the "
             "same for "
             "any number"},
    {&kind_time, 0, "time-limit", "TIME", AT(time_limit_seconds),
     .help = "for each solve, for all of --pareto: then print the best\nknown, as Ctrl-C does; and "
             "for all "
             "else, with --solve at\nleast 5: then end with status 1"},
    {&kind_bytes, 0, "max-memory", "BYTES", AT(max_memory_bytes),
     .help = "memory that may be used: what needs more ends with\nstatus 4 (default: that of the "
             "machine)"},
    {&kind_flag, 'q', "quiet", NULL, AT(quiet), .help = "log only warnings and errors, no progress",
     .cancels = "verbose"},
    {&kind_flag, 'v', "verbose", NULL, AT(verbose),
     .help = "log also what was read, with time and memory", .cancels = "quiet"},
    {&kind_flag, 'h', "help", NULL, AT(help), .help = "print this and end"},
    {&kind_flag, 'V', "version", NULL, AT(version), .help = "print the version and end"},
};

const size_t num_options = sizeof option_table / sizeof *option_table;
_Static_assert(sizeof option_table / sizeof *option_table <= MAX_OPTIONS, "given has no room");

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
    "--evaluate does not, no layer was found, --diagnose or --compare find what\n"
    "--fail-on names, --diagnose finds a contradiction, or the\n"
    "work was not done in time, 2 wrong usage, 3 unreadable or unsupported input (or\n"
    "a file that cannot be written, or with --fail-on contradiction a profile that\n"
    "contradicts itself), 4 internal error or not enough memory.\n";

void options_print_help(FILE *stream) {
    fprintf(stream,
            "Usage: popliner [options] INPUT [DEBUG]\n"
            "\n"
            "Says where to cut a neural network so that it fits on several IPUs.\n"
            "\n"
            "  INPUT    the profile.pop that Poplar wrote, or the directory that holds it;\n"
            "           a stored analysis; or a file of costs (-: standard input): a table of\n"
            "           layers as CSV, JSON, a layer graph, PipeDream's graph.txt (docs/costs.md)\n"
            "  DEBUG    its debug.cbor (default: beside the profile, else one directory up)\n");
    for (size_t i = 0; i < num_options; i++) {
        if (option_table[i].kind == NULL)
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
    *described = (option_described){.is_heading = o->kind == NULL,
                                    .is_repeated = o->kind != NULL && o->kind->is_list,
                                    .letter = o->letter,
                                    .name = o->name,
                                    .value = o->value,
                                    .help = o->help};
    *described->choices = '\0';
    if (o->kind != NULL)
        kind_words(o->kind, "|", described->choices);
    return described;
}

/* ---- what was given ---- */

const options options_usual = {.fail_on = {.unexplained_percent = 5},
                               .require = {.min_layers = MIN_LAYERS_USUAL},

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

const option_path *options_path_at(const options *o, size_t i, option_path *path) {
    for (size_t k = 0; k < o->outputs.count; k++) {
        const wanted_output *w = &o->outputs.items[k];
        if (w->path == NULL || i-- > 0)
            continue;
        const bool is_stored = w->what->kind == OUTPUT_ANALYSIS;
        *path = (option_path){w->option, w->value, w->what->what, w->path, is_stored, PATH_WRITTEN};
        return path;
    }
    for (size_t k = 0; k < num_options; k++) {
        const option *own = &option_table[k];
        const char *value =
            own->kind == NULL || !own->kind->is_path
                ? NULL
                : *(const char *const *)(const void *)((const char *)o + own->offset);
        if (value == NULL || i-- > 0)
            continue;
        *path = (option_path){own->name, value, NULL, value, false, own->kind->use};
        return path;
    }
    return NULL;
}

void options_copy(const options *o, copied words,
                  void (*add)(void *user, const char *name, const char *value), void *user) {
    for (size_t i = 0; i < num_options; i++) {
        const option *own = &option_table[i];
        const repeated *list = &o->given.texts[i];
        const bool is_usual =
            own->kind != NULL && own->kind->size > 0 &&
            memcmp((const char *)o + own->offset, (const char *)&options_usual + own->offset,
                   own->kind->size) == 0;
        if (own->copied != words || list->count == 0 || is_usual)
            continue;
        for (size_t k = own->kind->is_list ? 0 : list->count - 1; k < list->count; k++)
            add(user, own->name,
                own->kind->is_path ? options_shown_path(o, list->texts[k]) : list->texts[k]);
    }
}
