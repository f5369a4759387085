/* The kinds of values: how each is read.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "command/option_table.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "popliner/solver.h"
#include "popliner/utilities.h"

/* Rules of --fail-on other than growth. */
enum { FAIL_ON_UNEXPLAINED = POPLINER_NUM_GROWTHS, FAIL_ON_CONTRADICTION };

_Static_assert(sizeof(popliner_format) == sizeof(int) && sizeof(popliner_method) == sizeof(int),
               "words are written as int");

bool(problem_is)(problem *why, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(why->text, sizeof why->text, format, arguments);
    va_end(arguments);
    return false;
}

/* ---- words ---- */

bool kind_word_at(const value_kind *kind, int i, kind_word *word) {
    if (kind->word_at != NULL)
        return kind->word_at(i, word);
    if (kind->words != NULL)
        *word = kind->words[i];
    return kind->words != NULL && word->name != NULL;
}

nearest kind_nearest(const value_kind *kind, const char *text, size_t length) {
    kind_word word;
    nearest n = nearest_begin(text, length);
    for (int i = 0; kind_word_at(kind, i, &word); i++)
        nearest_offer(&n, word.name, strlen(word.name));
    return n;
}

/* The number of the word in a text; -1 if the kind does not have it. */
static int kind_find(const value_kind *kind, const char *name, size_t length) {
    kind_word word;
    for (int i = 0; kind_word_at(kind, i, &word); i++)
        if (name_is(word.name, name, length))
            return word.number;
    return -1;
}

/* Its words, with ", " between them. */
typedef struct choices {
    char text[640];
} choices;
static choices kind_words(const value_kind *kind) {
    kind_word word;
    size_t length = 0;
    choices all = {""};
    for (int i = 0; kind_word_at(kind, i, &word) && length < sizeof all.text; i++)
        length += (size_t)snprintf(all.text + length, sizeof all.text - length, "%s%s",
                                   i == 0 ? "" : ", ", word.name);
    return all;
}

static bool no_word(const char *name, size_t length, problem *why) {
    enum { MOST_LISTED = 6 };
    const value_kind *kind = why->row->kind;
    kind_word word;
    int count = 0;
    const nearest n = kind_nearest(kind, name, length);
    while (kind_word_at(kind, count, &word))
        count++;
    if (n.best != NULL)
        return problem_is(why, "%.*s is unknown%s", (int)length, name,
                          nearest_hint(&n, "", "").text);
    if (kind->expected == NULL && count > MOST_LISTED)
        return problem_is(why, "%.*s is unknown; --help %s lists what there is", (int)length, name,
                          why->row->name);
    return problem_is(why, "expected %s%s", kind->expected == NULL ? "one of " : kind->expected,
                      kind->expected == NULL ? kind_words(kind).text : "");
}

int option_word(const char *name, size_t length, problem *why) {
    const int number = kind_find(why->row->kind, name, length);
    if (number < 0)
        no_word(name, length, why);
    return number;
}

static bool parse_word(const char *text, void *field, problem *why) {
    const int number = option_word(text, strlen(text), why);
    if (number < 0)
        return false;
    memcpy(field, &number, sizeof number);
    return true;
}

#define KIND_OF_WORDS(kind, ...)                                                                   \
    const value_kind kind = {.words = (const kind_word[]){__VA_ARGS__, {.name = NULL}},            \
                             .parse = parse_word}

KIND_OF_WORDS(kind_solver,
              {"auto", POPLINER_METHOD_AUTO, "the best split, proven by integer programs and by dp",
               NULL},
              {"ilp", POPLINER_METHOD_ILP, "the best split, by integer programs alone", NULL},
              {"dp", POPLINER_METHOD_DYNAMIC_PROGRAMMING,
               "the best split, by a dynamic program alone", NULL},
              {"popliner", POPLINER_METHOD_GREEDY,
               "the greedy algorithm and the memory model of PopLiner 1.0.0", NULL});
KIND_OF_WORDS(kind_memory_model,
              {"full", POPLINER_MEMORY_MODEL_FULL, "all that the compiler counts", NULL},
              {"popliner", POPLINER_MEMORY_MODEL_POPLINER, "the incomplete count of PopLiner 1.0.0",
               NULL});
KIND_OF_WORDS(kind_need,
              {"at-most", POPLINER_NEED_MOST, "require that even the high estimate fits", NULL},
              {"expected", POPLINER_NEED_EXPECTED, "the estimate itself", NULL},
              {"at-least", POPLINER_NEED_LEAST, "the lower end of the estimate", NULL});
KIND_OF_WORDS(kind_layer_order,
              {"steps", POPLINER_LAYER_ORDER_STEPS, "in the order in which they first run", NULL},
              {"natural", POPLINER_LAYER_ORDER_NATURAL, "by name, with numbers in order", NULL});
KIND_OF_WORDS(kind_color, {"auto", COLOUR_AUTO, "on a terminal, unless NO_COLOR is set", NULL},
              {"always", COLOUR_ALWAYS, "also in a pipe", NULL},
              {"never", COLOUR_NEVER, "nowhere", NULL});
KIND_OF_WORDS(kind_format, {"text", FORMAT_TEXT, "a report for people, with bars", NULL},
              {"tsv", POPLINER_FORMAT_TSV, "tables with tabs; JSON where there is no table", NULL},
              {"csv", POPLINER_FORMAT_CSV, "tables with commas", NULL},
              {"json", POPLINER_FORMAT_JSON, "JSON; for a split, including its proof", NULL},
              {"plot", FORMAT_PLOT, "a plot of the outputs tiles, liveness and plan", NULL});

/* ---- texts ---- */

static bool parse_flag(const char *text, void *field, problem *why) {
    (void)text;
    (void)why;
    *(bool *)field = true;
    return true;
}

static bool parse_text(const char *text, void *field, problem *why) {
    (void)why;
    *(const char **)field = text;
    return true;
}

static bool add_name(repeated *list, const char *name, size_t length) {
    char *copy = malloc(length + 1);
    if (copy == NULL || !list_add(&list->texts, &list->count, &copy, sizeof copy)) {
        free(copy);
        return false;
    }
    value_copy(name, length, copy);
    return true;
}

/* Reads names of folders, "a,b/"; a shell that completes one adds the '/'. */
static bool parse_names(const char *text, void *field, problem *why) {
    for (const char *name = text; name != NULL;) {
        const size_t span = value_span(name, ",");
        const size_t length = span > 1 && name[span - 1] == '/' ? span - 1 : span;
        if (length == 0)
            return problem_is(why, "expected names, like training,inference");
        why->lacks_memory = !add_name(field, name, length);
        if (why->lacks_memory)
            return false;
        name = name[span] == ',' ? name + span + 1 : NULL;
    }
    return true;
}

static bool objective_at(int i, kind_word *word) {
    if (i > THROUGHPUT)
        return false;
    *word = i == THROUGHPUT
                ? (kind_word){"throughput", i,
                              "samples a cycle over all replicas; with --total-ipus", NULL}
                : (kind_word){popliner_name_of(POPLINER_NAMED_OBJECTIVE, (size_t)i), i,
                              popliner_name_of(POPLINER_NAMED_MEANING, (size_t)i), NULL};
    return true;
}

/* "memory,cycles": each once. */
static bool parse_objectives(const char *text, void *field, problem *why) {
    asked_objectives *asked = field;
    *asked = (asked_objectives){.option = why->row->name, .text = text};
    for (const char *name = text; name != NULL;) {
        const size_t length = strcspn(name, ",");
        const int number = kind_find(why->row->kind, name, length);
        bool is_new = number >= 0;
        for (size_t i = 0; i < asked->count; i++)
            is_new = is_new && asked->names[i] != number;
        if (!is_new) {
            const nearest n = number < 0 ? kind_nearest(why->row->kind, name, length)
                                         : nearest_begin(name, length);
            return problem_is(why, "expected some of %s, each once, separated by commas%s",
                              kind_words(why->row->kind).text, nearest_hint(&n, "", "").text);
        }
        asked->names[asked->count++] = number;
        name = name[length] == '\0' ? NULL : name + length + 1;
    }
    return true;
}

const value_kind kind_flag = {.parse = parse_flag};
const value_kind kind_text = {.parse = parse_text};
const value_kind kind_split = {
    .parse = parse_text,
    .words = (const kind_word[]){{"whole", 0, "no cut", NULL}, {.name = NULL}},
    .forms = (const char *[][2]){{"A,B,...", "a cut after each of these layers, or after Head"},
                                 {NULL}}};
const value_kind kind_names = {
    .parse = parse_names,
    .is_list = true,
    .words = (const kind_word[]){{"all", 0, "one split for all reports", NULL}, {.name = NULL}},
    .forms = (const char *[][2]){{"NAME", "this report, like popliner DIRECTORY/NAME"},
                                 {"NAME,NAME,...", "one split for these reports"},
                                 {NULL}}};
const value_kind kind_objectives = {.word_at = objective_at, .parse = parse_objectives};

/* ---- numbers ---- */

static bool parse_number(const char *text, void *field, problem *why) {
    enum { MOST = 1000000 };
    const uint64_t min = why->row->kind != &kind_number;
    uint64_t number = 0;
    const char *end = NULL;
    if (*text == '\0' || strspn(text, "0123456789") != strlen(text))
        return false;
    if (!number_take(text, MOST, &number, &end) || number < min)
        return problem_is(why, "expected a number from %d to %d", (int)min, MOST);
    *(size_t *)field = (size_t)number;
    return true;
}

bool range_complain(const value_range *range, problem *why) {
    return range->last > 0 && range->last < range->first
               ? problem_is(why, "ends before it begins; write the smaller value first")
           : range_count(range) == SIZE_MAX
               ? problem_is(why, "has more than %d values; give a larger step", MAX_ROWS)
               : false;
}

static bool parse_ipus(const char *text, void *field, problem *why) {
    asked_ipus *asked = field;
    *asked = (asked_ipus){.number = 0};
    if (strstr(text, "..") == NULL)
        return parse_number(text, &asked->number, why);
    const char *end = range_take(text, true, &asked->range);
    if (end == NULL && asked->range.last == 0 && strspn(text, "0123456789.") == strlen(text))
        return problem_is(why, "expected numbers of IPUs from 1 to %d", MAX_ROWS * 100);
    return end != NULL && *end == '\0' && range_count(&asked->range) != SIZE_MAX
               ? true
               : range_complain(&asked->range, why);
}

/* "N", or "N/SIZE". */
static bool parse_batch(const char *text, void *field, problem *why) {
    asked_batch *batch = field;
    const char *slash = strchr(text, '/');
    char samples[24] = "";
    if (slash != NULL && (size_t)(slash - text) < sizeof samples)
        memcpy(samples, text, (size_t)(slash - text));
    *batch = (asked_batch){.samples = 0};
    if (!parse_number(slash == NULL ? text : samples, &batch->samples, why) ||
        (slash != NULL && !parse_number(slash + 1, &batch->of_micro_batch, why)))
        return false;
    return slash == NULL || batch->samples % batch->of_micro_batch == 0 ||
           problem_is(why, "%s is no multiple of %s", samples, slash + 1);
}

static bool parse_bytes(const char *text, void *field, problem *why) {
    (void)why;
    const char *end = popliner_size_take(text, field);
    return end != NULL && *end == '\0' && *(uint64_t *)field > 0;
}

/* Reads a percentage from 0 to 100, with or without its sign. False for anything else. */
static bool percent_take(const char *text, double *percent) {
    char *end = NULL;
    const size_t length = strspn(text, "0123456789.");
    *percent = strtod(text, &end);
    return length > 0 && end == text + length && (*end == '\0' || strcmp(end, "%") == 0) &&
           *percent <= 100;
}

static bool parse_percent(const char *text, void *field, problem *why) {
    (void)why;
    return percent_take(text, field);
}

/* A bare number is seconds. */
static bool parse_time(const char *text, void *field, problem *why) {
    static const struct {
        const char *unit;
        double seconds;
    } units[] = {{"", 1}, {"ms", 1e-3}, {"s", 1}, {"min", 60}, {"h", 3600}};
    double *seconds = field;
    const size_t length = strspn(text, "0123456789.");
    char *end = NULL;
    (void)why;
    *seconds = length > 0 ? strtod(text, &end) : 0;
    if (length == 0 || end != text + length || !(*seconds > 0))
        return false;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strcmp(end + (*end == ' '), units[i].unit) == 0) {
            *seconds *= units[i].seconds;
            return true;
        }
    return false;
}

const value_kind kind_number = {.parse = parse_number, .expected = "a whole number"};
const value_kind kind_count = {.parse = parse_number, .expected = "a whole number"};
const value_kind kind_ipus = {
    .parse = parse_ipus,
    .expected = "a number, like 4, or a range, like 1..8",
    .forms = (const char *[][2]){{"4", "at most 4 IPUs"},
                                 {"1..8", "a table with the best split of each number"},
                                 {"2..16:2", "the same, in steps of 2"},
                                 {"4..8", "with --total-ipus, pipelines on 4 to 8 IPUs"},
                                 {NULL}}};
const value_kind kind_batch = {.parse = parse_batch,
                               .expected = "samples, like 64, or 64/4 in micro-batches of 4"};
const value_kind kind_bytes = {
    .parse = parse_bytes,
    .expected = "bytes, like 638976, 624KiB or 1.5M",
    .forms = (const char *[][2]){{"4GB", "4,000,000,000 bytes; K, M, G and T are powers of 1000"},
                                 {"4GiB", "4,294,967,296 bytes; Ki, Mi, Gi and Ti are of 1024"},
                                 {NULL}}};
const value_kind kind_percent = {.parse = parse_percent,
                                 .expected = "a percentage from 0 to 100, like 2.5 or 2.5%"};
const value_kind kind_time = {.parse = parse_time,
                              .expected = "a time above 0, like 90s, 5min or 250ms",
                              .forms = (const char *[][2]){{"90s", "90 seconds; also 90"},
                                                           {"5min", "5 minutes; also 1h, 250ms"},
                                                           {NULL}}};

/* ---- lists of words ---- */

/* One way of recomputing, or several, separated by ',': of each stage, or after "auto:" those that
 * it chooses from. */
static bool parse_recompute(const char *text, void *field, problem *why) {
    static const char prefix[] = "auto:";
    asked_recompute *asked = field;
    const bool is_auto = strncmp(text, prefix, strlen(prefix)) == 0;
    const bool is_list = strchr(text, ',') != NULL && !is_auto;
    free(asked->each);
    *asked = (asked_recompute){.way = asked->way, .text = text};
    if (!is_auto && !is_list)
        return parse_word(text, &asked->way, why);
    asked->way = is_auto ? POPLINER_RECOMPUTE_AUTO : POPLINER_RECOMPUTE_NONE;
    asked->each = is_list ? calloc(strlen(text), sizeof *asked->each) : NULL;
    why->lacks_memory = is_list && asked->each == NULL;
    for (const char *name = is_auto ? text + strlen(prefix) : text; name != NULL;) {
        const size_t length = strcspn(name, ",");
        const int way = kind_find(why->row->kind, name, length);
        if (why->lacks_memory || way < 0 || way == POPLINER_RECOMPUTE_AUTO)
            return no_word(text, strlen(text), why);
        if (is_list)
            asked->each[asked->num_stages++] = (popliner_recompute)way;
        else
            asked->ways |= 1u << way;
        name = name[length] == ',' ? name + length + 1 : NULL;
    }
    return true;
}

const value_kind kind_recompute = {
    .parse = parse_recompute,
    .forms = (const char *[][2]){{"auto:standard,full", "each stage chooses from these"},
                                 {"full,none", "one for each stage, with --evaluate"},
                                 {NULL}},
    .words = (const kind_word[]){
        {"none", POPLINER_RECOMPUTE_NONE, "activations are stored", NULL},
        {"standard", POPLINER_RECOMPUTE_STANDARD,
         "as the compiler recomputes; tensors from or for other IPUs stay stored", NULL},
        {"full", POPLINER_RECOMPUTE_FULL,
         "only the inputs of a stage are stored; its forward pass runs twice", NULL},
        {"auto", POPLINER_RECOMPUTE_AUTO, "the best for each stage, memory against cycles", NULL},
        {.name = NULL}}};

/* Words of --effects that are no bits of effects: of accumulators, with those of the library added,
 * and all. */
enum { OF_ACCUMULATORS = POPLINER_EFFECTS_ALL + 1, ALL_EFFECTS = 2 * OF_ACCUMULATORS };

static bool parse_effects(const char *text, void *field, problem *why) {
    asked_effects *effects = field;
    *effects = (asked_effects){0, POPLINER_ACCUMULATORS_NONE};
    for (const char *name = text; name != NULL;) {
        const size_t length = strcspn(name, ",");
        const int effect = option_word(name, length, why);
        if (effect < 0)
            return false;
        if (effect == 0 && strlen(text) != length)
            return problem_is(why, "none is given alone");
        if (effect == ALL_EFFECTS)
            *effects = (asked_effects){POPLINER_EFFECTS_ALL, POPLINER_ACCUMULATORS_AUTO};
        else if (effect >= OF_ACCUMULATORS)
            effects->accumulators = (popliner_accumulators)(effect - OF_ACCUMULATORS);
        else
            effects->mask |= (unsigned)effect;
        name = name[length] == '\0' ? NULL : name + length + 1;
    }
    return true;
}

const value_kind kind_effects = {
    .parse = parse_effects,
    .expected = "all, none, or some of layout, passing, buffers, accumulators",
    .words = (const kind_word[]){
        {"layout", POPLINER_EFFECT_LAYOUT, "layout overhead, as in the profile", NULL},
        {"passing", POPLINER_EFFECT_PASSING, "tensors for a later stage pass through this IPU",
         NULL},
        {"buffers", POPLINER_EFFECT_BUFFERS,
         "send and receive buffers stay live for one pipeline cycle", NULL},
        {"accumulators", OF_ACCUMULATORS + POPLINER_ACCUMULATORS_AUTO,
         "gradient accumulators, if not in the profile", NULL},
        {"accumulators=fp16", OF_ACCUMULATORS + POPLINER_ACCUMULATORS_FP16,
         "accumulators of as many bytes as parameters of two bytes each", NULL},
        {"accumulators=fp32", OF_ACCUMULATORS + POPLINER_ACCUMULATORS_FP32,
         "accumulators of twice as many bytes", NULL},
        {"all", ALL_EFFECTS, "all of these", NULL},
        {"none", 0, "none of these", NULL},
        {.name = NULL}}};

/* ---- the pipeline ---- */

/* The IPU of each stage, "interleaved:V" or "v". */
static bool parse_map(const char *text, void *field, problem *why) {
    static const char interleaved[] = "interleaved:";
    bool has_stage[POPLINER_MAX_IPU + 1] = {false};
    asked_map *map = field;
    free(map->ipus);
    *map = (asked_map){.text = text,
                       .is_v = strcmp(text, "v") == 0,
                       .is_any = strcmp(text, "any") == 0,
                       .is_replicated = strcmp(text, "replicas") == 0};
    map->is_shared = map->is_v;
    if (map->is_v || map->is_any || map->is_replicated)
        return true;
    if (strncmp(text, interleaved, strlen(interleaved)) == 0) {
        const bool is_number = parse_number(text + strlen(interleaved), &map->interleaved, why);
        map->is_shared = map->interleaved > 1;
        return is_number;
    }
    map->ipus = calloc(strlen(text) + 1, sizeof *map->ipus);
    why->lacks_memory = map->ipus == NULL;
    for (const char *rest = text; !why->lacks_memory; rest++) {
        uint64_t ipu;
        if (!number_take(rest, POPLINER_MAX_IPU, &ipu, &rest) || (*rest != ',' && *rest != '\0'))
            return kind_find(why->row->kind, text, strlen(text)) >= 0
                       ? problem_is(why, "expected interleaved:V, like interleaved:2")
                       : no_word(text, strcspn(text, ":"), why);
        map->ipus[map->num_stages++] = (size_t)ipu;
        map->is_shared = map->is_shared || has_stage[ipu];
        has_stage[ipu] = true;
        if (*rest == '\0')
            return true;
    }
    return false;
}

const value_kind kind_map = {
    .parse = parse_map,
    .expected = "interleaved:V, v, any, replicas, or the IPU of each stage, like 0,1,2,0",
    .forms =
        (const char *[][2]){{"0,1,0", "the IPU of each stage; stages on one IPU share it"}, {NULL}},
    .words = (const kind_word[]){
        {"interleaved", 0, "V stages on each of exactly --num-ipus, in turn", "interleaved:V"},
        {"v", 0, "V-shaped: two stages on each IPU", NULL},
        {"any", 0, "the best order of devices; for files of costs", NULL},
        {"replicas", 0, "for files of costs: as many devices for each stage as are best", NULL},
        {.name = NULL}}};

/* A rule for copies among the schedules. */
enum { SCHEDULE_RULE = -2 };

/* Whether this is FILE.csv, or FILE.csv+N. */
static bool is_order_file(const char *text) {
    const char *end = strstr(text, ".csv");
    return end != NULL && (end[4] == '\0' || end[4] == '+');
}

static bool read_order(const char *text, asked_schedule *asked, problem *why) {
    popliner_error told = {.message = ""};
    const char *plus = strstr(text, ".csv") + 4;
    char *end = NULL;
    const unsigned long more = *plus == '+' ? strtoul(plus + 1, &end, 10) : 0;
    char *path = strndup(text, (size_t)(plus - text));
    *asked = (asked_schedule){.copies = text, .order = POPLINER_SCHEDULE_NONE, .text = text};
    if (*plus == '+' && (plus[1] < '0' || plus[1] > '9' || *end != '\0' || more > 99))
        problem_is(why, "expected a number of copies up to 99 after +, like FILE.csv+1");
    else if (path == NULL)
        why->lacks_memory = true;
    else if (popliner_order_read(path, NULL, 0, &asked->given, &told) != POPLINER_OK)
        problem_is(why, "%s", told.message);
    asked->path = path;
    asked->rule = (popliner_copies){
        .rule = POPLINER_COPIES_ORDER, .more = (size_t)more, .order = asked->given};
    return asked->given != NULL;
}

/* "NAME", "NAME:COPIES", or a rule for copies, with "+N" if wanted. */
static bool parse_schedule(const char *text, void *field, problem *why) {
    asked_schedule *asked = field;
    popliner_order_free(asked->given);
    free(asked->path);
    if (is_order_file(text))
        return read_order(text, asked, why);
    popliner_error told = {.message = ""};
    const size_t length = strcspn(text, ":+");
    const int order = kind_find(why->row->kind, text, length);
    *asked = (asked_schedule){.text = text, .order = POPLINER_SCHEDULE_NONE};
    if (order == SCHEDULE_RULE && text[length] != ':')
        asked->copies = text;
    else if (order == SCHEDULE_RULE)
        return problem_is(why, "%.*s takes no copies; write %.*s+N, or none:N,N,... for a list",
                          (int)length, text, (int)length, text);
    else if (order < 0 || text[length] == '+')
        return no_word(text, strcspn(text, ":"), why);
    else if (text[length] == ':')
        asked->copies = text + length + 1;
    if (order >= 0)
        asked->order = (popliner_schedule)order;
    if (asked->copies != NULL && asked->order == POPLINER_SCHEDULE_INFERENCE)
        return problem_is(why, "needs a --schedule that keeps activations, like popart");
    if (asked->copies == NULL ||
        popliner_copies_parse(asked->copies, &asked->rule, &told) == POPLINER_OK)
        return true;
    const char *sentence = strstr(told.message, ": "); /* after the library's own subject */
    return problem_is(why, "%s", sentence == NULL ? told.message : sentence + 2);
}

const value_kind kind_schedule = {
    .parse = parse_schedule,
    .forms =
        (const char *[][2]){
            {"FILE.csv", "the passes of each device, as PyTorch's CSV (-o order)"},
            {"popart:gpipe", "schedule popart, but as many copies as gpipe"},
            {"none:1,2,3,5", "1 copy for the last stage, 2 for the one before, ..."},
            {"none:0,1,...", "an arithmetic progression: 0, 1, 2, 3 and so on"},
            {"1f1b+2", "2 copies more than 1f1b; also gpipe+2, and so on"},
            {NULL}},
    .words = (const kind_word[]){
        {"none", POPLINER_SCHEDULE_NONE, "no stage stores activations", NULL},
        {"inference", POPLINER_SCHEDULE_INFERENCE, "there is no backward pass", NULL},
        {"sequential", POPLINER_SCHEDULE_SEQUENTIAL, "one micro-batch at a time", NULL},
        {"popart", POPLINER_SCHEDULE_POPART, "PopART, PopTorch: 2d + 1 copies if d stages follow",
         NULL},
        {"tf-grouped", POPLINER_SCHEDULE_TF_GROUPED, "of TensorFlow and Keras, grouped", NULL},
        {"tf-interleaved", POPLINER_SCHEDULE_TF_INTERLEAVED, "of TensorFlow, interleaved", NULL},
        {"1f1b", SCHEDULE_RULE, "alternates passes: d copies if d stages follow", NULL},
        {"gpipe", SCHEDULE_RULE, "all micro-batches forward, then all backward", NULL},
        {"zero-bubble", SCHEDULE_RULE, "1f1b with backward passes in two parts", NULL},
        {"zb-h2", SCHEDULE_RULE, "zero-bubble that keeps twice as many copies (ZB2P)", NULL},
        {"interleaved", SCHEDULE_RULE, "1f1b with several stages on each IPU", NULL},
        {"v-half", SCHEDULE_RULE, "in a V: half of the copies of 1f1b", NULL},
        {"v-min", SCHEDULE_RULE, "in a V: a third of the copies of 1f1b", NULL},
        {"dualpipev", SCHEDULE_RULE, "in a V: pairs of forward and backward passes", NULL},
        {.name = NULL}}};

/* "growth=5%", "unexplained=5%" or "contradiction", or several of them with commas between. */
static bool parse_failures(const char *text, void *field, problem *why) {
    asked_failures *asked = field;
    for (const char *part = text; part != NULL;) {
        char number[24] = "";
        double percent = 0;
        const size_t length = strcspn(part, ",");
        const size_t name = strcspn(part, "=,");
        const int of = option_word(part, name, why);
        if (of < 0)
            return false;
        if (name < length && length - name < sizeof number)
            memcpy(number, part + name + 1, length - name - 1);
        if (of == FAIL_ON_CONTRADICTION ? name < length : !percent_take(number, &percent))
            return problem_is(why,
                              of == FAIL_ON_CONTRADICTION
                                  ? "contradiction has no value"
                                  : "expected a share from 0%% to 100%%, like %.*s=2.5%%",
                              (int)name, part);
        if (of == FAIL_ON_CONTRADICTION) {
            asked->contradiction = true;
        } else if (of == FAIL_ON_UNEXPLAINED) {
            asked->unexplained_percent = percent;
        } else {
            asked->growth_percent[of] = percent;
        }
        part = part[length] == '\0' ? NULL : part + length + 1;
    }
    return true;
}

const value_kind kind_failures = {
    .parse = parse_failures,
    .is_list = true,
    .expected = "growth=2%, growth.layers=5%, unexplained=3% or contradiction",
    .words = (const kind_word[]){
        {"growth", POPLINER_GROWTH_LARGEST_TILE, "with --compare: the fullest tile grew by more",
         "growth=N%"},
        {"growth.tiles", POPLINER_GROWTH_TILES, "any tile", "growth.tiles=N%"},
        {"growth.categories", POPLINER_GROWTH_CATEGORIES, "any category of memory",
         "growth.categories=N%"},
        {"growth.layers", POPLINER_GROWTH_LAYERS, "any layer", "growth.layers=N%"},
        {"growth.stages", POPLINER_GROWTH_STAGES, "any stage", "growth.stages=N%"},
        {"growth.cycles", POPLINER_GROWTH_CYCLES, "the cycles", "growth.cycles=N%"},
        {"unexplained", FAIL_ON_UNEXPLAINED,
         "with --diagnose: explained and compiled bytes differ by more", "unexplained=N%"},
        {"contradiction", FAIL_ON_CONTRADICTION,
         "exit status 3, without an answer, for an inconsistent profile", NULL},
        {.name = NULL}}};
