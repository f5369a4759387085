-- An older minor version that does not tell which variables compute sets and exchanges use.
-- expect: differs
-- expect: told has profile format 3.0.0, which is read like 3.8.
-- expect: warned Table compute_sets of the profile has no column var_ids_diff_rle (which variables
-- compute sets use). Do not trust the memory of stages.
-- expect: warned Table program_type_do_exchange of the profile has no column source_regions_id
-- (which variables exchanges read). Do not trust the memory of stages.
-- expect: warned The profile has no table exchange_regions (which variables exchanges use). Do not
-- trust the memory of stages.
UPDATE version_info SET minor = 0;
ALTER TABLE compute_sets DROP COLUMN var_ids_diff_rle;
ALTER TABLE program_type_do_exchange RENAME COLUMN source_regions_id TO source;
DROP TABLE exchange_regions;
