-- config.get(now, name) -> the setting, or its default, as text; or null
--
-- Refuses  "config.get(): Argument 'key' missing"
-- Reads    ql:config
local name = ARGV[2] or refuse('config.get', "Argument 'key' missing")
return redis.call('HGET', 'ql:config', name) or reqless_defaults[name]
