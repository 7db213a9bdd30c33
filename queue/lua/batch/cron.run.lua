-- cron.run(now, [name, rev, due, next, missed, runs, [time, jid]...]...) -> list
-- Puts the runs of recurring jobs that are due, each once, however often and by whomever that is
-- asked: only if nothing changed since the caller looked, and only new jobs.
--
--   rev, due   as cron.due answered them
--   next       when the run after these is due; '+inf' if none will be
--   missed     how many runs are given up; '' if the caller cannot say, and looks again in a while
--   runs       how many follow, oldest first: when each was due, and the jid that it gets
--   list       per name a list: ran, changed (nothing was done), or refused; how many were
--              put; how many were skipped because the last run was not over; why it was refused
--
-- overlap says what becomes of a run while the job of the last is not complete, failed or gone:
-- allow puts it, skip does not, queue-one keeps one until it is.
--
-- Reads    ql:oarlock:cron:<name>, ql:j:<jid> of the last run
-- Writes   what the protocol's put writes; ql:oarlock:cron:<name>, ql:oarlock:crons, ql:j:<jid> of one that merges
-- Sends    what it sends, and the queue's name on ql:oarlock:wake
local batch = open_batch(tonumber(ARGV[1]), '')
local reply, at = {}, 2
while ARGV[at] do
  local name, rev, due, following, missed, runs = ARGV[at], ARGV[at + 1], ARGV[at + 2], ARGV[at + 3], ARGV[at + 4], tonumber(ARGV[at + 5])
  at = at + 6
  local times = {}
  for i = 1, runs do times[i] = { ARGV[at + 2 * i - 2], ARGV[at + 2 * i - 1] } end
  at = at + 2 * runs
  local ok, answer = pcall(run_cron, batch, name, rev, due, following, missed, times)
  reply[#reply + 1] = ok and answer or put_off(batch, name, 0, 0, reason_of(answer))
end
return reply
