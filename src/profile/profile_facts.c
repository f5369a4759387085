/* Single numbers and texts of a profile that nothing is computed from, and the engine's options.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "profile/profile_data.h"

#include <stdio.h>

#include "base/failure.h"

enum { MAX_FACTS = 5 };

/* Which facts the first row of a table tells. */
typedef struct fact_table {
    const char *name;
    size_t num_columns;
    pl_column columns[MAX_FACTS];
    pl_fact facts[MAX_FACTS];
    size_t num_texts; /* the first columns hold texts */
} fact_table;

static const fact_table fact_tables[] = {
    {"poplar_version",
     5,
     {{"string", false},
      {"package_hash", false},
      {"major", false},
      {"minor", false},
      {"point", false}},
     {PL_FACT_POPLAR_TEXT, PL_FACT_POPLAR_HASH, PL_FACT_POPLAR_MAJOR, PL_FACT_POPLAR_MINOR,
      PL_FACT_POPLAR_POINT},
     2},
    {"graph_info",
     2,
     {{"num_vertices", false}, {"num_edges", false}},
     {PL_FACT_NUM_VERTICES, PL_FACT_NUM_EDGES},
     0},
};

static popliner_status read_table(const pl_database *database, const fact_table *table,
                                  popliner_profile *p, popliner_error *error) {
    const pl_table rows_of = {table->name, PL_TABLE_OPTIONAL, table->columns, table->num_columns,
                              ""};
    pl_rows rows = {0};
    bool more = false;
    popliner_status status = pl_rows_open(&rows, database, &rows_of, error);
    if (status == POPLINER_OK)
        status = pl_rows_next(&rows, &more, error);
    for (size_t i = 0; status == POPLINER_OK && more && i < table->num_columns; i++) {
        uint64_t *fact = &p->facts[table->facts[i]];
        if (i >= table->num_texts) {
            pl_rows_told(&rows, (int)i, fact);
            continue;
        }
        pl_string text = pl_profile_add_string(p, pl_rows_text(&rows, (int)i));
        if (text == PL_NONE)
            status = pl_fail_memory(error, "the profile");
        else
            *fact = text;
    }
    pl_rows_close(&rows);
    return status;
}

static popliner_status read_options(const pl_database *database, popliner_profile *p,
                                    popliner_error *error) {
    static const pl_column columns[] = {{"name", false}, {"value", false}, {"is_default", false}};
    const pl_field fields[] = {
        {"name", &p->option_name, sizeof *p->option_name, NULL, 0},
        {"value", &p->option_value, sizeof *p->option_value, NULL, 0},
        {"is_default", &p->option_is_default, sizeof *p->option_is_default, NULL, 0}};
    size_t capacity = 0;
    static const pl_table table = {"compilation_parameters", PL_TABLE_OPTIONAL, columns, 3, ""};
    pl_rows rows = {0};
    bool more = false;
    popliner_status status = pl_rows_open(&rows, database, &table, error);
    while (status == POPLINER_OK && (status = pl_rows_next(&rows, &more, error)) == POPLINER_OK &&
           more) {
        size_t i = p->num_options;
        uint64_t is_default = 0;
        pl_string name = pl_profile_add_string(p, pl_rows_text(&rows, 0));
        pl_string value = pl_profile_add_string(p, pl_rows_text(&rows, 1));
        if (name == PL_NONE || value == PL_NONE ||
            !pl_fields_reserve(fields, 3, &capacity, i + 1)) {
            status = pl_fail_memory(error, "the options of the engine");
            break;
        }
        pl_rows_told(&rows, 2, &is_default);
        p->option_name[i] = name;
        p->option_value[i] = value;
        p->option_is_default[i] = is_default != 0;
        p->num_options++;
    }
    pl_rows_close(&rows);
    return status;
}

popliner_status pl_profile_read_facts(const pl_database *database, popliner_profile *profile,
                                      popliner_error *error) {
    popliner_status status = POPLINER_OK;
    for (size_t i = 0; status == POPLINER_OK && i < sizeof fact_tables / sizeof *fact_tables; i++)
        status = read_table(database, &fact_tables[i], profile, error);
    if (status == POPLINER_OK)
        status = read_options(database, profile, error);
    return status;
}

void pl_profile_take_facts(popliner_profile *p) {
    pl_target *target = &p->target;
    if (p->num_facts == 0)
        return;
    snprintf(target->type, sizeof target->type, "%s",
             pl_profile_string(p, (pl_string)pl_profile_fact(p, PL_FACT_TARGET_TYPE)));
    target->tiles_per_ipu = (size_t)pl_profile_fact(p, PL_FACT_TILES_PER_IPU);
    target->ipus_per_replica = (size_t)pl_profile_fact(p, PL_FACT_IPUS_PER_REPLICA);
}
