-- learn(now, [spec, table]...) -> how many were taken
-- Says when windows open and shut, for those who know no time zones.
--
--   spec   a window, as window.Spec.Text writes it
--   table  o if it is open at first, s if it is shut; until when the table is true; and when that changes, in order: whole
--          seconds since the epoch, with blanks between
--
-- A table that is true no longer than one that is there is left out: another host was quicker, or knows zones better. For each that
-- is new some of the others are looked at, and those that are over go: jobs have windows of their own, of which none is asked for any more.
--
-- Reads    what it writes
-- Writes   ql:oarlock:windows; ql:oarlock:tended  windows: where it goes on to look
local key, taken, new = 'ql:oarlock:windows', 0, 0
local function till(text) return tonumber(string.match(text or '', '^[os] (%d+)')) or 0 end
for i = 2, #ARGV, 2 do
  local there = redis.call('HGET', key, ARGV[i])
  if till(ARGV[i + 1]) > math.max(till(there), tonumber(ARGV[1])) then
    redis.call('HSET', key, ARGV[i], ARGV[i + 1])
    taken, new = taken + 1, there and new or new + 1
  end
end
local function drop_some()
  local scan = redis.call('HSCAN', key, redis.call('HGET', 'ql:oarlock:tended', 'windows') or '0', 'COUNT', text14(10 + 2 * new))
  redis.call('HSET', 'ql:oarlock:tended', 'windows', scan[1])
  for i = 1, #scan[2], 2 do
    if till(scan[2][i + 1]) <= tonumber(ARGV[1]) then redis.call('HDEL', key, scan[2][i]) end
  end
end
if new > 0 then pcall(drop_some) end
return taken
