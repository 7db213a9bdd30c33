-- jobs.completed(now [, offset [, limit]]) -> JSON list of jids, newest first
return json_strings(redis.call('ZREVRANGE', 'ql:completed', page(page_arguments(2, 'Jobs', 'offset', 'limit'))))
