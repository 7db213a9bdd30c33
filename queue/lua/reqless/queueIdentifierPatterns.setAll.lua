-- queueIdentifierPatterns.setAll(now [, name, json]...) -> null
-- Replaces all patterns. Empty lists are left out; default is ["*"] unless given. Of a
-- name given twice the last counts that is not empty.
--
-- Refuses  an odd number of arguments; what is no JSON, or has no length
-- Writes   ql:qp:identifiers; qmore:dynamic is deleted
local patterns = { default = '["*"]' }
if #ARGV % 2 == 0 then error('Odd number of identifier patterns: ' .. tostring(ARGV)) end
for i = 2, #ARGV, 2 do
  local name, text = ARGV[i], ARGV[i + 1]
  if #cjson.decode(text) > 0 then patterns[name] = text end
end
redis.call('DEL', 'ql:qp:identifiers', 'qmore:dynamic')
for name, text in pairs(patterns) do redis.call('HSET', 'ql:qp:identifiers', name, text) end
