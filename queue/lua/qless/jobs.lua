-- jobs(now, 'complete' [, offset [, count]]) -> jids, as a list; newest first
-- jobs(now, state, queue [, offset [, count]]) -> jids, as a list
--
--   state   running, stalled, scheduled, depends, recurring
--
-- Refuses  "Jobs(): Arg ...", "Jobs(): Unknown type "<state>""
-- Reads    ql:completed, or a set of the queue
-- Writes   delayed jobs that are due become ready, if those are asked for
local now, state = tonumber(ARGV[1]), given(ARGV[2], 'Jobs', 'state')
local count_name = reqless and 'limit' or 'count'
local jids
if state == 'complete' then
  jids = redis.call('ZREVRANGE', 'ql:completed', page(page_arguments(3, 'Jobs', 'offset', count_name)))
else
  local queue = given(ARGV[3], 'Jobs', 'queue')
  jids = jobs_in_state(state, queue, now, page_arguments(4, 'Jobs', 'offset', count_name))
end
return reqless and json_strings(jids) or jids
