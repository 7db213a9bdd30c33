"""Works jobs of some queues as a client of qless or reqless does, and writes what it does to the ledger.

arguments: the socket of Redis, a file with the script that it loads, qless or reqless, its name, milliseconds between two jobs, queues
"""
import json
import os
import socket
import sys
import time

ADDRESS, SCRIPT, DIALECT, NAME, PAUSE, QUEUES = sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4], int(sys.argv[5]) / 1000, sys.argv[6:]
POP, COMPLETE = {"qless": ("pop", "complete"), "reqless": ("queue.pop", "job.complete")}[DIALECT]
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
        return self.send("EVALSHA", self.sha, 0, command, "%.6f" % time.time(), *words)


def note(jid, run, what):
    at = time.clock_gettime(time.CLOCK_BOOTTIME)
    os.write(LEDGER, ("%s 1 %s %s %.6f %d\n" % (jid, run, what, at, os.getpid())).encode())


def work(redis, queue):
    for job in json.loads(redis.call(POP, queue, NAME, 1)):
        run = "%s-%d" % (NAME, time.monotonic_ns())
        note(job["jid"], run, "begin")
        time.sleep(json.loads(job["data"])["ms"] / 1000)
        note(job["jid"], run, "end")
        redis.call(COMPLETE, job["jid"], NAME, queue, job["data"])


redis = None
while True:
    for queue in QUEUES:
        try:
            redis = redis or Connection()
            work(redis, queue)
        except Refused:
            pass  # it was late, or Redis has only just begun
        except OSError:
            redis = None  # it is away
        time.sleep(PAUSE)
