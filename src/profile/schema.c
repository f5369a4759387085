/* Tables and columns that a profile lacks: what each contains, and what is unknown without it.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */

#include "profile/profile_readers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Results that depend on tables and columns. */
#define NEEDS "the memory of stages"
#define ACCOUNT "the comparison with the compiler's account"
#define CYCLES "cycles"

/* A table, or a column of it. */
typedef struct use {
    const char *table;
    const char *column; /* NULL: the table as a whole */
    const char *tells;  /* see pl_schema_tells */
    /* what is unreliable without it; NULL: a profile without it is rejected when it is read */
    const char *untrusted;
    const char *program_type; /* required only if there are programs of this type; NULL: always */
} use;

/* Rows of one table are adjacent. */
static const use uses[] = {
    {"version_info", "major", "the version of the format", NULL, NULL},

    {"target_info", NULL, "how many tiles the target has", NULL, NULL},
    {"target_info", "num_tiles", "how many tiles the target has", NULL, NULL},
    {"target_info", "bytes_per_tile", "how much memory a tile has", NULL, NULL},
    {"target_info", "num_ipus", "how many IPUs the profile is of", "that it is of one", NULL},
    {"target_info", "num_replicas", "how many replicas the profile is of", "that it is of one",
     NULL},
    {"target_info", "clock_frequency", "how fast the target is", "times", NULL},

    {"vertex_types", NULL, "the types of vertices", NULL, NULL},
    {"vertex_types", "id", "which type of vertex is which", NULL, NULL},
    {"vertex_types", "name", "the names of vertex types", NULL, NULL},
    {"vertex_types", "size", "how large the state of a vertex is", NULL, NULL},
    {"memory_by_vertex_type", NULL, "how large the code of vertices is", NEEDS, NULL},
    {"memory_by_vertex_type", "vertex_type", "whose code is how large", NULL, NULL},
    {"memory_by_vertex_type", "code_bytes", "how large the code of vertices is", NULL, NULL},

    {"compute_sets", NULL, "what programs compute", NULL, NULL},
    {"compute_sets", "compute_set", "which compute set is which", NULL, NULL},
    {"compute_sets", "var_ids_diff_rle", "which variables compute sets use", NEEDS, NULL},
    {"compute_sets", "cycles_by_tile_ids", "how long compute sets take", CYCLES, NULL},
    {"vertex_instances", NULL, "which vertices are on which tile", NEEDS, NULL},
    {"vertex_instances", "compute_set", "of which compute set vertices are", NULL, NULL},
    {"vertex_instances", "vertex_type", "of which type vertices are", NULL, NULL},
    {"vertex_instances", "instances_by_tile", "how many vertices a tile has", NULL, NULL},
    {"memory_by_compute_set", NULL, "how large the state of compute sets is", NEEDS, NULL},
    {"memory_by_compute_set", "compute_set", "whose state is how large", NEEDS, NULL},
    {"memory_by_compute_set", "vertex_data_bytes", "how large the fields of vertices are", NEEDS,
     NULL},
    {"memory_by_compute_set", "copy_ptr_bytes", "how large pointers to copies are", NEEDS, NULL},
    {"memory_by_compute_set", "edge_ptr_bytes", "how large pointers to edges are", NEEDS, NULL},
    {"memory_by_compute_set", "descriptor_bytes", "how large copy descriptors are", NEEDS, NULL},

    {"programs", NULL, "what the model was compiled to", NULL, NULL},
    {"programs", "id", "which program is which", NULL, NULL},
    {"programs", "variant", "of which type programs are", NULL, NULL},
    {"programs", "variant_index", "what programs execute", NULL, NULL},
    {"programs", "children", "which programs are parts of others", NEEDS, NULL},
    {"programs", "debug_id", "which operations programs are of", NEEDS, NULL},
    {"programs", "control_code_bytes_by_tile", "how large the code of programs is", NEEDS, NULL},
    {"program_types", NULL, "of which type programs are", NULL, NULL},
    {"program_types", "id", "which type of program is which", NULL, NULL},
    {"program_types", "name", "the names of program types", NULL, NULL},
    {"program_type_on_tile_execute", "id", "which program executes a compute set", NULL, NULL},
    {"program_type_on_tile_execute", "compute_set", "which compute set a program executes", NULL,
     NULL},
    {"function_programs", NULL, "what functions do", NEEDS, "Call"},
    {"function_programs", "id", "which function is which", NULL, NULL},
    {"function_programs", "program", "what functions do", NULL, NULL},
    {"program_type_call", NULL, "which functions are called", NEEDS, "Call"},
    {"program_type_call", "id", "which program calls a function", NULL, NULL},
    {"program_type_call", "function_id", "which function a program calls", NULL, NULL},
    {"program_type_repeat", NULL, "how often loops repeat", CYCLES, "Repeat"},
    {"program_type_repeat", "id", "which loop repeats", CYCLES, "Repeat"},
    {"program_type_repeat", "repeat_count", "how often loops repeat", CYCLES, "Repeat"},

    {"program_type_do_exchange", NULL, "what exchanges do", NEEDS, "DoExchange"},
    {"program_type_do_exchange", "id", "which exchange a program does", NULL, NULL},
    {"program_type_do_exchange", "code_bytes_by_tile_rle", "how large the code of exchanges is",
     NEEDS, NULL},
    {"program_type_do_exchange", "source_regions_id", "which variables exchanges read", NEEDS,
     NULL},
    {"program_type_do_exchange", "destination_regions_id", "which variables exchanges write", NEEDS,
     NULL},
    {"program_type_do_exchange", "cycles_by_tile_ids", "how long exchanges take", CYCLES, NULL},
    {"program_type_global_exchange", NULL, "what exchanges between IPUs do", NEEDS,
     "GlobalExchange"},
    {"program_type_global_exchange", "id", "which exchange a program does", NULL, NULL},
    {"program_type_global_exchange", "source_regions_id",
     "which variables exchanges between IPUs read", NEEDS, NULL},
    {"program_type_global_exchange", "destination_regions_id",
     "which variables exchanges between IPUs write", NEEDS, NULL},
    {"program_type_global_exchange", "estimated_cycles_by_tile_ids",
     "how long exchanges between IPUs take", CYCLES, NULL},
    {"program_type_code_copy", NULL, "what copies of code do", NEEDS, "CodeCopy"},
    {"program_type_code_copy", "id", "which copy of code a program does", NULL, NULL},
    {"program_type_code_copy", "destination_regions_id", "which variables copies of code write",
     NEEDS, NULL},
    {"program_type_code_copy", "cycles_by_tile_ids", "how long copies of code take", CYCLES, NULL},
    {"program_type_stream_copy_mid", NULL, "how long exchanges with the host take", CYCLES,
     "StreamCopyMid"},
    {"program_type_stream_copy_mid", "id", "which exchange with the host is which", CYCLES, NULL},
    {"program_type_stream_copy_mid", "estimated_cycles_by_tile_ids",
     "how long exchanges with the host take", CYCLES, NULL},
    {"host_exchange_from_host", NULL, "what comes from the host", NEEDS, "StreamCopyMid"},
    {"host_exchange_from_host", "stream_copy_mid_id", "which program copies from the host", NULL,
     NULL},
    {"host_exchange_from_host", "regions_id", "which variables the host fills", NEEDS, NULL},
    {"host_exchange_to_host", NULL, "what goes to the host", NEEDS, "StreamCopyMid"},
    {"host_exchange_to_host", "stream_copy_mid_id", "which program copies to the host", NULL, NULL},
    {"host_exchange_to_host", "regions_id", "which variables the host reads", NEEDS, NULL},
    {"exchange_regions", NULL, "which variables exchanges use", NEEDS, "DoExchange"},
    {"exchange_regions", "id", "which exchange uses a variable", NULL, NULL},
    {"exchange_regions", "var_id", "which variables exchanges use", NULL, NULL},
    {"compilation_cycles_by_tile", NULL, "how long programs take", CYCLES, NULL},
    {"compilation_cycles_by_tile", "id", "which program takes how long", CYCLES, NULL},
    {"compilation_cycles_by_tile", "cycles_by_tile_rle", "how long programs take", CYCLES, NULL},

    {"depth_first_steps", NULL, "the liveness steps", NULL, NULL},
    {"depth_first_steps", "id", "the order of the liveness steps", NULL, NULL},
    {"depth_first_steps", "program_id", "which program runs at a step", NULL, NULL},
    {"depth_first_steps", "parent_step_id", "within which loop or call a step is", NEEDS, NULL},

    {"vars_info", "var_id", "which variable is which", NULL, NULL},
    {"vars_info", "tile", "on which tile variables are", NULL, NULL},
    {"vars_info", "size_bytes", "how large variables are", NULL, NULL},
    {"vars_info", "equivalence_class", "when variables live", NULL, NULL},
    {"vars_info", "unlowered_var_id", "which tensors variables are parts of", NEEDS, NULL},
    {"vars_info", "offset", "where on their tiles variables are", "gaps and overlaps", NULL},
    {"vars_info", "category", "what variables are for", NEEDS, NULL},
    {"vars_info", "bitset", "which variables have memory", NULL, NULL},
    {"var_categories", NULL, "what variables are for", NEEDS, NULL},
    {"var_categories", "id", "which category is which", NULL, NULL},
    {"var_categories", "name", "the names of categories", NULL, NULL},
    {"unlowered_vars", NULL, "the names of tensors", NEEDS, NULL},
    {"unlowered_vars", "id", "which tensor is which", NULL, NULL},
    {"unlowered_vars", "name", "the names of tensors", NULL, NULL},
    {"debug_ids", NULL, "what made tensors", NEEDS, NULL},
    {"debug_ids", "variable_id", "which tensor was made by what", NULL, NULL},
    {"debug_ids", "ids", "what made tensors", NEEDS, NULL},
    {"eq_classes", NULL, "when variables live", NULL, NULL},
    {"eq_classes", "id", "which class of variables is which", NULL, NULL},
    {"eq_classes", "is_always_live", "which variables always live", NULL, NULL},
    {"eq_class_step", NULL, "when variables live", NULL, NULL},
    {"eq_class_step", "eq_class_id", "which variables live at a step", NULL, NULL},
    {"eq_class_step", "step_id_from", "from which step on variables live", NULL, NULL},
    {"eq_class_step", "step_id_to", "up to which step variables live", NULL, NULL},

    {"memory_by_tile", NULL, "how much memory the compiler counts on a tile", ACCOUNT, NULL},
    {"memory_by_tile", "tile", "on which tile the compiler counts memory", ACCOUNT, NULL},
    {"memory_by_tile", "total", "how much memory the compiler counts on a tile", ACCOUNT, NULL},
    {"memory_by_tile", "total_including_gaps", "where the memory of a tile ends", ACCOUNT, NULL},
    {"memory_by_tile", "always_live_bytes", "how much memory of a tile always lives", ACCOUNT,
     NULL},
    {"memory_by_tile", "not_always_live_max_bytes", "how much memory of a tile lives at most",
     ACCOUNT, NULL},
    {"memory_by_category", NULL, "how much memory the compiler counts for what", ACCOUNT, NULL},
    {"memory_by_category", "category_id", "for what the compiler counts memory", ACCOUNT, NULL},
    {"memory_by_category", "non_interleaved_non_overlapped", "memory by category", ACCOUNT, NULL},
    {"memory_by_category", "non_interleaved_overlapped", "memory by category", ACCOUNT, NULL},
    {"memory_by_category", "interleaved_non_overlapped", "memory by category", ACCOUNT, NULL},
    {"memory_by_category", "interleaved_overlapped", "memory by category", ACCOUNT, NULL},
    {"memory_by_category", "overflowed_non_overlapped", "memory by category", ACCOUNT, NULL},
    {"memory_by_category", "overflowed_overlapped", "memory by category", ACCOUNT, NULL},
    {"memory_not_always_live_by_step_and_ipu", NULL, "how much memory lives at a step", ACCOUNT,
     NULL},
    {"memory_not_always_live_by_step_and_ipu", "step_id", "how much memory lives at a step",
     ACCOUNT, NULL},
    {"memory_not_always_live_by_step_and_ipu", "delta_bytes", "how much memory lives at a step",
     ACCOUNT, NULL},
    {"memory_not_always_live_by_step_and_ipu", "ipu", "how much memory of an IPU lives at a step",
     ACCOUNT, NULL},
};

enum { NUM_USES = sizeof uses / sizeof *uses };

static bool is_same_column(const char *a, const char *b) {
    return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

const char *pl_schema_tells(const char *table, const char *column) {
    for (size_t i = 0; i < NUM_USES; i++) {
        if (strcmp(uses[i].table, table) == 0 && is_same_column(uses[i].column, column))
            return uses[i].tells;
    }
    return NULL;
}

static void add_absence(pl_reading *r, const use *u) {
    popliner_profile *p = r->profile;
    char sentence[400];
    if (u->column == NULL)
        snprintf(sentence, sizeof sentence, "The profile has no table %s (%s). Do not trust %s.",
                 u->table, u->tells, u->untrusted);
    else
        snprintf(sentence, sizeof sentence,
                 "Table %s of the profile has no column %s (%s). Do not trust %s.", u->table,
                 u->column, u->tells, u->untrusted);
    pl_string text = pl_profile_add_string(p, sentence);
    if (pl_outcome_has(&r->database.outcome,
                       text != PL_NONE && pl_profile_reserve(p, &p->num_absences, &r->capacity),
                       "the profile"))
        p->absence[p->num_absences++] = text;
}

/* True if a query, with `text` as its parameter unless NULL, has a row. */
static bool has_row(pl_database *database, const char *query, const char *text) {
    int64_t ignored;
    return pl_database_ask(database, query, text, "looking for what is missing", &ignored);
}

void pl_schema_find_absences(pl_reading *r) {
    pl_database *database = &r->database;
    bool found = false;    /* the current table */
    bool has_rows = false; /* so its columns matter */
    r->capacity = 0;
    for (size_t i = 0; pl_database_is_well(database) && i < NUM_USES; i++) {
        const use *u = &uses[i];
        if (i == 0 || strcmp(u->table, uses[i - 1].table) != 0) {
            char query[120];
            snprintf(query, sizeof query, "SELECT 1 FROM \"%s\" LIMIT 1", u->table);
            found = pl_database_has_table(database, u->table);
            has_rows = found && has_row(database, query, NULL);
        }
        if (u->untrusted == NULL || (u->column == NULL ? found : !has_rows))
            continue;
        bool is_absent = true;
        if (u->column != NULL)
            is_absent = !pl_database_has_column(database, u->table, u->column);
        else if (u->program_type != NULL)
            is_absent =
                has_row(database, "SELECT 1 FROM program_types WHERE name = ?1", u->program_type);
        if (is_absent)
            add_absence(r, u);
    }
}

void pl_schema_tell_absences(const popliner_profile *profile, const popliner_listener *listener) {
    for (size_t i = 0; i < profile->num_absences; i++)
        pl_tell(listener, POPLINER_LEVEL_WARNING, "%s",
                pl_profile_string(profile, profile->absence[i]));
}
