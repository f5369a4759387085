-- An older minor version by what the definitions of 3.8 tell ("used from v3.2"): cycles stand in
-- the rows. Memory is what it was; there are no cycles.
-- expect: same but cycles
-- expect: told has profile format 3.1.0, which is read like 3.8.
-- expect: warned Table compute_sets of the profile has no column cycles_by_tile_ids (how long
-- compute sets take). Do not trust cycles.
-- expect: warned Table program_type_do_exchange of the profile has no column cycles_by_tile_ids
-- (how long exchanges take). Do not trust cycles.
-- expect: warned Table program_type_stream_copy_mid of the profile has no column
-- estimated_cycles_by_tile_ids (how long exchanges with the host take). Do not trust cycles.
-- expect: warned The profile has no table compilation_cycles_by_tile (how long programs take). Do
-- not trust cycles.
UPDATE version_info SET minor = 1;
UPDATE program_type_do_exchange SET cycles_by_tile_rle = x'90e4';
UPDATE program_type_stream_copy_mid SET estimated_cycles_by_tile_rle = x'90e4';
UPDATE compute_sets SET cycles_by_tile = x'90e4';
ALTER TABLE compute_sets DROP COLUMN cycles_by_tile_ids;
ALTER TABLE program_type_do_exchange DROP COLUMN cycles_by_tile_ids;
ALTER TABLE program_type_global_exchange DROP COLUMN estimated_cycles_by_tile_ids;
ALTER TABLE program_type_code_copy DROP COLUMN cycles_by_tile_ids;
ALTER TABLE program_type_stream_copy_mid DROP COLUMN estimated_cycles_by_tile_ids;
DROP TABLE compilation_cycles_by_tile;
DROP TABLE IF EXISTS compute_set_cycles_by_tile;
DROP TABLE IF EXISTS inter_ipu_exchange_cycles_by_tile;
