-- What a script finds in Redis and would miss in the embedded server: the cjson of
-- Redis, its text for numbers, and replies that any value can become.
--
-- This text is put in front of every script, on one line, so that line numbers in
-- error messages stay those of the script. Hence: no comment may follow code here.

-- NULL is a value of its own, as in Redis: neither nil nor a table.
local NULL = newproxy(true)
getmetatable(NULL).__tostring = function() return 'userdata: NULL' end

-- Redis prints a number with 14 digits in text, and with 17 as a command's argument.
local tostring = (function(original)
  return function(value)
    if type(value) == 'number' then return string.format('%.14g', value) end
    return original(value)
  end
end)(tostring)

-- The server's tonumber knows neither 1e3 nor -0 nor whole numbers above 2^63.
local tonumber = (function(original)
  return function(value, base)
    if base then return original(value, base) end
    local number = original(value)
    if type(value) ~= 'string' then return number end
    if number == nil then
      local digits, exponent = string.match(value, '^%s*([+-]?%d+)([eE]?[+-]?%d*)%s*$')
      return digits and original(digits .. '.0' .. exponent)
    end
    if number == 0 and string.find(value, '^%s*%-') then return -number end
    return number
  end
end)(tonumber)

-- The server's gsub copies the whole text for each match, so this one replaces it where that costs anything: it puts the parts
-- together once. A pattern that is tied to the beginning has one match.
string.gsub = (function(original)
  return function(text, pattern, with, most)
    if type(with) == 'number' then with = tostring(with) end
    local kind = type(with)
    if type(text) ~= 'string' or #text < 500 or type(pattern) ~= 'string' or string.sub(pattern, 1, 1) == '^'
      or not (kind == 'string' or kind == 'table' or kind == 'function') then
      return original(text, pattern, with, most)
    end
    local literal = kind == 'string' and not string.find(with, '%', 1, true)
    local out, at, count = {}, 1, 0
    while at <= #text + 1 and not (most and count >= most) do
      local found = {string.find(text, pattern, at)}
      local first, last = found[1], found[2]
      if not first then break end
      local whole = string.sub(text, first, last)
      local capture, value = found[3] or whole, with
      count = count + 1
      if kind == 'table' then
        value = with[capture]
      elseif kind == 'function' then
        value = with(capture, unpack(found, 4))
      elseif not literal then
        value = original(with, '%%(.)', function(sign)
          if sign == '0' then return whole end
          if sign == '1' then return capture end
          return string.find(sign, '%d') and found[2 + sign] or sign
        end)
      end
      out[#out + 1] = string.sub(text, at, first - 1)
      out[#out + 1] = value or whole
      at = last + 1
      if last < first then
        out[#out + 1] = string.sub(text, first, first)
        at = first + 1
      end
    end
    out[#out + 1] = string.sub(text, at)
    return table.concat(out), count
  end
end)(string.gsub)

-- The server's concat has room for some thousand parts.
table.concat = (function(original)
  return function(parts, between, from, to)
    from, to = from or 1, to or #parts
    if to - from < 1000 then return original(parts, between, from, to) end
    local fewer = {}
    for i = from, to, 1000 do fewer[#fewer + 1] = original(parts, between, i, math.min(i + 999, to)) end
    return table.concat(fewer, between)
  end
end)(table.concat)

-- odd tells a number that the server would write otherwise than Redis.
local function odd(value)
  return type(value) == 'number'
    and (value % 1 ~= 0 or value >= 1e15 or value <= -1e15 or value == 0 and 1 / value < 0)
end

for _, name in ipairs({'call', 'pcall'}) do
  local original = redis[name]
  redis[name] = function(...)
    for i = 1, select('#', ...) do
      if odd((select(i, ...))) then
        local args = {...}
        for k = i, #args do
          if odd(args[k]) then args[k] = string.format('%.17g', args[k]) end
        end
        return original(unpack(args))
      end
    end
    return original(...)
  end
end

local cjson = (function(native)
  local escapes = {
    ['"'] = '\\"', ['\\'] = '\\\\', ['/'] = '\\/', ['\127'] = '\\u007f',
    ['\b'] = '\\b', ['\f'] = '\\f', ['\n'] = '\\n', ['\r'] = '\\r', ['\t'] = '\\t',
  }
  local function quoted(text)
    return '"' .. string.gsub(text, '[%z\1-\31"\\/\127]', function(c)
      return escapes[c] or string.format('\\u%04x', string.byte(c))
    end) .. '"'
  end

  -- encode writes {} for an empty table, 14 digits of a number, and leaves bytes above
  -- 127 as they are.
  local encode
  encode = function(value, depth)
    local kind = type(value)
    if kind == 'string' then return quoted(value) end
    if kind == 'boolean' then return value and 'true' or 'false' end
    if kind == 'nil' or value == NULL then return 'null' end
    if kind == 'number' then
      if value ~= value or value == 1 / 0 or value == -1 / 0 then
        error('Cannot serialise number: must not be NaN or Inf')
      end
      return string.format('%.14g', value)
    end
    if kind ~= 'table' then error('Cannot serialise ' .. kind .. ': type not supported') end
    if depth > 1000 then error('Cannot serialise, excessive depth (1001)') end

    local highest, count = 0, 0
    for key in pairs(value) do
      if type(key) ~= 'number' or key < 1 or key % 1 ~= 0 then highest = nil break end
      count = count + 1
      if key > highest then highest = key end
    end
    local parts = {}
    if highest and highest > 0 then
      if highest > 10 and highest > count * 2 then
        error('Cannot serialise table: excessively sparse array')
      end
      for i = 1, highest do parts[i] = encode(value[i], depth + 1) end
      return '[' .. table.concat(parts, ',') .. ']'
    end
    for key, item in pairs(value) do
      if type(key) == 'number' then
        key = string.format('%.14g', key)
      elseif type(key) ~= 'string' then
        error('Cannot serialise table: table key must be a number or string')
      end
      parts[#parts + 1] = quoted(key) .. ':' .. encode(item, depth + 1)
    end
    return '{' .. table.concat(parts, ',') .. '}'
  end

  local function utf8(n)
    if n < 128 then return string.char(n) end
    local tail = string.char(128 + n % 64)
    n = math.floor(n / 64)
    if n < 32 then return string.char(192 + n) .. tail end
    tail = string.char(128 + n % 64) .. tail
    n = math.floor(n / 64)
    if n < 16 then return string.char(224 + n) .. tail end
    return string.char(240 + math.floor(n / 64), 128 + n % 64) .. tail
  end

  local unescapes = {
    ['"'] = '"', ['\\'] = '\\', ['/'] = '/',
    b = '\b', f = '\f', n = '\n', r = '\r', t = '\t',
  }
  local function unescape(text)
    local out, i = {}, 1
    while true do
      local at = string.find(text, '\\', i, true)
      if not at then
        out[#out + 1] = string.sub(text, i)
        return table.concat(out)
      end
      out[#out + 1] = string.sub(text, i, at - 1)
      local c = string.sub(text, at + 1, at + 1)
      i = at + 2
      if c == 'u' then
        local code = tonumber(string.match(text, '^%x%x%x%x', i) or '', 16)
        if not code then error('Expected value but found invalid unicode escape code') end
        i = i + 4
        if code >= 0xD800 and code < 0xDC00 then
          local low = tonumber(string.match(text, '^\\u(%x%x%x%x)', i) or '', 16)
          if not low or low < 0xDC00 or low > 0xDFFF then
            error('Expected value but found invalid unicode escape code')
          end
          code = 0x10000 + (code - 0xD800) * 0x400 + (low - 0xDC00)
          i = i + 6
        end
        out[#out + 1] = utf8(code)
      else
        if not unescapes[c] then error('Expected value but found invalid escape code') end
        out[#out + 1] = unescapes[c]
      end
    end
  end

  -- The parsers below take a text and a position, and give a value and the position
  -- after it.
  local function skip(text, i)
    return string.find(text, '[^ \t\r\n]', i) or #text + 1
  end
  local function parse_string(text, i)
    if string.sub(text, i, i) ~= '"' then error('Expected object key string') end
    local from = i + 1
    local at = from
    while true do
      at = string.find(text, '["\\]', at)
      if not at then error('Expected value but found unexpected end of string') end
      if string.sub(text, at, at) == '"' then break end
      at = at + 2
    end
    local raw = string.sub(text, from, at - 1)
    if string.find(raw, '\\', 1, true) then raw = unescape(raw) end
    return raw, at + 1
  end
  local literals = {null = NULL, ['true'] = true, ['false'] = false}
  local parse
  local function parse_list(text, i, close, item)
    i = skip(text, i)
    if string.sub(text, i, i) == close then return i + 1 end
    while true do
      i = skip(text, item(i))
      local c = string.sub(text, i, i)
      i = skip(text, i + 1)
      if c == close then return i end
      if c ~= ',' then error('Expected comma or ' .. close) end
    end
  end
  parse = function(text, i)
    i = skip(text, i)
    local c = string.sub(text, i, i)
    if c == '"' then return parse_string(text, i) end
    local out = {}
    if c == '{' then
      return out, parse_list(text, i + 1, '}', function(at)
        local key, value
        key, at = parse_string(text, at)
        at = skip(text, at)
        if string.sub(text, at, at) ~= ':' then error('Expected colon') end
        value, at = parse(text, at + 1)
        out[key] = value
        return at
      end)
    end
    if c == '[' then
      local n = 0
      return out, parse_list(text, i + 1, ']', function(at)
        local value
        value, at = parse(text, at)
        n = n + 1
        out[n] = value
        return at
      end)
    end
    local word = string.match(text, '^[%w%.%+%-]+', i) or ''
    local value = literals[word]
    if value == nil then value = tonumber(word) end
    if value == nil then error('Expected value but found invalid token at character ' .. i) end
    return value, i + #word
  end

  -- too_deep counts brackets outside of strings, if there are enough to matter.
  local function too_deep(text)
    if #text <= 2000 or select(2, string.gsub(text, '[%[{]', '')) <= 1000 then return false end
    local depth = 0
    text = string.gsub(string.gsub(text, '\\.', ''), '"[^"]*"', '')
    for bracket in string.gmatch(text, '[%[%]{}]') do
      depth = depth + ((bracket == '[' or bracket == '{') and 1 or -1)
      if depth > 1000 then return true end
    end
    return false
  end

  return {
    null = NULL,
    encode = function(value) return encode(value, 1) end,
    -- The server's own parser is fast, but loses null and bytes that are no UTF-8.
    decode = function(text)
      if type(text) == 'number' then text = tostring(text) end
      if type(text) ~= 'string' then error('bad argument #1 to decode (string expected)') end
      if too_deep(text) then error('Found too many nested data structures (1001)') end
      if not string.find(text, 'null', 1, true) and not string.find(text, '[\128-\255]') then
        local value, problem = native.decode(text)
        if not problem then return value end
      end
      local value, after = parse(text, 1)
      if skip(text, after) <= #text then error('Expected the end but found more') end
      return value
    end,
  }
end)(cjson)

-- reply turns what a script returns into what the server can send. A function would
-- end the whole process, a table without end as well.
local function reply(value, depth)
  local kind = type(value)
  if kind == 'table' then
    if depth > 100 then error('reached lua stack limit') end
    if rawget(value, 'err') ~= nil or rawget(value, 'ok') ~= nil then return value end
    local out = {}
    while value[#out + 1] ~= nil do
      local item = reply(value[#out + 1], depth + 1)
      if item == nil then item = false end
      out[#out + 1] = item
    end
    return out
  end
  if kind == 'function' or kind == 'userdata' or kind == 'thread' then return nil end
  return value
end
