-- What a later point version might add: columns, tables, indexes, a view and a trigger that no
-- reader asks for.
-- expect: same
ALTER TABLE vars_info ADD COLUMN colour TEXT DEFAULT 'red';
ALTER TABLE programs ADD COLUMN weight REAL DEFAULT 0.5;
ALTER TABLE compute_sets ADD COLUMN note BLOB;
ALTER TABLE version_info ADD COLUMN build TEXT;
ALTER TABLE target_info ADD COLUMN tilesPerRow INTEGER DEFAULT 4;
CREATE TABLE dialects (id INTEGER PRIMARY KEY, name TEXT);
INSERT INTO dialects VALUES (1, 'first');
CREATE INDEX vars_by_tile ON vars_info (tile, offset);
CREATE VIEW large AS SELECT var_id FROM vars_info WHERE size_bytes > 100;
CREATE TRIGGER guard AFTER INSERT ON programs BEGIN SELECT RAISE(ABORT, 'closed'); END;
