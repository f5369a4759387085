-- An older minor version that does not tell which variables compute sets and exchanges use.
-- expect: differs
-- expect: told is of profile format 3.0.0; it is read like 3.8, the only one that was seen.
-- expect: warned Table compute_sets of the profile has no column var_ids_diff_rle, which tells
-- which variables compute sets use. Do not trust what stages need.
-- expect: warned Table program_type_do_exchange of the profile has no column source_regions_id,
-- which tells which variables exchanges read. Do not trust what stages need.
-- expect: warned The profile has no table exchange_regions, which tells which variables
-- exchanges use. Do not trust what stages need.
UPDATE version_info SET minor = 0;
ALTER TABLE compute_sets DROP COLUMN var_ids_diff_rle;
ALTER TABLE program_type_do_exchange RENAME COLUMN source_regions_id TO source;
DROP TABLE exchange_regions;
