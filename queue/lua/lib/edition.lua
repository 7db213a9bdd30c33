-- An edition is what rules, settings of keys and needs say between two changes. Its name, which comes once for ever, is in the rules, and a
-- key has that name as long as nothing changed. So one question, whether the key is there, tells a caller that an edition still has nothing to say of
-- its queues, if it was told so before.
--   oarlock:rules              edition, its name
--   oarlock:edition:<name>     at, since when
-- Whoever changes what a call would have to know ends the edition before: a queue becomes ruled, has keys, has another
-- polarity; new jobs have other rules; or needs has a word that came after rules, keys and park. Without a key all ask as
-- they did before they were told.

-- end_edition()
-- Rare.
function end_edition()
  local name = redis.call('HGET', 'ql:oarlock:rules', 'edition')
  if name then redis.call('DEL', 'ql:oarlock:edition:' .. name) end
end

-- begin_edition(): what is there now is one, if it is none yet
-- Rare.
function begin_edition()
  local name = redis.call('HGET', 'ql:oarlock:rules', 'edition')
  if name and redis.call('EXISTS', 'ql:oarlock:edition:' .. name) == 1 then return end
  name = text14((tonumber(string.match(name or '', '^%d+')) or 0) + 1) .. '@' .. ARGV[1]
  redis.call('HSET', 'ql:oarlock:rules', 'edition', name)
  redis.call('HSET', 'ql:oarlock:edition:' .. name, 'at', ARGV[1])
end
