-- What whoever works this key space must know of: words in the set ql:oarlock:needs, each written before the first
-- key or field that an older version would take for something else. Who lacks one settles and renews what it has, and takes
-- nothing. A word that comes to these ends the edition of the rules when it is written; see edition.lua.

known_needs = { keys = true, rules = true, park = true, fair = true }

-- lacking() -> 'needs ' and the words that are not known here, nil if all are; and how many there are of all
-- Rare.
function lacking()
  local unknown, words = {}, redis.pcall('SMEMBERS', 'ql:oarlock:needs')
  for _, word in ipairs(words) do
    if not known_needs[word] then unknown[#unknown + 1] = excerpt(word) end
  end
  if #unknown == 0 then return nil, #words end
  table.sort(unknown)
  return 'needs ' .. table.concat(unknown, ', '), #words
end
