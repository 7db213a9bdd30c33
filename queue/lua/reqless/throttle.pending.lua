-- throttle.pending(now, tid) -> JSON list of the jids that wait for it, longest first
--
-- Refuses  "Throttle(): no tid provided"
-- Reads    ql:th:<tid>-pending
return json_strings(redis.call('ZRANGE', 'ql:th:' .. given_tid(ARGV[2]) .. '-pending', '0', '-1'))
