/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "mkprofile/schema.h"

#include <stddef.h>

const char *const mk_schema[] = {
    "CREATE TABLE graph_info(num_compute_sets INTEGER NOT NULL, num_edges INTEGER NOT "
    "NULL, num_vars INTEGER NOT NULL, num_vertices INTEGER NOT NULL)",
    "CREATE TABLE target_info(bytes_per_ipu INTEGER NOT NULL, bytes_per_tile INTEGER NOT "
    "NULL, clock_frequency INTEGER NOT NULL, min_sync_delay INTEGER NOT NULL, num_ipus "
    "INTEGER NOT NULL, num_tiles INTEGER NOT NULL, tiles_per_ipu INTEGER NOT NULL, "
    "total_memory INTEGER NOT NULL, num_replicas INTEGER NOT NULL, ipus_per_replica "
    "INTEGER NOT NULL, tiles_per_replica INTEGER NOT NULL, memory_per_replica INTEGER NOT "
    "NULL, architecture TEXT NOT NULL CHECK (architecture IN ('ipu1', 'ipu2', 'ipu21', "
    "'ipu30')), type_ TEXT NOT NULL CHECK (type_ IN ('IPU', 'IPU_MODEL', 'CPU')), "
    "supervisorInstrFetchDelay INTEGER NOT NULL, memoryElementOffsets BLOB NOT NULL, "
    "interleavedMemoryStart INTEGER NOT NULL, memoryRegionsOffsets BLOB NOT NULL, "
    "tileMemoryBaseAddress INTEGER NOT NULL, tilesPerSuperTile INTEGER NOT NULL, "
    "numWorkerContexts INTEGER NOT NULL, exchangeBytesPerCycle INTEGER NOT NULL, "
    "memcpyBytesPerCycle INTEGER NOT NULL, instructionBytes INTEGER NOT NULL, "
    "supportsSuperTileSendReceive BOOLEAN NOT NULL, globalSyncCycles INTEGER NOT NULL, "
    "globalExchangePacketBytes INTEGER NOT NULL, tileLocalSyncSyncDelay INTEGER NOT NULL, "
    "tileLocalSyncExitDelay INTEGER NOT NULL, numStrideBits INTEGER NOT NULL, "
    "dataPathWidth INTEGER NOT NULL, fp8ConvUnitMaxPipelineDepth INTEGER, "
    "fp16ConvUnitMaxPipelineDepth INTEGER NOT NULL, fp32ConvUnitMaxPipelineDepth INTEGER "
    "NOT NULL, fp8ConvUnitInputLoadElemsPerCycle INTEGER, "
    "fp16ConvUnitInputLoadElemsPerCycle INTEGER NOT NULL, "
    "fp32ConvUnitInputLoadElemsPerCycle INTEGER NOT NULL, fp16InFp16OutConvUnitsPerTile "
    "INTEGER NOT NULL, fp16InFp32OutConvUnitsPerTile INTEGER NOT NULL, "
    "fp32InFp32OutConvUnitsPerTile INTEGER NOT NULL, fp8InFp16OutConvUnitsPerTile "
    "INTEGER, convUnitCoeffLoadBytesPerCycle INTEGER NOT NULL, workerInstrFetchDelay "
    "INTEGER NOT NULL, maxImmediateOffsetInRunInstr INTEGER NOT NULL, rptCountMax INTEGER "
    "NOT NULL, atomicStoreGranularity INTEGER NOT NULL)",
    "CREATE TABLE relative_sync_delay(tile INTEGER PRIMARY KEY, delay INTEGER NOT NULL)",
    "CREATE TABLE optimization_info(key TEXT NOT NULL, value REAL NOT NULL)",
    "CREATE TABLE date_time(string TEXT NOT NULL)",
    "CREATE TABLE poplar_version(string TEXT NOT NULL, package_hash TEXT NOT NULL, major "
    "INTEGER NOT NULL, minor INTEGER NOT NULL, point INTEGER NOT NULL)",
    "CREATE TABLE version_info(major INTEGER NOT NULL, minor INTEGER NOT NULL, point "
    "INTEGER NOT NULL, is_unstable_format BOOLEAN NOT NULL, file_type TEXT NOT NULL)",
    "CREATE TABLE compilation_trace(dur INTEGER NOT NULL, name TEXT NOT NULL, ts INTEGER "
    "NOT NULL)",
    "CREATE TABLE compute_sets(compute_set INTEGER PRIMARY KEY, name TEXT NOT NULL, "
    "vertex_types BLOB NOT NULL, vertex_counts BLOB NOT NULL, active_cycles_by_tile BLOB, "
    "active_cycles_by_vertex_type BLOB, cycles_by_tile BLOB, edge_count INTEGER, debug_id "
    "INTEGER, cycles_by_tile_ids BLOB, estimated_flops_by_tile BLOB, var_ids_diff_rle "
    "BLOB)",
    "CREATE TABLE vertex_instances(compute_set INTEGER NOT NULL, vertex_type INTEGER NOT "
    "NULL, instances_by_tile BLOB NOT NULL, PRIMARY KEY (compute_set, vertex_type))",
    "CREATE TABLE vertex_types(id INTEGER PRIMARY KEY, name TEXT NOT NULL, size INTEGER "
    "NOT NULL, source TEXT)",
    "CREATE TABLE programs(compilation_step_id INTEGER, id INTEGER NOT NULL, variant "
    "INTEGER NOT NULL, variant_index INTEGER, children BLOB, name TEXT, debug_id INTEGER, "
    "control_code_bytes_by_tile BLOB, PRIMARY KEY (compilation_step_id, id), FOREIGN "
    "KEY(compilation_step_id) REFERENCES compilation_steps(id))",
    "CREATE TABLE program_types(id INTEGER PRIMARY KEY, name TEXT NOT NULL, "
    "program_type_table TEXT)",
    "CREATE TABLE program_type_call(compilation_step_id INTEGER, id INTEGER PRIMARY KEY, "
    "function_id INTEGER NOT NULL, FOREIGN KEY(compilation_step_id, function_id) "
    "REFERENCES function_programs(compilation_step_id, id))",
    "CREATE TABLE program_type_on_tile_execute(id INTEGER PRIMARY KEY, compute_set "
    "INTEGER NOT NULL, FOREIGN KEY(compute_set) REFERENCES compute_sets(compute_set))",
    "CREATE TABLE exchange_target(id INTEGER PRIMARY KEY)",
    "CREATE TABLE exchange_regions(id INTEGER NOT NULL, var_id INTEGER NOT NULL, regions "
    "TEXT, PRIMARY KEY (id, var_id), FOREIGN KEY(id) REFERENCES exchange_target(id))",
    "CREATE TABLE program_type_do_exchange(id INTEGER PRIMARY KEY, "
    "bytes_received_by_tile_rle BLOB NOT NULL, bytes_sent_by_tile_rle BLOB NOT NULL, "
    "code_bytes_by_tile_rle BLOB NOT NULL, cycles_by_tile_rle BLOB, source_vars TEXT, "
    "destination_vars TEXT, bytes_received_by_ipu_rle BLOB NOT NULL, "
    "bytes_sent_by_ipu_rle BLOB NOT NULL, max_data_sent_and_received_by_ipu_rle BLOB NOT "
    "NULL, cycles_by_tile_ids BLOB, source_regions_id INT, destination_regions_id, "
    "FOREIGN KEY(source_regions_id) REFERENCES exchange_target(id), FOREIGN "
    "KEY(destination_regions_id) REFERENCES exchange_target(id))",
    "CREATE TABLE program_type_code_copy(id INTEGER PRIMARY KEY, cycles_by_tile_ids BLOB, "
    "destination_regions_id, FOREIGN KEY(destination_regions_id) REFERENCES "
    "exchange_target(id))",
    "CREATE TABLE program_type_global_exchange(id INTEGER PRIMARY KEY, "
    "bytes_received_by_tile_rle BLOB NOT NULL, bytes_sent_by_tile_rle BLOB NOT NULL, "
    "estimated_cycles_by_tile_rle BLOB, source_vars TEXT, destination_vars TEXT, "
    "bytes_received_by_ipu_rle BLOB NOT NULL, bytes_sent_by_ipu_rle BLOB NOT NULL, "
    "max_data_sent_and_received_by_ipu_rle BLOB NOT NULL, estimated_cycles_by_tile_ids "
    "BLOB, source_regions_id INT, destination_regions_id INT, sync_type TEXT NOT NULL, "
    "FOREIGN KEY(source_regions_id) REFERENCES exchange_target(id), FOREIGN "
    "KEY(destination_regions_id) REFERENCES exchange_target(id))",
    "CREATE TABLE program_type_repeat(id INTEGER PRIMARY KEY, repeat_count INT)",
    "CREATE TABLE program_type_stream_copy_mid(id INTEGER PRIMARY KEY, "
    "bytes_received_by_tile_rle BLOB NOT NULL, bytes_sent_by_tile_rle BLOB NOT NULL, "
    "estimated_cycles_by_tile_rle BLOB, bytes_received_by_ipu_rle BLOB NOT NULL, "
    "bytes_sent_by_ipu_rle BLOB NOT NULL, max_data_sent_and_received_by_ipu_rle BLOB NOT "
    "NULL, estimated_cycles_by_tile_ids BLOB)",
    "CREATE TABLE program_type_sync(id INTEGER PRIMARY KEY, sync_type TEXT NOT NULL)",
    "CREATE TABLE program_type_sans(id INTEGER PRIMARY KEY, tiles BLOB NOT NULL)",
    "CREATE TABLE program_type_sync_ans(id INTEGER PRIMARY KEY, tiles BLOB NOT NULL)",
    "CREATE TABLE control_programs(compilation_step_id INTEGER, id INTEGER NOT NULL, "
    "program INTEGER NOT NULL, PRIMARY KEY(compilation_step_id, id), FOREIGN "
    "KEY(compilation_step_id, program) REFERENCES programs(compilation_step_id, id))",
    "CREATE TABLE function_programs(compilation_step_id INTEGER, id INTEGER NOT NULL, "
    "program INTEGER NOT NULL, PRIMARY KEY(compilation_step_id, id), FOREIGN "
    "KEY(compilation_step_id, program) REFERENCES programs(compilation_step_id, id))",
    "CREATE TABLE host_exchange_from_host(stream_copy_mid_id INTEGER NOT NULL, stream "
    "TEXT NOT NULL, regions TEXT NOT NULL, is_remote_buffer INTEGER NOT NULL, regions_id "
    "INT, FOREIGN KEY(stream_copy_mid_id) REFERENCES program_type_stream_copy_mid(id), "
    "FOREIGN KEY(regions_id) REFERENCES exchange_target(id))",
    "CREATE TABLE host_exchange_to_host(stream_copy_mid_id INTEGER NOT NULL, stream TEXT "
    "NOT NULL, regions TEXT NOT NULL, is_remote_buffer INTEGER NOT NULL, regions_id INT, "
    "FOREIGN KEY(stream_copy_mid_id) REFERENCES program_type_stream_copy_mid(id), FOREIGN "
    "KEY(regions_id) REFERENCES exchange_target(id))",
    "CREATE TABLE memory_by_category(category_id TEXT PRIMARY KEY, "
    "interleaved_non_overlapped BLOB NOT NULL, interleaved_overlapped BLOB NOT NULL, "
    "non_interleaved_non_overlapped BLOB NOT NULL, non_interleaved_overlapped BLOB NOT "
    "NULL, overflowed_non_overlapped BLOB NOT NULL, overflowed_overlapped BLOB NOT NULL)",
    "CREATE TABLE memory_by_compute_set(compute_set INTEGER PRIMARY KEY, copy_ptr_bytes "
    "BLOB NOT NULL, descriptor_bytes BLOB NOT NULL, edge_ptr_bytes BLOB NOT NULL, "
    "padding_bytes BLOB NOT NULL, vertex_data_bytes BLOB NOT NULL)",
    "CREATE TABLE memory_by_vertex_type(vertex_type INTEGER PRIMARY KEY, code_bytes BLOB "
    "NOT NULL, copy_ptr_bytes BLOB NOT NULL, descriptor_bytes BLOB NOT NULL, "
    "edge_ptr_bytes BLOB NOT NULL, padding_bytes BLOB NOT NULL, vertex_data_bytes BLOB "
    "NOT NULL, FOREIGN KEY(vertex_type) REFERENCES vertex_types(id))",
    "CREATE TABLE instrumentation_settings(compute INTEGER NOT NULL, compute_level TEXT, "
    "external_exchange INTEGER NOT NULL, control_flow INTEGER NOT NULL)",
    "CREATE TABLE memory_by_tile(tile INTEGER PRIMARY KEY, interleaved INTEGER NOT NULL, "
    "interleaved_including_gaps INTEGER NOT NULL, non_interleaved INTEGER NOT NULL, "
    "non_interleaved_including_gaps INTEGER NOT NULL, overflowed INTEGER NOT NULL, "
    "overflowed_including_gaps INTEGER NOT NULL, total INTEGER NOT NULL, "
    "total_including_gaps INTEGER NOT NULL, always_live_bytes INTEGER NOT NULL, "
    "not_always_live_max_bytes INTEGER)",
    "CREATE TABLE memory_liveness_tiles(position INTEGER PRIMARY KEY, tile INTEGER)",
    "CREATE TABLE string_table(id INTEGER PRIMARY KEY, string TEXT)",
    "CREATE TABLE debug_ids(variable_id INTEGER UNIQUE, ids BLOB)",
    "CREATE TABLE compilation_parameters(name TEXT PRIMARY KEY, value TEXT NOT NULL, "
    "is_default INTEGER NOT NULL)",
    "CREATE TABLE target_parameters(name TEXT PRIMARY KEY, value TEXT NOT NULL, "
    "is_default INTEGER NOT NULL)",
    "CREATE TABLE depth_first_steps(id INTEGER PRIMARY KEY, program_id INTEGER NOT NULL, "
    "parent_step_id INTEGER)",
    "CREATE TABLE memory_not_always_live_by_step_and_ipu(ipu INTEGER, step_id INTEGER NOT "
    "NULL, delta_bytes INTEGER NOT NULL)",
    "CREATE INDEX memory_not_always_live_by_ipu ON "
    "memory_not_always_live_by_step_and_ipu(ipu)",
    "CREATE TABLE compilation_cycles_by_tile(id INTEGER PRIMARY KEY, cycles_by_tile_rle "
    "BLOB)",
    "CREATE TABLE var_categories(id INTEGER PRIMARY KEY, name TEXT NOT NULL, description "
    "TEXT NOT NULL)",
    "CREATE TABLE vars_info(var_id INTEGER PRIMARY KEY, tile INTEGER NOT NULL, "
    "name_base_id INTEGER NOT NULL, name_prefix__vertex_field_ INTEGER, name_suffix TEXT "
    "NOT NULL, size_bytes INTEGER NOT NULL, alignment INTEGER NOT NULL, offset INTEGER "
    "NOT NULL, category INTEGER NOT NULL, equivalence_class INTEGER NOT NULL, "
    "element_constraints BLOB, region_constraints BLOB, unlowered_var_id INTEGER, bitset "
    "INTEGER NOT NULL, FOREIGN KEY(category) REFERENCES var_categories(id), FOREIGN "
    "KEY(name_base_id) REFERENCES vars_string_table(id))",
    "CREATE TABLE equivalence_class_interference(class_id INTEGER NOT NULL, "
    "interference_class_ids BLOB NOT NULL)",
    "CREATE TABLE allocation_order_by_tile(tile INTEGER NOT NULL, \"order\" BLOB NOT NULL)",
    "CREATE TABLE compilation_info(compilation_id TEXT NOT NULL)",
    "CREATE TABLE eq_classes(id INTEGER PRIMARY KEY, is_always_live INTEGER NOT NULL)",
    "CREATE TABLE var_bytes_by_eq_class(unlowered_var_id INTEGER NOT NULL, eq_class_id "
    "INTEGER NOT NULL, bytes INTEGER NOT NULL, tile INTEGER)",
    "CREATE TABLE eq_class_step(eq_class_id INTEGER NOT NULL, step_id_from INTEGER NOT "
    "NULL, step_id_to INTEGER NOT NULL)",
    "CREATE TABLE unlowered_vars(id INTEGER PRIMARY KEY, name TEXT NOT NULL)",
    "CREATE TABLE vars_string_table(id INTEGER PRIMARY KEY, string TEXT NOT NULL)",
    "CREATE TABLE compilation_steps(id INTEGER PRIMARY KEY, name TEXT NOT NULL)",
    "CREATE TABLE steps(id INTEGER PRIMARY KEY, type TEXT NOT NULL, program INTEGER, "
    "sync_type TEXT, host_exchange INTEGER, inter_ipu_exchange INTEGER, exchange INTEGER, "
    "compute_set INTEGER)",
    "CREATE TABLE cycles_by_tile(id INTEGER PRIMARY KEY, cycles_by_tile_rle BLOB NOT "
    "NULL)",
    "CREATE TABLE steps_by_ipu(step_id INTEGER NOT NULL, ipu INTEGER NOT NULL, "
    "cycles_base INTEGER NOT NULL, active_cycles_from_max INTEGER NOT NULL, "
    "active_cycles_from_mean INTEGER NOT NULL, active_cycles_from_min INTEGER NOT NULL, "
    "active_cycles_to_max INTEGER NOT NULL, active_cycles_to_mean INTEGER NOT NULL, "
    "active_cycles_to_min INTEGER NOT NULL, all_cycles_to_max INTEGER NOT NULL, "
    "all_cycles_to_mean INTEGER NOT NULL, all_cycles_to_min INTEGER NOT NULL, cycles "
    "INTEGER NOT NULL, active_tiles INTEGER NOT NULL, active_tile_balance REAL NOT NULL, "
    "thread_balance REAL, tile_balance REAL NOT NULL, tile_cycles_id INTEGER, PRIMARY "
    "KEY(step_id, ipu), FOREIGN KEY(tile_cycles_id) REFERENCES cycles_by_tile(id))",
    "CREATE TABLE vertices(vertex_id INTEGER PRIMARY KEY, compute_set_id INTEGER NOT "
    "NULL, vertex_type INTEGER NOT NULL, cycles INTEGER NOT NULL)",
    "CREATE TABLE compute_set_cycles_by_tile(compute_set_id INTEGER PRIMARY KEY, "
    "cycles_by_tile_ids BLOB NOT NULL)",
    "CREATE TABLE compute_set_cycles_by_ipu(compute_set_id INTEGER PRIMARY KEY, "
    "cycles_by_ipu_rle BLOB NOT NULL)",
    "CREATE TABLE inter_ipu_exchange_cycles_by_tile(inter_ipu_exchange_id INTEGER PRIMARY "
    "KEY, exchange_cycles_by_tile_ids BLOB NOT NULL, sync_cycles_by_tile_ids BLOB NOT "
    "NULL)",
    "CREATE TABLE runs(id INTEGER PRIMARY KEY, start_epoch_time_microseconds INTEGER NOT "
    "NULL, elapsed_microseconds INTEGER, name TEXT NOT NULL, num_programs INTEGER NOT "
    "NULL, num_steps INTEGER NOT NULL, estimated_freq_by_ipu BLOB, start_cycles_by_ipu "
    "BLOB, end_cycles_by_ipu BLOB)",
    "CREATE TABLE program_trace(id INTEGER PRIMARY KEY, program_id INTEGER NOT NULL)",
    "CREATE TABLE execution_cycle_totals(run_id INTEGER, cycles INTEGER NOT NULL, "
    "tile_cycles_active_compute INTEGER NOT NULL, tile_cycles_compute INTEGER NOT NULL, "
    "tile_cycles_internal_exchange INTEGER NOT NULL, tile_cycles_inter_ipu_exchange "
    "INTEGER NOT NULL, tile_cycles_stream_copy INTEGER NOT NULL, "
    "tile_cycles_stream_copy_begin INTEGER NOT NULL, tile_cycles_stream_copy_end INTEGER "
    "NOT NULL, tile_cycles_sync INTEGER NOT NULL, tile_overhead_cycles_active_compute "
    "INTEGER NOT NULL, tile_overhead_cycles_compute INTEGER NOT NULL, "
    "tile_overhead_cycles_internal_exchange INTEGER NOT NULL, "
    "tile_overhead_cycles_inter_ipu_exchange INTEGER NOT NULL, "
    "tile_overhead_cycles_stream_copy INTEGER NOT NULL, "
    "tile_overhead_cycles_stream_copy_begin INTEGER NOT NULL, "
    "tile_overhead_cycles_stream_copy_end INTEGER NOT NULL, tile_overhead_cycles_sync "
    "INTEGER NOT NULL)",
    "CREATE TABLE execution_parameters(name TEXT NOT NULL, value TEXT NOT NULL, "
    "is_default INTEGER NOT NULL, run INTEGER, PRIMARY KEY(name,run))",
    "CREATE TABLE execution_info(compilation_id TEXT NOT NULL)",
    "CREATE TABLE absolute_markers(id INTEGER PRIMARY KEY, cycles_from INTEGER NOT NULL, "
    "cycles_length INTEGER NOT NULL, step_id_by_tile BLOB NOT NULL, cycles_by_tile BLOB "
    "NOT NULL)",
    "CREATE TABLE blocks(tile INTEGER NOT NULL, cycles_from INTEGER NOT NULL, cycles_to "
    "INTEGER NOT NULL, block_id INTEGER NULL, type INTEGER NOT NULL)",
    "CREATE INDEX block_cycles_from ON blocks(tile, cycles_from)",
    "CREATE INDEX block_cycles_to ON blocks(tile, cycles_to)",
    NULL,
};
