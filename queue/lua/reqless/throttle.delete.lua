-- throttle.delete(now, tid) -> null
-- The throttle is unlimited again; who holds it or waits for it is still known.
--
-- Refuses  "Throttle(): no tid provided"
-- Writes   ql:th:<tid>
redis.call('DEL', 'ql:th:' .. given_tid(ARGV[2]))
