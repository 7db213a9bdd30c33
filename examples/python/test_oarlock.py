"""Tests of oarlock.py: python3 test_oarlock.py [NAME …]

Plays the conversations in protocol/testdata, which the helpers of all languages
share, and tests what is Python's own. The file is the worker under test as well.
"""

import array
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import oarlock

CASES = Path(__file__).resolve().parents[2] / "protocol" / "testdata"
STEP = 10  # seconds a step may take


# --- the worker under test -----------------------------------------------------

def idle():
    """Waits for a minute, in pieces: a signal that comes in the very instant in which
    Python begins to wait is seen when the wait is over."""
    for _ in range(1200):
        time.sleep(0.05)


def worker():
    @oarlock.job("Nothing")
    def nothing(job):
        pass

    @oarlock.job("Echo")
    def echo(job):
        job.ack(data=job.data)

    @oarlock.job("Raise")
    def raise_(job):
        raise ValueError(job.data["message"])

    @oarlock.job("Fail")
    def fail(job):
        raise oarlock.Fail(job.data["message"], group=job.data["group"])

    @oarlock.job("Retry")
    def retry(job):
        raise oarlock.Retry(job.data["message"], delay=job.data["delay"])

    @oarlock.job("Release")
    def release(job):
        raise oarlock.Release(delay=job.data["delay"])

    @oarlock.job("Unknown")
    def unknown(job):
        raise oarlock.Unknown(job.data["message"], klass=job.data["klass"])

    @oarlock.job("Next")
    def next_(job):
        job.ack(next=job.data["next"], delay=job.data["delay"])

    @oarlock.job("Print")
    def print_(job):
        print(job.data["text"], end="")

    @oarlock.job("Progress")
    def progress(job):
        job.progress(job.data["pct"], job.data["message"])

    @oarlock.job("Park")
    def park(job):
        if job.response:
            job.ack(data=[job.response.get("data"), job.response.get("error"), job.saved])
        else:
            job.park(job.data["correlation"], timeout=job.data["timeout"], checkpoint={"step": 2},
                     data=job.callback(job.data["correlation"]) or None, then="resume")

    @oarlock.job("Trace")
    def trace(job):
        job.ack(data=[job.traceparent or None, job.tracestate or None])

    @oarlock.job("Checkpoint")
    def checkpoint(job):
        job.checkpoint(job.data["keep"])
        job.ack(data=job.saved)

    @oarlock.job("Put")
    def put(job):
        job.put(job.data["queue"], job.data["klass"], job.data["data"])

    @oarlock.job("Raw")
    def raw(job):
        job.log(job.raw)

    @oarlock.job("Payloads")
    def payloads(job):
        job.ack(data=oarlock.payloads_by_id([job]))

    @oarlock.job("Wait")
    def wait(job):
        try:
            job.progress(0)
            idle()
        except oarlock.Cancelled:
            job.retry(delay=0)

    @oarlock.job("Steps")
    def steps(job):
        if job.saved is not None:
            return job.ack(data=job.saved)
        job.step(1)
        job.progress(0)
        while not job.stopping:
            time.sleep(0.01)
        job.step(2)

    @oarlock.job("Wishes")
    def wishes(job):
        job.tag("red", "two words")
        job.untag("red")
        job.track()
        job.untrack()
        job.prioritize(7)
        job.note("half way", {"row": 5})
        other = job.data["of"]
        job.tag("seen", jid=other)
        job.cancel(jid=other)
        job.requeue("other", delay=5, jid=other)
        job.requeue("next", delay=60)

    @oarlock.job("Cancel")
    def cancel(job):
        job.cancel()

    class Away(Exception):
        pass

    class Farther(Away):
        pass

    class Busy(Exception):
        pass

    class Gone(Exception):
        pass

    @oarlock.job("Choosy", retry_on={Away: 30, Busy: None}, discard_on=[Gone])
    def choosy(job):
        raise {"away": Away, "farther": Farther, "busy": Busy, "gone": Gone, "else": ValueError}[job.data["raise"]]("oops")

    @oarlock.job("Around")
    def around(job):
        job.log("worked")
        raise ValueError("oops")

    def wrapper(name):
        def wrap(job, call):
            if job.klass != "Around":
                return call()
            job.log(name + " begins")
            try:
                return call()
            except ValueError:
                job.log(name + " saw it")
                if job.data.get("swallow") != name:
                    raise
        return wrap

    oarlock.around(wrapper("outer"))
    oarlock.around(wrapper("inner"))

    # Beyond the shared cases.

    @oarlock.job("Sleep")
    def sleep(job):
        job.progress(0)
        idle()

    @oarlock.job("Poll", interrupt=False)
    def poll(job):
        job.progress(0)
        while not job.cancelled:
            time.sleep(0.01)
        job.fail(job.cancelled, group="polled")

    @oarlock.job("Async")
    async def async_(job):
        import asyncio
        await asyncio.sleep(0)
        job.ack(data="awaited")

    @oarlock.job("AckThenRaise")
    def ack_then_raise(job):
        job.ack()
        raise ValueError("too late")

    @oarlock.job("NaN")
    def nan(job):
        job.ack(data=float("nan"))

    @oarlock.job("Threads")
    def threads(job):
        import threading
        text = "x" * 20000  # longer than a pipe writes at once
        some = [threading.Thread(target=lambda: [job.log(text) for _ in range(20)]) for _ in range(4)]
        for thread in some:
            thread.start()
        for thread in some:
            thread.join()

    @oarlock.job("Stdin")
    def stdin(job):
        job.ack(data=sys.stdin.read())

    @oarlock.job("Fork")
    def fork(job):
        pid = os.fork()
        if pid:
            job.log(str(os.WEXITSTATUS(os.waitpid(pid, 0)[1])))
        elif job.data == "raise":
            raise ValueError("in the fork")
        elif job.data:
            sys.exit(job.data)

    @oarlock.job("Exit")
    def exit_(job):
        sys.exit(job.data)

    @oarlock.job("Segfault")
    def segfault(job):
        import ctypes
        ctypes.string_at(0)

    @oarlock.job("Look")
    def look(job):
        opened = {}
        for fd in os.listdir("/proc/self/fd"):
            if os.path.exists("/proc/self/fd/" + fd):
                opened[fd] = os.readlink("/proc/self/fd/" + fd)
        job.ack(data={
            "dir": os.environ.get("OARLOCK_DIR"), "tmp": tempfile.gettempdir(), "slot": os.environ.get("OARLOCK_SLOT"),
            "session": os.getsid(0) == os.getpid(), "term": signal.getsignal(signal.SIGTERM) == signal.SIG_DFL,
            "hooks": hooks, "random": random.random(), "sockets": sum("socket:" in name for name in opened.values()),
        })

    import random
    hooks = []
    inherited = socket.socketpair()  # must not reach the forks
    signal.signal(signal.SIGTERM, lambda signum, frame: None)
    oarlock.before_fork(lambda: hooks.append("before"))
    oarlock.after_fork(lambda: hooks.append("after"))
    oarlock.serve()
    del inherited


# --- the player ------------------------------------------------------------------

class Conversation:
    """A worker with our ends of its pipes."""

    def __init__(self, mode="reuse", status="fd", first=None):
        env = dict(os.environ, OARLOCK_PROTOCOL="1", OARLOCK_MODE=mode, PYTHONUNBUFFERED="1")
        if first is not None:
            for name in ("run", "jid", "klass", "queue", "attempt", "timeout"):
                env["OARLOCK_" + name.upper()] = str(first[name])
        inherited = []
        self.printed = tempfile.TemporaryFile()
        self.status, theirs = os.pipe()
        if status == "fd":
            env["OARLOCK_STATUS_FD"] = str(theirs)
            inherited.append(theirs)
        self.process = subprocess.Popen(
            [sys.executable, __file__, "--worker"], env=env, pass_fds=inherited,
            stdin=subprocess.PIPE, stdout=self.printed if status == "fd" else theirs)
        os.close(theirs)
        self.lines = Lines(self.status)

    def send(self, line):
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()

    def job(self, klass, data=None, run="r1", **fields):
        self.send(json.dumps(dict({"@": "job", "run": run, "jid": "j", "klass": klass, "data": data}, **fields)))

    def expect(self, **fields):
        """Takes the next status line that counts and compares the fields named."""
        fields = {"@" if name == "verb" else name: value for name, value in fields.items()}
        while True:
            line = self.lines.next()
            assert line is not None, "the worker left; expected %s" % fields
            message = status_of(line)
            if message is None:
                self.printed.write(line)
                continue
            if message["@"] in ("hello", "log", "heartbeat") and message["@"] != fields["@"]:
                continue
            for name, value in fields.items():
                assert name in message and value in ("*", message[name]), "%s is not %s" % (message, fields)
            return message, line.decode()

    def exit(self, code):
        if not self.process.stdin.closed:
            self.process.stdin.close()
        got = self.process.wait(STEP)
        assert got == code, "exit %s, expected %s" % (got, code)
        for line in iter(self.lines.next, None):
            message = status_of(line)
            assert message is None or message["@"] in ("hello", "log", "heartbeat"), "left over: %s" % line
            if message is None:
                self.printed.write(line)

    def close(self):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        os.close(self.status)
        self.printed.close()


class Lines:
    """The lines that arrive on a descriptor, each within its time."""

    def __init__(self, fd):
        self.fd, self.rest = fd, b""

    def next(self):
        """The next line with its newline, or None at the end."""
        deadline = time.monotonic() + STEP
        while b"\n" not in self.rest:
            ready, _, _ = select.select([self.fd], [], [], max(0, deadline - time.monotonic()))
            assert ready, "nothing came within %s s" % STEP
            chunk = os.read(self.fd, 65536)
            if not chunk:
                last, self.rest = self.rest, b""
                return last or None
            self.rest += chunk
        line, self.rest = self.rest.split(b"\n", 1)
        return line + b"\n"


def status_of(line):
    """The message of a status line, None for any other line."""
    if not line.startswith(b"{"):
        return None
    try:
        message = json.loads(line)
    except ValueError:
        return None
    return message if isinstance(message.get("@"), str) else None


def play(path):
    case = json.loads(path.read_text())
    first = None
    if case["mode"] == "once":
        first = next(json.loads(step["send"]) for step in case["steps"] if '"job"' in step.get("send", ""))
    talk = Conversation(case["mode"], case["status"], first)
    try:
        for step in case["steps"]:
            if "send" in step:
                talk.send(step["send"])
            elif "expect" in step:
                expected = {"verb" if name == "@" else name: value for name, value in step["expect"].items()}
                _, line = talk.expect(**expected)
                for text in step.get("contains", []):
                    assert text in line, "%r is not in %s" % (text, line)
            elif "close" in step:
                talk.process.stdin.close()
            elif "exit" in step:
                talk.exit(step["exit"])
        talk.printed.seek(0)
        printed = talk.printed.read().decode()
        for text in case.get("stdout", []):
            assert text in printed, "%r was not printed: %r" % (text, printed)
    finally:
        talk.close()


# --- what is Python's own ------------------------------------------------------

def talk_about(test):
    """Gives a test a conversation with a reused worker."""
    def run():
        talk = Conversation()
        try:
            test(talk)
        finally:
            talk.close()
    run.__name__ = test.__name__
    return run


@talk_about
def test_a_sleeping_handler_is_interrupted(talk):
    talk.job("Sleep")
    talk.expect(verb="progress")
    talk.send('{"@":"cancel","run":"r1","reason":"shutdown","grace":5}')
    talk.expect(verb="release", run="r1")
    talk.job("Sleep", run="r2", timeout=3)
    talk.expect(verb="progress")
    talk.send('{"@":"cancel","run":"r2","reason":"timeout","grace":5}')
    talk.expect(verb="retry", run="r2", group="timeout")
    talk.job("Nothing", run="r3")
    talk.expect(verb="ack", run="r3")
    talk.exit(0)


@talk_about
def test_a_cancel_that_follows_at_once(talk):
    for turn in range(50):  # each time the line arrives at another moment of the start
        run = "r%d" % turn
        line = json.dumps({"@": "job", "run": run, "klass": "Sleep", "data": None})
        talk.process.stdin.write(line.encode() + b"\n")
        talk.process.stdin.flush()
        time.sleep(turn * 0.00002)
        talk.send('{"@":"cancel","run":"%s","reason":"canceled","grace":5}' % run)
        message, _ = talk.expect(verb="*", run=run)
        if message["@"] == "progress":
            talk.expect(verb="release", run=run)
    talk.exit(0)


@talk_about
def test_a_handler_that_looks_for_itself(talk):
    talk.job("Poll")
    talk.expect(verb="progress")
    talk.send('{"@":"cancel","run":"r1","reason":"canceled","grace":5}')
    talk.expect(verb="fail", group="polled", message="canceled")
    talk.exit(0)


@talk_about
def test_a_coroutine_is_awaited(talk):
    talk.job("Async")
    talk.expect(verb="ack", data="awaited")
    talk.exit(0)


@talk_about
def test_the_first_verdict_is_the_only_one(talk):
    talk.job("AckThenRaise")
    talk.expect(verb="ack", run="r1")
    talk.exit(0)


@talk_about
def test_what_is_no_json_is_refused_in_the_handler(talk):
    talk.job("NaN")
    talk.expect(verb="retry", group="ValueError")
    talk.exit(0)


@talk_about
def test_threads_do_not_tear_lines(talk):
    talk.job("Threads")
    for _ in range(80):
        message, _ = talk.expect(verb="log")
        assert len(message["message"]) == 20000
    talk.expect(verb="ack")
    talk.exit(0)


@talk_about
def test_job_lines_are_not_the_handlers_stdin(talk):
    talk.job("Stdin")
    talk.job("Nothing", run="r2")
    talk.expect(verb="ack", run="r1", data="")
    talk.expect(verb="ack", run="r2")
    talk.exit(0)


@talk_about
def test_a_job_that_cannot_be_read_fails(talk):
    talk.send('{"@":"job","run":"r1","jid":"j","data":%s1%s}' % ("[" * 100000, "]" * 100000))
    talk.expect(verb="fail", run="r1", group="unreadable-job")
    talk.send('{"@":"job","run":"r2","jid":"j","data":{"a":tru}}')
    talk.expect(verb="fail", run="r2", group="unreadable-job")
    talk.job("Nothing", run="r3")
    talk.expect(verb="ack", run="r3")
    talk.exit(0)


@talk_about
def test_a_large_payload(talk):
    text = "x" * (8 << 20)
    talk.send('{"@":"hello","v":1,"max_line":16777216}')
    talk.job("Echo", text)
    message, _ = talk.expect(verb="ack")
    assert message["data"] == text
    talk.exit(0)


@talk_about
def test_sys_exit_ends_the_process_with_its_code(talk):
    talk.job("Exit", 75)
    talk.exit(75)


@talk_about
def test_a_fork_that_comes_back_works_no_jobs(talk):
    for run, data, code in ("r1", None, "0"), ("r2", "raise", "1"), ("r3", 7, "7"):
        talk.job("Fork", data, run=run)
        talk.expect(verb="log", message=code)
        talk.expect(verb="ack", run=run)
    talk.job("Nothing", run="r4")
    talk.expect(verb="ack", run="r4")
    talk.exit(0)


def test_the_last_line_may_lack_its_newline():
    talk = Conversation()
    try:
        talk.process.stdin.write(b'{"@":"job","run":"r1","klass":"Nothing","data":{}}')
        talk.process.stdin.close()
        talk.expect(verb="ack", run="r1")
        talk.exit(0)
    finally:
        talk.close()


def test_no_modules_that_are_slow_to_load():
    code = "import sys, oarlock; print([m for m in ('typing', 'threading', 'traceback', 'socket') if m in sys.modules])"
    out = subprocess.run([sys.executable, "-I", "-S", "-c", "import sys; sys.path.insert(0, %r); %s" % (
        str(Path(__file__).parent), code)], stdout=subprocess.PIPE, check=True)
    assert out.stdout.strip() == b"[]", out.stdout


class Preloaded:
    """The worker as a factory of forks."""

    def __init__(self):
        self.control, theirs = socket.socketpair()
        self.control.settimeout(STEP)
        self.process = subprocess.Popen(
            [sys.executable, __file__, "--worker"], pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL,
            env=dict(os.environ, OARLOCK_MODE="preload", OARLOCK_FORK_FD=str(theirs.fileno()), OARLOCK_DIR="/"))
        theirs.close()
        self.replies = Lines(self.control.fileno())
        hello = json.loads(self.replies.next())
        assert hello["@"] == "hello" and hello["v"] == [1] and hello["threads"] == 1, hello

    def fork(self, slot, pieces=1 << 16):
        """Asks for a fork, by two pieces if its line is longer than that, and returns its pid, our end of its stdin,
        and its status lines."""
        pipes = [os.pipe() for _ in range(4)]
        theirs = [pipes[0][0]] + [write for _, write in pipes[1:]]
        line = b'{"@":"fork","slot":%d}\n' % slot
        self.control.sendmsg([line[:pieces]], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", theirs))])
        if line[pieces:]:
            self.control.sendall(line[pieces:])  # to be read after the first, for nothing is joined to what has descriptors
        for fd in theirs + [pipes[1][0], pipes[2][0]]:
            os.close(fd)
        forked = json.loads(self.replies.next())
        assert forked["@"] == "forked" and forked["slot"] == slot, forked
        return forked["pid"], os.fdopen(pipes[0][1], "w"), Lines(pipes[3][0])

    def run(self, klass, data=None):
        """Runs one job in a fork and returns its verdict, if any, and the exit message."""
        pid, stdin, status = self.fork(3, pieces=8)  # the descriptors come with the first piece
        with stdin:
            stdin.write(json.dumps({"@": "job", "run": "r1", "klass": klass, "data": data, "dir": "/var"}) + "\n")
            stdin.flush()
            lines = [json.loads(line) for line in iter(status.next, None)]
        os.close(status.fd)
        assert lines[0]["@"] == "hello"
        ended = json.loads(self.replies.next())
        assert ended["@"] == "exit" and ended["pid"] == pid, ended
        return lines[1] if len(lines) > 1 else None, ended

    def close(self):
        self.control.close()
        code = self.process.wait(STEP)
        assert code == 0, code


def test_preload():
    factory = Preloaded()
    verdict, ended = factory.run("Look")
    seen = verdict["data"]
    assert (ended["code"], ended["signal"]) == (0, 0)
    assert (seen["dir"], seen["tmp"], seen["slot"]) == ("/var", "/var", "3"), seen
    assert seen["session"] and seen["term"], seen
    assert seen["hooks"] == ["before", "after"], seen
    assert seen["sockets"] == 0, seen
    again, _ = factory.run("Look")
    assert again["data"]["random"] != seen["random"]
    assert factory.run("Exit", 7)[1]["code"] == 7
    assert factory.run("Segfault")[1]["signal"] == signal.SIGSEGV
    assert factory.run("Raise", {"message": "in a fork"})[0]["group"] == "ValueError"

    pid, stdin, _ = factory.fork(1)
    other, other_stdin, _ = factory.fork(2)
    os.kill(pid, signal.SIGKILL)
    ended = json.loads(factory.replies.next())
    assert (ended["pid"], ended["slot"], ended["signal"]) == (pid, 1, signal.SIGKILL), ended
    stdin.close()
    other_stdin.close()  # the end of the input: it leaves
    ended = json.loads(factory.replies.next())
    assert (ended["pid"], ended["code"], ended["signal"]) == (other, 0, 0), ended
    factory.close()


def test_the_rehearsal_leaves_nothing_behind():
    program = """if True:
        import os, signal, oarlock
        called = []
        oarlock.around(lambda job, call: called.append(job))
        for klass in ("", "K"):
            oarlock.job(klass)(called.append)
        oarlock.default(called.append)
        state = lambda: (set(os.listdir("/dev/fd")), signal.getsignal(signal.SIGIO), oarlock._worker, dict(oarlock._handlers),
                         oarlock._fallback, list(oarlock._around), dict(os.environ))
        before = state()
        oarlock._rehearse()
        assert state() == before, (before, state())
        assert not called, called
    """
    subprocess.run([sys.executable, "-c", program], check=True, cwd=os.path.dirname(os.path.abspath(__file__)))


def main(wanted):
    tests = [(path.stem, lambda path=path: play(path)) for path in sorted(CASES.glob("*.json"))]
    tests += [(name, test) for name, test in sorted(globals().items()) if name.startswith("test_")]
    assert len(CASES.exists() and tests) > 20, "no cases in %s" % CASES
    failed = 0
    for name, test in tests:
        if wanted and name not in wanted:
            continue
        try:
            test()
        except Exception as problem:
            failed += 1
            print("FAIL %s: %s: %s" % (name, type(problem).__name__, problem))
    print("%d tests, %d failed" % (len(wanted or tests), failed))
    return 1 if failed else 0


if __name__ == "__main__":
    if sys.argv[1:] == ["--worker"]:
        worker()
    else:
        sys.exit(main(sys.argv[1:]))
