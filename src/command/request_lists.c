/* Lists by IPU: memory, speeds and links.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "command/session.h"

#include "command/option_table.h"

#include <stdlib.h>
#include <string.h>

#include "popliner/utilities.h"

/* ---- reading ---- */

/* Reads the number that a text begins with, like 2 or 0.25: *parts of 1 / *unit. Returns what
 * follows; NULL for anything else, or more digits than these. */
static const char *take_decimal(const char *text, uint64_t *parts, uint64_t *unit) {
    enum { MOST_DIGITS = 17, MOST_DECIMALS = 9 };
    const size_t before = strspn(text, "0123456789");
    const bool has_point = text[before] == '.';
    const size_t behind = has_point ? strspn(text + before + 1, "0123456789") : 0;
    const char *end = text + before + has_point + behind;
    if (before == 0 || (has_point && behind == 0) || before + behind > MOST_DIGITS ||
        behind > MOST_DECIMALS)
        return NULL;
    *parts = 0;
    *unit = 1;
    for (const char *c = text; c < end; c++) {
        *parts = *c == '.' ? *parts : 10 * *parts + (uint64_t)(*c - '0');
        *unit *= c > text + before ? 10 : 1;
    }
    return end;
}

/* Reads the amount that a text begins with: bytes; of a reserve also a percentage with its sign, or
 * "gaps"; of a link *bytes in *cycles units of time; a speed in millionths. Returns what follows;
 * NULL for anything else. */
static const char *take_amount(const char *text, const value_kind *kind,
                               popliner_ipu_link *amount) {
    enum { MOST_TIMES = POPLINER_MOST_SPEED / POPLINER_SPEED_ONE };
    const bool is_reserve = kind == &kind_reserve;
    const bool is_of_links = kind == &kind_bandwidths;
    const bool is_gaps = is_reserve && strncmp(text, "gaps", 4) == 0;
    uint64_t parts = 0;
    uint64_t unit = 1;
    const char *decimal = take_decimal(text, &parts, &unit);
    if (kind == &kind_speeds) {
        if (decimal == NULL || unit > POPLINER_SPEED_ONE || parts / unit > MOST_TIMES)
            return NULL;
        amount->bytes = parts * (POPLINER_SPEED_ONE / unit);
        return amount->bytes >= POPLINER_LEAST_SPEED && amount->bytes <= POPLINER_MOST_SPEED
                   ? decimal
                   : NULL;
    }
    if (is_reserve && decimal != NULL && *decimal == '%') {
        const bool is_share = parts <= 100 * unit;
        amount->bytes = is_share ? (100 * parts + unit / 2) / unit : 0;
        amount->cycles = RESERVE_PERCENT;
        return is_share ? decimal + 1 : NULL;
    }
    amount->cycles = is_gaps ? RESERVE_GAPS : is_reserve ? RESERVE_BYTES : is_of_links;
    const char *end = is_gaps ? text + 4 : popliner_size_take(text, &amount->bytes);
    if (end != NULL || !is_of_links)
        return end != NULL && is_of_links && amount->bytes == 0 ? NULL : end;
    amount->bytes = parts;
    amount->cycles = unit;
    return parts > 0 ? decimal : NULL;
}

/* The IPU, the first and the last one ("0..3"), or the two of a link, that come before "=". Returns
 * what comes after; NULL for anything else. */
static const char *take_ipus(bool is_of_links, const char *text, uint64_t ipus[2]) {
    const char *sign = is_of_links ? "-" : "..";
    const char *rest = text;
    if (!number_take(text, POPLINER_MAX_IPU, &ipus[0], &rest))
        return NULL;
    ipus[1] = ipus[0];
    if ((is_of_links || *rest != '=') &&
        (strncmp(rest, sign, strlen(sign)) != 0 ||
         !number_take(rest + strlen(sign), POPLINER_MAX_IPU, &ipus[1], &rest)))
        return NULL;
    return *rest != '=' || (is_of_links ? ipus[0] == ipus[1] : ipus[0] > ipus[1]) ? NULL : rest + 1;
}

static ipu_value *find_value(by_ipu *values, const popliner_ipu_link *of) {
    const bool is_new = of->second_ipu == SIZE_MAX && of->first_ipu >= values->end_ipu;
    /* first where it is if the items go on one by one from the first IPU, so that a range
     * takes time in proportion to its length */
    const size_t before = values->count > 0 ? values->items[0].link.first_ipu : 0;
    const size_t first = before <= of->first_ipu ? of->first_ipu - before : 0;
    for (size_t i = 0; !is_new && i < values->count; i++) {
        ipu_value *v = &values->items[(first + i) % values->count];
        if ((v->link.first_ipu == of->first_ipu && v->link.second_ipu == of->second_ipu) ||
            (v->link.first_ipu == of->second_ipu && v->link.second_ipu == of->first_ipu))
            return v;
    }
    return NULL;
}

static bool add_value(by_ipu *values, const popliner_ipu_link *link, const char *text) {
    ipu_value *items = realloc(values->items, (values->count + 1) * sizeof *items);
    if (items == NULL)
        return false;
    items[values->count++] = (ipu_value){*link, text};
    values->items = items;
    if (link->first_ipu >= values->end_ipu)
        values->end_ipu = link->first_ipu + 1;
    return true;
}

/* Sets the value of one; of two in different options the last one counts. */
static bool set_value(by_ipu *values, const popliner_ipu_link *link, const char *text,
                      problem *why) {
    const char *what = why->row->kind == &kind_reserve         ? "reserve"
                       : why->row->kind == &kind_speeds        ? "speed"
                       : why->row->kind == &kind_memory_by_ipu ? "limit"
                                                               : "bandwidth";
    ipu_value *own = find_value(values, link);
    if (own == NULL) {
        why->lacks_memory = !add_value(values, link, text);
        return !why->lacks_memory;
    }
    if (own->text == text && link->second_ipu != SIZE_MAX)
        return problem_is(why, "the link of IPUs %zu and %zu has a %s already", link->first_ipu,
                          link->second_ipu, what);
    if (own->text == text)
        return problem_is(why, "IPU %zu has a %s already", link->first_ipu, what);
    *own = (ipu_value){*link, text};
    return true;
}

/* "600K" or "400K..600K:50K", of all IPUs. */
static const char *parse_all(const char *text, const char *member, by_ipu *values, problem *why) {
    const size_t length = strcspn(member, ",");
    const char *dots = strstr(member, "..");
    const bool is_range =
        why->row->kind == &kind_memory_by_ipu && dots != NULL && dots < member + length;
    value_range range = {.of_ipus = false};
    popliner_ipu_link amount = {0};
    const char *end =
        is_range ? range_take(member, false, &range) : take_amount(member, why->row->kind, &amount);
    if (is_range && (end == NULL || range_count(&range) == SIZE_MAX)) {
        range_complain(&range, why);
        return NULL;
    }
    if (end == NULL || (!is_range && amount.bytes == 0 && why->row->kind != &kind_reserve))
        return NULL;
    if (values->all_text == text) {
        problem_is(why, "has two values for all of them; that of one is written like 0=%.*s",
                   (int)length, member);
        return NULL;
    }
    values->all_text = text;
    values->all = amount;
    values->range = range;
    return end;
}

/* "0=600K", "0..3=600K", "0-1=64" and "replicas=64", or in a list the value of the next IPU. */
static const char *parse_single(const char *text, const char *member, bool is_listed,
                                by_ipu *values, problem *why) {
    static const char replicas[] = "replicas=";
    const bool is_of_links = why->row->kind == &kind_bandwidths;
    const size_t num_digits = strspn(member, "0123456789");
    uint64_t ipus[2] = {values->num_listed, values->num_listed};
    popliner_ipu_link link = {0};
    if (is_of_links && strncmp(member, replicas, strlen(replicas)) == 0)
        return take_amount(member + strlen(replicas), why->row->kind, &values->replicas);
    /* "600,000" is one number to its author */
    if (is_listed && values->num_listed++ > 0 && num_digits == 3 && strchr(",", member[3]) != NULL)
        return NULL;
    const char *amount = is_listed ? member : take_ipus(is_of_links, member, ipus);
    const char *end = amount == NULL ? NULL : take_amount(amount, why->row->kind, &link);
    if (end != NULL && why->row->kind == &kind_reserve && link.cycles != RESERVE_BYTES) {
        problem_is(why, "expected bytes for single IPUs, like 0=1GiB");
        return NULL;
    }
    for (uint64_t ipu = ipus[0]; end != NULL && ipu <= (is_of_links ? ipus[0] : ipus[1]); ipu++) {
        link.first_ipu = (size_t)ipu;
        link.second_ipu = is_of_links ? (size_t)ipus[1] : SIZE_MAX;
        if (!set_value(values, &link, text, why))
            return NULL;
    }
    return end;
}

static bool parse_by_ipu(const char *text, void *field, problem *why) {
    by_ipu *values = field;
    const bool is_listed = why->row->kind != &kind_bandwidths && strchr(text, ',') != NULL &&
                           strchr(text, '=') == NULL;
    values->num_listed = is_listed ? 0 : values->num_listed;
    for (const char *rest = text;; rest++) {
        const bool is_all = !is_listed && memchr(rest, '=', strcspn(rest, ",")) == NULL;
        rest = is_all ? parse_all(text, rest, values, why)
                      : parse_single(text, rest, is_listed, values, why);
        if (rest != NULL && *rest == ',')
            continue;
        if (rest != NULL && *rest == '\0')
            return true;
        return false;
    }
}

const value_kind kind_memory_by_ipu = {
    .parse = parse_by_ipu,
    .is_list = true,
    .forms =
        (const char *[][2]){{"600K", "600,000 bytes; also KB, MB, GB: powers of 1000"},
                            {"624KiB", "638,976 bytes; also MiB, GiB: powers of 1024"},
                            {"600K,0=500K,2..3=1M", "500,000 bytes on IPU 0, 1,000,000 on 2 and 3"},
                            {"24G,12G,12G", "of IPUs 0, 1 and 2, which are all"},
                            {"400K..600K:50K", "a table, a row for each; with no step, 16 rows"},
                            {NULL}},
    .expected = "bytes, like 600K or 624KiB, also 0=600K or a range 400K..600K:50K"};
const value_kind kind_reserve = {
    .parse = parse_by_ipu,
    .is_list = true,
    .expected = "bytes, like 60000 or 60K, a percentage up to 100%, like 5%, or gaps",
    .forms = (const char *[][2]){{"60K", "60,000 bytes"},
                                 {"5%", "a share of --mem-per-tile"},
                                 {"1GiB,3=2.1GiB", "2.1 GiB on IPU 3, and 1 GiB on all others"},
                                 {NULL}},
    .words = (const kind_word[]){
        {"gaps", RESERVE_GAPS, "the most that the layout wasted on any tile of the profile", NULL},
        {.name = NULL}}};
const value_kind kind_speeds = {
    .parse = parse_by_ipu,
    .is_list = true,
    .expected = "speeds from 0.001 to 1000 with at most 6 decimals, like 2 or 0=0.5,3=2"};
const value_kind kind_bandwidths = {
    .parse = parse_by_ipu,
    .is_list = true,
    .forms = (const char *[][2]){{"64,1-2=0.5", "64 bytes a cycle, half a byte from IPU 1 to 2"},
                                 {NULL}},
    .words =
        (const kind_word[]){{"replicas", 0,
                             "from an IPU to its replicas (--total-ipus, --device-map replicas)",
                             "replicas=BYTES"},
                            {.name = NULL}},
    .expected = "bytes in a cycle, like 64 or 34.6, of one link 1-2=64, or replicas=64"};

static const char *name_of(ipu_list list) {
    return option_table[option_place(offsetof(options, lists) + list * sizeof(by_ipu))].name;
}

/* ---- what is asked ---- */

/* How many IPUs there are without a map, at most. */
static size_t most_ipus(const request *r, const options *asked) {
    const size_t told = options_num_ipus(asked);
    return told > 0 ? told : r->solver.num_ipus;
}

bool request_has_ipu(const request *r, const options *asked, size_t ipu) {
    const popliner_solver_options *o = &r->solver;
    bool is_used = o->num_mapped_stages == 0 && ipu < most_ipus(r, asked);
    for (size_t stage = 0; stage < o->num_mapped_stages; stage++)
        is_used = is_used || o->device_map[stage] == ipu;
    return is_used;
}

/* Whether a cut can be between the two IPUs. The last of any number of IPUs may be next to the
 * first if each has several stages. */
static bool has_link(const request *r, const options *asked, const popliner_ipu_link *link) {
    const popliner_solver_options *o = &r->solver;
    const bool is_any_number =
        o->num_mapped_stages == 0 || (asked->sweep != NULL && asked->sweep->of_ipus);
    const bool goes_round =
        asked->device_map.interleaved > 1 && (link->first_ipu == 0 || link->second_ipu == 0);
    const size_t a = link->first_ipu;
    const size_t b = link->second_ipu;
    for (size_t stage = 1; stage < o->num_mapped_stages; stage++)
        if ((o->device_map[stage - 1] == a && o->device_map[stage] == b) ||
            (o->device_map[stage - 1] == b && o->device_map[stage] == a))
            return true;
    return is_any_number && (goes_round || a + 1 == b || b + 1 == a) && a < most_ipus(r, asked) &&
           b < most_ipus(r, asked);
}

/* Refuses what is said of an IPU where no stage runs, or of a link that carries nothing. */
static popliner_status check_used(const request *r, const session *s, ipu_list list,
                                  const popliner_ipu_link *v, popliner_error *error) {
    if ((list == LIST_SPEEDS || list == LIST_RESERVES) &&
        !request_has_ipu(r, &s->options, v->first_ipu))
        return fail_usage(error,
                          "--%s: no stage can run on IPU %zu; see --num-ipus and --device-map",
                          name_of(list), v->first_ipu);
    if (list == LIST_LINKS && !has_link(r, &s->options, v))
        return fail_usage(error,
                          "--bandwidth: no cut can be between IPUs %zu and %zu; see "
                          "--num-ipus and --device-map",
                          v->first_ipu, v->second_ipu);
    return POPLINER_OK;
}

/* Adds the value of an IPU or a link, unless it has one; false without memory. */
static bool add_missing(by_ipu *values, popliner_ipu_link own) {
    return find_value(values, &own) != NULL || add_value(values, &own, NULL);
}

/* Adds what is said of other IPUs: a speed of all to each where a stage may run, then those of a
 * file of costs (NULL: none). False without memory. */
static bool add_others(const request *r, ipu_list list, by_ipu *values,
                       const popliner_costs_file *file) {
    const popliner_solver_options *o = &r->solver;
    const size_t num_places = o->num_mapped_stages > 0 ? o->num_mapped_stages : o->num_ipus;
    const bool is_spread = list == LIST_SPEEDS && values->all.bytes > 0;
    bool has_memory = true;
    for (size_t i = 0; is_spread && has_memory && i < num_places; i++)
        has_memory =
            add_missing(values, (popliner_ipu_link){o->num_mapped_stages > 0 ? o->device_map[i] : i,
                                                    SIZE_MAX, values->all.bytes, 0});
    if (file == NULL)
        return has_memory;
    const popliner_ipu_value *told = list == LIST_SPEEDS ? file->ipu_speeds : file->ipu_limits;
    const size_t num_told = list == LIST_SPEEDS   ? file->num_ipu_speeds
                            : list == LIST_LIMITS ? file->num_ipu_limits
                                                  : 0;
    for (size_t i = 0; has_memory && i < num_told; i++)
        has_memory =
            add_missing(values, (popliner_ipu_link){told[i].ipu, SIZE_MAX, told[i].value, 0});
    for (size_t i = 0; list == LIST_LINKS && has_memory && i < file->num_ipu_links; i++)
        has_memory = add_missing(values, file->ipu_links[i]);
    if (list == LIST_LINKS && values->all.bytes == 0)
        values->all = file->link_bandwidth;
    return has_memory;
}

/* Makes the values those of the solver. */
static popliner_status store(request *r, ipu_list list, const by_ipu *values,
                             popliner_error *error) {
    popliner_solver_options *o = &r->solver;
    const popliner_ipu_value **const arrays[] = {[LIST_RESERVES] = &o->ipu_reserves,
                                                 [LIST_LIMITS] = &o->ipu_limits,
                                                 [LIST_SPEEDS] = &o->ipu_speeds};
    size_t *const counts[] = {[LIST_RESERVES] = &o->num_ipu_reserves,
                              [LIST_LIMITS] = &o->num_ipu_limits,
                              [LIST_SPEEDS] = &o->num_ipu_speeds,
                              [LIST_LINKS] = &o->num_ipu_links};
    size_t count = 0;
    void *array = r->ipu_lists[list] = calloc(values->count + 1, sizeof(popliner_ipu_link));
    popliner_ipu_value *own = array;
    popliner_ipu_link *links = array;
    if (array == NULL)
        return fail_memory(error, "the constraints");
    for (size_t i = 0; i < values->count; i++) {
        const popliner_ipu_link *v = &values->items[i].link;
        if (list == LIST_LINKS)
            links[count++] = *v;
        else if (list != LIST_SPEEDS || v->bytes != POPLINER_SPEED_ONE)
            own[count++] = (popliner_ipu_value){v->first_ipu, v->bytes};
    }
    *counts[list] = count;
    if (list != LIST_LINKS) {
        *arrays[list] = own;
        return POPLINER_OK;
    }
    o->ipu_links = links;
    o->link_bandwidth = values->all;
    return POPLINER_OK;
}

popliner_status request_set_list(request *r, ipu_list list, const session *s,
                                 const popliner_costs_file *file, popliner_error *error) {
    const by_ipu *asked = &s->options.lists[list];
    by_ipu values = {.all = asked->all};
    bool has_memory = true;
    if (list == LIST_LINKS && (asked->count > 0 || asked->all.bytes > 0) && file != NULL &&
        file->cuts_per_unit != 1)
        return fail_usage(error,
                          "--bandwidth: the traffic of this graph is in units of time, which "
                          "are among its cycles already; leave it out");
    for (size_t i = 0; i < asked->count; i++)
        TRY(check_used(r, s, list, &asked->items[i].link, error));
    for (size_t i = 0; has_memory && i < asked->count; i++)
        has_memory = add_value(&values, &asked->items[i].link, NULL);
    const popliner_status status = has_memory && add_others(r, list, &values, file)
                                       ? store(r, list, &values, error)
                                       : fail_memory(error, "the constraints");
    free(values.items);
    return status;
}

/* Takes --reserve off the limits of single IPUs. Those with a reserve of their own get a limit:
 * what it leaves of `memory_bytes` (0: not known). */
static popliner_status reserve_on_ipus(request *r, uint64_t memory_bytes, popliner_error *error) {
    popliner_solver_options *o = &r->solver;
    const size_t most = o->num_ipu_limits + o->num_ipu_reserves;
    popliner_ipu_value *limits =
        realloc((popliner_ipu_value *)r->ipu_lists[LIST_LIMITS], (most + 1) * sizeof *limits);
    if (limits == NULL)
        return fail_memory(error, "the limits");
    o->ipu_limits = r->ipu_lists[LIST_LIMITS] = limits;
    for (size_t i = 0; i < o->num_ipu_reserves; i++) {
        size_t k = 0;
        while (k < o->num_ipu_limits && limits[k].ipu != o->ipu_reserves[i].ipu)
            k++;
        if (k == o->num_ipu_limits && memory_bytes == 0)
            return fail_usage(error,
                              "--reserve: give --mem-per-tile of IPU %zu, of which to keep "
                              "something free",
                              o->ipu_reserves[i].ipu);
        if (k == o->num_ipu_limits)
            limits[o->num_ipu_limits++] =
                (popliner_ipu_value){o->ipu_reserves[i].ipu, memory_bytes};
    }
    for (size_t i = 0; i < o->num_ipu_limits; i++) {
        const uint64_t memory = limits[i].value;
        if (!popliner_reserve_limit(o, limits[i].ipu, memory, &limits[i].value))
            return fail_usage(error, "--reserve: %llu bytes are more than a tile has (%llu)",
                              (unsigned long long)limits[i].value, (unsigned long long)memory);
    }
    return POPLINER_OK;
}

static bool has_limit(const popliner_solver_options *o, size_t ipu) {
    for (size_t i = 0; i < o->num_ipu_limits; i++)
        if (o->ipu_limits[(ipu + i) % o->num_ipu_limits].ipu == ipu) /* mostly at its place */
            return true;
    return false;
}

/* Warns if some IPUs have limits, and another where a stage may run has none. */
static void warn_unlimited(const request *r, session *s) {
    const popliner_solver_options *o = &r->solver;
    const size_t most = o->num_mapped_stages > 0 ? o->num_mapped_stages : most_ipus(r, &s->options);
    const bool is_limited = s->options.sweep != NULL && !s->options.sweep->of_ipus; /* by a range */
    size_t i = 0;
    if (o->num_ipu_limits == 0 || o->mem_per_tile < INT64_MAX || is_limited)
        return;
    while (i < most && has_limit(o, o->num_mapped_stages > 0 ? o->device_map[i] : i))
        i++;
    if (i < most)
        log_message(&s->log, POPLINER_LEVEL_WARNING,
                    "Device %zu has no limit, as --mem-per-tile has none for it: add one for all "
                    "others%s.",
                    o->num_mapped_stages > 0 ? o->device_map[i] : i,
                    s->options.num_ipus.number > 0 || o->num_mapped_stages > 0
                        ? ""
                        : ", or say how many devices there are by --num-ipus");
}

/* Warns of the first limit of an IPU that is not used. */
static void warn_limits(const request *r, session *s) {
    const popliner_solver_options *o = &r->solver;
    size_t first = SIZE_MAX;
    for (size_t i = 0; i < o->num_ipu_limits; i++)
        if (o->ipu_limits[i].ipu < first && !request_has_ipu(r, &s->options, o->ipu_limits[i].ipu))
            first = o->ipu_limits[i].ipu;
    if (first < SIZE_MAX)
        log_message(&s->log, POPLINER_LEVEL_WARNING,
                    "The limit of %s %zu does nothing: no stage can run there.",
                    session_devices(s, 1), first);
}

popliner_status request_set_limits(request *r, session *s, uint64_t limit_bytes,
                                   const popliner_costs_file *file, popliner_error *error) {
    const bool is_swept = s->options.sweep != NULL && !s->options.sweep->of_ipus;
    r->solver.mem_per_tile = limit_bytes;
    session_reserve(s, &r->solver);
    TRY(request_set_list(r, LIST_RESERVES, s, file, error));
    TRY(request_set_list(r, LIST_LIMITS, s, file, error));
    TRY(reserve_on_ipus(r, is_swept ? 0 : session_memory(s, file), error));
    if (!s->is_overview) {
        warn_limits(r, s);
        warn_unlimited(r, s);
    }
    return POPLINER_OK;
}
