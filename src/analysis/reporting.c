/* Tables of an analysis.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/analysis_data.h"

#include <string.h>

#include "base/failure.h"
#include "memory/chain_data.h"
#include "model/layers.h"
#include "model/operations.h"
#include "profile/profile_data.h"
#include "tables/reports.h"

static const char *const table_names[] = {
    [POPLINER_TABLE_MEMORY_TOTALS] = "memory totals",
    [POPLINER_TABLE_TILES] = "tiles",
    [POPLINER_TABLE_OPERATIONS] = "operations",
    [POPLINER_TABLE_LAYERS] = "layers",
    [POPLINER_TABLE_AFFINITY] = "affinity between layers",
    [POPLINER_TABLE_COMMUNICATION] = "communication between layers",
};

static popliner_status check(popliner_table table, popliner_format format, popliner_error *error) {
    if ((unsigned)table >= sizeof table_names / sizeof *table_names)
        return pl_fail(error, POPLINER_ERROR_USAGE, "there is no table %d", (int)table);
    if ((unsigned)format > POPLINER_FORMAT_JSON)
        return pl_fail(error, POPLINER_ERROR_USAGE, "there is no format %d", (int)format);
    if (format == POPLINER_FORMAT_JSON && table != POPLINER_TABLE_TILES)
        return pl_fail(error, POPLINER_ERROR_USAGE,
                       "the table of %s is not to be had as JSON; ask for TSV or CSV",
                       table_names[table]);
    return POPLINER_OK;
}

/* ---- names that do not fit into a table ---- */

/* What tables without quotes cannot hold in a name, and which of it was met. */
typedef struct name_check {
    char delimiter;
    bool has_delimiter;
    bool has_line_break;
} name_check;

static void check_name(name_check *check, const char *name) {
    if (name == NULL)
        return;
    check->has_delimiter = check->has_delimiter || strchr(name, check->delimiter) != NULL;
    check->has_line_break = check->has_line_break || strpbrk(name, "\r\n") != NULL;
}

static void check_units(name_check *check, const popliner_chain *chain) {
    for (size_t i = 0; i < popliner_chain_num_units(chain); i++)
        check_name(check, pl_chain_unit_at(chain, i)->label);
}

static void check_layers(name_check *check, const popliner_layers *layers) {
    for (size_t i = 1; i < pl_layers_num_units(layers); i++)
        check_name(check, pl_layers_name(layers, i));
}

static void check_operations(name_check *check, const popliner_operations *operations) {
    for (size_t i = 0; i < popliner_operations_count(operations); i++)
        check_name(check, pl_operation_at(operations, i)->name);
}

static void check_categories(name_check *check, const popliner_profile *p) {
    for (size_t i = 0; i < p->num_categories; i++)
        check_name(check, pl_profile_string(p, p->category_name[i]));
}

/* The tables are those of the original to the byte, so they have to be told apart otherwise. */
static void tell_names(const popliner_analysis *a, popliner_table table, const name_check *check) {
    static const char *const sections[] = {
        [POPLINER_TABLE_TILES] = "tiles",         [POPLINER_TABLE_OPERATIONS] = "operations",
        [POPLINER_TABLE_LAYERS] = "layers",       [POPLINER_TABLE_AFFINITY] = "pairs",
        [POPLINER_TABLE_COMMUNICATION] = "pairs",
    };
    if (check->has_delimiter || check->has_line_break)
        pl_tell(&a->listener, POPLINER_LEVEL_WARNING,
                "The table of %s: a name in it holds %s; %s %s writes it so that it can be "
                "read back.",
                table_names[table], check->has_delimiter ? "the delimiter" : "a line break",
                a->option_names.section, sections[table]);
}

/* ---- tables ---- */

/* The account of the tiles stands in the profile. */
static popliner_status report_tiles(popliner_analysis *a, popliner_format format, char delimiter,
                                    char **text, popliner_error *error) {
    name_check names = {.delimiter = delimiter};
    popliner_status status = pl_analysis_load_variables(a, error);
    if (status == POPLINER_OK)
        status = pl_report_tiles(a->profile, format, text, error);
    if (status == POPLINER_OK && format != POPLINER_FORMAT_JSON) {
        check_categories(&names, a->profile);
        tell_names(a, POPLINER_TABLE_TILES, &names);
    }
    return status;
}

/* The tables that a meter measures stage by stage. */
static popliner_status report_stages(popliner_analysis *a, popliner_table table,
                                     popliner_memory_model model, char delimiter, char **text,
                                     popliner_error *error) {
    popliner_status status = pl_analysis_begin(a, model, error);
    if (status == POPLINER_OK)
        status = pl_analysis_make_meter(a, model, error);
    if (status != POPLINER_OK)
        return status;
    const pl_model_parts *parts = &a->models[model];
    name_check names = {.delimiter = delimiter};
    if (table == POPLINER_TABLE_OPERATIONS) {
        check_operations(&names, a->operations);
        check_layers(&names, a->layers);
        status = pl_report_operations(a->operations, a->layers, parts->chain, parts->meter,
                                      &a->listener, delimiter, text, error);
    } else if (table == POPLINER_TABLE_LAYERS) {
        check_units(&names, parts->chain);
        status = pl_report_layers(parts->chain, parts->meter, delimiter, text, error);
    } else { /* without names */
        status = pl_report_memory_totals(a->profile, a->operations, parts->meter, delimiter, text,
                                         error);
    }
    if (status == POPLINER_OK)
        tell_names(a, table, &names);
    return status;
}

/* The two tables over pairs of layers, which are measured together. */
static popliner_status report_pairs(popliner_analysis *a, popliner_table table, char delimiter,
                                    char **text, popliner_error *error) {
    const popliner_layer_pairs *pairs;
    popliner_status status = pl_analysis_pair_layers(a, &pairs, error);
    if (status == POPLINER_OK)
        status = pl_report_layer_pairs(
            a->layers,
            table == POPLINER_TABLE_AFFINITY ? pairs->affinity_bytes : pairs->communication_bytes,
            delimiter, text, error);
    if (status == POPLINER_OK) {
        name_check names = {.delimiter = delimiter};
        check_layers(&names, a->layers);
        tell_names(a, table, &names);
    }
    return status;
}

static popliner_status report_table_in_turn(popliner_analysis *analysis, popliner_table table,
                                            popliner_memory_model model, popliner_format format,
                                            char **text, popliner_error *error) {
    const char delimiter = format == POPLINER_FORMAT_CSV ? ',' : '\t';
    popliner_status status = check(table, format, error);
    if (status != POPLINER_OK)
        return status;
    switch (table) {
    case POPLINER_TABLE_TILES:
        return report_tiles(analysis, format, delimiter, text, error);
    case POPLINER_TABLE_AFFINITY:
    case POPLINER_TABLE_COMMUNICATION:
        return report_pairs(analysis, table, delimiter, text, error);
    case POPLINER_TABLE_MEMORY_TOTALS: /* in the original's model, as it is the original's */
        model = POPLINER_MEMORY_MODEL_POPLINER;
        break;
    case POPLINER_TABLE_OPERATIONS:
    case POPLINER_TABLE_LAYERS:
        break;
    }
    return report_stages(analysis, table, model, delimiter, text, error);
}

popliner_status popliner_report_table(popliner_analysis *analysis, popliner_table table,
                                      popliner_memory_model model, popliner_format format,
                                      char **text, popliner_error *error) {
    *text = NULL;
    popliner_status status = pl_analysis_enter(analysis, error);
    if (status != POPLINER_OK)
        return status;
    status = report_table_in_turn(analysis, table, model, format, text, error);
    pl_analysis_leave(analysis);
    return status;
}
