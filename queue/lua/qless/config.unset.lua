-- config.unset(now, name) -> null
--
-- Refuses  "config.unset(): Arg "option" missing"
-- Writes   ql:config
-- Sends    config_unset on ql:log
local name = given(ARGV[2], 'config.unset', 'option')
announce('{"event":"config_unset","option":' .. cjson.encode(name) .. '}')
redis.call('HDEL', 'ql:config', name)
