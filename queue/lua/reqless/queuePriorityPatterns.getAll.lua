-- queuePriorityPatterns.getAll(now) -> JSON list of JSON objects as text
--
-- Reads    ql:qp:priorities; where that is empty, qmore:priority of an older program
local stored = redis.call('LRANGE', 'ql:qp:priorities', '0', '-1')
if #stored == 0 then stored = redis.call('LRANGE', 'qmore:priority', '0', '-1') end
if #stored == 0 then stored = { default_priorities } end
return cjson.encode(stored)
