# A preloaded program: each job says by its data what becomes of it.
require_relative "../../examples/ruby/oarlock"

TABLE = (0...200_000).to_h { |n| [n, n.to_s] }
puts "loaded"

Oarlock.default do |job|
  case job.data["do"]
  when "exit" then exit!(3)
  when "segfault" then Process.kill(:SEGV, Process.pid); sleep
  when "kill" then Process.kill(:KILL, Process.pid); sleep
  when "memory"
    Process.setrlimit(:AS, 1 << 30)
    "x" * (1 << 32)
  when "grow"
    hoard = "x" * (job.data["mib"] << 20)
    sleep
  when "pause" then puts "pausing"; $stdout.flush; sleep
  when "raise" then raise ArgumentError, "no good"
  end
end

Oarlock.serve
