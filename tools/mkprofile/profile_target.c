/* Writes the target, the versions and single numbers.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "mkprofile/profile.h"

#include <stdio.h>

enum { CLOCK_FREQUENCY = MK_CYCLES_PER_MICROSECOND * 1000000 };

static void append_element_offsets(pl_blob *blob) {
    for (uint64_t offset = 0; offset < MK_BYTES_PER_TILE; offset = mk_next_element(offset))
        pl_varint_write(blob, offset);
}

static void write_target_info(mk_profile *profile) {
    uint64_t tiles = profile->plan->options.num_tiles;
    uint64_t tiles_per_ipu = profile->plan->options.tiles_per_ipu;
    uint64_t num_ipus = profile->plan->options.num_ipus;
    uint64_t memory = tiles * MK_BYTES_PER_TILE;
    mk_rows rows = mk_rows_begin(&profile->database, "target_info", 46);
    const uint64_t sizes[] = {memory / num_ipus,
                              MK_BYTES_PER_TILE,
                              CLOCK_FREQUENCY,
                              10,
                              num_ipus,
                              tiles,
                              tiles_per_ipu,
                              memory,
                              1,
                              num_ipus,
                              tiles,
                              memory};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        mk_rows_integer(&rows, sizes[i]);
    mk_rows_text(&rows, "ipu2");
    mk_rows_text(&rows, "IPU");
    mk_rows_integer(&rows, 64);
    append_element_offsets(&profile->blob);
    mk_rows_blob(&rows, &profile->blob);
    mk_rows_integer(&rows, MK_UPPER_ELEMENTS);
    pl_varint_write(&profile->blob, 0);
    pl_varint_write(&profile->blob, MK_UPPER_ELEMENTS);
    mk_rows_blob(&rows, &profile->blob);
    /* Constants of the hardware, in the order of the columns from tileMemoryBaseAddress on. */
    const uint64_t constants[] = {311296, 2, 6, 4, 8, 4,  1, 600, 256, 5,  5,  10,     64,    4,
                                  4,      4, 8, 4, 2, 16, 8, 16,  0,   16, 64, 262144, 65535, 4};
    for (size_t i = 0; i < sizeof constants / sizeof constants[0]; i++)
        mk_rows_integer(&rows, constants[i]);
    mk_rows_next(&rows);
    mk_rows_end(&rows);
}

static void write_versions(mk_profile *profile) {
    mk_rows rows = mk_rows_begin(&profile->database, "version_info", 5);
    mk_rows_integer(&rows, 3);
    mk_rows_integer(&rows, 8);
    mk_rows_integer(&rows, 0);
    mk_rows_integer(&rows, 0);
    mk_rows_text(&rows, "graph_profile");
    mk_rows_next(&rows);
    mk_rows_end(&rows);
    rows = mk_rows_begin(&profile->database, "poplar_version", 5);
    mk_rows_text(&rows, "3.0.0 (synthetic)");
    mk_rows_text(&rows, "0000000000");
    mk_rows_integer(&rows, 3);
    mk_rows_integer(&rows, 0);
    mk_rows_integer(&rows, 0);
    mk_rows_next(&rows);
    mk_rows_end(&rows);
    rows = mk_rows_begin(&profile->database, "date_time", 1);
    mk_rows_text(&rows, "2022-10-01 00:00:00"); /* fixed: equal options, equal files */
    mk_rows_next(&rows);
    mk_rows_end(&rows);
}

static void write_settings(mk_profile *profile) {
    static const char *const parameters[][3] = {
        {"autoReport.outputDebugInfo", "true", "0"},
        {"autoReport.outputGraphProfile", "true", "0"},
        {"autoReport.outputLoweredVars", "true", "0"},
        {"debug.allowOutOfMemory", "true", "0"},
        {"debug.computeInstrumentationLevel", "tile", "1"},
        {"opt.enableInlining", "true", "1"},
    };
    mk_rows rows = mk_rows_begin(&profile->database, "compilation_parameters", 3);
    for (size_t i = 0; i < sizeof parameters / sizeof parameters[0]; i++) {
        mk_rows_text(&rows, parameters[i][0]);
        mk_rows_text(&rows, parameters[i][1]);
        mk_rows_integer(&rows, parameters[i][2][0] == '1');
        mk_rows_next(&rows);
    }
    mk_rows_end(&rows);
    mk_database_run(&profile->database, "INSERT INTO target_parameters VALUES('GatewayMode','1',0),"
                                        "('SyncConfiguration','0',1)");
    mk_database_run(&profile->database,
                    "INSERT INTO instrumentation_settings VALUES(1,'Tile',1,1)");
    mk_database_run(&profile->database,
                    "INSERT INTO optimization_info VALUES('Constant replication count',0.0),"
                    "('Merged exact constants count',0.0)");
    mk_database_run(&profile->database,
                    "INSERT INTO compilation_trace VALUES(1000,'lowerEdges',1000000),"
                    "(1001,'initTarget',1005000),(1002,'lowerControlProgram',1010000)");
}

/* Whose profile it is: an execution has the id of what was executed. */
static void write_compilation_id(mk_profile *profile, const char *table) {
    char id[40];
    snprintf(id, sizeof id, "synthetic%023llu", (unsigned long long)profile->plan->options.seed);
    mk_rows rows = mk_rows_begin(&profile->database, table, 1);
    mk_rows_text(&rows, id);
    mk_rows_next(&rows);
    mk_rows_end(&rows);
}

void mk_write_target(mk_profile *profile) {
    const mk_options *options = &profile->plan->options;
    write_target_info(profile);
    write_versions(profile);
    write_settings(profile);
    mk_rows rows = mk_rows_begin(&profile->database, "relative_sync_delay", 2);
    for (uint64_t tile = 0; tile < options->num_tiles; tile++) {
        mk_rows_integer(&rows, tile);
        mk_rows_integer(&rows, tile % options->tiles_per_ipu / 2);
        mk_rows_next(&rows);
    }
    mk_rows_end(&rows);
    write_compilation_id(profile, "compilation_info");
    if (options->execution)
        write_compilation_id(profile, "execution_info");
}
