/* Building the program tree, step by step.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MK_PROGRAMS_H
#define MK_PROGRAMS_H

#include "mkprofile/network_plan.h"
#include "mkprofile/variables.h"

/* Where the next program goes and what it descends from. */
typedef struct mk_builder {
    mk_network_plan *plan;
    size_t parent;      /* program, MK_NONE for a root */
    size_t parent_step; /* its liveness step */
    size_t step;        /* the next liveness step; in a function, counted from its occasion */
    size_t occasion;    /* the function whose body is being built, else MK_NONE */
    size_t operation;   /* that is being lowered, else MK_NONE */
    size_t ipu;         /* that runs the programs, or MK_EVERY_IPU */
    uint32_t record;    /* debug id that the programs descend from */
    const char *api;    /* what the operation calls in poplibs */
    const char *scope;  /* start of the names of its variables and compute sets */
    uint64_t identity;  /* what the operation is known by */
    uint64_t made;      /* so many things for it */
    size_t message;     /* number of the next message */
} mk_builder;

/* A place in the tree to come back to. */
typedef struct mk_place {
    size_t parent;
    size_t parent_step;
} mk_place;

/* What the next thing that is made for the operation is known by. */
uint64_t mk_next_identity(mk_builder *builder);

/* Adds a program behind the last child of the current parent; its step is builder->step - 1. */
size_t mk_add_program(mk_builder *builder, mk_program_type type, size_t target, uint32_t context,
                      uint64_t control_bytes);

/* The next programs become children of `program`, which was added last. */
mk_place mk_open(mk_builder *builder, size_t program);
void mk_close(mk_builder *builder, mk_place place);

/* A compute set and its OnTileExecute; vertices and variables follow, then mk_end_execute(). */
void mk_begin_execute(mk_builder *builder, const char *label);
void mk_execute_vertices(mk_builder *builder, size_t vertex_type, mk_tiles tiles,
                         uint64_t min_instances, uint64_t extra_instances);
void mk_execute_use(mk_builder *builder, mk_span variables);
void mk_end_execute(mk_builder *builder);

/* Sends `source` to other tiles, where a new message of `bytes` on `tiles` receives it. */
mk_span mk_add_exchange(mk_builder *builder, mk_span source, uint64_t bytes, mk_tiles tiles);

/* Sends what `sources` hold to `destinations`, which must be there already; tiles that take part
 * are `senders` and `receivers`. */
void mk_add_move(mk_builder *builder, const char *label, mk_spans sources, mk_spans destinations,
                 mk_tiles senders, mk_tiles receivers);

/* The same between IPUs, of which `ipus` has a bit for each that takes part. */
void mk_add_global_exchange(mk_builder *builder, const char *label, mk_spans sources,
                            mk_spans destinations, uint64_t ipus);

/* Marks variables as about to be written. */
void mk_add_write_undef(mk_builder *builder, mk_span variables);

/* Begin, Mid and End of a copy of tensors (the last `count` of plan->copied) from or to the host.
 */
void mk_add_host_copy(mk_builder *builder, bool to_host, size_t first_tensor, size_t num_tensors,
                      uint32_t record);

/* A temporary of the operation. */
mk_span mk_add_temporary(mk_builder *builder, const char *label, mk_category category,
                         uint64_t bytes, mk_tiles tiles);

/* Gives every program its number in the file and its number among those of its type. */
void mk_number_programs(mk_network_plan *plan);

#endif
