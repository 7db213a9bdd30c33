-- depends(now, jid, 'on' [, jid]...) -> 1
-- depends(now, jid, 'off' [, jid]...) -> 1
-- depends(now, jid, 'off', 'all') -> 1
-- Changes what a waiting job waits for; when nothing is left it becomes ready.
--
-- Refuses  "Job(): no jid provided", "Depends(): Arg "command" missing"
--          "Depends(): Job <jid> not in the depends state: <state>"
--          "Depends(): Argument "command" must be "on" or "off""
-- Reads    ql:j:<jid>  state, queue, priority
-- Writes   the dependency sets of both sides; ql:q:<queue>-depends|work
local now, jid, command = tonumber(ARGV[1]), given_jid(ARGV[2]), given(ARGV[3], 'Depends', 'command')
local queue, priority, lane = in_depends(jid)
local others = arguments(4)
if command == 'on' then
  depend(jid, others)
elseif command ~= 'off' then
  refuse('Depends', 'Argument "command" must be "on" or "off"')
elseif others[1] == 'all' then
  depend_on_nothing(jid, queue, priority, lane, now)
else
  depend_no_more(jid, queue, priority, lane, others, now)
end
return 1
