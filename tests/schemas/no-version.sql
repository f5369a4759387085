-- A version that is not told.
-- expect: refused profile.pop: table version_info is empty
DELETE FROM version_info;
