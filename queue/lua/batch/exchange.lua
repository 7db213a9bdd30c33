-- exchange(now, worker, count, [jid, queue, popped, action, options, puts]...,
--          order, cursor, count, max_job, spare, [queue]...)
--   -> list of results, jobs, broken entries, due, cursor
-- Settles jobs that ended and takes new ones, in this order.
--
--   popped    the job's field time as it was popped; it is lost if it was popped again since.
--             Empty: not asked
--   action    complete, fail, retry, or release (given back uncounted)
--   options   how many, then so many names and values: data, next, depends, delay; group,
--             message; counter (crash, interruption, release), max-crashes, front;
--             checkpoint, record
--   puts      how many, then so many jobs as the batch command put reads them; put only if the
--             settlement is accepted
--   order     ordered, round-robin or oldest; cursor: where round-robin goes on
--   count     how many to take; max_job: bytes of data above which it is withheld, 0 for any
--   spare     1 to leave locks alone that have run out; else they are looked after, as by pop
--   results   per settlement the word complete, or a list of the job's state (waiting,
--             scheduled, depends, stalled, failed), or lost, or refused; the reason for these
--             two; remaining; crashes; if it has puts, the list that put answers
--   jobs      per job jid, queue, klass, data (null if withheld), its size, tags, priority,
--             retries, remaining, expires, time, and null or a list of ours: crashes,
--             interruptions, releases, checkpoint, timeout
--   broken    per entry queue, jid, reason
--   due       when the next delayed or recurring job of the queues is due; 0 if none is known
--
-- A settlement that is refused changes no key. What it leaves otherwise is what the
-- protocol's complete, fail, retry and pop leave, one after the other; release has no
-- counterpart there.
local now, worker = tonumber(ARGV[1]), ARGV[2]
local settlements, at = read_settlements(3)
local order, cursor, count, max_job = ARGV[at], tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2]), tonumber(ARGV[at + 3])
local queues = {}
for i = at + 5, #ARGV do queues[#queues + 1] = ARGV[i] end
local batch = open_batch(now, worker, queues)
batch.spare = ARGV[at + 4] == '1'
local results = settle_all(batch, settlements)
local ok, jobs, broken, due, next = pcall(take_all, batch, queues, order, cursor, count, max_job)
if not ok then
  if not batch.wrote then error(jobs, 0) end
  report(batch, '', '', jobs)
  jobs, broken, due, next = batch.jobs, batch.broken, '0', cursor
end
return { results, jobs, broken, due, next }
