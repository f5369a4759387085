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

static bool is_same_link(const popliner_ipu_link *a, const popliner_ipu_link *b) {
    return (a->first_ipu == b->first_ipu && a->second_ipu == b->second_ipu) ||
           (a->first_ipu == b->second_ipu && a->second_ipu == b->first_ipu);
}

/* Adds a value. Of two in different options the last one counts, in one there may not be two. */
static bool add_value(by_ipu *values, const ipu_value *own, problem *why) {
    const popliner_ipu_link *link = &own->link;
    const bool is_of_links = why->row->kind == &kind_bandwidths;
    const char *what = why->row->kind == &kind_reserve         ? "reserve"
                       : why->row->kind == &kind_speeds        ? "speed"
                       : why->row->kind == &kind_memory_by_ipu ? "limit"
                                                               : "bandwidth";
    const bool is_new = !is_of_links && link->first_ipu >= values->end_ipu;
    for (size_t i = values->count; !is_new && i > 0 && values->items[i - 1].text == own->text;
         i--) {
        const popliner_ipu_link *other = &values->items[i - 1].link;
        const size_t first =
            link->first_ipu > other->first_ipu ? link->first_ipu : other->first_ipu;
        if (is_of_links && is_same_link(link, other))
            return problem_is(why, "the link of IPUs %zu and %zu has a %s already", link->first_ipu,
                              link->second_ipu, what);
        if (!is_of_links && first <= link->second_ipu && first <= other->second_ipu)
            return problem_is(why, "IPU %zu has a %s already", first, what);
    }
    why->lacks_memory = !list_add(&values->items, &values->count, own, sizeof *own);
    if (why->lacks_memory)
        return false;
    if (!is_of_links && link->second_ipu >= values->end_ipu)
        values->end_ipu = link->second_ipu + 1;
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
    ipu_value own = {.text = text};
    if (is_of_links && strncmp(member, replicas, strlen(replicas)) == 0)
        return take_amount(member + strlen(replicas), why->row->kind, &values->replicas);
    /* "600,000" is one number to its author */
    if (is_listed && values->num_listed++ > 0 && num_digits == 3 && strchr(",", member[3]) != NULL)
        return NULL;
    const char *amount = is_listed ? member : take_ipus(is_of_links, member, ipus);
    const char *end = amount == NULL ? NULL : take_amount(amount, why->row->kind, &own.link);
    if (end != NULL && why->row->kind == &kind_reserve && own.link.cycles != RESERVE_BYTES) {
        problem_is(why, "expected bytes for single IPUs, like 0=1GiB");
        return NULL;
    }
    own.link.first_ipu = (size_t)ipus[0];
    own.link.second_ipu = (size_t)ipus[1];
    return end != NULL && ipus[0] <= POPLINER_MAX_IPU && add_value(values, &own, why) ? end : NULL;
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

/* ---- what is asked ---- */

/* The value of an IPU that has none. */
#define NOT_SAID UINT64_MAX

/* Costs that say nothing of devices. */
static const popliner_costs_file no_file;

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

static popliner_status set_links(request *r, const session *s, const popliner_costs_file *file,
                                 popliner_error *error) {
    const by_ipu *asked = &s->options.lists[LIST_LINKS];
    const size_t num_told = file->num_ipu_links;
    popliner_ipu_link *links = calloc(asked->count + num_told + 1, sizeof *links);
    size_t count = 0;
    r->ipu_lists[LIST_LINKS] = links;
    if (links == NULL)
        return fail_memory(error, "the constraints");
    if ((asked->count > 0 || asked->all.bytes > 0) && file != &no_file && file->cuts_per_unit != 1)
        return fail_usage(error,
                          "--bandwidth: the traffic of this graph is in units of time, which "
                          "are among its cycles already; leave it out");
    for (size_t i = 0; i < asked->count + num_told; i++) {
        const bool is_asked = i < asked->count;
        const popliner_ipu_link *own =
            is_asked ? &asked->items[i].link : &file->ipu_links[i - asked->count];
        size_t place = 0;
        while (place < count && !is_same_link(&links[place], own))
            place++;
        if (is_asked && !has_link(r, &s->options, own))
            return fail_usage(error,
                              "--bandwidth: no cut can be between IPUs %zu and %zu; see "
                              "--num-ipus and --device-map",
                              own->first_ipu, own->second_ipu);
        if (is_asked || place == count)
            links[place] = *own;
        count += place == count;
    }
    r->solver.ipu_links = links;
    r->solver.num_ipu_links = count;
    r->solver.link_bandwidth = asked->all.bytes > 0 ? asked->all : file->link_bandwidth;
    return POPLINER_OK;
}

enum { NUM_IPUS = POPLINER_MAX_IPU + 1 };

/* Values by IPU, up to the last one that has any. */
typedef struct ipu_values {
    popliner_ipu_value *items; /* [NUM_IPUS], of which `count` are set */
    size_t count;
} ipu_values;

static void set_value(ipu_values *values, size_t ipu, uint64_t value) {
    for (; values->count <= ipu; values->count++)
        values->items[values->count] = (popliner_ipu_value){values->count, NOT_SAID};
    values->items[ipu].value = value;
}

/* Sets the values of single IPUs: those of the options, then a speed of all IPUs where a stage may
 * run, then those of a file of costs. A limit is also what a single reserve is kept of:
 * `memory_bytes`, or NOT_SAID. */
static popliner_status set_values(request *r, ipu_list list, const session *s,
                                  const popliner_costs_file *file, uint64_t memory_bytes,
                                  popliner_error *error) {
    popliner_solver_options *o = &r->solver;
    const by_ipu *asked = &s->options.lists[list];
    const struct {
        const popliner_ipu_value **array; /* of the solver */
        size_t *count;
        const popliner_ipu_value *told;
        size_t num_told;
    } lists[] = {
        [LIST_RESERVES] = {&o->ipu_reserves, &o->num_ipu_reserves, NULL, 0},
        [LIST_LIMITS] = {&o->ipu_limits, &o->num_ipu_limits, file->ipu_limits,
                         file->num_ipu_limits},
        [LIST_SPEEDS] = {&o->ipu_speeds, &o->num_ipu_speeds, file->ipu_speeds,
                         file->num_ipu_speeds},
    };
    const popliner_ipu_value *told = lists[list].told;
    const size_t num_told = lists[list].num_told;
    const size_t num_places = o->num_mapped_stages > 0 ? o->num_mapped_stages : o->num_ipus;
    const size_t num_spread = list == LIST_SPEEDS && asked->all.bytes > 0 ? num_places : 0;
    const size_t num_reserved = list == LIST_LIMITS ? o->num_ipu_reserves : 0;
    if (asked->count + num_told + num_spread + num_reserved == 0)
        return POPLINER_OK;
    ipu_values own = {.items = malloc(NUM_IPUS * sizeof *own.items)};
    r->ipu_lists[list] = own.items;
    if (own.items == NULL)
        return fail_memory(error, "the constraints");
    for (size_t i = 0; i < num_reserved; i++)
        set_value(&own, o->ipu_reserves[i].ipu, memory_bytes);
    for (size_t i = 0; i < num_told; i++)
        set_value(&own, told[i].ipu, told[i].value);
    for (size_t i = 0; i < num_spread && i < NUM_IPUS; i++)
        set_value(&own, o->num_mapped_stages > 0 ? o->device_map[i] : i, asked->all.bytes);
    for (size_t i = 0; i < asked->count; i++) {
        const popliner_ipu_link *v = &asked->items[i].link;
        for (size_t ipu = v->first_ipu; ipu <= v->second_ipu; ipu++) {
            if (list != LIST_LIMITS && !request_has_ipu(r, &s->options, ipu))
                return fail_usage(error,
                                  "--%s: no stage can run on IPU %zu; see --num-ipus and "
                                  "--device-map",
                                  list == LIST_SPEEDS ? "ipu-speed" : "reserve", ipu);
            set_value(&own, ipu, v->bytes);
        }
    }
    size_t count = 0;
    for (const popliner_ipu_value *v = own.items; v < own.items + own.count; v++)
        if (v->value != NOT_SAID && (list != LIST_SPEEDS || v->value != POPLINER_SPEED_ONE))
            own.items[count++] = *v;
    *lists[list].array = own.items;
    *lists[list].count = count;
    return POPLINER_OK;
}

static bool has_limit(const popliner_solver_options *o, size_t ipu) {
    for (size_t i = 0; i < o->num_ipu_limits; i++)
        if (o->ipu_limits[(ipu + i) % o->num_ipu_limits].ipu == ipu) /* mostly at its place */
            return true;
    return false;
}

/* The memory of a tile, without --reserve: that of --mem-per-tile, of the file, or without one of
 * the profile; 0: not said. */
static uint64_t memory_of(const session *s, const popliner_costs_file *file) {
    const uint64_t asked = s->options.lists[LIST_LIMITS].all.bytes;
    return asked > 0      ? asked
           : file != NULL ? file->bytes_per_tile
                          : session_profile(s).bytes_per_tile;
}

popliner_status request_less_reserve(const popliner_solver_options *o, size_t ipu,
                                     uint64_t memory_bytes, uint64_t *limit_bytes,
                                     popliner_error *error) {
    if (!popliner_reserve_limit(o, ipu, memory_bytes, limit_bytes))
        return fail_usage(error, "--reserve: %llu bytes are more than a tile has (%llu)",
                          (unsigned long long)*limit_bytes, (unsigned long long)memory_bytes);
    return POPLINER_OK;
}

popliner_status request_take_reserve(request *r, session *s, const popliner_costs_file *file,
                                     uint64_t *limit_bytes, popliner_error *error) {
    const popliner_ipu_link *all = &s->options.lists[LIST_RESERVES].all;
    const uint64_t memory = memory_of(s, file);
    if (all->cycles == RESERVE_PERCENT)
        r->solver.reserve_percent_hundredths = all->bytes;
    else if (all->cycles != RESERVE_NOTHING)
        r->solver.reserve_bytes =
            all->cycles == RESERVE_GAPS ? session_profile(s).layout_gap_bytes : all->bytes;
    *limit_bytes = UINT64_MAX - 1; /* no limit */
    if (memory > 0)
        TRY(request_less_reserve(&r->solver, SIZE_MAX, memory, limit_bytes, error));
    if (*limit_bytes < memory)
        log_message(&s->log, POPLINER_LEVEL_INFO, "Keeping %llu of %llu bytes free on every tile",
                    (unsigned long long)(memory - *limit_bytes), (unsigned long long)memory);
    return POPLINER_OK;
}

/* Takes --reserve off the limits of single IPUs. */
static popliner_status reserve_on_ipus(request *r, popliner_error *error) {
    popliner_solver_options *o = &r->solver;
    popliner_ipu_value *limits = r->ipu_lists[LIST_LIMITS];
    for (size_t i = 0; i < o->num_ipu_reserves; i++)
        if (!has_limit(o, o->ipu_reserves[i].ipu))
            return fail_usage(error,
                              "--reserve: give --mem-per-tile of IPU %zu, of which to keep "
                              "something free",
                              o->ipu_reserves[i].ipu);
    for (popliner_ipu_value *l = limits; l < limits + o->num_ipu_limits; l++)
        TRY(request_less_reserve(o, l->ipu, l->value, &l->value, error));
    return POPLINER_OK;
}

/* Warns if some IPUs have limits, and another where a stage may run has none. */
static void warn_unlimited(const request *r, session *s) {
    const popliner_solver_options *o = &r->solver;
    const size_t most = o->num_mapped_stages > 0 ? o->num_mapped_stages : most_ipus(r, &s->options);
    const bool is_limited = s->options.sweep != NULL && !s->options.sweep->of_ipus; /* by a range */
    const char *given = option_value_given(&s->options, "mem-per-tile");
    const bool has_number = s->options.num_ipus.number > 0 || o->num_mapped_stages > 0;
    size_t i = 0;
    if (o->num_ipu_limits == 0 || o->mem_per_tile < INT64_MAX || is_limited)
        return;
    while (i < most && has_limit(o, o->num_mapped_stages > 0 ? o->device_map[i] : i))
        i++;
    if (i < most)
        session_warn(s,
                     "%s%s: device %zu has no limit; to limit all that have none, add "
                     "--mem-per-tile BYTES%s.",
                     given == NULL ? "The costs" : "--mem-per-tile ", given == NULL ? "" : given,
                     o->num_mapped_stages > 0 ? o->device_map[i] : i,
                     has_number ? "" : "; to use fewer devices, --num-ipus N");
}

/* Warns of the first limit of an IPU that is not used. */
static void warn_limits(const request *r, session *s) {
    const popliner_solver_options *o = &r->solver;
    size_t first = SIZE_MAX;
    for (size_t i = 0; i < o->num_ipu_limits; i++)
        if (o->ipu_limits[i].ipu < first && !request_has_ipu(r, &s->options, o->ipu_limits[i].ipu))
            first = o->ipu_limits[i].ipu;
    if (first < SIZE_MAX)
        session_warn(s, "The limit of %s %zu does nothing: no stage can run there.",
                     session_devices(s, 1), first);
}

popliner_status request_set_lists(request *r, session *s, uint64_t limit_bytes,
                                  const popliner_costs_file *file, popliner_error *error) {
    const bool is_swept = s->options.sweep != NULL && !s->options.sweep->of_ipus;
    const uint64_t memory_bytes = is_swept ? 0 : memory_of(s, file);
    r->solver.mem_per_tile = limit_bytes;
    const popliner_costs_file *told = file != NULL ? file : &no_file;
    TRY(set_values(r, LIST_RESERVES, s, told, 0, error));
    TRY(set_values(r, LIST_LIMITS, s, told, memory_bytes > 0 ? memory_bytes : NOT_SAID, error));
    TRY(reserve_on_ipus(r, error));
    if (!s->is_overview) {
        warn_limits(r, s);
        warn_unlimited(r, s);
    }
    TRY(set_values(r, LIST_SPEEDS, s, told, 0, error));
    return set_links(r, s, told, error);
}
