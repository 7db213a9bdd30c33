-- amend(now, [jid, state, time, action, options]...) -> list
-- Changes jobs that were looked at before, each only if it is still as it was seen: so
-- nothing is taken from a worker that began a job meanwhile.
--
--   state, time   the job's fields as they were seen, byte for byte
--   action        retry     puts it into its own queue again, with all its retries
--                 move      puts it into another queue, likewise
--                 cancel    removes it for good, but for one that another waits for
--                           which is not cancelled in the same call
--                 timeout   takes it from its worker and puts it in front of its queue
--                 priority  changes its priority
--                 now       lets it wait no longer for its delay
--                 kill      fails it, in the group killed, though it has retries: one that waits to be tried again
--                 extend    lets a parked one wait for its delay from now
--                 tag       gives it tags
--                 untag     takes tags away from it
--   options       how many, then so many names and values: delay (seconds; retry, move, extend),
--                 queue (move), priority, tags (a JSON list; tag, untag)
--   list          per job done, or a list of a word and a text: changed and the state it is
--                 in now, gone, needed and by whom, refused and why, merged and the jid of the job that has its payloads now. Shorter than what was asked if there was too
--                 much data to be moved in one call: the others were not looked at.
--
-- A job that is put again keeps its data, priority, tags, retries, throttles and
-- dependencies, as the protocol's put does, and of ours what carry_over says.
--
-- Reads    ql:j:<jid>; ql:config  max-job-history
-- Writes   what the protocol's put, cancel, timeout and priority write; our fields of the job
-- Sends    what they send, and the queue's name on ql:oarlock:wake
local batch, list, words = open_batch(tonumber(ARGV[1]), ''), read_amendments(2), {}
local seen = {}
for i, a in ipairs(list) do
  local ok, word, why = pcall(look_again, a)
  if not ok then
    words[i] = { 'refused', reason_of(word) }
  elseif word then
    words[i] = { word, why }
  elseif seen[a.jid] then
    words[i] = { 'refused', 'it is named twice' }
  end
  seen[a.jid] = true
end
keep_needed(list, words)
local reply, bytes = {}, 0
for i, a in ipairs(list) do
  if bytes > 4194304 then break end
  if not words[i] then
    local ok, moved, word = pcall(amend, batch, a)
    words[i] = ok and (word or 'done') or { 'refused', reason_of(moved) }
    if not ok then reseat(batch, a.jid, a.queue or '', a.to) end
    if ok then bytes = bytes + moved end
  end
  reply[i] = words[i]
end
if batch.freed then let_waiters_try(batch) end
return reply
