/* Tables of an analysis.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/analysis_data.h"

#include "base/failure.h"
#include "show/reports.h"

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

/* The account of the tiles stands in the profile. */
static popliner_status report_tiles(popliner_analysis *a, popliner_format format, char **text,
                                    popliner_error *error) {
    popliner_status status = pl_analysis_load_variables(a, error);
    return status == POPLINER_OK ? pl_report_tiles(a->profile, format, text, error) : status;
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
    if (table == POPLINER_TABLE_OPERATIONS)
        return pl_report_operations(a->operations, a->layers, parts->chain, parts->meter,
                                    &a->listener, delimiter, text, error);
    if (table == POPLINER_TABLE_LAYERS)
        return pl_report_layers(parts->chain, parts->meter, delimiter, text, error);
    return pl_report_memory_totals(a->profile, a->operations, parts->meter, delimiter, text, error);
}

/* The two tables over pairs of layers, which are measured together. */
static popliner_status report_pairs(popliner_analysis *a, popliner_table table, char delimiter,
                                    char **text, popliner_error *error) {
    const popliner_layer_pairs *pairs;
    popliner_status status = popliner_analysis_pair_layers(a, &pairs, error);
    if (status != POPLINER_OK)
        return status;
    return pl_report_layer_pairs(a->layers,
                                 table == POPLINER_TABLE_AFFINITY ? pairs->affinity_bytes
                                                                  : pairs->communication_bytes,
                                 delimiter, text, error);
}

popliner_status popliner_report_table(popliner_analysis *analysis, popliner_table table,
                                      popliner_memory_model model, popliner_format format,
                                      char **text, popliner_error *error) {
    const char delimiter = format == POPLINER_FORMAT_CSV ? ',' : '\t';
    *text = NULL;
    popliner_status status = check(table, format, error);
    if (status != POPLINER_OK)
        return status;
    switch (table) {
    case POPLINER_TABLE_TILES:
        return report_tiles(analysis, format, text, error);
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
