-- tag(now, 'add', jid [, tag]...) -> JSON list of all the job's tags
-- tag(now, 'remove', jid [, tag]...) -> JSON list of the tags left, {} if none
-- tag(now, 'get', tag [, offset [, count]]) -> {"jobs": [jid...], "total": n} as JSON,
-- in the order of tagging
-- tag(now, 'top' [, offset [, count]]) -> JSON list of the tags used at least twice,
-- most used first
--
-- Refuses  "Tag(): Arg ...", "Tag(): Job <jid> does not exist", "Tag(): First argument ..."
-- Reads    ql:j:<jid>  tags; ql:t:<tag>; ql:tags
-- Writes   the same, for add and remove
local command = given(ARGV[2], 'Tag', 'command')
if command == 'add' then
  return tag_job(given(ARGV[3], 'Tag', 'jid'), 4)
elseif command == 'remove' then
  return untag_job(given(ARGV[3], 'Tag', 'jid'), 4)
elseif command == 'get' then
  return page_of_tag(given(ARGV[3], 'Tag', 'tag'), page_arguments(4, 'Tag', 'offset', 'count'))
elseif command == 'top' then
  return top_tags(page_arguments(3, 'Tag', 'offset', 'count'))
end
refuse('Tag', 'First argument must be "add", "remove", "get" or "top"')
