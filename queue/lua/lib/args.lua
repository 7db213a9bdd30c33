-- Arguments, and how one that will not do is refused. Clients match on the shape
-- "Area(): text", so every refusal goes through here.
--
-- ARGV[1] is now as text, in a form that Redis takes for a score; a range or a score
-- that is the time of the call is given as that.

function refuse(area, text)
  error(area .. '(): ' .. text)
end

-- given(value, area, name) -> value
-- An argument that must be there. An empty string is there.
function given(value, area, name)
  if not value then refuse(area, 'Arg "' .. name .. '" missing') end
  return value
end

-- number(value, area, name) -> number
-- An argument that must be a number; whatever tonumber reads is one.
function number(value, area, name)
  return tonumber(value)
    or refuse(area, 'Arg "' .. name .. '" missing or not a number: ' .. tostring(value))
end

-- finite(value, area, name) -> number
-- A number that will be stored and shown: JSON knows no infinity and no nan.
-- Rare.
function finite(value, area, name)
  local n = number(value, area, name)
  if n - n ~= 0 then refuse(area, 'Arg "' .. name .. '" not a finite number: ' .. value) end
  return n
end

-- stored_number(value, area, name) -> what HSET stores for an argument that must be a
-- finite number; a plain integer is that already
function stored_number(value, area, name)
  if #value < 16 and string.find(value, '^[1-9]%d*$') or value == '0' then return value end
  return finite(value, area, name)
end

-- given_jid(value) -> value
function given_jid(value)
  return value or refuse('Job', 'no jid provided')
end

-- given_queue(value) -> value
function given_queue(value)
  return value or refuse('Queue', 'no queue name provided')
end

-- given_json(value, area, name) -> value
-- JSON text that is kept as it came. The error for text that is no JSON, or not
-- there, is the decoder's; false is refused because the original takes it for
-- nothing.
function given_json(value, area, name)
  local decoded = cjson.decode(value)
  if decoded == false then refuse(area, 'Arg "' .. name .. '" not JSON: ' .. value) end
  return value
end

-- arguments(first) -> list of those from ARGV[first] on, which may be more than Lua's
-- stack holds
function arguments(first)
  local list = {}
  for i = first, #ARGV do list[#list + 1] = ARGV[i] end
  return list
end

-- options(first) -> table of the name and value pairs from ARGV[first] on
-- Of a name given twice the last counts; unknown ones are the caller's to ignore.
function options(first)
  if (#ARGV - first) % 2 == 0 then
    error('Odd number of additional args: ' .. tostring(ARGV))
  end
  local named = {}
  for i = first, #ARGV, 2 do named[ARGV[i]] = ARGV[i + 1] end
  return named
end

-- named_job(jid) -> how a refusal names a job; reqless leaves out which
function named_job(jid)
  return reqless and 'Job' or 'Job ' .. jid
end
