-- Windows on long lists, that stay where they are while the lists change: a list of jids is counted
-- from its far end, and in a sorted set one goes on behind a score and a jid. Nothing here writes.

-- window_of_set(set, cursor, limit) -> jids, scores, whether there are any behind them
--   set     { key, reverse, from, to }: of the scores between, as Redis has ranges; in reverse the
--           highest come first, and from is the higher one
--   cursor  '' for the beginning, '<score>:<jid>' of the last one seen, or '+' and how many to leave out
function window_of_set(set, cursor, limit)
  local key, reverse, from, to = unpack(set)
  local begin = ranked_before(key, reverse, from)
  local first = begin + (tonumber(string.match(cursor, '^%+(%d+)$')) or 0)
  if string.find(cursor, '^[^+]') then first = math.max(begin, rank_behind(key, reverse, string.match(cursor, '^([^:]*):(.*)$'))) end
  local last = first + limit -- and one more, to know whether there is any
  local found = ask(reverse and 'ZREVRANGE' or 'ZRANGE', key, text14(first), text14(last), 'WITHSCORES')
  local within = ask('ZCOUNT', key, reverse and to or from, reverse and from or to) + begin - first
  local jids, scores, there = {}, {}, math.min(#found / 2, within)
  for i = 1, math.min(there, limit) do jids[i], scores[i] = found[2 * i - 1], found[2 * i] end
  return jids, scores, there > limit
end

-- ranked_before(key, reverse, from) -> how many come before the first of a range that begins with from
function ranked_before(key, reverse, from)
  if from == (reverse and '+inf' or '-inf') then return 0 end
  local open = string.sub(from, 1, 1) == '(' and string.sub(from, 2) or '(' .. from
  return reverse and ask('ZCOUNT', key, open, '+inf') or ask('ZCOUNT', key, '-inf', open)
end

-- rank_behind(key, reverse, at, jid) -> the rank of what comes behind a jid with a score, at, which
-- may be gone meanwhile
function rank_behind(key, reverse, at, jid)
  if not tonumber(at) then error('no such cursor', 0) end
  if ask('ZSCORE', key, jid) == at then
    return redis.call(reverse and 'ZREVRANK' or 'ZRANK', key, jid) + 1
  end
  local low = ranked_before(key, reverse, at)
  local high = low + ask('ZCOUNT', key, at, at)
  while low < high do -- among those with that score, which are in the order of their bytes
    local middle = math.floor((low + high) / 2)
    local other = redis.call(reverse and 'ZREVRANGE' or 'ZRANGE', key, text14(middle), text14(middle))[1]
    if bytes_before(other, jid) == not reverse then low = middle + 1 else high = middle end
  end
  return low
end

-- bytes_before(a, b) -> whether a comes before b in a sorted set; Lua's < follows the server's language
function bytes_before(a, b)
  for i = 1, math.min(#a, #b) do
    local x, y = string.byte(a, i), string.byte(b, i)
    if x ~= y then return x < y end
  end
  return #a < #b
end

-- window_of_list(key, cursor, limit) -> jids, how many there are from the first of them to the far end, and in all
--   cursor  '' for the beginning, how many there were from there to the far end, or '+' and how many to leave out
function window_of_list(key, cursor, limit)
  local length = ask('LLEN', key)
  local skipped = cursor == '' and 0 or tonumber(string.match(cursor, '^%+(%d+)$'))
  local left = math.min(skipped and length - skipped or tonumber(cursor) or error('no such cursor', 0), length)
  if not (left >= 1) then return {}, 0, length end
  return redis.call('LRANGE', key, text14(-left), text14(math.min(limit - left - 1, -1))), left, length
end
