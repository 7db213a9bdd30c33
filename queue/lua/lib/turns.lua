-- Turns: of the jobs of one key in one queue one has the turn, and the others stand behind it, in
-- the order in which they came. Only the one with the turn is in the sets of the queue, where it
-- waits, runs, backs off as any job does; who stands behind is in none of them, so that nobody who
-- pops can see it.
--
--   ql:oarlock:turns:<queue>             hash, key: '=<jid>' has the turn; '!<until> <popped> <jid>' is a ghost, of
--                                        whom nobody can say before then whether its attempt lives, which
--                                        began when it was popped, '-' if that is not known
--   ql:oarlock:lane:<n>:<queue>:<key>    list of '<place> <jid>' of those behind, the next one first; n is
--                                        the length of the queue's name
--   ql:oarlock:lanes:<queue>             sorted set of the keys with somebody behind or a ghost, by since when
--   ql:oarlock:behind                    hash, queue: how many entries its lanes have
--   ql:oarlock:places                    counts the calls that let jobs stand behind; a place is its
--                                        number and one within the call, and is never used twice
--   ql:oarlock:rules                     hash; o:<queue>: the queue has keys, and how its turns go
--   ql:oarlock:needs                     set of what whoever works here must know of; keys
--   oarlock-lane                         field of the job, its mark: '+' has the turn, '-' stands behind, '='
--                                        does neither; then <n>:<queue>:, a word, a blank, and the key. The
--                                        word is since when it has the turn, as far as that is not when it was
--                                        put; or its place. In any other queue the mark is void
--
-- A job that is delayed and has no turn is shelved: it stands in -scheduled at its due time and
-- shelf, where no client that does not know of keys finds it due.
--
-- What of this stands between whose hands may be cut off at any moment: check_turn mends it.

-- What the call knows of turns: known, the settings of queues; stems, what their marks have in common; of the last mark queue, where its
-- word begins (ends), and signs; sizes, how many keys of a queue have a turn; the number of its places, call, and of those it has
-- given, index; passed, whether it passed a turn on; leave_rest, where the look follows runs. false until something is known.
turns = false

shelf = 10000000000

-- ordering() -> turns
-- Rare.
function ordering()
  turns = turns or { known = {}, stems = {}, sizes = {}, index = 0 }
  return turns
end

-- know_turns(queue, text): what turn_settings returns
-- Rare.
function know_turns(queue, text)
  ordering().known[queue] = text
end

-- read_mark(text) -> sign, queue, word, key; nil if it is no mark
-- Rare.
function read_mark(text)
  local t = ordering()
  local known = t.signs and t.signs[string.sub(text or '', 1, t.ends)]
  if known then -- its queue is that of the mark before, as of nearly all of a call
    local word, key = string.match(text, '^(%S*) (.*)$', t.ends + 1)
    if not word then return nil end
    return known, t.queue, word, key
  end
  local sign, length, rest = string.match(text or '', '^([-+=])(%d+):(.*)$')
  if not sign then return nil end
  local n = tonumber(length)
  local word, key = string.match(string.sub(rest, n + 1), '^:(%S*) (.*)$')
  if not word then return nil end
  local queue = string.sub(rest, 1, n)
  local stem = stem_of(queue)
  t.queue, t.ends, t.signs = queue, 1 + #stem, { ['+' .. stem] = '+', ['-' .. stem] = '-', ['=' .. stem] = '=' }
  return sign, queue, word, key
end

-- stem_of(queue) -> <n>:<queue>:, n being the length of its name
function stem_of(queue)
  local stems = ordering().stems
  local stem = stems[queue]
  if not stem then
    stem = #queue .. ':' .. queue .. ':'
    stems[queue] = stem
  end
  return stem
end

-- mark_text(sign, queue, word, key) -> text
-- Rare.
function mark_text(sign, queue, word, key)
  return sign .. stem_of(queue) .. word .. ' ' .. key
end

-- lane_of(queue, key) -> the name of the list of those behind
function lane_of(queue, key)
  return 'ql:oarlock:lane:' .. stem_of(queue) .. key
end

-- turn_settings(queue) -> text, false if the queue has no keys
-- Rare.
function turn_settings(queue)
  local known = ordering().known[queue]
  if known == nil then
    known = redis.call('HGET', 'ql:oarlock:rules', 'o:' .. queue)
    turns.known[queue] = known
  end
  return known
end

-- be_ordered(queue): from here on the queue has keys
function be_ordered(queue)
  if turn_settings(queue) then return end
  end_edition()
  if redis.call('HSETNX', 'ql:oarlock:rules', 'o:' .. queue, 'order=key') == 1 then
    redis.call('SADD', 'ql:oarlock:needs', 'keys')
  end
  turns.known[queue] = nil
end

-- is_set(queue, word) -> whether that is among the queue's settings
-- Rare.
function is_set(queue, word)
  return string.find(' ' .. (turn_settings(queue) or '') .. ' ', ' ' .. word .. ' ', 1, true) ~= nil
end

-- join_lane(queue, key, jid, now) -> whether it has the turn, and is to be seated; else it stands behind,
-- or has been seated already
-- Rare.
function join_lane(queue, key, jid, now)
  be_ordered(queue)
  if redis.call('HSETNX', 'ql:oarlock:turns:' .. queue, key, '=' .. jid) == 1 then
    redis.call('HSET', 'ql:j:' .. jid, 'oarlock-lane', mark_text('+', queue, '', key))
    count_turn(queue)
    return true
  end
  if stand_behind('RPUSH', queue, key, jid) == 1 then
    redis.call('ZADD', 'ql:oarlock:lanes:' .. queue, 'NX', text17(now), key)
    -- Nobody may have looked after the turn while nobody waited for it.
    check_turn(queue, key, now)
  end
  return false
end

-- count_turn(queue): one more key has a turn
-- Redis keeps a small hash as a list, and looks through all of it for each field, up to 512 of them: as soon as there are some, one
-- field that is long makes it a table for as long as there are any.
-- Rare.
function count_turn(queue)
  local turn, sizes = 'ql:oarlock:turns:' .. queue, ordering().sizes
  local size = sizes[queue] and sizes[queue] + 1 or redis.call('HLEN', turn)
  sizes[queue] = size
  if size ~= 32 then return end
  local long = string.rep(' ', 600) -- longer than a key may be
  redis.call('HSET', turn, long, '')
  redis.call('HDEL', turn, long)
end

-- stand_behind(command, queue, key, jid) -> how many do now
--   command   RPUSH, or LPUSH for the next in turn
function stand_behind(command, queue, key, jid)
  local t = ordering()
  t.call = t.call or redis.call('INCR', 'ql:oarlock:places')
  t.index = t.index + 1
  local place = text14(t.call) .. '.' .. t.index
  local length = redis.call(command, lane_of(queue, key), place .. ' ' .. jid)
  redis.call('HSET', 'ql:j:' .. jid, 'oarlock-lane', mark_text('-', queue, place, key), 'state', 'waiting')
  redis.call('HINCRBY', 'ql:oarlock:behind', queue, '1')
  return length
end

-- stand_first(jid, job, now) -> whether a running job that is taken from its worker does not go into the work
-- set: where it has the turn, that is a ghost's until its lock would have ended, and then the job's again
--   job   its fields lane, queue and expires
-- Rare.
function stand_first(jid, job, now)
  local sign, of, _, key = read_mark(job.lane)
  local ends = numeric(job.expires, now)
  if sign ~= '+' or of ~= job.queue or ends <= now then return false end
  if redis.call('HGET', 'ql:oarlock:turns:' .. of, key) ~= '=' .. jid then return false end
  leave_ghost(of, key, jid, ends, now)
  stand_behind('LPUSH', of, key, jid)
  redis.call('HSET', 'ql:j:' .. jid, 'expires', '0')
  return true
end

-- leave_ghost(queue, key, jid, ends, now): nobody has the turn until then
function leave_ghost(queue, key, jid, ends, now)
  local popped = redis.call('HGET', 'ql:j:' .. jid, 'time') or '-'
  redis.call('HSET', 'ql:oarlock:turns:' .. queue, key, '!' .. text17(ends) .. ' ' .. popped .. ' ' .. jid)
  redis.call('ZADD', 'ql:oarlock:lanes:' .. queue, 'NX', text17(now), key)
end

-- haunt(queue, key, jid, now): as leave_ghost, for as long as a lock that was renewed just now
function haunt(queue, key, jid, now)
  local set = redis.pcall('HMGET', 'ql:config', queue .. '-heartbeat', 'heartbeat')
  leave_ghost(queue, key, jid, now + bounded('heartbeat', numeric(set[1], set[2])), now)
end

-- pass_on(queue, key, now): the next of those behind has the turn, and is ready
-- An entry whose job is gone, has ended, or is elsewhere is dropped, and its mark is taken, so that the job
-- joins again if it comes back.
function pass_on(queue, key, now)
  local lane, popped = lane_of(queue, key), 0
  local winner, entry
  while not winner and popped < 100 do
    entry = redis.call('LPOP', lane)
    if not entry then break end
    popped = popped + 1
    local ok, won = pcall(give_turn, queue, key, entry, now)
    if not ok then
      stay_next(queue, key, entry)
      count_left(queue, popped - 1)
      raise(won)
    end
    winner = won
  end
  count_left(queue, popped)
  if not entry or redis.call('EXISTS', lane) == 0 then -- a list without entries is none
    redis.call('ZREM', 'ql:oarlock:lanes:' .. queue, key)
    if not winner then redis.call('HDEL', 'ql:oarlock:turns:' .. queue, key) end
  else
    redis.call('ZADD', 'ql:oarlock:lanes:' .. queue, text17(now), key)
    -- The look goes on with it.
    if not winner then redis.call('HSET', 'ql:oarlock:turns:' .. queue, key, '!0 - ') end
  end
  ordering().passed = true
end

-- count_left(queue, n): so many stand behind nobody any more
function count_left(queue, n)
  if n > 0 and redis.call('HINCRBY', 'ql:oarlock:behind', queue, -n) <= 0 then redis.call('HDEL', 'ql:oarlock:behind', queue) end
end

-- pass_all(queue, left, now): the turns of jobs that are complete, and are marked as in no lane
--   left   keys and jids, in turn
-- Rare.
function pass_all(queue, left, now)
  for first = 1, #left, 2000 do pass_some(queue, left, first, math.min(first + 1999, #left), now) end
end

-- pass_some(queue, left, first, last, now): some of them; where nobody stands behind any, in one go
-- Rare.
function pass_some(queue, left, first, last, now)
  local turn, keys, lanes, had = 'ql:oarlock:turns:' .. queue, {}, {}, {}
  for i = first, last, 2 do keys[#keys + 1] = left[i] end
  local held = redis.call('HMGET', turn, unpack(keys))
  for i, key in ipairs(keys) do
    if held[i] == '=' .. left[first + 2 * i - 1] then
      had[#had + 1] = key
      lanes[#lanes + 1] = lane_of(queue, key)
    end
  end
  if #had == 0 then return end
  if redis.call('EXISTS', unpack(lanes)) == 0 then -- a list without entries is none
    call_many('ZREM', 'ql:oarlock:lanes:' .. queue, had)
    call_many('HDEL', turn, had)
    ordering().passed = true
    return
  end
  for _, key in ipairs(had) do pass_on(queue, key, now) end
end

-- stay_next(queue, key, entry): one that could not be given the turn is the next still, and the look gives it
-- Rare.
function stay_next(queue, key, entry)
  redis.pcall('ZREM', 'ql:q:' .. queue .. '-work', string.match(entry, '^%S+ (.*)$') or '')
  redis.pcall('LPUSH', lane_of(queue, key), entry)
  redis.pcall('HSET', 'ql:oarlock:turns:' .. queue, key, '!0 - ')
end

-- give_turn(queue, key, entry, now) -> whether the job of an entry that left the lane has the turn
function give_turn(queue, key, entry, now)
  local place, jid = string.match(entry, '^(%S+) (.*)$')
  if not place then return false end
  local job = 'ql:j:' .. jid
  local text, of, state, priority, time, due = unpack(redis.call('HMGET', job, 'oarlock-lane', 'queue', 'state', 'priority', 'time', 'scheduled'))
  if text ~= mark_text('-', queue, place, key) then return false end
  if of ~= queue or state == 'complete' or state == 'failed' then
    redis.call('HSET', job, 'oarlock-lane', mark_text('=', queue, '', key))
    return false
  end
  -- One that a client which knows no keys had begun, or put off, has it where it is. The mark is
  -- written last: until then the job can be made to stand behind again.
  local waits = state == 'waiting' or state == 'stalled'
  due = numeric(due, 0)
  if waits and due > now then
    waits = false
    seat(queue, '-scheduled', text17(due), jid)
    redis.call('HSET', job, 'state', 'scheduled')
  elseif waits then
    local since = is_set(queue, 'turns=fair') and now or numeric(time, now)
    seat(queue, '-work', text17(score(numeric(priority, 0), since)), jid)
  end
  redis.call('HSET', 'ql:oarlock:turns:' .. queue, key, '=' .. jid)
  redis.call('HSET', job, 'oarlock-lane', mark_text('+', queue, string.format('%.3f', now), key))
  if waits then wake(queue) end
  return true
end

-- check_turn(queue, key, now) -> false, or what had to be mended: see judge_turn
-- Rare.
function check_turn(queue, key, now)
  return judge_turn(queue, key, redis.call('HGET', 'ql:oarlock:turns:' .. queue, key), now)
end

-- judge_turn(queue, key, holder, now) -> false, or a word for what had to be mended: the job that had the turn has ended, or is
-- gone, or elsewhere; an attempt that was taken from its worker is over (ghost); a call had left a rest; nobody had it (lost)
--   holder   the field of turns
-- Rare.
function judge_turn(queue, key, holder, now)
  local ends = string.match(holder or '', '^!(%S+) ')
  if ends and numeric(ends, 0) > now then return false end
  local jid = string.match(holder or '', '^=(.*)$')
  if not jid then
    pass_on(queue, key, now)
    return not ends and 'lost' or numeric(ends, 0) == 0 and 'rest' or 'ghost'
  end
  local f = redis.call('HMGET', 'ql:j:' .. jid, 'oarlock-lane', 'queue', 'state', 'oarlock-load')
  local sign, of, _, its = read_mark(f[1])
  local marked = sign == '+' and of == queue and its == key
  local ended = f[3] == 'complete' or f[3] == 'failed'
  -- Payloads that a client did not know of: only tend makes a job of them.
  if f[4] and marked and (f[3] == 'complete' or f[2] ~= queue) then
    if not (turns and turns.leave_rest) then return false end
    turns.leave_rest(jid, f[1], now)
  end
  if marked and f[2] == queue and not ended then return false end
  if marked and f[3] == 'failed' and f[2] == queue and is_set(queue, 'after_fail=hold') then return false end
  if marked then redis.call('HSET', 'ql:j:' .. jid, 'oarlock-lane', mark_text('=', queue, '', key)) end
  if ended then
    pass_on(queue, key, now)
  else
    -- Gone, or gone elsewhere, and nobody knows how: its attempt may live as long as its lock.
    haunt(queue, key, jid, now)
  end
  return ended and 'ended' or f[3] and 'elsewhere' or 'gone'
end

-- depart_lane(jid, text, now, ends, failed): a job is to be in no lane any more
--   text     its mark
--   ends     when its lock ends, if its attempt may live until then; else nil
--   failed   whether it failed, and may keep the turn for that
-- Rare.
function depart_lane(jid, text, now, ends, failed)
  local sign, queue, _, key = read_mark(text)
  if sign ~= '+' and sign ~= '-' then return end
  local turn = 'ql:oarlock:turns:' .. queue
  local has = sign == '+' and redis.call('HGET', turn, key) == '=' .. jid
  if has and failed and is_set(queue, 'after_fail=hold') then
    redis.call('ZADD', 'ql:oarlock:lanes:' .. queue, 'NX', text17(now), key)
    return
  end
  redis.call('HSET', 'ql:j:' .. jid, 'oarlock-lane', mark_text('=', queue, '', key))
  if not has then return end
  ends = numeric(ends, now)
  if ends > now then
    local _, longest = bounds_of('heartbeat')
    leave_ghost(queue, key, jid, math.min(ends, now + longest), now)
  else
    pass_on(queue, key, now)
  end
end

-- end_ghost(queue, key, jid, popped, now): the attempt of a job that was taken from its worker is over
--   popped   when it began, as in exchange
-- Rare.
function end_ghost(queue, key, jid, popped, now)
  local holder = redis.call('HGET', 'ql:oarlock:turns:' .. queue, key)
  if not holder then return end
  local began, left = string.match(holder, '^!%S+ (%S+) (.*)$')
  if left == jid and (began == popped or began == '-') then return pass_on(queue, key, now) end
  if holder ~= '=' .. jid then return end
  local sign, of, _, its = read_mark(redis.call('HGET', 'ql:j:' .. jid, 'oarlock-lane'))
  if not (sign == '+' and of == queue and its == key) then pass_on(queue, key, now) end
end

-- arrive_at(queue, jid, text, now) -> whether a job that becomes ready stands behind, and is not to be seated
--   text   its mark
-- Rare.
function arrive_at(queue, jid, text, now)
  local sign, of, _, key = read_mark(text)
  if not sign then return false end
  if of == queue and sign ~= '=' then return sign == '-' end
  if sign == '+' then depart_lane(jid, text, now) end
  if not turn_settings(queue) then return false end
  return not join_lane(queue, key, jid, now)
end

-- follow_key(queue, jid, text, now, due) -> whether a job that goes on to a queue is not to be seated there: it stands
-- behind, or is shelved
--   text   its mark before it left the queue where it was
--   due    when it is, if that is later; else false
-- Rare.
function follow_key(queue, jid, text, now, due)
  local sign, _, _, key = read_mark(text)
  if not sign or not turn_settings(queue) then return false end
  return not enter_lane(queue, key, jid, due and 'scheduled' or 'waiting', now, due)
end

-- outside_mark(queue, key) -> the mark of a job that is to join
-- Rare.
function outside_mark(queue, key)
  return mark_text('=', queue, '', key)
end

-- meet_turn(queue, jid, text, tags, now, locked) -> the key of a job that is to run, false if it has none; nil if it
-- stands behind, and has left the work set
--   text, tags   fields of the job
--   locked       whether it comes from the set of locks
-- Rare.
function meet_turn(queue, jid, text, tags, now, locked)
  local sign, of, _, key = read_mark(text)
  local stands = of == queue and sign == '-'
  if of == queue and sign == '+' then return key end
  if not stands then
    if not turn_settings(queue) then return false end
    key = key or key_of_tags(tags)
    if not key then return false end
  end
  redis.call('ZREM', 'ql:q:' .. queue .. '-work', jid)
  if locked then unlock(queue, jid) end
  if stands then
    redis.call('HSET', 'ql:j:' .. jid, 'state', 'waiting', 'worker', '', 'expires', '0')
    check_turn(queue, key, now)
    return nil
  end
  if join_lane(queue, key, jid, now) then return key end
  redis.call('HSET', 'ql:j:' .. jid, 'worker', '', 'expires', '0')
end

-- key_of_tags(text) -> the key that a tag key:<key> names, for those who can say it in no other way; or nil
-- Rare.
function key_of_tags(text)
  if not string.find(text or '', '"key:', 1, true) then return nil end
  for _, tag in ipairs(stored_tags(text)) do
    local key = type(tag) == 'string' and string.match(tag, '^key:(.+)$')
    if key and #key <= 512 then return key end
  end
end

-- enter_lane(queue, key, jid, state, now, due, merges) -> whether it is to be seated as that state says
-- A job that was just put, with a key. One that merges joins at once, for later puts must find it; its field scheduled says
-- when it is due, where it stands behind.
--   state   waiting, scheduled or depends
--   due     when it is, if that is later
-- Rare.
function enter_lane(queue, key, jid, state, now, due, merges)
  if state == 'waiting' then return join_lane(queue, key, jid, now) end
  if merges and state == 'scheduled' then
    local has = join_lane(queue, key, jid, now)
    if not has then redis.call('HSET', 'ql:j:' .. jid, 'scheduled', text17(due)) end
    return has
  end
  be_ordered(queue)
  redis.call('HSET', 'ql:j:' .. jid, 'oarlock-lane', mark_text('=', queue, '', key))
  if state == 'depends' then return true end
  seat(queue, '-scheduled', text17(due + shelf), jid)
  return false
end

-- shelves(queue, text) -> whether a job with that mark that is delayed is shelved
-- Rare.
function shelves(queue, text)
  local sign, of = read_mark(text)
  return sign == '=' and of == queue
end

-- unshelve(queue, now, limit, batch) -> how many, and whether there may be more
--   batch   hears of those that could not; nil if nobody is to
-- Shelved jobs that are due join their lanes, in the order of their due times, and those of one moment in that of their puts.
-- Rare.
function unshelve(queue, now, limit, batch)
  local jobs, more = on_shelf(queue, text17(now + shelf), limit)
  table.sort(jobs, function(a, b)
    if a.place ~= b.place then return a.place < b.place end
    if a.put ~= b.put then return a.put < b.put end
    return a.rank < b.rank
  end)
  for _, job in ipairs(jobs) do
    local ok, raised = pcall(come_off_shelf, queue, job, now)
    if not ok then
      join_later(queue, job.jid, now)
      if batch then report(batch, queue, job.jid, raised) end
    end
  end
  return #jobs, more
end

-- come_off_shelf(queue, job, now)
--   job   as on_shelf answers
-- Rare.
function come_off_shelf(queue, job, now)
  local due = job.place - shelf
  redis.call('ZREM', 'ql:q:' .. queue .. '-scheduled', job.jid)
  if job.of ~= queue then return end
  redis.call('HSET', 'ql:j:' .. job.jid, 'state', 'waiting', 'time', string.format('%.20f', due))
  if not arrive_at(queue, job.jid, job.mark, now) then
    seat(queue, '-work', text17(score(numeric(job.priority, 0), due)), job.jid)
    wake(queue)
  end
end

-- join_later(queue, jid, now): a command failed as a job was to join the others of its key. It is where its mark says that it has the turn, or stands
-- behind; else it tries again in ten seconds, and is in nobody's way until then.
-- Rare.
function join_later(queue, jid, now)
  local mark = redis.pcall('HGET', 'ql:j:' .. jid, 'oarlock-lane')
  local sign, of = read_mark(type(mark) == 'string' and mark)
  if of ~= queue or sign == '=' then
    redis.pcall('HSET', 'ql:j:' .. jid, 'state', 'scheduled', 'worker', '', 'expires', '0')
    redis.pcall('ZADD', 'ql:q:' .. queue .. '-scheduled', text17(now + 10 + (of == queue and shelf or 0)), jid)
  end
  reseat(open_batch(now, ''), jid, queue)
end

-- on_shelf(queue, most, limit) -> list of jobs, and whether there may be more
--   most   a place in -scheduled, as text
-- Those up to it that are shelved, or are not in this queue at all. What is due in three centuries has places
-- like theirs, and is passed over, a thousand times at most.
--   jobs   jid, place, mark, of (its queue), priority, put (when), and rank: of one place the first one put has the least, as far
--          as ids that we make tell
function on_shelf(queue, most, limit)
  local jobs, passed, full = {}, 0, nil
  repeat
    local some = shelf_page(queue, most, passed, limit)
    for rank, one in ipairs(some) do
      local f = redis.pcall('HMGET', 'ql:j:' .. one.jid, 'oarlock-lane', 'queue', 'priority', 'time')
      if f.err and not is_wrong_type(f) then raise(f) end
      local mark, of, priority, put = unpack(f)
      if of ~= queue or shelves(queue, mark) then
        one.mark, one.of, one.priority, one.put, one.rank = mark, of, priority, numeric(put, 0), -rank
        jobs[#jobs + 1] = one
      end
    end
    passed, full = passed + #some, #some == limit
  until #jobs > 0 or not full or passed >= 1000
  return jobs, full and #jobs > 0
end

-- shelf_page(queue, most, offset, limit) -> list of jid, place
-- Of those that have the last place of the page and do not all have room, the last by jid: they were put first.
function shelf_page(queue, most, offset, limit)
  local scheduled, some = 'ql:q:' .. queue .. '-scheduled', {}
  local flat = redis.call('ZRANGEBYSCORE', scheduled, text17(shelf), most, 'WITHSCORES', 'LIMIT', text17(offset), text17(limit))
  for i = 1, #flat, 2 do some[#some + 1] = { jid = flat[i], place = tonumber(flat[i + 1]) } end
  if #some < limit then return some end
  local last, first = flat[#flat], #some
  while first > 1 and some[first - 1].place == some[#some].place do first = first - 1 end
  local same = redis.call('ZREVRANGEBYSCORE', scheduled, last, last, 'LIMIT', '0', text17(#some - first + 1))
  for i, jid in ipairs(same) do some[#some - i + 1].jid = jid end
  return some
end

-- unshelved(place) -> when a job with that score in -scheduled is due, as text
function unshelved(place)
  local when = tonumber(place)
  if not when or when < shelf or when == math.huge then return place end
  return text17(when - shelf)
end

-- due_of(jid, queue, place) -> when a job with that score in -scheduled is due, as text
-- That of one that is not shelved may be above shelf, too: it is due in three centuries.
function due_of(jid, queue, place)
  if (tonumber(place) or 0) < shelf then return place end
  local mark = redis.pcall('HGET', 'ql:j:' .. jid, 'oarlock-lane')
  return shelves(queue, type(mark) == 'string' and mark) and unshelved(place) or place
end

-- next_shelved(queue) -> when the next is due, nil if none is
-- Rare.
function next_shelved(queue)
  local first = on_shelf(queue, '(inf', 10)[1]
  return first and first.place - shelf
end
