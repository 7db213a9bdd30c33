-- prune(now, age, count): drops completed jobs that are too old or too many
--   age    seconds, setting jobs-history
--   count  setting jobs-history-count; a negative one drops that many of the oldest
-- Only what goes is read. A batch drops what it may in one call; what is left it finds again.
function prune(now, age, count)
  local old = redis.call('ZRANGEBYSCORE', 'ql:completed', '0', text17(now - age))
  if #old > 0 then drop_completed(old) end
  local surplus = redis.call('ZRANGE', 'ql:completed', '0', text17(-1 - count))
  if #surplus > 0 then drop_completed(surplus) end
end

-- prune_some(batch, least): prune, but no more than a call may drop
--   least   how many it is to drop at least, so that there are not more and more of them
-- Rare.
function prune_some(batch, least)
  local ok, raised = pcall(function()
    local age, count = bounded('jobs-history', batch.set[4]), math.floor(bounded('jobs-history-count', batch.set[5]))
    local limit = math.max(150, least)
    local old = redis.call('ZRANGEBYSCORE', 'ql:completed', '0', text17(batch.now - age), 'LIMIT', '0', text17(limit))
    if #old > 0 then drop_completed(old) end
    local surplus = redis.call('ZCARD', 'ql:completed') - count
    local room = math.min(surplus, limit - #old)
    if room > 0 then drop_completed(redis.call('ZRANGE', 'ql:completed', '0', text17(room - 1))) end
    spend(batch, #old + math.max(0, room) + 2)
    if #old == limit or surplus > room and room >= 0 then batch.rest = 1 end
  end)
  if not ok then report(batch, '', '', raised) end
end

-- drop_completed(jids)
-- Rare.
function drop_completed(jids)
  -- As many at a time as fit on Lua's stack with all their keys.
  for first = 1, #jids, 2000 do
    local last, keys, n = math.min(first + 1999, #jids), {}, 0
    for i = first, last do
      local key = 'ql:j:' .. jids[i]
      local f = redis.pcall('HMGET', key, 'tags', 'oarlock-apart')
      -- Tags that cannot be read are in no index.
      if f[1] and f[1] ~= '{}' then pcall(function() unindex_tags(jids[i], cjson.decode(f[1])) end) end
      if f[2] then
        delete_job(key)
      elseif not f.err or not is_wrong_type(f) then -- else it is no job, and may be a part of another
        keys[n + 1], keys[n + 2] = key, key .. '-history'
        n = n + 2
      end
    end
    if n > 0 then redis.call('DEL', unpack(keys)) end
    if reqless then drop_needs(jids, first, last) end
    redis.call('ZREM', 'ql:completed', unpack(jids, first, last))
  end
end

-- stands_apart(jid): a job is complete whose history cannot be kept, as another job may have its key
-- Pruning reads this mark. Asking each job that it prunes would cost every job one more command.
-- Rare.
function stands_apart(jid)
  redis.pcall('HSET', 'ql:j:' .. jid, 'oarlock-apart', '1')
end

-- drop_needs(jids, first, last): what jobs that are gone waited for, which is seldom left
-- Rare.
function drop_needs(jids, first, last)
  local keys = {}
  for i = first, last do keys[#keys + 1] = 'ql:j:' .. jids[i] .. '-dependencies' end
  if redis.call('EXISTS', unpack(keys)) == 0 then return end
  for _, key in ipairs(keys) do
    if not is_job(key) then redis.call('DEL', key) end
  end
end
