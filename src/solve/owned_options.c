/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "solve/owned_options.h"

#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "base/growth.h"
#include "base/structs.h"

popliner_status pl_solver_options_take(const popliner_solver_options *callers,
                                       const popliner_costs *costs, popliner_solver_options *own,
                                       popliner_listener *listener, popliner_error *error) {
    *own = (popliner_solver_options)POPLINER_SOLVER_OPTIONS_INIT;
    *listener = (popliner_listener)POPLINER_LISTENER_INIT;
    popliner_status status =
        pl_struct_take(own, sizeof *own, callers, "popliner_solver_options", error);
    if (own->counted_units == NULL && costs != NULL)
        own->counted_units = popliner_costs_counted_units(costs);
    if (status != POPLINER_OK || own->listener == NULL)
        return status;
    status = pl_struct_take(listener, sizeof *listener, own->listener, "popliner_listener", error);
    own->listener = listener;
    return status;
}

/* A copy of an array, NULL for NULL; *memory becomes false when it is short. */
static void *copy_array(const void *items, size_t count, size_t item_size, bool *memory) {
    if (items == NULL)
        return NULL;
    void *copy = pl_new_array(count, item_size);
    if (copy == NULL)
        *memory = false;
    else
        memcpy(copy, items, count * item_size);
    return copy;
}

popliner_status pl_owned_options_copy(pl_owned_options *copy,
                                      const popliner_solver_options *options, size_t num_units,
                                      popliner_error *error) {
    const popliner_solver_options *o = options;
    bool memory = true;
    *copy = (pl_owned_options){.options = *o};
    copy->objectives = copy_array(o->objectives, o->num_objectives, sizeof *o->objectives, &memory);
    copy->ipu_limits = copy_array(o->ipu_limits, o->num_ipu_limits, sizeof *o->ipu_limits, &memory);
    copy->ipu_speeds = copy_array(o->ipu_speeds, o->num_ipu_speeds, sizeof *o->ipu_speeds, &memory);
    copy->ipu_links = copy_array(o->ipu_links, o->num_ipu_links, sizeof *o->ipu_links, &memory);
    copy->counted_units = copy_array(o->counted_units, num_units, 1, &memory);
    copy->cut_rules = copy_array(o->cut_rules, num_units, sizeof *o->cut_rules, &memory);
    copy->pairs = copy_array(o->pairs, o->num_pairs, sizeof *o->pairs, &memory);
    copy->placements = copy_array(o->placements, o->num_placements, sizeof *o->placements, &memory);
    copy->device_map =
        copy_array(o->device_map, o->num_mapped_stages, sizeof *o->device_map, &memory);
    copy->options.objectives = copy->objectives;
    copy->options.ipu_limits = copy->ipu_limits;
    copy->options.ipu_speeds = copy->ipu_speeds;
    copy->options.ipu_links = copy->ipu_links;
    copy->options.counted_units = copy->counted_units;
    copy->options.cut_rules = copy->cut_rules;
    copy->options.pairs = copy->pairs;
    copy->options.placements = copy->placements;
    copy->options.device_map = copy->device_map;
    if (memory)
        return POPLINER_OK;
    pl_owned_options_free(copy);
    return pl_fail_memory(error, "the options of the solver");
}

void pl_owned_options_free(pl_owned_options *copy) {
    free(copy->objectives);
    free(copy->ipu_limits);
    free(copy->ipu_speeds);
    free(copy->ipu_links);
    free(copy->counted_units);
    free(copy->cut_rules);
    free(copy->pairs);
    free(copy->placements);
    free(copy->device_map);
    *copy = (pl_owned_options){0};
}
