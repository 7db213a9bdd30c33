-- queueIdentifierPatterns.getAll(now) -> JSON object, name to a JSON list as text
--
-- Reads    ql:qp:identifiers; where that is empty, qmore:dynamic of an older program
local stored = redis.call('HGETALL', 'ql:qp:identifiers')
if #stored == 0 then stored = redis.call('HGETALL', 'qmore:dynamic') end
local patterns = { default = '["*"]' }
for i = 1, #stored, 2 do patterns[stored[i]] = stored[i + 1] end
return cjson.encode(patterns)
