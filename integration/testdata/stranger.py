"""Works jobs of some queues as a client of qless or reqless does, and writes what it does to the ledger. Of the data of a job it knows ms, beat, where it
renews its lock, too, say and once, as worker.py does.

arguments: the socket of Redis, a file with the script that it loads, qless or reqless, its name, by how many seconds its clock is ahead, milliseconds between
two jobs, queues
"""
import json
import os
import socket
import sys
import time

ADDRESS, SCRIPT, DIALECT, NAME, AHEAD, PAUSE, *QUEUES = sys.argv[1:]
AHEAD, PAUSE = float(AHEAD), int(PAUSE) / 1000
OF_QUEUES, OF_JOBS = {"qless": ("", ""), "reqless": ("queue.", "job.")}[DIALECT]
LEDGER = os.open(os.environ["LEDGER"], os.O_WRONLY | os.O_APPEND)


class Refused(Exception):
    """Redis understood, and said no."""


class Connection:
    def __init__(self):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(ADDRESS)
        self.file = self.socket.makefile("rb")
        with open(SCRIPT, encoding="utf-8") as f:
            self.sha = self.send("SCRIPT", "LOAD", f.read())

    def send(self, *words):
        parts = [str(word).encode() for word in words]
        self.socket.sendall(b"*%d\r\n" % len(parts) + b"".join(b"$%d\r\n%s\r\n" % (len(part), part) for part in parts))
        line = self.file.readline()
        if not line.endswith(b"\r\n"):
            raise ConnectionError("Redis has hung up")
        kind, rest = line[:1], line[1:-2].decode()
        if kind == b"-":
            raise Refused(rest)
        if kind != b"$" or rest == "-1":
            return rest
        return self.file.read(int(rest) + 2)[:-2].decode()

    def call(self, command, *words):
        return self.send("EVALSHA", self.sha, 0, command, "%.6f" % (time.time() + AHEAD), *words)


def work(redis, queue):
    for job in json.loads(redis.call(OF_QUEUES + "pop", queue, NAME, 1)):
        run(redis, queue, job)


def run(redis, queue, job):
    jid, data, attempt = job["jid"], json.loads(job["data"]), 1 + job["retries"] - job["remaining"]
    name = "%s-%d" % (NAME, time.monotonic_ns())

    def note(what):
        at = time.clock_gettime(time.CLOCK_BOOTTIME)
        os.write(LEDGER, ("%s %d %s %s %.6f %d\n" % (jid, attempt, name, what, at, os.getpid())).encode())

    note("begin")
    until = time.monotonic() + data["ms"] / 1000
    while (left := until - time.monotonic()) > 0:
        time.sleep(min(left, data.get("beat", data["ms"]) / 1000))
        if "beat" in data:
            redis.call(OF_JOBS + "heartbeat", jid, NAME, job["data"])
            note("beat")
    note("end")
    verdict = data["say"]["@"] if "say" in data and (attempt == 1 or not data.get("once")) else "complete"
    redis.call(OF_JOBS + verdict, jid, *{
        "complete": (NAME, queue, job["data"]),
        "fail": (NAME, "odd", "it was told to"),
        "retry": (queue, NAME, 0, "odd", "it was told to"),
    }[verdict])


redis = None
while True:
    for queue in QUEUES:
        try:
            redis = redis or Connection()
            work(redis, queue)
        except Refused:
            pass  # it was late, or has lost its job, or Redis has only just begun
        except OSError:
            redis = None  # it is away
        time.sleep(PAUSE)
