-- A newer minor version that tells in another way when variables live.
-- expect: refused profile.pop: has no table eq_classes (when variables live) (profile format 3.9.0)
UPDATE version_info SET minor = 9;
ALTER TABLE eq_classes RENAME TO classes;
