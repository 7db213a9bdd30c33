-- exchange(now, worker, count, [jid, queue, popped, action, options, puts]...,
--          order, cursor, count, max_job, spare, [queue, head]..., edition)
--   -> list of results, jobs, broken entries, due, cursor, more, left, rest, edition; or the word ruled
-- Settles jobs that ended and takes new ones, in this order.
--
--   popped    the job's field time as it was popped; it is lost if it was popped again since.
--             Empty: not asked
--   action    complete, fail, retry, release (given back uncounted), cancel, requeue (put again, into next or its own queue),
--             park (waits for an answer, delay at most), or leave (its job was taken from us: key and places of the attempt
--             are free)
--   options   how many, then so many names and values: data, next, depends, delay; group,
--             message; counter (crash, interruption, spared, death, batch), max-crashes, front;
--             checkpoint, record, unstarted, unknown, batch, cleared, trace; correlation, then (park); response (retry: drop)
--   puts      how many, then so many jobs as the batch command put reads them; put only if the
--             settlement is accepted
--   order     ordered, round-robin or oldest; cursor: where round-robin goes on
--   count     how many to take, and behind a slash how many bytes of data at most, where that is less than a call brings
--   max_job   bytes of data above which it is withheld, 0 for any; and behind a blank, a JSON object of queues and lists of classes: their jobs are
--             passed over, and stay where they are
--   spare     1 to leave locks alone that have run out; else they are looked after, as by pop. 2 to hurry: as long as there are jobs
--             enough in the first queue, the call neither looks after locks nor for what is due, prunes nothing and lets the worker's time
--             in the register be. More than one character: the time of the call as a job's hash keeps it; the call hurries and asks whether it is plain, of a
--             take that is served by its first queue as long as that has jobs; see plain/exchange.lua
--   head      when the next job of the queue was put, as far as the caller knows: oldest looks at
--             a queue when its turn comes by that. Empty: not known, it is looked at first
--   edition   may be left out: the key of one of which an answer told that it says nothing of the queues, which includes those of the settlements.
--             All of these are a bare complete, fail, retry or release: without next and puts
--   results   per settlement the word complete, or a list of the job's state (waiting,
--             scheduled, depends, stalled, failed), or lost, or refused; the reason for these
--             two; remaining; crashes; if it has puts, the list that put answers
--   jobs      per job jid, queue, klass, data (null if withheld), its size, tags, priority,
--             retries, remaining, expires, time, and null or a list of names and values of ours:
--             those of told_fields in write_ours that it has, payloads, key, places and closes; and null, or why it is damaged
--   broken    per entry queue, jid, reason
--   due       when the next delayed or recurring job of the queues is due; 0 if none is known
--   more      1 if the take ended because it had done enough for one call: the next is to come
--             at once. Nothing is known then of queues that gave no job
--   left      pairs of the index of a queue, from 1, and when its next job was put; 0 if nothing of
--             it can be taken now. Of the other queues it is not known
--   rest      1 if jobs are left that are to be freed or pruned: whoever has nothing else to do goes on
--             with that by a call without settlements and takes
--
--   edition   the key of one of rules that say nothing of the queues: the next call may name it. Left out where they do, where there are none, and if
--             the call knew it
--   plain     where the call asked for it: all settlements are complete, and instead of all that the answer is when the locks end, and per job
--             a list: klass, data, tags, priority, retries, remaining, time, jid; and why it is damaged, if it is
--   ruled     nothing was done: a queue of the call is ruled, or, where there are rules, a settled job
--             has throttles. The command of that name does it, with the same arguments
--
-- A settlement that is refused changes no key. What it leaves otherwise is what the
-- protocol's complete, fail, retry and pop leave, one after the other; release has no
-- counterpart there.
local now, worker = tonumber(ARGV[1]), ARGV[2]
local settlements, at = read_settlements(3)
local order, cursor, count, max_job = ARGV[at], tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2]), tonumber(ARGV[at + 3])
local bytes = call_bytes
if not count then count, bytes = read_count(ARGV[at + 2]) end
local passes
if not max_job then max_job, passes = read_passes(ARGV[at + 3]) end
local queues, heads = {}, {}
for i = at + 5, #ARGV - 1, 2 do queues[#queues + 1], heads[#heads + 1] = ARGV[i], ARGV[i + 1] end
local batch = open_batch(now, worker, count > 0 and #queues > 0 and queues, settlements, queues, ARGV[at + 5 + 2 * #queues])
batch.spare, batch.bytes, batch.passes = ARGV[at + 4] == '1', bytes, passes
if not batch.edition then batch.ruled = batch.ruled or false end
if batch.concerned then return 'ruled' end
batch.hurries = (ARGV[at + 4] == '2' or #ARGV[at + 4] > 1) and #settlements > 0
local results = settle_all(batch, settlements, already)
if not results then return 'ruled' end
batch.hurries = batch.hurries and batch.wrote -- the first write of the call is one that tells whether Redis writes at all
if batch.unblocking or #settlements == 0 and count == 0 then go_on(batch, #settlements == 0 and count == 0) end
local ok, jobs, broken, due, next, more, left = pcall(take_all, batch, queues, heads, order, cursor, count, max_job)
if not ok then
  if not batch.wrote then raise(jobs) end
  report(batch, '', '', jobs)
  jobs, broken, due, next, more, left = batch.jobs, batch.broken, '0', cursor, 0, {}
end
return { results, jobs, broken, due, next, more, left, batch.rest, batch.tells }
