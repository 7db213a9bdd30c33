-- What a job says itself of what it needs to run, in the field oarlock-wants, JSON:
--   weight    how many places it takes of each of its throttles
--   bypass    true: it needs none
--   windows   when it may start, a union: names of windows of the rules, and zone|span|span as window.Spec.Text writes it

-- left_rules is what stands in the rules for a queue that is ruled no more.
left_rules = '{"leaving":true}'

-- says_wants(named) -> whether a put does
-- Rare.
function says_wants(named)
  return named.weight or named.bypass or named.windows
end

-- given_wants(queue, named) -> text for the field; raises where nobody would ask what it says
-- Rare.
function given_wants(queue, named)
  local rules = redis.pcall('HMGET', 'ql:oarlock:rules', 'q:' .. queue)[1]
  if not rules or rules == left_rules then
    refuse('Put', 'weight, bypass and windows count where a queue has rules, and queue ' .. excerpt(queue) .. ' has none')
  end
  local wants = { bypass = named.bypass and (named.bypass == '1' or refuse('Put', 'bypass must be 1: ' .. excerpt(named.bypass))) or nil }
  if named.weight then
    wants.weight = tonumber(named.weight)
    if not is_weight(wants.weight) then refuse('Put', 'weight must be a whole number from 1 to 100: ' .. excerpt(named.weight)) end
  end
  if named.windows then wants.windows = given_windows(named.windows) end
  return cjson.encode(wants)
end

-- write_wants(jid, text)
-- From the first put of a job that needs no place on a queue that is full may have one, and from the first with windows any may have one that
-- is held by its own.
-- Rare.
function write_wants(jid, text)
  redis.call('HSET', 'ql:j:' .. jid, 'oarlock-wants', text)
  for _, word in ipairs({ 'bypass', 'windows' }) do
    if string.find(text, '"' .. word .. '":', 1, true) then redis.call('HSET', 'ql:oarlock:rules', word, '1') end
  end
end

-- is_weight(weight)
-- Rare.
function is_weight(weight)
  return type(weight) == 'number' and weight >= 1 and weight <= 100 and weight % 1 == 0
end

-- So many windows of its own a job has at most; of one that another program gave more only the first count.
most_windows = 64

-- given_windows(text) -> list of names and spans, nil for an empty one
-- Rare.
function given_windows(text)
  local ok, list = pcall(cjson.decode, text)
  if not ok or type(list) ~= 'table' then refuse('Put', 'windows must be a list of texts: ' .. excerpt(text)) end
  if #list > most_windows then refuse('Put', 'a job has at most ' .. most_windows .. ' windows: it has ' .. #list) end
  for _, window in ipairs(list) do
    if type(window) ~= 'string' or #window > 1024 then refuse('Put', 'windows must be texts of at most 1024 bytes: ' .. excerpt(text)) end
    if not string.find(window, '|', 1, true) and redis.call('HEXISTS', 'ql:oarlock:rules', 'window:' .. window) == 0 then
      refuse('Put', 'the rules have no window ' .. excerpt(window))
    end
  end
  return list[1] and list or nil
end

-- said_wants(text) -> what the field says; nothing, if somebody damaged it
-- Rare.
function said_wants(text)
  local ok, wants = pcall(cjson.decode, text)
  if not ok or type(wants) ~= 'table' then return {} end
  return {
    bypass = wants.bypass == true,
    weight = is_weight(wants.weight) and wants.weight or nil,
    windows = type(wants.windows) == 'table' and wants.windows or nil,
  }
end

-- named_windows(g, list) -> as the rules of a queue have them; nil if the rules have none of them any more
-- Rare.
function named_windows(g, list)
  local windows = {}
  for i = 1, math.min(#list, most_windows) do
    local name = tostring(list[i])
    if string.find(name, '|', 1, true) then
      windows[#windows + 1] = { spec = name }
    else
      local text = redis.call('HGET', 'ql:oarlock:rules', 'window:' .. name)
      local ok, window = pcall(cjson.decode, text or '')
      if ok and type(window) == 'table' and type(window.spec) == 'string' then
        windows[#windows + 1] = { spec = window.spec, margin = numeric(window.margin, 0), stop = window.stop == true }
      end
    end
  end
  return windows[1] and windows or nil
end
