-- beyond(ns, prefix, name, jid, tags, throttles, depends, id, ...) -> id, what, '', ...
-- Which jobs, or recurring jobs, have more than a put may give them.
--   prefix   of their hashes: 'j:' or 'r:'
--   name     bytes of a name at most; jid: bytes of a jid; tags, throttles, depends: how many at most
--   what     words such as 'klass', 'tags' and 'dependents', with blanks between them; or 'later': its lists are too long for this call
local prefix, most_name, most_jid = ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
local most = { tags = tonumber(ARGV[5]), throttles = tonumber(ARGV[6]), depends = tonumber(ARGV[7]) }
local left = 1048576 -- bytes of lists that are read in one call

-- excess(key, field) -> 'later', or whether a stored list has too many names, or one that is too long
local function excess(key, field)
  local size = redis.call('HSTRLEN', key, field)
  if size <= 3 * most[field] then return false end -- no name of it can be too long, nor can they be too many
  if size > most[field] * (most_name + 4) then return true end
  if size > left then return 'later' end
  left = left - size
  local ok, names = pcall(cjson.decode, redis.call('HGET', key, field))
  if not ok or type(names) ~= 'table' then return false end
  for _, name in ipairs(names) do
    if #tostring(name) > most_name then return true end
  end
  return #names > most[field]
end

local function above(key, most_members)
  local n = redis.pcall('SCARD', key)
  return type(n) == 'number' and n > most_members
end

return each(8, function(id)
  local key, found = ns .. prefix .. id, {}
  if #id > most_jid then found[1] = 'jid' end
  for _, field in ipairs({ 'klass', 'queue' }) do
    if redis.call('HSTRLEN', key, field) > most_name then found[#found + 1] = field end
  end
  for _, field in ipairs({ 'tags', 'throttles' }) do
    local is = excess(key, field)
    if is == 'later' then return 'later', '' end
    if is then found[#found + 1] = field end
  end
  if above(key .. '-dependencies', most.depends) then found[#found + 1] = 'dependencies' end
  if above(key .. '-dependents', most.depends) then found[#found + 1] = 'dependents' end
  if #found > 0 then return table.concat(found, ' '), '' end
end)
