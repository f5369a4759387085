-- A later major version, even one that has all tables of 3.8.
-- expect: refused profile.pop: has profile format version 4.0.0; only versions 3.x are supported
UPDATE version_info SET major = 4, minor = 0;
