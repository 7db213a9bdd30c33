# frozen_string_literal: true

# Oarlock for Ruby: write a worker as a block.
#
#   require_relative "oarlock"
#
#   Oarlock.job "Resize" do |job|
#     job.progress 10, "loading"
#     ...                                          # done: the job is complete
#     raise Oarlock::Retry.new("busy", delay: 30)  # or: try again, or Fail, or Release
#   end
#
#   Oarlock.serve
#
# Copy this file next to your program; it needs Ruby 2.7 and nothing else. The
# same program serves all three modes of a pool: `once` (a process per job),
# `reuse` (a process for many jobs) and `preload` (the program is loaded once and
# forks itself for each job).
#
# How an attempt ends:
#
#   the block returns        complete
#   raise Retry              try again, costs one of the job's retries
#   raise Fail               failed for good, under a group
#   raise Release            given back, costs nothing
#   raise Unknown            not for this program: left to one that knows the job
#   any other exception      retry; group = its class, message = where it came from
#
# Where only some exceptions are worth another try, say which:
#
#   Oarlock.job "Fetch", retry_on: { Errno::ECONNRESET => 30, Timeout::Error => nil }, discard_on: [Gone] do |job|
#
# retries those (after so many seconds; nil: the pool's backoff), cancels the job for
# those of discard_on, and fails it for all others.
#
# Where the pool says `batch = 100`, several jobs of one klass come in one message.
# Blocks are called for one after the other; a program that rather does them together
# (one INSERT, one request) takes whole messages, in place of serve:
#
#   Oarlock.batches do |batch|
#     insert(batch.map(&:data))  # at the end of the block, those without a verdict are complete
#   end
#
# What the program prints goes to the job's log: the protocol does not travel on
# stdout where Oarlock offers a descriptor of its own. While jobs are served,
# stdin is empty, so a program that is started by a job cannot swallow job lines.

require "io/wait"
require "json"

module Oarlock
  LIBRARY = "ruby/1.0"
  MESSAGE_LIMIT = 4096 # characters of an exception that are kept as the message
  MAX_NESTING = 1002 # a payload as deep as Redis' own JSON takes, and the line around it

  # Try the job again: after delay seconds, else after the pool's backoff.
  class Retry < StandardError
    attr_reader :fields

    def initialize(message = nil, delay: nil, group: nil, data: nil)
      super(message || "retry")
      @fields = { message: message, delay: delay, group: group, data: data }
    end
  end

  # The job failed for good; failed jobs are listed by their group.
  class Fail < StandardError
    attr_reader :fields

    def initialize(message = "", group: "failed", data: nil)
      super(message)
      @fields = { group: group, message: message, data: data }
    end
  end

  # Give the job back, after delay seconds; no retry is counted.
  class Release < StandardError
    attr_reader :fields

    def initialize(delay: nil)
      super("released")
      @fields = { delay: delay }
    end
  end

  # This program has nothing for such a job; one of another version may. What a
  # worker says by itself of a klass without a block. klass names what is not known
  # where that is not the klass of the job.
  class Unknown < StandardError
    attr_reader :fields

    def initialize(message = nil, klass: nil)
      super(message || "unknown")
      @fields = { klass: klass, message: message }
    end
  end

  # A verdict, put or checkpoint has more bytes than the pool reads (its max_line).
  #
  # Nothing was sent. Leave what is large in a file or a store, and say where it is.
  # A block that lets it pass has failed, in the group `verdict-too-long`.
  class TooLong < ArgumentError
    attr_reader :group

    def initialize(verb, size, limit)
      super("its #{verb} has #{size} bytes, and the pool reads #{limit} (max_line)")
      @group = %w[put checkpoint].include?(verb) ? "#{verb}-too-long" : "verdict-too-long"
    end
  end

  # The attempt has to stop; its reason is one of those of Job#cancelled.
  #
  # Not a StandardError, so that a plain `rescue` lets it pass. Clean up, save a
  # checkpoint if that helps the next attempt, and let it go on: the grace is
  # short, and then the process is killed.
  class Cancelled < Exception
    attr_reader :reason

    def initialize(reason = "canceled")
      super("cancelled: #{reason}")
      @reason = reason
    end
  end

  # What becomes of a job by the class of the exception that its block let pass.
  class Remedy
    def initialize(retry_on, discard_on)
      @choosy = !retry_on.nil?
      delays = retry_on.is_a?(Hash) ? retry_on : Array(retry_on).to_h { |kind| [kind, nil] }
      @of = Array(discard_on).to_h { |kind| [kind, :cancel] }.merge(delays)
      @of.each_key do |kind|
        raise TypeError, "retry_on and discard_on name classes of exceptions, not #{kind.inspect}" unless kind.is_a?(Module)
      end
    end

    def settle(job, error, text)
      fields = { message: text, group: error.class.name || "anonymous" }
      kind = error.class.ancestors.find { |ancestor| @of.key?(ancestor) }
      if kind.nil? # nobody said it
        job.settle(@choosy ? "fail" : "retry", { **fields, raised: true })
      elsif @of[kind] == :cancel
        warn "discarded: #{text}"
        job.settle("cancel", {})
      else
        job.settle("retry", { **fields, delay: @of[kind] })
      end
    end
  end

  @handlers = {}
  @remedies = {}
  @fallback = nil
  @around = [] # the outermost first
  @before_fork = []
  @after_fork = []
  @worker = nil

  class << self
    # Makes the block the one for jobs of this klass; it is called with the Job.
    #
    # A job that is cancelled meanwhile gets Cancelled raised wherever it is; with
    # interrupt: false nothing is raised, and the block is expected to look at
    # job.cancelled now and then.
    #
    # With retry_on, a list of exception classes, only these are tried again, and any
    # other fails the job; as a hash it says after how many seconds, nil for the pool's
    # backoff. An exception of discard_on cancels the job, for which there is nothing
    # more to do. The class that comes first among the exception's ancestors decides.
    def job(klass, interrupt: true, retry_on: nil, discard_on: [], &handler)
      @remedies[klass] = Remedy.new(retry_on, discard_on)
      @handlers[klass] = [handler, interrupt]
    end

    # What becomes of a job of this klass by the exception that its block let pass.
    def remedy(klass)
      @remedies[klass] || Remedy.new(nil, [])
    end

    # Makes the block the one for every klass without its own.
    def default(interrupt: true, &handler)
      @fallback = [handler, interrupt]
    end

    # Has the block called with each job and the call that works it:
    #
    #     Oarlock.around do |job, call|
    #       call.()
    #     rescue StandardError => e
    #       Tracker.capture(e, job.jid)
    #       raise                         # or the job is complete
    #     end
    #
    # What call raises is what becomes of the job, Retry, Fail and the like too. The block
    # that is named first is the outermost.
    def around(&wrapper)
      @around << wrapper
    end

    # The call of handler with job, in all that is around it.
    def wrapped(handler, job)
      @around.reverse.inject(-> { handler.call(job) }) { |call, wrapper| -> { wrapper.call(job, call) } }
    end

    # Calls the block in the preloaded program before each fork: close connections.
    def before_fork(&hook)
      @before_fork << hook
    end

    # Calls the block in each new fork before its job: open connections again.
    # Sockets and pipes of the preloaded program are gone in the fork (they read
    # as empty); its regular files are shared.
    def after_fork(&hook)
      @after_fork << hook
    end

    # Asks to be replaced once the jobs at hand are done.
    def bye(reason = nil)
      @worker&.send_status("bye", @worker.job&.run, reason: reason)
    end

    # Serves jobs until Oarlock has no more. Call it last, in the main thread.
    def serve
      # Taken out of the environment, for the programs that a job may start.
      fork_fd = ENV.delete("OARLOCK_FORK_FD")
      status_fd = ENV.delete("OARLOCK_STATUS_FD")
      return Factory.new(fork_fd.to_i, @before_fork, @after_fork).run if fork_fd

      if $stdin.tty?
        abort "This is a worker: Oarlock starts it and writes jobs to its stdin. To try it by hand:\n" \
              "  oarlock try --klass NAME --job '{}' -- ruby #{$PROGRAM_NAME}"
      end
      source = $stdin.dup
      $stdin.reopen(File::NULL)
      status = status_fd ? IO.for_fd(status_fd.to_i, "wb") : $stdout
      status.close_on_exec = true if status_fd
      # On stdout somebody's unfinished line may stand in front of ours.
      work(source, status, status_fd ? "" : "\n", ENV["OARLOCK_MODE"] == "once" ? 1 : 0)
    end

    # The payloads of jobs by their keys, in the order of their scores. Of a job into which puts
    # merge (merge is all or set) they are what is in its list, of any other its data alone; of
    # one without a key they stand under its jid.
    def payloads_by_id(jobs)
      jobs.each_with_object({}) do |job, found|
        listed = %w[all set].include?(job.merge) && job.data.is_a?(Array)
        (found[job.key.to_s.empty? ? job.jid : job.key] ||= []).concat(listed ? job.data : [job.data])
      end
    end

    # Yields the messages of a pool, each a Batch of one job or more, until Oarlock has no
    # more. For mode `reuse`, in the main thread. After the block what has no verdict is
    # complete. Nothing interrupts it: where batch.stopping?, come to an end. An exception
    # that leaves the block ends the process, and then none of several jobs is blamed, but
    # each comes again with fewer others.
    def batches(&block)
      abort "Oarlock.batches is for mode = \"reuse\"; with preload, let blocks have the jobs (Oarlock.job)" if ENV["OARLOCK_FORK_FD"]

      @whole = block
      serve
    end

    # The block that takes whole messages, or nil.
    attr_reader :whole

    # Serves jobs over these descriptors, limit of them if that is not 0.
    def work(source, status, lead, limit)
      @worker = Worker.new(source, status, lead)
      told = ENV["OARLOCK_DRAIN_SIGNAL"]
      Signal.trap(told) { @worker.drain_all } if told && limit != 0 # a process for one job is sent no lines
      @worker.serve(limit)
    end

    # The handler of a klass and whether it may be interrupted, or nil.
    def handler(klass)
      @handlers.fetch(klass, @fallback)
    end

    def klasses
      @handlers.keys.sort
    end

    # A status line. Fields that are nil are left out; NaN is refused by JSON.
    def status_line(verb, run, fields)
      message = { "@" => verb }
      message["run"] = run if run
      fields.each { |name, value| message[name.to_s] = value unless value.nil? || message.key?(name.to_s) }
      JSON.generate(message, max_nesting: MAX_NESTING) << "\n"
    end

    # Text that JSON can carry, whatever bytes it is made of.
    def clean(text)
      text.dup.force_encoding(Encoding::UTF_8).scrub
    end
  end

  # One attempt at one job. It is yours until your block returns.
  class Job
    attr_reader :run,       # id of this attempt
                :jid, :klass, :queue,
                :data,      # the payload, decoded
                :tags, :priority,
                :attempt,   # 1 for the first
                :retries,   # how many the job was put with
                :remaining, # how many are left
                :timeout,   # seconds this attempt may take
                :dir,       # private directory, nil if there is none
                :saved,     # last checkpoint of an earlier attempt, or nil
                :key, # no other job of it runs, nil if it has none
                :merge, # how puts of its key merge into it: data is a list with all and set; nil if they do not
                :scores, # of the payloads in data, in their order
                :correlation, # what an answer to the job names, nil if it has none
                :response,  # what it was parked for, or nil: "data" or "error", and "age"; see park
                :traceparent, # W3C trace context: this attempt as a span, nil if it is not traced
                :tracestate

    def initialize(worker, message, line, place = nil)
      @worker = worker
      @line = line
      @place = place # in the list of a batch line; nil: it has a line of its own
      @run = message.fetch("run")
      @jid = message["jid"]
      @klass = message["klass"]
      @queue = message["queue"]
      @data = message["data"]
      @tags = message["tags"] || []
      @priority = message["priority"] || 0
      @attempt = message["attempt"] || 1
      @retries = message["retries"] || 0
      @remaining = message["remaining"] || 0
      @timeout = message["timeout"] || 0
      @dir = message["dir"]
      @saved = message["checkpoint"]
      @key = message["key"]
      @merge = message["merge"]
      @scores = message["scores"] || []
      @correlation = message["correlation"]
      @response = message["response"]
      @callback = message["callback"]
      @traceparent = message["traceparent"]
      @tracestate = message["tracestate"]
      @settled = false
      @reason = nil
      @draining = false
    end

    # The payload as the JSON text that is stored, not a byte changed: for
    # numbers that must survive beyond a double, and for signatures.
    def raw
      line = @place ? Line.element(Line.member(@line, "jobs"), @place) : @line
      Oarlock.clean(Line.member(line, "data"))
    end

    # Whether a verdict was sent; later ones are not.
    def settled?
      @settled
    end

    # Why the attempt has to stop ("canceled", "lock_lost", "timeout",
    # "shutdown"), or nil.
    def cancelled
      @worker.look if Thread.current == Thread.main
      @reason
    end
    alias cancelled? cancelled

    # Whether to come to an end soon, where the next attempt can go on: Oarlock
    # leaves or changes its code, or the attempt has to stop. See step.
    def stopping?
      !cancelled.nil? || @draining || @worker.draining
    end

    # Says that everything up to cursor is done. It is kept as the checkpoint, and if
    # the job is stopping, it is given back here (by raising Release): the next
    # attempt finds cursor in saved.
    def step(cursor)
      checkpoint(cursor)
      raise Retry.new("stopped after its timeout of #{timeout} s", group: "timeout") if cancelled == "timeout"
      raise Release if stopping?
    end

    # Shows how far the job is, in percent; also a sign of life.
    def progress(pct = nil, message = nil)
      @worker.send_status("progress", @run, pct: pct, message: message)
    end

    # A sign of life, for pools with a stall_timeout.
    def heartbeat
      @worker.send_status("heartbeat", @run, {})
    end

    # Keeps data (64 KiB of JSON) for the next attempt, which finds it in saved.
    def checkpoint(data)
      line = JSON.generate({ "@" => "checkpoint", "run" => @run, "data" => data }) << "\n"
      @worker.measure("checkpoint", line)
      @worker.send_line(line)
    end

    # Writes a structured line to the job's log.
    def log(message, level: "info", **fields)
      @worker.send_status("log", @run, level: level, message: Oarlock.clean(message.to_s), **fields)
    end

    # Puts a new job, if and when this one is acknowledged. Options: jid, delay
    # (seconds), priority, tags, retries, depends, timeout,
    # if_exists (replace, final, never).
    def put(queue, klass, data = {}, **options)
      @worker.send_whole("put", @run, queue: queue, klass: klass, data: data, **options)
    end

    # What the job wants done to itself or, by its jid, to another: where the pool's allow
    # names the verb. It is done soon, in this order, and before the job is settled; what
    # cannot be done is in the log.

    # Gives the job tags.
    def tag(*tags, jid: nil)
      @worker.send_status("tag", @run, tags: tags, jid: jid)
    end

    # Takes tags from the job.
    def untag(*tags, jid: nil)
      @worker.send_status("untag", @run, tags: tags, jid: jid)
    end

    # Has what happens to the job published.
    def track(jid: nil)
      @worker.send_status("track", @run, jid: jid)
    end

    # Has it published no longer.
    def untrack(jid: nil)
      @worker.send_status("untrack", @run, jid: jid)
    end

    # Changes the job's priority; higher comes first.
    def prioritize(priority, jid: nil)
      @worker.send_status("priority", @run, priority: priority, jid: jid)
    end

    # Adds an entry to the job's history; data is a hash or a list.
    def note(message, data = nil, jid: nil)
      @worker.send_status("note", @run, message: Oarlock.clean(message.to_s), data: data, jid: jid)
    end

    # Removes the job for good. Of this one it is the verdict, unless there was one.
    def cancel(jid: nil)
      return settle("cancel", {}) if jid.nil? || jid == @jid

      @worker.send_status("cancel", @run, jid: jid)
    end

    # Puts the job again with all its retries, into queue, else its own. Of this one it is
    # the verdict, unless there was one.
    def requeue(queue = nil, delay: nil, jid: nil)
      return settle("requeue", { queue: queue, delay: delay }) if jid.nil? || jid == @jid

      @worker.send_status("requeue", @run, queue: queue, delay: delay, jid: jid)
    end

    # Completes the job now; with next, moves it to that queue. data replaces the
    # payload. What the block does afterwards no longer counts, so let this be its
    # last word.
    def ack(data: nil, next: nil, delay: nil, depends: nil)
      # `next` is a word of the language; as an argument it is reached like this.
      settle("ack", { data: data, next: binding.local_variable_get(:next), delay: delay, depends: depends })
    end

    # Ends the attempt as raising Retry does.
    def retry(message = nil, **options)
      settle("retry", Retry.new(message, **options).fields)
    end

    # Ends the attempt as raising Fail does.
    def fail(message = "", **options)
      settle("fail", Fail.new(message, **options).fields)
    end

    # Ends the attempt as raising Release does.
    def release(delay: nil)
      settle("release", { delay: delay })
    end

    # Ends the attempt, to wait without a process for an answer that names correlation, for
    # timeout seconds at most (a day). The next attempt has it in response, and checkpoint in
    # saved; with then: "complete" the answer completes the job.
    #
    # Let this be the block's last word. Ask first, then park: an answer that is faster than
    # that is kept.
    def park(correlation = nil, timeout: nil, checkpoint: nil, data: nil, **options)
      settle("park", { correlation: correlation, timeout: timeout, checkpoint: checkpoint, data: data }.merge(options))
    end

    # The address at which whoever is asked answers this job, and no other, by POST of JSON: for
    # the answer that correlation names, or the job's own. It is a secret of you two; nil where
    # [park] secret_file of the configuration names none.
    def callback(correlation = @correlation)
      @callback && @callback + correlation.to_s.b.gsub(/[^A-Za-z0-9_.~-]/n) { |byte| format("%%%02X", byte.ord) }
    end

    # Ends the attempt as raising Unknown does.
    def unknown(message = nil, **options)
      settle("unknown", Unknown.new(message, **options).fields)
    end

    # Sends a verdict, unless there was one.
    def settle(verb, fields)
      return if @settled

      # What was printed so far belongs to this job, not to the next one.
      $stdout.flush
      $stderr.flush
      line = Oarlock.status_line(verb, @run, fields)
      @worker.measure(verb, line)
      @settled = true
      @worker.send_line(line)
    end

    # Notes that a verdict was sent that is about it, too.
    def settled!
      @settled = true
    end

    # Notes that the job is to come to an end.
    def drain
      @draining = true
    end

    # Notes why the attempt has to stop.
    def halt(reason)
      @reason = reason
    end

    # The reason without a look at what has arrived.
    attr_reader :reason
  end

  # The jobs of one message, one or more of one klass. It is yours until your block returns.
  #
  # Each of its jobs may be given its own verdict (job.ack, job.fail, ...). The methods here
  # are about those that have none, by one line for all of them. If the process dies
  # before, or takes too long, that counts for none of several jobs: they come again in
  # smaller messages, until the one that is to blame is alone.
  class Batch
    include Enumerable

    attr_reader :run, :jobs

    def initialize(worker, run, jobs)
      @worker = worker
      @run = run
      @jobs = jobs
    end

    def each(&block)
      @jobs.each(&block)
    end

    def size
      @jobs.size
    end

    def klass
      @jobs.first.klass
    end

    # Whether to come to an end soon: the supervisor leaves or changes its code, or the time is up.
    def stopping?
      @jobs.map(&:stopping?).any?
    end

    # The payloads of its jobs by their keys; see Oarlock.payloads_by_id.
    def payloads_by_id
      Oarlock.payloads_by_id(@jobs)
    end

    # Shows how far the batch is, in percent; also a sign of life.
    def progress(pct = nil, message = nil)
      @worker.send_status("progress", @run, pct: pct, message: message)
    end

    # A sign of life, for pools with a stall_timeout.
    def heartbeat
      @worker.send_status("heartbeat", @run, {})
    end

    # Completes the jobs that have no verdict; with next, moves them to that queue.
    def ack(next: nil)
      settle("ack", { next: binding.local_variable_get(:next) })
    end

    # Has them tried again, at the cost of a retry each.
    def retry(message = nil, **options)
      settle("retry", Retry.new(message, **options).fields)
    end

    # Fails them for good.
    def fail(message = "", **options)
      settle("fail", Fail.new(message, **options).fields)
    end

    # Gives them back; no retry is counted.
    def release(delay: nil)
      settle("release", { delay: delay })
    end

    private

    def settle(verb, fields)
      open = @jobs.reject(&:settled?)
      return if open.empty?

      $stdout.flush
      $stderr.flush
      line = Oarlock.status_line(verb, @run, fields)
      @worker.measure(verb, line)
      open.each(&:settled!)
      @worker.send_line(line)
    end
  end

  # A line of JSON, seen as text.
  module Line
    TOKEN = /"[^"\\]*+(?:\\.[^"\\]*+)*+"|[\[\]{}:,]/n.freeze

    # An element of the list, as it is written there.
    def self.element(list, place)
      list = list.b
      depth = at = start = 0
      while (token = TOKEN.match(list, at))
        at = token.end(0)
        piece = token[0]
        depth += 1 if ["{", "["].include?(piece)
        if depth == 1 && ["[", ",", "]"].include?(piece)
          return list[start...token.begin(0)].strip if piece != "[" && place.zero?

          place -= 1 unless piece == "["
          start = at
        end
        depth -= 1 if ["}", "]"].include?(piece)
      end
    end

    # The value of a member of the object, as it is written there.
    def self.member(line, name)
      line = line.b
      depth = at = start = 0
      key = nil
      found = "null"
      while (token = TOKEN.match(line, at))
        at = token.end(0)
        piece = token[0]
        depth += 1 if ["{", "["].include?(piece)
        if depth == 1 && "{:,}".include?(piece)
          part = line[start...token.begin(0)].strip
          key = JSON.parse(part) if piece == ":"
          found = part if key == name && [",", "}"].include?(piece)
          start = at
        end
        depth -= 1 if ["}", "]"].include?(piece)
      end
      found
    end
  end

  # Reads job lines and writes status lines; one per process.
  #
  # While a handler runs, the kernel signals new input (O_ASYNC), so that a cancel
  # line interrupts the handler without a thread that waits for it. All input is
  # read in the main thread; status lines may be sent from any thread.
  class Worker
    LINUX = RUBY_PLATFORM.include?("linux")
    # Values of the kernel that Ruby has no names for.
    F_GETFL, F_SETFL, F_SETOWN, O_ASYNC = LINUX ? [3, 4, 8, 0o20000] : [3, 4, 6, 0x40]
    CALL = /\A#{Regexp.escape(__FILE__)}:\d+:in .*\bwrapped'\z/.freeze
    HELLO = { v: [1], lib: LIBRARY, caps: %w[cancel shutdown draining batch] }.freeze

    attr_reader :job

    def initialize(source, status, lead)
      @source = source
      @status = status
      @pid = Process.pid # a fork that a block lets come back has another
      @limit = (ENV["OARLOCK_MAX_LINE"] || 1 << 20).to_i # of a line, without its end
      @lead = lead # written before each line; a newline where others print too
      @ended = false # end of file was seen
      @stopping = false # a shutdown line was seen, or the end of the input
      @draining = false
      @inbox = [] # jobs that wait; more than one with prefetch
      @rest = +"" # a line that is not complete yet
      @job = nil # the one whose handler runs
      @batch = nil # the message that was read last
      @whole = [] # messages that wait, for a block that takes them whole
      @dir = ENV["OARLOCK_DIR"] # the private directory the process knows
      @interrupt = false # whether Cancelled may be raised in it now
      @looking = @look_again = false
      @outbox = []
      @writing = false
      @sending = 0 # how deep the main thread is in send_line
      watch if source.stat.pipe? || source.stat.socket?
    end

    # Whether the pool's drain_signal came.
    attr_reader :draining

    # Notes that it came.
    def drain_all
      @draining = true
    end

    # Runs jobs until the end of the input, or those of one message if limit is not 0.
    def serve(limit)
      # On stdout the hello of a process for one job counts if it names its run.
      send_status("hello", ENV["OARLOCK_RUN"], HELLO)
      return serve_whole if Oarlock.whole

      loop do
        read while @inbox.empty? && !@stopping
        return if @inbox.empty?

        attempt(@inbox.shift)
        return if limit != 0 && @inbox.empty?
      end
    end

    # Hands messages to the block that takes them whole, until the end of the input.
    def serve_whole
      loop do
        read while @whole.empty? && !@stopping
        return if @whole.empty?

        batch = @whole.shift
        begin
          Oarlock.whole.call(batch)
        ensure
          leave_fork
        end
        batch.ack
      end
    end

    # Takes in what has arrived, without waiting. Called again from the signal
    # handler in its own middle, it leaves the work to the outer call.
    def look
      @look_again = true
      while @look_again && !@looking
        @looking = true
        @look_again = false
        read while !@ended && @source.wait_readable(0)
        @looking = false
      end
      stop_if_cancelled
    end

    # Sends a status line; fields that are nil are left out.
    def send_status(verb, run, fields)
      send_line(Oarlock.status_line(verb, run, fields))
    end

    # Sends a status line that must arrive whole, or raises TooLong.
    def send_whole(verb, run, fields)
      line = Oarlock.status_line(verb, run, fields)
      measure(verb, line)
      send_line(line)
    end

    def measure(verb, line)
      size = line.bytesize - 1
      raise TooLong.new(verb, size, @limit) if size > @limit
    end

    # Sends a line. Whoever holds the turn writes what the others left: neither a
    # thread nor the signal handler can get its line into the middle of another.
    # A mutex would do, were it allowed in a signal handler.
    def send_line(line)
      main = Thread.current == Thread.main
      @sending += 1 if main
      @outbox << (@lead + line)
      until @outbox.empty?
        taken, @writing = @writing, true # no thread is switched within an assignment
        break if taken

        begin
          while (next_line = @outbox.shift)
            write(next_line)
          end
        ensure
          @writing = false
        end
      end
    ensure
      if main
        @sending -= 1
        stop_if_cancelled
      end
    end

    private

    def watch
      @flags = @source.fcntl(F_GETFL)
      @source.fcntl(F_SETOWN, Process.pid)
      Signal.trap("IO") { look if @job }
    end

    # Calls the handler of job and sends what became of it.
    def attempt(job)
      handler, interrupt = Oarlock.handler(job.klass)
      unless handler
        return job.unknown("no handler for #{job.klass}; this worker knows #{Oarlock.klasses.join(', ')}",
                           klass: job.klass)
      end
      move(job.dir) if job.dir && job.dir != @dir && !job.dir.empty?
      work(job, handler, interrupt)
    rescue TooLong => e # the block's, or what it raised is
      warn e.message if job.settled?
      job.settle("fail", { group: e.group, message: e.message, raised: true })
    end

    def work(job, handler, interrupt)
      call(handler, job, interrupt)
      job.ack
    rescue Cancelled => stop
      finish # the interruption may have come in the middle of the first one
      if stop.reason == "timeout"
        job.retry("stopped after its timeout of #{job.timeout} s", group: "timeout")
      else
        job.release
      end
    rescue Retry => verdict
      job.settle("retry", verdict.fields)
    rescue Fail => verdict
      job.settle("fail", verdict.fields)
    rescue Release => verdict
      job.settle("release", verdict.fields)
    rescue Unknown => verdict
      job.settle("unknown", verdict.fields)
    rescue SystemExit, SignalException, TooLong
      raise
    rescue Exception => error
      text = Oarlock.clean(describe(error))
      warn text if job.settled?
      Oarlock.remedy(job.klass).settle(job, error, text[0, MESSAGE_LIMIT])
    end

    def call(handler, job, interrupt)
      start(job, interrupt)
      Oarlock.wrapped(handler, job).call
    ensure
      finish
    end

    def start(job, interrupt)
      @job = job
      return unless interrupt && @flags

      @interrupt = true
      @source.fcntl(F_SETFL, @flags | O_ASYNC)
      look # at what came before the signal was switched on
    end

    # Ends a process that a block forked and let come back: input and verdicts are not its.
    def leave_fork
      return if Process.pid == @pid

      error = $!
      raise error if error.is_a?(SystemExit)

      warn error.full_message(highlight: false) if error
      $stdout.flush
      exit!(error.nil?)
    end

    def finish
      leave_fork
      @interrupt = false
      @job = nil
      @source.fcntl(F_SETFL, @flags) if @flags
    end

    # Message and backtrace, down to where the handler was called.
    def describe(error)
      trace = (error.backtrace || []).take_while { |frame| !CALL.match?(frame) }
      "#{error.message} (#{error.class})\n#{trace.map { |frame| "  #{frame}\n" }.join}"
    end

    # Makes directory the private one: a preloaded program's forks get theirs with
    # the job.
    def move(directory)
      Dir.chdir(directory) if @dir && File.realpath(@dir) == Dir.pwd
      @dir = ENV["OARLOCK_DIR"] = ENV["TMPDIR"] = directory
    end

    # Reads once, waiting if need be, and takes in the lines that are complete.
    def read
      chunk = @source.readpartial(1 << 16)
      @rest << chunk
      return unless chunk.include?("\n")

      lines = @rest.split("\n", -1)
      @rest = +lines.pop
      lines.each { |line| receive(line) }
    rescue EOFError
      @ended = @stopping = true
      last, @rest = @rest, +"" # a last line may do without its newline
      receive(last)
    end

    def receive(line)
      return if line.strip.empty?

      message = JSON.parse(line.force_encoding(Encoding::UTF_8), max_nesting: MAX_NESTING)
      case message.is_a?(Hash) && message["@"]
      when "job" then arrived(message["run"], [Job.new(self, message, line)])
      when "batch" then arrived(message["run"], jobs_of(message, line))
      when "hello" then @limit = message["max_line"] || @limit
      when "cancel" then cancel(message["run"], message["reason"] || "canceled")
      when "draining" then drain(message["run"])
      when "shutdown" then @stopping = true
      end
    rescue JSON::ParserError, KeyError => e
      refuse(line.b, e)
    end

    def jobs_of(message, line)
      shared = message.slice("timeout", "lease", "dir")
      message["jobs"].each_with_index.map { |job, place| Job.new(self, shared.merge(job), line, place) }
    end

    def arrived(run, jobs)
      @batch = Batch.new(self, run, jobs)
      Oarlock.whole ? @whole << @batch : @inbox.concat(jobs)
    end

    def cancel(run, reason)
      if @batch && @batch.run == run && @batch.size > 1
        return @batch.reject(&:settled?).each { |job| cancel(job.run, reason) }
      end
      return @batch&.each { |job| job.halt(reason) if job.run == run } if Oarlock.whole

      @job.halt(reason) if @job&.run == run
      waiting = @inbox.find { |job| job.run == run }
      @inbox.delete(waiting)&.release
    end

    def drain(run)
      whole = @batch&.run == run
      [@job, *@inbox, *@batch].each { |job| job.drain if job && (job.run == run || whole) }
    end

    # Fails a job whose line Ruby cannot read (nested too deep, say), rather than
    # leave the supervisor waiting for it.
    def refuse(line, error)
      run = line[/\A\s*{\s*"@"\s*:\s*"(?:job|batch)"\s*,\s*"run"\s*:\s*"([^"\\]*)"/n, 1]
      if run
        message = Oarlock.clean(error.message)[0, 200]
        send_status("fail", Oarlock.clean(run), group: "unreadable-job", message: message, raised: true)
      else
        warn "oarlock: skipped a line that is not a message: #{line[0, 200].inspect}"
      end
    end

    # Raises Cancelled in a handler that is to be interrupted, once.
    def stop_if_cancelled
      return unless @interrupt && @job&.reason && @sending.zero? && !@looking && Thread.current == Thread.main

      @interrupt = false
      raise Cancelled, @job.reason
    end

    def write(line)
      line = line.b
      line = line.byteslice(@status.syswrite(line)..-1) until line.empty?
    rescue Errno::EAGAIN # whoever made the pipe made it non-blocking
      @status.wait_writable
      retry
    end
  end

  # A preloaded program that forks itself for each job.
  #
  # For each `fork` message on the control socket it forks a child; the message
  # brings the child's stdin, stdout, stderr and status descriptor. Replies are
  # `forked` or `forkfail`, and later `exit` when the child has ended.
  class Factory
    KEPT_SIGNALS = %w[EXIT KILL STOP SEGV BUS ILL FPE VTALRM].freeze # not ours to set

    def initialize(control, before_fork, after_fork)
      require "socket"
      @control = UNIXSocket.for_fd(control)
      @control.close_on_exec = true
      @before_fork = before_fork
      @after_fork = after_fork
      @slots = {} # of the children that live, by pid
      @rest = +""
      @wake, @wake_end = IO.pipe
      Signal.trap("CHLD") { @wake_end.write_nonblock(".", exception: false) }
    end

    # Serves the socket until the supervisor closes it.
    def run
      @caught = caught_signals
      @reserved = reserved_descriptors
      warm_up
      threads = Thread.list.size
      if threads > 1
        warn "oarlock: #{threads} threads are alive in the preloaded program; " \
             "they do not exist in its forks, and a lock one of them holds stays locked there"
      end
      reply("hello", v: [1], lib: LIBRARY, caps: ["fork"], threads: threads)
      loop do
        ready, = IO.select([@control, @wake])
        reap if ready.include?(@wake)
        return if ready.include?(@control) && !receive
      end
    end

    private

    # Collects and compacts, so that forks share as many pages as they can.
    def warm_up
      return Process.warmup if Process.respond_to?(:warmup)

      GC.start
      GC.compact if GC.respond_to?(:compact)
    rescue NotImplementedError
      nil # this platform cannot compact
    end

    # Takes in one message with its descriptors; false at the end.
    def receive
      chunk, _, _, *controls = @control.recvmsg(1 << 16, 0, scm_rights: true)
      return false if chunk.nil? || chunk.empty?

      streams = controls.flat_map { |control| control.unix_rights || [] }
      *lines, rest = (@rest + chunk).split("\n", -1)
      @rest = rest
      lines.each do |line|
        message = JSON.parse(line)
        start(message["slot"] || 0, message["env"] || {}, streams) if message["@"] == "fork"
      end
      true
    end

    def start(slot, env, streams)
      @before_fork.each(&:call)
      cut = channels
      pid = fork { become_child(slot, env, streams, cut) }
      @slots[pid] = slot
      reply("forked", slot: slot, pid: pid)
    rescue StandardError => e
      reply("forkfail", slot: slot, message: Oarlock.clean("#{e.class}: #{e.message}"))
    ensure
      streams.each(&:close)
    end

    # Turns the new fork into a child like any other, and serves its job.
    def become_child(slot, env, streams, channels)
      code = 1
      @caught.each { |name| Signal.trap(name, "DEFAULT") }
      Process.setsid
      source, out, err, status = streams
      STDIN.reopen(File::NULL)
      STDOUT.reopen(out)
      STDERR.reopen(err)
      detach(channels - [source.fileno, status.fileno])
      srand
      ENV["OARLOCK_SLOT"] = slot.to_s
      ENV.update(env)
      @after_fork.each(&:call)
      Oarlock.work(source, status, "", 1)
      code = 0
    rescue SystemExit => e
      code = e.status
    rescue Exception => e
      warn e.full_message(highlight: false)
    ensure
      # Not exit: what the preloaded program does at its end is not ours to do.
      STDOUT.flush
      STDERR.flush
      exit!(code)
    end

    # The signals that the program catches or ignores, which its forks must not.
    # Found out in a fork of its own, because to ask for a handler is to replace it.
    def caught_signals
      IO.popen("-") do |answer|
        next answer.read.split if answer

        names = Signal.list.keys - KEPT_SIGNALS
        $stdout.syswrite(names.reject { |name| Signal.trap(name, "DEFAULT").to_s.end_with?("DEFAULT") }.join(" "))
        exit!
      end
    end

    # The descriptors that the interpreter lets nobody have.
    def reserved_descriptors
      Dir.children("/dev/fd").map(&:to_i).select do |fd|
        IO.for_fd(fd, autoclose: false) && false
      rescue ArgumentError
        true
      rescue SystemCallError # the listing's own
        false
      end
    end

    # The sockets, pipes and the like of the program, beyond the standard ones. To
    # be called before the fork: after it, every page that this needs has to be
    # copied first, which takes three times as long.
    def channels
      Dir.open("/dev/fd") do |listing|
        found = listing.children.map(&:to_i).select { |fd| fd > 2 && fd != listing.fileno }
        (found - @reserved).reject do |fd|
          stat = File.stat("/dev/fd/#{fd}")
          stat.file? || stat.chardev?
        end
      end
    end

    # Cuts the fork off from these descriptors of the preloaded program. They are
    # replaced by /dev/null rather than closed: an object of the program that still
    # holds the number must not close a later file of the job by it.
    def detach(channels)
      null = File.open(File::NULL, "r+")
      channels.each { |fd| IO.for_fd(fd, autoclose: false).reopen(null) }
      null.close
    end

    def reap
      @wake.read_nonblock(4096, exception: false)
      @slots.keys.each do |pid| # by pid: the program may have processes of its own
        before = Process.times
        next unless Process.wait(pid, Process::WNOHANG)

        ended = $?
        after = Process.times
        reply("exit", slot: @slots.delete(pid), pid: pid,
                      code: ended.exitstatus || 0, signal: ended.termsig || 0, core: ended.coredump?,
                      utime: after.cutime - before.cutime, stime: after.cstime - before.cstime)
      end
    end

    def reply(verb, **fields)
      @control.write(Oarlock.status_line(verb, nil, fields))
      @control.flush
    end
  end
end
