/* The kinds of values: how each is read.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "command/option_table.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "command/values.h"
#include "popliner/solver.h"
#include "popliner/utilities.h"

_Static_assert(sizeof(popliner_section) == sizeof(int) && sizeof(solver_choice) == sizeof(int),
               "words are written as int");

bool(problem_is)(problem *why, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(why->text, sizeof why->text, format, arguments);
    va_end(arguments);
    return false;
}

static bool lacks_memory(problem *why) {
    why->lacks_memory = true;
    return false;
}

/* ---- words ---- */

/* The word at a place, NULL after the last. */
static const char *word_of(const value_kind *kind, int i) {
    return kind->word_at != NULL ? kind->word_at(i)
           : kind->words == NULL ? NULL
                                 : kind->words[i].name;
}

int kind_find(const value_kind *kind, const char *name, size_t length) {
    for (int i = 0; word_of(kind, i) != NULL; i++)
        if (strlen(word_of(kind, i)) == length && memcmp(word_of(kind, i), name, length) == 0)
            return kind->words == NULL ? i : kind->words[i].number;
    return -1;
}

const char *kind_words(const value_kind *kind, const char *separator, char text[CHOICES_BYTES]) {
    size_t length = 0;
    *text = '\0';
    for (int i = 0; word_of(kind, i) != NULL && length < CHOICES_BYTES; i++)
        length += (size_t)snprintf(text + length, CHOICES_BYTES - length, "%s%s",
                                   i == 0 ? "" : separator, word_of(kind, i));
    return text;
}

/* Says that a name is none of the words. */
static bool no_word(const value_kind *kind, const char *name, size_t length, problem *why) {
    char words[CHOICES_BYTES];
    char hint[NEAREST_HINT_BYTES];
    nearest n = nearest_begin(name, length);
    for (int i = 0; word_of(kind, i) != NULL; i++)
        nearest_offer(&n, word_of(kind, i), strlen(word_of(kind, i)));
    const char *expected = kind->expected;
    return problem_is(why, "expected %s%s%s", expected == NULL ? "one of " : expected,
                      expected == NULL ? kind_words(kind, "|", words) : "",
                      nearest_hint(&n, "", "", hint));
}

static bool parse_word(const char *text, const option *row, void *field, problem *why) {
    const int number = kind_find(row->kind, text, strlen(text));
    if (number < 0)
        return no_word(row->kind, text, strlen(text), why);
    memcpy(field, &number, sizeof number);
    return true;
}

#define KIND_OF_WORDS(name, ...)                                                                   \
    const value_kind name = {.words = (const kind_word[]){__VA_ARGS__, {NULL, 0}},                 \
                             .parse = parse_word,                                                  \
                             .size = sizeof(int)}

KIND_OF_WORDS(kind_plot, {"tiles", POPLINER_PLOT_TILES}, {"liveness", POPLINER_PLOT_LIVENESS},
              {"plan", POPLINER_PLOT_PLAN});
KIND_OF_WORDS(kind_solver, {"auto", SOLVER_AUTO}, {"ilp", SOLVER_ILP}, {"dp", SOLVER_DP},
              {"greedy", SOLVER_GREEDY});
KIND_OF_WORDS(kind_memory_model, {"full", MODEL_FULL}, {"popliner", MODEL_POPLINER});
KIND_OF_WORDS(kind_schedule, {"none", POPLINER_SCHEDULE_NONE},
              {"inference", POPLINER_SCHEDULE_INFERENCE}, {"training", POPLINER_SCHEDULE_POPART},
              {"popart", POPLINER_SCHEDULE_POPART}, {"tf-grouped", POPLINER_SCHEDULE_TF_GROUPED},
              {"tf-interleaved", POPLINER_SCHEDULE_TF_INTERLEAVED},
              {"sequential", POPLINER_SCHEDULE_SEQUENTIAL});
KIND_OF_WORDS(kind_accumulators, {"none", POPLINER_ACCUMULATORS_NONE},
              {"fp16", POPLINER_ACCUMULATORS_FP16}, {"fp32", POPLINER_ACCUMULATORS_FP32},
              {"auto", POPLINER_ACCUMULATORS_AUTO});
KIND_OF_WORDS(kind_need, {"low", POPLINER_NEED_MOST}, {"expected", POPLINER_NEED_EXPECTED},
              {"high", POPLINER_NEED_LEAST});
KIND_OF_WORDS(kind_layer_order, {"steps", POPLINER_LAYER_ORDER_STEPS},
              {"natural", POPLINER_LAYER_ORDER_NATURAL});
KIND_OF_WORDS(kind_format, {"tsv", POPLINER_FORMAT_TSV}, {"csv", POPLINER_FORMAT_CSV},
              {"json", POPLINER_FORMAT_JSON});

static const char *section_at(int i) {
    return popliner_name_of(POPLINER_NAMED_SECTION, (size_t)i);
}

const value_kind kind_section = {.word_at = section_at, .parse = parse_word};

/* ---- texts ---- */

static bool parse_flag(const char *text, const option *row, void *field, problem *why) {
    (void)text;
    (void)row;
    (void)why;
    *(bool *)field = true;
    return true;
}

static bool parse_text(const char *text, const option *row, void *field, problem *why) {
    (void)row;
    (void)why;
    *(const char **)field = text;
    return true;
}

static bool parse_texts(const char *text, const option *row, void *field, problem *why) {
    repeated *list = field;
    (void)row;
    const char **texts = realloc(list->texts, (list->count + 1) * sizeof *texts);
    if (texts == NULL)
        return lacks_memory(why);
    texts[list->count++] = text;
    list->texts = texts;
    return true;
}

static const char *compromise_at(int i) {
    return popliner_name_of(POPLINER_NAMED_OBJECTIVE, (size_t)i);
}

static const char *objective_at(int i) {
    return i == POPLINER_NUM_OBJECTIVES ? "throughput" : compromise_at(i);
}

const value_kind kind_flag = {.parse = parse_flag, .size = sizeof(bool)};
const value_kind kind_text = {.parse = parse_text};
const value_kind kind_texts = {.parse = parse_texts, .is_list = true};
const value_kind kind_written = {.parse = parse_text, .is_path = true, .use = PATH_WRITTEN};
const value_kind kind_read = {.parse = parse_text, .is_path = true, .use = PATH_READ};
const value_kind kind_reports = {.parse = parse_text, .is_path = true, .use = PATH_READ_REPORT};
/* The rest is checked where it is used. */
const value_kind kind_objectives = {.word_at = objective_at, .parse = parse_text};
const value_kind kind_pareto = {.word_at = compromise_at, .parse = parse_text};
const value_kind kind_sweep = {
    .words = (const kind_word[]){{"num-ipus", 0}, {"mem-per-tile", 0}, {NULL, 0}},
    .parse = parse_text};
const value_kind kind_copies = {
    .words =
        (const kind_word[]){
            {"1f1b", 0}, {"gpipe", 0}, {"zero-bubble", 0}, {"interleaved", 0}, {NULL, 0}},
    .parse = parse_text};

/* ---- numbers ---- */

static bool parse_number(const char *text, const option *row, void *field, problem *why) {
    enum { MOST = 1000000 };
    const uint64_t min = row->kind == &kind_count;
    uint64_t number = 0;
    const char *end = NULL;
    if (*text == '\0' || strspn(text, "0123456789") != strlen(text))
        return false;
    if (!number_take(text, MOST, &number, &end) || number < min)
        return problem_is(why, "expected a number from %d to %d", (int)min, MOST);
    *(size_t *)field = (size_t)number;
    return true;
}

static bool parse_bytes(const char *text, const option *row, void *field, problem *why) {
    (void)row;
    (void)why;
    const char *end = popliner_size_take(text, field);
    return end != NULL && *end == '\0' && *(uint64_t *)field > 0;
}

static bool parse_percent(const char *text, const option *row, void *field, problem *why) {
    (void)row;
    (void)why;
    return percent_take(text, field);
}

static bool parse_time(const char *text, const option *row, void *field, problem *why) {
    double *seconds = field;
    char *end = NULL;
    (void)row;
    (void)why;
    *seconds = strtod(text, &end);
    return strspn(text, "0123456789.") == strlen(text) && *end == '\0' && *seconds > 0;
}

const value_kind kind_number = {
    .parse = parse_number, .size = sizeof(size_t), .expected = "a whole number"};
const value_kind kind_count = {
    .parse = parse_number, .size = sizeof(size_t), .expected = "a whole number"};
const value_kind kind_bytes = {
    .parse = parse_bytes,
    .expected = "a whole number of bytes from 1 to 9223372036854775807, like 638976, 624KiB or "
                "1.5M"};
const value_kind kind_percent = {.parse = parse_percent,
                                 .expected = "a percentage from 0 to 100, like 2.5 or 2.5%"};
const value_kind kind_time = {.parse = parse_time, .expected = "a number of seconds above 0"};

static bool parse_reserve(const char *text, const option *row, void *field, problem *why) {
    asked_reserve *reserve = field;
    const size_t length = strlen(text);
    double percent = 0;
    (void)row;
    if (strcmp(text, "gaps") == 0) {
        reserve->kind = RESERVE_GAPS;
        return true;
    }
    if (length > 1 && text[length - 1] == '%') {
        reserve->kind = RESERVE_PERCENT;
        if (!percent_take(text, &percent))
            return problem_is(why, "expected %s", kind_percent.expected);
        reserve->amount = (uint64_t)(percent * 100 + 0.5);
        return true;
    }
    const char *end = popliner_size_take(text, &reserve->amount);
    reserve->kind = RESERVE_BYTES;
    return end != NULL && *end == '\0';
}

const value_kind kind_reserve = {
    .parse = parse_reserve,
    .expected = "a whole number of bytes up to 9223372036854775807, like 60000 or 60K, a "
                "percentage, like 5%, or gaps"};

/* ---- lists of words ---- */

/* One way of recomputing, or several, separated by ',': of each stage, or after "auto:" those that
 * it chooses from. */
static bool parse_recompute(const char *text, const option *row, void *field, problem *why) {
    static const char prefix[] = "auto:";
    asked_recompute *asked = field;
    const bool is_auto = strncmp(text, prefix, strlen(prefix)) == 0;
    unsigned ways = 0;
    *asked = (asked_recompute){.way = asked->way};
    if (!is_auto && strchr(text, ',') == NULL)
        return parse_word(text, row, &asked->way, why);
    for (const char *name = is_auto ? text + strlen(prefix) : text; name != NULL;) {
        const size_t length = strcspn(name, ",");
        const int way = kind_find(row->kind, name, length);
        if (way < 0 || way == POPLINER_RECOMPUTE_AUTO)
            return no_word(row->kind, text, strlen(text), why);
        ways |= 1u << way;
        name = name[length] == ',' ? name + length + 1 : NULL;
    }
    *asked = (asked_recompute){.way = is_auto ? POPLINER_RECOMPUTE_AUTO : POPLINER_RECOMPUTE_NONE,
                               .each = text,
                               .ways = is_auto ? ways : 0};
    return true;
}

const value_kind kind_recompute = {
    .parse = parse_recompute,
    .size = sizeof(int),
    .words = (const kind_word[]){{"none", POPLINER_RECOMPUTE_NONE},
                                 {"standard", POPLINER_RECOMPUTE_STANDARD},
                                 {"full", POPLINER_RECOMPUTE_FULL},
                                 {"auto", POPLINER_RECOMPUTE_AUTO},
                                 {NULL, 0}}};

static bool parse_effects(const char *text, const option *row, void *field, problem *why) {
    unsigned *effects = field;
    *effects = 0;
    for (const char *name = text; name != NULL;) {
        const size_t length = strcspn(name, ",");
        const int effect = kind_find(row->kind, name, length);
        const bool is_alone = effect == 0 || effect == (int)POPLINER_EFFECTS_ALL;
        if (effect < 0 || (is_alone && strlen(text) != length))
            return no_word(row->kind, name, length, why);
        *effects |= (unsigned)effect;
        name = name[length] == '\0' ? NULL : name + length + 1;
    }
    return true;
}

const value_kind kind_effects = {.parse = parse_effects,
                                 .size = sizeof(int),
                                 .expected = "none, all, or some of layout,passing,buffers",
                                 .words = (const kind_word[]){{"layout", POPLINER_EFFECT_LAYOUT},
                                                              {"passing", POPLINER_EFFECT_PASSING},
                                                              {"buffers", POPLINER_EFFECT_BUFFERS},
                                                              {"none", 0},
                                                              {"all", (int)POPLINER_EFFECTS_ALL},
                                                              {NULL, 0}}};

static const char *growth_at(int i) {
    return popliner_name_of(POPLINER_NAMED_GROWTH, (size_t)i);
}

/* "5", "layers=5", or several of them with commas between them. */
static bool parse_growth(const char *text, const option *row, void *field, problem *why) {
    asked_growths *growths = field;
    for (const char *part = text; part != NULL;) {
        char number[24] = "";
        const size_t length = strcspn(part, ",");
        const size_t name = strcspn(part, "=,");
        const size_t start = name < length ? name + 1 : 0;
        const int of =
            start == 0 ? (int)POPLINER_GROWTH_LARGEST_TILE : kind_find(row->kind, part, name);
        if (of < 0)
            return no_word(row->kind, part, name, why);
        if (length - start < sizeof number)
            memcpy(number, part + start, length - start);
        if (!percent_take(number, &growths->percent[of]))
            return problem_is(why, "expected percentages from 0 to 100, like 2.5 or layers=2.5%%");
        if (growths->texts[of] != NULL && strcmp(growths->texts[of], text) != 0)
            why->before = growths->texts[of];
        growths->texts[of] = text;
        part = part[length] == '\0' ? NULL : part + length + 1;
    }
    return true;
}

const value_kind kind_growth = {
    .parse = parse_growth,
    .is_list = true,
    .expected = "PERCENT, or WHAT=PERCENT with one of tiles, categories, layers, stages, cycles",
    .word_at = growth_at};

/* ---- files of something ---- */

static const char *emit_at(int i) {
    return popliner_name_of(POPLINER_NAMED_EMIT_FORMAT, (size_t)i);
}

/* "WORD=FILE", or, of what may be printed, "WORD". */
static bool parse_file_of(const char *text, const option *row, void *field, problem *why) {
    const size_t length = strcspn(text, "=");
    const char *path = text[length] == '=' ? text + length + 1 : NULL;
    const int what = kind_find(row->kind, text, length);
    written_files *files = field;
    if (what < 0) {
        char words[CHOICES_BYTES];
        char hint[NEAREST_HINT_BYTES];
        nearest n = nearest_begin(text, length);
        nearest_offer_list(&n, kind_words(row->kind, "|", words), '|');
        return problem_is(why, "expected %s %s%s", row->kind->expected, words,
                          nearest_hint(&n, "", "", hint));
    }
    if (path == NULL ? row->kind == &kind_sections : *path == '\0')
        return problem_is(why, "into which file? Give --%s %.*s=FILE", row->name, (int)length,
                          text);
    written_file *items = realloc(files->items, (files->count + 1) * sizeof *items);
    if (items == NULL)
        return lacks_memory(why);
    items[files->count++] = (written_file){what, path};
    files->items = items;
    return true;
}

const value_kind kind_sections = {.parse = parse_file_of,
                                  .is_list = true,
                                  .expected = "SECTION=FILE with one of the sections",
                                  .word_at = section_at};
const value_kind kind_emits = {.parse = parse_file_of,
                               .is_list = true,
                               .expected = "FORMAT or FORMAT=FILE with one of the formats",
                               .word_at = emit_at};
