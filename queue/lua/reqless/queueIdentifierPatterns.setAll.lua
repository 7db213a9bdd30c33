-- queueIdentifierPatterns.setAll(now [, name, json]...) -> null
-- Replaces all patterns. Empty lists are left out; default is ["*"] unless given.
--
-- Refuses  an odd number of arguments; what is no JSON list
-- Writes   ql:qp:identifiers; qmore:dynamic is deleted
local patterns = { default = '["*"]' }
for name, text in pairs(options(2)) do
  local list = cjson.decode(text)
  if type(list) ~= 'table' then refuse('QueuePatterns', 'Arg "' .. name .. '" not a list: ' .. text) end
  if #list > 0 then patterns[name] = text end
end
redis.call('DEL', 'ql:qp:identifiers', 'qmore:dynamic')
for name, text in pairs(patterns) do redis.call('HSET', 'ql:qp:identifiers', name, text) end
