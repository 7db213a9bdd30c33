-- config.get(now) -> JSON object of all settings
-- config.get(now, name) -> the setting as text; its default if it is not set, numbers
-- as integers; or null
--
-- Reads    ql:config
local name = ARGV[2]
if name then return redis.call('HGET', 'ql:config', name) or qless_defaults[name] end
return all_settings(qless_defaults)
