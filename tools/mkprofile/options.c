/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "mkprofile/options.h"

#include "base/failure.h"

#include <stdlib.h>
#include <string.h>

typedef enum option_kind {
    OPTION_NUMBER,
    OPTION_TRUE,
    OPTION_FALSE,
    OPTION_TEXT,
    OPTION_FRAMEWORK,
    OPTION_PRESET,
    OPTION_PART,
    OPTION_FAULT,
    OPTION_PIPELINE,
    OPTION_SCHEDULE,
    OPTION_PLAN_SEED,
} option_kind;

/* One line of the help and what the option does: it fills the member at `offset`. */
typedef struct option {
    const char *name;
    option_kind kind;
    size_t offset;
    uint64_t min;
    uint64_t max;
    const char *argument; /* how the help calls it; NULL when there is none */
    const char *help;
} option;

static const option options_known[] = {
    {"--preset", OPTION_PRESET, 0, 0, 0, "NAME",
     "bert-tiny, bert-base, bert-large or efficientnet"},
    {"--output", OPTION_TEXT, offsetof(mk_options, directory), 0, 0, "DIR",
     "where profile.pop and debug.cbor go; made if missing"},
    {"--force", OPTION_TRUE, offsetof(mk_options, force), 0, 0, NULL,
     "overwrite files that are there"},
    {"--framework", OPTION_FRAMEWORK, offsetof(mk_options, framework), 0, 0, "NAME",
     "popart, poptorch or tensorflow"},
    {"--training", OPTION_TRUE, offsetof(mk_options, training), 0, 0, NULL,
     "with gradients and an optimizer"},
    {"--inference", OPTION_FALSE, offsetof(mk_options, training), 0, 0, NULL, "without"},
    {"--accumulate", OPTION_TRUE, offsetof(mk_options, accumulate), 0, 0, NULL,
     "gradients over several batches; a pipeline that trains does"},
    {"--outline", OPTION_TRUE, offsetof(mk_options, outline), 0, 0, NULL,
     "repeated operations become calls of functions"},
    {"--no-outline", OPTION_FALSE, offsetof(mk_options, outline), 0, 0, NULL, "they do not"},
    {"--layers", OPTION_NUMBER, offsetof(mk_options, num_layers), 1, 1000, "N",
     "layers of the model"},
    {"--tiles", OPTION_NUMBER, offsetof(mk_options, tiles_per_ipu), 1, 100000, "N",
     "tiles of an IPU"},
    {"--hidden", OPTION_NUMBER, offsetof(mk_options, hidden), 1, 65536, "N",
     "features (TensorFlow: channels)"},
    {"--sequence", OPTION_NUMBER, offsetof(mk_options, sequence), 1, 65536, "N",
     "positions of a sequence (TensorFlow: of an image)"},
    {"--vocabulary", OPTION_NUMBER, offsetof(mk_options, vocabulary), 1, 1000000, "N",
     "rows of the embedding (TensorFlow: classes)"},
    {"--pieces", OPTION_NUMBER, offsetof(mk_options, num_pieces), 1, 100, "N",
     "lowered variables per tensor and tile"},
    {"--debug-arguments", OPTION_NUMBER, offsetof(mk_options, debug_argument_bytes), 0, 1000000,
     "BYTES", "size of the arguments in a poplibs record"},
    {"--debug-nesting", OPTION_NUMBER, offsetof(mk_options, debug_nesting), 0, 1000, "N",
     "poplibs records inside that of a program"},
    {"--only-layers", OPTION_PART, offsetof(mk_options, part), 0, 999, "A-B",
     "only layers A to B, as if compiled alone: first-B has what\n"
     "                           comes before layer 0 too, A-last what comes behind the last "
     "layer"},
    {"--skips", OPTION_NUMBER, offsetof(mk_options, num_skips), 0, 500, "N",
     "long connections, from layer I to layer LAYERS-1-I for each I < N"},
    {"--map-in-turn", OPTION_TRUE, offsetof(mk_options, maps_in_turn), 0, 0, NULL,
     "each tensor starts at the tile where the one before it ended,\n"
     "                           as frameworks map them; a pipeline's do"},
    {"--pipeline", OPTION_PIPELINE, 0, 0, 999, "A|B|...",
     "as a pipeline over several IPUs, cut after layers A, B, ..."},
    {"--schedule", OPTION_SCHEDULE, 0, 0, 0, "NAME",
     "of a TensorFlow pipeline: grouped, interleaved or sequential"},
    {"--fault", OPTION_FAULT, 0, 0, 100000, "KIND:K",
     "plant K faults and print them: no-debug-id (programs),\n"
     "                           no-operation (programs) or untouched (variables)"},
    {"--execution", OPTION_TRUE, offsetof(mk_options, execution), 0, 0, NULL,
     "as if the model had run twice: runs and steps with their\n"
     "                           cycles, by the definitions of the tables, since no real file\n"
     "                           with such rows is known; they are near the estimates"},
    {"--seed", OPTION_NUMBER, offsetof(mk_options, seed), 0, UINT64_MAX, "N",
     "another seed gives another profile"},
    {"--plan-seed", OPTION_PLAN_SEED, 0, 0, UINT64_MAX, "N",
     "another one gives another mapping and planning of the same\n"
     "                           model; that of --seed unless told"},
    {"--quiet", OPTION_TRUE, offsetof(mk_options, quiet), 0, 0, NULL, "say nothing but errors"},
    {"--help", OPTION_TRUE, offsetof(mk_options, help), 0, 0, NULL, "print this"},
    {"--version", OPTION_TRUE, offsetof(mk_options, version), 0, 0, NULL, "print the version"},
};

static const size_t num_options = sizeof options_known / sizeof options_known[0];

/* The presets have the proportions of models whose tables the original PopLiner published. */
typedef struct preset {
    const char *name;
    mk_options options;
} preset;

static const preset presets[] = {
    {"", /* no preset: small enough to read by eye */
     {.framework = MK_POPART,
      .num_layers = 2,
      .tiles_per_ipu = 16,
      .hidden = 64,
      .sequence = 32,
      .vocabulary = 512,
      .num_pieces = 1,
      .debug_argument_bytes = 100,
      .debug_nesting = 0}},
    {"bert-tiny",
     {.framework = MK_POPTORCH,
      .num_layers = 3,
      .tiles_per_ipu = 1472,
      .hidden = 256,
      .sequence = 128,
      .vocabulary = 30522,
      .num_pieces = 1,
      .debug_argument_bytes = 2500,
      .debug_nesting = 10,
      .training = true}},
    {"bert-base",
     {.framework = MK_POPART,
      .num_layers = 12,
      .tiles_per_ipu = 1472,
      .hidden = 768,
      .sequence = 256,
      .vocabulary = 30522,
      .num_pieces = 4,
      .debug_argument_bytes = 5500,
      .debug_nesting = 17,
      .training = true}},
    {"bert-large",
     {.framework = MK_POPART,
      .num_layers = 24,
      .tiles_per_ipu = 1472,
      .hidden = 1024,
      .sequence = 128,
      .vocabulary = 30400,
      .num_pieces = 1,
      .debug_argument_bytes = 5500,
      .debug_nesting = 12,
      .outline = true}},
    {"efficientnet",
     {.framework = MK_TENSORFLOW,
      .num_layers = 27,
      .tiles_per_ipu = 1472,
      .hidden = 256,
      .sequence = 12544,
      .vocabulary = 1000,
      .num_pieces = 1,
      .debug_argument_bytes = 5500,
      .debug_nesting = 19}},
};

static const char *const fault_names[MK_FAULT_KIND_COUNT] = {
    [MK_FAULT_NO_DEBUG_ID] = "no-debug-id",
    [MK_FAULT_NO_OPERATION] = "no-operation",
    [MK_FAULT_UNTOUCHED] = "untouched",
};

const char *mk_fault_name(mk_fault_kind kind) {
    return fault_names[kind];
}

static const char *const framework_names[] = {"popart", "poptorch", "tensorflow"};

static const option *find_option(const char *name) {
    for (size_t i = 0; i < num_options; i++) {
        if (strcmp(options_known[i].name, name) == 0)
            return &options_known[i];
    }
    return NULL;
}

/* Reads digits up to `end`. */
static bool read_digits(const char *text, const char *end, uint64_t *value) {
    uint64_t number = 0;
    bool good = text != end;
    for (const char *digit = text; good && digit != end; digit++) {
        uint64_t units = (uint64_t)(*digit - '0');
        good = *digit >= '0' && *digit <= '9' && number <= (UINT64_MAX - units) / 10;
        number = number * 10 + units;
    }
    *value = number;
    return good;
}

static popliner_status read_number(const option *known, const char *text, uint64_t *value,
                                   popliner_error *error) {
    uint64_t number;
    bool good = read_digits(text, text + strlen(text), &number);
    if (!good || number < known->min || number > known->max)
        return pl_fail(error, POPLINER_ERROR_USAGE,
                       "%s takes a whole number from %llu to %llu, not \"%s\".", known->name,
                       (unsigned long long)known->min, (unsigned long long)known->max, text);
    *value = number;
    return POPLINER_OK;
}

static popliner_status read_framework(const char *text, mk_framework *framework,
                                      popliner_error *error) {
    for (size_t i = 0; i < sizeof framework_names / sizeof framework_names[0]; i++) {
        if (strcmp(framework_names[i], text) == 0) {
            *framework = (mk_framework)i;
            return POPLINER_OK;
        }
    }
    return pl_fail(error, POPLINER_ERROR_USAGE,
                   "--framework takes popart, poptorch or tensorflow, not \"%s\".", text);
}

static popliner_status read_preset(const char *text, mk_options *options, popliner_error *error) {
    for (size_t i = 0; i < sizeof presets / sizeof presets[0]; i++) {
        if (presets[i].name[0] != '\0' && strcmp(presets[i].name, text) == 0) {
            *options = presets[i].options;
            return POPLINER_OK;
        }
    }
    return pl_fail(error, POPLINER_ERROR_USAGE,
                   "There is no preset \"%s\": choose bert-tiny, bert-base, bert-large or "
                   "efficientnet.",
                   text);
}

/* A-B, where A may be "first" and B "last". */
static popliner_status read_part(const char *text, mk_part *part, popliner_error *error) {
    const char *dash = strchr(text, '-');
    const char *end = text + strlen(text);
    *part = (mk_part){.is_given = true};
    bool good = dash != NULL;
    if (good) {
        part->has_head = dash - text == 5 && strncmp(text, "first", 5) == 0;
        part->has_tail = strcmp(dash + 1, "last") == 0;
        good = (part->has_head || read_digits(text, dash, &part->first_layer)) &&
               (part->has_tail || read_digits(dash + 1, end, &part->last_layer));
    }
    if (!good)
        return pl_fail(error, POPLINER_ERROR_USAGE,
                       "--only-layers takes the numbers of two layers, as in 0-3, first-3 or "
                       "4-last, not \"%s\".",
                       text);
    return POPLINER_OK;
}

/* The part in numbers; it must be one of the model. */
static popliner_status settle_part(mk_options *options, popliner_error *error) {
    mk_part *part = &options->part;
    if (!part->is_given)
        part->has_head = part->has_tail = true;
    if (part->has_head)
        part->first_layer = 0;
    if (part->has_tail)
        part->last_layer = options->num_layers - 1;
    if (part->first_layer >= options->num_layers || part->last_layer >= options->num_layers)
        return pl_fail(error, POPLINER_ERROR_USAGE,
                       "--only-layers: there is no layer %llu, the last one is %llu.",
                       (unsigned long long)(part->first_layer >= options->num_layers
                                                ? part->first_layer
                                                : part->last_layer),
                       (unsigned long long)options->num_layers - 1);
    if (part->first_layer > part->last_layer)
        return pl_fail(error, POPLINER_ERROR_USAGE,
                       "--only-layers: layer %llu does not come before layer %llu.",
                       (unsigned long long)part->first_layer, (unsigned long long)part->last_layer);
    return POPLINER_OK;
}

/* A|B|...: layers, each behind the one before. */
static popliner_status read_pipeline(const option *known, const char *text, mk_options *options,
                                     popliner_error *error) {
    options->num_ipus = 1;
    for (const char *at = text;;) {
        const char *end = at + strcspn(at, "|");
        uint64_t layer;
        if (!read_digits(at, end, &layer) || layer > known->max)
            return pl_fail(error, POPLINER_ERROR_USAGE,
                           "--pipeline takes the numbers of the layers to cut after, as in "
                           "5|11|17, not \"%s\".",
                           text);
        if (options->num_ipus == MK_MAX_IPUS)
            return pl_fail(error, POPLINER_ERROR_USAGE, "--pipeline: there are at most %d IPUs.",
                           MK_MAX_IPUS);
        if (options->num_ipus > 1 && layer <= options->cuts[options->num_ipus - 2])
            return pl_fail(error, POPLINER_ERROR_USAGE,
                           "--pipeline: layer %llu does not come behind layer %llu.",
                           (unsigned long long)layer,
                           (unsigned long long)options->cuts[options->num_ipus - 2]);
        options->cuts[options->num_ipus++ - 1] = layer;
        if (*end == '\0')
            return POPLINER_OK;
        at = end + 1;
    }
}

static popliner_status read_schedule(const char *text, mk_schedule *schedule,
                                     popliner_error *error) {
    static const char *const names[] = {"grouped", "interleaved", "sequential"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(names[i], text) == 0) {
            *schedule = (mk_schedule)i;
            return POPLINER_OK;
        }
    }
    return pl_fail(error, POPLINER_ERROR_USAGE,
                   "--schedule takes grouped, interleaved or sequential, not \"%s\".", text);
}

/* What only one of two options can say. */
static popliner_status settle_pipeline(mk_options *options, popliner_error *error) {
    if (options->num_ipus == 0)
        options->num_ipus = 1;
    options->num_tiles = options->tiles_per_ipu * options->num_ipus;
    if (!options->has_plan_seed)
        options->plan_seed = options->seed;
    if (options->num_skips > options->num_layers / 2)
        return pl_fail(
            error, POPLINER_ERROR_USAGE, "--skips: %llu layers have at most %llu such connections.",
            (unsigned long long)options->num_layers, (unsigned long long)options->num_layers / 2);
    if (options->num_ipus == 1) {
        if (options->schedule != MK_GROUPED)
            return pl_fail(error, POPLINER_ERROR_USAGE, "--schedule needs --pipeline.");
        return POPLINER_OK;
    }
    if (options->cuts[options->num_ipus - 2] + 1 >= options->num_layers)
        return pl_fail(error, POPLINER_ERROR_USAGE,
                       "--pipeline: no layer comes behind layer %llu, the last one is %llu.",
                       (unsigned long long)options->cuts[options->num_ipus - 2],
                       (unsigned long long)options->num_layers - 1);
    if (options->schedule != MK_GROUPED && options->framework != MK_TENSORFLOW)
        return pl_fail(error, POPLINER_ERROR_USAGE, "--schedule needs --framework tensorflow.");
    bool has_faults = false;
    for (size_t i = 0; i < MK_FAULT_KIND_COUNT; i++)
        has_faults = has_faults || options->faults[i] > 0;
    if (options->part.is_given || options->execution || has_faults)
        return pl_fail(error, POPLINER_ERROR_USAGE,
                       "--pipeline goes without --only-layers, --execution and --fault.");
    options->accumulate = options->training;
    options->maps_in_turn = true;
    return POPLINER_OK;
}

/* KIND:K; the last of a kind counts. */
static popliner_status read_fault(const option *known, const char *text, mk_options *options,
                                  popliner_error *error) {
    const char *colon = strchr(text, ':');
    uint64_t number;
    for (size_t i = 0; colon != NULL && i < MK_FAULT_KIND_COUNT; i++) {
        size_t length = strlen(fault_names[i]);
        if ((size_t)(colon - text) != length || strncmp(text, fault_names[i], length) != 0)
            continue;
        if (!read_digits(colon + 1, text + strlen(text), &number) || number > known->max)
            break;
        options->faults[i] = number;
        return POPLINER_OK;
    }
    return pl_fail(error, POPLINER_ERROR_USAGE,
                   "--fault takes no-debug-id:K, no-operation:K or untouched:K with K up to %llu, "
                   "not \"%s\".",
                   (unsigned long long)known->max, text);
}

static popliner_status set_option(const option *known, const char *value, mk_options *options,
                                  popliner_error *error) {
    void *member = (char *)options + known->offset;
    switch (known->kind) {
    case OPTION_NUMBER:
        return read_number(known, value, member, error);
    case OPTION_TRUE:
        *(bool *)member = true;
        return POPLINER_OK;
    case OPTION_FALSE:
        *(bool *)member = false;
        return POPLINER_OK;
    case OPTION_TEXT:
        *(const char **)member = value;
        return POPLINER_OK;
    case OPTION_FRAMEWORK:
        return read_framework(value, member, error);
    case OPTION_PART:
        return read_part(value, member, error);
    case OPTION_FAULT:
        return read_fault(known, value, options, error);
    case OPTION_PIPELINE:
        return read_pipeline(known, value, options, error);
    case OPTION_SCHEDULE:
        return read_schedule(value, &options->schedule, error);
    case OPTION_PLAN_SEED:
        options->has_plan_seed = true;
        return read_number(known, value, &options->plan_seed, error);
    case OPTION_PRESET:
        return POPLINER_OK; /* read before all others */
    }
    return POPLINER_OK;
}

/* Presets alone, or all options but them. */
static popliner_status read_pass(mk_options *options, int num_arguments, char *arguments[],
                                 bool presets_only, popliner_error *error) {
    for (int i = 1; i < num_arguments; i++) {
        const option *known = find_option(arguments[i]);
        if (known == NULL)
            return pl_fail(error, POPLINER_ERROR_USAGE,
                           "There is no option \"%s\"; --help lists all.", arguments[i]);
        const char *value = NULL;
        if (known->argument != NULL) {
            if (i + 1 == num_arguments)
                return pl_fail(error, POPLINER_ERROR_USAGE, "%s needs a value.", known->name);
            value = arguments[++i];
        }
        popliner_status status = POPLINER_OK;
        if (!presets_only)
            status = set_option(known, value, options, error);
        else if (known->kind == OPTION_PRESET)
            status = read_preset(value, options, error);
        if (status != POPLINER_OK)
            return status;
    }
    return POPLINER_OK;
}

popliner_status mk_options_read(mk_options *options, int num_arguments, char *arguments[],
                                popliner_error *error) {
    *options = presets[0].options;
    popliner_status status = read_pass(options, num_arguments, arguments, true, error);
    if (status == POPLINER_OK)
        status = read_pass(options, num_arguments, arguments, false, error);
    if (status == POPLINER_OK && !options->help && !options->version &&
        (options->directory == NULL || options->directory[0] == '\0'))
        status = pl_fail(error, POPLINER_ERROR_USAGE, "--output DIR is missing.");
    if (status == POPLINER_OK)
        status = settle_pipeline(options, error);
    if (status == POPLINER_OK)
        status = settle_part(options, error);
    return status;
}

void mk_options_help(FILE *stream) {
    fputs("Usage: popliner-mkprofile --output DIR [options]\n"
          "Writes the profile (profile.pop) and the debug information (debug.cbor) of a synthetic\n"
          "model that was compiled but, without --execution, never ran. Equal options give equal\n"
          "files.\n\n",
          stream);
    for (size_t i = 0; i < num_options; i++) {
        const option *known = &options_known[i];
        char head[64];
        snprintf(head, sizeof head, "%s%s%s", known->name, known->argument != NULL ? " " : "",
                 known->argument != NULL ? known->argument : "");
        fprintf(stream, "  %-24s %s\n", head, known->help);
    }
}
