-- respond(now, [klass, correlation, jid, kind, text, end]...) -> list
-- Answers jobs that parked, or will; each answer on its own.
--
--   jid    for which job it is meant; empty: for whichever has the correlation
--   kind   data (text is JSON, which the caller has checked; kept byte for byte) or error
--   end    empty: the job goes on with it; complete or fail: it ends so, and no child sees it
--   list   pairs of a word and the jid, or for refused why: resumed, kept, again, late, refused; see take_answer
--
-- Reads    ql:oarlock:correlations:<klass>, ql:oarlock:early:<klass>, ql:j:<jid>
-- Writes   these; ql:oarlock:correlations-due, ql:q:<queue>-scheduled|work
-- Sends    the queue's name on ql:oarlock:wake
local now, reply = tonumber(ARGV[1]), {}
for i = 2, #ARGV, 6 do
  local text = ARGV[i + 4]
  local failed = ARGV[i + 3] == 'error'
  local ok, word, about = pcall(take_answer, now, ARGV[i], ARGV[i + 1], ARGV[i + 2],
    { data = not failed and text or nil, failed = failed and text or nil, ending = ARGV[i + 5] })
  if not ok then word, about = 'refused', reason_of(word) end
  reply[#reply + 1], reply[#reply + 2] = word, about
end
return reply
