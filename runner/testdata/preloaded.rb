# A preloaded program: each job says by its data what becomes of it. Takes as long to load, and holds as
# much, as a program with heavy requires.
require "fiddle"
require_relative "../../examples/ruby/oarlock"

began = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID)
TABLE = (0...200_000).to_h { |n| [n, n.to_s] }
nil while Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) - began < ENV.fetch("LOAD_SECONDS", "0").to_f
puts "loaded"

Oarlock.default do |job|
  case job.data["do"]
  when "where" then puts ENV["WHERE"] + "|" + ENV["WHO"]
  when "leave" then exit(4)
  when "exit" then exit!(3)
  when "segfault" then Fiddle::Pointer.new(1)[0]
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
