-- The same columns in another order, some of them in capitals, as names in SQLite may be.
-- expect: same
CREATE TABLE new_vars (
    element_constraints BLOB, bitset INTEGER, name_suffix TEXT, Alignment INTEGER,
    SIZE_BYTES INTEGER, equivalence_class INTEGER, unlowered_var_id INTEGER, category INTEGER, Tile INTEGER, offset INTEGER,
    var_id INTEGER PRIMARY KEY);
INSERT INTO new_vars SELECT element_constraints, bitset, name_suffix, alignment, size_bytes,
    equivalence_class, unlowered_var_id, category, tile, offset, var_id FROM vars_info;
DROP TABLE vars_info;
ALTER TABLE new_vars RENAME TO vars_info;
CREATE TABLE new_programs (
    control_code_bytes_by_tile BLOB, debug_id INTEGER, name TEXT, CHILDREN BLOB,
    variant_index INTEGER, variant INTEGER, id INTEGER PRIMARY KEY);
INSERT INTO new_programs SELECT control_code_bytes_by_tile, debug_id, name, children, variant_index,
    variant, id FROM programs;
DROP TABLE programs;
ALTER TABLE new_programs RENAME TO programs;
CREATE TABLE new_version (file_type TEXT, point INTEGER, minor INTEGER, MAJOR INTEGER);
INSERT INTO new_version SELECT file_type, point, minor, major FROM version_info;
DROP TABLE version_info;
ALTER TABLE new_version RENAME TO version_info;
CREATE TABLE new_ranges (step_id_to INTEGER, step_id_from INTEGER, eq_class_id INTEGER);
INSERT INTO new_ranges SELECT step_id_to, step_id_from, eq_class_id FROM eq_class_step;
DROP TABLE eq_class_step;
ALTER TABLE new_ranges RENAME TO eq_class_step;
