-- The compiler's account in part only: nothing is compared with half of the numbers.
-- expect: differs
-- expect: warned Table memory_by_category of the profile has no column
-- non_interleaved_non_overlapped (memory by category). Do not trust the comparison with the
-- compiler's account.
-- expect: warned Table memory_by_tile of the profile has no column always_live_bytes (how much
-- memory of a tile always lives). Do not trust the comparison with the compiler's account.
-- expect: warned Table memory_not_always_live_by_step_and_ipu of the profile has no column ipu (how
-- much memory of an IPU lives at a step). Do not trust the comparison with the compiler's account.
-- expect: never is inconsistent
ALTER TABLE memory_by_category RENAME COLUMN non_interleaved_non_overlapped TO alone;
ALTER TABLE memory_by_tile RENAME COLUMN always_live_bytes TO always;
ALTER TABLE memory_not_always_live_by_step_and_ipu RENAME COLUMN ipu TO device;
