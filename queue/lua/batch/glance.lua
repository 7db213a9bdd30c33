-- glance(now, cut, most, entries, [jid]...) -> list
-- Jobs as they are shown, without changing anything.
--
--   cut, most   as append_glance has them; they hold for checkpoints and records too
--   entries     how many of the newest entries of its history are given, beside the first
--   list        for so many of the jobs as fit into the reply, one at least, the values of append_glance; then the checkpoint, the record, the legacy
--               history of older programs, and lists of the jids it depends on, of those that depend
--               on it, of the entries of its history, oldest first, and of its payloads beside the first, see lib/merge.lua; then how many
--               it depends on, and how many depend on it, of which the lists have 10,000 each
--
-- Reads    ql:j:<jid>, -dependencies, -dependents, -history; ql:q:<queue>-locks|scheduled; ql:tracked
local cut, most, entries = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local reply, bytes = {}, 0

local function bounded_field(key, field)
  local size = redis.call('HSTRLEN', key, field)
  if size == 0 or size > most then return '' end
  return redis.call('HGET', key, field)
end

-- members(key) -> 10,000 members of a set at most, and how many it has
local function members(key)
  local most_named, n = 10000, ask('SCARD', key)
  if n <= most_named then return ask('SMEMBERS', key), n end
  local some = ask('SSCAN', key, '0', 'COUNT', text14(most_named))[2]
  for i = #some, most_named + 1, -1 do some[i] = nil end
  return some, n
end

local function look(jid)
  local key = 'ql:j:' .. jid
  local told = ask('LRANGE', key .. '-history', text14(-entries), '-1')
  if redis.call('LLEN', key .. '-history') > #told then
    table.insert(told, 1, redis.call('LRANGE', key .. '-history', '0', '0')[1])
  end
  local on, all_on = members(key .. '-dependencies')
  local by, all_by = members(key .. '-dependents')
  return { bounded_field(key, 'oarlock-checkpoint'), bounded_field(key, 'oarlock-record'), bounded_field(key, 'history'), on, by, told, {}, all_on, all_by }
end

-- payloads(jid, size) -> those of a job that merges, beside the first
local function payloads(jid, size)
  local some = {}
  if size > most then return some end
  local all = redis.call('HGETALL', 'ql:j:' .. jid)
  for i = 1, #all, 2 do
    if string.find(all[i], payload_fields) then some[#some + 1] = all[i + 1] end
  end
  return some
end

for i = 5, #ARGV do
  if bytes > call_bytes then break end
  local given_bytes = append_glance(reply, ARGV[i], cut, most)
  local n = #reply
  local ok, more = pcall(look, ARGV[i])
  if not ok then
    if reply[n - 3] == '' then reply[n - 3] = reason_of(more) end
    more = { '', '', '', {}, {}, {}, {}, 0, 0 }
  end
  more[7] = reply[n - 2] ~= '' and payloads(ARGV[i], reply[n - 24]) or {}
  for j = 1, 9 do reply[n + j] = more[j] end
  bytes = bytes + given_bytes + #more[1] + #more[2]
  for _, payload in ipairs(more[7]) do bytes = bytes + #payload end
end
return reply
