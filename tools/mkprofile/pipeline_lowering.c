/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "mkprofile/pipeline_lowering.h"

#include "base/growth.h"
#include "mkprofile/vertex_types.h"

#include <stdlib.h>

enum { COUNTER_BYTES = 4 };

static const mk_span nothing = {.first = 0, .count = 0};

static mk_tiles tiles_of(const mk_builder *builder, mk_span span) {
    return mk_variable_at(builder->plan, span.first)->tiles;
}

static void write_anew(mk_builder *builder, mk_span span) {
    for (size_t i = 0; i < span.count; i++)
        mk_write_anew(builder->plan, span.first + i);
}

static void execute(mk_builder *builder, const char *label, size_t vertex_type, mk_tiles tiles,
                    mk_span read, mk_span also_read, mk_span written) {
    mk_begin_execute(builder, label);
    mk_execute_vertices(builder, vertex_type, tiles, 1, 0);
    mk_execute_use(builder, read);
    mk_execute_use(builder, also_read);
    mk_execute_use(builder, written);
    mk_end_execute(builder);
}

/* ---- Stashes and FIFOs ---------------------------------------------------------------------- */

/* Which copy is next: on tile 0 of the IPU, from turn to turn of the loop. */
static mk_span add_counter(mk_builder *builder) {
    mk_tiles tile = {.first = 0, .count = 1, .ipu = builder->ipu};
    mk_span counter = mk_add_temporary(builder, "stashIndex", MK_VARIABLE, COUNTER_BYTES, tile);
    for (size_t i = 0; i < counter.count; i++)
        mk_variable_at(builder->plan, counter.first + i)->spans_loop = true;
    return counter;
}

static mk_span send_counter(mk_builder *builder, mk_span counter, mk_tiles tiles) {
    return mk_add_exchange(builder, counter, COUNTER_BYTES * tiles.count, tiles);
}

static void increment(mk_builder *builder, mk_span counter) {
    execute(builder, "increment_mod_inplace", MK_TYPE_ADD, tiles_of(builder, counter), counter,
            nothing, counter);
}

void mk_lower_stash(mk_builder *builder, mk_span tensor, mk_span stash) {
    mk_tiles tiles = tiles_of(builder, tensor);
    mk_span counter = add_counter(builder);
    mk_span message = send_counter(builder, counter, tiles);
    execute(builder, "stash/dynamicUpdateU_d0/update", MK_TYPE_DYNAMIC_UPDATE, tiles, tensor,
            message, stash);
    increment(builder, counter);
}

void mk_lower_restore(mk_builder *builder, mk_span stash, mk_span restored, bool in_place) {
    mk_network_plan *plan = builder->plan;
    mk_tiles tiles = tiles_of(builder, restored);
    mk_span counter = add_counter(builder);
    mk_span message = send_counter(builder, counter, tiles);
    mk_span slice = restored;
    if (in_place) {
        mk_data data = {.name = "stash/dynamicSlice_d0/sliced_0",
                        .identity = mk_next_identity(builder),
                        .kind = MK_ACTIVATION,
                        .bytes = mk_variable_at(plan, restored.first)->bytes * restored.count *
                                 tiles.count,
                        .tiles = tiles,
                        .num_copies = 1,
                        .original = restored.first,
                        .occasion = MK_NONE};
        slice = mk_add_data(plan, &data);
    }
    execute(builder, "stash/dynamicSlice_d0/slice", MK_TYPE_DYNAMIC_SLICE, tiles, stash, message,
            slice);
    increment(builder, counter);
    if (!in_place)
        return;
    write_anew(builder, restored);
    execute(builder, "OnTileCopy-0", MK_TYPE_SHORT_COPY, tiles, slice, nothing, restored);
}

void mk_lower_fifo(mk_builder *builder, mk_span in, mk_span buffer, uint64_t depth, mk_span out) {
    mk_tiles tiles = tiles_of(builder, in);
    if (depth < 2) {
        write_anew(builder, out);
        execute(builder, "out/OnTileCopy-0", MK_TYPE_SHORT_COPY, tiles, depth > 0 ? buffer : in,
                nothing, out);
        if (depth > 0)
            execute(builder, "buffer/OnTileCopy-0", MK_TYPE_SHORT_COPY, tiles, in, nothing, buffer);
        return;
    }
    mk_span counter = add_counter(builder);
    mk_span message = send_counter(builder, counter, tiles);
    write_anew(builder, out);
    execute(builder, "pop/dynamicSlice_d0/slice", MK_TYPE_DYNAMIC_SLICE, tiles, buffer, message,
            out);
    execute(builder, "push/dynamicUpdateU_d0/update", MK_TYPE_DYNAMIC_UPDATE, tiles, in, message,
            buffer);
    increment(builder, counter);
}

/* ---- Between IPUs --------------------------------------------------------------------------- */

/* All that goes from one IPU to another. */
typedef struct ipu_link {
    size_t from;
    size_t to;
    uint64_t bytes;
} ipu_link;

static mk_span add_global_message(mk_builder *builder, const char *label, size_t ipu,
                                  uint64_t bytes) {
    mk_network_plan *plan = builder->plan;
    mk_tiles tiles = mk_choose_tiles(plan, ipu, bytes, 1, 1, mk_next_identity(builder));
    return mk_add_temporary(builder, label, MK_GLOBAL_MESSAGE, bytes, tiles);
}

static void add_external_sync(mk_builder *builder) {
    size_t ipu = builder->ipu;
    builder->ipu = MK_EVERY_IPU;
    mk_add_program(builder, MK_SYNC, MK_SYNC_EXTERNAL, builder->record, 4);
    builder->ipu = ipu;
}

static size_t ipu_of(const mk_builder *builder, mk_span span) {
    return tiles_of(builder, span).ipu;
}

static bool is_of(const mk_builder *builder, const ipu_link *line, mk_span source,
                  mk_span destination) {
    return ipu_of(builder, source) == line->from && ipu_of(builder, destination) == line->to;
}

/* The links between IPUs that the copies need, in the order of their first; returns how many. */
static size_t find_links(const mk_builder *builder, const mk_span *sources,
                         const mk_span *destinations, size_t count, ipu_link *links) {
    size_t num_links = 0;
    for (size_t i = 0; i < count; i++) {
        size_t place = 0;
        while (place < num_links && !is_of(builder, &links[place], sources[i], destinations[i]))
            place++;
        if (place == num_links)
            links[num_links++] = (ipu_link){.from = ipu_of(builder, sources[i]),
                                            .to = ipu_of(builder, destinations[i])};
        for (size_t k = 0; k < sources[i].count; k++) {
            const mk_variable *variable = mk_variable_at(builder->plan, sources[i].first + k);
            links[place].bytes += variable->bytes * variable->tiles.count;
        }
    }
    return num_links;
}

/* Copies between IPUs that are made together. */
typedef struct ipu_copies {
    const mk_span *sources;      /* [count] */
    const mk_span *destinations; /* [count] */
    size_t count;
    mk_span *scratch; /* [count] */
} ipu_copies;

/* Moves what goes over a link into its message, or out of it. */
static void move_link(mk_builder *builder, const ipu_link *line, const ipu_copies *copies,
                      mk_span message, bool is_out) {
    const mk_network_plan *plan = builder->plan;
    mk_spans moved = {.items = copies->scratch};
    mk_spans through = {.items = &message, .count = 1};
    for (size_t i = 0; i < copies->count; i++) {
        if (is_of(builder, line, copies->sources[i], copies->destinations[i]))
            copies->scratch[moved.count++] = is_out ? copies->destinations[i] : copies->sources[i];
    }
    builder->ipu = is_out ? line->to : line->from;
    mk_tiles all = mk_all_tiles(plan, builder->ipu);
    mk_tiles own = tiles_of(builder, message);
    if (!is_out) {
        mk_add_move(builder, "GlobalPre/Copy/ExchangePre", moved, through, all, own);
        return;
    }
    for (size_t i = 0; i < moved.count; i++)
        write_anew(builder, moved.items[i]);
    mk_add_move(builder, "ExchangePre", through, moved, own, all);
}

void mk_lower_send(mk_builder *builder, const mk_span *sources, const mk_span *destinations,
                   size_t count) {
    mk_network_plan *plan = builder->plan;
    ipu_link *links = pl_new_array(count, sizeof *links);
    mk_span *spans = pl_new_array(3 * count, sizeof *spans);
    if (links == NULL || spans == NULL || plan->is_out_of_memory) {
        plan->is_out_of_memory = true;
        goto done;
    }
    mk_span *leaving = spans;
    mk_span *coming = spans + count;
    size_t num_links = find_links(builder, sources, destinations, count, links);
    uint64_t ipus = 0;
    for (size_t i = 0; i < num_links; i++) {
        ipus |= (uint64_t)1 << links[i].from | (uint64_t)1 << links[i].to;
        leaving[i] = add_global_message(builder, "GlobalPre", links[i].from, links[i].bytes);
        coming[i] = add_global_message(builder, "GlobalPost", links[i].to, links[i].bytes);
    }
    const ipu_copies copies = {sources, destinations, count, spans + 2 * count};
    for (size_t i = 0; i < num_links; i++)
        move_link(builder, &links[i], &copies, leaving[i], false);
    add_external_sync(builder);
    builder->ipu = MK_EVERY_IPU;
    mk_add_global_exchange(builder, "GlobalPre/GlobalExchange", (mk_spans){leaving, num_links},
                           (mk_spans){coming, num_links}, ipus);
    for (size_t i = 0; i < num_links; i++)
        move_link(builder, &links[i], &copies, coming[i], true);
done:
    free(links);
    free(spans);
}

void mk_lower_broadcast(mk_builder *builder, mk_span program_id) {
    mk_network_plan *plan = builder->plan;
    size_t num_ipus = (size_t)plan->options.num_ipus;
    mk_span messages[MK_MAX_IPUS];
    for (size_t ipu = 1; ipu < num_ipus; ipu++)
        messages[ipu - 1] = add_global_message(builder, "GlobalPre", ipu, COUNTER_BYTES);
    if (plan->is_out_of_memory)
        return;
    add_external_sync(builder);
    builder->ipu = MK_EVERY_IPU;
    uint64_t ipus = num_ipus == MK_MAX_IPUS ? UINT64_MAX : ((uint64_t)1 << num_ipus) - 1;
    mk_add_global_exchange(builder, "GlobalPre/GlobalExchange", (mk_spans){&program_id, 1},
                           (mk_spans){messages, num_ipus - 1}, ipus);
    for (size_t ipu = 1; ipu < num_ipus; ipu++) {
        builder->ipu = ipu;
        mk_add_exchange(builder, messages[ipu - 1], COUNTER_BYTES * plan->options.tiles_per_ipu,
                        mk_all_tiles(plan, ipu));
    }
}
