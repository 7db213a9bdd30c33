-- throttle.set(now, tid, maximum [, ttl]) -> null
-- How many jobs may hold a throttle at a time; 0 means any number.
--
--   ttl   seconds until that is forgotten; without it an earlier one stands
--
-- Refuses  "Throttle(): no tid provided", "Throttle(): Arg ..."
-- Writes   ql:th:<tid>
set_throttle(given_tid(ARGV[2]), ARGV[3], ARGV[4])
