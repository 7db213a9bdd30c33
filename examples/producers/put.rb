# Puts a job: ruby put.rb QUEUE KLASS DATA. No gem is needed.
#
# The protocol is one script in Redis; oarlock.lua beside this file is it (see
# README.md). A call is EVALSHA with the script's SHA, a 0 for "no keys", the command,
# the time, and the command's own arguments.

require "digest"
require "securerandom"
require "socket"

# Redis or the script said no.
class Refused < StandardError; end

# As much of a Redis client as this takes.
class Redis
  def initialize(host, port)
    @socket = Socket.tcp(host, port, connect_timeout: 5)
  end

  def call(*args)
    @socket.write("*#{args.size}\r\n", *args.map { |arg| "$#{arg.to_s.bytesize}\r\n#{arg}\r\n" })
    line = @socket.gets("\r\n").chomp
    rest = line[1..]
    case line[0]
    when "-" then raise Refused, rest
    when "$" then rest == "-1" ? nil : @socket.read(rest.to_i + 2)[0..-3]
    else rest
    end
  end
end

# Puts a job and returns its id.
#
# data is JSON text. Options are priority, retries, and as JSON text tags and
# depends. After an error of the network call it again with the same jid: the second
# put takes the place of the first.
def put(redis, script, queue, klass, data, jid: SecureRandom.hex(16), delay: 0, **options)
  args = ["put", format("%.6f", Time.now.to_f), "producer", queue, jid, klass, data, delay, *options.flatten]
  sha = Digest::SHA1.hexdigest(script)
  begin
    redis.call("EVALSHA", sha, 0, *args)
  rescue Refused => e
    raise unless e.message.start_with?("NOSCRIPT")

    redis.call("SCRIPT", "LOAD", script) # the first call since Redis started
    redis.call("EVALSHA", sha, 0, *args)
  end
  redis.call("PUBLISH", "ql:oarlock:wake", queue) # optional: an idle pool looks at once
  jid
end

lua = File.binread(ENV.fetch("OARLOCK_LUA", "oarlock.lua"))
server = Redis.new(ENV.fetch("REDIS_HOST", "127.0.0.1"), ENV.fetch("REDIS_PORT", 6379))
puts put(server, lua, *ARGV)
