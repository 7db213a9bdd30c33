-- prune(now, age, count): drops completed jobs that are too old or too many
--   age    seconds, setting jobs-history
--   count  setting jobs-history-count; a negative one drops that many of the oldest
-- Only what goes is read.
function prune(now, age, count)
  local old = redis.call('ZRANGEBYSCORE', 'ql:completed', '0', text17(now - age))
  if #old > 0 then drop_completed(old) end
  local surplus = redis.call('ZRANGE', 'ql:completed', '0', text17(-1 - count))
  if #surplus > 0 then drop_completed(surplus) end
end

-- drop_completed(jids)
-- Rare.
function drop_completed(jids)
  local keys = {}
  for _, jid in ipairs(jids) do
    local key = 'ql:j:' .. jid
    local tags = redis.call('HGET', key, 'tags')
    if tags and tags ~= '{}' then unindex_tags(jid, cjson.decode(tags)) end
    keys[#keys + 1] = key
    keys[#keys + 1] = key .. '-history'
    if reqless then keys[#keys + 1] = key .. '-dependencies' end
  end
  for i = 1, #keys, 6000 do redis.call('DEL', unpack(keys, i, math.min(i + 5999, #keys))) end
  call_many('ZREM', 'ql:completed', jids)
end
