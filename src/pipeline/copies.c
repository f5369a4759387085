/* Rules for copies: how many stashed micro-batches a stage has, by the stages that follow it.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "pipeline/pipeline.h"

#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "base/numbers.h"
#include "pipeline/order_file.h"

typedef struct rule_row {
    const char *name;
    /* Passes for the gradients of weights run so many backward ones later, for each device before;
     * 0 if there are none. */
    size_t late;
    bool counts_all; /* by the number of all stages, where they do not share IPUs */
    bool is_for_v;
} rule_row;

static const rule_row rules[] = {
    [POPLINER_COPIES_OF_SCHEDULE] = {"schedule", 0, false, false},
    [POPLINER_COPIES_LIST] = {"list", 0, false, false},
    [POPLINER_COPIES_1F1B] = {"1f1b", 0, false, false},
    [POPLINER_COPIES_GPIPE] = {"gpipe", 0, false, false},
    [POPLINER_COPIES_ZERO_BUBBLE] = {"zero-bubble", 1, true, false},
    [POPLINER_COPIES_INTERLEAVED] = {"interleaved", 0, false, false},
    [POPLINER_COPIES_ZB_H2] = {"zb-h2", 2, true, false},
    [POPLINER_COPIES_V_HALF] = {"v-half", 1, false, true},
    [POPLINER_COPIES_V_MIN] = {"v-min", 1, false, true},
    [POPLINER_COPIES_DUALPIPE_V] = {"dualpipev", 1, false, true},
    [POPLINER_COPIES_ORDER] = {"order", 0, false, false},
};

const char *pl_copies_rule_name(size_t rule) {
    return rule < POPLINER_NUM_COPIES_RULES ? rules[rule].name : NULL;
}

size_t pl_copies_late(const popliner_copies *copies) {
    return copies->rule == POPLINER_COPIES_ORDER ? copies->order->has_weights
                                                 : rules[copies->rule].late;
}

bool pl_copies_have_weights(const popliner_copies *copies) {
    return pl_copies_late(copies) > 0;
}

bool pl_copies_are_for_v(const popliner_copies *copies) {
    return rules[copies->rule].is_for_v;
}

/* ---- Parsing ---- */

/* Parses a whole number, at most POPLINER_MAX_COPIES, at the start of *text. */
static bool take_number(const char **text, size_t *number) {
    const char *end = *text;
    *number = 0;
    for (; *end >= '0' && *end <= '9' && *number <= POPLINER_MAX_COPIES; ++end)
        *number = 10 * *number + (size_t)(*end - '0');
    bool is_one = end > *text && *number <= POPLINER_MAX_COPIES;
    *text = end;
    return is_one;
}

/* Parses "NAME" or "NAME+N". False if it is neither. */
static bool parse_rule(const char *text, popliner_copies *copies) {
    size_t length = strcspn(text, "+");
    const char *rest = text + length;
    for (int rule = POPLINER_COPIES_1F1B; rule < POPLINER_COPIES_ORDER; ++rule)
        if (strlen(rules[rule].name) == length && memcmp(rules[rule].name, text, length) == 0)
            copies->rule = (popliner_copies_rule)rule;
    if (copies->rule == POPLINER_COPIES_OF_SCHEDULE)
        return false;
    if (*rest == '\0')
        return true;
    ++rest;
    return take_number(&rest, &copies->more) && *rest == '\0';
}

/* Parses "N,N,..." False if it is none, or too long. */
static bool parse_list(const char *text, popliner_copies *copies) {
    copies->rule = POPLINER_COPIES_LIST;
    for (const char *rest = text;; ++rest) {
        size_t number = 0;
        if (copies->num_listed > 0 && strcmp(rest, "...") == 0) {
            copies->goes_on = true;
            return true;
        }
        if (copies->num_listed == POPLINER_MAX_LISTED_COPIES || !take_number(&rest, &number))
            return false;
        copies->listed[copies->num_listed++] = (uint32_t)number;
        if (*rest != ',')
            return *rest == '\0';
    }
}

/* True if no listed stage stores fewer copies than the next stage. */
static bool rises(const popliner_copies *copies) {
    for (size_t i = 1; i < copies->num_listed; ++i)
        if (copies->listed[i] < copies->listed[i - 1])
            return false;
    return true;
}

popliner_status popliner_copies_parse(const char *text, popliner_copies *copies,
                                      popliner_error *error) {
    *copies = (popliner_copies){0};
    if (parse_rule(text, copies))
        return POPLINER_OK;
    *copies = (popliner_copies){0};
    if (!parse_list(text, copies))
        return pl_fail(error, POPLINER_ERROR_USAGE,
                       "copies %.200s: expected 1f1b, gpipe, zero-bubble, zb-h2, interleaved, "
                       "v-half, v-min or dualpipev (+N adds N), or 1 to %d numbers up to %d, last "
                       "stage first, like 0,1,2 or 0,1,...",
                       text, POPLINER_MAX_LISTED_COPIES, POPLINER_MAX_COPIES);
    if (!rises(copies))
        return pl_fail(error, POPLINER_ERROR_USAGE,
                       "copies %.200s: the numbers fall; begin with the last stage, earlier stages "
                       "keep as many or more",
                       text);
    return POPLINER_OK;
}

/* ---- Counting ---- */

popliner_status popliner_copies_check(const popliner_copies *copies, popliner_error *error) {
    const popliner_copies *c = copies;
    const bool is_in_v = c->is_v && c->num_ipus > 0 && c->num_stages == 2 * c->num_ipus;
    if (pl_copies_rule_name(c->rule) == NULL)
        return pl_fail(error, POPLINER_ERROR_USAGE, "copies: unknown rule %d", (int)c->rule);
    if (c->rule == POPLINER_COPIES_LIST &&
        (c->num_listed == 0 || c->num_listed > POPLINER_MAX_LISTED_COPIES || !rises(c)))
        return pl_fail(error, POPLINER_ERROR_USAGE,
                       "copies: a list has 1 to %d numbers, last stage first, which never fall",
                       POPLINER_MAX_LISTED_COPIES);
    if (c->rule == POPLINER_COPIES_GPIPE && c->num_micro_batches == 0)
        return pl_fail(error, POPLINER_ERROR_USAGE,
                       "copies gpipe: needs the number of micro-batches; set num_micro_batches");
    if (c->rule == POPLINER_COPIES_ORDER &&
        (c->order == NULL || c->order->num_stages != c->num_stages ||
         c->order->num_ipus != c->num_ipus || c->order->is_v != c->is_v ||
         c->order->num_micro_batches != c->num_micro_batches))
        return pl_fail(error, POPLINER_ERROR_USAGE,
                       "copies of an order: there is none, or it is for another number of stages, "
                       "IPUs or micro-batches, or another device map; set those of the order");
    if (c->rule == POPLINER_COPIES_INTERLEAVED && c->num_stages == 0)
        return pl_fail(
            error, POPLINER_ERROR_USAGE,
            "copies interleaved: needs the numbers of stages and IPUs; set num_stages and "
            "num_ipus");
    if (c->rule == POPLINER_COPIES_INTERLEAVED && (c->num_ipus == 0 || c->is_v))
        return pl_fail(error, POPLINER_ERROR_USAGE,
                       "copies interleaved: the stages do not go round the IPUs; choose a device "
                       "map like 0,1,0,1");
    if (pl_copies_take_turns(c) && (c->is_v || pl_copies_are_for_v(c)) && !is_in_v)
        return pl_fail(error, POPLINER_ERROR_USAGE,
                       "copies %s: the stages are not in a V, two on each IPU; choose a device map "
                       "like 0,1,1,0",
                       pl_copies_rule_name(c->rule));
    if (c->rule == POPLINER_COPIES_DUALPIPE_V && c->num_micro_batches > 0 &&
        c->num_micro_batches < c->num_stages)
        return pl_fail(error, POPLINER_ERROR_USAGE,
                       "copies dualpipev: there are fewer than two micro-batches for each IPU; set "
                       "num_micro_batches to %zu or more, or choose zero-bubble",
                       c->num_stages);
    if (pl_copies_take_turns(c) && c->num_stages % c->num_ipus != 0)
        return pl_fail(
            error, POPLINER_ERROR_USAGE,
            "copies %s: %zu stages cannot be spread evenly over %zu IPUs; use a multiple",
            pl_copies_rule_name(c->rule), c->num_stages, c->num_ipus);
    return POPLINER_OK;
}

void popliner_copies_set_map(popliner_copies *copies, const size_t *device_map, size_t num_stages) {
    copies->num_stages = num_stages;
    copies->num_ipus = pl_order_shape(device_map, sizeof *device_map, num_stages, &copies->is_v);
}

bool pl_copies_take_turns(const popliner_copies *c) {
    const bool share_ipus = c->num_ipus > 0 && c->num_ipus < c->num_stages;
    return c->rule == POPLINER_COPIES_INTERLEAVED || c->rule == POPLINER_COPIES_ORDER ||
           rules[c->rule].is_for_v || (c->rule == POPLINER_COPIES_1F1B && share_ipus && !c->is_v) ||
           (share_ipus &&
            (c->rule == POPLINER_COPIES_GPIPE || c->rule == POPLINER_COPIES_ZERO_BUBBLE));
}

bool pl_copies_are_of_map(const popliner_copies *copies, const size_t *device_map,
                          size_t num_stages) {
    popliner_copies own = *copies;
    popliner_copies_set_map(&own, device_map, num_stages);
    const bool is_same = own.num_stages == copies->num_stages && own.num_ipus == copies->num_ipus &&
                         own.is_v == copies->is_v;
    /* without a map stage k is on IPU k: these copies are more than those of its order */
    const bool is_each = num_stages == 0 && copies->rule == POPLINER_COPIES_INTERLEAVED &&
                         copies->num_ipus == copies->num_stages;
    return is_same || is_each || (!pl_copies_take_turns(copies) && !pl_copies_take_turns(&own));
}

bool pl_copies_count_all(const popliner_copies *copies) {
    return rules[copies->rule].counts_all && !pl_copies_take_turns(copies);
}

/* Returns the number of the list for a position. */
static size_t count_listed(const popliner_copies *c, size_t place) {
    size_t last = c->num_listed - 1;
    if (place <= last)
        return c->listed[place];
    size_t step = last > 0 && c->goes_on ? c->listed[last] - c->listed[last - 1] : 0;
    size_t further = place - last;
    bool is_too_much = step > 0 && further > POPLINER_MAX_COPIES / step;
    return is_too_much ? POPLINER_MAX_COPIES : c->listed[last] + further * step;
}

size_t pl_copies_round(size_t num_ipus, size_t num_micro_batches) {
    size_t round = num_micro_batches == 0 ? num_ipus : pl_fewer(num_ipus, num_micro_batches);
    while (num_micro_batches % round > 0 && num_micro_batches % round < num_ipus)
        ++round;
    return round;
}

/* Returns the most micro-batches that a stage holds at a time in the order of its IPU. */
static size_t count_in_order(const popliner_copies *c, size_t stage) {
    const popliner_pipeline pipeline = {.copies = *c};
    const pl_order order = pl_order_of_copies(&pipeline);
    pl_order_walk walk = pl_order_begin(&order, pl_order_device(&order, stage));
    size_t held = 0;
    size_t most = 0;
    for (pl_pass p; pl_order_next(&walk, &p);) {
        if (p.stage != stage)
            continue;
        held += p.kind == PL_PASS_FORWARD;
        most = pl_more(most, held);
        held -= p.is_last;
    }
    return most;
}

/* Returns the number of micro-batches in flight, ignoring how many there are in a step. */
static size_t count_under_way(const popliner_copies *c, size_t after) {
    const size_t all = c->num_stages == 0 || c->is_v ? after + 1 : c->num_stages;
    if (pl_copies_take_turns(c) && c->rule != POPLINER_COPIES_GPIPE)
        return count_in_order(c, c->num_stages - 1 - pl_fewer(after, c->num_stages - 1));
    switch (c->rule) {
    case POPLINER_COPIES_1F1B:
        return after + 1;
    case POPLINER_COPIES_GPIPE:
        return c->num_micro_batches;
    case POPLINER_COPIES_ZERO_BUBBLE:
        return all;
    case POPLINER_COPIES_ZB_H2:
        return 2 * all - 1;
    case POPLINER_COPIES_V_HALF:
    case POPLINER_COPIES_V_MIN:
    case POPLINER_COPIES_DUALPIPE_V:
    case POPLINER_COPIES_ORDER:
    case POPLINER_COPIES_INTERLEAVED:
    case POPLINER_COPIES_OF_SCHEDULE:
    case POPLINER_COPIES_LIST:
    case POPLINER_NUM_COPIES_RULES:
        break;
    }
    return 1;
}

size_t pl_copies_of_held(const popliner_copies *copies, size_t held) {
    const size_t free = held == 0 ? 1 : 0; /* one more copy, or a set in the memory, is not held */
    const size_t others = pl_fewer(held - 1 + free, POPLINER_MAX_COPIES);
    const size_t more = copies->more - pl_fewer(copies->more, free);
    return others + pl_fewer(more, POPLINER_MAX_COPIES - others);
}

size_t popliner_copies_at(const popliner_copies *copies, size_t stages_to_end) {
    size_t place = pl_fewer(stages_to_end > 0 ? stages_to_end - 1 : 0, POPLINER_MAX_COPIES);
    if (copies->rule == POPLINER_COPIES_LIST)
        return pl_fewer(count_listed(copies, place), POPLINER_MAX_COPIES);
    size_t under_way = count_under_way(copies, place);
    if (copies->num_micro_batches > 0)
        under_way = pl_fewer(under_way, copies->num_micro_batches);
    return pl_copies_of_held(copies, under_way);
}

size_t popliner_copies_max_stages(const popliner_copies *copies) {
    bool ends = copies->rule == POPLINER_COPIES_LIST && !copies->goes_on && copies->num_listed > 1;
    if (pl_copies_take_turns(copies) || (rules[copies->rule].counts_all && copies->num_stages > 0))
        return copies->num_stages;
    return ends ? copies->num_listed : SIZE_MAX;
}
