/* Orders of passes from a file, in PyTorch's notation of schedules.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "pipeline/order_file.h"

#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "base/growth.h"
#include "base/new_file.h"
#include "base/numbers.h"

enum { MOST_NUMBER = 65535 };

/* Where a pass is in the file; row 0: nowhere. */
typedef struct place {
    uint32_t row;
    uint32_t column;
    bool has_run;
} place;

typedef struct reader {
    pl_given_order *o;
    const char *name;
    size_t row; /* from 1 on */
    size_t column;
    size_t capacity;      /* of o->passes */
    size_t rows_capacity; /* of o->first */
    place *places;        /* [PL_NUM_PASS_KINDS][stages * micro-batches] */
    popliner_error *error;
    popliner_status status;
} reader;

static popliner_status refuse(const reader *r, size_t row, size_t column, const char *words) {
    return pl_fail(r->error, POPLINER_ERROR_INPUT, "%s: row %zu, column %zu: %s", r->name, row,
                   column, words);
}

static bool take_number(const char **text, const char *end, size_t *number) {
    const char *begin = *text;
    for (*number = 0; *text < end && **text >= '0' && **text <= '9' && *number <= MOST_NUMBER;
         ++*text)
        *number = 10 * *number + (size_t)(**text - '0');
    return *text > begin && *number <= MOST_NUMBER;
}

static bool is_blank(char letter) {
    return letter == ' ' || letter == '\t' || letter == '\r' || letter == '\n';
}

/* Reads a cell like "0F3"; an empty one is a device that waits. */
static popliner_status read_cell(reader *r, const char *text, const char *end) {
    static const char letters[] = "FBWI";
    pl_pass pass = {.kind = PL_PASS_FORWARD};
    pl_given_order *o = r->o;
    while (text < end && is_blank(*text))
        ++text;
    while (text < end && is_blank(end[-1]))
        --end;
    if (text == end)
        return POPLINER_OK;
    bool is_one = take_number(&text, end, &pass.stage) && text < end;
    const char *letter = is_one ? strchr(letters, *text++) : NULL;
    is_one = letter != NULL && *letter != '\0' && take_number(&text, end, &pass.micro_batch);
    if (!is_one || text != end)
        return refuse(r, r->row, r->column,
                      "expected a stage, F, B, I or W, and a micro-batch, like 0F3; leave out "
                      "passes that only send");
    pass.kind = *letter == 'I' ? PL_PASS_BACKWARD : (pl_pass_kind)(letter - letters);
    pass.is_last = *letter == 'B' || *letter == 'W';
    o->info.has_weights = o->info.has_weights || *letter == 'W';
    o->info.num_stages = pl_more(o->info.num_stages, pass.stage + 1);
    o->info.num_micro_batches = pl_more(o->info.num_micro_batches, pass.micro_batch + 1);
    if (!pl_grow(&o->passes, &r->capacity, o->num_passes + 1, sizeof *o->passes))
        return pl_fail_memory(r->error, "an order of passes");
    o->passes[o->num_passes++] = (pl_given_pass){pass, (uint32_t)r->row, (uint32_t)r->column};
    return POPLINER_OK;
}

static popliner_status read_rows(reader *r, const char *text, const char *end) {
    static const char byte_order_mark[] = "\xef\xbb\xbf";
    const size_t mark_size = strlen(byte_order_mark);
    pl_given_order *o = r->o;
    if ((size_t)(end - text) >= mark_size && memcmp(text, byte_order_mark, mark_size) == 0)
        text += mark_size;
    while (end > text && is_blank(end[-1])) /* empty lines are no devices */
        --end;
    while (r->status == POPLINER_OK && text < end) {
        const char *line_end = memchr(text, '\n', (size_t)(end - text));
        const char *next = line_end == NULL ? end : line_end + 1;
        line_end = line_end == NULL ? end : line_end;
        if (!pl_grow(&o->first, &r->rows_capacity, ++r->row + 1, sizeof *o->first))
            return pl_fail_memory(r->error, "an order of passes");
        o->first[r->row - 1] = o->num_passes;
        r->column = 0;
        for (const char *cell = text; r->status == POPLINER_OK && cell != NULL;) {
            const char *comma = memchr(cell, ',', (size_t)(line_end - cell));
            ++r->column;
            r->status = read_cell(r, cell, comma == NULL ? line_end : comma);
            cell = comma == NULL ? NULL : comma + 1;
        }
        o->first[r->row] = o->num_passes;
        text = next;
    }
    o->info.num_ipus = r->row;
    return r->status;
}

static place *place_of(const reader *r, pl_pass_kind kind, size_t stage, size_t micro) {
    const pl_given_order *o = r->o;
    return &r->places[((size_t)kind * o->info.num_stages + stage) * o->info.num_micro_batches +
                      micro];
}

/* Finds where each pass is, and that each is there once, on the device of its stage. */
static popliner_status place_passes(reader *r) {
    popliner_order *info = &r->o->info;
    const size_t num_ipus = info->num_ipus;
    bool goes_round = true;
    bool is_v = num_ipus > 1 && info->num_stages == 2 * num_ipus;
    for (size_t i = 0; i < r->o->num_passes; ++i) {
        const pl_given_pass *g = &r->o->passes[i];
        place *own = place_of(r, g->pass.kind, g->pass.stage, g->pass.micro_batch);
        const size_t back = 2 * num_ipus - 1 - g->pass.stage;
        goes_round = goes_round && g->pass.stage % num_ipus == g->row - 1;
        is_v = is_v && (g->pass.stage < num_ipus ? g->pass.stage : back) == g->row - 1;
        if (!goes_round && !is_v)
            return refuse(r, g->row, g->column,
                          "with the passes before it, stages neither go round the rows (stage k in "
                          "row k modulo their number) nor there and back");
        if (own->row > 0)
            return refuse(r, g->row, g->column, "this pass was there before; leave it out");
        *own = (place){g->row, g->column, false};
    }
    info->is_v = is_v && !goes_round;
    return info->num_stages % num_ipus == 0
               ? POPLINER_OK
               : refuse(r, num_ipus, 1, "the rows have different numbers of stages");
}

/* Returns what a micro-batch of a stage lacks; NULL if nothing. */
static const char *find_missing(const reader *r, size_t stage, size_t micro, bool is_whole) {
    return place_of(r, PL_PASS_FORWARD, stage, micro)->row == 0                 ? "F"
           : place_of(r, PL_PASS_BACKWARD, stage, micro)->row == 0              ? "B"
           : (place_of(r, PL_PASS_WEIGHTS, stage, micro)->row == 0) == is_whole ? NULL
           : is_whole ? "I instead of B, which has the gradients of weights of its W,"
                      : "W after its I";
}

static popliner_status check_all(reader *r) {
    const popliner_order *info = &r->o->info;
    for (size_t i = 0; i < r->o->num_passes; ++i) {
        const pl_given_pass *g = &r->o->passes[i];
        const char *missing =
            g->pass.kind != PL_PASS_BACKWARD
                ? NULL
                : find_missing(r, g->pass.stage, g->pass.micro_batch, g->pass.is_last);
        if (missing != NULL)
            return pl_fail(r->error, POPLINER_ERROR_INPUT,
                           "%s: row %u, column %u: micro-batch %zu of stage %zu has no %s in any "
                           "row; add it",
                           r->name, (unsigned)g->row, (unsigned)g->column, g->pass.micro_batch,
                           g->pass.stage, missing);
    }
    for (size_t stage = 0; stage < info->num_stages; ++stage)
        for (size_t micro = 0; micro < info->num_micro_batches; ++micro)
            for (int kind = PL_PASS_FORWARD; kind <= PL_PASS_BACKWARD; ++kind)
                if (place_of(r, (pl_pass_kind)kind, stage, micro)->row == 0)
                    return pl_fail(r->error, POPLINER_ERROR_INPUT,
                                   "%s: no row has the pass %zu%c%zu; add it", r->name, stage,
                                   "FB"[kind], micro);
    return POPLINER_OK;
}

/* A pl_order_function. */
static bool run(void *user, size_t device, const pl_pass *p) {
    const reader *r = user;
    const pl_pass_kind before = p->kind == PL_PASS_WEIGHTS ? PL_PASS_BACKWARD : PL_PASS_FORWARD;
    place *own = place_of(r, p->kind, p->stage, p->micro_batch);
    (void)device;
    own->has_run =
        p->kind == PL_PASS_FORWARD
            ? p->stage == 0 || place_of(r, p->kind, p->stage - 1, p->micro_batch)->has_run
            : place_of(r, before, p->stage, p->micro_batch)->has_run &&
                  (p->kind == PL_PASS_WEIGHTS || p->stage + 1 == r->o->info.num_stages ||
                   place_of(r, p->kind, p->stage + 1, p->micro_batch)->has_run);
    return own->has_run;
}

/* Checks that no pass waits for itself. */
static popliner_status run_all(reader *r) {
    const popliner_order *info = &r->o->info;
    const popliner_pipeline pipeline = {.copies = {.rule = POPLINER_COPIES_ORDER,
                                                   .order = info,
                                                   .num_micro_batches = info->num_micro_batches}};
    const pl_order order =
        pl_order_of(&pipeline, info->num_ipus, info->num_stages / info->num_ipus, info->is_v);
    popliner_status status = pl_order_run(&order, run, r, r->error);
    for (size_t i = 0; status == POPLINER_OK && i < r->o->num_passes; ++i) {
        const pl_given_pass *g = &r->o->passes[i];
        if (!place_of(r, g->pass.kind, g->pass.stage, g->pass.micro_batch)->has_run)
            status = refuse(r, g->row, g->column,
                            "this pass waits for one that never runs before it; put it later");
    }
    return status;
}

static popliner_status check(reader *r) {
    pl_given_order *o = r->o;
    pl_arrays own = {0};
    if (o->num_passes == 0)
        return pl_fail(r->error, POPLINER_ERROR_INPUT,
                       "%s: there is no pass; expected a row for each device, like 0F0,0B0",
                       r->name);
    const size_t count = o->info.num_stages * o->info.num_micro_batches;
    if (count > o->num_passes) /* before room is allocated */
        return pl_fail(r->error, POPLINER_ERROR_INPUT,
                       "%s: %zu passes are too few for %zu stages and %zu micro-batches; number "
                       "both from 0 on",
                       r->name, o->num_passes, o->info.num_stages, o->info.num_micro_batches);
    r->places = pl_arrays_new(&own, PL_NUM_PASS_KINDS * count, sizeof *r->places);
    popliner_status status =
        own.failed ? pl_fail_memory(r->error, "an order of passes") : place_passes(r);
    if (status == POPLINER_OK)
        status = check_all(r);
    if (status == POPLINER_OK)
        status = run_all(r);
    pl_arrays_free(&own);
    return status;
}

popliner_status popliner_order_read(const char *path, const char *text, size_t length,
                                    popliner_order **order, popliner_error *error) {
    pl_text file = {0};
    pl_given_order *o = calloc(1, sizeof *o);
    reader r = {.o = o, .name = path, .error = error};
    *order = NULL;
    if (o == NULL)
        return pl_fail_memory(error, "an order of passes");
    if (text == NULL) {
        r.status = pl_file_read(path, "an order of passes", &file, error);
        text = file.data == NULL ? "" : file.data;
        length = file.length;
    }
    if (r.status == POPLINER_OK)
        r.status = read_rows(&r, text, text + length);
    if (r.status == POPLINER_OK)
        r.status = check(&r);
    free(file.data);
    *order = &o->info;
    if (r.status != POPLINER_OK) {
        popliner_order_free(&o->info);
        *order = NULL;
    }
    return r.status;
}

void popliner_order_free(popliner_order *order) {
    pl_given_order *o = (pl_given_order *)order;
    if (o == NULL)
        return;
    free(o->passes);
    free(o->first);
    free(o);
}
