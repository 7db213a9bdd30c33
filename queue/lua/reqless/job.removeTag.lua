-- job.removeTag(now, jid [, tag]...) -> JSON list of the tags left, [] if none
-- As tag remove.
return untag_job(given(ARGV[2], 'Tag', 'jid'), 3)
