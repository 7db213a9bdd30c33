-- list.exchange(now, jobs, progress, failed, reasons, broken, tries, tag, stamp, most, count, [entry,
-- action, kept, word]...) -> results, taken, duplicates, more, trouble
-- Settles entries of a list that are in work, and takes others.
--
--   jobs …      the keys: the list; the hash of what is in work; the list of what failed, and that of
--               why; the hash of what is no job; the hash of what is kept with an entry
--   tag         of whoever has the entries, see is_held
--   stamp       the start time of what is taken
--   most        how many of the failed are kept
--   count       how many are taken, and behind a slash how many bytes at most, where that is less than a call brings
--   action      ack; back (to where new ones come in), front (to be taken next), fail, broken; or
--               later, which leaves it in work with the start time that word is
--   kept        what is kept with it from now on, '' for nothing
--   word        of fail why, of broken when
--   results     per entry 1; 0 if it is not held with that tag any more, and then nothing was changed;
--               or a text, if it could not be settled and stays in work
--   taken       pairs of an entry and what is kept with it ('' for nothing)
--   duplicates  so many entries were found that are in work already, byte for byte; they went back
--   more        1 if not all of count were taken that are there
--   trouble     why none could be taken, '' if nothing is wrong: also needs and words, if the key space needs what is not known here
--
-- What is taken is in work before it leaves the list, so that nothing is lost where this breaks off. Settling
-- begins with a deletion, which lets it go on while Redis is out of memory.
--
-- Reads             ql:oarlock:needs
-- Reads and writes  the keys named
local jobs, progress, failed, reasons, broken, tries = ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6], ARGV[7]
local tag, stamp, most = ARGV[8], ARGV[9], tonumber(ARGV[10])
local count, most_bytes = tonumber(ARGV[11]), call_bytes
if not count then count, most_bytes = read_count(ARGV[11]) end

-- keep(entry, kept)
local function keep(entry, kept)
  if kept ~= '' then
    redis.call('HSET', tries, entry, kept)
  else
    redis.call('HDEL', tries, entry)
  end
end

local settlements = {}

function settlements.back(entry, held, kept)
  move_entry(progress, entry, held, 'LPUSH', jobs)
  keep(entry, kept)
end

function settlements.front(entry, held, kept)
  move_entry(progress, entry, held, 'RPUSH', jobs)
  keep(entry, kept)
end

function settlements.fail(entry, held, _, why)
  move_entry(progress, entry, held, 'LPUSH', failed)
  keep(entry, '')
  redis.call('LPUSH', reasons, why)
  redis.call('LTRIM', failed, 0, most - 1)
  redis.call('LTRIM', reasons, 0, most - 1)
end

function settlements.broken(entry, _, _, when)
  set_aside(broken, entry, when)
  redis.call('HDEL', progress, entry)
end

function settlements.later(entry, _, kept, at)
  redis.call('HSET', progress, entry, at)
  keep(entry, kept)
end

-- settle() -> results
local function settle()
  local entries, results, acked = {}, {}, {}
  for i = 12, #ARGV, 4 do entries[#entries + 1] = ARGV[i] end
  local held = read_held(progress, entries)
  for i, entry in ipairs(entries) do
    results[i] = is_held(held[i], tag) and 1 or 0
    if results[i] == 1 and ARGV[9 + 4 * i] == 'ack' then acked[#acked + 1] = entry end
  end
  call_many('HDEL', progress, acked)
  if #acked > 0 and redis.call('EXISTS', tries) == 1 then call_many('HDEL', tries, acked) end
  for i, entry in ipairs(entries) do
    local action = ARGV[9 + 4 * i]
    if results[i] == 1 and action ~= 'ack' then
      local ok, raised = pcall(settlements[action], entry, held[i], ARGV[10 + 4 * i], ARGV[11 + 4 * i])
      -- Where the entry has left, the rest of what is known of it can be missed.
      if not ok and is_held(redis.pcall('HGET', progress, entry), tag) then results[i] = reason_of(raised) end
    end
  end
  return results
end

-- head() -> the entries that come next, the first first; whether some were left for the data of all
local function head()
  local found, next_ones, bytes = redis.call('LRANGE', jobs, -count, -1), {}, 0
  for i = #found, 1, -1 do
    bytes = bytes + #found[i]
    if bytes > most_bytes and #next_ones > 0 then return next_ones, true end
    next_ones[#next_ones + 1] = found[i]
  end
  return next_ones, false
end

-- take() -> taken, duplicates, more
local function take()
  local entries, more = head()
  if #entries == 0 then return {}, 0, 0 end
  local held, fresh, stamped, twice, seen = read_held(progress, entries), {}, {}, {}, {}
  for i, entry in ipairs(entries) do
    if held[i] or seen[entry] then
      twice[#twice + 1] = entry
    else
      seen[entry], fresh[#fresh + 1] = true, entry
      stamped[#stamped + 1] = entry
      stamped[#stamped + 1] = stamp
    end
  end
  call_many('HSET', progress, stamped)
  redis.call('LTRIM', jobs, 0, -1 - #entries)
  call_many('LPUSH', jobs, twice)
  local taken, kept = {}, {}
  if #fresh > 0 and redis.call('EXISTS', tries) == 1 then kept = read_held(tries, fresh) end
  for i, entry in ipairs(fresh) do
    taken[#taken + 1] = entry
    taken[#taken + 1] = kept[i] or ''
  end
  -- Of a list of nothing but duplicates there is nothing to be had before one is settled.
  return taken, #twice, #fresh > 0 and (more or #twice > 0) and 1 or 0
end

local results = {}
if #ARGV > 11 then results = settle() end
if count == 0 then return { results, {}, 0, 0, '' } end
local lacks = redis.call('EXISTS', 'ql:oarlock:needs') == 1 and lacking()
if lacks then return { results, {}, 0, 0, lacks } end
local ok, taken, duplicates, more = pcall(take)
if not ok then
  if not is_wrong_type(taken) and #results == 0 then raise(taken) end
  return { results, {}, 0, 0, reason_of(taken) }
end
return { results, taken, duplicates, more, '' }
