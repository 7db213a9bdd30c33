-- list.monitor(now, jobs, progress, [entry, value, action]...) -> list
-- Moves entries that nobody works any more out of work, or what was set aside back. What was looked at is compared, so
-- that of many monitors one moves each.
--
--   jobs, progress   the keys, as in list.exchange; in place of progress that of what is no job
--   value            of the entry in progress, as it was seen, byte for byte
--   action           front (to be taken next), back (to where new ones come in), drop; one (to the
--                    back, of several that the value counts, see set_aside: the others stay); else it
--                    is the value that the entry is to have
--   list             per entry 1; 0 if its value is another by now; or a text why it could not be done
--
-- Reads and writes  the keys named
local jobs, progress = ARGV[2], ARGV[3]
local pushes, reply = { front = 'RPUSH', back = 'LPUSH' }, {}
for i = 4, #ARGV, 3 do
  local entry, value, action = ARGV[i], ARGV[i + 1], ARGV[i + 2]
  local ok, done = pcall(function()
    if redis.call('HGET', progress, entry) ~= value then return 0 end
    if pushes[action] then
      move_entry(progress, entry, value, pushes[action], jobs)
    elseif action == 'one' then
      redis.call('LPUSH', jobs, entry)
      redis.call('HSET', progress, entry, with_times(value, times_of(value) - 1))
    elseif action == 'drop' then
      redis.call('HDEL', progress, entry)
    else
      redis.call('HSET', progress, entry, action)
    end
    return 1
  end)
  reply[#reply + 1] = ok and done or reason_of(done)
end
return reply
