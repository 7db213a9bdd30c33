-- The job as clients read it: one JSON object, with its members in the order the
-- original gives them. Text that is JSON already is copied, not decoded.

-- view(jid, job, tracked, newest) -> JSON
--   job      as load_job returned it, perhaps with newer values put in
--   tracked  truth
--   newest   the last entry of the history as view_entry would show it, if the
--            caller knows it; it is not read then
function view(jid, job, tracked, newest)
  if job.history then convert_history(jid, job.history) end
  local key = 'ql:j:' .. jid
  local expires = job.expires
  if not expires or expires == '' then expires = '0' end
  local alone = redis.call('EXISTS', key .. '-dependencies', key .. '-dependents') == 0
  return '{"jid":' .. cjson.encode(jid)
    .. (job.retries and ',"retries":' .. json_number(job.retries) or '')
    .. ',"data":' .. cjson.encode(job.data)
    .. ',"failure":' .. view_failure(job.failure)
    .. ',"expires":' .. json_number(expires)
    .. ',"remaining":' .. text14(math.floor(tonumber(job.remaining) or 0))
    .. ',"spawned_from_jid":' .. cjson.encode(job.spawned)
    .. ',"dependencies":' .. (alone and '{}' or cjson.encode(set_of(key .. '-dependencies')))
    .. ',"klass":' .. cjson.encode(job.klass)
    .. ',"tracked":' .. (tracked and 'true' or 'false')
    .. ',"tags":' .. shown_list(job.tags)
    .. ',"queue":' .. cjson.encode(job.queue)
    .. ',"state":' .. cjson.encode(job.state)
    .. ',"history":' .. view_history(list_of(key .. '-history', newest and '-2' or '-1'), newest)
    .. ',"dependents":' .. (alone and '{}' or cjson.encode(set_of(key .. '-dependents')))
    .. (reqless and ',"throttles":' .. shown_list(job.throttles) or '')
    .. (job.priority and ',"priority":' .. json_number(job.priority) or '')
    .. ',"worker":' .. cjson.encode(job.worker or '') .. '}'
end

-- shown_list(text) -> JSON of a stored list; an empty one is {}, as ever
function shown_list(text)
  if not text or text == '{}' then return '{}' end
  return cjson.encode(cjson.decode(text))
end

-- view_failure(text) -> JSON of a stored failure
function view_failure(text)
  if not text or text == '{}' then return '{}' end
  local group, message, rest = string.match(text, '^{("group":.*),("message":.*),("when":.*)}$')
  if not group then return text end
  return '{' .. message .. ',' .. group .. ',' .. rest .. '}'
end

-- view_history(entries, newest) -> JSON
--   newest   one more entry, shown already, or nil
function view_history(entries, newest)
  for i, entry in ipairs(entries) do entries[i] = view_entry(entry) end
  entries[#entries + 1] = newest
  if #entries == 0 then return '{}' end
  return '[' .. table.concat(entries, ',') .. ']'
end

-- view_entry(entry) -> JSON object: when, what, and the members of the third element
-- The usual shapes are recognised as text, others are decoded.
function view_entry(entry)
  local when, what, extra = string.match(entry, '^%[(%-?%d+),("[^"\\]*"),{("[^{}]*)}%]$')
  if when and not string.find(extra, '"wh', 1, true) then
    if what == '"put"' or what == '"throttled"' then
      -- The dialects name the queue differently; each reads the other's entries.
      local queue = string.match(extra, '^"q[ue]*":(.*)')
      if queue and reqless then extra = '"queue":' .. queue end
      if queue and not reqless then
        return '{"when":' .. when .. ',"q":' .. queue .. ',"what":' .. what .. '}'
      end
    elseif what == '"failed"' then
      local group, worker = string.match(extra, '^("group":.*),("worker":.*)$')
      if group then return '{' .. group .. ',"what":' .. what .. ',"when":' .. when .. ',' .. worker .. '}' end
      return '{"when":' .. when .. ',' .. extra .. ',"what":' .. what .. '}'
    end
    return '{"when":' .. when .. ',"what":' .. what .. ',' .. extra .. '}'
  end
  when, what = string.match(entry, '^%[(%-?%d+),("[^"\\]*")%]$')
  if when then return '{"when":' .. when .. ',"what":' .. what .. '}' end

  local decoded = cjson.decode(entry)
  local shown = type(decoded[3]) == 'table' and decoded[3] or {}
  shown.when, shown.what = decoded[1], decoded[2]
  return cjson.encode(shown)
end

-- view_all(jids) -> JSON list of those that exist
function view_all(jids)
  local views = {}
  local any_tracked = redis.call('EXISTS', 'ql:tracked') == 1
  for _, jid in ipairs(jids) do
    local job = load_job(jid)
    if job then
      views[#views + 1] = view(jid, job, any_tracked and redis.call('ZSCORE', 'ql:tracked', jid))
    end
  end
  return json_list(views)
end

-- json_list(texts) -> JSON list; an empty one is {} in qless and [] in reqless
function json_list(texts)
  if #texts == 0 then return reqless and '[]' or '{}' end
  return '[' .. table.concat(texts, ',') .. ']'
end

-- json_strings(list) -> JSON list; an empty one is {} in qless and [] in reqless
function json_strings(list)
  return next(list) == nil and json_list(list) or cjson.encode(list)
end
