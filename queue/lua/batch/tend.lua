-- tend(now, pause, count, [queue]..., [queue]...) -> joined, mended, more, broken, places
-- Looks after the turns of queues that have keys, as far as nobody does who knows of them: delayed jobs that
-- are due join their lanes; a turn that is held by a job that is over, or by a ghost whose time has
-- come, goes on. So it does not matter that other clients of the protocol end jobs beside ours. And after the
-- places of throttles: those who wait may try where places are free, and what jobs that are over have is given back; and jobs that
-- windows hold which rules do not name any more are judged anew. And what rules say gets a name, if it has none; see edition.lua.
--
--   count    so many queues come first: ruled ones, for which the caller has a free child; then those with keys
--   pause    nothing is done within so many seconds after a look that found nothing to mend: any number of
--            supervisors may ask
--   joined   how many delayed jobs were due
--   mended   flat list of a word, see judge_turn, and of how many turns it was to be said
--   more     1 if there is more of either, or may be: to be asked again soon
--   broken   what had to be left out, as in exchange
--   places   flat list of throttle and how many of its places were given back for others
--
-- Of the lanes 256 are looked at, and of the turns about a hundred, in rotation.
--
-- Reads    ql:oarlock:rules; ql:j:<jid>; ql:config  heartbeat, <queue>-heartbeat
-- Writes   ql:oarlock:rules (edition), ql:oarlock:edition:<name>; ql:oarlock:reconsider; ql:oarlock:tended (hash: at, and per queue where to go on); ql:q:<queue>-work|scheduled; what a put
--          and a settlement write for a job with a key; ql:oarlock:seen, and what ruled writes for those who wait
-- Sends    the queue's name on ql:oarlock:wake
local batch, pause = open_batch(tonumber(ARGV[1]), ''), tonumber(ARGV[2])
local now, joined, mended, more = batch.now, 0, {}, 0
local first_keyed, places = 4 + tonumber(ARGV[3]), {}
local at = numeric(redis.call('HGET', 'ql:oarlock:tended', 'at'), 0)
for i = 4, first_keyed - 1 do redis.pcall('HSET', 'ql:oarlock:seen', ARGV[i], text17(now + awake_for)) end
if #ARGV == 3 and not batch.settings or at <= now and now < at + pause then return { 0, {}, 0, batch.broken, {} } end
if batch.settings then
  local known, why = pcall(begin_edition)
  if not known then report(batch, '', '', why) end
  local ok, back, others = pcall(tend_gate, batch)
  if ok then places = back else report(batch, '', '', back) end
  if others then more = 1 end
end
ordering().leave_rest = leave_rest

-- look(queue, keys, held): the turns of some keys
local function look(queue, keys, held)
  for i, key in ipairs(keys) do
    spend(batch, 1)
    local ok, wrong = pcall(judge_turn, queue, key, held[i], now)
    if not ok then
      report(batch, queue, '', wrong)
    elseif wrong then
      mended[wrong] = (mended[wrong] or 0) + 1
      spend(batch, 10)
    end
  end
end

local function look_after_lanes(queue, first)
  local keys = redis.call('ZRANGE', 'ql:oarlock:lanes:' .. queue, first, first + 255)
  if #keys > 0 then look(queue, keys, redis.call('HMGET', 'ql:oarlock:turns:' .. queue, unpack(keys))) end
  return #keys == 256 and first + 256 or 0
end

local function look_after_turns(queue, cursor)
  local some = redis.call('HSCAN', 'ql:oarlock:turns:' .. queue, cursor, 'COUNT', '100')
  local keys, held = {}, {}
  for i = 1, #some[2], 2 do keys[#keys + 1], held[#held + 1] = some[2][i], some[2][i + 1] end
  look(queue, keys, held)
  return some[1]
end

local function tend_queue(queue)
  if not turn_settings(queue) then return end
  local due, others = unshelve(queue, now, 50, batch)
  joined = joined + due
  if others then more = 1 end
  spend(batch, 6 + 8 * due)
  local first, cursor = string.match(redis.call('HGET', 'ql:oarlock:tended', 'q:' .. queue) or '', '^(%d+) (%d+)$')
  first = look_after_lanes(queue, tonumber(first or '0'))
  cursor = look_after_turns(queue, cursor or '0')
  redis.call('HSET', 'ql:oarlock:tended', 'q:' .. queue, text14(first) .. ' ' .. cursor)
end

for i = first_keyed, #ARGV do
  if batch.commands <= 0 then
    more = 1
    break
  end
  local ok, raised = pcall(tend_queue, ARGV[i])
  if not ok then report(batch, ARGV[i], '', raised) end
end
if next(mended) then more = 1 end
redis.pcall('HSET', 'ql:oarlock:tended', 'at', more == 1 and '0' or ARGV[1])

-- flat(counts) -> list of names and numbers
local function flat(counts)
  local list = {}
  for name, n in pairs(counts) do list[#list + 1], list[#list + 2] = name, n end
  return list
end
return { joined, flat(mended), more, batch.broken, flat(places) }
