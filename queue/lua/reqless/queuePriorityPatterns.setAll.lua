-- queuePriorityPatterns.setAll(now [, json]...) -> null
-- Replaces all patterns, in order. Unless one is for the pattern ["default"], that
-- comes last. The old ones are gone even if a new one is refused.
--
-- Refuses  what is no JSON
-- Writes   ql:qp:priorities; qmore:priority is deleted
redis.call('DEL', 'ql:qp:priorities', 'qmore:priority')
local stored, has_default = arguments(2), false
if #stored == 0 then return end
for _, text in ipairs(stored) do
  local pattern = cjson.decode(text).pattern
  if #pattern == 1 and pattern[1] == 'default' then has_default = true end
end
if not has_default then stored[#stored + 1] = default_priorities end
call_many('RPUSH', 'ql:qp:priorities', stored)
