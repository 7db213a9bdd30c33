-- track_job(jid, now) -> '1', or '0' if it was tracked already
function track_job(jid, now)
  redis.call('PUBLISH', 'ql:track', jid)
  return text14(redis.call('ZADD', 'ql:tracked', now, jid))
end

-- untrack_job(jid) -> '1', or '0' if it was not tracked
function untrack_job(jid)
  redis.call('PUBLISH', 'ql:untrack', jid)
  return text14(redis.call('ZREM', 'ql:tracked', jid))
end

-- view_tracked() -> JSON; lists without members are {} in both dialects
function view_tracked()
  local expired, views = {}, {}
  for _, jid in ipairs(redis.call('ZRANGE', 'ql:tracked', '0', '-1')) do
    local job = load_job(jid)
    if job then
      views[#views + 1] = view(jid, job, true)
    else
      expired[#expired + 1] = jid
    end
  end
  return '{"expired":' .. cjson.encode(expired)
    .. ',"jobs":' .. (#views == 0 and '{}' or '[' .. table.concat(views, ',') .. ']') .. '}'
end
