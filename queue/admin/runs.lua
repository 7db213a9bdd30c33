-- runs(ns, now, fix, jid, ...) -> jid, reason, remedy, ...
-- Of which jobs nobody would be given all payloads that were put into them. With fix "1" they say again what they have; what is left of one that
-- another client ended or took elsewhere, knowing the first payload only, is a job of its own, which joins those of its key at the end.
-- See lib/merge.lua for the fields. Who runs has been given what there was, and is left alone.
local now, fix = tonumber(ARGV[2]), ARGV[3] == '1'
local unit = 4294967296
local lists = { all = true, set = true }

local function payloads_of(many)
  return many == 1 and '1 payload' or many .. ' payloads'
end

-- read(key, names) -> list of payloads by score, then as they came, each with name, score, at and text; the name of one that cannot be read, or nil
local function read(key, names)
  local list, bad = {}, nil
  for _, name in ipairs(names) do
    local value = redis.call('HGET', key, name)
    local score, at, text = string.match(value, '^(%S+) (%S+) (.*)$')
    if as_score(score) and as_score(at) then
      list[#list + 1] = { name = name, score = score, at = tonumber(at), text = text }
    elseif string.sub(name, 9, 9) == '=' then -- its name is what it is
      list[#list + 1] = { name = name, score = string.format('%.17g', now), at = #list + 1, text = string.sub(name, 10), anew = true }
    else
      bad = name
    end
  end
  table.sort(list, function(a, b)
    local x, y = tonumber(a.score), tonumber(b.score)
    if x ~= y then return x < y end
    return a.at < b.at
  end)
  return list, bad
end

-- mode_of(said, list) -> how a job merges that has more than one payload
local function mode_of(said, list)
  if lists[said] then return said end
  return list[1] and string.sub(list[1].name, 9, 9) == '@' and 'all' or 'set'
end

-- load(data, list) -> how many payloads there are, times unit, and the bytes of all as one list
--   data   the list of the first
local function load(data, list)
  local bytes = data
  for _, one in ipairs(list) do bytes = bytes + #one.text + 1 end
  return string.format('%.0f', (#list + 1) * unit + bytes)
end

-- write_first(key, list) -> the others: the first of a list is the data of a job that has none
local function write_first(key, list)
  local first = table.remove(list, 1)
  redis.call('HSET', key, 'data', '[' .. first.text .. ']', 'oarlock-first', first.score .. ' ' .. string.sub(first.name, 9))
  redis.call('HDEL', key, first.name)
end

local function write_others(key, list)
  for i, one in ipairs(list) do
    if one.anew then redis.call('HSET', key, one.name, one.score .. ' ' .. i .. ' ' .. one.text) end
  end
  redis.call('HSET', key, 'oarlock-load', load(redis.call('HSTRLEN', key, 'data'), list))
end

-- name_first(jid, key, mode) -> the name of the payload in the data of a job
local function name_first(jid, key, mode)
  local text = string.match(redis.call('HGET', key, 'data'), '^%[(.*)%]$')
  if mode == 'all' or not text then return '@' .. jid end
  return #text <= 40 and '=' .. text or '#' .. redis.sha1hex(text)
end

-- own_throttles(text, derived) -> those of a job that are not there by rules, as JSON; nil if it has none
local function own_throttles(text, derived)
  local ok, names = pcall(cjson.decode, text or '')
  if not ok or type(names) ~= 'table' then return nil end
  for _ = 1, tonumber(derived or '0') or 0 do table.remove(names) end
  return #names > 0 and cjson.encode(names) or nil
end

-- next_part(jid, key) -> a jid that nobody has, and its number
local function next_part(jid, key)
  local n = tonumber(redis.call('HGET', key, 'oarlock-parts') or '0') or 0
  repeat
    n = n + 1
  until redis.call('EXISTS', ns .. 'j:' .. jid .. '.' .. n) == 0
  return jid .. '.' .. n, n
end

-- part_off(jid, key, queue, lane, list) -> the jid of a job that has the payloads of a list, and waits for a worker
local function part_off(jid, key, queue, lane, list)
  local part, n = next_part(jid, key)
  if not fix then return part end
  local name = ns .. 'j:' .. part
  local klass, priority, retries, merge, throttles, derived =
    unpack(redis.call('HMGET', key, 'klass', 'priority', 'retries', 'oarlock-merge', 'throttles', 'oarlock-gate'))
  retries = retries or '25'
  for _, one in ipairs(list) do redis.call('HSET', name, one.name, one.score .. ' ' .. string.format('%.0f', one.at) .. ' ' .. one.text) end
  redis.call('HSET', name, 'jid', part, 'klass', klass or '', 'priority', priority or '0', 'tags', '{}', 'queue', queue, 'retries', retries,
    'remaining', retries, 'time', string.format('%.20f', now), 'oarlock-queue', queue, 'oarlock-merge', mode_of(merge, list))
  local _, of, its = read_mark(lane)
  if of == queue then redis.call('HSET', name, 'oarlock-lane', '=' .. #queue .. ':' .. queue .. ': ' .. its) end
  throttles = own_throttles(throttles, derived)
  if throttles then redis.call('HSET', name, 'throttles', throttles) end
  write_first(name, list)
  write_others(name, list)
  to_work(part, queue, now)
  redis.call('HSET', key, 'oarlock-parts', n)
  redis.call('HDEL', key, 'oarlock-load', unpack(payload_names(key)))
  return part
end

-- looked_after(jid, queue, lane) -> whether who tends the turns makes a job of what is left
local function looked_after(jid, queue, lane)
  local sign, of, its = read_mark(lane)
  return of == queue and (sign == '-' or sign == '+' and redis.call('HGET', ns .. 'oarlock:turns:' .. queue, its) == '=' .. jid)
end

-- bare(jid, key, queue, state, list) -> reason, remedy of a job that has payloads and no data
local function bare(jid, key, queue, state, list)
  local reason = 'has no data, and ' .. payloads_of(#list) .. ' of puts that merged'
  if not queue then return reason .. ', and says of no queue', '' end
  if fix then
    local merge = redis.call('HGET', key, 'oarlock-merge')
    redis.call('HSET', key, 'jid', jid, 'oarlock-queue', queue, 'oarlock-merge', mode_of(merge, list))
    redis.call('HSETNX', key, 'queue', queue)
    write_first(key, list)
    write_others(key, list)
    if not state then to_work(jid, queue, now) end
  end
  return reason, state and 'the oldest of them is its data' or 'the oldest of them is its data, and it waits for a worker'
end

return each(4, function(jid)
  local key = ns .. 'j:' .. jid
  local state, queue, of, merge, said, first, lane = unpack(redis.call('HMGET', key, 'state', 'queue', 'oarlock-queue', 'oarlock-merge', 'oarlock-load',
    'oarlock-first', 'oarlock-lane'))
  local has_data = redis.call('HEXISTS', key, 'data') == 1
  if state == 'running' or state == 'complete' and not said or has_data and not (merge or said or first) then return end
  local names = payload_names(key)
  if #names == 0 and (not has_data or (as_score(said) or 0) < 2 * unit) then return end
  local list, bad = read(key, names)
  if bad then return 'has a payload that cannot be read, in its field ' .. string.sub(bad, 1, 60), '' end
  local _, lane_queue = read_mark(lane)
  of = of or lane_queue or queue
  if not has_data then return bare(jid, key, of, state, list) end
  if state == 'complete' or queue ~= of then
    if not said or not of or #list == 0 or looked_after(jid, of, lane) then return end
    local where = state == 'complete' and 'is complete, ' or 'went on to queue ' .. (queue or '') .. ', '
    return where .. 'and nobody was given ' .. payloads_of(#list) .. ' that had merged into it', 'they are job ' .. part_off(jid, key, of, lane, list)
  end
  local score = as_score(string.match(first or '', '^(%S+) .'))
  local told = score and lists[merge] and math.floor((as_score(said) or 0) / unit) or 0
  if told == #list + 1 then return end
  if fix then
    local mode = mode_of(merge, list)
    redis.call('HSET', key, 'oarlock-queue', of, 'oarlock-merge', mode)
    if not score then redis.call('HSET', key, 'oarlock-first', '0 ' .. name_first(jid, key, mode)) end
    write_others(key, list)
  end
  return 'has ' .. payloads_of(#list + 1) .. ' of puts that merged, and tells of ' .. told, 'it tells of all again'
end)
