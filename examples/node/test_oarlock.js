"use strict";

// Tests of oarlock.js: node test_oarlock.js [NAME …]
//
// Plays the conversations in protocol/testdata, which the helpers of all languages
// share, and tests what is Node's own. The file is the worker under test as well.

const assert = require("node:assert");
const { spawn } = require("node:child_process");
const fs = require("node:fs");
const path = require("node:path");
const { setTimeout: sleep } = require("node:timers/promises");
const oarlock = require("./oarlock");

const CASES = path.join(__dirname, "..", "..", "protocol", "testdata");
const STEP = 10_000; // milliseconds a step may take

// --- the worker under test ---

function worker() {
  oarlock.job("Nothing", () => {});
  oarlock.job("Inherit", () => {
    const read = require("node:child_process").execFileSync("cat", { stdio: ["inherit", "pipe", "inherit"] });
    assert.strictEqual(read.length, 0, `it read ${read}`);
  });
  oarlock.job("Echo", (job) => job.ack({ data: job.data }));
  oarlock.job("Raise", (job) => {
    throw new RangeError(job.data.message);
  });
  oarlock.job("Fail", async (job) => {
    throw new oarlock.Fail(job.data.message, { group: job.data.group });
  });
  oarlock.job("Retry", (job) => {
    throw new oarlock.Retry(job.data.message, { delay: job.data.delay });
  });
  oarlock.job("Release", (job) => {
    throw new oarlock.Release({ delay: job.data.delay });
  });
  oarlock.job("Unknown", (job) => {
    throw new oarlock.Unknown(job.data.message, { klass: job.data.klass });
  });
  oarlock.job("Around", (job) => {
    job.log("worked");
    throw new RangeError("oops");
  });
  for (const name of ["outer", "inner"]) {
    oarlock.around(async (job, call) => {
      if (job.klass !== "Around") return call();
      job.log(`${name} begins`);
      try {
        return await call();
      } catch (error) {
        job.log(`${name} saw it`);
        if (job.data.swallow !== name) throw error;
      }
    });
  }
  oarlock.job("Next", (job) => job.ack({ next: job.data.next, delay: job.data.delay }));
  oarlock.job("Print", (job) => process.stdout.write(job.data.text));
  oarlock.job("Progress", (job) => job.progress(job.data.pct, job.data.message));
  oarlock.job("Trace", (job) => job.ack({ data: [job.traceparent ?? null, job.tracestate ?? null] }));
  oarlock.job("Park", (job) => {
    if (job.response) job.ack({ data: [job.response.data ?? null, job.response.error ?? null, job.saved] });
    else job.park(job.data.correlation, { timeout: job.data.timeout, checkpoint: { step: 2 }, data: job.callback(job.data.correlation) || undefined, then: "resume" });
  });
  oarlock.job("Checkpoint", (job) => {
    job.checkpoint(job.data.keep);
    job.ack({ data: job.saved });
  });
  oarlock.job("Put", (job) => job.put(job.data.queue, job.data.klass, job.data.data));
  oarlock.job("Raw", (job) => job.log(job.raw));
  oarlock.job("Payloads", (job) => job.ack({ data: Object.fromEntries(oarlock.payloadsById([job])) }));
  oarlock.job("Wait", async (job) => {
    job.progress(0);
    await sleep(60_000, null, { signal: job.signal }).catch(() => job.retry("cancelled", { delay: 0 }));
  });
  oarlock.job("Steps", async (job) => {
    if (job.saved !== undefined) return job.ack({ data: job.saved });
    await job.step(1);
    job.progress(0);
    while (!job.stopping) await sleep(10);
    await job.step(2);
  });

  oarlock.job("Wishes", (job) => {
    job.tag(["red", "two words"]);
    job.untag("red");
    job.track();
    job.untrack();
    job.prioritize(7);
    job.note("half way", { row: 5 });
    const jid = job.data.of;
    job.tag("seen", { jid });
    job.cancel({ jid });
    job.requeue({ queue: "other", delay: 5, jid });
    job.requeue({ queue: "next", delay: 60 });
  });
  oarlock.job("Cancel", (job) => job.cancel());
  class Away extends Error {}
  class Farther extends Away {}
  class Busy extends Error {}
  class Gone extends Error {}
  const kinds = { away: Away, farther: Farther, busy: Busy, gone: Gone, else: RangeError };
  oarlock.job("Choosy", { retryOn: [[Away, 30], Busy], discardOn: [Gone] }, (job) => {
    throw new kinds[job.data.raise]("oops");
  });

  // Beyond the shared cases.
  oarlock.job("Sleep", async (job) => {
    job.progress(0);
    await sleep(60_000, null, { signal: job.signal });
  });
  oarlock.job("AckThenThrow", (job) => {
    job.ack();
    throw new Error("too late");
  });
  oarlock.job("NaN", (job) => job.ack({ data: { deep: [NaN] } }));
  oarlock.job("ThrowText", () => {
    throw "not an Error";
  });
  oarlock.job("LeaveAnInterval", () => void setInterval(() => {}, 1000));
  oarlock.serve();
}

// --- the player ---

/** A worker with our ends of its pipes. */
class Conversation {
  constructor({ mode = "reuse", status = "fd", first } = {}) {
    const env = { ...process.env, OARLOCK_PROTOCOL: "1", OARLOCK_MODE: mode };
    if (status === "fd") env.OARLOCK_STATUS_FD = "3";
    for (const name of first ? ["run", "jid", "klass", "queue", "attempt", "timeout"] : []) {
      env["OARLOCK_" + name.toUpperCase()] = String(first[name]);
    }
    this.child = spawn(process.execPath, [__filename, "--worker"], {
      env,
      stdio: ["pipe", "pipe", "inherit", status === "fd" ? "pipe" : "ignore"],
    });
    this.printed = "";
    this.lines = [];
    this.wake = () => {};
    this.ended = 0;
    this.streams = status === "fd" ? 2 : 1;
    let rest = "";
    const source = status === "fd" ? this.child.stdio[3] : this.child.stdout;
    source.setEncoding("utf8").on("data", (chunk) => {
      const lines = (rest + chunk).split("\n");
      rest = lines.pop();
      this.lines.push(...lines);
      this.wake();
    });
    if (status === "fd") this.child.stdout.setEncoding("utf8").on("data", (chunk) => (this.printed += chunk));
    for (const stream of new Set([source, this.child.stdout])) {
      stream.on("end", () => {
        this.ended++;
        this.wake();
      });
    }
    this.exited = new Promise((resolve) => this.child.on("exit", resolve));
  }

  send(line) {
    this.child.stdin.write(line + "\n");
  }

  job(klass, data = null, run = "r1") {
    this.send(JSON.stringify({ "@": "job", run, jid: "j", klass, data }));
  }

  /** The next status line, null at the end. */
  async next() {
    const deadline = Date.now() + STEP;
    for (;;) {
      while (this.lines.length > 0) {
        const line = this.lines.shift();
        const message = statusOf(line);
        if (message) return [message, line];
        this.printed += line + "\n";
      }
      if (this.ended === this.streams) return null;
      const timer = new AbortController();
      await Promise.race([
        new Promise((resolve) => (this.wake = resolve)),
        sleep(deadline - Date.now(), null, { signal: timer.signal }).then(() => {
          throw new Error(`nothing came within ${STEP} ms`);
        }),
      ]);
      timer.abort();
    }
  }

  /** Takes the next status line that counts and compares the fields named. */
  async expect(fields) {
    for (;;) {
      const got = await this.next();
      assert(got, `the worker left; expected ${JSON.stringify(fields)}`);
      const [message, line] = got;
      if (isSilent(message) && message["@"] !== fields["@"]) continue;
      for (const [name, value] of Object.entries(fields)) {
        assert(name in message, `${name} is not in ${line}`);
        if (value !== "*") assert.deepStrictEqual(message[name], value, line);
      }
      return got;
    }
  }

  async exit(code) {
    this.child.stdin.end();
    const timer = new AbortController();
    const late = sleep(STEP, "late", { signal: timer.signal }).catch(() => {});
    assert.strictEqual(await Promise.race([this.exited, late]), code);
    timer.abort();
    for (let got; (got = await this.next()); ) assert(isSilent(got[0]), `left over: ${got[1]}`);
  }

  close() {
    this.child.kill("SIGKILL");
  }
}

function statusOf(line) {
  if (!line.startsWith("{")) return null;
  try {
    const message = JSON.parse(line);
    return typeof message["@"] === "string" ? message : null;
  } catch {
    return null;
  }
}

function isSilent(message) {
  return ["hello", "log", "heartbeat"].includes(message["@"]);
}

async function play(file) {
  const shared = JSON.parse(fs.readFileSync(file, "utf8"));
  const sent = shared.steps.filter((step) => step.send?.includes('"job"')).map((step) => JSON.parse(step.send));
  const talk = new Conversation({ ...shared, first: shared.mode === "once" ? sent[0] : undefined });
  try {
    for (const step of shared.steps) {
      if ("send" in step) talk.send(step.send);
      if ("expect" in step) {
        const [, line] = await talk.expect(step.expect);
        for (const text of step.contains ?? []) assert(line.includes(text), `${text} is not in ${line}`);
      }
      if ("close" in step) talk.child.stdin.end();
      if ("exit" in step) await talk.exit(step.exit);
    }
    for (const text of shared.stdout ?? []) assert(talk.printed.includes(text), `${text} was not printed`);
  } finally {
    talk.close();
  }
}

// --- what is Node's own ---

const tests = {
  async "a handler that does not come last is refused at once"() {
    assert.throws(() => oarlock.job("Late", () => {}, { retryOn: [] }), /the handler, a function, comes last/);
  },

  async "a waiting handler is aborted"(talk) {
    talk.job("Sleep");
    await talk.expect({ "@": "progress" });
    talk.send('{"@":"cancel","run":"r1","reason":"shutdown","grace":5}');
    await talk.expect({ "@": "release", run: "r1" });
    talk.job("Sleep", null, "r2");
    await talk.expect({ "@": "progress" });
    talk.send('{"@":"cancel","run":"r2","reason":"timeout","grace":5}');
    await talk.expect({ "@": "retry", run: "r2", group: "timeout" });
    await talk.exit(0);
  },
  async "the first verdict is the only one"(talk) {
    talk.job("AckThenThrow");
    await talk.expect({ "@": "ack", run: "r1" });
    await talk.exit(0);
  },
  async "what is no JSON is refused in the handler"(talk) {
    talk.job("NaN");
    await talk.expect({ "@": "retry", group: "TypeError" });
    await talk.exit(0);
  },
  async "anything can be thrown"(talk) {
    talk.job("ThrowText");
    await talk.expect({ "@": "retry", group: "exception", message: "not an Error" });
    await talk.exit(0);
  },
  async "what a handler left behind does not keep the process"(talk) {
    talk.job("LeaveAnInterval");
    await talk.expect({ "@": "ack" });
    await talk.exit(0);
  },
  async "a job that cannot be read fails"(talk) {
    talk.send('{"@":"job","run":"r1","jid":"j","data":{"a":tru}}');
    await talk.expect({ "@": "fail", run: "r1", group: "unreadable-job" });
    await talk.exit(0);
  },
  async "a large payload"(talk) {
    const text = "x".repeat(8 << 20);
    talk.send('{"@":"hello","v":1,"max_line":16777216}');
    talk.job("Echo", text);
    const [message] = await talk.expect({ "@": "ack" });
    assert(message.data === text);
    await talk.exit(0);
  },
  async "what a job starts has an empty stdin"() {
    // Of a pipe, as Oarlock has it; what Node makes for its children are sockets.
    const jobs = ["r1", "r2"].map((run) => `{"@":"job","run":"${run}","klass":"Inherit","data":{}}`);
    const child = spawn("sh", ["-c", '(printf "%s\\n" "$2"; sleep 1; printf "%s\\n" "$3"; sleep 1) | OARLOCK_MODE=reuse "$0" "$1" --worker', process.execPath, __filename, ...jobs], { stdio: ["ignore", "pipe", "inherit"] });
    let said = "";
    child.stdout.on("data", (chunk) => (said += chunk));
    const code = await Promise.race([new Promise((then) => child.on("exit", then)), sleep(STEP, "nothing", { ref: false })]);
    for (const run of ["r1", "r2"]) {
      assert(said.split("\n").some((line) => line.includes('"ack"') && line.includes(run)), `of ${run} it says ${said}`);
    }
    assert.strictEqual(code, 0);
  },
  async "the last line may lack its newline"(talk) {
    talk.child.stdin.end('{"@":"job","run":"r1","klass":"Nothing","data":{}}');
    await talk.expect({ "@": "ack", run: "r1" });
    await talk.exit(0);
  },
};

async function main(wanted) {
  const all = new Map();
  for (const name of fs.readdirSync(CASES).filter((file) => file.endsWith(".json")).sort()) {
    all.set(path.basename(name, ".json"), () => play(path.join(CASES, name)));
  }
  assert(all.size > 0, `no cases in ${CASES}`);
  for (const [name, test] of Object.entries(tests)) {
    all.set(name, async () => {
      const talk = new Conversation();
      await test(talk).finally(() => talk.close());
    });
  }
  let ran = 0;
  let failed = 0;
  for (const [name, test] of all) {
    if (wanted.length > 0 && !wanted.includes(name)) continue;
    ran++;
    await test().catch((error) => {
      failed++;
      console.log(`FAIL ${name}: ${error.message}`);
    });
  }
  console.log(`${ran} tests, ${failed} failed`);
  process.exitCode = failed > 0 ? 1 : 0;
}

if (process.argv[2] === "--worker") worker();
else main(process.argv.slice(2));
