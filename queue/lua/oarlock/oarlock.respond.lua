-- oarlock.respond(now, klass, correlation, data [, option, value]...) -> word
-- Answers a job that parked, or will.
--
--   data     JSON, kept byte for byte
--   options  jid    for which job it is meant                           whichever has the correlation
--            error  1: data is a text that says why there is no answer
--            end    complete or fail: the job ends so, and nobody sees it
--   word     resumed, kept, again, late; see take_answer
--
-- Refuses  "Respond(): Arg ..."; "Respond(): ..." what is wrong with the answer
-- Reads    what take_answer reads
-- Writes   what take_answer writes
-- Sends    the queue's name on ql:oarlock:wake
return respond_by_name(tonumber(ARGV[1]), given(ARGV[2], 'Respond', 'klass'), given(ARGV[3], 'Respond', 'correlation'),
  given(ARGV[4], 'Respond', 'data'), options(5))
