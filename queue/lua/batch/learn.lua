-- learn(now, [spec, table]...) -> how many were taken
-- Says when windows open and shut, for those who know no time zones.
--
--   spec   a window, as window.Spec.Text writes it
--   table  o if it is open at first, s if it is shut; until when the table is true; and when that changes, in order: whole
--          seconds since the epoch, with blanks between
--
-- A table that is true no longer than one that is there is left out: another host was quicker, or knows zones better.
--
-- Reads    what it writes
-- Writes   ql:oarlock:windows
local key, taken = 'ql:oarlock:windows', 0
for i = 2, #ARGV, 2 do
  local there = redis.call('HGET', key, ARGV[i])
  local function till(text) return tonumber(string.match(text or '', '^[os] (%d+)')) or 0 end
  if till(ARGV[i + 1]) > math.max(till(there), tonumber(ARGV[1])) then
    redis.call('HSET', key, ARGV[i], ARGV[i + 1])
    taken = taken + 1
  end
end
return taken
