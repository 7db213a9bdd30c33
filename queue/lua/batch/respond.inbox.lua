-- respond.inbox(now, most) -> how many were read, how many of them were set aside, 1 if there may be more
-- Takes in answers that somebody pushed to the list ql:oarlock:responses, by RPUSH of three lines: class,
-- correlation, JSON. What is no answer is set aside, the last thousand of it.
--
-- Reads    ql:oarlock:responses, and what respond reads
-- Writes   it, ql:oarlock:responses-broken (JSON of at, reason, text), and what respond writes
-- Sends    what respond sends
local now, most = tonumber(ARGV[1]), tonumber(ARGV[2])
local read, broken = drain_responses(now, most)
return { read, broken, read == most and 1 or 0 }
