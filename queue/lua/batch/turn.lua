-- turn(now, jid) -> list, empty if the job has no key in its queue
-- How a job stands to the others of its key. Changes nothing.
--
--   list   the key; who has the turn, as turns.lua writes it, or ''; how many stand behind, canceled
--          ones that nobody came upon yet included; and which of these the job is, 1 being the
--          next: 0 if it does not stand behind, 1001 if a thousand or more come before it
--
-- Reads    ql:j:<jid>  queue, oarlock-lane; ql:oarlock:turns:<queue>; ql:oarlock:lane:<n>:<queue>:<key>
local jid = ARGV[2]
local queue, text = unpack(redis.call('HMGET', 'ql:j:' .. jid, 'queue', 'oarlock-lane'))
local sign, of, word, key = read_mark(text)
if not sign or of ~= queue then return {} end

local lane, place = lane_of(queue, key), 0
if sign == '-' then
  place = 1001
  local mine = word .. ' ' .. jid
  for i, entry in ipairs(redis.call('LRANGE', lane, '0', '999')) do
    if entry == mine then
      place = i
      break
    end
  end
end
return { key, redis.call('HGET', 'ql:oarlock:turns:' .. queue, key) or '', redis.call('LLEN', lane), place }
