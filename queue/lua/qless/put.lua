-- put(now, worker, queue, jid, klass, data, delay [, option, value]...) -> jid
-- Creates a job, or moves an existing one to a queue, whatever its state.
--
--   worker    who asks; the job's owner is told of its lost lock unless it is the same
--   data      JSON, stored byte for byte
--   delay     seconds; not above 0 means none
--   options   priority  number, the highest is popped first   the old job's, or 0
--             tags      JSON list of strings                  the old job's, or none
--             retries   number                                the old job's, or 5
--             depends   JSON list of jids; [] leaves the dependencies as they are
--             throttles JSON list of throttle ids, reqless only            none
--   ours      key       1 to 512 bytes: of the jobs of a key in a queue one at a time runs, in the order of their puts
--             merge     all, set, last or first, with key: while a job of the key waits that merges alike, it gets the data, no job
--                       is made, and the reply is its jid; none
--             score     number, with merge: orders what merged                now
--             weight, bypass, windows: what it says itself of what it needs to run in a queue with rules, in place of what they say of
--                       its class: places of each throttle, 1 to 100; 1: none; JSON list of names of windows of the rules, and of
--                       zone|span|span. Where none of the three is said                 the old job's, or none
--
-- Refuses  "Queue(): no queue name provided", "Put(): Arg ..."  an argument will not do
--          "Odd number of additional args"                       a name without a value
--          "Put(): key must ...", "Put(): merge ...", "Put(): score ...", "Put(): weight ..." and of windows
-- Reads    ql:config  max-job-history; ql:oarlock:rules; ql:j:<jid>; ql:tracked; in reqless ql:th:<tid>
-- Writes   ql:j:<jid> and its sets, ql:q:<queue>-work|scheduled|depends|throttled,
--          ql:queues, ql:t:<tag>, ql:tags; all places where the job was before
-- Sends    put and lock_lost on ql:log, lock_lost to the owner, ql:put if tracked
local now, worker, queue, jid = tonumber(ARGV[1]), ARGV[2], given_queue(ARGV[3]), ARGV[4]
local delay = check_put(jid, ARGV[5], ARGV[6], ARGV[7])
local named = options(8)
if named.score and not named.merge then refuse('Put', 'score needs merge') end
local wants = next(named) and says_wants(named) and given_wants(queue, named)
if named.merge then
  jid = put_or_merge(now, worker, queue, jid, ARGV[5], ARGV[6], delay, named)
else
  local moved = put_job(now, worker, queue, jid, ARGV[5], ARGV[6], delay, named)
  if moved then move_run(jid, moved, queue) end
end
if wants then write_wants(jid, wants) end
register(queue)
return jid
