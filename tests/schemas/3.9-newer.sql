-- A newer minor version: more columns, and tables gone that nothing asks for.
-- expect: same
-- expect: told has profile format 3.9.2, which is read like 3.8.
UPDATE version_info SET minor = 9, point = 2;
ALTER TABLE eq_classes ADD COLUMN weight INTEGER DEFAULT 1;
ALTER TABLE depth_first_steps ADD COLUMN depth INTEGER;
DROP TABLE IF EXISTS program_trace;
DROP TABLE IF EXISTS optimization_info;
DROP TABLE IF EXISTS relative_sync_delay;
DROP TABLE IF EXISTS compilation_trace;
DROP TABLE IF EXISTS string_table;
DROP TABLE IF EXISTS compilation_steps;
