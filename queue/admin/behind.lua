-- behind(ns, now, fix, queue, key, jid, ...) -> jid, reason, remedy, ...
-- Which jobs say that they stand behind others of a key and are not in its lane. With fix "1" each comes back at its place, before
-- all that came after it, as far as the last ten thousand of the lane tell.
--   jid   in the order of their places
local now, fix, queue, key = tonumber(ARGV[2]), ARGV[3] == '1', ARGV[4], ARGV[5]
local lane = lane_of(queue, key)
local length = redis.call('LLEN', lane)

-- tail() -> the last entries, in order, and which those are
local function tail()
  local entries, there = {}, {}
  local first = math.max(0, length - 10000)
  for from = first, length - 1, 1000 do
    for _, entry in ipairs(redis.call('LRANGE', lane, from, from + 999)) do
      entries[#entries + 1], there[entry] = entry, true
    end
  end
  return entries, there
end
local entries, there = tail()
local kept = #entries -- so many of them stay as they are

-- before(a, b) -> whether the place of an entry is before that of another
local function before(a, b)
  local call, index = string.match(a, '^(%d+)%.(%d+) ')
  local other_call, other_index = string.match(b, '^(%d+)%.(%d+) ')
  call, index, other_call, other_index = tonumber(call) or 0, tonumber(index) or 0, tonumber(other_call) or 0, tonumber(other_index) or 0
  return call < other_call or call == other_call and index < other_index
end

-- insert(entry): behind the last one whose place is before its own; if none of many is, at the end
local function insert(entry)
  local at = #entries
  while at > 0 and not before(entries[at], entry) do at = at - 1 end
  if at == 0 and length > 10000 then at = #entries end
  table.insert(entries, at + 1, entry)
  kept = math.min(kept, at)
end

local function write(count)
  redis.call('LTRIM', lane, 0, -(count - kept + 1))
  for from = kept + 1, #entries, 1000 do
    redis.call('RPUSH', lane, unpack(entries, from, math.min(from + 999, #entries)))
  end
  redis.call('HSETNX', ns .. 'oarlock:turns:' .. queue, key, '!0 - ')
  look_after(queue, key, now)
end

local count = #entries
local found = each(6, function(jid)
  local mark, state, own = unpack(redis.call('HMGET', ns .. 'j:' .. jid, 'oarlock-lane', 'state', 'queue'))
  local sign, of, its, word = read_mark(mark)
  if sign ~= '-' or of ~= queue or its ~= key or own ~= queue then return end
  if not state or state == 'complete' or state == 'failed' or state == 'running' then return end
  local entry = word .. ' ' .. jid
  if there[entry] then return end
  there[entry] = true
  if fix then insert(entry) end
  return 'stands behind others of key ' .. key .. ', ' .. (length > 0 and 'and is not among them' or 'where nobody is'), 'stands there again'
end)
if #entries > count then write(count) end
return found
