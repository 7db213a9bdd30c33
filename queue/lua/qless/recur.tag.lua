-- recur.tag(now, jid [, tag]...) -> JSON list of all tags, {} if there are none
-- Adds tags that are not there yet. One that is named twice in a call is added
-- twice, as ever.
--
-- Refuses  "Recurring(): no jid provided", "Tag(): Job <jid> does not exist"
-- Reads    ql:r:<jid>  tags
-- Writes   ql:r:<jid>  tags
local jid = ARGV[2] or refuse('Recurring', 'no jid provided')
local tags = recurring_tags(jid, 'Tag')
local known = {}
for _, tag in ipairs(tags) do known[tag] = true end
for i = 3, #ARGV do
  if not known[ARGV[i]] then tags[#tags + 1] = ARGV[i] end
end
local text = json_strings(tags)
redis.call('HSET', 'ql:r:' .. jid, 'tags', text)
return text
