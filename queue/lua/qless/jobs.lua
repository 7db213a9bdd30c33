-- jobs(now, 'complete' [, offset [, count]]) -> jids, as a list; newest first
-- jobs(now, state, queue [, offset [, count]]) -> jids, as a list
--
--   state   running, stalled, scheduled, depends, recurring
--
-- Refuses  "Jobs(): Arg ...", "Jobs(): Unknown type "<state>""
-- Reads    ql:completed, or a set of the queue
-- Writes   delayed jobs that are due become ready, if those are asked for
local now, state = tonumber(ARGV[1]), given(ARGV[2], 'Jobs', 'state')
if state == 'complete' then
  return redis.call('ZREVRANGE', 'ql:completed', page(page_arguments(3, 'Jobs', 'offset', 'count')))
end
local queue = given(ARGV[3], 'Jobs', 'queue')
return jobs_in_state(state, queue, now, page_arguments(4, 'Jobs', 'offset', 'count'))
