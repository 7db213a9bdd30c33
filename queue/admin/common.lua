-- What the scripts share, before the text of each: ns is the namespace.
local ns = ARGV[1]

local function has(key, jid) return redis.call('ZSCORE', key, jid) end

-- as_score(text) -> the number that a field holds, nil if it is none that a set takes
local function as_score(text)
  local n = tonumber(text)
  return n == n and n or nil
end

-- in_list(key, jid) -> whether a list has it
local function in_list(key, jid)
  for from = 0, redis.call('LLEN', key) - 1, 1000 do
    for _, other in ipairs(redis.call('LRANGE', key, from, from + 999)) do
      if other == jid then return true end
    end
  end
end

-- to_work(jid, queue, now): makes a job wait for a worker, behind the others of its priority
local function to_work(jid, queue, now)
  local priority = as_score(redis.call('HGET', ns .. 'j:' .. jid, 'priority')) or 0
  redis.call('HSET', ns .. 'j:' .. jid, 'state', 'waiting', 'worker', '', 'expires', '0')
  redis.call('ZADD', ns .. 'q:' .. queue .. '-work', string.format('%.17g', priority - now / 10000000000), jid)
  redis.call('PUBLISH', ns .. 'oarlock:wake', queue)
end

-- to_schedule(jid, queue, due): makes a job wait for its time
local function to_schedule(jid, queue, due)
  redis.call('HSET', ns .. 'j:' .. jid, 'state', 'scheduled')
  redis.call('HDEL', ns .. 'j:' .. jid, 'scheduled')
  redis.call('ZADD', ns .. 'q:' .. queue .. '-scheduled', due, jid)
end

local shelf = 10000000000 -- see lib/turns.lua

-- read_mark(text) -> sign, queue, key, word of a job with a key; nil of another
local function read_mark(text)
  local sign, length, rest = string.match(text or '', '^([-+=])(%d+):(.*)$')
  if not sign then return nil end
  local n = tonumber(length)
  local word, key = string.match(string.sub(rest, n + 1), '^:(%S*) (.*)$')
  if not word then return nil end
  return sign, string.sub(rest, 1, n), key, word
end

-- lane_of(queue, key) -> the name of the list of those behind
local function lane_of(queue, key)
  return ns .. 'oarlock:lane:' .. #queue .. ':' .. queue .. ':' .. key
end

-- waitlist_of(queue, throttles) -> key and line of the waitlist of a job of a ruled queue with that field throttles
local function waitlist_of(queue, throttles)
  local line = #throttles > 256 and redis.sha1hex(throttles) or throttles
  return ns .. 'oarlock:waitlist:' .. #queue .. ':' .. queue .. line, line
end

-- look_after(queue, key, now): a key in which somebody stands behind is among those that are looked after
local function look_after(queue, key, now)
  if redis.call('EXISTS', lane_of(queue, key)) == 1 then
    redis.call('ZADD', ns .. 'oarlock:lanes:' .. queue, 'NX', string.format('%.17g', now), key)
  end
end

-- payload_names(key) -> the fields of a job in which payloads of puts that merged are; see lib/merge.lua
local function payload_names(key)
  local names = {}
  for _, field in ipairs(redis.call('HKEYS', key)) do
    if string.find(field, '^oarlock%-[=#@]') then names[#names + 1] = field end
  end
  return names
end

-- each(first, look) -> what look(jid) finds of the jids from ARGV[first] on, after each
-- jid: as many values as look returns, the first of them nil if there is nothing. What raises
-- concerns its job alone.
local function each(first, look)
  local found = {}
  for i = first, #ARGV do
    local said = { pcall(look, ARGV[i]) }
    if not said[1] then
      local raised = said[2]
      said = { true, 'cannot be read: ' .. (type(raised) == 'table' and raised.err or tostring(raised)), '' }
    end
    if said[2] then
      found[#found + 1] = ARGV[i]
      for n = 2, #said do found[#found + 1] = said[n] end
    end
  end
  return found
end
