-- queues.names(now) -> JSON list of the known queues, oldest first
return json_strings(redis.call('ZRANGE', 'ql:queues', '0', '-1'))
