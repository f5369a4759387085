/* Reads format version and target, single numbers and texts for reports, and the engine options.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "profile/profile_readers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "base/growth.h"

/* More tiles than any machine has: 64 IPUs of 1472 tiles have 94,208. */
enum { MAX_TILES = 1 << 24 };

/* Much less than a file holds for each tile, even with only one lowered variable. */
enum { LEAST_BYTES_OF_TILE = 8 };

/* Stores and reports the version. Only one is known: others are read by the same names, and
 * anything else in them is ignored. */
static void take_version(pl_database *database, bool tells_minor, uint64_t minor, uint64_t point,
                         const popliner_listener *listener) {
    enum { SEEN_MINOR = 8 };
    char version[50] = "3";
    if (tells_minor)
        snprintf(version, sizeof version, "3.%llu.%llu", (unsigned long long)minor,
                 (unsigned long long)point);
    snprintf(database->format, sizeof database->format, " (profile format %s)", version);
    pl_tell(listener, POPLINER_LEVEL_DEBUG, "Profile format version %s", version);
    if (tells_minor && minor != SEEN_MINOR)
        pl_tell(listener, POPLINER_LEVEL_INFO,
                "%s: has profile format %s, which is read like 3.%d.", database->path, version,
                SEEN_MINOR);
}

static popliner_status read_version(pl_database *database, const popliner_listener *listener,
                                    popliner_profile *profile, popliner_error *error) {
    static const pl_column columns[] = {
        {"major", true}, {"minor", false}, {"point", false}, {"is_unstable_format", false}};
    static const pl_table table = {"version_info", PL_TABLE_REQUIRED, columns, 4, ""};
    pl_rows rows = {0};
    bool more = false;
    uint64_t major = 0;
    uint64_t minor = 0;
    uint64_t point = 0;
    uint64_t unstable = 0;
    bool found = false;
    popliner_status status = pl_database_has_table(database, "version_info", &found, error);
    if (status == POPLINER_OK && !found)
        return pl_fail_because(error, POPLINER_REASON_NO_PROFILE,
                               "%s: has no table version_info: it is an SQLite database, but not a "
                               "Poplar profile",
                               database->path);
    if (status == POPLINER_OK)
        status = pl_rows_open(&rows, database, &table, error);
    if (status == POPLINER_OK)
        status = pl_rows_next(&rows, &more, error);
    if (status == POPLINER_OK && !more)
        status =
            pl_fail(error, POPLINER_ERROR_INPUT, "%s: table version_info is empty", database->path);
    if (status == POPLINER_OK)
        status = pl_rows_number(&rows, 0, UINT32_MAX, &major, error);
    if (status == POPLINER_OK)
        status = pl_rows_number_or(&rows, 1, UINT32_MAX, 0, &minor, error);
    if (status == POPLINER_OK)
        status = pl_rows_number_or(&rows, 2, UINT32_MAX, 0, &point, error);
    if (status == POPLINER_OK)
        pl_rows_told(&rows, 3, &unstable);
    bool tells_minor = status == POPLINER_OK && !pl_rows_is_null(&rows, 1);
    pl_rows_close(&rows);
    if (status != POPLINER_OK)
        return status;
    profile->facts[PL_FACT_FORMAT_MAJOR] = major;
    profile->facts[PL_FACT_FORMAT_MINOR] = minor;
    profile->facts[PL_FACT_FORMAT_POINT] = point;
    profile->facts[PL_FACT_FORMAT_UNSTABLE] = unstable != 0;
    if (major != 3)
        return pl_fail(error, POPLINER_ERROR_INPUT,
                       "%s: has profile format version %llu.%llu.%llu; only versions 3.x are "
                       "supported",
                       database->path, (unsigned long long)major, (unsigned long long)minor,
                       (unsigned long long)point);
    take_version(database, tells_minor, minor, point, listener);
    return POPLINER_OK;
}

static popliner_status read_target_row(const pl_database *database, popliner_profile *profile,
                                       popliner_error *error) {
    static const pl_column columns[] = {
        {"num_tiles", true},      {"num_ipus", false},         {"num_replicas", false},
        {"bytes_per_tile", true}, {"architecture", false},     {"clock_frequency", false},
        {"tiles_per_ipu", false}, {"ipus_per_replica", false}, {"type_", false}};
    pl_target *target = &profile->target;
    static const pl_table table = {"target_info", PL_TABLE_REQUIRED, columns, 9, ""};
    pl_rows rows = {0};
    bool more = false;
    uint64_t num_tiles = 0;
    uint64_t num_ipus = 1;
    uint64_t num_replicas = 1;
    popliner_status status = pl_rows_open(&rows, database, &table, error);
    if (status == POPLINER_OK)
        status = pl_rows_next(&rows, &more, error);
    if (status == POPLINER_OK && !more)
        status =
            pl_fail(error, POPLINER_ERROR_INPUT, "%s: table target_info is empty", database->path);
    if (status == POPLINER_OK)
        status = pl_rows_number(&rows, 0, MAX_TILES, &num_tiles, error);
    if (status == POPLINER_OK && num_tiles == 0)
        status = pl_rows_fail(&rows, 0, error, "is 0");
    if (status == POPLINER_OK)
        status = pl_rows_number_or(&rows, 1, UINT32_MAX, 1, &num_ipus, error);
    if (status == POPLINER_OK)
        status = pl_rows_number_or(&rows, 2, UINT32_MAX, 1, &num_replicas, error);
    if (status == POPLINER_OK)
        status = pl_rows_number(&rows, 3, INT64_MAX, &target->bytes_per_tile, error);
    if (status == POPLINER_OK && target->bytes_per_tile == 0)
        status = pl_rows_fail(&rows, 3, error, "is 0: tiles without memory hold no program");
    if (status == POPLINER_OK)
        status = pl_rows_number_or(&rows, 5, INT64_MAX, 0, &target->clock_hz, error);
    if (status == POPLINER_OK) {
        snprintf(target->architecture, sizeof target->architecture, "%s", pl_rows_text(&rows, 4));
        target->num_tiles = (size_t)num_tiles;
        target->num_ipus = (size_t)num_ipus;
        target->num_replicas = (size_t)num_replicas;
        profile->facts[PL_FACT_TILES_PER_IPU] = num_tiles / (num_ipus > 0 ? num_ipus : 1);
        pl_rows_told(&rows, 6, &profile->facts[PL_FACT_TILES_PER_IPU]);
        profile->facts[PL_FACT_IPUS_PER_REPLICA] = num_ipus / (num_replicas > 0 ? num_replicas : 1);
        pl_rows_told(&rows, 7, &profile->facts[PL_FACT_IPUS_PER_REPLICA]);
        pl_string type = pl_profile_add_string(profile, pl_rows_text(&rows, 8));
        profile->facts[PL_FACT_TARGET_TYPE] = type;
        if (type == PL_NONE)
            status = pl_fail_memory(error, "the profile");
    }
    pl_rows_close(&rows);
    return status;
}

/* Many tables have a row per tile, so a small file must not claim millions. */
static popliner_status check_claim(const pl_database *database, size_t num_tiles,
                                   popliner_error *error) {
    uint64_t size_bytes =
        (uint64_t)database->state.size_bytes + (uint64_t)database->state.log_bytes;
    if (num_tiles <= size_bytes / LEAST_BYTES_OF_TILE)
        return POPLINER_OK;
    return pl_fail(error, POPLINER_ERROR_INPUT,
                   "%s: table target_info has %zu tiles, too many for a file of %llu bytes; it is "
                   "damaged or not a profile",
                   database->path, num_tiles, (unsigned long long)size_bytes);
}

/* ---- Facts and options ---- */

enum { MAX_FACTS = 5 };

/* The facts in the first row of a table. */
typedef struct fact_table {
    const char *name;
    size_t num_columns;
    pl_column columns[MAX_FACTS];
    pl_fact facts[MAX_FACTS];
    size_t num_texts; /* the first columns are texts */
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

static popliner_status take_option(void *user, pl_rows *rows, popliner_error *error) {
    pl_reading *r = user;
    return pl_reading_add(r, rows, &r->profile->num_options, NULL, 0, error);
}

static popliner_status read_options(pl_reading *r, popliner_error *error) {
    static const pl_table table = {"compilation_parameters", PL_TABLE_OPTIONAL, NULL, 0, ""};
    return pl_reading_fields(r, &table, &r->profile->num_options, take_option, r, error);
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

popliner_status pl_profile_read_target(pl_reading *r, popliner_error *error) {
    popliner_profile *p = r->profile;
    p->num_facts = PL_NUM_FACTS;
    if (!pl_profile_allocate(p, &p->num_facts))
        return pl_fail_memory(error, "the profile");
    popliner_status status = read_version(&r->database, r->options->listener, p, error);
    if (status == POPLINER_OK)
        status = read_target_row(&r->database, p, error);
    if (status == POPLINER_OK)
        status = check_claim(&r->database, p->target.num_tiles, error);
    if (status == POPLINER_OK)
        pl_profile_take_facts(p);
    for (size_t i = 0; status == POPLINER_OK && i < sizeof fact_tables / sizeof *fact_tables; i++)
        status = read_table(&r->database, &fact_tables[i], p, error);
    return status == POPLINER_OK ? read_options(r, error) : status;
}
