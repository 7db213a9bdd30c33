# frozen_string_literal: true

# Tests of oarlock.rb: ruby test_oarlock.rb [NAME …]
#
# Plays the conversations in protocol/testdata, which the helpers of all languages
# share, and tests what is Ruby's own. The file is the worker under test as well.

require "json"
require "socket"
require "tempfile"
require "timeout"
require_relative "oarlock"

CASES = File.expand_path("../../protocol/testdata", __dir__)
STEP = 10 # seconds a step may take

# --- the worker under test ---

def worker
  Oarlock.job("Nothing") { nil }
  Oarlock.job("Echo") { |job| job.ack(data: job.data) }
  Oarlock.job("Raise") { |job| raise ArgumentError, job.data["message"] }
  Oarlock.job("Fail") { |job| raise Oarlock::Fail.new(job.data["message"], group: job.data["group"]) }
  Oarlock.job("Retry") { |job| raise Oarlock::Retry.new(job.data["message"], delay: job.data["delay"]) }
  Oarlock.job("Release") { |job| raise Oarlock::Release.new(delay: job.data["delay"]) }
  Oarlock.job("Unknown") { |job| raise Oarlock::Unknown.new(job.data["message"], klass: job.data["klass"]) }
  Oarlock.job("Next") { |job| job.ack(next: job.data["next"], delay: job.data["delay"]) }
  Oarlock.job("Print") { |job| print job.data["text"] }
  Oarlock.job("Progress") { |job| job.progress(job.data["pct"], job.data["message"]) }
  Oarlock.job("Put") { |job| job.put(job.data["queue"], job.data["klass"], job.data["data"]) }
  Oarlock.job("Raw") { |job| job.log(job.raw) }
  Oarlock.job("Payloads") { |job| job.ack(data: Oarlock.payloads_by_id([job])) }
  Oarlock.job("Around") do |job|
    job.log("worked")
    raise ArgumentError, "oops"
  end
  %w[outer inner].each do |name|
    Oarlock.around do |job, call|
      next call.() unless job.klass == "Around"

      job.log("#{name} begins")
      begin
        call.()
      rescue ArgumentError
        job.log("#{name} saw it")
        raise unless job.data["swallow"] == name
      end
    end
  end
  Oarlock.job("Trace") { |job| job.ack(data: [job.traceparent, job.tracestate]) }
  Oarlock.job("Park") do |job|
    if job.response
      job.ack(data: [job.response["data"], job.response["error"], job.saved])
    else
      job.park(job.data["correlation"], timeout: job.data["timeout"], checkpoint: { step: 2 }, data: job.callback(job.data["correlation"]), then: "resume")
    end
  end
  Oarlock.job("Checkpoint") do |job|
    job.checkpoint(job.data["keep"])
    job.ack(data: job.saved)
  end
  Oarlock.job("Wait") do |job|
    job.progress(0)
    sleep 60
  rescue Oarlock::Cancelled
    job.retry(delay: 0)
  end
  Oarlock.job("Steps") do |job|
    next job.ack(data: job.saved) if job.saved

    job.step(1)
    job.progress(0)
    sleep 0.01 until job.stopping?
    job.step(2)
  end

  Oarlock.job("Wishes") do |job|
    job.tag("red", "two words")
    job.untag("red")
    job.track
    job.untrack
    job.prioritize(7)
    job.note("half way", { row: 5 })
    other = job.data["of"]
    job.tag("seen", jid: other)
    job.cancel(jid: other)
    job.requeue("other", delay: 5, jid: other)
    job.requeue("next", delay: 60)
  end
  Oarlock.job("Cancel", &:cancel)
  away = Class.new(StandardError)
  busy = Class.new(StandardError)
  gone = Class.new(StandardError)
  kinds = { "away" => away, "farther" => Class.new(away), "busy" => busy, "gone" => gone, "else" => ArgumentError }
  Oarlock.job("Choosy", retry_on: { away => 30, busy => nil }, discard_on: [gone]) do |job|
    raise kinds.fetch(job.data["raise"]), "oops"
  end

  # Beyond the shared cases.
  Oarlock.job("Sleep") do |job|
    job.progress(0)
    sleep 60
  end
  Oarlock.job("Poll", interrupt: false) do |job|
    job.progress(0)
    sleep 0.01 until job.cancelled
    job.fail(job.cancelled, group: "polled")
  end
  Oarlock.job("AckThenRaise") do |job|
    job.ack
    raise "too late"
  end
  Oarlock.job("NaN") { |job| job.ack(data: Float::NAN) }
  Oarlock.job("Bytes") { raise "\xff\xfe not text" }
  Oarlock.job("Missing") { raise NotImplementedError, "no StandardError" }
  Oarlock.job("Threads") do |job|
    text = "x" * 20_000 # longer than a pipe writes at once
    Array.new(4) { Thread.new { 20.times { job.log(text) } } }.each(&:join)
  end
  Oarlock.job("Stdin") { |job| job.ack(data: $stdin.read) }
  Oarlock.job("Fork") do |job|
    if (pid = fork)
      job.log(Process.wait2(pid)[1].exitstatus.to_s)
    elsif job.data == "raise"
      raise ArgumentError, "in the fork"
    elsif job.data
      exit job.data
    end
  end
  Oarlock.job("Exit") { |job| exit job.data }
  hooks = []
  inherited = Socket.pair(:UNIX, :STREAM) # must not reach the forks
  Oarlock.job("Look") do |job|
    opened = Dir.children("/proc/self/fd").map { |fd| File.readlink("/proc/self/fd/#{fd}") rescue "" }
    job.ack(data: {
      dir: ENV["OARLOCK_DIR"], tmp: ENV["TMPDIR"], slot: ENV["OARLOCK_SLOT"], session: Process.getsid == Process.pid,
      term: Signal.trap("TERM", "DEFAULT"), hooks: hooks, random: rand,
      sockets: opened.count { |name| name.start_with?("socket:") }
    })
  end
  Signal.trap("TERM") { nil }
  Oarlock.before_fork { hooks << "before" }
  Oarlock.after_fork { hooks << "after" }
  Oarlock.serve
  inherited.each(&:close)
end

# --- the player ---

def check(good, problem)
  raise problem unless good
end

# The lines that arrive on an IO, each within its time.
class Lines
  def initialize(io)
    @io = io
    @rest = +""
  end

  # The next line with its newline, or nil at the end.
  def next
    deadline = Process.clock_gettime(Process::CLOCK_MONOTONIC) + STEP
    until @rest.include?("\n")
      left = deadline - Process.clock_gettime(Process::CLOCK_MONOTONIC)
      check @io.wait_readable([left, 0].max), "nothing came within #{STEP} s"
      chunk = @io.read_nonblock(65_536, exception: false)
      if chunk.nil?
        last, @rest = @rest, +""
        return last.empty? ? nil : last
      end
      @rest << chunk unless chunk == :wait_readable
    end
    @rest.slice!(0..@rest.index("\n"))
  end
end

# The message of a status line, nil for any other line.
def status_of(line)
  return unless line.start_with?("{")

  message = JSON.parse(line)
  message if message["@"].is_a?(String)
rescue JSON::ParserError
  nil
end

# A worker with our ends of its pipes.
class Conversation
  SILENT = %w[hello log heartbeat].freeze # skipped unless expected

  attr_reader :stdin, :printed

  def initialize(mode = "reuse", status = "fd", first = nil)
    env = { "OARLOCK_PROTOCOL" => "1", "OARLOCK_MODE" => mode }
    %w[run jid klass queue attempt timeout].each { |name| env["OARLOCK_#{name.upcase}"] = first[name].to_s } if first
    @printed = Tempfile.new("printed")
    theirs_in, @stdin = IO.pipe
    @status, theirs = IO.pipe
    options = { in: theirs_in }
    if status == "fd"
      env["OARLOCK_STATUS_FD"] = theirs.fileno.to_s
      options.update(theirs => theirs, out: @printed.path)
    else
      options[:out] = theirs
    end
    @pid = Process.spawn(env, "ruby", "-W", __FILE__, "--worker", options)
    theirs_in.close
    theirs.close
    @lines = Lines.new(@status)
  end

  def send_line(line)
    @stdin.write(line, "\n")
    @stdin.flush
  end

  def job(klass, data = nil, run: "r1", **fields)
    send_line(JSON.generate({ "@" => "job", "run" => run, "jid" => "j", "klass" => klass, "data" => data }.merge(fields)))
  end

  # Takes the next status line that counts, and compares the fields named.
  def expect(verb, fields = {})
    loop do
      line = @lines.next
      check line, "the worker left; expected #{verb} #{fields}"
      message = status_of(line)
      if message.nil?
        File.write(@printed.path, line, mode: "a")
        next
      end
      next if SILENT.include?(message["@"]) && message["@"] != verb

      check [message["@"], "*"].include?(verb), "#{line} is not #{verb}"
      fields.each do |name, value|
        check message.key?(name.to_s) && [message[name.to_s], "*"].include?(value), "#{line} is not #{fields}"
      end
      return message, line
    end
  end

  def exit(code)
    @stdin.close unless @stdin.closed?
    Timeout.timeout(STEP) { Process.wait(@pid) }
    @pid = nil
    check $?.exitstatus == code, "#{$?}, expected exit #{code}"
    while (line = @lines.next)
      message = status_of(line)
      check message.nil? || SILENT.include?(message["@"]), "left over: #{line}"
      File.write(@printed.path, line, mode: "a") unless message
    end
  end

  def close
    if @pid
      Process.kill("KILL", @pid)
      Process.wait(@pid)
    end
    [@stdin, @status].each { |io| io.close unless io.closed? }
    @printed.close!
  end
end

def play(path)
  steps = JSON.parse(File.read(path))
  mode = steps["mode"]
  first = steps["steps"].map { |step| step["send"] }.compact.map { |line| JSON.parse(line) }.find { |m| m["@"] == "job" } if mode == "once"
  talk = Conversation.new(mode, steps["status"], first)
  steps["steps"].each do |step|
    if step["send"] then talk.send_line(step["send"])
    elsif step["expect"]
      _, line = talk.expect(step["expect"]["@"], step["expect"].reject { |name, _| name == "@" })
      (step["contains"] || []).each { |text| check line.include?(text), "#{text} is not in #{line}" }
    elsif step["close"] then talk.stdin.close
    elsif step["exit"] then talk.exit(step["exit"])
    end
  end
  printed = File.read(talk.printed.path)
  (steps["stdout"] || []).each { |text| check printed.include?(text), "#{text} was not printed: #{printed}" }
ensure
  talk&.close
end

# --- what is Ruby's own ---

TESTS = {}

def about(name)
  TESTS[name] = lambda do
    talk = Conversation.new
    yield talk
  ensure
    talk.close
  end
end

about "a sleeping handler is interrupted" do |talk|
  talk.job("Sleep")
  talk.expect("progress")
  talk.send_line('{"@":"cancel","run":"r1","reason":"shutdown","grace":5}')
  talk.expect("release", run: "r1")
  talk.job("Sleep", run: "r2", timeout: 3)
  talk.expect("progress")
  talk.send_line('{"@":"cancel","run":"r2","reason":"timeout","grace":5}')
  talk.expect("retry", run: "r2", group: "timeout")
  talk.job("Nothing", run: "r3")
  talk.expect("ack", run: "r3")
  talk.exit(0)
end

about "a cancel that follows at once" do |talk|
  50.times do |turn| # each time the line arrives at another moment of the start
    run = "r#{turn}"
    talk.job("Sleep", run: run)
    sleep turn * 0.00002
    talk.send_line(%({"@":"cancel","run":"#{run}","reason":"canceled","grace":5}))
    message, = talk.expect("*", run: run)
    talk.expect("release", run: run) if message["@"] == "progress"
  end
  talk.exit(0)
end

about "a handler that looks for itself" do |talk|
  talk.job("Poll")
  talk.expect("progress")
  talk.send_line('{"@":"cancel","run":"r1","reason":"canceled","grace":5}')
  talk.expect("fail", group: "polled", message: "canceled")
  talk.exit(0)
end

about "the first verdict is the only one" do |talk|
  talk.job("AckThenRaise")
  talk.expect("ack", run: "r1")
  talk.exit(0)
end

about "what is no JSON is refused in the handler" do |talk|
  talk.job("NaN")
  talk.expect("retry", group: "JSON::GeneratorError")
  talk.exit(0)
end

about "any exception is a retry" do |talk|
  talk.job("Bytes")
  talk.expect("retry", group: "RuntimeError")
  talk.job("Missing", run: "r2")
  message, = talk.expect("retry", run: "r2", group: "NotImplementedError")
  check message["message"].include?("no StandardError"), message
  check message["message"].include?("test_oarlock.rb"), message
  check !message["message"].include?("/oarlock.rb"), message
  talk.exit(0)
end

about "threads do not tear lines" do |talk|
  talk.job("Threads")
  80.times { check talk.expect("log")[0]["message"].size == 20_000, "a torn line" }
  talk.expect("ack")
  talk.exit(0)
end

about "job lines are not the handler's stdin" do |talk|
  talk.job("Stdin")
  talk.job("Nothing", run: "r2")
  talk.expect("ack", run: "r1", data: "")
  talk.expect("ack", run: "r2")
  talk.exit(0)
end

about "a job that cannot be read fails" do |talk|
  talk.send_line(%({"@":"job","run":"r1","jid":"j","data":#{'[' * 100_000}1#{']' * 100_000}}))
  talk.expect("fail", run: "r1", group: "unreadable-job")
  talk.send_line('{"@":"job","run":"r2","jid":"j","data":{"a":tru}}')
  talk.expect("fail", run: "r2", group: "unreadable-job")
  talk.job("Nothing", run: "r3")
  talk.expect("ack", run: "r3")
  talk.exit(0)
end

about "a large payload" do |talk|
  text = "x" * (8 << 20)
  talk.send_line('{"@":"hello","v":1,"max_line":16777216}')
  talk.job("Echo", text)
  check talk.expect("ack")[0]["data"] == text, "it changed"
  talk.exit(0)
end

about "exit ends the process with its code" do |talk|
  talk.job("Exit", 75)
  talk.exit(75)
end

about "a fork that comes back works no jobs" do |talk|
  [["r1", nil, "0"], ["r2", "raise", "1"], ["r3", 7, "7"]].each do |run, data, code|
    talk.job("Fork", data, run: run)
    check talk.expect("log")[0]["message"] == code, "another code"
    talk.expect("ack", run: run)
  end
  talk.job("Nothing", run: "r4")
  talk.expect("ack", run: "r4")
  talk.exit(0)
end

about "the last line may lack its newline" do |talk|
  talk.stdin.write('{"@":"job","run":"r1","klass":"Nothing","data":{}}')
  talk.stdin.close
  talk.expect("ack", run: "r1")
  talk.exit(0)
end

# The worker as a factory of forks.
class Preloaded
  attr_reader :replies

  def initialize
    @control, theirs = UNIXSocket.pair
    env = { "OARLOCK_MODE" => "preload", "OARLOCK_FORK_FD" => theirs.fileno.to_s, "OARLOCK_DIR" => "/" }
    @pid = Process.spawn(env, "ruby", "-W", __FILE__, "--worker", theirs => theirs, in: File::NULL)
    theirs.close
    @replies = Lines.new(@control)
    hello = reply
    check hello.values_at("@", "v", "threads") == ["hello", [1], 1], hello
  end

  def reply
    JSON.parse(@replies.next)
  end

  # Asks for a fork and returns its pid, our end of its stdin, and its status.
  def fork(slot)
    pipes = Array.new(4) { IO.pipe }
    theirs = [pipes[0][0], pipes[1][1], pipes[2][1], pipes[3][1]]
    @control.sendmsg(%({"@":"fork","slot":#{slot}}\n), 0, nil, Socket::AncillaryData.unix_rights(*theirs))
    [*theirs, pipes[1][0], pipes[2][0]].each(&:close)
    forked = reply
    check forked.values_at("@", "slot") == ["forked", slot], forked
    [forked["pid"], pipes[0][1], pipes[3][0]]
  end

  # Runs one job in a fork and returns its verdict, if any, and the exit message.
  def run(klass, data = nil)
    pid, stdin, status = fork(3)
    stdin.puts(JSON.generate("@" => "job", "run" => "r1", "klass" => klass, "data" => data, "dir" => "/var"))
    lines = Lines.new(status)
    messages = []
    while (line = lines.next)
      messages << JSON.parse(line)
    end
    [stdin, status].each(&:close)
    check messages.shift["@"] == "hello", messages
    ended = reply
    check ended.values_at("@", "pid") == ["exit", pid], ended
    [messages.first, ended]
  end

  def close
    @control.close
    Timeout.timeout(STEP) { Process.wait(@pid) }
    check $?.exitstatus.zero?, $?
  end
end

TESTS["preload"] = lambda do
  factory = Preloaded.new
  verdict, ended = factory.run("Look")
  seen = verdict["data"]
  check ended.values_at("code", "signal") == [0, 0], ended
  check seen.values_at("dir", "tmp", "slot") == ["/var", "/var", "3"], seen
  check seen.values_at("session", "term", "hooks", "sockets") == [true, "DEFAULT", %w[before after], 0], seen
  check factory.run("Look")[0]["data"]["random"] != seen["random"], "the same random numbers"
  check factory.run("Exit", 7)[1]["code"] == 7, "another code"
  check factory.run("Raise", { message: "in a fork" })[0]["group"] == "ArgumentError", "another group"

  pid, stdin, = factory.fork(1)
  other, other_stdin, = factory.fork(2)
  Process.kill("KILL", pid)
  ended = factory.reply
  check ended.values_at("pid", "slot", "signal") == [pid, 1, 9], ended
  stdin.close
  other_stdin.close # the end of the input: it leaves
  ended = factory.reply
  check ended.values_at("pid", "code", "signal") == [other, 0, 0], ended
  factory.close
end

def main(wanted)
  cases = Dir["#{CASES}/*.json"].sort
  check !cases.empty?, "no cases in #{CASES}"
  tests = cases.to_h { |path| [File.basename(path, ".json"), -> { play(path) }] }.merge(TESTS)
  tests = tests.slice(*wanted) unless wanted.empty?
  failed = tests.count do |name, test|
    test.call
    false
  rescue StandardError => e
    puts "FAIL #{name}: #{e.class}: #{e.message} #{e.backtrace.find { |frame| frame.include?('test_oarlock') }}"
    true
  end
  puts "#{tests.size} tests, #{failed} failed"
  failed.zero?
end

if ARGV == ["--worker"]
  worker
else
  exit main(ARGV)
end
