/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "command/copies.h"

#include "command/replicas.h"
#include "command/session.h"
#include "popliner/copies.h"

/* How many different IPUs the device map has. */
static size_t count_ipus(const request *r) {
    size_t count = 0;
    for (size_t i = 0; i < r->solver.num_mapped_stages; i++) {
        size_t first = 0;
        while (r->device_map[first] != r->device_map[i])
            first++;
        count += first == i;
    }
    return count;
}

popliner_status copies_parse(const options *o, popliner_copies *copies, popliner_error *error) {
    popliner_error told = {.message = ""};
    return o->copies == NULL || popliner_copies_parse(o->copies, copies, &told) == POPLINER_OK
               ? POPLINER_OK
               : session_fail(error, POPLINER_ERROR_USAGE, "--%s", told.message);
}

popliner_status copies_take(request *r, const options *o, popliner_error *error) {
    popliner_copies *copies = &r->asked.copies;
    size_t num_mapped = r->solver.num_mapped_stages;
    popliner_status status = copies_parse(o, copies, error);
    if (status != POPLINER_OK || o->copies == NULL)
        return status;
    copies->num_micro_batches = o->micro_batches > 0 ? o->micro_batches : o->batch;
    size_t num_ipus = o->num_ipus > 0 ? o->num_ipus : o->total_ipus;
    size_t chunks = o->total_ipus > 0 ? replicas_chunks(o) : 1;
    /* with --total-ipus these are told again for each pipeline */
    copies->num_stages = num_mapped > 0 ? num_mapped : chunks * num_ipus;
    copies->num_ipus = num_mapped > 0 ? count_ipus(r) : num_ipus;
    if (copies->rule == POPLINER_COPIES_GPIPE && copies->num_micro_batches == 0)
        return session_fail(error, POPLINER_ERROR_USAGE,
                            "--copies %s: every micro-batch of a step is kept; give "
                            "--micro-batches",
                            o->copies);
    bool is_interleaved = o->total_ipus > 0 ? o->interleave > 0
                                            : num_mapped > 0 && copies->num_ipus > 0 &&
                                                  num_mapped % copies->num_ipus == 0;
    if (copies->rule == POPLINER_COPIES_INTERLEAVED && !is_interleaved)
        return session_fail(error, POPLINER_ERROR_USAGE,
                            o->total_ipus > 0
                                ? "--copies %s: give --interleave"
                                : "--copies %s: give a --device-map in which each IPU has as many "
                                  "stages, like 0,1,0,1",
                            o->copies);
    return POPLINER_OK;
}

popliner_status copies_limit(request *r, const options *o, popliner_error *error) {
    size_t num_mapped = r->solver.num_mapped_stages;
    size_t known = o->copies == NULL ? SIZE_MAX : popliner_copies_max_stages(&r->asked.copies);
    size_t wanted = num_mapped > 0 ? num_mapped : o->num_ipus;
    if (known < wanted)
        return session_fail(error, POPLINER_ERROR_USAGE,
                            "--copies %s: is for %zu stages, but %s%zu stages are asked for; give "
                            "a number for each, or end with ',...' if it goes on like that",
                            o->copies, known, num_mapped > 0 ? "" : "up to ", wanted);
    size_t max_ipus = o->total_ipus > 0 ? known / replicas_chunks(o) : known;
    if (max_ipus == 0)
        return session_fail(error, POPLINER_ERROR_USAGE,
                            "--copies %s: is for %zu stages, but --interleave %zu has as many on "
                            "one IPU",
                            o->copies, known, o->interleave);
    if (r->solver.max_stages > max_ipus)
        r->solver.max_stages = max_ipus;
    return POPLINER_OK;
}
