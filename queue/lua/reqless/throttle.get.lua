-- throttle.get(now, tid) -> {"id", "ttl", "maximum"} as JSON
-- ttl is -1 for none, and -2 for a throttle that was not set.
--
-- Refuses  "Throttle(): no tid provided"
-- Reads    ql:th:<tid>
return view_throttle(given_tid(ARGV[2]))
