-- groups(now, cursor, limit, cut) -> list
-- In which groups jobs have failed, without changing anything.
--
--   cursor  '' for the beginning, or what the call before said
--   limit   how many groups at most
--   cut     so many bytes of a message are given
--   list    how many groups there are; 1 if the largest come first, and 0 if there are too many of them to
--           be put in order; the cursor of what is behind these, '' if nothing is; then per group
--           seven values: its name; how many jobs it has, -1 if its list is none; the newest one's
--           jid, klass and queue, when it failed, and the message
--
-- Reads    ql:failures; ql:f:<group>; ql:j:<jid>  klass, queue, failure
local cursor, limit, cut = ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
local total = ask('SCARD', 'ql:failures')
local found, more, in_order = {}, '', 1

local function size_of(group)
  local size = redis.pcall('LLEN', 'ql:f:' .. group)
  return type(size) == 'number' and size or -1
end

if total <= 1000 then
  for i, group in ipairs(redis.call('SMEMBERS', 'ql:failures')) do found[i] = { group, size_of(group) } end
  table.sort(found, function(a, b) return a[2] > b[2] or a[2] == b[2] and bytes_before(a[1], b[1]) end)
  local first = cursor == '' and 0 or tonumber(cursor) or error('no such cursor', 0)
  if first + limit < #found then more = text14(first + limit) end
  for i = 1, #found do found[i] = i <= limit and found[first + i] or nil end
else
  in_order = 0
  local scanned = redis.call('SSCAN', 'ql:failures', cursor == '' and '0' or cursor, 'COUNT', ARGV[3])
  for i, group in ipairs(scanned[2]) do found[i] = { group, size_of(group) } end
  if scanned[1] ~= '0' then more = scanned[1] end
end

local function newest(group)
  local jid = ask('LRANGE', 'ql:f:' .. group, '0', '0')[1]
  if not jid then return {} end
  local key = 'ql:j:' .. jid
  local f = ask('HMGET', key, 'klass', 'queue')
  local ok, failure = pcall(cjson.decode, short_failure(key, cut, 1048576))
  failure = ok and type(failure) == 'table' and failure or {}
  return { jid, f[1], f[2], text14(tonumber(failure.when) or 0), tostring(failure.message or '') }
end

local reply = { total, in_order, more }
for _, group in ipairs(found) do
  local ok, about = pcall(newest, group[1])
  if not ok then about = {} end
  reply[#reply + 1], reply[#reply + 2] = group[1], group[2]
  local n = #reply
  for i = 1, 5 do reply[n + i] = about[i] or '' end
end
return reply
