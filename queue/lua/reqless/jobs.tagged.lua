-- jobs.tagged(now, tag [, offset [, limit]]) -> {"jobs": [jid...], "total": n} as JSON
-- As tag get.
return page_of_tag(given(ARGV[2], 'Tag', 'tag'), page_arguments(3, 'Tag', 'offset', 'limit'))
