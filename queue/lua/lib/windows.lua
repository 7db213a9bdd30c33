-- Windows: when jobs may start. No script knows time zones: ql:oarlock:windows has a table of openings for each spec,
-- which the client reckons. See BATCH.md.

-- shut_out(g, c, job, windows) -> whether a job may not start now; then it is kept in c.held, with when it may, or is to be
-- looked at again
--   windows  of the job, a union: each spec, and margin
-- Rare.
function shut_out(g, c, job, windows)
  local first
  for _, w in ipairs(windows) do
    local when = next_opening(g, w)
    if not when then return false end
    if not first or when < first then first = when end
  end
  g.left = g.left - 1
  c.held = c.held or {}
  c.held[#c.held + 1] = { job = job, when = first }
  return true
end

-- next_opening(g, w) -> nil if the window is open; else when it opens
-- Rare.
function next_opening(g, w)
  local known, now = openings_of(g, w.spec), g.now
  if not known or now >= known.till then return now + 5 end -- until then somebody has reckoned it
  local times, passed = known.times, 0
  while times[passed + 1] and times[passed + 1] <= now do passed = passed + 1 end
  local change = times[passed + 1]
  if known.open == (passed % 2 == 0) then
    if not change or change - now > (w.margin or 0) then return nil end
    return times[passed + 2] or change
  end
  return change or known.till
end

-- closing_of(g, windows) -> when the last of those shuts that are open, if jobs end then; nil if they may go on, or it is not known
-- Rare.
function closing_of(g, windows)
  local last
  for _, w in ipairs(windows) do
    local known = openings_of(g, w.spec)
    local passed = 0
    while known and known.times[passed + 1] and known.times[passed + 1] <= g.now do passed = passed + 1 end
    if known and known.open == (passed % 2 == 0) then
      local shuts = known.times[passed + 1]
      if not w.stop or not shuts then return nil end
      last = math.max(last or shuts, shuts)
    end
  end
  return last
end

-- openings_of(g, spec) -> open (at first), till (it is true so long), times (of its changes); nil if nobody knows
-- Where it ends soon, or is not there, the caller is told that it is wanted.
-- Rare.
function openings_of(g, spec)
  g.openings, g.wanted = g.openings or {}, g.wanted or {}
  local known = g.openings[spec]
  if known == nil then
    known = false
    local text = redis.call('HGET', 'ql:oarlock:windows', spec)
    if text then
      known = { open = string.sub(text, 1, 1) == 'o', times = {} }
      for moment in string.gmatch(text, '%d+') do
        if known.till then known.times[#known.times + 1] = tonumber(moment) else known.till = tonumber(moment) end
      end
      known = known.till and known
    end
    g.openings[spec] = known
    if not known or known.till - g.now < 4 * 86400 then g.wanted[#g.wanted + 1] = spec end
  end
  return known
end

-- hold_all(g, c): those that were shut out wait for their window where delayed ones wait, before they leave the inbox
-- Of those that are held until the same moment each is due a microsecond after the one before it, so that they keep
-- their order.
-- Rare.
function hold_all(g, c)
  local key, before = 'ql:q:' .. c.queue .. '-scheduled', {}
  for _, held in ipairs(c.held) do
    local jid, when = held.job.jid, held.when
    local ok, raised = pcall(function()
      before[when] = before[when] or redis.call('ZCOUNT', key, text17(when), '(' .. text17(when + 1))
      local due = text17(when + math.min(before[when], 999999) / 1000000)
      seat(c.queue, '-scheduled', due, jid)
      redis.call('HSET', 'ql:j:' .. jid, 'state', 'scheduled', 'oarlock-window', due)
      before[when] = before[when] + 1
    end)
    if ok then
      c.counts.window = (c.counts.window or 0) + 1
      local entry = '[' .. text14(math.floor(g.now)) .. ',"window",{"queue":' .. cjson.encode(c.queue) .. ',"until":' .. text14(math.floor(when)) .. '}]'
      remember(jid, entry, g.batch.limit, held.job.fields[10])
    else
      report(g.batch, c.queue, jid, raised)
      for i = #c.gone, 1, -1 do
        if c.gone[i] == jid then table.remove(c.gone, i) end
      end
    end
  end
end

-- reconsider(g) -> whether there is more
-- Jobs that a window holds come in again, to be judged anew, in queues of which rules say something else of windows since. Some a call,
-- in the order in which they would have come.
-- Rare.
function reconsider(g)
  local pending, left = redis.call('HGETALL', 'ql:oarlock:reconsider'), 500
  for i = 1, #pending, 2 do
    local queue, from = pending[i], pending[i + 1]
    local key, again = 'ql:q:' .. queue .. '-scheduled', {}
    local some = redis.call('ZRANGEBYSCORE', key, from, '+inf', 'WITHSCORES', 'LIMIT', '0', text14(left))
    for k = 1, #some, 2 do
      local held = redis.call('HGET', 'ql:j:' .. some[k], 'oarlock-window')
      if held and tonumber(held) == tonumber(some[k + 1]) then
        again[#again + 1], again[#again + 2] = text17(g.now - 0.001 + k / 1000000), some[k]
      end
    end
    call_many('ZADD', key, again)
    if #again > 0 then wake(queue) end
    left = left - #some / 2
    if left > 0 then
      redis.call('HDEL', 'ql:oarlock:reconsider', queue)
    else
      redis.call('HSET', 'ql:oarlock:reconsider', queue, '(' .. some[#some])
      return true
    end
  end
end
