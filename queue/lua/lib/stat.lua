-- Running statistics: per day and queue, mean and spread by Welford's method,
-- and a histogram. No job waits for a statistic that cannot be kept.

-- tally_one(kind, queue, now, value): counts a duration in seconds
--   kind   'wait' or 'run'
function tally_one(kind, queue, now, value)
  local key, name = 'ql:s:' .. kind .. ':' .. day(now) .. ':' .. queue, bucket(value)
  local stored = redis.call('HMGET', key, 'total', 'mean', 'vk', name)
  local total, mean = (stored[1] or 0) + 1, tonumber(stored[2] or 0)
  local apart = value - mean
  mean = mean + apart / total
  local vk = (stored[3] or 0) + (value - mean) * apart
  redis.call('HSET', key, 'total', text17(total), 'mean', text17(mean), 'vk', text17(vk), name, text17((stored[4] or 0) + 1))
end

-- tally(kind, queue, now, values): the same for a list
function tally(kind, queue, now, values)
  local first, count = values[1], #values
  local second = first - first % 1
  for k = 2, count do
    if values[k] - values[k] % 1 ~= second then return tally_many(kind, queue, now, values) end
  end
  local key, name = 'ql:s:' .. kind .. ':' .. day(now) .. ':' .. queue, bucket(first)
  local stored = redis.pcall('HMGET', key, 'total', 'mean', 'vk', name)
  if stored.err then return end
  local total, mean, vk = tonumber(stored[1]) or 0, tonumber(stored[2]) or 0, tonumber(stored[3]) or 0
  for k = 1, count do
    local value, before = values[k], mean
    total = total + 1
    mean = mean + (value - mean) / total
    vk = vk + (value - mean) * (value - before)
  end
  redis.pcall('HSET', key, 'total', text17(total), 'mean', text17(mean), 'vk', text17(vk), name, text17((tonumber(stored[4]) or 0) + count))
end

-- tally_many(kind, queue, now, values): as tally, of values that are not all of one second
-- Rare.
function tally_many(kind, queue, now, values)
  local key = 'ql:s:' .. kind .. ':' .. day(now) .. ':' .. queue
  local fields, place, slots = { 'total', 'mean', 'vk' }, {}, {}
  for k, value in ipairs(values) do
    -- Most values of a batch share a second, so its bucket is named only once.
    local second = math.floor(value)
    if not place[second] then
      local name = bucket(value)
      if not place[name] then
        fields[#fields + 1] = name
        place[name] = #fields
      end
      place[second] = place[name]
    end
    slots[k] = place[second]
  end
  local stored = redis.pcall('HMGET', key, unpack(fields))
  if stored.err then return end
  for i = 1, #fields do stored[i] = tonumber(stored[i]) or 0 end
  local total, mean, vk = stored[1], stored[2], stored[3]
  for k, value in ipairs(values) do
    total = total + 1
    local before = mean
    mean = mean + (value - mean) / total
    vk = vk + (value - mean) * (value - before)
    stored[slots[k]] = stored[slots[k]] + 1
  end
  stored[1], stored[2], stored[3] = total, mean, vk
  local words = {}
  for i, field in ipairs(fields) do
    words[2 * i - 1], words[2 * i] = field, text17(stored[i])
  end
  redis.pcall('HSET', key, unpack(words))
end

-- bucket(seconds) -> field of the histogram
function bucket(seconds)
  local b = math.floor(seconds)
  if b < 60 then return 's' .. text14(b) end
  if b < 3600 then return 'm' .. text14(math.floor(b / 60)) end
  if b < 86400 then return 'h' .. text14(math.floor(b / 3600)) end
  return 'd' .. text14(math.floor(b / 86400))
end

-- count_failure(queue, now): one more failure, and one more job that is failed
function count_failure(queue, now)
  local key = 'ql:s:stats:' .. day(now) .. ':' .. queue
  redis.pcall('HINCRBY', key, 'failures', '1')
  redis.pcall('HINCRBY', key, 'failed', '1')
end

-- view_stats(queue, midnight) -> JSON
--   midnight   the day, as in the names of the keys
function view_stats(queue, midnight)
  local counters = redis.call('HMGET', 'ql:s:stats:' .. midnight .. ':' .. queue, 'failures', 'retries', 'failed')
  for i = 1, 3 do counters[i] = json_number(counters[i] or '0') end
  return '{"run":' .. view_durations('ql:s:run:' .. midnight .. ':' .. queue)
    .. ',"failures":' .. counters[1] .. ',"retries":' .. counters[2] .. ',"failed":' .. counters[3]
    .. ',"wait":' .. view_durations('ql:s:wait:' .. midnight .. ':' .. queue) .. '}'
end

-- view_durations(key) -> JSON
function view_durations(key)
  local stored = {}
  local flat = redis.call('HGETALL', key)
  for i = 1, #flat, 2 do stored[flat[i]] = flat[i + 1] end
  local count, vk = tonumber(stored.total) or 0, tonumber(stored.vk) or 0
  -- Rounding can leave vk a hair below zero.
  local std = count > 1 and math.sqrt(math.max(0, vk) / (count - 1)) or 0
  local histogram = {}
  for _, range in ipairs({ { 's', 0, 59 }, { 'm', 1, 59 }, { 'h', 1, 23 }, { 'd', 1, 6 } }) do
    for i = range[2], range[3] do histogram[#histogram + 1] = stored[range[1] .. i] or '0' end
  end
  return '{"std":' .. cjson.encode(std) .. ',"histogram":[' .. table.concat(histogram, ',')
    .. '],"mean":' .. json_number(stored.mean or '0') .. ',"count":' .. json_number(stored.total or '0') .. '}'
end
