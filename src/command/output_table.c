/* The table of outputs: a row has all that is to be said of what --output takes. Parsing, checks,
 * help, lists of files and writing loop over it.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "command/option_table.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "popliner/emit.h"
#include "popliner/report.h"
#include "popliner/solver.h"

/* A table of a profile. */
#define TABLE(of_name, of, in_formats, words)                                                      \
    {                                                                                              \
        .name = (of_name), .kind = OUTPUT_SECTION, .number = POPLINER_SECTION_##of,                \
        .formats = (in_formats), .action = TABLES, .what = "the table", .help = (words)            \
    }

/* A table of PopLiner 1.0.0. */
#define ORIGINAL(of_name, of, does, words)                                                         \
    {                                                                                              \
        .name = (of_name), .kind = OUTPUT_ORIGINAL, .number = POPLINER_TABLE_##of,                 \
        .formats = AS_ORIGINAL, .action = (does), .what = "the table", .help = (words)             \
    }

/* A plan for a framework. */
#define PLAN_FOR(of_name, of, words)                                                               \
    {                                                                                              \
        .name = (of_name), .kind = OUTPUT_FRAMEWORK, .number = POPLINER_EMIT_##of,                 \
        .action = PLANS, .implied = SOLVE, .instead = EVALUATE, .takes_costs = true,               \
        .what = "the plan", .help = (words)                                                        \
    }

/* The integer program of a split. */
#define PROGRAM(of_name, of, words)                                                                \
    {                                                                                              \
        .name = (of_name), .kind = OUTPUT_PROGRAM, .number = POPLINER_PROGRAM_##of,                \
        .implied = SOLVE, .instead = EVALUATE, .is_file = true, .takes_costs = true,               \
        .what = "the integer program", .help = (words)                                             \
    }

const output output_table[] = {
    TABLE("summary", SUMMARY, AS_TABLE, "compiler, device, counts, options of the engine"),
    TABLE("tiles", TILES, AS_TABLE | AS_PLOT, "what is live on each tile, by category"),
    TABLE("categories", CATEGORIES, AS_TABLE, "each category of memory"),
    {.name = "liveness",
     .kind = OUTPUT_SECTION,
     .number = POPLINER_SECTION_LIVENESS,
     .formats = AS_TABLE | AS_PLOT,
     .action = TABLES,
     .what = "the table",
     .help = "live bytes at each step; a plot also of one tile, or of all bytes",
     .form = "liveness[:TILE,always]"},
    TABLE("variables", VARIABLES, AS_TABLE, "each variable, and when it is live"),
    TABLE("operations", OPERATIONS, AS_TABLE, "each operation, its layer and its memory"),
    TABLE("programs", PROGRAMS, AS_TABLE, "each program, with its parent"),
    TABLE("layers", LAYERS, AS_TABLE, "each layer and its memory"),
    TABLE("pairs", PAIRS, AS_TABLE, "bytes that any two layers share"),
    TABLE("execution", EXECUTION, AS_TABLE, "each executed step, on each IPU"),
    TABLE("checks", CHECKS, AS_TABLE, "whether the profile is consistent"),
    TABLE("vertices", VERTICES, AS_TABLE, "each type of vertex"),
    TABLE("exchanges", EXCHANGES, AS_TABLE, "each exchange program"),
    TABLE("advice", ADVICE, AS_TABLE, "what stands out in memory"),
    TABLE("diagnosis", DIAGNOSIS, AS_TABLE, "the analysis against the compiler's totals"),
    TABLE("missing", MISSING, AS_TABLE, "unattributed memory, and why"),
    TABLE("addresses", ADDRESSES, AS_TABLE, "where each variable lies on its tile"),
    {.name = "plan",
     .takes_costs = true,
     .kind = OUTPUT_PLAN,
     .number = POPLINER_SECTION_PLAN,
     .formats = AS_TABLE | AS_PLOT,
     .action = TABLES,
     .implied = SOLVE,
     .instead = EVALUATE,
     .what = "the table",
     .help = "each stage of a split: its layers, memory, cycles"},
    {.name = "comparison",
     .kind = OUTPUT_REPORT,
     .number = COMPARE,
     .formats = AS_TABLE,
     .what = "the table",
     .help = "what changed, of --compare"},
    PLAN_FOR("pipeline", PIPELINE, "the plan as JSON, for other programs"),
    PLAN_FOR("order", ORDER, "the passes of each device, as PyTorch's CSV of schedules"),
    PLAN_FOR("passes", PASSES, "when each of them runs, and what is held, for Perfetto"),
    PLAN_FOR("optimum", OPTIMUM, "the plan for Hugging Face Optimum Graphcore"),
    PLAN_FOR("poptorch", POPTORCH, "for PopTorch"),
    PLAN_FOR("popart", POPART, "for PopART"),
    PLAN_FOR("popxl", POPXL, "for popxl"),
    PLAN_FOR("tensorflow", TENSORFLOW, "for TensorFlow and Keras on IPUs"),
    PLAN_FOR("torch", TORCH, "for torch.distributed.pipelining"),
    PLAN_FOR("megatron", MEGATRON, "for Megatron-Core"),
    PLAN_FOR("vllm", VLLM, "for vLLM"),
    PLAN_FOR("titan", TITAN, "for torchtitan"),
    PLAN_FOR("accelerate", ACCELERATE, "for Hugging Face Accelerate"),
    PLAN_FOR("automodel", AUTOMODEL, "for NVIDIA NeMo AutoModel"),
    PLAN_FOR("bridge", BRIDGE, "for Megatron-Bridge"),
    PLAN_FOR("hybrid", HYBRID, "for hybrid models of Megatron-Core"),
    PLAN_FOR("sglang", SGLANG, "for SGLang"),
    PLAN_FOR("tensorrt", TENSORRT, "for TensorRT-LLM"),
    PLAN_FOR("llama", LLAMA, "for llama.cpp"),
    PLAN_FOR("deepspeed", DEEPSPEED, "for DeepSpeed"),
    PLAN_FOR("paddle", PADDLE, "for PaddlePaddle"),
    PLAN_FOR("mindspore", MINDSPORE, "for MindSpore"),
    PLAN_FOR("mindformers", MINDFORMERS, "for MindFormers"),
    {.name = "answer",
     .takes_costs = true,
     .takes_reports = true,
     .kind = OUTPUT_REPORT,
     .number = SOLVE | EVALUATE | DIAGNOSE | COMPARE,
     .formats = AS_JSON,
     .implied = SOLVE,
     .instead = EVALUATE | DIAGNOSE | COMPARE,
     .what = "the answer",
     .help = "the answer as JSON; for a split, including its proof"},
    {.name = "popliner",
     .kind = OUTPUT_POPLINER,
     .formats = AS_JSON,
     .implied = SOLVE,
     .instead = EVALUATE,
     .what = "the stages",
     .help = "the stages as PopLiner 1.0.0 prints them"},
    {.name = "page",
     .takes_costs = true,
     .kind = OUTPUT_PAGE,
     .action = PAGE,
     .is_file = true,
     .what = "the page",
     .help = "a page for a browser, on which cuts can be moved"},
    {.name = "trace",
     .kind = OUTPUT_TRACE,
     .action = TABLES,
     .is_file = true,
     .what = "the trace",
     .help = "programs, cycles and memory along the steps, for Perfetto"},
    PROGRAM("lp", LP, "the integer program of the first objective, as CPLEX LP"),
    PROGRAM("mps", MPS, "the integer program as free MPS"),
    {.name = "analysis",
     .kind = OUTPUT_ANALYSIS,
     .action = STORE,
     .is_file = true,
     .what = "the analysis",
     .help = "the whole analysis; later runs read it faster"},
    ORIGINAL("memory-totals", MEMORY_TOTALS, TOTALS, "of PopLiner 1.0.0: --memory-totals"),
    ORIGINAL("operation-breakdown", OPERATIONS, BREAKDOWNS, "its --operation-breakdown"),
    ORIGINAL("layer-breakdown", LAYERS, BREAKDOWNS, "its --layer-breakdown"),
    ORIGINAL("memory-affinity", AFFINITY, LAYER_PAIRS, "its --memory-affinity"),
    ORIGINAL("interlayer-communication", COMMUNICATION, LAYER_PAIRS,
             "its --interlayer-communication"),
};

const size_t num_outputs = sizeof output_table / sizeof *output_table;

const output *output_find(const char *name, size_t length) {
    for (size_t i = 0; i < num_outputs; i++)
        if (name_is(output_table[i].name, name, length))
            return &output_table[i];
    return NULL;
}

/* ---- the values of --output ---- */

static bool output_at(int i, kind_word *word) {
    if ((size_t)i >= num_outputs)
        return false;
    const output *what = &output_table[i];
    *word = (kind_word){what->name, i, what->help, what->form};
    return true;
}

static bool no_output(const char *text, size_t length, problem *why) {
    const char *end = memchr(text, '.', length);
    const nearest n = kind_nearest(&kind_output, text, end == NULL ? length : (size_t)(end - text));
    if (end != NULL && n.best != NULL)
        return problem_is(why, "of what? Did you mean %.*s=%s?", (int)n.best_length, n.best, text);
    return problem_is(why, "no such output%s (--help output)", nearest_hint(&n, "", "").text);
}

/* Reads the text after "liveness:": a tile or "always", or both with ',' between them. */
static bool parse_liveness(const char *text, wanted_output *w, problem *why) {
    static const char always[] = "always";
    do {
        const size_t size = strcspn(text, ",=");
        const char *rest = NULL;
        uint64_t tile = 0;
        if (size == strlen(always) && strncmp(text, always, size) == 0) {
            w->has_always_live = true;
        } else {
            if (!number_take(text, SIZE_MAX - 1, &tile, &rest) || rest != text + size)
                return problem_is(why, "expected a tile, always, or both, like liveness:5,always");
            w->tile = (size_t)tile;
        }
        text += size;
    } while (*text++ == ',');
    return true;
}

/* "WHAT", or "WHAT=FILE". */
static bool parse_output(const char *text, void *field, problem *why) {
    const size_t whole = strcspn(text, "=");
    const size_t length = strcspn(text, ":=");
    const char *path = text[whole] == '=' ? text + whole + 1 : NULL;
    wanted_output w = {output_find(text, length), path, why->row->name, text,
                       POPLINER_ALL_TILES,        false};
    if (w.what == NULL)
        return no_output(text, length, why);
    if (path == NULL ? w.what->is_file : *path == '\0')
        return problem_is(why, "into which file? Give %s=FILE", w.what->name);
    if (length < whole && strcmp(w.what->name, "liveness") != 0)
        return problem_is(why, "%s has no details", w.what->name);
    if (length < whole && !parse_liveness(text + length + 1, &w, why))
        return false;
    why->lacks_memory = !options_add_output(field, &w);
    return !why->lacks_memory;
}

const value_kind kind_output = {.word_at = output_at, .parse = parse_output, .is_list = true};

/* An option of PopLiner 1.0.0 that stands for an output. */
static bool parse_original(const char *text, void *field, problem *why) {
    const char *name = why->row->output;
    const wanted_output w = {.what = output_find(name, strlen(name)),
                             .path = text,
                             .option = why->row->name,
                             .value = text,
                             .tile = POPLINER_ALL_TILES};
    why->lacks_memory = !options_add_output(field, &w);
    return !why->lacks_memory;
}

const value_kind kind_original = {.parse = parse_original};
