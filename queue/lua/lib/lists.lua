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
    raise(moved)
  end
end

-- times_of(kept) -> how many entries what is kept of one that is no job stands for
function times_of(kept)
  return tonumber(string.match(kept or '', ',"times":(%d+)}$')) or 1
end

-- with_times(kept, n) -> the same, for n entries that are alike byte for byte
function with_times(kept, n)
  kept = string.match(kept, '^(.*),"times":%d+}$') or string.sub(kept, 1, -2)
  return kept .. (n > 1 and ',"times":' .. n or '') .. '}'
end

-- set_aside(broken, entry, kept): keeps an entry that is no job until somebody puts it back
--   kept    a JSON object, and then those that are alike are counted; of an hworker's list a time
-- Rare.
function set_aside(broken, entry, kept)
  if redis.call('HSETNX', broken, entry, kept) == 1 then return end
  if string.sub(kept, -1) == '}' then kept = with_times(kept, times_of(redis.call('HGET', broken, entry)) + 1) end
  redis.call('HSET', broken, entry, kept)
end
