# A preloaded program: each job says by its data what becomes of it.
require_relative "../../examples/ruby/oarlock"
require "fiddle"

TABLE = (0...200_000).to_h { |n| [n, n.to_s] }
puts "loaded"

Oarlock.default do |job|
  case job.data["do"]
  when "exit" then exit!(3)
  when "segfault" then Process.kill(:SEGV, Process.pid); sleep
  when "kill" then Process.kill(:KILL, Process.pid); sleep
  when "memory" then "x" * (1 << 32)
  when "raise" then raise ArgumentError, "no good"
  end
end

Oarlock.serve
