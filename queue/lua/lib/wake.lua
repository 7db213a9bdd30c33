-- Supervisors sleep while there is nothing to do. Whatever makes a job ready in a queue
-- tells them, unless they hear of it anyhow: a hint, for who misses it looks soon.

-- wake(queue): once a call, however many jobs came into the queue
function wake(queue)
  woken = woken or {}
  if woken[queue] then return end
  woken[queue] = true
  redis.pcall('PUBLISH', 'ql:oarlock:wake', queue)
end

woken = false
