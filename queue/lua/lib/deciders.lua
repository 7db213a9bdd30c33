-- Throttles of which a command decides who may start. No script runs commands: a supervisor that has it takes its turn of
-- asking, is told who waits and who runs (decider.look), and says what the command answered (decider.rule). Who needs
-- such a throttle stands in a waitlist like anybody else, and is let start by a place of it, whose score is until when it is kept.
--   oarlock:asker:<tid>   number (of the last question), until (somebody is asking), by (whom), next (nobody asks before),
--                         seen (somebody who has the command looked), open (until then nobody need be asked), trouble, at
--   oarlock:asked:<tid>   jid -> when it is asked about again

-- must_be_asked(g, tid, defined) -> whether the command says who may start, or, as it fails, the other throttles alone
-- Rare.
function must_be_asked(g, tid, defined)
  if defined.asks ~= 'open' then return true end
  local f = redis.call('HMGET', 'ql:oarlock:asker:' .. tid, 'seen', 'open')
  return numeric(f[1], 0) + decider_missed > g.now and numeric(f[2], 0) <= g.now
end

-- So many seconds after somebody looked who has the command, nobody has it.
decider_missed = 10

-- undecided(g, need, jid) -> nil if no command keeps a job from starting; else the item of need whose command is to be
-- asked first; and whether one let it start
-- Rare.
function undecided(g, need, jid)
  local permitted
  for _, item in ipairs(need.list) do
    if places_of(g, item).asks then
      if numeric(redis.call('ZSCORE', 'ql:th:' .. item.tid .. '-locks', jid), 0) <= g.now then return item end
      permitted = true
    end
  end
  return nil, permitted
end
