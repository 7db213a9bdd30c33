-- waitsfor(now, jid) -> list of names and values, empty if the job stands in no waitlist
-- For what a job of a ruled queue waits. Changes nothing.
--
--   throttle, places   for which throttle, and how many of its places it takes
--   since     when a job of its waitlist started last, or it began to wait
--   before    how many of its waitlist come before it
--   open      1: it may be tried now; opens: when it may
--   maximum, used   places of the throttle (0: no limit), and how many are taken
--   next      which other party has the next turn, if one has: within its share, where places are lent
--   kept, kept_for, passed   how many places are kept for a job that has waited for longer, of which queue, and for which throttle that waits
--   party, over     whose turn is counted; 1 if it is beyond its share
--   share, has      of a throttle with values, how many places its value has a share of, and takes
--   rate, period    starts, and in how many seconds
--   asks      what holds while its command fails: closed or open
--   turn      1: it waits for nothing but the turn of its value (party) and a free child, and for no throttle; ahead: how many waitlists come before
--             its own, as far as that is known; has: how many places its value takes
--   held      list of holders, the first twenty members
--
-- Reads    ql:j:<jid>; ql:oarlock:rules; ql:th:<tid>, ql:th:<tid>-locks; the keys of waitlists and rotas
local jid, told = ARGV[2], {}
local queue, text = unpack(redis.call('HMGET', 'ql:j:' .. jid, 'queue', 'throttles'))
if not (queue and text) then return told end

local function say(name, value)
  if value then told[#told + 1], told[#told + 2] = name, value end
end

local line = #text > 256 and redis.sha1hex(text) or text
local key = 'ql:oarlock:waitlist:' .. #queue .. ':' .. queue .. line
local rank = redis.call('ZREVRANK', key, jid)
local record = rank and redis.call('HGET', 'ql:oarlock:waitlists:' .. queue, line)
if not record then return told end
local list = { queue = queue, line = line, key = key, id = #queue .. ':' .. queue .. line, record = record }
if not (read_record(list) or find_again(list, tonumber(ARGV[1]))) then return told end
local tid, party = list.tid, list.party
if tid then say('throttle', tid) end
say('places', list.places)
say('since', text17(list.since))
say('before', rank)
say('party', party)
if not tid then
  say('turn', 1)
  local turn = redis.call('ZREVRANK', 'ql:oarlock:open:' .. queue, line)
  say('ahead', turn)
  local rules = redis.call('HGET', 'ql:oarlock:rules', 'q:' .. queue)
  local fair = rules and read_rules(rules).fair
  if fair then say('has', redis.call('ZCARD', 'ql:th:' .. fair .. '=' .. party .. '-locks')) end
  return told
end
if redis.call('ZSCORE', 'ql:oarlock:open:' .. queue, line) then say('open', 1) end
say('opens', redis.call('ZSCORE', 'ql:oarlock:due:' .. queue, line))
local limits = throttle_fields(tid, 'maximum', 'oarlock-limit')
local maximum = numeric(limits[1], 0)
local base, value = split_value(tid)
if base and (not limits[1] or limits[1] == limits[2]) then maximum = cap_of({ places = {}, defined = {} }, base, value) end
say('maximum', text14(maximum))
say('used', redis.call('ZCARD', 'ql:th:' .. tid .. '-locks'))
local over = redis.call('ZSCORE', 'ql:oarlock:over:' .. tid, party)
if over then say('over', 1) end
local rules = redis.call('HGET', 'ql:oarlock:rules', 't:' .. tid)
local defined = rules and cjson.decode(rules) or {}
local t = { tid = tid, defined = defined, max = maximum < 1 and math.huge or maximum }
for _, other in ipairs(redis.call('ZRANGE', 'ql:oarlock:rota:' .. tid, '0', '9')) do
  if not (defined.borrow and is_beyond({ places = {} }, t, other, 1)) then -- who is beyond lets those go before who are not
    if other ~= party then say('next', other) end
    break
  end
end
local g = { now = tonumber(ARGV[1]), awake = {}, rules = {}, defined = {}, batch = { lock = {}, most = {}, set = {}, ordered = {}, stored_now = ARGV[1] } }
local before = defined.asks and '-inf' or text17(g.now - patience_of(g, tid))
for _, mark in ipairs(redis.call('ZRANGEBYSCORE', 'ql:oarlock:eldest:' .. tid, '-inf', before, 'LIMIT', '0', '100')) do
  local places, of, its = read_mark_of_list(mark)
  if mark == list.mark then break end
  local ok, claims, waits_for = pcall(has_claim, g, of, its) -- what it needs to know may be damaged
  if ok and claims and is_awake(g, of) then
    say('kept', text14(math.min(places, t.max)))
    say('kept_for', of)
    say('passed', waits_for ~= tid and waits_for or nil)
    break
  end
end
if defined.by then
  local share = share_of(defined, party, t.max)
  if share > 0 then say('share', text14(share)) end
  say('has', redis.call('ZCARD', 'ql:th:' .. tid .. '=' .. party .. '-locks'))
end
say('asks', defined.asks)
if defined.rate then
  say('rate', text14(defined.rate[1]))
  say('period', text17(defined.rate[2]))
end
say('held', redis.call('ZRANGE', 'ql:th:' .. tid .. '-locks', '0', '19'))
return told
