-- tag_job(jid, first) -> JSON list of all the job's tags
--   first   where the tags begin in ARGV
-- A tag the job has already counts once more.
function tag_job(jid, first)
  local tags = job_tags(jid)
  local known = {}
  for _, tag in ipairs(tags) do known[tag] = true end
  local added = arguments(first)
  for _, tag in ipairs(added) do
    if not known[tag] then
      known[tag] = true
      tags[#tags + 1] = tag
    end
  end
  index_tags(jid, added)
  return store_tags(jid, tags)
end

-- untag_job(jid, first) -> JSON list of the tags left
-- A tag the job does not have counts down all the same.
function untag_job(jid, first)
  local tags = job_tags(jid)
  unindex_tags(jid, arguments(first))
  return store_tags(jid, without(tags, ARGV, first))
end

-- job_tags(jid) -> list, or a refusal
function job_tags(jid)
  local tags = redis.call('HGET', 'ql:j:' .. jid, 'tags')
  if not tags then refuse('Tag', 'Job ' .. jid .. ' does not exist') end
  return stored_tags(tags)
end

-- store_tags(jid, tags) -> JSON, as the command replies it
function store_tags(jid, tags)
  redis.call('HSET', 'ql:j:' .. jid, 'tags', cjson.encode(tags))
  return json_strings(tags)
end

-- page_of_tag(tag, offset, count) -> JSON of jids in the order of tagging, and their number
function page_of_tag(tag, offset, count)
  local key = 'ql:t:' .. tag
  return '{"jobs":' .. cjson.encode(redis.call('ZRANGE', key, page(offset, count)))
    .. ',"total":' .. redis.call('ZCARD', key) .. '}'
end

-- top_tags(offset, count) -> JSON list of the tags used at least twice, most used first
function top_tags(offset, count)
  local tags = redis.call('ZREVRANGEBYSCORE', 'ql:tags', '+inf', '2', 'LIMIT', offset, count)
  return json_strings(tags)
end
