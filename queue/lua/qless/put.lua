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
--
-- Refuses  "Queue(): no queue name provided", "Put(): Arg ..."  an argument will not do
--          "Odd number of additional args"                       a name without a value
-- Reads    ql:config  max-job-history; ql:j:<jid>; ql:tracked; in reqless ql:th:<tid>
-- Writes   ql:j:<jid> and its sets, ql:q:<queue>-work|scheduled|depends|throttled,
--          ql:queues, ql:t:<tag>, ql:tags; all places where the job was before
-- Sends    put and lock_lost on ql:log, lock_lost to the owner, ql:put if tracked
local now, worker, queue, jid = tonumber(ARGV[1]), ARGV[2], given_queue(ARGV[3]), ARGV[4]
local delay = check_put(jid, ARGV[5], ARGV[6], ARGV[7])
put_job(now, worker, queue, jid, ARGV[5], ARGV[6], delay, options(8))
register(queue)
return jid
