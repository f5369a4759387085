-- A newer minor version that keeps an old table as a view of two others. Views are not computed.
-- expect: refused vars_info is a view or a virtual table; a profile has only ordinary tables
UPDATE version_info SET minor = 9;
ALTER TABLE vars_info RENAME TO lowered;
CREATE VIEW vars_info AS SELECT * FROM lowered;
