-- put(now, worker, count, [queue, jid, klass, data, delay, options]..., edition) -> list
-- Puts many jobs; each is put, or refused, on its own.
--
--   worker   who asks, as in the protocol's put
--   data     JSON text, which the caller has checked; stored byte for byte
--   delay    seconds from now, at least 0
--   options  how many, then so many names and values: priority, tags, retries, depends as
--            in the protocol's put; throttles; key, at (seconds since the epoch, in place of delay), timeout (seconds), correlation and trace (ours); after (seconds: by so much later than now its place is reckoned); weight, bypass and windows, as in the protocol's put; if-exists: final (put
--            only if the job there is complete or failed) or never; else it is replaced; replace-in (a JSON list): it is
--            replaced only if it is in one of these queues, or in none
--   edition  may be left out: the key of one of which an answer told that it says nothing of new jobs
--   list     per job put, or put: and the state of the job that it replaced, or the state of the job that is in its way (if-exists; nothing
--            was changed), or a list of the reason why it was refused; and behind them all, if it is to be named
--            by the next call, the key of an edition of rules that say nothing of new jobs, whatever their queue
--
-- Writes   what the protocol's put writes; oarlock-queue, and the fields of what is ours
-- Sends    what it sends, and the queue's name on ql:oarlock:wake, once
local puts, at = read_puts(3)
local reply, batch = {}, open_batch(tonumber(ARGV[1]), ARGV[2], nil, nil, nil, ARGV[at])
enter_all(batch, puts, reply)
reply[#puts + 1] = batch.tells
if batch.freed then let_waiters_try(batch) end
return reply
