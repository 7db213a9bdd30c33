-- jobs.tracked(now) -> {"expired": [jid...], "jobs": [job...]} as JSON
-- As track without arguments.
return view_tracked()
