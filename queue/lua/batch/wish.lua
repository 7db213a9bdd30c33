-- wish(now, worker, [jid, popped, target, verb, count, word...]...) -> list
-- Does what jobs at work want done, to themselves or to others, each in turn.
--
--   jid, popped   the job that wishes, and its field time as it was popped: nothing is done for
--                 one that the worker holds no more
--   target        the job that it is about
--   verb, words   tag and untag: tags, of which those that change nothing are passed over;
--                 track, untrack; priority: the number; note: the message, and JSON with an
--                 object or a list; cancel; requeue: the queue (empty: its own) and seconds
--                 of delay. The last two as the amendments cancel, retry and move, of what is at
--                 rest only
--   list          per wish done, or a list of lost or refused and why. Shorter than what was asked if
--                 there was too much data to be moved in one call: the others were not looked at
--
-- Reads    ql:j:<jid>, ql:j:<target>; ql:config  max-job-history
-- Writes   what the protocol's tag, track, priority, log, cancel and put write
-- Sends    what they send, and the queue's name on ql:oarlock:wake
local batch, at, reply, bytes, n = open_batch(tonumber(ARGV[1]), ARGV[2]), 3, {}, 0, 0
while ARGV[at] and bytes <= 4194304 do
  local w = { jid = ARGV[at], popped = ARGV[at + 1], target = ARGV[at + 2], verb = ARGV[at + 3] }
  local count = tonumber(ARGV[at + 4])
  w.words, at = { unpack(ARGV, at + 5, at + 4 + count) }, at + 5 + count
  local ok, word, why = pcall(grant, batch, w)
  n = n + 1
  if not ok then
    reply[n] = { 'refused', reason_of(word) }
  else
    reply[n] = word and { word, why } or 'done'
    bytes = bytes + (w.moved or 0)
  end
end
return reply
