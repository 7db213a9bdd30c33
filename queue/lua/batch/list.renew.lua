-- list.renew(now, progress, tries, tag, stamp, [entry, kept]...) -> list
-- Gives entries in work a new start time, so that no monitor takes them for abandoned.
--
--   progress, tries   the keys, as in list.exchange
--   tag               of whoever has the entries; others are left alone
--   stamp             the new start time
--   kept              what is kept with the entry from now on, '' for what is kept already
--   list              per entry 1, or 0 if it is not held with that tag any more
--
-- The first write deletes nothing: see renew.
--
-- Reads and writes  the keys named
local progress, tries, tag, stamp = ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local entries, stamped, kept, reply = {}, {}, {}, {}
for i = 6, #ARGV, 2 do entries[#entries + 1] = ARGV[i] end
redis.call('DEL', 'ql:oarlock:none')
local held = read_held(progress, entries)
for i, entry in ipairs(entries) do
  reply[i] = is_held(held[i], tag) and 1 or 0
  if reply[i] == 1 then
    stamped[#stamped + 1] = entry
    stamped[#stamped + 1] = stamp
    if ARGV[5 + 2 * i] ~= '' then
      kept[#kept + 1] = entry
      kept[#kept + 1] = ARGV[5 + 2 * i]
    end
  end
end
call_many('HSET', progress, stamped)
if #kept > 0 then pcall(call_many, 'HSET', tries, kept) end
return reply
