-- cancel(now [, jid]...) -> the jids, as a list
-- Removes jobs from wherever they are, unless they are complete. Jobs that others
-- depend on must be cancelled in one call with those.
--
-- Refuses  "Cancel(): <jid> is a dependency of <jid> but is not mentioned to be canceled"
-- Reads    ql:j:<jid>, its sets; ql:tracked
-- Writes   ql:j:<jid> and all places that name it
-- Sends    canceled on ql:log and to the worker; ql:canceled if tracked
local now = tonumber(ARGV[1])
local jids, mentioned = {}, {}
for i = 2, #ARGV do
  jids[i - 1], mentioned[ARGV[i]] = ARGV[i], true
end
for _, jid in ipairs(jids) do
  for _, dependent in ipairs(set_of('ql:j:' .. jid .. '-dependents')) do
    if is_unblocking(jid) then break end
    if not mentioned[dependent] then
      refuse('Cancel', jid .. ' is a dependency of ' .. dependent .. ' but is not mentioned to be canceled')
    end
  end
end
for _, jid in ipairs(jids) do cancel_job(jid, now) end
return jids
