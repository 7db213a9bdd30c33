-- job.addTag(now, jid [, tag]...) -> JSON list of all the job's tags, [] if none
-- As tag add.
return tag_job(given(ARGV[2], 'Tag', 'jid'), 3)
