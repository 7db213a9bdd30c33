-- recurringJob.removeTag(now, jid [, tag]...) -> JSON list of the tags left, {} if none
-- As recur.untag.
return qless.recur.untag()
