/* Reads format version and target, single numbers and texts for reports, and the engine options.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "profile/profile_readers.h"

#include <stdio.h>
#include <string.h>

#include "base/numbers.h"

/* Much less than a file holds for each tile, even with only one lowered variable. */
enum { LEAST_BYTES_OF_TILE = 8 };

/* Stores and reports the version. Only one is known: others are read by the same names, and
 * anything else in them is ignored. */
static void take_version(pl_database *database, bool has_minor, uint64_t minor, uint64_t point,
                         const popliner_listener *listener) {
    enum { SEEN_MINOR = 8 };
    char version[50] = "3";
    if (has_minor)
        snprintf(version, sizeof version, "3.%llu.%llu", (unsigned long long)minor,
                 (unsigned long long)point);
    snprintf(database->format, sizeof database->format, " (profile format %s)", version);
    pl_tell(listener, POPLINER_LEVEL_DEBUG, "Profile format version %s", version);
    if (has_minor && minor != SEEN_MINOR)
        pl_tell(listener, POPLINER_LEVEL_INFO,
                "%s: has profile format %s, which is read like 3.%d.", database->path, version,
                SEEN_MINOR);
}

/* Moves to the first row of a table; false, with an error, if there is none. */
static bool take_first(pl_table_rows *t) {
    const bool found = pl_table_next(t);
    if (!found)
        pl_outcome_fail(&t->reading->database.outcome, POPLINER_ERROR_INPUT,
                        "%s: table %s is empty", t->reading->database.path, t->rows.table->name);
    return found;
}

static void read_version(pl_reading *r) {
    pl_database *database = &r->database;
    if (!pl_database_has_table(database, "version_info") && pl_database_is_well(database))
        database->outcome.status =
            pl_fail_because(database->outcome.error, POPLINER_REASON_NO_PROFILE,
                            "%s: has no table version_info: it is an SQLite database, but not a "
                            "Poplar profile",
                            database->path);
    pl_table_rows t = pl_table_open(r, PL_TABLE_VERSION);
    if (!take_first(&t))
        return;
    const bool has_minor = !pl_rows_is_null(&t.rows, 1);
    pl_rows_close(&t.rows);
    if (t.values[0] != 3)
        pl_outcome_fail(&database->outcome, POPLINER_ERROR_INPUT,
                        "%s: has profile format version %llu.%llu.%llu; only versions 3.x are "
                        "supported",
                        database->path, (unsigned long long)t.values[0],
                        (unsigned long long)t.values[1], (unsigned long long)t.values[2]);
    else
        take_version(database, has_minor, t.values[1], t.values[2], r->options->listener);
}

/* Reads where the elements of memory begin, up to where they do not ascend, or are more than any
 * tile has. */
static void read_elements(pl_rows *rows, int column, popliner_profile *p) {
    enum { MAX_ELEMENTS = 1 << 12 };
    uint64_t offset = 0;
    size_t size_bytes = 0;
    const uint8_t *blob = pl_rows_blob(rows, column, &size_bytes);
    const uint8_t *end = pl_blob_end(blob, size_bytes);
    while (p->num_elements < MAX_ELEMENTS && pl_varint_read(&blob, end, &offset)) {
        if (p->num_elements > 0 && offset <= p->element_offset[p->num_elements - 1])
            break;
        if (!pl_profile_reserve(p, &p->num_elements))
            break;
        p->element_offset[p->num_elements++] = offset;
    }
}

static void read_device(pl_reading *r) {
    enum { TILES, TILE_BYTES, IPUS, REPLICAS, CLOCK, ARCHITECTURE, IPU_TILES, REPLICA_IPUS, TYPE };
    popliner_profile *p = r->profile;
    pl_target *target = &p->target;
    pl_table_rows t = pl_table_open(r, PL_TABLE_TARGET);
    const uint64_t *values = t.values;
    if (!take_first(&t))
        return;
    if (values[TILES] == 0)
        pl_rows_fail(&t.rows, TILES, "is 0");
    if (values[TILE_BYTES] == 0)
        pl_rows_fail(&t.rows, TILE_BYTES, "is 0: tiles without memory hold no program");
    snprintf(target->architecture, sizeof target->architecture, "%s",
             pl_rows_text(&t.rows, ARCHITECTURE));
    snprintf(target->type, sizeof target->type, "%s", pl_rows_text(&t.rows, TYPE));
    target->num_tiles = (size_t)values[TILES];
    target->num_ipus = values[IPUS] == UINT64_MAX ? 1 : (size_t)values[IPUS];
    target->num_replicas = values[REPLICAS] == UINT64_MAX ? 1 : (size_t)values[REPLICAS];
    target->bytes_per_tile = values[TILE_BYTES];
    target->clock_hz = values[CLOCK];
    target->tiles_per_ipu = values[IPU_TILES] != UINT64_MAX
                                ? (size_t)values[IPU_TILES]
                                : target->num_tiles / pl_more(target->num_ipus, 1);
    target->ipus_per_replica = values[REPLICA_IPUS] != UINT64_MAX
                                   ? (size_t)values[REPLICA_IPUS]
                                   : target->num_ipus / pl_more(target->num_replicas, 1);
    read_elements(&t.rows, TYPE + 1, p);
    pl_rows_close(&t.rows);
}

/* Many tables have a row per tile, so a small file must not claim millions. */
static void check_claim(pl_database *database, size_t num_tiles) {
    uint64_t size_bytes = (uint64_t)database->state.st_size + (uint64_t)database->log_bytes;
    if (num_tiles > size_bytes / LEAST_BYTES_OF_TILE)
        pl_outcome_fail(&database->outcome, POPLINER_ERROR_INPUT,
                        "%s: table target_info has %zu tiles, too many for a file of %llu bytes; "
                        "it is damaged or not a profile",
                        database->path, num_tiles, (unsigned long long)size_bytes);
}

/* Reads the numbers of a graph; those that are not recorded count as 0 for callers. */
static void read_graph(pl_reading *r) {
    pl_target *target = &r->profile->target;
    pl_table_rows t = pl_table_open(r, PL_TABLE_GRAPH);
    memset(r->graph, 0xff, sizeof r->graph);
    if (pl_table_next(&t))
        memcpy(r->graph, t.values, sizeof r->graph);
    pl_rows_close(&t.rows);
    target->num_vertices = r->graph[0] == UINT64_MAX ? 0 : r->graph[0];
    target->num_edges = r->graph[1] == UINT64_MAX ? 0 : r->graph[1];
}

void pl_profile_read_target(pl_reading *r) {
    read_version(r);
    read_device(r);
    check_claim(&r->database, r->profile->target.num_tiles);
    pl_table_rows poplar = pl_table_open(r, PL_TABLE_POPLAR);
    pl_table_next(&poplar);
    pl_rows_close(&poplar.rows);
    read_graph(r);
    pl_table_read(r, PL_TABLE_OPTIONS);
}
