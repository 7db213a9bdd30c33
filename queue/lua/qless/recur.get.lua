-- recur.get(now, jid) -> the recurring job as JSON, or null
--
-- Refuses  "Recurring(): no jid provided"
-- Reads    ql:r:<jid>
return view_recurring(ARGV[2] or refuse('Recurring', 'no jid provided'))
