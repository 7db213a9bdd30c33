-- log(now, jid, message [, data]) -> null
-- Adds an entry to a job's history.
--
--   data   a JSON object, or a list; kept decoded and encoded again
--
-- Refuses  "Log(): Argument '...'", "Log(): Job <jid> does not exist"
-- Reads    ql:j:<jid>; ql:config  max-job-history
-- Writes   ql:j:<jid>-history
local jid = ARGV[2] or refuse('Log', "Argument 'jid' missing")
local message = ARGV[3] or refuse('Log', "Argument 'message' missing")
local entry = '[' .. text14(math.floor(tonumber(ARGV[1]))) .. ',' .. cjson.encode(message)
if ARGV[4] then
  -- Anything else would break every reader of the job.
  local data = cjson.decode(ARGV[4])
  if type(data) ~= 'table' then refuse('Log', "Argument 'data' is neither object nor list: " .. ARGV[4]) end
  entry = entry .. ',' .. cjson.encode(data)
end
local exists, history = unpack(redis.call('HMGET', 'ql:j:' .. jid, 'jid', 'history'))
if not exists then refuse('Log', 'Job ' .. jid .. ' does not exist') end
remember(jid, entry .. ']', nil, history)
