/* --help: the overview, topics, and single options, from the tables of options and outputs.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "command/option_table.h"

#include <string.h>

enum { COLUMNS = 80, TEXT_COLUMN = 28, OPTION_INDENT = 6, WORD_INDENT = 8 };

static const char help_on_profiles[] =
    "Compile for one IPU and one replica, with POPLAR_ENGINE_OPTIONS=\n"
    "'{\"autoReport.all\":\"true\", \"autoReport.outputLoweredVars\":\"true\",\n"
    "\"debug.allowOutOfMemory\":\"true\"}'; a model that runs out of memory while\n"
    "compiling is fine. For PopART and PopTorch set the environment variable\n"
    "POPART_POPLINER_OUTLINER_REGEX to the layer regex when you compile, so that code\n"
    "of different layers is not merged into shared functions; unset it when you\n"
    "compile the pipeline. The debug.cbor of a profile is looked for in the same\n"
    "directory, then in the one above; a second argument gives another path.\n"
    "docs/guide.md explains each step.\n";

static const char help_on_exit[] =
    "0  done\n"
    "1  no split fits, or is known to (the best effort is printed); that of\n"
    "   --evaluate does not; no layer was found; a rule of --fail-on is broken;\n"
    "   --diagnose finds an inconsistent profile; or a time limit or signal left\n"
    "   no split, or a range without some of its values\n"
    "2  wrong usage\n"
    "3  an input cannot be read or is not supported, a file cannot be written, or\n"
    "   with --fail-on contradiction a profile is inconsistent\n"
    "4  an internal error, or not enough memory\n";

static const char help_on_against[] =
    "popliner PLAN --against LOG [--stage N] [--format json]\n"
    "\n"
    "PLAN is an answer for a file of costs, popliner COSTS --solve --format json.\n"
    "LOG is what vLLM, SGLang, llama.cpp, Megatron-LM, or PyTorch out of memory,\n"
    "printed when it ran with this split; - is standard input. --stage N says of\n"
    "which stage all of it is. The Python module popliner reads it.\n";

typedef struct topic {
    const char *name;
    const char *title;
    const char *text; /* lines; NULL: none */
    const char *example;
} topic;

static const topic topics[] = {
    {"profiles", "Profiles: the input", help_on_profiles, "popliner report --ipu 0 --output tiles"},
    {"solving", "Solving: the best split", NULL,
     "popliner report --solve -n 4 --objective memory,cycles --slack 2%"},
    {"constraints", "Constraints on a split",
     "L is the name of a layer. Within a name, put a \\ before each of these: , = : . -\n",
     "popliner report --solve -n 4 --require no-cut:3,4 --require place:0=1"},
    {"pipeline", "Pipelines: schedules, recomputation, replicas",
     "Copies are the micro-batches whose activations a stage stores besides the one\n"
     "that it works on.\n",
     "popliner report --solve -n 4 --schedule popart --recompute auto"},
    {"memory", "Memory: what counts, and the limit", NULL,
     "popliner report --solve -n 4 --need at-most --reserve 5%"},
    {"layers", "Layers: how they are found", NULL,
     "popliner report --layer-name-regex 'stage(\\d+)' --output layers"},
    {"costs", "Files of costs instead of a profile",
     "INPUT is a table of layers as CSV, JSON, a layer graph, or graph.txt of\n"
     "PipeDream; - is standard input. docs/costs.md describes each.\n",
     "popliner layers.csv --solve -n 4 --bandwidth 64"},
    {"output", "Output: tables, files, formats", NULL,
     "popliner report --solve -n 4 --output page=page.html --output plan=plan.csv"},
    {"frameworks", "Plans for frameworks", NULL,
     "popliner report --solve -n 4 -o torch --modules embed,model.layers.{},norm"},
    {"checks", "Checks: the profile, changes, compiled pipelines", NULL,
     "popliner new --compare old --fail-on growth=2%"},
    {"against", "Logs: what a server or trainer printed of its memory, against a plan",
     help_on_against, "popliner plan.json --against server.log"},
    {"running", "Running: limits, options from a file",
     "@FILE stands for the words in FILE: options and names of files as on a command\n"
     "line, in one line or many, in quotes where they have blanks. What comes later\n"
     "wins; lists add up, and --NAME= clears one.\n",
     "popliner report @options --time-limit 5min"},
    {"popliner-1.0.0", "PopLiner 1.0.0: its options, which work as they did", NULL,
     "popliner profile.pop debug.cbor --solve --num-ipus 4"},
    {"exit-status", "Exit status", help_on_exit,
     "popliner report --diagnose --fail-on unexplained=3%"},
};
enum { NUM_TOPICS = sizeof topics / sizeof *topics };

/* The topic at this place, with its title as help, "all" being the last; false after it. */
static bool topic_at(int i, kind_word *word) {
    if (i > NUM_TOPICS)
        return false;
    *word = i == NUM_TOPICS ? (kind_word){"all", i, "all options", NULL}
                            : (kind_word){topics[i].name, i, topics[i].title, NULL};
    return true;
}

static const topic *find_topic(const char *name) {
    for (size_t i = 0; i < NUM_TOPICS; i++)
        if (strcmp(topics[i].name, name) == 0)
            return &topics[i];
    return NULL;
}

/* By its name or letter. */
static const option *find_option(const char *name) {
    const char letter = name[0] != '\0' && name[1] == '\0' ? name[0] : '\n';
    for (size_t i = 0; i < num_options; i++)
        if (option_table[i].kind != NULL &&
            (option_table[i].letter == letter || strcmp(option_table[i].name, name) == 0))
            return &option_table[i];
    return NULL;
}

static bool parse_topic(const char *text, void *field, problem *why) {
    if (text != NULL)
        text += strspn(text, "-");
    *(const char **)field = text == NULL ? "" : text;
    if (text == NULL || *text == '\0' || strcmp(text, "all") == 0 || find_topic(text) != NULL ||
        find_option(text) != NULL)
        return true;
    nearest n = kind_nearest(why->row->kind, text, strlen(text));
    for (size_t i = 0; i < num_options; i++)
        nearest_offer(&n, option_table[i].name, strlen(option_table[i].name));
    return problem_is(why, "no such topic%s", nearest_hint(&n, "", "; --help lists them").text);
}

const value_kind kind_help = {.parse = parse_topic, .word_at = topic_at, .is_optional = true};

/* ---- rows ---- */

/* Prints words from column `indent` on, in lines; the first has `width` columns already. */
static void print_wrapped(FILE *stream, const char *text, int width, int indent) {
    bool begins = true;
    if (width < indent)
        width += fprintf(stream, "%*s", indent - width, "");
    for (; *text != '\0'; text += strspn(text, " ")) {
        const int length = (int)strcspn(text, " ");
        if (!begins && width + 1 + length > COLUMNS) {
            width = fprintf(stream, "\n%*s", indent, "") - 1;
            begins = true;
        }
        width += fprintf(stream, "%s%.*s", begins ? "" : " ", length, text);
        begins = false;
        text += length;
    }
    fprintf(stream, "\n");
}

/* "cut:L,...  a cut after each of these layers". */
static void print_word(FILE *stream, const char *form, const char *help) {
    int width = fprintf(stream, "%*s%s", WORD_INDENT, "", form);
    if (width + 2 > TEXT_COLUMN) {
        fprintf(stream, "\n");
        width = 0;
    }
    print_wrapped(stream, help, width, TEXT_COLUMN);
}

/* True if the help on a topic has this output: of those of all topics each has its own. */
static bool shows_output(const char *name, const output *what) {
    if (strcmp(name, "frameworks") == 0)
        return what->kind == OUTPUT_FRAMEWORK;
    if (strcmp(name, "popliner-1.0.0") == 0)
        return what->kind == OUTPUT_ORIGINAL || what->kind == OUTPUT_POPLINER;
    return true;
}

static void print_words(FILE *stream, const option *o, const char *of_topic) {
    kind_word word;
    for (const char *(*form)[2] = o->kind->forms; form != NULL && **form != NULL; form++)
        print_word(stream, (*form)[0], (*form)[1]);
    for (int i = 0; kind_word_at(o->kind, i, &word); i++)
        if (o->kind != &kind_output || shows_output(of_topic, &output_table[i]))
            print_word(stream, word.form == NULL ? word.name : word.form, word.help);
}

static void print_option(FILE *stream, const option *o, const char *of_topic) {
    char text[400];
    fprintf(stream, "  ");
    if (o->letter != '\0')
        fprintf(stream, "-%c, ", o->letter);
    fprintf(stream, "--%s%s%s\n", o->name, o->value == NULL ? "" : " ",
            o->value == NULL ? "" : o->value);
    const int length = o->otherwise == NULL
                           ? snprintf(text, sizeof text, "%s", o->help)
                           : snprintf(text, sizeof text, "%s (default: %s)", o->help, o->otherwise);
    if (OPTION_INDENT + length > COLUMNS) { /* in a line of its own */
        print_wrapped(stream, o->help, 0, OPTION_INDENT);
        print_wrapped(stream, text + strlen(o->help) + 1, 0, OPTION_INDENT);
    } else {
        print_wrapped(stream, text, 0, OPTION_INDENT);
    }
    print_words(stream, o, of_topic);
}

/* ---- the help ---- */

/* True if the list, with blanks between its members, has the name. */
static bool has_name(const char *list, const char *name) {
    for (; *list != '\0'; list += strcspn(list, " "), list += strspn(list, " "))
        if (name_is(name, list, strcspn(list, " ")))
            return true;
    return false;
}

static void print_topic(FILE *stream, const topic *t) {
    fprintf(stream, "%s\n", t->title);
    if (t->text != NULL)
        fprintf(stream, "\n%s", t->text);
    fprintf(stream, "\n");
    for (size_t i = 0; i < num_options; i++)
        if (option_table[i].kind != NULL && has_name(option_table[i].topics, t->name))
            print_option(stream, &option_table[i], t->name);
    fprintf(stream, "\nExample:\n  %s\n", t->example);
}

static void print_one(FILE *stream, const option *o) {
    char uses[200];
    print_option(stream, o, "");
    if ((o->uses & ALL_ACTIONS) != 0) {
        options_list_uses(o->uses & ALL_ACTIONS, uses, sizeof uses);
        fprintf(stream, "Used by ");
        print_wrapped(stream, uses, (int)strlen("Used by "), 0);
    }
    fprintf(stream, "Topics: ");
    print_wrapped(stream, o->topics, (int)strlen("Topics: "), 0);
}

static void print_all(FILE *stream) {
    for (size_t i = 0; i < num_options; i++) {
        if (option_table[i].kind == NULL)
            fprintf(stream, "%s%s:\n", i == 0 ? "" : "\n", option_table[i].name);
        else
            print_option(stream, &option_table[i], "");
    }
    fprintf(stream, "\nLogs:\n%s\nExit status:\n%s", help_on_against, help_on_exit);
}

static const struct shown_option {
    const char *name;
    const char *value;
    const char *help; /* NULL: that of the row */
} most_used[] = {
    {"solve", NULL, NULL},
    {"evaluate", "CUTS", "show what a split of your own needs"},
    {"diagnose", NULL, "compare the analysis with the compiler's totals"},
    {"compare", "OLD", "show what changed since an earlier report"},
    {"num-ipus", "N", "use at most N IPUs; a range 1..8 makes a table"},
    {"mem-per-tile", "BYTES", "memory of a tile, like 600K or 624KiB"},
    {"schedule", "NAME", "popart, tf-grouped, 1f1b, inference, ..."},
    {"need", "at-most", "require that even the high estimate fits"},
    {"require", "RULE", "a constraint: cut:3, together:1,3, layers:1..4, ..."},
    {"objective", "NAME,...", "what to minimise or balance: memory, cycles, ..."},
    {"recompute", "auto", "recompute activations where that helps"},
    {"layer-name-regex", "REGEX", "how layers are found in the names of operations"},
    {"output", "WHAT[=FILE]", "a table, page, trace, or plan for a framework"},
    {"format", "FORMAT", "text, tsv, csv, json, plot"},
};
enum { NUM_ACTIONS_SHOWN = 4 };

static void print_overview(FILE *stream) {
    fprintf(stream,
            "Usage: popliner INPUT [options]\n"
            "\n"
            "Finds where to cut a neural network so that it fits on several IPUs.\n"
            "INPUT: profile.pop or its directory, a stored analysis, or a file of costs; or a\n"
            "model (GGUF, safetensors, config.json), whose options popliner MODEL --help has;\n"
            "or, with --against LOG, a plan.\n"
            "\n"
            "Examples:\n"
            "  popliner report                            what is in it? does it fit one IPU?\n"
            "  popliner report --solve                    the fewest IPUs, and where to cut\n"
            "  popliner report --solve -n 1..8            what each number of IPUs needs\n"
            "  popliner report --evaluate 3,7             what a split of your own needs\n"
            "  popliner report --solve -n 4 -o optimum    the plan for a framework\n");
    for (size_t i = 0; i < sizeof most_used / sizeof *most_used; i++) {
        const struct shown_option *shown = &most_used[i];
        const option *o = find_option(shown->name);
        if (i == 0 || i == NUM_ACTIONS_SHOWN)
            fprintf(stream, i == 0 ? "\nWhat to do:\n" : "Most used:\n");
        int width = fprintf(stream, "  ");
        if (o->letter != '\0')
            width += fprintf(stream, "-%c, ", o->letter);
        width += fprintf(stream, "--%s%s%s", o->name, shown->value == NULL ? "" : " ",
                         shown->value == NULL ? "" : shown->value);
        fprintf(stream, "%*s%s\n", TEXT_COLUMN - width, "",
                shown->help == NULL ? o->help : shown->help);
    }
    fprintf(stream, "\nMore: popliner --help TOPIC, one of");
    for (size_t i = 0; i < NUM_TOPICS; i++)
        fprintf(stream, "%s%s", i == 0 || i == 8 ? "\n  " : "  ", topics[i].name);
    fprintf(stream, ",\n  an option, or all\n");
}

void help_print(FILE *stream, const char *name) {
    const topic *t = find_topic(name);
    if (*name == '\0')
        print_overview(stream);
    else if (strcmp(name, "all") == 0)
        print_all(stream);
    else if (t != NULL)
        print_topic(stream, t);
    else
        print_one(stream, find_option(name));
}
