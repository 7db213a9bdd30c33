-- config.set(now, name, value) -> null
-- Nothing checks that a setting has a meaning.
--
-- Refuses  "config.set(): Arg ..."
-- Writes   ql:config
-- Sends    config_set on ql:log
local name, value = given(ARGV[2], 'config.set', 'option'), given(ARGV[3], 'config.set', 'value')
announce('{"option":' .. cjson.encode(name) .. ',"event":"config_set","value":' .. cjson.encode(value) .. '}')
redis.call('HSET', 'ql:config', name, value)
