"""A child that writes into a ledger which job of a key it works, and whether another of that key still lives."""
import fcntl
import json
import os
import signal
import sys
import time


def alive(pid):
    try:
        with open("/proc/%s/stat" % pid) as f:
            return f.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def note(path, word, job):
    """Appends a line; of a job that begins, first of those that began and live."""
    with open(path, "a+") as f:
        fcntl.flock(f, fcntl.LOCK_EX)
        if word == "begin":
            f.seek(0)
            began = {}
            for line in f.read().splitlines():
                what, key, jid, pid = line.split("\t")
                if what == "begin":
                    began[(key, jid)] = pid
                else:
                    began.pop((key, jid), None)
            for (key, jid), pid in began.items():
                if key == job.get("key", "") and pid != str(os.getpid()) and alive(pid):
                    f.write("beside\t%s\t%s\t%s\n" % (key, jid, pid))
        f.write("%s\t%s\t%s\t%d\n" % (word, job.get("key", ""), job["jid"], os.getpid()))


for line in sys.stdin:
    job = json.loads(line)
    if job.get("@") != "job":
        continue
    data = job["data"]
    if data.get("deaf"):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    note(data["ledger"], "begin", job)
    time.sleep(data.get("sleep", 0))
    if data.get("die") and job["attempt"] <= data["die"]:
        os.kill(os.getpid(), signal.SIGKILL)
    note(data["ledger"], "end", job)
    print(json.dumps({"@": "retry" if data.get("again") and job["attempt"] <= data["again"] else "ack", "run": job["run"]}), flush=True)
