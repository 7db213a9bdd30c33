-- fairness(now, most, [queue]...) -> list
-- How the turns of fair queues go on, without changing anything.
--
--   most   read at most about this number of waitlists per queue
--   list   per queue 8 values: the throttle by whose values the queue is fair, '' if it is not fair; how many values wait; 1 if more
--          may wait than were read; the value with the next turn, '' if that is not known; the value of the waitlist of which
--          nothing has started for longest, '' if none waits, and since when; how many jobs are not sorted by their values
--          yet; what is wrong with one of the keys, which makes the others '' and 0, or ''
--
-- Reads    ql:oarlock:rules; ql:oarlock:waitlists:<queue>, open, waitlist:*, fair:*, rota:<tid>; ql:q:<queue>-work; ql:j:<jid>  throttles
local now, most, reply = tonumber(ARGV[1]), ARGV[2], {}

local function read_list(queue, line, record)
  local id = #queue .. ':' .. queue .. line
  local list = { queue = queue, line = line, id = id, key = 'ql:oarlock:waitlist:' .. id, record = record }
  return record and read_record(list) and list or nil
end

-- value_waiting(g, rules, list) -> the value of its jobs
local function value_waiting(g, rules, list)
  if list.tid == rules.fair then return list.party end
  return value_in(g, rules, list)
end

-- next_value(g, rules, queue) -> see above
-- Stored ranks may be too high, never too low: those of the first are worked out anew. Of equal ones the higher head starts first.
local function next_value(g, rules, queue)
  local best, rank, at
  local open = ask('ZREVRANGE', 'ql:oarlock:open:' .. queue, '0', '31', 'WITHSCORES')
  for i = 1, #open, 2 do
    if rank and tonumber(open[i + 1]) < rank then break end
    local list = read_list(queue, open[i], ask('HGET', 'ql:oarlock:waitlists:' .. queue, open[i]))
    local place = list and tonumber(ask('ZREVRANGE', list.key, '0', '0', 'WITHSCORES')[2])
    local its = place and tonumber(rank_of(g, rules, list, place))
    if its and not (rank and (rank > its or rank == its and at >= place)) then best, rank, at = value_waiting(g, rules, list), its, place end
  end
  if best or rules.turns_only then return best or '' end
  return ask('ZRANGE', 'ql:oarlock:rota:' .. rules.fair, '0', '0')[1] or ''
end

local function look(queue)
  local text = redis.call('HGET', 'ql:oarlock:rules', 'q:' .. queue)
  local rules = text and read_rules(text)
  if not (rules and rules.fair) then return { '', 0, 0, '', '', '0', 0, '' } end
  local g = { now = now, rules = { [queue] = rules }, defined = {}, places = {}, lists = {}, batch = {} }
  local part = ask('HSCAN', 'ql:oarlock:waitlists:' .. queue, '0', 'COUNT', most)
  local seen, values, longest, since = {}, 0, '', nil
  for i = 1, #part[2], 2 do
    local list = part[2][i] ~= 'shape' and read_list(queue, part[2][i], part[2][i + 1])
    local value = list and value_waiting(g, rules, list)
    if value and not seen[value] then seen[value], values = true, values + 1 end
    if value and not (since and since <= list.since) then longest, since = value, list.since end
  end
  local unsorted = ask('ZCARD', 'ql:q:' .. queue .. '-work')
  return { rules.fair, values, part[1] ~= '0' and 1 or 0, next_value(g, rules, queue), longest, text17(since or 0), unsorted, '' }
end

for i = 3, #ARGV do
  local ok, values = pcall(look, ARGV[i])
  if not ok then values = { '', 0, 0, '', '', '0', 0, reason_of(values) } end
  for n = 1, 8 do reply[8 * (i - 3) + n] = values[n] end
end
return reply
