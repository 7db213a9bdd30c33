-- order(now, owner, revision, mode, [queue, settings]...) -> [queue, word, was, owner, revision]...
-- Says that queues have keys, and how their turns go, as lib/turns.lua has it. It is said again and again, by any number of
-- files: what one has said counts until it says otherwise, or another one with a higher revision does.
--
--   owner, revision   of the file, as in the document of rules
--   mode       keep; all: these are all queues of which the file says so, and turns of others that it had go as usual again; force: as
--              all, whoever has said otherwise; look: what force would do, and nothing is done
--   settings   order=key, and behind a blank each what is not as usual: turns=fair, after_fail=hold, merge=…, score=…,
--              run_payloads=…, run_bytes=…
--   word       changed; or conflict: the queue's settings are those of the owner that is named
--   was        its settings, '' if it had no keys
--
-- Writes   ql:oarlock:rules (o:<queue>; w:<queue>: revision, a blank, owner), ql:oarlock:needs; ql:oarlock:edition:<name>
local key, owner, revision, mode = 'ql:oarlock:rules', ARGV[2], tonumber(ARGV[3]), ARGV[4]
local reply, fields, gone, named = {}, {}, {}, {}

local function answer(queue, word, was, whose, theirs)
  for _, value in ipairs({ queue, word, was or '', whose or '', theirs or '0' }) do reply[#reply + 1] = value end
end

-- owner_of(text) -> revision as text, owner; nil if nobody is
local function owner_of(text) return string.match(text or '', '^(%d+) (.*)$') end

for i = 5, #ARGV, 2 do
  local queue, settings = ARGV[i], ARGV[i + 1]
  local was, by = unpack(redis.call('HMGET', key, 'o:' .. queue, 'w:' .. queue))
  local theirs, whose = owner_of(by)
  local ours = not whose or whose == owner
  named['w:' .. queue] = true
  if was ~= settings and not ours and revision <= tonumber(theirs) and mode ~= 'force' and mode ~= 'look' then
    answer(queue, 'conflict', was, whose, theirs)
  else
    if was ~= settings then answer(queue, 'changed', was, whose, theirs) end
    if was ~= settings or ours and by ~= ARGV[3] .. ' ' .. owner then
      for _, text in ipairs({ 'o:' .. queue, settings, 'w:' .. queue, ARGV[3] .. ' ' .. owner }) do fields[#fields + 1] = text end
    end
  end
end
for _, field in ipairs(mode == 'keep' and {} or redis.call('HKEYS', key)) do
  local queue = string.match(field, '^w:(.*)$')
  local theirs, whose = owner_of(queue and not named[field] and redis.call('HGET', key, field))
  if whose == owner then
    local was = redis.call('HGET', key, 'o:' .. queue)
    gone[#gone + 1] = field
    if was and was ~= 'order=key' then
      fields[#fields + 1], fields[#fields + 2] = 'o:' .. queue, 'order=key'
      answer(queue, 'changed', was, whose, theirs)
    end
  end
end
if mode == 'look' then return reply end
if #fields > 0 then end_edition() end
call_many('HSET', key, fields)
call_many('HDEL', key, gone)
if #ARGV > 4 then redis.pcall('SADD', 'ql:oarlock:needs', 'keys') end
return reply
