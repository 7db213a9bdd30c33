-- ordered(ns, fix, queue, ...) -> queue, reason, remedy, ...
-- Which queues have jobs that their keys order, without its being said of them, and of which it is said in words that cannot be read. With fix "1"
-- it is said again, as far as that can be read.
local fix = ARGV[2] == '1'

-- shelved(queue) -> whether a delayed job is there that has a key
local function shelved(queue)
  for _, jid in ipairs(redis.call('ZRANGEBYSCORE', ns .. 'q:' .. queue .. '-scheduled', shelf, '+inf', 'LIMIT', 0, 100)) do
    local sign, of = read_mark(redis.call('HGET', ns .. 'j:' .. jid, 'oarlock-lane'))
    if sign == '=' and of == queue then return true end
  end
end

local known = { turns = 'oldest fair', after_fail = 'next hold', merge = 'none all last first set', score = 'keep min max' }
local most = { run_payloads = 1000, run_bytes = 4194304 }

-- is_readable(name, value) -> whether a setting of an order says something
local function is_readable(name, value)
  local n = most[name] and string.match(value, '^%d+$') and tonumber(value)
  return n and n >= 1 and n <= most[name] or known[name] and string.find(' ' .. known[name] .. ' ', ' ' .. value .. ' ', 1, true) ~= nil
end

-- reread(text) -> an order with those settings that can be read, and a list of the others
local function reread(text)
  local good, bad = 'order=key', {}
  for word in string.gmatch(text, '%S+') do
    local name, value = string.match(word, '^([%a_]+)=(%w+)$')
    if word ~= 'order=key' and name and is_readable(name, value) then
      good = good .. ' ' .. word
    elseif word ~= 'order=key' then
      bad[#bad + 1] = word
    end
  end
  return good, bad
end

return each(3, function(queue)
  local said = redis.call('HGET', ns .. 'oarlock:rules', 'o:' .. queue)
  if said then
    local good, bad = reread(said)
    if #bad == 0 then return end
    if fix then redis.call('HSET', ns .. 'oarlock:rules', 'o:' .. queue, good) end
    return 'has an order of which this cannot be read: ' .. string.sub(table.concat(bad, ' '), 1, 100), 'it is ' .. good
  end
  local keyed = redis.call('EXISTS', ns .. 'oarlock:turns:' .. queue, ns .. 'oarlock:lanes:' .. queue) > 0
  if not keyed and not shelved(queue) then return end
  if fix then
    redis.call('HSET', ns .. 'oarlock:rules', 'o:' .. queue, 'order=key')
    redis.call('SADD', ns .. 'oarlock:needs', 'keys')
  end
  return 'has jobs with keys, and Redis does not say so: nobody looks after them', 'it is said again, without other settings of its order'
end)
