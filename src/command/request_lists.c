/* Lists by IPU: memory, speeds and links.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "command/request.h"

#include "command/option_table.h"

#include <stdlib.h>
#include <string.h>

#include "command/values.h"
#include "popliner/utilities.h"

/* ---- reading ---- */

static const char *take_size(const char *text, const option *row, popliner_ipu_link *amount) {
    (void)row;
    return popliner_size_take(text, &amount->bytes);
}

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

/* Bytes, a percentage with its sign, or "gaps". */
static const char *take_reserve(const char *text, const option *row, popliner_ipu_link *amount) {
    uint64_t parts;
    uint64_t unit;
    const char *end = take_decimal(text, &parts, &unit);
    (void)row;
    if (end != NULL && *end == '%') {
        amount->bytes = parts <= 100 * unit ? (100 * parts + unit / 2) / unit : 0;
        amount->cycles = RESERVE_PERCENT;
        return parts <= 100 * unit ? end + 1 : NULL;
    }
    const bool is_gaps = strncmp(text, "gaps", 4) == 0;
    amount->cycles = is_gaps ? RESERVE_GAPS : RESERVE_BYTES;
    return is_gaps ? text + 4 : popliner_size_take(text, &amount->bytes);
}

/* A number like 2 or 0.25, exactly. */
static const char *take_number(const char *text, const option *row, popliner_ipu_link *amount) {
    const list_by_ipu *list = row->list;
    uint64_t parts;
    uint64_t unit;
    const char *end = take_decimal(text, &parts, &unit);
    if (end == NULL || unit > list->unit || parts / unit > list->most / list->unit)
        return NULL;
    amount->bytes = parts * (list->unit / unit);
    return amount->bytes >= list->least && amount->bytes <= list->most ? end : NULL;
}

/* A size, or a number of bytes: *bytes in *cycles units of time. */
static const char *take_bandwidth(const char *text, const option *row, popliner_ipu_link *amount) {
    const char *end = popliner_size_take(text, &amount->bytes);
    (void)row;
    amount->cycles = 1;
    if (end == NULL)
        end = take_decimal(text, &amount->bytes, &amount->cycles);
    return end != NULL && amount->bytes > 0 ? end : NULL;
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

static ipu_value *find_value(by_ipu *values, const ipu_value *of) {
    const bool is_new = of->second_ipu == SIZE_MAX && of->ipu >= values->end_ipu;
    /* first where it is if the items go on one by one from the first IPU, so that a range
     * takes time in proportion to its length */
    const size_t first =
        values->count > 0 && values->items[0].ipu <= of->ipu ? of->ipu - values->items[0].ipu : 0;
    for (size_t i = 0; !is_new && i < values->count; i++) {
        ipu_value *v = &values->items[(first + i) % values->count];
        if ((v->ipu == of->ipu && v->second_ipu == of->second_ipu) ||
            (v->ipu == of->second_ipu && v->second_ipu == of->ipu))
            return v;
    }
    return NULL;
}

static bool add_value(by_ipu *values, const ipu_value *added) {
    ipu_value *items = realloc(values->items, (values->count + 1) * sizeof *items);
    if (items == NULL)
        return false;
    items[values->count++] = *added;
    values->items = items;
    if (added->ipu >= values->end_ipu)
        values->end_ipu = added->ipu + 1;
    return true;
}

/* Sets the value of one; of two in different options the last one counts. */
static bool set_value(by_ipu *values, const ipu_value *v, const char *what, problem *why) {
    ipu_value *own = find_value(values, v);
    if (own == NULL) {
        why->lacks_memory = !add_value(values, v);
        return !why->lacks_memory;
    }
    if (own->text == v->text && v->second_ipu != SIZE_MAX)
        return problem_is(why, "the link of IPUs %zu and %zu has a %s already", v->ipu,
                          v->second_ipu, what);
    if (own->text == v->text)
        return problem_is(why, "IPU %zu has a %s already", v->ipu, what);
    *own = *v;
    return true;
}

/* "600K" or "400K..600K:50K", of all IPUs. */
static const char *parse_all(const char *text, const char *member, const option *row,
                             by_ipu *values, problem *why) {
    const size_t length = strcspn(member, ",");
    const char *dots = strstr(member, "..");
    const bool is_range =
        row->kind == &kind_memory_by_ipu && dots != NULL && dots < member + length;
    value_range range = {.of_ipus = false};
    popliner_ipu_link amount = {0};
    const char *end =
        is_range ? range_take(member, false, &range) : row->kind->take(member, row, &amount);
    if (is_range && (end == NULL || range_count(&range) == SIZE_MAX)) {
        range_complain(&range, why);
        return NULL;
    }
    if (end == NULL || (!is_range && amount.bytes == 0 && row->kind != &kind_reserve))
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
                                const option *row, by_ipu *values, problem *why) {
    static const char replicas[] = "replicas=";
    const bool is_of_links = row->kind == &kind_bandwidths;
    const size_t num_digits = strspn(member, "0123456789");
    uint64_t ipus[2] = {values->num_listed, values->num_listed};
    ipu_value value = {SIZE_MAX, SIZE_MAX, {0}, text};
    if (is_of_links && strncmp(member, replicas, strlen(replicas)) == 0)
        return row->kind->take(member + strlen(replicas), row, &values->replicas);
    /* "600,000" is one number to its author */
    if (is_listed && values->num_listed++ > 0 && num_digits == 3 && strchr(",", member[3]) != NULL)
        return NULL;
    const char *amount = is_listed ? member : take_ipus(is_of_links, member, ipus);
    const char *end = amount == NULL ? NULL : row->kind->take(amount, row, &value.amount);
    if (end != NULL && row->kind == &kind_reserve && value.amount.cycles != RESERVE_BYTES) {
        problem_is(why, "expected bytes for single IPUs, like 0=1GiB");
        return NULL;
    }
    for (uint64_t ipu = ipus[0]; end != NULL && ipu <= (is_of_links ? ipus[0] : ipus[1]); ipu++) {
        value.ipu = (size_t)ipu;
        value.second_ipu = is_of_links ? (size_t)ipus[1] : SIZE_MAX;
        if (!set_value(values, &value, row->list->what, why))
            return NULL;
    }
    return end;
}

static bool parse_by_ipu(const char *text, const option *row, void *field, problem *why) {
    by_ipu *values = field;
    const bool is_listed =
        row->kind != &kind_bandwidths && strchr(text, ',') != NULL && strchr(text, '=') == NULL;
    values->num_listed = is_listed ? 0 : values->num_listed;
    for (const char *rest = text;; rest++) {
        const bool is_all = !is_listed && memchr(rest, '=', strcspn(rest, ",")) == NULL;
        rest = is_all ? parse_all(text, rest, row, values, why)
                      : parse_single(text, rest, is_listed, row, values, why);
        if (rest != NULL && *rest == ',')
            continue;
        if (rest != NULL && *rest == '\0')
            return true;
        return *why->text != '\0' || row->list->expected == NULL
                   ? false
                   : problem_is(why, "expected %s", row->list->expected);
    }
}

const value_kind kind_memory_by_ipu = {
    .parse = parse_by_ipu,
    .is_list = true,
    .take = take_size,
    .forms =
        (const kind_form[]){{"600K", "600,000 bytes; also KB, MB, GB: powers of 1000"},
                            {"624KiB", "638,976 bytes; also MiB, GiB: powers of 1024"},
                            {"600K,0=500K,2..3=1M", "500,000 bytes on IPU 0, 1,000,000 on 2 and 3"},
                            {"24G,12G,12G", "of IPUs 0, 1 and 2, which are all"},
                            {"400K..600K:50K", "a table, a row for each; with no step, 16 rows"},
                            {.form = NULL}},
    .expected = "bytes, like 600K or 624KiB, also 0=600K or a range 400K..600K:50K"};
const value_kind kind_reserve = {
    .parse = parse_by_ipu,
    .is_list = true,
    .take = take_reserve,
    .expected = "bytes, like 60000 or 60K, a percentage up to 100%, like 5%, or gaps",
    .forms = (const kind_form[]){{"60K", "60,000 bytes"},
                                 {"5%", "a share of --mem-per-tile"},
                                 {"1GiB,3=2.1GiB", "2.1 GiB on IPU 3, and 1 GiB on all others"},
                                 {.form = NULL}},
    .words = (const kind_word[]){
        {"gaps", RESERVE_GAPS, "the most that the layout wasted on any tile of the profile", NULL},
        {.name = NULL}}};
const value_kind kind_numbers_by_ipu = {
    .parse = parse_by_ipu, .is_list = true, .take = take_number};
const value_kind kind_bandwidths = {
    .parse = parse_by_ipu,
    .is_list = true,
    .take = take_bandwidth,
    .forms = (const kind_form[]){{"64,1-2=0.5", "64 bytes a cycle, half a byte from IPU 1 to 2"},
                                 {.form = NULL}},
    .words =
        (const kind_word[]){{"replicas", 0,
                             "from an IPU to its replicas (--total-ipus, --device-map replicas)",
                             "replicas=BYTES"},
                            {.name = NULL}},
    .expected = "bytes in a cycle, like 64 or 34.6, of one link 1-2=64, or replicas=64"};

/* The option of the list. */
static const option *option_of(ipu_list list) {
    return &option_table[option_place(offsetof(options, lists) + list * sizeof(by_ipu))];
}

static bool is_of_numbers(ipu_list list) {
    return option_of(list)->kind == &kind_numbers_by_ipu;
}

/* ---- what a file of costs says ---- */

static size_t count_told(ipu_list list, const popliner_costs_file *file) {
    const size_t place = option_of(list)->list->of_file.count;
    size_t count = 0;
    if (file != NULL && place > 0)
        memcpy(&count, (const char *)file + place, sizeof count);
    return count;
}

static ipu_value told_at(ipu_list list, const popliner_costs_file *file, size_t i) {
    if (list == LIST_LINKS)
        return (ipu_value){file->ipu_links[i].first_ipu, file->ipu_links[i].second_ipu,
                           file->ipu_links[i], NULL};
    const popliner_ipu_value *told;
    memcpy(&told, (const char *)file + option_of(list)->list->of_file.items, sizeof told);
    return (ipu_value){told[i].ipu, SIZE_MAX, {.bytes = told[i].value}, NULL};
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
static bool has_link(const request *r, const options *asked, const ipu_value *link) {
    const popliner_solver_options *o = &r->solver;
    const bool is_any_number =
        o->num_mapped_stages == 0 || (asked->sweep != NULL && asked->sweep->of_ipus);
    const bool goes_round =
        asked->device_map.interleaved > 1 && (link->ipu == 0 || link->second_ipu == 0);
    const size_t a = link->ipu;
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
                                  const ipu_value *v, popliner_error *error) {
    if ((is_of_numbers(list) || list == LIST_RESERVES) && !request_has_ipu(r, &s->options, v->ipu))
        return fail_usage(error,
                          "--%s: no stage can run on IPU %zu; see --num-ipus and --device-map",
                          option_of(list)->name, v->ipu);
    if (list == LIST_LINKS && !has_link(r, &s->options, v))
        return fail_usage(error,
                          "--bandwidth: no cut can be between IPUs %zu and %zu; see "
                          "--num-ipus and --device-map",
                          v->ipu, v->second_ipu);
    return POPLINER_OK;
}

static popliner_status check_links(const by_ipu *links, const popliner_costs_file *file,
                                   popliner_error *error) {
    if ((links->count > 0 || links->all.bytes > 0) && file != NULL && file->cuts_per_unit != 1)
        return fail_usage(error,
                          "--bandwidth: the traffic of this graph is in units of time, which "
                          "are among its cycles already; leave it out");
    return POPLINER_OK;
}

/* Gives each IPU where a stage may run the value of all, unless it has one. */
static bool spread(const request *r, by_ipu *values) {
    const popliner_solver_options *o = &r->solver;
    const size_t count = o->num_mapped_stages > 0 ? o->num_mapped_stages : o->num_ipus;
    for (size_t i = 0; values->all.bytes > 0 && i < count; i++) {
        const ipu_value own = {o->num_mapped_stages > 0 ? o->device_map[i] : i, SIZE_MAX,
                               values->all, NULL};
        if (find_value(values, &own) == NULL && !add_value(values, &own))
            return false;
    }
    return true;
}

/* Makes the values those of the solver. */
static popliner_status store(request *r, ipu_list list, const by_ipu *values,
                             popliner_error *error) {
    const list_by_ipu *row = option_of(list)->list;
    char *const solver = (char *)&r->solver;
    size_t count = 0;
    void *array = r->ipu_lists[list] =
        calloc(values->count + 1,
               list == LIST_LINKS ? sizeof(popliner_ipu_link) : sizeof(popliner_ipu_value));
    popliner_ipu_value *own = array;
    popliner_ipu_link *links = array;
    if (array == NULL)
        return fail_memory(error, "the constraints");
    for (size_t i = 0; i < values->count; i++) {
        const ipu_value *v = &values->items[i];
        if (list == LIST_LINKS)
            links[count++] =
                (popliner_ipu_link){v->ipu, v->second_ipu, v->amount.bytes, v->amount.cycles};
        else if (!is_of_numbers(list) || v->amount.bytes != row->usual)
            own[count++] = (popliner_ipu_value){v->ipu, v->amount.bytes};
    }
    memcpy(solver + row->of_solver.items, &array, sizeof array);
    memcpy(solver + row->of_solver.count, &count, sizeof count);
    if (list == LIST_LINKS)
        r->solver.link_bandwidth = values->all;
    return POPLINER_OK;
}

popliner_status request_set_list(request *r, ipu_list list, const session *s,
                                 const popliner_costs_file *file, popliner_error *error) {
    const by_ipu *asked = &s->options.lists[list];
    by_ipu values = *asked;
    bool has_memory = true;
    values.items = NULL;
    values.count = values.end_ipu = 0;
    for (size_t i = 0; has_memory && i < asked->count; i++)
        has_memory = add_value(&values, &asked->items[i]);
    popliner_status status =
        has_memory && list == LIST_LINKS ? check_links(&values, file, error) : POPLINER_OK;
    for (size_t i = 0; status == POPLINER_OK && i < values.count; i++)
        status = check_used(r, s, list, &values.items[i], error);
    if (is_of_numbers(list))
        has_memory = has_memory && spread(r, &values);
    /* those of the command line come before those of the file */
    for (size_t i = 0; has_memory && i < count_told(list, file); i++) {
        const ipu_value told = told_at(list, file, i);
        if (find_value(&values, &told) == NULL)
            has_memory = add_value(&values, &told);
    }
    if (list == LIST_LINKS && values.all.bytes == 0 && file != NULL)
        values.all = file->link_bandwidth;
    if (status == POPLINER_OK)
        status =
            has_memory ? store(r, list, &values, error) : fail_memory(error, "the constraints");
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
    popliner_status status = request_set_list(r, LIST_RESERVES, s, file, error);
    if (status == POPLINER_OK)
        status = request_set_list(r, LIST_LIMITS, s, file, error);
    if (status == POPLINER_OK)
        status = reserve_on_ipus(r, is_swept ? 0 : session_memory(s, file), error);
    if (status == POPLINER_OK)
        warn_limits(r, s);
    warn_unlimited(r, s);
    return status;
}
