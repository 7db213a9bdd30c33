-- throttle.locks(now, tid) -> JSON list of the jids that hold it
--
-- Refuses  "Throttle(): no tid provided"
-- Reads    ql:th:<tid>-locks
return json_strings(redis.call('ZRANGE', 'ql:th:' .. given_tid(ARGV[2]) .. '-locks', '0', '-1'))
