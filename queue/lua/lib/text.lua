-- How numbers become text. Redis prints a number it is handed with 17 digits,
-- and takes longer for that than for most commands: half a microsecond for a 1.
-- Where it matters we hand over text instead.

-- text14(n): as Lua's .. prints it, and JSON: 14 significant digits. We do not
-- leave it to .. because the embedded server's Lua prints fractions otherwise.
-- Integers take a shorter way to the same text; -0 must not.
function text14(n)
  if n % 1 == 0 and n < 1e14 and n > -1e14 and n ~= 0 then return string.format('%d', n) end
  return string.format('%.14g', n)
end

-- text17(n): as Redis prints a number argument.
function text17(n)
  if n % 1 == 0 and n < 1e15 and n > -1e15 and n ~= 0 then return string.format('%d', n) end
  return string.format('%.17g', n)
end

-- json_number(value) -> JSON text of a number stored as text
function json_number(value)
  if #value < 15 and string.find(value, '^[1-9]%d*$') or value == '0' then return value end
  return cjson.encode(tonumber(value))
end

-- excerpt(text) -> as much of what somebody wrote as is to be quoted
-- Rare.
function excerpt(text)
  return string.sub(text, 1, 40)
end

-- day(now) -> the midnight before, as text in the names of statistics
function day(now)
  return text14(now - now % 86400)
end

-- score(priority, time) -> place in the work set; the highest is popped first
-- Any client may write nan into a job, which no set takes; it counts as 0.
function score(priority, time)
  local place = priority - time / 10000000000
  if place ~= place then return priority == priority and priority or 0 end
  return place
end
