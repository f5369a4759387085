/* A bound: whether all IPUs together can hold the units, if units share code or data.
 *
 * Units have weights. Suppose an IPU may have any units, in as many stages as it has, within its
 * limit: then the largest weight it can hold is computed exactly, except for one relaxation. If all
 * IPUs together cannot hold the sum of the weights, there is no split. That holds for any weights.
 * They are raised where too few IPUs would take a unit, and lowered where too many would (a
 * Lagrangian of the program that has a column for each set of units of an IPU).
 *
 * The weight of one IPU: items that none of its units uses are left out. For each set of items left
 * out, its stages consist of units that use none of these, and all other items are paid for. Sets
 * are tried from the empty one on. A larger set never allows more units, and is skipped if its
 * units, without any limit, weigh no more than the best. For one set, the limit is relaxed: bytes
 * have a price, and a walk along the chain finds the best stages.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "solve/shared/shared.h"

#include "base/failure.h"
#include "base/growth.h"
#include "costs/triangle.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_STAGES = 32, /* of one IPU */
    MOST_GAP = 15,    /* longer ones count as this */
    /* For one IPU, in steps of a unit and a stage. What is not tried by then counts with its
     * bound. */
    MOST_LOOKS = 30000000,
    PRICE_STEPS = 8,
    MARK_STEPS = 20,
    STEPS_TO_SHORTEN = 5,
};
#define MOST_PRICE 2.0
#define MARGIN 1e-9
/* Relative to the weights of all IPUs; shortened when it does not help. */
#define FIRST_STEP 0.05
#define STEP_SHORTER 0.7
#define LEAST_STEP 1e-5

/* A search for the largest weight of one IPU. */
typedef struct holder {
    const pl_room *room;
    const pl_room_kind *kind;
    pl_shared_items items;
    double room_bytes; /* what the limit leaves after all items; may be negative */
    double usual_price;
    double best;
    uint64_t best_set;
    size_t num_walks;
    size_t most_walks;
} holder;

/* The result of a walk. */
typedef struct walked {
    double weight; /* less the price of the bytes */
    double bytes;
    size_t num_stages; /* of the best stages */
} walked;

enum { BEGINS = 1, ENDS = 2 };

/* Finds the stages of largest weight, less the price of their bytes, among the units without items
 * of `set`. For each number of stages it has the best value inside and outside of the last stage.
 * Sets steps[units][stages + 1] (may be NULL) to where these stages begin and end. */
static walked walk(holder *h, uint64_t set, double price, uint8_t *steps) {
    const pl_room_kind *kind = h->kind;
    size_t n = h->room->problem->num_units;
    size_t num_stages = kind->num_stages;
    walked in[MOST_STAGES + 1];
    walked outs[MOST_GAP + 1][MOST_STAGES + 1]; /* after each of the last units */
    walked *last = outs[0];
    for (size_t k = 0; k <= num_stages; ++k) {
        in[k] = (walked){-INFINITY, 0.0, k};
        for (size_t i = 0; i <= kind->gap; ++i)
            outs[i][k] = (walked){k == 0 ? 0.0 : -INFINITY, 0.0, k};
    }
    ++h->num_walks;
    for (size_t unit = 0; unit < n; ++unit) {
        bool is_left_out = (h->items.uses[unit] & set) != 0;
        walked *out = outs[unit % (kind->gap + 1)]; /* still that of before the gap */
        for (size_t k = num_stages; k > 0; --k) {
            size_t at = (k - 1) * n + unit;
            uint8_t step = 0;
            walked begin = {out[k - 1].weight - price * kind->begin_bytes[at],
                            out[k - 1].bytes + kind->begin_bytes[at], k};
            if (begin.weight > in[k].weight) {
                in[k] = begin;
                step = BEGINS;
            }
            in[k].weight += h->room->weights[unit] - price * kind->own_bytes[at];
            in[k].bytes += kind->own_bytes[at];
            if (is_left_out)
                in[k].weight = -INFINITY;
            if (in[k].weight > last[k].weight)
                step |= ENDS;
            out[k] = (step & ENDS) != 0 ? in[k] : last[k];
            if (steps != NULL)
                steps[unit * (num_stages + 1) + k] = step;
        }
        last = out;
    }
    walked most = last[0];
    for (size_t k = 1; k <= num_stages; ++k)
        if (last[k].weight > most.weight)
            most = last[k];
    return most;
}

/* Like walk without a price; returns only the weight. */
static double walk_freely(holder *h, uint64_t set) {
    size_t n = h->room->problem->num_units;
    size_t num_stages = h->kind->num_stages;
    const double *weights = h->room->weights;
    double in[MOST_STAGES + 1] = {0.0};
    double outs[MOST_GAP + 1][MOST_STAGES + 1] = {{0.0}};
    double *last = outs[0];
    ++h->num_walks;
    for (size_t unit = 0; unit < n; ++unit) {
        bool is_left_out = (h->items.uses[unit] & set) != 0;
        double *out = outs[unit % (h->kind->gap + 1)];
        for (size_t k = num_stages; k > 0; --k) {
            double before = out[k - 1] > in[k] ? out[k - 1] : in[k];
            in[k] = is_left_out ? 0.0 : before + weights[unit];
            out[k] = in[k] > last[k] ? in[k] : last[k];
        }
        last = out;
    }
    return last[num_stages];
}

/* Returns a bound of the weight within the limit for the units without items of the set, at the
 * best price; stops once it is not above h->best. *price (may be NULL) becomes that price. */
static double most_of_set(holder *h, uint64_t set, double set_bytes, double *price) {
    double room_bytes = h->room_bytes + set_bytes;
    walked free_of_charge = walk(h, set, 0.0, NULL);
    double most = free_of_charge.weight;
    double low = 0.0;
    double high = MOST_PRICE;
    double best_price = 0.0;
    if (free_of_charge.bytes > room_bytes)
        for (int i = 0; i < PRICE_STEPS && most > h->best; ++i) {
            double middle = i == 0 && price == NULL ? h->usual_price : (low + high) / 2.0;
            walked w = walk(h, set, middle, NULL);
            double own = w.weight + middle * room_bytes;
            if (own < most) {
                most = own;
                best_price = middle;
            }
            if (w.bytes > room_bytes)
                low = middle;
            else
                high = middle;
        }
    if (price != NULL)
        *price = best_price;
    return most;
}

/* A set of items that are left out, and the items that may be added to it. */
typedef struct choice {
    uint64_t set;
    double set_bytes;
    uint8_t items[PL_MOST_SHARED_ITEMS];
    size_t num_items;
} choice;

static void raise(holder *h, double weight, uint64_t set) {
    if (weight <= h->best)
        return;
    h->best = weight;
    h->best_set = set;
}

static choice with_item(const holder *h, const choice *c, size_t i) {
    choice more = {.set = c->set | (uint64_t)1 << c->items[i],
                   .set_bytes = c->set_bytes + (double)h->items.bytes[c->items[i]]};
    return more;
}

/* Tries all sets with more items than c->set. */
static void leave_out_more(holder *h, const choice *c) {
    double rest_bytes = 0.0;
    double paid = walk(h, c->set, h->usual_price, NULL).weight;
    for (size_t i = 0; i < c->num_items; ++i)
        rest_bytes += (double)h->items.bytes[c->items[i]];
    for (size_t i = 0; i < c->num_items; ++i) {
        choice more = with_item(h, c, i);
        /* no further set leaves out more than these items */
        double bound = paid + h->usual_price * (h->room_bytes + c->set_bytes + rest_bytes);
        if (bound <= h->best)
            return;
        if (h->num_walks >= h->most_walks) {
            raise(h, bound, c->set);
            return;
        }
        rest_bytes -= (double)h->items.bytes[c->items[i]];
        raise(h, most_of_set(h, more.set, more.set_bytes, NULL), more.set);
        for (size_t j = i + 1; j < c->num_items; ++j)
            if (walk_freely(h, more.set | (uint64_t)1 << c->items[j]) > h->best)
                more.items[more.num_items++] = c->items[j];
        if (more.num_items > 0)
            leave_out_more(h, &more);
    }
}

/* Returns the weight of the heaviest stage of an IPU that has only one. */
static double most_alone(const holder *h, uint64_t limit_bytes, uint8_t *taken) {
    size_t n = h->room->problem->num_units;
    const uint64_t *peak_bytes = h->kind->peaks;
    double most = 0.0;
    for (size_t first = 0; first < n; ++first) {
        double sum = 0.0;
        for (size_t last = first; last < n; ++last) {
            sum += h->room->weights[last];
            if (*peak_bytes++ > limit_bytes || sum <= most)
                continue;
            most = sum;
            for (size_t unit = 0; taken != NULL && unit < n; ++unit)
                taken[unit] = unit >= first && unit <= last;
        }
    }
    return most;
}

static holder ask(const pl_room *room, size_t kind, uint64_t limit_bytes) {
    holder h = {.room = room,
                .kind = &room->kinds[kind],
                .items = room->problem->costs->shared_items,
                .room_bytes = (double)limit_bytes,
                .most_walks = MOST_LOOKS / room->problem->num_units / room->kinds[kind].num_stages};
    for (size_t i = 0; i < h.items.num_items; ++i)
        h.room_bytes -= (double)h.items.bytes[i];
    return h;
}

/* Returns the largest weight of an IPU with several stages; stores the items that it leaves out. */
static double most_shared(holder *h, uint64_t hint) {
    choice all = {.num_items = h->items.num_items};
    double hint_bytes = 0.0;
    for (size_t i = 0; i < h->items.num_items; ++i) {
        all.items[i] = (uint8_t)i;
        hint_bytes += (hint >> i & 1) != 0 ? (double)h->items.bytes[i] : 0.0;
    }
    raise(h, most_of_set(h, 0, 0.0, &h->usual_price), 0);
    raise(h, most_of_set(h, hint, hint_bytes, NULL), hint);
    leave_out_more(h, &all);
    return h->best;
}

static double hold(pl_room *room, size_t kind, uint64_t limit_bytes) {
    holder h = ask(room, kind, limit_bytes);
    double most = h.kind->peaks != NULL ? most_alone(&h, limit_bytes, NULL)
                                        : most_shared(&h, room->last_sets[kind]);
    room->last_sets[kind] = h.best_set;
    return most * (1.0 + MARGIN) + MARGIN;
}

double pl_room_held(pl_room *room, const pl_limits *limits, size_t first_stage) {
    return hold(room, room->kind_of[first_stage],
                pl_limits_peak(room->problem, limits, pl_problem_ipu(room->problem, first_stage)));
}

/* ---- better weights ---- */

typedef struct improver {
    pl_room *room;
    const pl_limits *limits;
    double *best;    /* [units]: the weights for which IPUs hold least */
    double *covered; /* [units]: how many IPUs would take the unit */
    uint8_t *steps;  /* [units][most stages + 1] */
    uint8_t *taken;  /* [units] */
} improver;

/* Adds `share` to the units that the best stages at this price have. */
static void cover(improver *m, holder *h, double price, double share) {
    size_t stage = walk(h, h->best_set, price, m->steps).num_stages;
    size_t width = h->kind->num_stages + 1;
    bool is_inside = false;
    for (size_t unit = m->room->problem->num_units; unit-- > 0 && stage > 0;) {
        uint8_t step = m->steps[unit * width + stage];
        is_inside = is_inside || (step & ENDS) != 0;
        m->covered[unit] += is_inside ? share : 0.0;
        if (!is_inside || (step & BEGINS) == 0)
            continue;
        is_inside = false;
        --stage;
        unit = unit > h->kind->gap ? unit - h->kind->gap : 0;
    }
}

/* Adds the units that the IPUs of a kind take: a mix of those at a price slightly below and
 * slightly above the best one. */
static void cover_by_kind(improver *m, holder *h) {
    double room_bytes = h->room_bytes;
    double low = 0.0;
    double high = MOST_PRICE;
    double count = (double)h->kind->num_ipus;
    for (size_t i = 0; i < h->items.num_items; ++i)
        room_bytes += (h->best_set >> i & 1) != 0 ? (double)h->items.bytes[i] : 0.0;
    double more_bytes = walk(h, h->best_set, low, NULL).bytes;
    double less_bytes = walk(h, h->best_set, high, NULL).bytes;
    for (int i = 0; i < MARK_STEPS && more_bytes > room_bytes; ++i) {
        double middle = (low + high) / 2.0;
        double bytes = walk(h, h->best_set, middle, NULL).bytes;
        if (bytes > room_bytes) {
            low = middle;
            more_bytes = bytes;
        } else {
            high = middle;
            less_bytes = bytes;
        }
    }
    double share = 1.0;
    if (more_bytes > room_bytes && more_bytes > less_bytes)
        share = (room_bytes - less_bytes) / (more_bytes - less_bytes);
    share = share > 0.0 ? share : 0.0;
    cover(m, h, low, count * share);
    cover(m, h, high, count * (1.0 - share));
}

static bool must_end(const pl_room_effort *effort) {
    return pl_clock_seconds() >= effort->deadline_seconds || pl_stop_is_wanted(effort->stop);
}

/* Returns the weight that all IPUs hold, and finds the units that they would take. INFINITY if the
 * time is over. */
static double hold_all(improver *m, const pl_room_effort *effort) {
    pl_room *room = m->room;
    double sum = 0.0;
    memset(m->covered, 0, room->problem->num_units * sizeof *m->covered);
    for (size_t i = 0; i < room->num_kinds; ++i) {
        const pl_room_kind *kind = &room->kinds[i];
        uint64_t limit_bytes = pl_limits_peak(room->problem, m->limits,
                                              pl_problem_ipu(room->problem, kind->first_stage));
        holder h = ask(room, i, limit_bytes);
        if (i > 0 && must_end(effort))
            return INFINITY;
        sum += (double)kind->num_ipus * hold(room, i, limit_bytes);
        h.best_set = room->last_sets[i];
        if (kind->peaks == NULL) {
            cover_by_kind(m, &h);
            continue;
        }
        most_alone(&h, limit_bytes, m->taken);
        for (size_t unit = 0; unit < room->problem->num_units; ++unit)
            m->covered[unit] += (double)(kind->num_ipus * m->taken[unit]);
    }
    return sum;
}

/* Scales the weights to their original sum. */
static void scale(pl_room *room) {
    double sum = 0.0;
    for (size_t unit = 0; unit < room->problem->num_units; ++unit)
        sum += room->weights[unit];
    for (size_t unit = 0; unit < room->problem->num_units; ++unit)
        room->weights[unit] =
            sum > 0.0 ? room->weights[unit] * (room->sum_of_weights / sum) : room->sizes[unit];
}

static void improve(improver *m, const pl_room_effort *effort, bool *is_impossible) {
    pl_room *room = m->room;
    size_t n = room->problem->num_units;
    double step = room->usual_step;
    double least = INFINITY;
    size_t num_in_vain = 0;
    memcpy(m->best, room->weights, n * sizeof *m->best);
    for (size_t i = 0; i < effort->max_steps; ++i) {
        double held = hold_all(m, effort);
        if (held < least) {
            least = held;
            num_in_vain = 0;
            memcpy(m->best, room->weights, n * sizeof *m->best);
        } else if (++num_in_vain > STEPS_TO_SHORTEN) {
            num_in_vain = 0;
            step *= STEP_SHORTER;
            memcpy(room->weights, m->best, n * sizeof *m->best);
            if (step < LEAST_STEP)
                break;
        }
        *is_impossible = least < room->sum_of_weights * (1.0 - MARGIN);
        if (*is_impossible || must_end(effort))
            break;
        for (size_t unit = 0; unit < n; ++unit) {
            double more = step * room->sizes[unit] * (1.0 - m->covered[unit]);
            room->weights[unit] += more;
            room->weights[unit] = room->weights[unit] > 0.0 ? room->weights[unit] : 0.0;
        }
        scale(room);
    }
    memcpy(room->weights, m->best, n * sizeof *m->best);
}

popliner_status pl_room_rule_out(pl_room *room, const pl_limits *limits,
                                 const pl_room_effort *effort, bool *is_impossible,
                                 popliner_error *error) {
    size_t n = room->problem->num_units;
    size_t most_stages = room->problem->most_stages_of_ipu;
    pl_arrays arrays = {0};
    improver m = {.room = room,
                  .limits = limits,
                  .best = pl_arrays_new(&arrays, n, sizeof *m.best),
                  .covered = pl_arrays_new(&arrays, n, sizeof *m.covered),
                  .steps = pl_arrays_new(&arrays, n * (most_stages + 1), sizeof *m.steps),
                  .taken = pl_arrays_new(&arrays, n, sizeof *m.taken)};
    popliner_status status = POPLINER_OK;
    *is_impossible = false;
    if (arrays.failed)
        status = pl_fail_memory(error, "the bounds of the search");
    else if (room->is_known)
        improve(&m, effort, is_impossible);
    pl_arrays_free(&arrays);
    return status;
}

/* ---- preparation ---- */

/* Bounds the needs of a stage by a sum: a part for each unit, and one for where it begins. */
static void fill_stage(const pl_problem *p, size_t stage, double *own_bytes, double *begin_bytes) {
    size_t n = p->num_units;
    size_t to_end = p->options->num_mapped_stages - stage;
    uint64_t before = 0;
    for (size_t last = 0; last < n; ++last) {
        popliner_interval it = {0, last, to_end};
        uint64_t own = pl_costs_peak_parts(p->costs, &it).own_bytes;
        own_bytes[last] = (double)own - (double)before;
        before = own;
    }
    for (size_t first = 0; first < n; ++first) {
        double sum = 0.0;
        double least = INFINITY;
        for (size_t last = first; last < n; ++last) {
            popliner_interval it = {first, last, to_end};
            sum += own_bytes[last];
            double more = (double)pl_costs_peak_parts(p->costs, &it).own_bytes - sum;
            least = more < least ? more : least;
        }
        begin_bytes[first] = least;
    }
}

/* Only sets arrays->failed if memory is short. */
static void fill_kind(const pl_problem *p, pl_room_kind *kind, pl_arrays *arrays) {
    size_t n = p->num_units;
    size_t stage = kind->first_stage;
    size_t num_filled = 0;
    if (kind->num_stages == 1) {
        uint64_t *peak_bytes = kind->peaks =
            pl_arrays_new(arrays, pl_triangle_size(n), sizeof *kind->peaks);
        for (size_t first = 0; !arrays->failed && first < n; ++first)
            for (size_t last = first; last < n; ++last)
                *peak_bytes++ = popliner_costs_peak(p->costs, first, last,
                                                    p->options->num_mapped_stages - stage);
        return;
    }
    kind->own_bytes = pl_arrays_new(arrays, kind->num_stages * n, sizeof *kind->own_bytes);
    kind->begin_bytes = pl_arrays_new(arrays, kind->num_stages * n, sizeof *kind->begin_bytes);
    for (; !arrays->failed && num_filled < kind->num_stages; ++stage) {
        if (p->first_on_ipu[stage] != kind->first_stage)
            continue;
        double *own_bytes = kind->own_bytes + num_filled * n;
        double *begin_bytes = kind->begin_bytes + num_filled * n;
        if (num_filled == 0 || p->depends_on_end) {
            fill_stage(p, stage, own_bytes, begin_bytes);
        } else {
            memcpy(own_bytes, kind->own_bytes, n * sizeof *own_bytes);
            memcpy(begin_bytes, kind->begin_bytes, n * sizeof *begin_bytes);
        }
        ++num_filled;
    }
}

static size_t limit_of(const pl_problem *p, size_t stage) {
    size_t ipu = pl_problem_ipu(p, stage);
    for (size_t i = 0; i < p->options->num_ipu_limits; ++i)
        if (p->options->ipu_limits[i].ipu == ipu)
            return i + 1;
    return 0;
}

/* Returns the fewest stages, each of a unit or more, between two stages of an IPU. */
static size_t least_gap(const pl_problem *p, size_t first_stage) {
    size_t gap = MOST_GAP;
    for (size_t last = first_stage, i = first_stage + 1; i < p->options->num_mapped_stages; ++i) {
        if (p->first_on_ipu[i] != first_stage)
            continue;
        gap = i - last - 1 < gap ? i - last - 1 : gap;
        last = i;
    }
    return gap;
}

/* Returns the kind of the IPU with this first stage; num_kinds if it is new. */
static size_t find_kind(const pl_room *room, size_t first_stage) {
    const pl_problem *p = room->problem;
    size_t i = 0;
    while (i < room->num_kinds &&
           (p->depends_on_end || room->kinds[i].num_stages != pl_num_on_ipu(p, first_stage) ||
            limit_of(p, room->kinds[i].first_stage) != limit_of(p, first_stage)))
        ++i;
    return i;
}

/* Sets the weights to what the units need alone. */
static void fill_weights(pl_room *room) {
    const pl_problem *p = room->problem;
    for (size_t unit = 0; unit < p->num_units; ++unit) {
        popliner_interval it = {unit, unit, 1};
        room->sizes[unit] = (double)pl_costs_peak_parts(p->costs, &it).own_bytes + 1.0;
        room->weights[unit] = room->sizes[unit];
        room->sum_of_weights += room->sizes[unit];
    }
}

popliner_status pl_room_create(pl_room *room, const pl_problem *problem, popliner_error *error) {
    size_t num_stages = problem->options->num_mapped_stages;
    room->problem = problem;
    room->usual_step = FIRST_STEP / (double)problem->num_ipus;
    if (!problem->is_shared || problem->max_stages < problem->min_stages ||
        problem->most_stages_of_ipu > MOST_STAGES || problem->costs->shared_items.num_items == 0)
        return POPLINER_OK;
    pl_arrays *arrays = &room->arrays;
    room->kinds = pl_arrays_new(arrays, num_stages, sizeof *room->kinds);
    room->kind_of = pl_arrays_new(arrays, num_stages, sizeof *room->kind_of);
    room->weights = pl_arrays_new(arrays, problem->num_units, sizeof *room->weights);
    room->sizes = pl_arrays_new(arrays, problem->num_units, sizeof *room->sizes);
    room->last_sets = pl_arrays_new(arrays, num_stages, sizeof *room->last_sets);
    for (size_t stage = 0; !arrays->failed && stage < num_stages; ++stage) {
        if (problem->first_on_ipu[stage] != stage)
            continue;
        size_t i = room->kind_of[stage] = find_kind(room, stage);
        if (i == room->num_kinds) {
            room->kinds[i].first_stage = stage;
            room->kinds[i].num_stages = pl_num_on_ipu(problem, stage);
            room->kinds[i].gap = MOST_GAP;
            ++room->num_kinds;
            fill_kind(problem, &room->kinds[i], arrays);
        }
        ++room->kinds[i].num_ipus;
        const size_t gap = least_gap(problem, stage);
        room->kinds[i].gap = gap < room->kinds[i].gap ? gap : room->kinds[i].gap;
    }
    if (arrays->failed)
        return pl_fail_memory(error, "the bounds of the search");
    fill_weights(room);
    room->is_known = true;
    return POPLINER_OK;
}

void pl_room_free(pl_room *room) {
    pl_arrays_free(&room->arrays);
    *room = (pl_room){0};
}
