-- An older minor version without something that every answer needs.
-- expect: refused profile.pop: table vars_info has no column size_bytes (how large variables are)
-- (profile format 3.7.0)
UPDATE version_info SET minor = 7;
ALTER TABLE vars_info RENAME COLUMN size_bytes TO bytes;
