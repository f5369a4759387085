/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "small_profile.h"

#include <stddef.h>

#include "fuzz.h"

/* A statement each, since compilers need not take longer texts. */
static const char *const statements[] = {
    "CREATE TABLE version_info(major,minor,point,is_unstable_format,file_type);",
    "INSERT INTO version_info VALUES"
    " (3,8,0,0,'graph_profile');",
    "CREATE TABLE poplar_version(string,package_hash,major,minor,point);",
    "INSERT INTO poplar_version VALUES"
    " ('3.0.0','0',3,0,0);",
    "CREATE TABLE target_info(num_tiles,num_ipus,num_replicas,bytes_per_tile,"
    "architecture,clock_frequency,type_,tiles_per_ipu,ipus_per_replica);",
    "INSERT INTO target_info VALUES"
    " (2,1,1,2048,'ipu2',1850000000,'IPU',2,1);",
    "CREATE TABLE graph_info(num_compute_sets,num_edges,num_vars,num_vertices);",
    "INSERT INTO graph_info VALUES"
    " (5,11,23,9);",
    "CREATE TABLE compilation_parameters(name,value,is_default);",
    "INSERT INTO compilation_parameters VALUES"
    " ('opt.enableInlining','false',0);",
    "CREATE TABLE var_categories(id INTEGER PRIMARY KEY,name);",
    "INSERT INTO var_categories VALUES"
    " (0,'variable'),"
    " (1,'message'),"
    " (2,'controlId'),"
    " (3,'constant'),"
    " (4,'vertexInstanceState'),"
    " (5,'vertexFieldData'),"
    " (6,'copyDescriptor'),"
    " (7,'controlCode'),"
    " (8,'vertexCode'),"
    " (9,'internalExchangeCode'),"
    " (10,'hostMessage'),"
    " (11,'stack');",
    "CREATE TABLE unlowered_vars(id INTEGER PRIMARY KEY,name);",
    "INSERT INTO unlowered_vars VALUES"
    " (0,'Layer0/weight'),"
    " (1,'Layer1/weight'),"
    " (2,'input:0'),"
    " (3,'Layer0/out'),"
    " (4,'Layer1/Gelu/out'),"
    " (5,'Layer1/out'),"
    " (6,'Layer2/out'),"
    " (7,'loss:0'),"
    " (8,'Embedding_Dict');",
    "CREATE TABLE debug_ids(variable_id,ids);",
    "INSERT INTO debug_ids VALUES"
    " (0,x'8b'),"
    " (1,x'8f'),"
    " (2,x'82'),"
    " (3,x'8b'),"
    " (4,x'8d'),"
    " (5,x'8f'),"
    " (6,x'91'),"
    " (7,x'93'),"
    " (8,x'82');",
    "CREATE TABLE eq_classes(id INTEGER PRIMARY KEY,is_always_live);",
    "INSERT INTO eq_classes VALUES"
    " (0,0),"
    " (1,1),"
    " (2,0),"
    " (3,0),"
    " (4,0),"
    " (5,0),"
    " (6,0),"
    " (7,0),"
    " (8,0);",
    "CREATE TABLE eq_class_step(eq_class_id,step_id_from,step_id_to);",
    "INSERT INTO eq_class_step VALUES"
    " (1,0,16),"
    " (2,1,4),"
    " (3,3,8),"
    " (4,7,12),"
    " (5,10,14),"
    " (6,12,15),"
    " (7,13,16),"
    " (8,2,3),"
    " (8,9,10);",
    "CREATE TABLE vars_info(var_id INTEGER PRIMARY KEY,tile,size_bytes,offset,category,"
    "equivalence_class,unlowered_var_id,bitset);",
    "INSERT INTO vars_info VALUES"
    " (0,0,32,0,0,1,0,1),"
    " (1,1,32,0,0,1,1,1),"
    " (2,0,16,32,0,2,2,1),"
    " (3,0,24,48,0,3,3,1),"
    " (4,1,20,32,0,4,4,1),"
    " (5,1,28,56,0,5,5,1),"
    " (6,1,12,88,0,6,6,1),"
    " (7,1,8,32,0,7,7,1),"
    " (8,1,16,104,1,8,3,1),"
    " (9,0,12,72,0,1,8,1),"
    " (10,0,4,88,2,1,NULL,1),"
    " (11,1,4,120,2,1,NULL,1),"
    " (12,0,0,0,3,0,NULL,2),"
    " (13,0,294,96,8,1,NULL,1),"
    " (14,0,72,392,4,1,NULL,1),"
    " (15,0,80,464,7,1,NULL,1),"
    " (16,0,36,544,9,1,NULL,1),"
    " (17,0,64,584,11,1,NULL,1),"
    " (18,1,350,128,8,1,NULL,1),"
    " (19,1,96,480,4,1,NULL,1),"
    " (20,1,84,576,7,1,NULL,1),"
    " (21,1,40,664,9,1,NULL,1),"
    " (22,1,64,704,11,1,NULL,1);",
    "CREATE TABLE vertex_types(id INTEGER PRIMARY KEY,name,size);",
    "INSERT INTO vertex_types VALUES"
    " (0,'poplin::ConvPartial1x1Out<half>',24),"
    " (1,'popops::ReduceAdd<float>',16),"
    " (2,'popnn::NonLinearGELU<half>',12);",
    "CREATE TABLE memory_by_vertex_type(vertex_type INTEGER PRIMARY KEY,code_bytes,"
    "copy_ptr_bytes,descriptor_bytes,edge_ptr_bytes,padding_bytes,vertex_data_bytes);",
    "INSERT INTO memory_by_vertex_type VALUES"
    " (0,x'01c801c8',x'8080',x'8080',x'8080',x'8080',x'b0b0'),"
    " (1,x'80f8',x'8080',x'8080',x'8080',x'8080',x'80b0'),"
    " (2,x'c080',x'8080',x'8080',x'8080',x'8080',x'9880');",
    "CREATE TABLE compute_sets(compute_set INTEGER PRIMARY KEY,name,vertex_types,"
    "vertex_counts,edge_count,debug_id,cycles_by_tile_ids,var_ids_diff_rle);",
    "INSERT INTO compute_sets VALUES"
    " (0,'Layer0/MatMul/Convolve',x'80',x'82',3,11,x'80',x'87808281'),"
    " (1,'Layer1/Gelu/NonLinear',x'82',x'82',2,13,x'81',x'858381'),"
    " (2,'Layer1/MatMul/Reduce',x'8081',x'8182',2,15,x'80',x'87818381'),"
    " (3,'Layer2/MatMul/Convolve',x'80',x'81',3,17,x'80',x'87858183'),"
    " (4,'Tail/loss/ReduceLoss',x'81',x'81',1,19,x'81',x'858681');",
    "CREATE TABLE vertex_instances(compute_set,vertex_type,instances_by_tile);",
    "INSERT INTO vertex_instances VALUES"
    " (0,0,x'858181'),"
    " (1,2,x'858280'),"
    " (2,0,x'858180'),"
    " (2,1,x'858082'),"
    " (3,0,x'858081'),"
    " (4,1,x'858081');",
    "CREATE TABLE memory_by_compute_set(compute_set INTEGER PRIMARY KEY,copy_ptr_bytes,"
    "descriptor_bytes,edge_ptr_bytes,padding_bytes,vertex_data_bytes);",
    "INSERT INTO memory_by_compute_set VALUES"
    " (0,x'858080',x'858080',x'858080',x'858080',x'859898'),"
    " (1,x'858080',x'858080',x'858080',x'858080',x'859880'),"
    " (2,x'858080',x'858080',x'858080',x'858080',x'8598a0'),"
    " (3,x'858080',x'858080',x'858080',x'858080',x'858098'),"
    " (4,x'858080',x'858080',x'858080',x'858080',x'858090');",
    "CREATE TABLE program_types(id INTEGER PRIMARY KEY,name);",
    "INSERT INTO program_types VALUES"
    " (1,'Sequence'),"
    " (2,'OnTileExecute'),"
    " (3,'DoExchange'),"
    " (4,'StreamCopyBegin'),"
    " (5,'StreamCopyMid'),"
    " (6,'StreamCopyEnd'),"
    " (7,'Call'),"
    " (8,'Repeat'),"
    " (9,'GlobalExchange'),"
    " (10,'CodeCopy'),"
    " (11,'Sync');",
    "CREATE TABLE programs(id,variant,variant_index,children,name,debug_id,"
    "control_code_bytes_by_tile);",
    "INSERT INTO programs VALUES"
    " (0,1,NULL,x'81828384858688898a8f8b',NULL,1,x'85bcc0'),"
    " (1,5,0,x'',NULL,2,x'858884'),"
    " (2,3,0,x'','Layer0/MatMul/Pre',11,x'858484'),"
    " (3,2,0,x'',NULL,11,x'858484'),"
    " (4,7,0,x'','Layer1/Gelu/call',13,x'858488'),"
    " (5,3,1,x'','Layer1/MatMul/Pre',15,x'858480'),"
    " (6,8,0,x'87','Layer1/MatMul/Loop',15,x'858c8c'),"
    " (7,2,2,x'',NULL,15,x'858888'),"
    " (8,2,3,x'',NULL,17,x'858484'),"
    " (9,9,0,x'','Layer2/MatMul/Cross',17,x'858484'),"
    " (10,2,4,x'',NULL,19,x'858484'),"
    " (11,5,1,x'',NULL,3,x'858488'),"
    " (12,1,NULL,x'8d8e','Layer1/Gelu/body',13,x'858c88'),"
    " (13,2,1,x'',NULL,13,x'858484'),"
    " (14,10,0,x'',NULL,0,x'858080'),"
    " (15,11,NULL,x'',NULL,0,x'858080');",
    "CREATE TABLE control_programs(id,program);",
    "INSERT INTO control_programs VALUES"
    " (0,0);",
    "CREATE TABLE function_programs(id,program);",
    "INSERT INTO function_programs VALUES"
    " (0,12);",
    "CREATE TABLE program_type_call(id INTEGER PRIMARY KEY,function_id);",
    "INSERT INTO program_type_call VALUES"
    " (0,0);",
    "CREATE TABLE program_type_on_tile_execute(id INTEGER PRIMARY KEY,compute_set);",
    "INSERT INTO program_type_on_tile_execute VALUES"
    " (0,0),"
    " (1,1),"
    " (2,2),"
    " (3,3),"
    " (4,4);",
    "CREATE TABLE exchange_target(id INTEGER PRIMARY KEY);",
    "INSERT INTO exchange_target VALUES"
    " (0),"
    " (1),"
    " (2),"
    " (3),"
    " (4),"
    " (5),"
    " (6),"
    " (7),"
    " (8);",
    "CREATE TABLE exchange_regions(id,var_id);",
    "INSERT INTO exchange_regions VALUES"
    " (0,0),"
    " (0,2),"
    " (1,2),"
    " (1,3),"
    " (2,3),"
    " (2,8),"
    " (3,4),"
    " (4,8),"
    " (4,5),"
    " (5,5),"
    " (6,6),"
    " (7,9),"
    " (8,7);",
    "CREATE TABLE program_type_do_exchange(id INTEGER PRIMARY KEY,code_bytes_by_tile_rle,"
    "cycles_by_tile_ids,source_regions_id,destination_regions_id);",
    "INSERT INTO program_type_do_exchange VALUES"
    " (0,x'858c88',x'82',1,2),"
    " (1,x'85848c',x'82',3,4);",
    "CREATE TABLE program_type_global_exchange(id INTEGER PRIMARY KEY,"
    "estimated_cycles_by_tile_ids,source_regions_id,destination_regions_id);",
    "INSERT INTO program_type_global_exchange VALUES"
    " (0,x'83',5,6);",
    "CREATE TABLE program_type_code_copy(id INTEGER PRIMARY KEY,cycles_by_tile_ids,"
    "destination_regions_id);",
    "INSERT INTO program_type_code_copy VALUES"
    " (0,x'82',7);",
    "CREATE TABLE program_type_stream_copy_mid(id INTEGER PRIMARY KEY,"
    "estimated_cycles_by_tile_ids);",
    "INSERT INTO program_type_stream_copy_mid VALUES"
    " (0,x'83'),"
    " (1,x'83');",
    "CREATE TABLE host_exchange_from_host(stream_copy_mid_id,regions_id);",
    "INSERT INTO host_exchange_from_host VALUES"
    " (0,0),"
    " (0,7);",
    "CREATE TABLE host_exchange_to_host(stream_copy_mid_id,regions_id);",
    "INSERT INTO host_exchange_to_host VALUES"
    " (1,8);",
    "CREATE TABLE program_type_repeat(id INTEGER PRIMARY KEY,repeat_count);",
    "INSERT INTO program_type_repeat VALUES"
    " (0,3);",
    "CREATE TABLE compilation_cycles_by_tile(id INTEGER PRIMARY KEY,cycles_by_tile_rle);",
    "INSERT INTO compilation_cycles_by_tile VALUES"
    " (0,x'85e4018c'),"
    " (1,x'85bcc6'),"
    " (2,x'859499'),"
    " (3,x'85b2b2');",
    "CREATE TABLE depth_first_steps(id INTEGER PRIMARY KEY,program_id,parent_step_id);",
    "INSERT INTO depth_first_steps VALUES"
    " (0,0,NULL),"
    " (1,1,0),"
    " (2,2,0),"
    " (3,3,0),"
    " (4,4,0),"
    " (5,12,4),"
    " (6,13,5),"
    " (7,14,5),"
    " (8,5,0),"
    " (9,6,0),"
    " (10,7,9),"
    " (11,8,0),"
    " (12,9,0),"
    " (13,10,0),"
    " (14,15,0),"
    " (15,11,0);",
    "CREATE TABLE memory_not_always_live_by_step_and_ipu(ipu,step_id,delta_bytes);",
    "INSERT INTO memory_not_always_live_by_step_and_ipu VALUES"
    " (0,1,16),"
    " (0,2,16),"
    " (0,3,8),"
    " (0,4,-16),"
    " (0,7,20),"
    " (0,8,-24),"
    " (0,9,16),"
    " (0,10,12),"
    " (0,12,-8),"
    " (0,13,8),"
    " (0,14,-28),"
    " (0,15,-12),"
    " (NULL,1,16),"
    " (NULL,2,16),"
    " (NULL,3,8),"
    " (NULL,4,-16),"
    " (NULL,7,20),"
    " (NULL,8,-24),"
    " (NULL,9,16),"
    " (NULL,10,12),"
    " (NULL,12,-8),"
    " (NULL,13,8),"
    " (NULL,14,-28),"
    " (NULL,15,-12);",
    "CREATE TABLE memory_by_tile(tile INTEGER PRIMARY KEY,interleaved,"
    "interleaved_including_gaps,non_interleaved,non_interleaved_including_gaps,"
    "overflowed,overflowed_including_gaps,total,total_including_gaps,always_live_bytes,"
    "not_always_live_max_bytes);",
    "INSERT INTO memory_by_tile VALUES"
    " (0,0,0,634,656,0,0,634,648,594,40),"
    " (1,0,0,746,776,0,0,746,768,670,48);",
    "CREATE TABLE memory_by_category(category_id TEXT,interleaved_non_overlapped,"
    "interleaved_overlapped,non_interleaved_non_overlapped,non_interleaved_overlapped,"
    "overflowed_non_overlapped,overflowed_overlapped);",
    "INSERT INTO memory_by_category VALUES"
    " ('variable',x'8080',x'8080',x'd4d4',x'8090',x'8080',x'8080'),"
    " ('message',x'8080',x'8080',x'8090',x'8080',x'8080',x'8080'),"
    " ('controlId',x'8080',x'8080',x'8484',x'8080',x'8080',x'8080'),"
    " ('constant',x'8080',x'8080',x'8080',x'8080',x'8080',x'8080'),"
    " ('vertexInstanceState',x'8080',x'8080',x'c8e0',x'8080',x'8080',x'8080'),"
    " ('vertexFieldData',x'8080',x'8080',x'8080',x'8080',x'8080',x'8080'),"
    " ('copyDescriptor',x'8080',x'8080',x'8080',x'8080',x'8080',x'8080'),"
    " ('controlCode',x'8080',x'8080',x'd0d4',x'8080',x'8080',x'8080'),"
    " ('vertexCode',x'8080',x'8080',x'02a602de',x'8080',x'8080',x'8080'),"
    " ('internalExchangeCode',x'8080',x'8080',x'a4a8',x'8080',x'8080',x'8080'),"
    " ('hostMessage',x'8080',x'8080',x'8080',x'8080',x'8080',x'8080'),"
    " ('stack',x'8080',x'8080',x'c0c0',x'8080',x'8080',x'8080');",
    "CREATE TABLE steps(id INTEGER PRIMARY KEY,program,type);",
    "INSERT INTO steps VALUES"
    " (0,3,'OnTileExecute'),"
    " (1,10,'OnTileExecute'),"
    " (2,NULL,'Sync');",
    "CREATE TABLE steps_by_ipu(step_id,ipu,cycles_base,active_cycles_from_min,"
    "active_cycles_to_max,cycles,active_tiles,active_tile_balance,tile_balance);",
    "INSERT INTO steps_by_ipu VALUES"
    " (0,0,0,0,90,100,2,0.5,0.5),"
    " (1,0,100,0,40,50,1,1.0,0.5);",
    "CREATE TABLE runs(id INTEGER PRIMARY KEY,name,start_epoch_time_microseconds,"
    "elapsed_microseconds,num_programs,num_steps);",
    "INSERT INTO runs VALUES"
    " (0,'train',1,2,16,3);",
};

sqlite3 *small_profile_make(void) {
    sqlite3 *sqlite;
    FUZZ_CHECK(sqlite3_open(":memory:", &sqlite) == SQLITE_OK);
    FUZZ_CHECK(sqlite3_exec(sqlite, "PRAGMA page_size = 512", NULL, NULL, NULL) == SQLITE_OK);
    for (size_t i = 0; i < sizeof statements / sizeof *statements; i++)
        FUZZ_CHECK(sqlite3_exec(sqlite, statements[i], NULL, NULL, NULL) == SQLITE_OK);
    return sqlite;
}
