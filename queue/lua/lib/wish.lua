-- What jobs at work want done, to themselves or to others.

-- grant(batch, w) -> nil, or lost or refused and why
--   w   jid, popped, target, verb, words; its field moved becomes how many bytes of data were
function grant(batch, w)
  local f = redis.call('HMGET', 'ql:j:' .. w.jid, 'state', 'worker', 'time')
  if f[1] ~= 'running' or f[2] ~= batch.worker or f[3] ~= w.popped then
    return 'lost', 'it is not held any more'
  end
  local key = 'ql:j:' .. w.target
  local exists, queue, tags, history = unpack(redis.call('HMGET', key, 'jid', 'queue', 'tags', 'history'))
  if not exists then return 'refused', 'there is no such job' end
  if w.verb == 'tag' or w.verb == 'untag' then
    change_tags(w.target, stored_tags(tags), w.words, w.verb == 'tag')
  elseif w.verb == 'track' then
    track_job(w.target, batch.now)
  elseif w.verb == 'untrack' then
    untrack_job(w.target)
  elseif w.verb == 'priority' then
    if (queue or '') == '' then return 'refused', 'it is in no queue' end
    local priority = finite(w.words[1], 'Wish', 'priority')
    set_priority(w.target, queue, is_low(batch, queue) and -priority or priority)
  elseif w.verb == 'note' then
    return note(batch, w.target, w.words[1], w.words[2], history)
  else
    return end_other(batch, w)
  end
end

-- change_tags(jid, have, named, with): with those named, or without them
-- Unlike the protocol's commands, it counts only what changes.
function change_tags(jid, have, named, with)
  local is, left, changed = {}, {}, {}
  for _, tag in ipairs(have) do is[tostring(tag)] = true end
  for _, tag in ipairs(named) do
    if (is[tag] or false) ~= with then
      is[tag], changed[#changed + 1] = with, tag
    end
  end
  if #changed == 0 then return end
  for _, tag in ipairs(have) do
    if is[tostring(tag)] then left[#left + 1] = tag end
  end
  if with then
    for _, tag in ipairs(changed) do left[#left + 1] = tag end
    index_tags(jid, changed)
  else
    unindex_tags(jid, changed)
  end
  redis.call('HSET', 'ql:j:' .. jid, 'tags', next(left) and cjson.encode(left) or '{}')
end

-- note(batch, jid, message, data, history) -> as grant: an entry of the history, as the protocol's log
--   history   the job's field
function note(batch, jid, message, data, history)
  local entry = '[' .. text14(math.floor(batch.now)) .. ',' .. cjson.encode(message)
  if data then entry = entry .. ',' .. cjson.encode(cjson.decode(data)) end
  local why = remember(jid, entry .. ']', batch.limit, history)
  if why then return 'refused', why end
end

-- end_other(batch, w) -> as grant: another job is canceled, or put again
function end_other(batch, w)
  local f = redis.call('HMGET', 'ql:j:' .. w.target, 'state', 'time')
  local a = { jid = w.target, state = f[1], time = f[2] or '', action = w.verb, named = {} }
  if w.verb == 'requeue' then
    a.action = w.words[1] == '' and 'retry' or 'move'
    a.named = { queue = w.words[1], delay = w.words[2] }
  end
  local word, why = look_again(a)
  local words = {}
  if not word then keep_needed({ a }, words) end
  if words[1] then word, why = 'refused', words[1][2] end
  if word then return 'refused', why end
  local ok, moved = pcall(amend, batch, a)
  if not ok then
    reseat(batch, a.jid, a.queue or '', a.to)
    return 'refused', reason_of(moved)
  end
  w.moved = moved
end
