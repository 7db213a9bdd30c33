-- Parking and answering for those who call one command about one job.

-- respond_by_name(now, klass, correlation, data, named) -> word
-- Rare.
function respond_by_name(now, klass, correlation, data, named)
  local failed = named.error == '1'
  local wrong = not failed and read_json(data)
  if wrong then refuse('Respond', wrong) end
  local word, about = take_answer(now, klass, correlation, named.jid or '',
    { data = not failed and data or nil, failed = failed and data or nil, ending = named['end'] or '' })
  if word == 'refused' then refuse('Respond', about) end
  return word
end

-- park_by_name(now, jid, worker, queue, correlation, seconds, named) -> the job's new state
-- Rare.
function park_by_name(now, jid, worker, queue, correlation, seconds, named)
  if named.data then given_json(named.data, 'Park', 'data') end
  if named['then'] and named['then'] ~= 'complete' then refuse('Park', 'then must be complete: ' .. excerpt(named['then'])) end
  local batch = open_batch(now, worker)
  local g = open_gate(batch)
  batch.gate, batch.give_places = g, give_places
  local said = { correlation = correlation ~= '' and correlation or nil, delay = text17(seconds), data = named.data, ['then'] = named['then'] }
  local state, reason = unpack(settle_all(batch, { { jid = jid, queue = queue, popped = '', action = 'park', named = said } })[1])
  if state == 'lost' or state == 'refused' then refuse('Park', reason) end
  if g.giving then
    given_places(g)
    pcall(tell_others, g, {}, 0)
  end
  return state
end
