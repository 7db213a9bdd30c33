-- key.pass(now, queue, key) -> what, jid, state
-- Takes the turn of a key from a job that failed and keeps it, and gives it to the next.
--
--   what   passed; nobody has the turn; ghost, whose run may live until then, in place of the state; held, by a job that did
--          not fail; or broken, and why in place of the state: a look mends what is not done
--   jid    of whom, or ''
--
-- Reads    ql:oarlock:turns:<queue>, ql:j:<jid>
-- Writes   what a settlement writes that gives the turn on
-- Sends    the queue's name on ql:oarlock:wake
local now, queue, key = tonumber(ARGV[1]), ARGV[2], ARGV[3]
local holder = redis.call('HGET', 'ql:oarlock:turns:' .. queue, key)
if not holder then return { 'nobody', '', '' } end
local ends, left = string.match(holder, '^!(%S+) %S+ (.*)$')
if ends and tonumber(ends) > now then return { 'ghost', left, ends } end
local jid = string.match(holder, '^=(.*)$')
local mark, state = unpack(redis.call('HMGET', 'ql:j:' .. (jid or ''), 'oarlock-lane', 'state'))
local sign, of, _, its = read_mark(mark)
if jid and state ~= 'failed' and sign == '+' and of == queue and its == key then return { 'held', jid, state or '' } end
local ok, wrong = pcall(function()
  if sign == '+' and of == queue and its == key then redis.call('HSET', 'ql:j:' .. jid, 'oarlock-lane', mark_text('=', queue, '', key)) end
  pass_on(queue, key, now)
end)
if not ok then return { 'broken', jid or '', reason_of(wrong) } end
return { 'passed', jid or '', state or '' }
