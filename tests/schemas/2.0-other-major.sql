-- Another major version: what its tables mean is not known.
-- expect: refused profile.pop: has profile format version 2.4.0; only versions 3.x are supported
UPDATE version_info SET major = 2, minor = 4;
