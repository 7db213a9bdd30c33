-- recur.untag(now, jid [, tag]...) -> JSON list of the tags left, {} if there are none
--
-- Refuses  "Recurring(): no jid provided", "Untag(): Job <jid> does not exist"
-- Reads    ql:r:<jid>  tags
-- Writes   ql:r:<jid>  tags
local jid = ARGV[2] or refuse('Recurring', 'no jid provided')
local text = cjson.encode(without(recurring_tags(jid, 'Untag'), ARGV, 3))
redis.call('HSET', 'ql:r:' .. jid, 'tags', text)
return text
