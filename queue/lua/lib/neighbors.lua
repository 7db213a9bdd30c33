-- Names are parts of keys as they are, so the hash of job a-history has the key of the history of job a. Ours refuse such names, and clients do
-- not. The history and the dependencies of a job are lists or sets: if the key is the hash of another job, that is left alone, and the job does without.

-- is_job(key) -> whether a key of the form ql:j:<jid> is of that job
-- Rare.
function is_job(key)
  local jid = redis.pcall('HGET', key, 'jid')
  return type(jid) == 'string' and 'ql:j:' .. jid == key
end

-- delete_job(key): its hash and its history
-- LTRIM deletes a list and nothing else.
-- Rare.
function delete_job(key)
  redis.call('DEL', key)
  redis.pcall('LTRIM', key .. '-history', '1', '0')
end

-- part_of_job(command, key, ...) -> what a command reads in a list or set that belongs to a job; nothing if a job stands there
-- Rare.
function part_of_job(command, key, ...)
  local list = redis.pcall(command, key, ...)
  if type(list) == 'table' and list.err then
    if is_job(key) then return {} end
    return redis.call(command, key, ...) -- which raises
  end
  return list
end

-- set_of(key) -> what is in the dependencies or the dependents of a job
function set_of(key)
  local list = redis.pcall('SMEMBERS', key)
  return list.err and part_of_job('SMEMBERS', key) or list
end

-- list_of(key, last) -> the history of a job up to an entry
function list_of(key, last)
  local list = redis.pcall('LRANGE', key, '0', last)
  return list.err and part_of_job('LRANGE', key, '0', last) or list
end

-- has_members(key) -> whether there are any
-- Rare.
function has_members(key)
  local count = redis.pcall('SCARD', key)
  if type(count) ~= 'number' then count = #part_of_job('SMEMBERS', key) end
  return count > 0
end

-- check_neighbors(key): raises if another job stands where something of a new job is to be
-- Rare.
function check_neighbors(key)
  for part, what in pairs({ ['-history'] = 'its history', ['-dependencies'] = 'its dependencies', ['-dependents'] = 'its dependents' }) do
    if is_job(key .. part) then
      error('its jid shares a key with job ' .. excerpt(string.sub(key .. part, #'ql:j:' + 1)) .. ', which is stored under the key of ' .. what
        .. '; choose another jid, or cancel that job first', 0)
    end
  end
end

-- make_way(jid, key): a new job cannot have a history; raises, and leaves nothing of the job, if another job stands in its place
--   key   of its hash, if that was written
-- Rare.
function make_way(jid, key)
  if not is_job('ql:j:' .. jid .. '-history') then return end
  if key then redis.call('DEL', key) end
  drop_dependencies(jid)
  check_neighbors('ql:j:' .. jid)
end

-- told_neighbors(jid, raised) -> why a job could not be put, in words if that is because its jid is a key of another
-- Rare.
function told_neighbors(jid, raised)
  if not is_wrong_type(raised) then return reason_of(raised) end
  for part, what in pairs({ ['-history'] = 'the history', ['-dependencies'] = 'the dependencies', ['-dependents'] = 'the dependents' }) do
    if string.sub(jid, -#part) == part and type(redis.pcall('HLEN', 'ql:j:' .. jid)) == 'table' then
      return 'jid ' .. excerpt(jid) .. ' is the key of ' .. what .. ' of job ' .. excerpt(string.sub(jid, 1, -#part - 1)) .. '; give it another'
    end
  end
  return reason_of(raised)
end
