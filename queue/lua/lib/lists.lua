-- Lists that are worked where they lie. An entry is in the list, or in work: then it is a field of
-- the hash of those, whose value is a start time that ends in the nine digits of who has it.

-- is_held(value, tag) -> whether the value of an entry in work is one that the owner of tag wrote
--   tag   '' asks only whether the entry is in work at all
function is_held(value, tag)
  return type(value) == 'string' and (tag == '' or string.sub(value, -11) == tag .. 'Z"')
end

-- read_held(key, entries) -> the values of entries that are in work, false for the others
function read_held(key, entries)
  local values = {}
  for i = 1, #entries, 6000 do
    local some = redis.call('HMGET', key, unpack(entries, i, math.min(i + 5999, #entries)))
    for j = 1, #some do values[i + j - 1] = some[j] end
  end
  return values
end

-- move_entry(from, entry, value, push, to): moves an entry out of work into a list. If it cannot
-- be there it stays in work, and that is raised.
function move_entry(from, entry, value, push, to)
  redis.call('HDEL', from, entry)
  local moved = redis.pcall(push, to, entry)
  if type(moved) == 'table' then
    redis.pcall('HSET', from, entry, value)
    error(moved, 0)
  end
end

-- kept_broken is how many entries of a list that are no jobs are kept.
kept_broken = 1000

-- set_aside(broken, entry, when) -> 1 if one of the oldest went for it, beyond kept_broken; else 0
-- Keeps an entry that is no job.
-- Rare.
function set_aside(broken, entry, when)
  if redis.call('HSET', broken, entry, when) == 0 or redis.call('HLEN', broken) <= kept_broken then return 0 end
  -- The oldest of about a hundred, of another part of the hash for each entry; its values begin with a time, and are of one kind.
  local from = tostring(tonumber(string.sub(redis.sha1hex(entry), 1, 4), 16))
  local some = redis.call('HSCAN', broken, from, 'COUNT', '100')[2]
  if #some < 4 then some = redis.call('HSCAN', broken, '0', 'COUNT', '100')[2] end
  local oldest
  for i = 1, #some, 2 do
    if some[i] ~= entry and (not oldest or some[i + 1] < some[oldest + 1]) then oldest = i end
  end
  return oldest and redis.call('HDEL', broken, some[oldest]) or 0
end
