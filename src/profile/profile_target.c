/* Reads format version and target, single numbers and texts for reports, and the engine options.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "profile/profile_readers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* Opens a table and moves to its first row. False, with the rows closed, if there is none. */
static bool open_single(pl_database *database, const pl_table *table, pl_rows *rows) {
    *rows = pl_rows_open(database, table);
    const bool found = pl_rows_next(rows);
    if (!found)
        pl_outcome_fail(&database->outcome, POPLINER_ERROR_INPUT, "%s: table %s is empty",
                        database->path, table->name);
    return found;
}

static void read_version(pl_database *database, const popliner_listener *listener,
                         popliner_profile *profile) {
    static const pl_column columns[] = {
        {"major", true}, {"minor", false}, {"point", false}, {"is_unstable_format", false}};
    static const pl_table table = {"version_info", PL_TABLE_REQUIRED, columns, 4, ""};
    pl_rows rows;
    uint64_t unstable = 0;
    if (!pl_database_has_table(database, "version_info") && pl_database_is_well(database))
        database->outcome.status =
            pl_fail_because(database->outcome.error, POPLINER_REASON_NO_PROFILE,
                            "%s: has no table version_info: it is an SQLite database, but not a "
                            "Poplar profile",
                            database->path);
    if (!open_single(database, &table, &rows))
        return;
    uint64_t major = pl_rows_number(&rows, 0, UINT32_MAX);
    uint64_t minor = pl_rows_number_or(&rows, 1, UINT32_MAX, 0);
    uint64_t point = pl_rows_number_or(&rows, 2, UINT32_MAX, 0);
    pl_rows_told(&rows, 3, &unstable);
    bool tells_minor = !pl_rows_is_null(&rows, 1);
    pl_rows_close(&rows);
    profile->facts[PL_FACT_FORMAT_MAJOR] = major;
    profile->facts[PL_FACT_FORMAT_MINOR] = minor;
    profile->facts[PL_FACT_FORMAT_POINT] = point;
    profile->facts[PL_FACT_FORMAT_UNSTABLE] = unstable != 0;
    if (major != 3)
        pl_outcome_fail(&database->outcome, POPLINER_ERROR_INPUT,
                        "%s: has profile format version %llu.%llu.%llu; only versions 3.x are "
                        "supported",
                        database->path, (unsigned long long)major, (unsigned long long)minor,
                        (unsigned long long)point);
    if (pl_database_is_well(database))
        take_version(database, tells_minor, minor, point, listener);
}

static void read_target_row(pl_database *database, popliner_profile *profile) {
    static const pl_column columns[] = {
        {"num_tiles", true},      {"num_ipus", false},         {"num_replicas", false},
        {"bytes_per_tile", true}, {"architecture", false},     {"clock_frequency", false},
        {"tiles_per_ipu", false}, {"ipus_per_replica", false}, {"type_", false}};
    static const pl_table table = {"target_info", PL_TABLE_REQUIRED, columns, 9, ""};
    pl_target *target = &profile->target;
    uint64_t *facts = profile->facts;
    pl_rows rows;
    if (!open_single(database, &table, &rows))
        return;
    uint64_t num_tiles = pl_rows_number(&rows, 0, MAX_TILES);
    if (num_tiles == 0)
        pl_rows_fail(&rows, 0, "is 0");
    uint64_t num_ipus = pl_rows_number_or(&rows, 1, UINT32_MAX, 1);
    uint64_t num_replicas = pl_rows_number_or(&rows, 2, UINT32_MAX, 1);
    target->bytes_per_tile = pl_rows_number(&rows, 3, INT64_MAX);
    if (target->bytes_per_tile == 0)
        pl_rows_fail(&rows, 3, "is 0: tiles without memory hold no program");
    target->clock_hz = pl_rows_number_or(&rows, 5, INT64_MAX, 0);
    snprintf(target->architecture, sizeof target->architecture, "%s", pl_rows_text(&rows, 4));
    target->num_tiles = (size_t)num_tiles;
    target->num_ipus = (size_t)num_ipus;
    target->num_replicas = (size_t)num_replicas;
    facts[PL_FACT_TILES_PER_IPU] = num_tiles / (num_ipus > 0 ? num_ipus : 1);
    pl_rows_told(&rows, 6, &facts[PL_FACT_TILES_PER_IPU]);
    facts[PL_FACT_IPUS_PER_REPLICA] = num_ipus / (num_replicas > 0 ? num_replicas : 1);
    pl_rows_told(&rows, 7, &facts[PL_FACT_IPUS_PER_REPLICA]);
    facts[PL_FACT_TARGET_TYPE] = pl_profile_add_string(profile, pl_rows_text(&rows, 8));
    pl_outcome_has(&database->outcome, facts[PL_FACT_TARGET_TYPE] != PL_NONE, "the profile");
    pl_rows_close(&rows);
}

/* Reads where the elements of memory begin, up to where they do not ascend, or are more than any tile has. */
static void read_elements(pl_database *database, popliner_profile *p) {
    enum { MAX_ELEMENTS = 1 << 12 };
    static const pl_column columns[] = {{"memoryElementOffsets", false}};
    static const pl_table table = {"target_info", PL_TABLE_OPTIONAL, columns, 1, ""};
    size_t capacity = 0;
    uint64_t offset = 0;
    pl_rows rows = pl_rows_open(database, &table);
    while (pl_rows_next(&rows)) {
        size_t size_bytes = 0;
        const uint8_t *blob = pl_rows_blob(&rows, 0, &size_bytes);
        const uint8_t *end = pl_blob_end(blob, size_bytes);
        if (p->num_elements > 0 || pl_rows_is_null(&rows, 0))
            continue;
        while (p->num_elements < MAX_ELEMENTS && pl_varint_read(&blob, end, &offset)) {
            if (p->num_elements > 0 && offset <= p->element_offset[p->num_elements - 1])
                break;
            if (!pl_outcome_has(&database->outcome,
                                pl_profile_reserve(p, &p->num_elements, &capacity), "the profile"))
                break;
            p->element_offset[p->num_elements++] = offset;
        }
    }
}

/* Many tables have a row per tile, so a small file must not claim millions. */
static void check_claim(pl_database *database, size_t num_tiles) {
    uint64_t size_bytes =
        (uint64_t)database->state.size_bytes + (uint64_t)database->state.log_bytes;
    if (num_tiles > size_bytes / LEAST_BYTES_OF_TILE)
        pl_outcome_fail(&database->outcome, POPLINER_ERROR_INPUT,
                        "%s: table target_info has %zu tiles, too many for a file of %llu bytes; "
                        "it is damaged or not a profile",
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

static void read_table(pl_database *database, const fact_table *table, popliner_profile *p) {
    const pl_table rows_of = {table->name, PL_TABLE_OPTIONAL, table->columns, table->num_columns,
                              ""};
    pl_rows rows = pl_rows_open(database, &rows_of);
    const bool found = pl_rows_next(&rows);
    for (size_t i = 0; found && i < table->num_columns; i++) {
        uint64_t *fact = &p->facts[table->facts[i]];
        if (i >= table->num_texts)
            pl_rows_told(&rows, (int)i, fact);
        else
            *fact = pl_profile_add_string(p, pl_rows_text(&rows, (int)i));
        pl_outcome_has(&database->outcome, i >= table->num_texts || *fact != PL_NONE,
                       "the profile");
    }
    pl_rows_close(&rows);
}

static void read_options(pl_reading *r) {
    static const pl_table table = {"compilation_parameters", PL_TABLE_OPTIONAL, NULL, 0, ""};
    size_t *count = &r->profile->num_options;
    pl_rows rows = pl_reading_open(r, &table, count);
    while (pl_rows_next(&rows))
        pl_reading_add(r, &rows, count, NULL, 0);
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

void pl_profile_read_target(pl_reading *r) {
    popliner_profile *p = r->profile;
    p->num_facts = PL_NUM_FACTS;
    if (!pl_outcome_has(&r->database.outcome, pl_profile_allocate(p, &p->num_facts), "the profile"))
        return;
    read_version(&r->database, r->options->listener, p);
    read_target_row(&r->database, p);
    check_claim(&r->database, p->target.num_tiles);
    read_elements(&r->database, p);
    if (pl_database_is_well(&r->database))
        pl_profile_take_facts(p);
    for (size_t i = 0; i < sizeof fact_tables / sizeof *fact_tables; i++)
        read_table(&r->database, &fact_tables[i], p);
    read_options(r);
}
