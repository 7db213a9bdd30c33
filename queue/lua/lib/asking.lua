-- ask(command, key, ...) -> the answer, or an error that names the key which is not what it should be
function ask(command, key, ...)
  local answer = redis.pcall(command, key, ...)
  if type(answer) == 'table' and answer.err then error(key .. ': ' .. reason_of(answer), 0) end
  return answer
end
