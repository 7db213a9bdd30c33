-- Queues in which lower priorities come first. What is stored is what every client of the protocol knows, higher first: so their
-- priorities are stored negated, and turned round where ours put, change, move, hand out or show a job.

-- is_low(batch, queue) -> whether lower priorities come first in it
--   batch   keeps in low what is known: the set of these queues, false if there are none
-- Rare.
function is_low(batch, queue)
  if batch.low == nil then read_low(batch, redis.pcall('HGET', 'ql:oarlock:rules', 'low')) end
  return batch.low and batch.low[queue] or false
end

-- read_low(batch, text)
--   text   the field low of the rules, as Redis answered
-- Rare.
function read_low(batch, text)
  batch.low = false
  if type(text) ~= 'string' or text == '[]' then return end
  local ok, list = pcall(cjson.decode, text)
  batch.low = {}
  for _, name in ipairs(ok and type(list) == 'table' and list or {}) do batch.low[name] = true end
end

-- usual_low is the priority of a job in such a queue of which nothing is said.
usual_low = '100'

-- negated(priority) -> text; what is no number stays as it is
-- Rare.
function negated(priority)
  local n = tonumber(priority)
  if not n or n - n ~= 0 then return priority end
  return n == 0 and '0' or text17(-n)
end

-- moved_options(batch, jid, from, to) -> options of the put that moves a job: its priority means in to what it meant in from
-- Rare.
function moved_options(batch, jid, from, to)
  if (from or '') == '' or is_low(batch, from) == is_low(batch, to) then return {} end
  return { priority = negated(redis.call('HGET', 'ql:j:' .. jid, 'priority') or '0') }
end
