-- check_put(jid, klass, data, delay) -> delay as a number
function check_put(jid, klass, data, delay)
  if not jid then refuse('Put', 'Arg "jid" missing') end
  if not klass then refuse('Put', 'Arg "klass" missing') end
  if cjson.decode(data) == false then refuse('Put', 'Arg "data" not JSON: ' .. data) end
  return tonumber(delay) or refuse('Put', 'Arg "delay" missing or not a number: ' .. tostring(delay))
end

-- put_job(now, worker, queue, jid, klass, data, delay, named, limit, due, merges, came) -> nil, or the job that was there, where
-- it has merged payloads and the same data as before
-- Creates a job or moves an existing one, whatever its state. The arguments were
-- seen by check_put; the options are checked before anything is written. The
-- queue is not registered here.
--   worker  who asks: the previous owner is told that its lock is gone, unless
--           it is the same
--   named   table of options: priority, tags, retries, depends, throttles, key
--   limit   the history limit, or nil
--   due     when it is due, where that was said; else nil
--   merges  truth if later puts are to merge with it: it is in its lane even while it is delayed
--   came    by when its place is reckoned if it is ready; nil: by now
function put_job(now, worker, queue, jid, klass, data, delay, named, limit, due, merges, came)
  local key = 'ql:j:' .. jid
  due = due or now + delay
  local old, tags, priority, retries, depends, throttles
  if next(named) then tags, priority, retries, depends, throttles = check_options(named) end
  -- Most jobs are new and none is tracked, and to learn that is cheaper than to read
  -- nine fields and to ask again below. Dependencies may be left of an earlier job of
  -- that name, which was pruned; and dependents, of one that is complete.
  local special = redis.call('EXISTS', key, 'ql:tracked', key .. '-dependencies', key .. '-dependents') > 0
  if special then finish_unblocking(jid, now) end
  if special and redis.call('EXISTS', key) == 1 then
    old = load_old(key)
    tags, priority, retries = tags or old.tags, priority or old.priority, retries or old.retries
  end
  local same = old and old.lane and same_run(key, data)
  data = same or data
  tags, priority, retries = tags or {}, priority or '0', retries or '5'
  if reqless or old and old.throttles then throttles = put_throttles(jid, throttles, old, queue) end

  if depends and #depends > 0 then depend_anew(jid, depends) end -- which may be refused
  announce('{"jid":' .. cjson.encode(jid) .. ',"event":"put","queue":' .. cjson.encode(queue) .. '}')
  if remember(jid, put_entry(now, queue), limit, old and old.history) and not old then make_way(jid) end
  if old then leave_for(jid, old, queue, worker, now) end
  local key_given = named.key or old and old.lane and kept_key(old, queue)
  if #tags > 0 then index_tags(jid, tags) end

  local state = delay > 0 and 'scheduled' or 'waiting'
  if (special or depends) and has_members(key .. '-dependencies') then
    if delay > 0 then redis.call('HSET', key, 'scheduled', due) end
    state = 'depends'
  end
  redis.call('HSET', key, 'jid', jid, 'klass', klass, 'data', data, 'priority', priority,
    'tags', next(tags) and cjson.encode(tags) or '{}', 'state', state, 'worker', '', 'expires', '0',
    'queue', queue, 'retries', retries, 'remaining', retries, 'time', string.format('%.20f', now))
  if throttles then redis.call('HSET', key, 'throttles', cjson.encode(throttles)) end

  if key_given and not takes_seat(jid, old, queue, key_given, state, now, due, merges) then
    state = 'behind' -- or shelved
  elseif state == 'depends' then
    seat(queue, '-depends', ARGV[1], jid)
  elseif state == 'scheduled' then
    seat(queue, '-scheduled', due, jid)
  elseif not (reqless and throttle_at_once(jid, queue, throttles, now, limit)) then
    seat(queue, '-work', score(tonumber(priority), came or now), jid)
  end
  if special then tell_trackers('ql:put', jid) end
  if old and state ~= 'depends' and state ~= 'behind' then wake(queue) end
  return same and old or nil
end

-- check_options(named) -> tags, priority, retries, depends, throttles
-- Lists, and numbers as they are stored; nil for those not given.
-- Rare.
function check_options(named)
  if named.key then check_key(named.key) end
  local retries = named.retries and stored_number(named.retries, 'Put', 'retries')
  local tags = named.tags and given_tags(named.tags, 'Put')
  local priority = named.priority and stored_number(named.priority, 'Put', 'priority')
  return tags, priority, retries, named.depends and given_depends(named.depends, 'Put'),
    reqless and named.throttles and given_throttles(named.throttles, 'Put')
end

-- load_old(key) -> what putting again needs of the job that is there; numbers that are none are not kept
-- Rare.
function load_old(key)
  local f = redis.call('HMGET', key, 'state', 'queue', 'worker', 'priority', 'tags', 'retries', 'failure',
    'history', 'throttles', 'oarlock-lane', 'expires', 'oarlock-gate', 'time')
  return { state = f[1], queue = f[2], owner = f[3], priority = numeric(f[4], false) and f[4], tags = stored_tags(f[5]),
    retries = numeric(f[6], false) and f[6], failure = f[7], history = f[8], throttles = f[9],
    lane = f[10], expires = f[11], gate = f[12], time = f[13] }
end

-- leave_for(jid, old, queue, worker, now): an existing job leaves where it is, to be
-- put into a queue
-- Rare.
function leave_for(jid, old, queue, worker, now)
  local owner = old.owner
  if old.state == 'throttled' and old.gate then leave_waitlist(jid, old.queue, old.throttles) end
  if old.state then leave(jid, old.state, old.queue, owner, old.failure, queue) end
  if owner and owner ~= '' and owner ~= worker then lock_lost(jid, owner) end
  -- Strange but observable: in reqless a job keeps what it holds and waits for.
  if old.throttles and not reqless then
    give_back(jid, old.queue, old.throttles, now, nil, old.state == 'running' and owner ~= worker and { old.gate, old.time, old.expires })
  end
  unindex_tags(jid, old.tags)
  if old.lane and not keeps_turn(old, queue) then
    -- A worker that puts its own job elsewhere is done with it.
    depart_lane(jid, old.lane, now, old.state == 'running' and owner ~= worker and old.expires)
  end
end

-- keeps_turn(old, queue) -> whether a job that failed holds its turn still, and runs again in the same queue
-- Rare.
function keeps_turn(old, queue)
  local sign, of = read_mark(old.lane)
  return old.state == 'failed' and sign == '+' and of == queue and is_set(queue, 'after_fail=hold')
end

-- kept_key(old, queue) -> the key that a job keeps in a queue, or nil
-- Rare.
function kept_key(old, queue)
  local sign, _, _, its = read_mark(old.lane)
  return sign and turn_settings(queue) and its or nil
end

-- check_key(key)
-- Rare.
function check_key(key)
  if key == '' or #key > 512 then refuse('Put', 'key must have 1 to 512 bytes') end
end

-- takes_seat(jid, old, queue, key, state, now, due, merges) -> whether a job with a key is to be seated as its state says
-- Rare.
function takes_seat(jid, old, queue, key, state, now, due, merges)
  if old and old.lane and keeps_turn(old, queue) then
    local _, _, _, its = read_mark(old.lane)
    if its == key then return true end
    depart_lane(jid, old.lane, now)
  end
  return enter_lane(queue, key, jid, state, now, due, merges)
end

-- depend_anew(jid, on): what it waited for is replaced by a list
-- Rare.
function depend_anew(jid, on)
  local before = drop_dependencies(jid)
  local ok, raised = pcall(depend, jid, on)
  if not ok then
    pcall(depend, jid, before)
    raise(raised)
  end
end

-- throttle_at_once(jid, queue, throttles, now, limit) -> whether a job that was just
-- put must wait for one of its throttles
-- Rare.
function throttle_at_once(jid, queue, throttles, now, limit)
  local full = first_full(throttles)
  if full then throttle(jid, { state = 'waiting', history = false }, queue, full, now, limit) end
  return full
end

-- put_throttles(jid, named, old, queue) -> list, nil if it has none
-- In reqless a job has those it is given and its queue's. In qless, which does not
-- know them, a job keeps what it has, but for the queue's.
--   named   those it is given, or nil
--   old     the job it was, or nil
-- Rare.
function put_throttles(jid, named, old, queue)
  local kept = old and old.throttles
  if old and old.gate then kept = drop_derived(jid, kept, old.gate) end
  if not (reqless or kept) then return nil end
  local list = reqless and (named or {}) or stored_tags(kept)
  return move_throttles(list, old and old.queue and queue_throttle(old.queue), queue)
end

-- register(queue): makes the queue known
function register(queue)
  if not redis.call('ZSCORE', 'ql:queues', queue) then redis.call('ZADD', 'ql:queues', ARGV[1], queue) end
end
