"use strict";

/**
 * Oarlock for Node: write a worker as a function.
 *
 *     const oarlock = require("./oarlock");
 *
 *     oarlock.job("Resize", async (job) => {
 *       job.progress(10, "loading");
 *       await resize(job.data, { signal: job.signal });   // done: the job is complete
 *       throw new oarlock.Retry("busy", { delay: 30 });   // or: try again, or Fail, or Release
 *     });
 *
 *     oarlock.serve();
 *
 * Copy this file next to your program; it needs Node 16 and nothing else. It
 * serves pools of the modes `reuse` (a process for many jobs, one at a time) and
 * `once` (a process per job).
 *
 * How an attempt ends:
 *
 *     the function returns     complete
 *     throw Retry              try again, costs one of the job's retries
 *     throw Fail               failed for good, under a group
 *     throw Release            given back, costs nothing
 *     throw Unknown            not for this program: left to one that knows the job
 *     anything else thrown     retry; group = its name, message = its stack
 *
 * Where only some errors are worth another try, say which:
 *
 *     oarlock.job("Fetch", { retryOn: [[Timeout, 30], Busy], discardOn: [Gone] }, async (job) => { ... });
 *
 * retries those (after so many seconds, else after the pool's backoff), cancels the job
 * for those of discardOn, and fails it for all others.
 *
 * Where the pool says `batch = 100`, several jobs of one klass come in one message.
 * Functions are called for one after the other; a program that rather does them together
 * (one INSERT, one request) takes whole messages, in place of serve:
 *
 *     for await (const batch of oarlock.batches()) {
 *       await insert(batch.jobs.map((job) => job.data));  // those without a verdict are complete then
 *     }
 *
 * A job that has to stop has its `signal` aborted: hand the signal to what you
 * await, or look at `job.cancelled`. A function that throws thereafter gives the
 * job back. While jobs are served, stdin is empty (on Linux), so a program that is started
 * by a job cannot swallow job lines.
 */

const fs = require("node:fs");
const net = require("node:net");
const tty = require("node:tty");

const LIBRARY = "node/1.0";
const STACK_LIMIT = 4096; // characters of a stack that are kept as the message

const handlers = new Map();
const remedies = new Map(); // of errors, by klass
const wrappers = []; // the outermost first
let fallback = null;
let worker = null;
let whole = null; // messages for whoever takes them whole

/**
 * Makes handler the one for jobs of this klass; it is called with the Job.
 *
 * With `retryOn`, a list of classes, or of pairs of a class and seconds, only errors of these
 * are tried again, and any other fails the job. An error of `discardOn` cancels the job,
 * for which there is nothing more to do. The class that is nearest to the error's own decides.
 */
function job(klass, options, handler) {
  if (handler === undefined) [options, handler] = [{}, options];
  if (typeof handler !== "function") throw new TypeError(`job(${JSON.stringify(klass)}, options, handler): the handler, a function, comes last`);
  handlers.set(klass, handler);
  remedies.set(klass, new Remedy(options));
}

/** Makes handler the one for every klass without its own. */
function fallbackJob(handler) {
  fallback = handler;
}

/**
 * Has wrapper called with each job and the call that works it:
 *
 *     oarlock.around(async (job, call) => {
 *       try {
 *         return await call();
 *       } catch (error) {
 *         tracker.capture(error, job.jid);
 *         throw error;                     // or the job is complete
 *       }
 *     });
 *
 * What call throws is what becomes of the job, Retry, Fail and the like too. The wrapper that
 * is named first is the outermost.
 */
function around(wrapper) {
  if (typeof wrapper !== "function") throw new TypeError("around(wrapper): a function of a job and a call");
  wrappers.push(wrapper);
}

/** Asks to be replaced once the jobs at hand are done. */
function bye(reason) {
  worker?.send("bye", worker.job?.run, { reason });
}

/** A verdict that is thrown. */
class Verdict extends Error {
  constructor(verb, message, fields) {
    super(message);
    this.name = new.target.name;
    this.verb = verb;
    this.fields = fields;
  }
}

/** Try the job again: after `delay` seconds, else after the pool's backoff. */
class Retry extends Verdict {
  constructor(message, { delay, group, data } = {}) {
    super("retry", message, { delay, group, message, data });
  }
}

/** The job failed for good; failed jobs are listed by their group. */
class Fail extends Verdict {
  constructor(message, { group = "failed", data } = {}) {
    super("fail", message, { group, message: message ?? "", data });
  }
}

/** Give the job back, after `delay` seconds; no retry is counted. */
class Release extends Verdict {
  constructor({ delay } = {}) {
    super("release", "released", { delay });
  }
}

/**
 * This program has nothing for such a job; one of another version may. What a
 * worker says by itself of a klass without a function. `klass` names what is not
 * known where that is not the klass of the job.
 */
class Unknown extends Verdict {
  constructor(message, { klass } = {}) {
    super("unknown", message, { klass, message });
  }
}

/**
 * A verdict, put or checkpoint has more bytes than the pool reads (its max_line).
 * Nothing was sent. Leave what is large in a file or a store, and say where it is. A
 * function that lets it pass has failed, in the group `verdict-too-long`.
 */
class TooLong extends RangeError {
  constructor(verb, size, limit) {
    super(`its ${verb} has ${size} bytes, and the pool reads ${limit} (max_line)`);
    this.name = "TooLong";
    this.group = ["put", "checkpoint"].includes(verb) ? `${verb}-too-long` : "verdict-too-long";
  }
}

const WHOLE = new Set(["ack", "retry", "fail", "release", "unknown", "park", "cancel", "requeue", "put", "checkpoint"]); // of no use if cut

/** What becomes of a job by the class of the error that its function threw. */
class Remedy {
  #choosy;
  #of = new Map();

  constructor({ retryOn, discardOn = [] } = {}) {
    this.#choosy = retryOn !== undefined;
    for (const kind of discardOn) this.#of.set(kind, { verb: "cancel" });
    for (const each of retryOn ?? []) {
      const [kind, delay] = Array.isArray(each) ? each : [each];
      this.#of.set(kind, { verb: "retry", delay });
    }
    for (const kind of this.#of.keys()) {
      if (typeof kind !== "function") throw new TypeError(`retryOn and discardOn name classes, not ${kind}`);
    }
  }

  /** What was said of errors like this one, if anything was. */
  #find(error) {
    for (let kind = error?.constructor; typeof kind === "function"; kind = Object.getPrototypeOf(kind)) {
      if (this.#of.has(kind)) return this.#of.get(kind);
    }
    return undefined;
  }

  settle(job, error, fields) {
    const said = this.#find(error);
    if (!said) { // nobody said it
      job.settle(this.#choosy ? "fail" : "retry", { ...fields, raised: true });
    } else if (said.verb === "cancel") {
      process.stderr.write(`discarded: ${fields.message}\n`);
      job.settle("cancel", {});
    } else {
      job.settle("retry", { ...fields, delay: said.delay });
    }
  }
}

/** One attempt at one job. It is yours until your function is done. */
class Job {
  #worker;
  #line;
  #abort = null; // made when somebody asks for the signal

  #draining = false;
  #callback;
  #place; // in the list of a batch line; undefined: it has a line of its own

  constructor(worker, message, line, place) {
    this.#worker = worker;
    this.#line = line;
    this.#place = place;
    this.run = message.run; // id of this attempt
    this.jid = message.jid;
    this.klass = message.klass;
    this.queue = message.queue;
    this.data = message.data; // the payload, decoded
    this.tags = message.tags ?? [];
    this.priority = message.priority ?? 0;
    this.attempt = message.attempt ?? 1; // 1 for the first
    this.retries = message.retries ?? 0; // how many the job was put with
    this.remaining = message.remaining ?? 0; // how many are left
    this.timeout = message.timeout ?? 0; // seconds this attempt may take
    this.dir = message.dir; // private directory, if there is one
    this.saved = message.checkpoint; // last checkpoint of an earlier attempt
    this.key = message.key; // no other job of it runs; if it has one
    this.merge = message.merge; // how puts of its key merge into it, if they do: data is a list with all and set
    this.scores = message.scores ?? []; // of the payloads in data, in their order
    this.correlation = message.correlation; // what an answer to the job names, if it has one
    this.#callback = message.callback ?? "";
    this.response = message.response; // what it was parked for: data or error, and age; see park
    this.traceparent = message.traceparent; // W3C trace context: this attempt as a span, if it is traced
    this.tracestate = message.tracestate;
    this.settled = false; // whether a verdict was sent; later ones are not
    /** Why the attempt has to stop (canceled, lock_lost, timeout, shutdown), or null. */
    this.cancelled = null;
  }

  /** Whether to come to an end soon, where the next attempt can go on. See step. */
  get stopping() {
    return this.cancelled !== null || this.#draining || this.#worker.draining;
  }

  /** Aborted when the attempt has to stop; its reason is that of `cancelled`. */
  get signal() {
    if (!this.#abort) {
      this.#abort = new AbortController();
      if (this.cancelled) this.#abort.abort(this.cancelled);
    }
    return this.#abort.signal;
  }

  /**
   * The payload as the JSON text that is stored, not a character changed: for
   * numbers that must survive beyond a double, and for signatures.
   */
  get raw() {
    const line = this.#place === undefined ? this.#line : element(member(this.#line, "jobs"), this.#place);
    return member(line, "data");
  }

  /**
   * Says that everything up to cursor is done. It is kept as the checkpoint, and if the
   * job is stopping (Oarlock leaves or changes its code, or the attempt has to stop), it
   * is given back here, by throwing Release: the next attempt finds cursor in `saved`.
   * Between two steps that never wait, await this one: only then is `stopping` heard of.
   */
  async step(cursor) {
    this.checkpoint(cursor);
    await new Promise(setImmediate);
    if (this.cancelled === "timeout") throw new Retry(`stopped after its timeout of ${this.timeout} s`, { group: "timeout" });
    if (this.stopping) throw new Release();
  }

  /** Shows how far the job is, in percent; also a sign of life. */
  progress(pct, message) {
    this.#worker.send("progress", this.run, { pct, message });
  }

  /** A sign of life, for pools with a stall_timeout. */
  heartbeat() {
    this.#worker.send("heartbeat", this.run, {});
  }

  /** Keeps data (64 KiB of JSON) for the next attempt, which finds it in `saved`. */
  checkpoint(data) {
    this.#worker.send("checkpoint", this.run, { data });
  }

  /** Writes a structured line to the job's log. */
  log(message, { level = "info", ...fields } = {}) {
    this.#worker.send("log", this.run, { level, message: String(message), ...fields });
  }

  /**
   * Puts a new job, if and when this one is acknowledged. Options: jid, delay
   * (seconds), priority, tags, retries, depends, timeout,
   * if_exists (replace, final, never).
   */
  put(queue, klass, data = {}, options = {}) {
    this.#worker.send("put", this.run, { ...options, queue, klass, data });
  }

  // What the job wants done to itself or, by its jid, to another: where the pool's allow
  // names the verb. It is done soon, in this order, and before the job is settled; what
  // cannot be done is in the log.

  /** Gives the job tags: a list, or one. */
  tag(tags, { jid } = {}) {
    this.#worker.send("tag", this.run, { tags: [tags].flat(), jid });
  }

  /** Takes tags from the job: a list, or one. */
  untag(tags, { jid } = {}) {
    this.#worker.send("untag", this.run, { tags: [tags].flat(), jid });
  }

  /** Has what happens to the job published. */
  track({ jid } = {}) {
    this.#worker.send("track", this.run, { jid });
  }

  /** Has it published no longer. */
  untrack({ jid } = {}) {
    this.#worker.send("untrack", this.run, { jid });
  }

  /** Changes the job's priority; higher comes first. */
  prioritize(priority, { jid } = {}) {
    this.#worker.send("priority", this.run, { priority, jid });
  }

  /** Adds an entry to the job's history; `data` is an object or a list. */
  note(message, data, { jid } = {}) {
    this.#worker.send("note", this.run, { message: String(message), data, jid });
  }

  /** Removes the job for good. Of this one it is the verdict, unless there was one. */
  cancel({ jid } = {}) {
    if (jid === undefined || jid === this.jid) this.settle("cancel", {});
    else this.#worker.send("cancel", this.run, { jid });
  }

  /**
   * Puts the job again with all its retries, into `queue`, else its own. Of this one it
   * is the verdict, unless there was one.
   */
  requeue({ queue, delay, jid } = {}) {
    if (jid === undefined || jid === this.jid) this.settle("requeue", { queue, delay });
    else this.#worker.send("requeue", this.run, { queue, delay, jid });
  }

  /**
   * Completes the job now; with `next`, moves it to that queue. `data` replaces
   * the payload. What the function does afterwards no longer counts.
   */
  ack({ data, next, delay, depends } = {}) {
    this.settle("ack", { data, next, delay, depends });
  }

  /** Ends the attempt as throwing Retry does. */
  retry(message, options) {
    this.settle("retry", new Retry(message, options).fields);
  }

  /** Ends the attempt as throwing Fail does. */
  fail(message, options) {
    this.settle("fail", new Fail(message, options).fields);
  }

  /** Ends the attempt as throwing Release does. */
  release(options) {
    this.settle("release", new Release(options).fields);
  }

  /**
   * Ends the attempt, to wait without a process for an answer that names correlation, for
   * timeout seconds at most (a day). The next attempt has it in `response`, and checkpoint in
   * `saved`; with then: "complete" the answer completes the job.
   *
   * Let this be the function's last word. Ask first, then park: an answer that is faster than
   * that is kept.
   */
  park(correlation, { timeout, checkpoint, data, then } = {}) {
    this.settle("park", { correlation, timeout, checkpoint, data, then });
  }

  /**
   * The address at which whoever is asked answers this job, and no other, by POST of JSON: for
   * the answer that correlation names, or the job's own. It is a secret of you two; "" where
   * [park] secret_file of the configuration names none.
   */
  callback(correlation = this.correlation ?? "") {
    return this.#callback && this.#callback + encodeURIComponent(correlation);
  }

  /** Ends the attempt as throwing Unknown does. */
  unknown(message, options) {
    this.settle("unknown", new Unknown(message, options).fields);
  }

  /** Sends a verdict, unless there was one. */
  settle(verb, fields) {
    if (this.settled) return;
    this.#worker.send(verb, this.run, fields);
    this.settled = true;
  }

  /** Notes that the job is to come to an end. */
  drain() {
    this.#draining = true;
  }

  /** Notes that the attempt has to stop, and why. */
  halt(reason) {
    if (this.cancelled) return;
    this.cancelled = reason;
    this.#abort?.abort(reason);
  }
}

/**
 * The jobs of one message, one or more of one klass. It is yours until you ask for the next.
 *
 * Each of its jobs may be given its own verdict (job.ack, job.fail, ...). The methods here
 * are about those that have none, by one line for all of them. If the process dies before, or
 * takes too long, that counts for none of several jobs: they come again in smaller messages,
 * until the one that is to blame is alone.
 */
class Batch {
  #worker;

  constructor(worker, run, jobs) {
    this.#worker = worker;
    this.run = run;
    this.jobs = jobs;
  }

  [Symbol.iterator]() {
    return this.jobs[Symbol.iterator]();
  }

  get length() {
    return this.jobs.length;
  }

  get klass() {
    return this.jobs[0].klass;
  }

  /** Whether to come to an end soon: the supervisor leaves or changes its code, or the time is up. */
  get stopping() {
    return this.jobs.some((job) => job.stopping);
  }

  /** The payloads of its jobs by their keys; see the function of that name. */
  payloadsById() {
    return payloadsById(this.jobs);
  }

  /** Shows how far the batch is, in percent; also a sign of life. */
  progress(pct, message) {
    this.#worker.send("progress", this.run, { pct, message });
  }

  /** A sign of life, for pools with a stall_timeout. */
  heartbeat() {
    this.#worker.send("heartbeat", this.run, {});
  }

  /** Completes the jobs that have no verdict; with `next`, moves them to that queue. */
  ack({ next } = {}) {
    this.#settle("ack", { next });
  }

  /** Has them tried again, at the cost of a retry each. */
  retry(message, options) {
    this.#settle("retry", new Retry(message, options).fields);
  }

  /** Fails them for good. */
  fail(message, options) {
    this.#settle("fail", new Fail(message, options).fields);
  }

  /** Gives them back; no retry is counted. */
  release(options) {
    this.#settle("release", new Release(options).fields);
  }

  #settle(verb, fields) {
    const open = this.jobs.filter((job) => !job.settled);
    if (open.length === 0) return;
    this.#worker.send(verb, this.run, fields);
    for (const job of open) job.settled = true;
  }
}

/** Reads job lines and writes status lines; one per process. */
class Worker {
  constructor(status, lead, limit) {
    this.status = status;
    this.max = Number(process.env.OARLOCK_MAX_LINE ?? 1 << 20); // bytes of a line, without its end
    this.lead = lead; // written before each line; a newline where others print too
    this.limit = limit; // how many messages to work; 0: until the end of the input
    this.batch = null; // the message that was read last
    this.inbox = []; // jobs that wait; more than one with prefetch
    this.rest = []; // the pieces of a line that is not complete yet
    this.job = null; // the one whose handler runs
    this.done = 0;
    this.stopping = false; // a shutdown line was seen, or the end of the input
    this.draining = false; // the pool's drain_signal came
  }

  /** Reads until there is nothing more to do. */
  start(input) {
    this.input = input;
    // On stdout the hello of a process for one job counts if it names its run.
    this.send("hello", process.env.OARLOCK_RUN, { v: [1], lib: LIBRARY, caps: ["cancel", "shutdown", "draining", "batch"] });
    input.on("data", (chunk) => this.read(chunk));
    input.on("end", () => {
      this.receive(this.rest.join("")); // a last line may do without its newline
      this.stopping = true;
      this.work();
    });
    // The other end may vanish with the supervisor; what is at hand can still end.
    input.on("error", () => input.destroy());
  }

  /** Takes in the lines that are complete. */
  read(chunk) {
    const lines = chunk.split("\n");
    const last = lines.pop();
    if (lines.length > 0) {
      lines[0] = this.rest.join("") + lines[0];
      this.rest = [];
      for (const line of lines) this.receive(line);
    }
    if (last !== "") this.rest.push(last);
    this.work();
  }

  receive(line) {
    if (line.trim() === "") return;
    let message;
    try {
      message = JSON.parse(line);
    } catch (error) {
      this.refuse(line, error);
      return;
    }
    switch (message?.["@"]) {
      case "job":
        this.arrived(message.run, [new Job(this, message, line)]);
        break;
      case "batch": {
        const { timeout, lease, dir } = message;
        this.arrived(message.run, message.jobs.map((job, place) => new Job(this, { timeout, lease, dir, ...job }, line, place)));
        break;
      }
      case "hello":
        this.max = message.max_line ?? this.max;
        break;
      case "cancel":
        this.cancel(message.run, message.reason ?? "canceled");
        break;
      case "draining":
        for (const job of [this.job, ...this.inbox, ...(this.batch ?? [])]) {
          if (job && (job.run === message.run || this.batch?.run === message.run)) job.drain();
        }
        break;
      case "shutdown":
        this.stopping = true;
        break;
    }
  }

  arrived(run, jobs) {
    this.batch = new Batch(this, run, jobs);
    if (whole) whole.push(this.batch);
    else this.inbox.push(...jobs);
  }

  /** Starts the next job if none runs, and leaves if none is to come. */
  work() {
    if (whole) {
      whole.wake(this.stopping);
      return;
    }
    if (this.job) return;
    const next = this.inbox[0];
    const enough = this.limit !== 0 && this.done > 0 && !next;
    if (enough || (!next && this.stopping)) {
      // Not process.exit: what was printed may still be on its way. What a handler
      // left behind (a server, an interval) must not keep the process either.
      this.input.destroy();
      flushed(process.stdout, () => flushed(process.stderr, () => process.exit()));
      return;
    }
    if (next) {
      this.inbox.shift();
      this.attempt(next).finally(() => {
        this.job = null;
        this.done++;
        this.work();
      });
    }
  }

  /** Calls the handler of job and sends what became of it. */
  async attempt(job) {
    this.job = job;
    const handler = handlers.get(job.klass) ?? fallback;
    if (!handler) {
      const known = [...handlers.keys()].sort().join(", ");
      job.unknown(`no handler for ${job.klass}; this worker knows ${known}`, { klass: job.klass });
      return;
    }
    try {
      await this.call(handler, job);
    } catch (error) {
      if (!(error instanceof TooLong)) throw error;
      if (job.settled) process.stderr.write(error.message + "\n");
      job.settle("fail", { group: error.group, message: error.message, raised: true });
    }
  }

  async call(handler, job) {
    try {
      await wrappers.reduceRight((call, wrapper) => async () => wrapper(job, call), async () => handler(job))();
      job.ack();
    } catch (error) {
      if (error instanceof TooLong) throw error;
      if (error instanceof Verdict) {
        job.settle(error.verb, error.fields);
      } else if (job.cancelled && job.cancelled !== "timeout") {
        job.release();
      } else {
        const stack = String(error?.stack ?? error);
        if (job.settled) process.stderr.write(stack + "\n");
        const group = job.cancelled ?? error?.name ?? "exception";
        const remedy = (!job.cancelled && remedies.get(job.klass)) || new Remedy();
        remedy.settle(job, error, { message: stack.slice(0, STACK_LIMIT), group });
      }
    }
  }

  cancel(run, reason) {
    if (this.batch?.run === run && this.batch.length > 1) {
      for (const job of this.batch) if (!job.settled) this.cancel(job.run, reason);
      return;
    }
    if (whole) {
      for (const job of this.batch ?? []) if (job.run === run) job.halt(reason);
      return;
    }
    if (this.job?.run === run) this.job.halt(reason);
    const waiting = this.inbox.findIndex((job) => job.run === run);
    if (waiting >= 0) this.inbox.splice(waiting, 1)[0].release();
  }

  /** Fails a job whose line cannot be read, rather than leave the supervisor waiting. */
  refuse(line, error) {
    const run = /^\s*{\s*"@"\s*:\s*"(?:job|batch)"\s*,\s*"run"\s*:\s*"([^"\\]*)"/.exec(line)?.[1];
    if (run) {
      this.send("fail", run, { group: "unreadable-job", message: error.message.slice(0, 200), raised: true });
    } else {
      process.stderr.write(`oarlock: skipped a line that is not a message: ${line.slice(0, 200)}\n`);
    }
  }

  /** Sends a status line; fields that are undefined or null are left out. */
  send(verb, run, fields) {
    const message = { "@": verb, run };
    for (const [name, value] of Object.entries(fields)) {
      if (value !== undefined && value !== null && !(name in message)) message[name] = value;
    }
    // JSON has no NaN: it would arrive as null.
    const text = JSON.stringify(message, (name, value) => {
      if (typeof value === "number" && !Number.isFinite(value)) throw new TypeError(`${name} is ${value}`);
      return value;
    });
    const size = Buffer.byteLength(text);
    if (size > this.max && WHOLE.has(verb)) throw new TooLong(verb, size, this.max);
    write(this.status, Buffer.from(`${this.lead}${text}\n`));
  }
}

/** Writes at once, so that a line is out before the process can die. */
function write(fd, bytes) {
  for (let at = 0; at < bytes.length; ) {
    try {
      at += fs.writeSync(fd, bytes, at);
    } catch (error) {
      if (error.code !== "EAGAIN") throw error;
      // The pipe is full and does not block; wait a moment for its reader.
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
    }
  }
}

/**
 * Opens the pipe behind a descriptor once more, and closes the first: only what
 * Node opens itself is kept from the programs that a job starts, and one of them
 * that lives on would hold the pipe open.
 */
function ownDescriptor(fd) {
  try {
    const own = fs.openSync(`/proc/self/fd/${fd}`, "w");
    fs.closeSync(fd);
    return own;
  } catch {
    return fd; // no Linux, a socket, or somebody else's pipe
  }
}

/**
 * Takes the pipe of jobs off descriptor 0, which becomes empty: a program that a job starts with
 * `stdio: "inherit"` would else wait for the next job line, and swallow it.
 */
function ownInput() {
  try {
    if (!fs.fstatSync(0).isFIFO()) return process.stdin;
    const { O_RDONLY, O_NONBLOCK } = fs.constants; // the other end may have gone already
    const own = fs.openSync("/proc/self/fd/0", O_RDONLY | O_NONBLOCK);
    fs.closeSync(0);
    fs.openSync("/dev/null", "r"); // the lowest number that is free
    return new net.Socket({ fd: own, readable: true, writable: false });
  } catch {
    return process.stdin; // no Linux, or somebody else's pipe
  }
}

/** Calls then when all that was written to the stream is out. */
function flushed(stream, then) {
  if (stream.writableLength === 0) then();
  else stream.once("drain", then);
}

/** The value of a member of a JSON object, as it is written there. */
function member(line, name) {
  const token = /"[^"\\]*(?:\\.[^"\\]*)*"|[[\]{}:,]/g;
  let depth = 0;
  let start = 0;
  let key = null;
  let found = "null";
  for (let match; (match = token.exec(line)); ) {
    const piece = match[0];
    if (piece === "{" || piece === "[") depth++;
    if (depth === 1 && "{:,}".includes(piece)) {
      const part = line.slice(start, match.index).trim();
      if (piece === ":") key = JSON.parse(part);
      if (key === name && (piece === "," || piece === "}")) found = part;
      start = token.lastIndex;
    }
    if (piece === "}" || piece === "]") depth--;
  }
  return found;
}

/** An element of a JSON list, as it is written there. */
function element(list, place) {
  const token = /"[^"\\]*(?:\\.[^"\\]*)*"|[[\]{}:,]/g;
  let depth = 0;
  let start = 0;
  for (let match; (match = token.exec(list)); ) {
    const piece = match[0];
    if (piece === "{" || piece === "[") depth++;
    if (depth === 1 && "[,]".includes(piece)) {
      if (piece !== "[" && place-- === 0) return list.slice(start, match.index).trim();
      start = token.lastIndex;
    }
    if (piece === "}" || piece === "]") depth--;
  }
  return "null";
}

/** Messages that wait for whoever takes them whole. */
class Whole {
  #waiting = [];
  #ended = false;
  #woken = null; // of the one who waits

  push(batch) {
    this.#waiting.push(batch);
  }

  wake(ended) {
    this.#ended = ended;
    this.#woken?.();
  }

  async next() {
    while (this.#waiting.length === 0 && !this.#ended) {
      await new Promise((resolve) => (this.#woken = resolve));
    }
    return this.#waiting.shift();
  }
}

/**
 * The payloads of jobs by their keys, as a Map, in the order of their scores. Of a job into which
 * puts merge (merge is all or set) they are what is in its list, of any other its data alone; of one
 * without a key they stand under its jid.
 */
function payloadsById(jobs) {
  const found = new Map();
  for (const job of jobs) {
    const id = job.key || job.jid;
    const listed = (job.merge === "all" || job.merge === "set") && Array.isArray(job.data);
    if (!found.has(id)) found.set(id, []);
    for (const payload of listed ? job.data : [job.data]) found.get(id).push(payload);
  }
  return found;
}

/**
 * Yields the messages of a pool, each with one job or more, until Oarlock has no more:
 * `for await (const batch of oarlock.batches())`. For mode `reuse`. When the loop goes on, what
 * has no verdict is complete. Nothing interrupts it: where batch.stopping, or the signal of a job
 * is aborted, come to an end. An error that leaves the loop ends the process, and then none of
 * several jobs is blamed, but each comes again with fewer others.
 */
async function* batches() {
  whole = new Whole();
  serve();
  for (let batch; (batch = await whole.next()); ) {
    yield batch;
    batch.ack();
  }
  worker.input.destroy();
}

/** Serves jobs until Oarlock has no more. */
function serve() {
  if (tty.isatty(0)) { // process.stdin would take the descriptor
    console.error("This is a worker: Oarlock starts it and writes jobs to its stdin. To try it by hand:\n" +
      `  oarlock try --klass NAME --job '{}' -- node ${process.argv[1]}`);
    process.exit(1);
  }
  // Taken out of the environment, for the programs that a job may start.
  const fd = process.env.OARLOCK_STATUS_FD;
  delete process.env.OARLOCK_STATUS_FD;
  const limit = process.env.OARLOCK_MODE === "once" ? 1 : 0;
  // On stdout somebody's unfinished line may stand in front of ours.
  worker = fd ? new Worker(ownDescriptor(Number(fd)), "", limit) : new Worker(1, "\n", limit);
  const told = process.env.OARLOCK_DRAIN_SIGNAL;
  if (told && limit !== 0) {
    process.on(`SIG${told}`, () => (worker.draining = true)); // a process for one job is sent no lines
  }
  const input = ownInput();
  input.setEncoding("utf8");
  worker.start(input);
}

module.exports = { job, default: fallbackJob, around, serve, batches, payloadsById, bye, Job, Batch, Retry, Fail, Release, Unknown, TooLong };
