/* Writes programs, liveness steps, compute sets and exchanges.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/growth.h"
#include "mkprofile/profile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Bytes that a tile sends or receives in a cycle. */
enum { EXCHANGE_BYTES_PER_CYCLE = 4 };

/* Regions of exchanges are numbered as they come. */
typedef struct region_writer {
    mk_rows targets;
    mk_rows regions;
    size_t next_id;
} region_writer;

/* ---- Regions -------------------------------------------------------------------------------- */

/* The variables of one side of a transfer, whole; adds their bytes by tile. Returns the id. */
static size_t write_regions(mk_profile *profile, region_writer *writer, const size_t *variables,
                            size_t count, uint64_t *bytes_by_tile) {
    size_t id = writer->next_id++;
    mk_rows_integer(&writer->targets, id);
    mk_rows_next(&writer->targets);
    for (size_t tile = 0; tile < profile->plan->options.num_tiles; tile++) {
        for (size_t i = 0; i < count; i++) {
            if (!mk_has_var(profile, variables[i], tile))
                continue;
            uint64_t bytes = mk_size_on_tile(&profile->sizes, variables[i], tile);
            char region[32];
            snprintf(region, sizeof region, "[0,%llu)", (unsigned long long)bytes);
            mk_rows_integer(&writer->regions, id);
            mk_rows_integer(&writer->regions, mk_var_id(profile, variables[i], tile));
            mk_rows_text(&writer->regions, region);
            mk_rows_next(&writer->regions);
            bytes_by_tile[tile] += bytes;
        }
    }
    return id;
}

/* The first region in words, as the tables spell it. */
static void describe_region(const mk_profile *profile, size_t variable, char *text, size_t size) {
    const mk_network_plan *plan = profile->plan;
    const mk_variable *described = mk_variable_at(plan, variable);
    size_t tile =
        (size_t)(described->tiles.first + described->tiles.ipu * plan->options.tiles_per_ipu);
    snprintf(text, size, "%s: %s%zu[0,%llu)", mk_category_name(described->category),
             mk_base_name(plan, described->name), tile,
             (unsigned long long)mk_size_on_tile(&profile->sizes, variable, tile));
}

/* By IPU: the sum of the arrays over its tiles, or the most of a tile. */
static void write_total(mk_profile *profile, mk_rows *rows, const uint64_t *a, const uint64_t *b,
                        bool is_maximum) {
    const mk_options *options = &profile->plan->options;
    uint64_t totals[MK_MAX_IPUS] = {0};
    for (size_t tile = 0; tile < options->num_tiles; tile++) {
        uint64_t *total = &totals[tile / options->tiles_per_ipu];
        uint64_t bytes = a[tile] + (b != NULL ? b[tile] : 0);
        *total = !is_maximum ? *total + bytes : bytes > *total ? bytes : *total;
    }
    pl_rle_write(&profile->blob, totals, (size_t)options->num_ipus);
    mk_rows_blob(rows, &profile->blob);
}

void mk_write_by_tile(mk_profile *profile, mk_rows *rows, const uint64_t *values) {
    pl_rle_write(&profile->blob, values, (size_t)profile->plan->options.num_tiles);
    mk_rows_blob(rows, &profile->blob);
}

size_t mk_write_cycles(mk_profile *profile, mk_rows *rows, const uint64_t *cycles) {
    const mk_options *options = &profile->plan->options;
    size_t first = profile->num_cycles_rows;
    for (size_t ipu = 0; ipu < options->num_ipus; ipu++) {
        mk_rows_integer(rows, profile->num_cycles_rows++);
        pl_rle_write(&profile->blob, cycles + ipu * options->tiles_per_ipu,
                     (size_t)options->tiles_per_ipu);
        mk_rows_blob(rows, &profile->blob);
        mk_rows_next(rows);
    }
    return first;
}

/* The list of the rows from `first` on, one for each IPU. */
static void write_cycles_ids(mk_profile *profile, mk_rows *rows, size_t first) {
    for (size_t ipu = 0; ipu < profile->plan->options.num_ipus; ipu++)
        pl_varint_write(&profile->blob, first + ipu);
    mk_rows_blob(rows, &profile->blob);
}

/* The cycles of sending and receiving; the result replaces `received`. */
static void transfer_cycles(const mk_profile *profile, uint64_t *received, const uint64_t *sent) {
    for (size_t tile = 0; tile < profile->plan->options.num_tiles; tile++) {
        uint64_t bytes = received[tile] > sent[tile] ? received[tile] : sent[tile];
        received[tile] = bytes > 0 ? 20 + bytes / EXCHANGE_BYTES_PER_CYCLE : 0;
    }
}

static void write_debug_id(mk_rows *rows, uint32_t context) {
    if (context != MK_NO_DEBUG_ID)
        mk_rows_integer(rows, context);
    else
        mk_rows_null(rows);
}

static void clear_scratch(mk_profile *profile) {
    size_t bytes = (size_t)profile->plan->options.num_tiles * sizeof *profile->by_tile;
    memset(profile->by_tile, 0, bytes);
    memset(profile->by_tile_too, 0, bytes);
    memset(profile->by_tile_third, 0, bytes);
}

/* ---- Exchanges ------------------------------------------------------------------------------ */

/* The row of an exchange on an IPU or, without `code`, between IPUs: its code is a variable of its
 * own, for which that table has no column. The scratch arrays of sent and received bytes must be
 * clear. */
static void write_moved(mk_profile *profile, mk_rows *rows, mk_rows *cycles, region_writer *writer,
                        size_t number, const mk_moved *moved, const uint64_t *code) {
    const size_t *uses = profile->plan->uses.items;
    const size_t *sources = uses + moved->first_source;
    const size_t *destinations = uses + moved->first_destination;
    uint64_t *received = profile->by_tile;
    uint64_t *sent = profile->by_tile_too;
    size_t source_id = write_regions(profile, writer, sources, moved->num_sources, sent);
    size_t destination_id =
        write_regions(profile, writer, destinations, moved->num_destinations, received);
    char source_text[700];
    char destination_text[700];
    describe_region(profile, sources[0], source_text, sizeof source_text);
    describe_region(profile, destinations[0], destination_text, sizeof destination_text);
    mk_rows_integer(rows, number);
    mk_write_by_tile(profile, rows, received);
    mk_write_by_tile(profile, rows, sent);
    if (code != NULL)
        mk_write_by_tile(profile, rows, code);
    mk_rows_null(rows);
    mk_rows_text(rows, source_text);
    mk_rows_text(rows, destination_text);
    write_total(profile, rows, received, NULL, false);
    write_total(profile, rows, sent, NULL, false);
    write_total(profile, rows, received, sent, true);
    transfer_cycles(profile, received, sent);
    size_t cycles_id = mk_write_cycles(profile, cycles, received);
    write_cycles_ids(profile, rows, cycles_id);
    mk_rows_integer(rows, source_id);
    mk_rows_integer(rows, destination_id);
    if (code == NULL)
        mk_rows_text(rows, "External");
    mk_rows_next(rows);
}

static void write_exchange(mk_profile *profile, mk_rows *rows, mk_rows *cycles,
                           region_writer *writer, size_t number) {
    const mk_network_plan *plan = profile->plan;
    uint64_t *code = profile->by_tile_third;
    clear_scratch(profile);
    for (size_t tile = 0; tile < plan->options.num_tiles; tile++)
        code[tile] = mk_exchange_code_on_tile(plan, number, tile);
    write_moved(profile, rows, cycles, writer, number, &mk_exchange_at(plan, number)->moved, code);
}

static void write_global_exchange(mk_profile *profile, mk_rows *rows, mk_rows *cycles,
                                  region_writer *writer, size_t number) {
    clear_scratch(profile);
    write_moved(profile, rows, cycles, writer, number,
                &mk_global_exchange_at(profile->plan, number)->moved, NULL);
}

static void write_stream_copy(mk_profile *profile, mk_rows *rows, mk_rows *hosts, mk_rows *cycles,
                              region_writer *writer, size_t number) {
    const mk_network_plan *plan = profile->plan;
    const mk_host_copy *copy = mk_host_copy_at(plan, number);
    uint64_t *received = copy->to_host ? profile->by_tile_too : profile->by_tile;
    clear_scratch(profile);
    size_t num_tensors = copy->num_tensors > 0 ? copy->num_tensors : 1;
    for (size_t i = 0; i < num_tensors; i++) {
        size_t first = plan->program_id; /* a copy of no tensor brings the number of the program */
        size_t count = 1;
        const char *stream = "programId0";
        if (copy->num_tensors > 0) {
            const mk_tensor *tensor =
                mk_tensor_at(plan, mk_number_at(&plan->copied, copy->first_tensor + i));
            first = tensor->first_variable;
            count = tensor->num_variables;
            stream = mk_text(plan, tensor->name);
        }
        size_t *variables = pl_new_array(count, sizeof *variables);
        if (variables == NULL) {
            profile->blob.failed = true;
            return;
        }
        for (size_t k = 0; k < count; k++)
            variables[k] = first + k;
        char text[700];
        describe_region(profile, first, text, sizeof text);
        size_t id = write_regions(profile, writer, variables, count, received);
        free(variables);
        mk_rows_integer(hosts, number);
        mk_rows_text(hosts, stream);
        mk_rows_text(hosts, text);
        mk_rows_integer(hosts, 0);
        mk_rows_integer(hosts, id);
        mk_rows_next(hosts);
    }
    mk_rows_integer(rows, number);
    mk_write_by_tile(profile, rows, profile->by_tile);
    mk_write_by_tile(profile, rows, profile->by_tile_too);
    mk_rows_null(rows);
    write_total(profile, rows, profile->by_tile, NULL, false);
    write_total(profile, rows, profile->by_tile_too, NULL, false);
    write_total(profile, rows, profile->by_tile, profile->by_tile_too, true);
    transfer_cycles(profile, profile->by_tile, profile->by_tile_too);
    size_t cycles_id = mk_write_cycles(profile, cycles, profile->by_tile);
    write_cycles_ids(profile, rows, cycles_id);
    mk_rows_next(rows);
}

static void write_transfers(mk_profile *profile, mk_rows *cycles) {
    const mk_network_plan *plan = profile->plan;
    mk_database *database = &profile->database;
    region_writer writer = {.targets = mk_rows_begin(database, "exchange_target", 1),
                            .regions = mk_rows_begin(database, "exchange_regions", 3)};
    mk_rows copies = mk_rows_begin(database, "program_type_stream_copy_mid", 8);
    mk_rows from_host = mk_rows_begin(database, "host_exchange_from_host", 5);
    mk_rows to_host = mk_rows_begin(database, "host_exchange_to_host", 5);
    profile->host_copy_cycles = profile->num_cycles_rows;
    for (size_t i = 0; i < plan->host_copies.count; i++) {
        bool is_output = mk_host_copy_at(plan, i)->to_host;
        write_stream_copy(profile, &copies, is_output ? &to_host : &from_host, cycles, &writer, i);
    }
    mk_rows_end(&copies);
    mk_rows_end(&from_host);
    mk_rows_end(&to_host);
    mk_rows exchanges = mk_rows_begin(database, "program_type_do_exchange", 13);
    profile->exchange_cycles = profile->num_cycles_rows;
    for (size_t i = 0; i < plan->exchanges.count; i++)
        write_exchange(profile, &exchanges, cycles, &writer, i);
    mk_rows_end(&exchanges);
    exchanges = mk_rows_begin(database, "program_type_global_exchange", 13);
    for (size_t i = 0; i < plan->global_exchanges.count; i++)
        write_global_exchange(profile, &exchanges, cycles, &writer, i);
    mk_rows_end(&exchanges);
    mk_rows_end(&writer.targets);
    mk_rows_end(&writer.regions);
}

/* ---- Compute sets --------------------------------------------------------------------------- */

/* The lowered variables of a compute set. */
typedef struct var_ids {
    uint64_t *ids;
    size_t capacity;
} var_ids;

static void append_var_ids(mk_profile *profile, const mk_compute_set *set, var_ids *vars) {
    const size_t *variables = (const size_t *)profile->plan->uses.items + set->first_use;
    size_t count = 0;
    if (!pl_grow(&vars->ids, &vars->capacity, set->num_uses * profile->plan->options.num_tiles,
                 sizeof *vars->ids)) {
        profile->blob.failed = true;
        return;
    }
    for (size_t tile = 0; tile < profile->plan->options.num_tiles; tile++) {
        for (size_t i = 0; i < set->num_uses; i++) {
            if (!mk_has_var(profile, variables[i], tile))
                continue;
            vars->ids[count++] = mk_var_id(profile, variables[i], tile);
        }
    }
    for (size_t i = count; i-- > 1;)
        vars->ids[i] -= vars->ids[i - 1];
    pl_rle_write(&profile->blob, vars->ids, count);
}

static void write_compute_set(mk_profile *profile, mk_rows *rows, mk_rows *instances,
                              mk_rows *cycles, var_ids *vars, size_t number) {
    const mk_network_plan *plan = profile->plan;
    const mk_compute_set *set = mk_compute_set_at(plan, number);
    uint64_t *cycles_by_tile = profile->by_tile_too;
    clear_scratch(profile);
    uint64_t num_instances = 0;
    pl_blob counts = {.data = NULL};
    for (size_t i = 0; i < set->num_vertices; i++) {
        size_t vertices = set->first_vertices + i;
        const mk_vertices *group = mk_vertices_at(plan, vertices);
        uint64_t size = mk_vertex_type_at(plan, group->vertex_type)->size_bytes;
        uint64_t of_type = 0;
        for (size_t tile = 0; tile < plan->options.num_tiles; tile++) {
            uint64_t here = mk_instances_on_tile(plan, vertices, tile);
            profile->by_tile[tile] = here;
            of_type += here;
            cycles_by_tile[tile] += here * (30 + size * 24) + (here > 0 ? 40 : 0);
        }
        mk_rows_integer(instances, number);
        mk_rows_integer(instances, group->vertex_type);
        mk_write_by_tile(profile, instances, profile->by_tile);
        mk_rows_next(instances);
        pl_varint_write(&counts, of_type);
        num_instances += of_type;
    }
    mk_rows_integer(rows, number);
    mk_rows_text(rows, mk_text(plan, set->name));
    for (size_t i = 0; i < set->num_vertices; i++)
        pl_varint_write(&profile->blob, mk_vertices_at(plan, set->first_vertices + i)->vertex_type);
    mk_rows_blob(rows, &profile->blob);
    mk_rows_blob(rows, &counts);
    mk_rows_null(rows);
    mk_rows_null(rows);
    mk_rows_null(rows);
    mk_rows_integer(rows, num_instances * 2);
    write_debug_id(rows, set->context);
    size_t cycles_id = mk_write_cycles(profile, cycles, cycles_by_tile);
    write_cycles_ids(profile, rows, cycles_id);
    mk_rows_null(rows);
    append_var_ids(profile, set, vars);
    mk_rows_blob(rows, &profile->blob);
    mk_rows_next(rows);
    free(counts.data);
}

static void write_compute_sets(mk_profile *profile, mk_rows *cycles) {
    var_ids vars = {.ids = NULL};
    mk_rows rows = mk_rows_begin(&profile->database, "compute_sets", 12);
    mk_rows instances = mk_rows_begin(&profile->database, "vertex_instances", 3);
    for (size_t i = 0; i < profile->plan->compute_sets.count && !profile->blob.failed; i++)
        write_compute_set(profile, &rows, &instances, cycles, &vars, i);
    mk_rows_end(&rows);
    mk_rows_end(&instances);
    free(vars.ids);
}

/* ---- Programs ------------------------------------------------------------------------------- */

static const struct {
    mk_program_type type;
    const char *name;
    const char *table; /* NULL when the type has none */
} program_types[] = {
    {MK_SEQUENCE, "Sequence", NULL},
    {MK_ON_TILE_EXECUTE, "OnTileExecute", "program_type_on_tile_execute"},
    {MK_REPEAT, "Repeat", "program_type_repeat"},
    {MK_CALL, "Call", "program_type_call"},
    {MK_ON_EVERY_TILE_SWITCH, "OnEveryTileSwitch", NULL},
    {MK_DO_EXCHANGE, "DoExchange", "program_type_do_exchange"},
    {MK_GLOBAL_EXCHANGE, "GlobalExchange", "program_type_global_exchange"},
    {MK_STREAM_COPY_BEGIN, "StreamCopyBegin", NULL},
    {MK_STREAM_COPY_MID, "StreamCopyMid", "program_type_stream_copy"},
    {MK_STREAM_COPY_END, "StreamCopyEnd", NULL},
    {MK_WRITE_UNDEF, "WriteUndef", NULL},
    {MK_SYNC, "Sync", "program_type_sync"},
    {MK_SANS, "Sans", "program_type_sans"},
    {MK_SYNC_ANS, "SyncAns", "program_type_sync_ans"},
};

static const size_t num_program_types = sizeof program_types / sizeof program_types[0];

const char *mk_program_type_name(mk_program_type type) {
    for (size_t i = 0; i < num_program_types; i++) {
        if (program_types[i].type == type)
            return program_types[i].name;
    }
    return "";
}

static bool has_table(mk_program_type type) {
    for (size_t i = 0; i < num_program_types; i++) {
        if (program_types[i].type == type)
            return program_types[i].table != NULL;
    }
    return false;
}

/* The index into the table of its type: that of what it runs, or its number among its like. */
static size_t variant_index(const mk_program *program) {
    return program->type == MK_DO_EXCHANGE || program->type == MK_GLOBAL_EXCHANGE ||
                   program->type == MK_STREAM_COPY_MID
               ? program->target
               : program->variant;
}

static void add_control_code(const mk_network_plan *plan, size_t number, uint64_t *bytes_by_tile) {
    for (size_t tile = 0; tile < plan->options.num_tiles; tile++)
        bytes_by_tile[tile] += mk_control_code_on_tile(plan, number, tile);
    for (size_t child = mk_program_at(plan, number)->children; child != MK_NONE;
         child = mk_program_at(plan, child)->next)
        add_control_code(plan, child, bytes_by_tile);
}

static void write_program(mk_profile *profile, mk_rows *rows, size_t number) {
    const mk_network_plan *plan = profile->plan;
    const mk_program *program = mk_program_at(plan, number);
    clear_scratch(profile);
    add_control_code(plan, number, profile->by_tile);
    mk_rows_null(rows);
    mk_rows_integer(rows, program->id);
    mk_rows_integer(rows, program->type);
    if (has_table(program->type))
        mk_rows_integer(rows, variant_index(program));
    else
        mk_rows_null(rows);
    for (size_t child = program->children; child != MK_NONE;
         child = mk_program_at(plan, child)->next)
        pl_varint_write(&profile->blob, mk_program_at(plan, child)->id);
    mk_rows_blob(rows, &profile->blob);
    if (program->name != MK_NONE)
        mk_rows_text(rows, mk_text(plan, program->name));
    else
        mk_rows_null(rows);
    write_debug_id(rows, program->context);
    mk_write_by_tile(profile, rows, profile->by_tile);
    mk_rows_next(rows);
}

/* The tiles that wait in a Sans or SyncAns: all but the first. */
static void write_waiting_tiles(mk_profile *profile, mk_rows *rows) {
    for (uint64_t tile = 1; tile < profile->plan->options.num_tiles; tile++)
        pl_varint_write(&profile->blob, tile);
    mk_rows_blob(rows, &profile->blob);
}

/* The number of a function among those that are called. */
static size_t function_id(const mk_network_plan *plan, size_t function) {
    size_t id = 0;
    while (id < plan->call_order.count && mk_number_at(&plan->call_order, id) != function)
        id++;
    return id;
}

/* The row of a program in the table of its type; those of exchanges are written with them. */
static void write_variants(mk_profile *profile) {
    const mk_network_plan *plan = profile->plan;
    mk_database *database = &profile->database;
    mk_rows executes = mk_rows_begin(database, "program_type_on_tile_execute", 2);
    mk_rows repeats = mk_rows_begin(database, "program_type_repeat", 2);
    mk_rows calls = mk_rows_begin(database, "program_type_call", 3);
    mk_rows syncs = mk_rows_begin(database, "program_type_sync", 2);
    mk_rows sans = mk_rows_begin(database, "program_type_sans", 2);
    mk_rows sync_ans = mk_rows_begin(database, "program_type_sync_ans", 2);
    for (size_t i = 0; i < plan->programs.count; i++) {
        const mk_program *program = mk_program_at(plan, i);
        if (program->type == MK_ON_TILE_EXECUTE) {
            mk_rows_integer(&executes, program->variant);
            mk_rows_integer(&executes, program->target);
            mk_rows_next(&executes);
        } else if (program->type == MK_REPEAT) {
            mk_rows_integer(&repeats, program->variant);
            mk_rows_integer(&repeats, program->target);
            mk_rows_next(&repeats);
        } else if (program->type == MK_CALL) {
            mk_rows_null(&calls);
            mk_rows_integer(&calls, program->variant);
            mk_rows_integer(&calls, function_id(plan, program->target));
            mk_rows_next(&calls);
        } else if (program->type == MK_SYNC) {
            mk_rows_integer(&syncs, program->variant);
            mk_rows_text(&syncs, program->target == MK_SYNC_EXTERNAL ? "External" : "Internal");
            mk_rows_next(&syncs);
        } else if (program->type == MK_SANS || program->type == MK_SYNC_ANS) {
            mk_rows *rows = program->type == MK_SANS ? &sans : &sync_ans;
            mk_rows_integer(rows, program->variant);
            write_waiting_tiles(profile, rows);
            mk_rows_next(rows);
        }
    }
    mk_rows_end(&executes);
    mk_rows_end(&repeats);
    mk_rows_end(&calls);
    mk_rows_end(&syncs);
    mk_rows_end(&sans);
    mk_rows_end(&sync_ans);
}

static void write_program_tree(mk_profile *profile) {
    const mk_network_plan *plan = profile->plan;
    mk_database *database = &profile->database;
    bool is_used[MK_PROGRAM_TYPE_END] = {false};
    mk_rows rows = mk_rows_begin(database, "programs", 8);
    for (int pass = 0; pass < 2; pass++) { /* in the order of their ids */
        for (size_t i = 0; i < plan->programs.count; i++) {
            const mk_program *program = mk_program_at(plan, i);
            if (program->is_in_function != (pass == 1))
                continue;
            write_program(profile, &rows, i);
            is_used[program->type] = true;
        }
    }
    mk_rows_end(&rows);
    rows = mk_rows_begin(database, "program_types", 3);
    for (size_t i = 0; i < num_program_types; i++) {
        if (!is_used[program_types[i].type])
            continue;
        mk_rows_integer(&rows, program_types[i].type);
        mk_rows_text(&rows, program_types[i].name);
        if (program_types[i].table != NULL)
            mk_rows_text(&rows, program_types[i].table);
        else
            mk_rows_null(&rows);
        mk_rows_next(&rows);
    }
    mk_rows_end(&rows);
    mk_database_run(database, "INSERT INTO control_programs VALUES(NULL,0,0)");
    rows = mk_rows_begin(database, "function_programs", 3);
    for (size_t i = 0; i < plan->call_order.count; i++) {
        size_t body = mk_occasion_at(plan, mk_number_at(&plan->call_order, i))->body;
        mk_rows_null(&rows);
        mk_rows_integer(&rows, i);
        mk_rows_integer(&rows, mk_program_at(plan, body)->id);
        mk_rows_next(&rows);
    }
    mk_rows_end(&rows);
    rows = mk_rows_begin(database, "depth_first_steps", 3);
    for (size_t i = 0; i < plan->steps.count; i++) {
        const mk_step *step = mk_step_at(plan, i);
        mk_rows_integer(&rows, i);
        mk_rows_integer(&rows, mk_program_at(plan, step->program)->id);
        if (step->parent != MK_NONE)
            mk_rows_integer(&rows, step->parent);
        else
            mk_rows_null(&rows);
        mk_rows_next(&rows);
    }
    mk_rows_end(&rows);
}

void mk_write_programs(mk_profile *profile) {
    write_program_tree(profile);
    write_variants(profile);
    mk_rows cycles = mk_rows_begin(&profile->database, "compilation_cycles_by_tile", 2);
    write_compute_sets(profile, &cycles);
    write_transfers(profile, &cycles);
    mk_rows_end(&cycles);
}
