/* Lists by IPU: memory, speeds and links, a row each.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "command/request.h"

#include <stdlib.h>
#include <string.h>

#include "command/values.h"
#include "popliner/utilities.h"

/* What is said of an IPU, or of the link of two. */
typedef struct ipu_value {
    size_t ipu;                /* SIZE_MAX: of all links */
    size_t second_ipu;         /* of a link */
    popliner_bandwidth amount; /* `bytes` alone, unless it is a link */
} ipu_value;

typedef struct ipu_values {
    ipu_value *items;
    size_t count;
    popliner_bandwidth all;
} ipu_values;

static const char *take_size(const char *text, popliner_bandwidth *amount) {
    return popliner_size_take(text, &amount->bytes);
}

/* A speed like 2 or 0.25, exactly. */
static const char *take_speed(const char *text, popliner_bandwidth *amount) {
    uint64_t unit = POPLINER_SPEED_ONE;
    uint64_t *millionths = &amount->bytes;
    const char *end;
    if (!number_take(text, POPLINER_MOST_SPEED / POPLINER_SPEED_ONE, millionths, &end))
        return NULL;
    *millionths *= unit;
    if (*end == '.') {
        const char *digit = end + 1;
        for (; *digit >= '0' && *digit <= '9' && unit > 1; ++digit) {
            unit /= 10;
            *millionths += (uint64_t)(*digit - '0') * unit;
        }
        if (digit == end + 1)
            return NULL;
        end = digit;
    }
    return *millionths >= POPLINER_LEAST_SPEED && *millionths <= POPLINER_MOST_SPEED ? end : NULL;
}

static const char *take_bandwidth(const char *text, popliner_bandwidth *amount) {
    return bandwidth_take(text, &amount->bytes, &amount->cycles);
}

static const struct {
    const char *option;
    size_t offset; /* of its texts in the options */
    const char *(*take)(const char *text, popliner_bandwidth *amount);
    const char *expected;
    const char *what;
} lists[] = {
    [LIST_LIMITS] = {"ipu-mem-per-tile", offsetof(options, ipu_mem_per_tile), take_size,
                     "IPUs and bytes, like 0=500000,3=600K", "limit"},
    [LIST_SPEEDS] = {"ipu-speed", offsetof(options, ipu_speed), take_speed,
                     "IPUs and speeds from 0.001 to 1000, with up to 6 digits behind the point, "
                     "like 0=0.5,3=2",
                     "speed"},
    [LIST_LINKS] = {"link-bandwidth", offsetof(options, link_bandwidth), take_bandwidth,
                    "bytes in a unit of time above 0, like 64, 34.6 or 64K, for all links, or for "
                    "those of two IPUs, like 0-1=64,1-2=0.5",
                    "bandwidth"},
};

/* The IPU, or the two of a link, that a text begins with, and "=" after; NULL if that is something
 * else. */
static const char *take_ipus(ipu_list list, const char *text, ipu_value *value) {
    uint64_t first = 0;
    uint64_t second = 0;
    const char *rest = text;
    if (!number_take(text, POPLINER_MAX_IPU, &first, &rest) ||
        (list == LIST_LINKS &&
         (*rest != '-' || !number_take(rest + 1, POPLINER_MAX_IPU, &second, &rest) ||
          first == second)) ||
        *rest != '=')
        return NULL;
    value->ipu = (size_t)first;
    value->second_ipu = (size_t)second;
    return rest + 1;
}

/* Adds a value, unless there is one of the same. */
static bool add_value(ipu_values *values, const ipu_value *added) {
    for (size_t i = 0; i < values->count; i++) {
        const ipu_value *v = &values->items[i];
        if ((v->ipu == added->ipu && v->second_ipu == added->second_ipu) ||
            (v->ipu == added->second_ipu && v->second_ipu == added->ipu))
            return false;
    }
    values->items[values->count++] = *added;
    return true;
}

static popliner_status add_text(ipu_list list, const char *text, ipu_values *values,
                                popliner_error *error) {
    const char *option = lists[list].option;
    for (const char *rest = text;; rest++) {
        ipu_value value = {SIZE_MAX, SIZE_MAX, {0, 0}};
        const char *amount = take_ipus(list, rest, &value);
        if (amount == NULL && list == LIST_LINKS)
            amount = rest;
        rest = amount == NULL ? NULL : lists[list].take(amount, &value.amount);
        if (rest == NULL || (*rest != ',' && *rest != '\0'))
            return fail_usage(error, "--%s %s: expected %s", option, text, lists[list].expected);
        if (value.ipu == SIZE_MAX && values->all.bytes > 0)
            return fail_usage(error, "--%s %s: all links have a bandwidth already", option, text);
        if (value.ipu == SIZE_MAX)
            values->all = value.amount;
        const bool is_new = value.ipu == SIZE_MAX || add_value(values, &value);
        if (!is_new && list == LIST_LINKS)
            return fail_usage(error, "--%s %s: the link of IPUs %zu and %zu has one already",
                              option, text, value.ipu, value.second_ipu);
        if (!is_new)
            return fail_usage(error, "--%s %s: IPU %zu has a %s already", option, text, value.ipu,
                              lists[list].what);
        if (*rest == '\0')
            return POPLINER_OK;
    }
}

static const repeated *texts_of(ipu_list list, const options *o) {
    return (const repeated *)(const void *)((const char *)o + lists[list].offset);
}

/* What the command line says; `items` has room for `num_others` more. The caller frees it. */
static popliner_status parse(ipu_list list, const options *o, size_t num_others, ipu_values *values,
                             popliner_error *error) {
    const repeated *texts = texts_of(list, o);
    popliner_status status = POPLINER_OK;
    size_t most = num_others + 1;
    *values = (ipu_values){.items = NULL};
    for (size_t i = 0; i < texts->count; i++)
        most += strlen(texts->texts[i]) / 4 + 1;
    values->items = calloc(most, sizeof *values->items);
    if (values->items == NULL)
        return fail_memory(error, "the constraints");
    for (size_t i = 0; status == POPLINER_OK && i < texts->count; i++)
        status = add_text(list, texts->texts[i], values, error);
    return status;
}

popliner_status request_check_lists(const options *o, popliner_error *error) {
    popliner_status status = POPLINER_OK;
    for (int list = 0; status == POPLINER_OK && list < NUM_LISTS; list++) {
        ipu_values values;
        status = parse((ipu_list)list, o, 0, &values, error);
        free(values.items);
    }
    return status;
}

/* ---- what a file of costs says ---- */

static size_t count_told(ipu_list list, const popliner_costs_file_info *file) {
    return file == NULL          ? 0
           : list == LIST_LIMITS ? file->num_ipu_limits
           : list == LIST_SPEEDS ? file->num_ipu_speeds
                                 : file->num_ipu_links;
}

static ipu_value told_at(ipu_list list, const popliner_costs_file_info *file, size_t i) {
    if (list == LIST_LIMITS)
        return (ipu_value){file->ipu_limits[i].ipu, 0, {file->ipu_limits[i].bytes, 0}};
    if (list == LIST_SPEEDS)
        return (ipu_value){file->ipu_speeds[i].ipu, 0, {file->ipu_speeds[i].millionths, 0}};
    return (ipu_value){file->ipu_links[i].first_ipu, file->ipu_links[i].second_ipu,
                       file->ipu_links[i].bandwidth};
}

/* ---- what is asked ---- */

bool request_has_ipu(const request *r, size_t ipu) {
    const popliner_solver_options *o = &r->solver;
    bool is_used = o->num_mapped_stages == 0 && ipu < o->max_stages;
    for (size_t stage = 0; stage < o->num_mapped_stages; stage++)
        is_used = is_used || o->device_map[stage] == ipu;
    return is_used;
}

/* Whether a cut can be between the two IPUs. */
static bool has_link(const request *r, const ipu_value *link) {
    const popliner_solver_options *o = &r->solver;
    const size_t a = link->ipu;
    const size_t b = link->second_ipu;
    for (size_t stage = 1; stage < o->num_mapped_stages; stage++)
        if ((o->device_map[stage - 1] == a && o->device_map[stage] == b) ||
            (o->device_map[stage - 1] == b && o->device_map[stage] == a))
            return true;
    return o->num_mapped_stages == 0 && (a + 1 == b || b + 1 == a) && a < o->max_stages &&
           b < o->max_stages;
}

/* Refuses what is said of an IPU where no stage runs, or of a link that carries nothing. */
static popliner_status check_used(const request *r, const session *s, ipu_list list,
                                  const ipu_value *v, popliner_error *error) {
    if (s->options.sweep != NULL)
        return POPLINER_OK;
    if (list == LIST_SPEEDS && !request_has_ipu(r, v->ipu))
        return fail_usage(error,
                          "--ipu-speed: no stage can run on IPU %zu; see --num-ipus and "
                          "--device-map",
                          v->ipu);
    if (list == LIST_LINKS && !has_link(r, v))
        return fail_usage(error,
                          "--link-bandwidth: no cut can be between IPUs %zu and %zu; see "
                          "--num-ipus and --device-map",
                          v->ipu, v->second_ipu);
    return POPLINER_OK;
}

/* Puts the links of the command line in cycles. */
static popliner_status complete_links(const session *s, ipu_values *links,
                                      const popliner_costs_file_info *file, popliner_error *error) {
    const uint64_t unit = file == NULL ? 1 : file->cycles_per_time_unit;
    if (s->options.link_bandwidth.count > 0 && file != NULL && file->cuts_per_unit != 1)
        return fail_usage(error,
                          "--link-bandwidth: the traffic of this graph is in units of time, which "
                          "are among its cycles already; leave it out");
    links->all.cycles *= unit;
    for (size_t i = 0; i < links->count; i++)
        links->items[i].amount.cycles *= unit;
    return POPLINER_OK;
}

/* Makes the values those of the solver. */
static popliner_status store(request *r, ipu_list list, const ipu_values *values,
                             popliner_error *error) {
    popliner_solver_options *o = &r->solver;
    const size_t room = values->count + 1;
    void *array =
        list == LIST_LIMITS   ? (void *)(r->ipu_limits = calloc(room, sizeof *r->ipu_limits))
        : list == LIST_SPEEDS ? (void *)(r->ipu_speeds = calloc(room, sizeof *r->ipu_speeds))
                              : (void *)(r->ipu_links = calloc(room, sizeof *r->ipu_links));
    if (array == NULL)
        return fail_memory(error, "the constraints");
    o->ipu_limits = r->ipu_limits;
    o->ipu_speeds = r->ipu_speeds;
    o->ipu_links = r->ipu_links;
    for (size_t i = 0; i < values->count; i++) {
        const ipu_value *v = &values->items[i];
        if (list == LIST_LIMITS)
            r->ipu_limits[o->num_ipu_limits++] = (popliner_ipu_limit){v->ipu, v->amount.bytes};
        else if (list == LIST_LINKS)
            r->ipu_links[o->num_ipu_links++] =
                (popliner_ipu_link){v->ipu, v->second_ipu, v->amount};
        else if (v->amount.bytes != POPLINER_SPEED_ONE) /* the usual one needs not be told */
            r->ipu_speeds[o->num_ipu_speeds++] = (popliner_ipu_speed){v->ipu, v->amount.bytes};
    }
    if (list == LIST_LINKS)
        o->link_bandwidth = values->all;
    return POPLINER_OK;
}

popliner_status request_set_list(request *r, ipu_list list, const session *s,
                                 const popliner_costs_file_info *file, popliner_error *error) {
    ipu_values values;
    const size_t num_told = count_told(list, file);
    popliner_status status = parse(list, &s->options, num_told, &values, error);
    if (status == POPLINER_OK && list == LIST_LINKS)
        status = complete_links(s, &values, file, error);
    for (size_t i = 0; status == POPLINER_OK && i < values.count; i++)
        status = check_used(r, s, list, &values.items[i], error);
    /* those of the command line come before those of the file */
    for (size_t i = 0; status == POPLINER_OK && i < num_told; i++) {
        const ipu_value told = told_at(list, file, i);
        (void)add_value(&values, &told);
    }
    if (list == LIST_LINKS && values.all.bytes == 0 && file != NULL)
        values.all = file->link_bandwidth;
    if (status == POPLINER_OK)
        status = store(r, list, &values, error);
    if (status == POPLINER_OK && list == LIST_LINKS && (values.all.bytes > 0 || values.count > 0) &&
        request_shares_an_ipu(r))
        status = fail_usage(error,
                            "%s: stages cannot share an IPU where links have bandwidths, as the "
                            "file of costs says; leave these out",
                            options_map_name(&s->options));
    free(values.items);
    return status;
}

/* Takes --reserve off the limits of single IPUs. */
static popliner_status reserve_on_ipus(request *r, const session *s, popliner_error *error) {
    popliner_status status = POPLINER_OK;
    for (size_t i = 0; status == POPLINER_OK && i < r->solver.num_ipu_limits; i++) {
        popliner_ipu_limit *limit = &r->ipu_limits[i];
        status = session_less_reserve(s, limit->bytes, &limit->bytes, error);
    }
    return status;
}

/* Warns of limits of IPUs that are not used. */
static void warn_limits(const request *r, session *s) {
    const popliner_solver_options *o = &r->solver;
    for (size_t i = 0; i < o->num_ipu_limits; i++) {
        if (!request_has_ipu(r, o->ipu_limits[i].ipu) && s->options.sweep == NULL)
            log_message(&s->log, POPLINER_LEVEL_WARNING,
                        "The limit of IPU %zu does nothing: no stage can run there.",
                        o->ipu_limits[i].ipu);
    }
}

popliner_status request_set_limits(request *r, session *s, uint64_t limit_bytes,
                                   const popliner_costs_file_info *file, popliner_error *error) {
    r->solver.max_stage_bytes = limit_bytes;
    popliner_status status = request_set_list(r, LIST_LIMITS, s, file, error);
    if (status == POPLINER_OK)
        status = reserve_on_ipus(r, s, error);
    if (status == POPLINER_OK)
        warn_limits(r, s);
    return status;
}
