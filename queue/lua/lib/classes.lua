-- What rules say of classes to those who put jobs: the field puts of ql:oarlock:rules. Every put of ours asks it here, whoever
-- puts, so that nobody needs to know the rules, and none has an old idea of them.

-- put_as_ruled(batch, put, exists): the put says what rules say for it, where it says nothing itself
--   exists   a job that is there keeps its own
-- Rare.
function put_as_ruled(batch, put, exists)
  if batch.put_rules == nil then
    -- Where somebody damaged them jobs are put as if nothing were said, rather than lost; doctor tells of it.
    local ok, rules = pcall(read_rules, batch.puts or '{}')
    batch.put_rules = ok and rules
  end
  local class, low = batch.put_rules and class_of(batch.put_rules, put.klass), is_low(batch, put.queue)
  if type(class) ~= 'table' then class = {} end
  local old = exists and not put.named.priority and redis.call('HGET', 'ql:j:' .. put.jid, 'queue')
  if not (low or next(class) or old and is_low(batch, old)) then return end
  local named = {}
  for name, value in pairs(put.named) do named[name] = value end
  if not exists then
    named.priority, named.retries = named.priority or class.priority or low and usual_low, named.retries or class.retries
  end
  if low and named.priority then
    named.priority = negated(named.priority)
  elseif old then
    named.priority = moved_options(batch, put.jid, old, put.queue).priority
  end
  if type(class.correlation) == 'table' and not named.correlation then named.correlation = correlation_in(put, class.correlation) end
  put.named, put.existing = named, class.existing
end

-- correlation_in(put, by) -> what the data of a put says at a place; nil if it says nothing
--   by   as value_of has it
-- Rare.
function correlation_in(put, by)
  local pointer = '/' .. table.concat(by, '/', 2)
  if #put.data > 65536 then
    error('the correlation ' .. excerpt(pointer) .. ' is not looked for in data of more than 64 KiB; name it in the put', 0)
  end
  local value = value_of(by, put.queue, { nil, put.klass, put.data })
  if type(value) == 'string' then return value end
  if type(value) ~= 'number' then return nil end
  if tonumber(text14(value)) ~= value or value - value ~= 0 then -- 1e400 is as 1e500
    error('the correlation ' .. excerpt(pointer) .. ' is a number of more than 14 digits, which is not kept exactly; write it as text', 0)
  end
  return text14(value)
end

-- stands_for(batch, put) -> how a put is answered for which the job that has its correlation stands; nil if none does
-- Rare.
function stands_for(batch, put)
  if not put.existing or not put.named.correlation then return nil end
  local other = held_by_other(put.klass, put.named.correlation, put.jid)
  if not other then return nil end
  return 'held:' .. (redis.call('HGET', 'ql:j:' .. other, 'state') or 'unknown') .. ':' .. other
end
