/* The network plan of a synthetic profile: everything that does not depend on the tile.
 *
 * The model's operations are lowered to programs, compute sets, exchanges and logical variables. A
 * logical variable stands for at most one lowered variable on each tile; its size there is a rule
 * (sizes.h), so nothing is kept per lowered variable.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MK_NETWORK_PLAN_H
#define MK_NETWORK_PLAN_H

#include "base/id_map.h"
#include "mkprofile/options.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* "No such thing", where the number of an item is expected. */
#define MK_NONE SIZE_MAX

/* A growing array of a plan. See mk_append. */
typedef struct mk_array {
    void *items; /* room for one at least */
    size_t count;
    size_t capacity;
    size_t item_size;
} mk_array;

/* ---- The model ---------------------------------------------------------------------------- */

typedef enum mk_tensor_kind {
    MK_WEIGHT,
    MK_OPTIMIZER_STATE,
    MK_STREAM, /* comes from the host for every batch */
    MK_ACTIVATION,
    MK_ACCUMULATOR, /* of the gradients of a weight */
} mk_tensor_kind;

/* Places of the model: what comes before the layers, each of them, what comes behind them. */
#define MK_HEAD 0
#define MK_LAYER(layer) ((size_t)(layer) + 1)

/* When a tensor that another part of the model makes is there. */
typedef enum mk_arrival {
    MK_MADE_HERE,
    MK_ARRIVES_AT_START,
    MK_ARRIVES_FOR_BACKWARD, /* a gradient */
} mk_arrival;

typedef struct mk_tensor {
    size_t name; /* in plan.strings */
    mk_tensor_kind kind;
    uint64_t rows;
    uint64_t columns;
    uint64_t element_bytes;
    uint32_t context;      /* debug id of its variable, 0 before it has one */
    uint32_t owner;        /* debug id of the framework's tensor: parent of its copies */
    size_t first_variable; /* its lowered pieces, MK_NONE before the first use */
    size_t num_variables;
    size_t place;     /* where it was met first */
    bool is_left_out; /* not in the part that is wanted */
    mk_arrival arrival;
    bool leaves; /* another part uses it */
    size_t ipu;
    size_t original;     /* tensor: this one has its elements on the tiles of the same numbers, */
    uint64_t num_copies; /* so many times; else MK_NONE */
    bool is_carried;     /* from one turn of the loop of a pipeline to the next */
    bool spans_loop;     /* is needed in all of that loop */
} mk_tensor;

/* How an operation is lowered. */
typedef enum mk_work {
    MK_WORK_MAP,      /* each tile on its own */
    MK_WORK_BINARY,   /* one operand comes from other tiles */
    MK_WORK_MATMUL,   /* exchange, multiply, reduce, reduce */
    MK_WORK_NORM,     /* statistics, then scale */
    MK_WORK_SOFTMAX,  /* maximum, exponents, sum, division */
    MK_WORK_GATHER,   /* a loop of slices */
    MK_WORK_UPDATE,   /* of a weight, in place */
    MK_WORK_TRANSFER, /* a rearrangement without arithmetic */
    MK_WORK_CALL,     /* of an outlined function */
    /* Of a pipeline (pipeline.h): */
    MK_WORK_STASH,   /* adds a tensor to those that are kept for the backward pass */
    MK_WORK_RESTORE, /* takes it from there */
    MK_WORK_FIFO,    /* both at once */
    MK_WORK_COPY,    /* on an IPU, to keep it for a while */
    MK_WORK_SEND,    /* between IPUs */
} mk_work;

#define MK_MAX_INPUTS 6
#define MK_MAX_REPLACED 6 /* operations of an outlined function */

typedef struct mk_operation {
    size_t name; /* in plan.strings; "" for those that a transformation made */
    const char *type;
    mk_work work;
    size_t inputs[MK_MAX_INPUTS]; /* tensors */
    size_t num_inputs;
    size_t output;          /* tensor, MK_NONE for an update in place */
    size_t forward;         /* of a gradient: its operation, else MK_NONE */
    const char *transform;  /* the transformation that made it, else NULL */
    uint64_t partial_bytes; /* of a multiplication, over all tiles */
    size_t function;        /* of a call */
    size_t num_replaced;    /* of a call: so many operations behind it are in the function */
    bool is_replaced;       /* lives in the function of the call before it */
    size_t place;
    bool is_left_out; /* not in the part that is wanted */
    bool joins_skip;  /* its second input skipped layers */
    size_t ipu;
    size_t first_sent; /* of MK_WORK_SEND: in plan.sent */
    size_t num_sent;
    uint64_t instance;         /* number of the operation in its framework */
    uint32_t framework_record; /* debug ids: what its gradients are children of */
    uint32_t record;           /* what its programs descend from */
    uint32_t outlined_record;  /* its record in the function, if it is the first one there */
} mk_operation;

/* ---- Programs ----------------------------------------------------------------------------- */

/* The numbers are those of real files. */
typedef enum mk_program_type {
    MK_SEQUENCE = 1,
    MK_ON_TILE_EXECUTE = 2,
    MK_REPEAT = 3,
    MK_CALL = 6,
    MK_ON_EVERY_TILE_SWITCH = 9,
    MK_DO_EXCHANGE = 11,
    MK_GLOBAL_EXCHANGE = 12, /* this number is a guess */
    MK_STREAM_COPY_BEGIN = 17,
    MK_STREAM_COPY_MID = 18,
    MK_STREAM_COPY_END = 19,
    MK_WRITE_UNDEF = 20,
    MK_SYNC = 25,
    MK_SANS = 27,
    MK_SYNC_ANS = 28,
    MK_PROGRAM_TYPE_END = 29,
} mk_program_type;

typedef struct mk_program {
    mk_program_type type;
    size_t variant;  /* its number among the programs of its type that have a table */
    size_t target;   /* compute set, exchange, host copy, function, repeat count or sync */
    size_t parent;   /* program, MK_NONE for a root */
    size_t children; /* first child, MK_NONE for a leaf */
    size_t next;     /* next sibling, MK_NONE for the last */
    size_t last_child;
    size_t id;        /* in the file: those of functions come after all others */
    size_t operation; /* MK_NONE for none */
    bool is_in_function;
    size_t ipu;  /* that runs it, or MK_EVERY_IPU */
    size_t name; /* in plan.strings, MK_NONE when it has none */
    uint32_t context;
    uint64_t control_bytes; /* of its own control code on each tile that takes part */
} mk_program;

/* All of them, where the number of an IPU is expected. */
#define MK_EVERY_IPU SIZE_MAX

/* The kinds of syncs: targets of their programs. */
enum { MK_SYNC_INTERNAL, MK_SYNC_EXTERNAL };

/* A set of tiles of an IPU: `count` in a row from `first`, going on at its tile 0. */
typedef struct mk_tiles {
    uint64_t first;
    uint64_t count;
    size_t ipu;
} mk_tiles;

typedef struct mk_vertex_type {
    const char *name;      /* NULL for one that was generated for an operation */
    size_t generated_name; /* in plan.strings, then */
    const char *source;
    uint64_t size_bytes;       /* of one instance's state */
    uint64_t pointer_bytes;    /* of these: pointers to data */
    uint64_t field_bytes;      /* per instance, in a variable of their own; 0 for none */
    uint64_t descriptor_bytes; /* likewise, of copy descriptors */
    uint64_t code_bytes;
    bool copies; /* its pointers are those of a copy */
} mk_vertex_type;

/* The vertices of one type in one compute set. */
typedef struct mk_vertices {
    size_t compute_set;
    size_t vertex_type;
    mk_tiles tiles;
    uint64_t min_instances;   /* instances on a tile that has any */
    uint64_t extra_instances; /* up to so many more */
    uint64_t identity;        /* what the random part depends on, here and below */
} mk_vertices;

typedef struct mk_compute_set {
    size_t name;
    uint32_t context;
    size_t first_vertices;
    size_t num_vertices;
    size_t first_use; /* in plan.uses: the data that its vertices read and write */
    size_t num_uses;
} mk_compute_set;

/* What an exchange moves: variables in plan.uses. */
typedef struct mk_moved {
    size_t first_source;
    size_t num_sources;
    size_t first_destination;
    size_t num_destinations;
} mk_moved;

typedef struct mk_exchange {
    mk_tiles senders;
    mk_tiles receivers;
    mk_moved moved;
    uint64_t code_bytes; /* on each tile that takes part, about */
    uint64_t identity;
} mk_exchange;

/* An exchange between IPUs. */
typedef struct mk_global_exchange {
    mk_moved moved;
    uint64_t ipus; /* that take part, a bit for each */
} mk_global_exchange;

/* A tensor that is copied to another IPU. */
typedef struct mk_sent {
    size_t source;
    size_t destination;
} mk_sent;

/* One StreamCopyMid: some tensors to or from the host. */
typedef struct mk_host_copy {
    bool to_host;
    size_t ipu;
    size_t first_tensor; /* in plan.copied */
    size_t num_tensors;
} mk_host_copy;

/* What goes on again and again, each time from another step: the life of its variables is told in
 * steps from there. An outlined function, or the windows of the host copies. */
typedef struct mk_occasion {
    bool is_function;
    size_t body;                     /* root program of a function */
    size_t body_steps;               /* steps of the body, its root included */
    mk_array starts;                 /* size_t: the steps */
    size_t first_call;               /* operation: the first call of the function */
    size_t inputs[MK_MAX_INPUTS];    /* first variable of each of its parameters */
    size_t outputs[MK_MAX_REPLACED]; /* and of what each of its operations computes */
} mk_occasion;

/* ---- Variables ---------------------------------------------------------------------------- */

typedef enum mk_category {
    MK_VARIABLE = 0,
    MK_CONTROL_ID = 2,
    MK_MESSAGE = 3,
    MK_HOST_MESSAGE = 4,
    MK_GLOBAL_MESSAGE = 5,
    MK_REARRANGEMENT = 6,
    MK_CONSTANT = 8,
    MK_HOST_PACKET_HEADER = 9,
    MK_GLOBAL_PACKET_HEADER = 10,
    MK_STACK = 11,
    MK_VERTEX_STATE = 12,
    MK_COPY_DESCRIPTOR = 13,
    MK_VERTEX_FIELD_DATA = 15,
    MK_CONTROL_CODE = 17,
    MK_VERTEX_CODE = 18,
    MK_INTERNAL_EXCHANGE_CODE = 19,
    MK_HOST_EXCHANGE_CODE = 20,
    MK_GLOBAL_EXCHANGE_CODE = 21,
    MK_INSTRUMENTATION = 22,
    MK_CATEGORY_COUNT = 27,
} mk_category;

/* The rule that gives a logical variable its size on a tile. */
typedef enum mk_rule {
    MK_RULE_SHARE,        /* bytes, more or less, on each of its tiles */
    MK_RULE_CLONE,        /* what the variable `subject` has on the tile of the same number */
    MK_RULE_FIXED,        /* bytes, exactly */
    MK_RULE_STATE,        /* of the instances of `subject` (vertices) */
    MK_RULE_FIELDS,       /* likewise, their field data */
    MK_RULE_DESCRIPTORS,  /* likewise, their copy descriptors */
    MK_RULE_VERTEX_CODE,  /* of the vertex type `subject` where it has instances */
    MK_RULE_EXCHANGE,     /* code of the exchange `subject` */
    MK_RULE_CONTROL_CODE, /* of the programs of chunk `subject` */
    MK_RULE_UNALLOCATED,  /* a row that holds no memory */
} mk_rule;

typedef enum mk_suffix {
    MK_SUFFIX_NONE,
    MK_SUFFIX_TILE,        /* 17 */
    MK_SUFFIX_NUMBER,      /* 0_5, 5 being suffix_number */
    MK_SUFFIX_TILE_NUMBER, /* 17_5 */
    MK_SUFFIX_MESSAGE,     /* 5-17-0 */
} mk_suffix;

typedef enum mk_life {
    MK_LIFE_ALWAYS,
    MK_LIFE_STEPS, /* from first_step up to, not including, end_step */
} mk_life;

/* In which order the variables of a tile are placed. */
typedef enum mk_group {
    MK_GROUP_START,
    MK_GROUP_VERTEX_CODE,
    MK_GROUP_EXECUTABLE, /* the others; so far all are executable */
    MK_GROUP_DATA,       /* always live */
    MK_GROUP_TEMPORARY,
    MK_GROUP_STATE, /* of vertices, with their fields and copy descriptors */
} mk_group;

typedef struct mk_variable {
    size_t name;      /* in plan.base_names */
    size_t unlowered; /* MK_NONE for what the compiler made */
    mk_category category;
    mk_rule rule;
    size_t subject;
    uint64_t bytes;      /* on each of its tiles */
    uint64_t num_copies; /* of a clone: so many times what the other one has */
    uint64_t identity;
    mk_tiles tiles;
    uint64_t alignment;
    mk_suffix suffix;
    size_t suffix_number;
    size_t prefix; /* of a vertex field, else MK_NONE */
    unsigned bitset;
    mk_group group;
    mk_life life;
    size_t always_group; /* which of the always live classes */
    size_t occasion;     /* whose starts its steps count from, else MK_NONE */
    size_t first_step;   /* MK_NONE before the first use */
    size_t end_step;
    size_t earlier;      /* its life before that (mk_life_part), 0 when there was none */
    bool may_be_carried; /* may hold what the turn of the loop before wrote; */
    bool is_carried;     /* it does */
    bool is_written;     /* since the turn began */
    bool spans_loop;
    size_t class_id;
} mk_variable;

/* Two logical variables that may not lie in the same memory element of a tile. */
typedef struct mk_pair {
    size_t one;
    size_t other;
} mk_pair;

typedef struct mk_unlowered {
    size_t name;
    uint32_t context; /* 0 for none */
} mk_unlowered;

typedef struct mk_range {
    size_t from;
    size_t to;
} mk_range;

/* Steps in which a variable was live before its current value was written. */
typedef struct mk_life_part {
    mk_range steps;
    size_t earlier; /* the part before, as in mk_variable */
} mk_life_part;

/* A liveness class. */
typedef struct mk_class {
    bool is_always_live;
    size_t first_range;
    size_t num_ranges;
} mk_class;

/* ---- Debug contexts ------------------------------------------------------------------------ */

typedef enum mk_context_kind {
    MK_CONTEXT_COMPILATION,
    MK_CONTEXT_ROOT,             /* popart, without fields */
    MK_CONTEXT_BUILDER_OP,       /* popartbuilder */
    MK_CONTEXT_BUILDER_VARIABLE, /* likewise */
    MK_CONTEXT_BUILDER_BARE,     /* likewise, of a transformation */
    MK_CONTEXT_POPTORCH,
    MK_CONTEXT_ONNX_OP,
    MK_CONTEXT_ONNX_VARIABLE,
    MK_CONTEXT_OP, /* popart */
    MK_CONTEXT_DISCARDED_OP,
    MK_CONTEXT_CALL,
    MK_CONTEXT_TENSOR,
    MK_CONTEXT_XLA_OP,
    MK_CONTEXT_HLO,
    MK_CONTEXT_DRIVER,
    MK_CONTEXT_POPLIBS,
    MK_CONTEXT_VARIABLE, /* poplar */
    MK_CONTEXT_COMPUTE_SET,
    MK_CONTEXT_PROGRAM,
    MK_CONTEXT_KIND_COUNT,
} mk_context_kind;

/* Stands for NULL where a debug id is expected. */
#define MK_NO_DEBUG_ID UINT32_MAX

/* The debug id of a context is its place in the list + 1. */
typedef struct mk_context {
    mk_context_kind kind;
    uint32_t parent; /* 0 for a root */
    size_t name;
    size_t subject;   /* operation or tensor, MK_NONE for none */
    const char *word; /* api of poplibs, type of a program */
    size_t block;     /* contexts of a block are written backwards, blocks in their order */
} mk_context;

/* ---- Faults -------------------------------------------------------------------------------- */

typedef struct mk_fault {
    mk_fault_kind kind;
    size_t subject; /* program, or unlowered variable */
} mk_fault;

/* ---- All of it ----------------------------------------------------------------------------- */

typedef struct mk_network_plan {
    mk_options options;

    /* Once set, nothing more is added: what was planned since makes no sense. */
    bool is_out_of_memory;

    pl_names strings;    /* names of operations, tensors, programs and debug contexts */
    pl_names base_names; /* of lowered variables */

    mk_array tensors;
    mk_array operations;
    uint64_t next_instance;
    size_t place;          /* of what is added next */
    size_t backward_begin; /* the first operation behind the forward pass, MK_NONE if none is */
    size_t update_begin;   /* the first one behind the loop of batches, likewise */
    size_t update_end;
    mk_array schedule; /* size_t: operations of the loop in their order, MK_NONE for the result */
    mk_array sent;     /* mk_sent */
    size_t loop_first_step;
    size_t loop_end_step;
    uint64_t next_tile[MK_MAX_IPUS]; /* where the mapping of the next tensor begins */

    mk_array programs;
    mk_array vertex_types;
    mk_array vertices;
    mk_array compute_sets;
    mk_array exchanges;
    mk_array global_exchanges;
    mk_array host_copies;
    mk_array copied;     /* size_t: tensors */
    mk_array uses;       /* size_t: logical variables */
    mk_array steps;      /* mk_step */
    mk_array occasions;  /* by IPU */
    mk_array call_order; /* size_t: functions, in the order of their first call */

    mk_array variables;
    mk_array pairs; /* mk_pair */
    mk_array unlowered;
    mk_array classes; /* class ids start at 1: the first one here is class 1 */
    mk_array ranges;
    mk_array life_parts; /* numbered from 1 */
    size_t program_id;   /* variable: which control program is to run */
    size_t num_chunks;   /* control code is cut into chunks of programs */
    mk_array faults;

    mk_array contexts;
    size_t block;
} mk_network_plan;

/* One liveness step: a row of depth_first_steps. */
typedef struct mk_step {
    size_t program;
    size_t parent; /* step, MK_NONE for a root */
} mk_step;

/* The occasions of an IPU: the windows of its host copies, and the outlined functions. */
enum {
    MK_WINDOWS = 0,
    MK_FUNCTION_NORM = 1,
    MK_FUNCTION_NORM_GRADIENT = 2,
    MK_FUNCTION_FEED_FORWARD_GRADIENT = 3,
    MK_OCCASIONS_OF_AN_IPU = 4,
};

/* The number of one of them among those of all IPUs. */
size_t mk_occasion_of_ipu(size_t ipu, size_t occasion);

/* Programs per chunk of control code. */
#define MK_CHUNK_PROGRAMS 64

/* Makes an empty array with room for one item. */
void mk_array_begin(mk_network_plan *plan, mk_array *array, size_t item_size);

/* Appends a copy of *item to an array of the plan and returns its number. When memory is short, it
 * sets plan->is_out_of_memory and returns 0, whose place is always there: what builds a plan need
 * not look back, and asks at the end. Pointers into the array do not survive. */
size_t mk_append(mk_network_plan *plan, mk_array *array, const void *item);

/* The number of a text in `names`, which are of the plan: a new one if it was not met before. Fails
 * as mk_append does. */
size_t mk_intern(mk_network_plan *plan, pl_names *names, const char *text);

/* The number of a formatted text in plan->strings; at most 511 bytes are kept. */
size_t mk_intern_format(mk_network_plan *plan, const char *format, ...);

/* Items of the arrays. Pointers do not survive an addition to the same array. */
mk_tensor *mk_tensor_at(const mk_network_plan *plan, size_t number);
mk_operation *mk_operation_at(const mk_network_plan *plan, size_t number);
mk_program *mk_program_at(const mk_network_plan *plan, size_t number);
mk_vertex_type *mk_vertex_type_at(const mk_network_plan *plan, size_t number);
mk_vertices *mk_vertices_at(const mk_network_plan *plan, size_t number);
mk_compute_set *mk_compute_set_at(const mk_network_plan *plan, size_t number);
mk_exchange *mk_exchange_at(const mk_network_plan *plan, size_t number);
mk_global_exchange *mk_global_exchange_at(const mk_network_plan *plan, size_t number);
mk_host_copy *mk_host_copy_at(const mk_network_plan *plan, size_t number);
mk_occasion *mk_occasion_at(const mk_network_plan *plan, size_t number);
mk_variable *mk_variable_at(const mk_network_plan *plan, size_t number);
mk_unlowered *mk_unlowered_at(const mk_network_plan *plan, size_t number);
mk_class *mk_class_at(const mk_network_plan *plan, size_t number);
mk_range *mk_range_at(const mk_network_plan *plan, size_t number);
mk_context *mk_context_at(const mk_network_plan *plan, size_t number);
mk_life_part *mk_life_part_at(const mk_network_plan *plan, size_t number);
mk_step *mk_step_at(const mk_network_plan *plan, size_t number);
mk_fault *mk_fault_at(const mk_network_plan *plan, size_t number);

/* The number at a place of an array of numbers. */
size_t mk_number_at(const mk_array *array, size_t place);

/* The IPU of a place. */
size_t mk_ipu_of_place(const mk_network_plan *plan, size_t place);

/* Whether a tensor is there before anything runs, and stays. */
bool mk_is_resident(mk_tensor_kind kind);

/* The text of a number of plan->strings. */
const char *mk_text(const mk_network_plan *plan, size_t number);

/* The text of a number of plan->base_names. */
const char *mk_base_name(const mk_network_plan *plan, size_t number);

const char *mk_vertex_type_name(const mk_network_plan *plan, size_t vertex_type);

/* Adds a debug context and returns its id. */
uint32_t mk_add_context(mk_network_plan *plan, mk_context_kind kind, uint32_t parent, size_t name,
                        size_t subject, const char *word);

/* Makes it empty; network_planning.h fills it. After a failure too, the plan must be ended. */
popliner_status mk_network_plan_begin(mk_network_plan *plan, const mk_options *options,
                                      popliner_error *error);

void mk_network_plan_end(mk_network_plan *plan);

#endif
