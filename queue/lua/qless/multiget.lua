-- multiget(now [, jid]...) -> JSON list of the jobs that exist, in the order asked
--
-- Reads    ql:j:<jid>, its history and sets; ql:tracked
-- Writes   a history in the old form is moved to its list
table.remove(ARGV, 1)
return view_all(ARGV)
