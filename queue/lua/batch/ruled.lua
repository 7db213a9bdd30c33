-- ruled(now, ..., expects) -> what exchange answers, version, concerned, wanted, counts
-- As exchange, with the same arguments but the last, where queues have rules: a job runs only when it has all the places that it
-- needs; until then it stands in a waitlist. See lib/gate.lua.
--
--   expects     may be left out: 1 if the caller was told of rules. Where there are none any more, Redis has lost its keys: nothing is taken
--   version     of the rules, '' if there are none
--   concerned   1 if a queue of the call is ruled, or a settled job had places: else exchange would have done; 2 if expected rules are gone
--   wanted      specs of windows of which learn is to be told
--   counts      flat list of queue, word, and of how many jobs the gate said it; see open_gate
--
-- Reads    ql:oarlock:rules; ql:oarlock:windows; ql:th:<tid>, and what it writes
-- Writes   what exchange writes; ql:th:<tid>-locks; ql:q:<queue>-throttled; ql:j:<jid>  throttles, oarlock-gate;
--          ql:oarlock:waitlist:*, waitlists, open, due; rota, over, rested, virtual, wait, eldest, starts; seen, orders, waited, held
-- Sends    what exchange sends; the queue's name on ql:oarlock:wake
local now, worker = tonumber(ARGV[1]), ARGV[2]
local settlements, at = read_settlements(3)
local order, cursor, count, max_job = ARGV[at], tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2]), tonumber(ARGV[at + 3])
local bytes = call_bytes
if not count then count, bytes = read_count(ARGV[at + 2]) end
local passes
if not max_job then max_job, passes = read_passes(ARGV[at + 3]) end
local queues, heads = {}, {}
for i = at + 5, #ARGV - 1, 2 do queues[#queues + 1], heads[#heads + 1] = ARGV[i], ARGV[i + 1] end
local batch = open_batch(now, worker, count > 0 and #queues > 0 and queues)
batch.spare, batch.bytes, batch.passes = ARGV[at + 4] == '1', bytes, passes
local g, concerned = open_gate(batch), 0
local version = batch.version or ''
local gone = version == '' and ARGV[at + 5 + 2 * #queues] and redis.pcall('HEXISTS', 'ql:oarlock:rules', 'version') == 0
if gone then count = 0 end
batch.gate, batch.gated, batch.give_places, batch.pop_ruled = g, {}, give_places, pop_ruled
for _, queue in ipairs(queues) do
  if rules_of(g, queue) then batch.gated[queue], concerned = true, 1 end
end
for _, s in ipairs(settlements) do
  if rules_of(g, s.queue) then concerned = 1 end
end
if order == 'oldest' and next(batch.gated) then batch.by_age = take_by_age end
local results = settle_all(batch, settlements)
if g.giving then
  concerned = 1
  given_places(g)
end
if batch.unblocking or #settlements == 0 and count == 0 then go_on(batch, #settlements == 0 and count == 0) end
local ok, jobs, broken, due, next, more, left = pcall(take_all, batch, queues, heads, order, cursor, count, max_job)
if not ok then
  if not batch.wrote then raise(jobs) end
  report(batch, '', '', jobs)
  jobs, broken, due, next, more, left = batch.jobs, batch.broken, '0', cursor, 0, {}
end
if g.waiting or g.given then
  local told, raised = pcall(tell_others, g, queues, count)
  if not told then report(batch, '', '', raised) end
end
local counts = {}
for queue, words in pairs(g.counts) do
  for word, n in pairs(words) do counts[#counts + 1], counts[#counts + 2], counts[#counts + 3] = queue, word, n end
end
return { results, jobs, broken, due, next, more, left, batch.rest, version, gone and 2 or concerned, g.wanted or {}, counts }
