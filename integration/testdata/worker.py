"""Works each job as its data says, and writes what it does to the ledger.

data: ms     how long the work takes
      beat   if positive, write a sign of life every so many milliseconds
      say    the verdict, a status line without its run; default an ack
      end    instead of a verdict: a signal's name, an exit code, "hang",
             or "supervisor" to kill the one whose pid is in a file
      once   do what say and end tell in the first attempt only
      grow   keep so many bytes for ever
      orphan leave a process behind that ends a little later
      flood  print so many short lines
"""
import json
import os
import signal
import sys
import time

KEPT = []
LEDGER = os.open(os.environ["LEDGER"], os.O_WRONLY | os.O_APPEND)


def note(job, what):
    at = time.clock_gettime(time.CLOCK_BOOTTIME)
    paid = job["retries"] - job["remaining"]
    line = "%s %d %s %s %.6f %d %d\n" % (job["jid"], job["attempt"], job["run"], what, at, os.getpid(), paid)
    os.write(LEDGER, line.encode())


def work(job, data):
    if "grow" in data:
        KEPT.append(b"x" * data["grow"])
    if data.get("orphan"):
        child = os.fork()
        if child == 0:
            if os.fork() == 0:
                time.sleep(0.2)
            os._exit(0)
        os.waitpid(child, 0)
    for lines in range(data.get("flood", 0), 0, -1000):
        sys.stdout.write("another line\n" * min(lines, 1000))
    until = time.monotonic() + data.get("ms", 0) / 1000
    step = data.get("beat", 0) / 1000
    while (left := until - time.monotonic()) > 0:
        time.sleep(min(left, step) if step else left)
        if step:
            note(job, "beat")


def leave(end):
    if end == "hang":
        while True:
            time.sleep(60)
    if end == "supervisor":  # takes the whole service down with it
        with open(os.environ["SUPERVISOR_PID"]) as f:
            os.kill(int(f.read()), signal.SIGKILL)
        leave("hang")
    if isinstance(end, int):
        os._exit(end)
    os.kill(os.getpid(), getattr(signal, end))
    signal.pause()


for line in sys.stdin:
    job = json.loads(line)
    if job.get("@") != "job":
        continue
    data = job["data"]
    note(job, "begin")
    work(job, data)
    odd = not data.get("once") or job["attempt"] == 1
    if odd and "end" in data:
        if isinstance(data["end"], int):
            note(job, "end")  # it leaves of its own will
        leave(data["end"])
    note(job, "end")
    verdict = dict(data["say"]) if odd and "say" in data else {"@": "ack"}
    verdict["run"] = job["run"]
    sys.stdout.write(json.dumps(verdict) + "\n")
    sys.stdout.flush()
