-- Globs, as internal/glob has them: time grows no faster than the name. A pattern of Lua with several .* would try each with each.

-- glob_parts(pattern) -> list of what stands between two .* of a pattern made of ^, single bytes, dots, .* and $; each with text, a pattern
-- itself, and length: of how many bytes it stands
-- Rare.
function glob_parts(pattern)
  local parts, text, length, i, last = {}, {}, 0, 2, #pattern - 1
  while i <= last do
    local piece = string.sub(pattern, i, i)
    if piece == '%' then piece = string.sub(pattern, i, i + 1) end
    if piece == '.' and string.sub(pattern, i + 1, i + 1) == '*' and i < last then
      parts[#parts + 1] = { text = table.concat(text), length = length }
      text, length, i = {}, 0, i + 2
    else
      text[#text + 1], length, i = piece, length + 1, i + #piece
    end
  end
  parts[#parts + 1] = { text = table.concat(text), length = length }
  return parts
end

-- in_glob(parts, name) -> whether it matches; a name that is too long matches none
-- Each part is looked for once: the first place is as good as any later one.
-- Rare.
function in_glob(parts, name)
  local first, last, n = parts[1], parts[#parts], #name
  if n > 1024 or not string.find(name, '^' .. first.text) then return false end
  if #parts == 1 then return n == first.length end
  local at = first.length + 1
  for i = 2, #parts - 1 do
    local _, to = string.find(name, parts[i].text, at)
    if not to then return false end
    at = to + 1
  end
  return n - last.length + 1 >= at and string.find(name, '^' .. last.text, n - last.length + 1) ~= nil
end
