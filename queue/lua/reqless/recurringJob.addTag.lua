-- recurringJob.addTag(now, jid [, tag]...) -> JSON list of all tags, [] if none
-- As recur.tag.
return qless.recur.tag()
