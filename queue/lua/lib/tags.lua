-- The index of tags: ql:t:<tag> holds the jids, ql:tags how often each is used.
-- A tag may be a number; Redis and Lua print those differently, and clients see
-- both, so it is converted only where a key is named.

function tag_key(tag)
  return 'ql:t:' .. (type(tag) == 'number' and text14(tag) or tag)
end

-- How many tags of a job are indexed. Only other clients put jobs with more.
most_tags = 10000

-- index_tags(jid, tags): one more use of each of a list of tags
-- Rare.
function index_tags(jid, tags)
  for i = 1, math.min(#tags, most_tags) do
    local tag = tags[i]
    redis.call('ZADD', tag_key(tag), ARGV[1], jid)
    redis.call('ZINCRBY', 'ql:tags', '1', tag)
  end
end

-- unindex_tags(jid, tags): one use less. Only reqless forgets a tag whose last
-- job is gone.
-- Rare.
function unindex_tags(jid, tags)
  for i = 1, math.min(#tags, most_tags) do
    local tag = tags[i]
    local key = tag_key(tag)
    redis.call('ZREM', key, jid)
    if reqless and redis.call('EXISTS', key) == 0 then
      redis.call('ZREM', 'ql:tags', tag)
    else
      redis.call('ZINCRBY', 'ql:tags', '-1', tag)
    end
  end
end

-- stored_tags(text) -> list, from the tags field of a hash, which may be missing, or no list
function stored_tags(text)
  if not text or text == '{}' then return {} end
  local ok, tags = pcall(cjson.decode, text)
  return ok and type(tags) == 'table' and tags or {}
end

-- given_tags(text, area) -> list
-- JSON with a list of strings; numbers are let through. An object counts as a
-- list of nothing and is kept as it is.
function given_tags(text, area)
  local tags = cjson.decode(text)
  if type(tags) ~= 'table' then refuse(area, 'Arg "tags" not a list: ' .. text) end
  for _, tag in ipairs(tags) do
    if type(tag) ~= 'string' and type(tag) ~= 'number' then
      refuse(area, 'Arg "tags" must be strings: ' .. text)
    end
  end
  return tags
end

-- without(tags, gone, first) -> tags, less those in gone[first] and after
function without(tags, gone, first)
  local unwanted, left = {}, {}
  for i = first, #gone do unwanted[gone[i]] = true end
  for _, tag in ipairs(tags) do
    if not unwanted[tag] then left[#left + 1] = tag end
  end
  return left
end
