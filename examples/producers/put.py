"""Puts a job: python3 put.py QUEUE KLASS DATA. No package is needed.

The protocol is one script in Redis; oarlock.lua beside this file is it (see
README.md). A call is EVALSHA with the script's SHA, a 0 for "no keys", the command,
the time, and the command's own arguments.
"""

import hashlib
import os
import socket
import sys
import time
import uuid


class Refused(Exception):
    """Redis or the script said no."""


class Redis:
    """As much of a Redis client as this takes."""

    def __init__(self, host, port):
        self.stream = socket.create_connection((host, port), timeout=5).makefile("rwb")

    def call(self, *args):
        parts = [str(arg).encode() for arg in args]
        self.stream.write(b"*%d\r\n" % len(parts))
        for part in parts:
            self.stream.write(b"$%d\r\n%b\r\n" % (len(part), part))
        self.stream.flush()
        kind, rest = self.stream.read(1), self.stream.readline().rstrip().decode()
        if kind == b"-":
            raise Refused(rest)
        if kind == b"$" and rest != "-1":
            return self.stream.read(int(rest) + 2)[:-2].decode()
        return rest


def put(redis, script, queue, klass, data, jid=None, delay=0, **options):
    """Puts a job and returns its id.

    data is JSON text. Options are priority, retries, and as JSON text tags and
    depends. After an error of the network call it again with the same jid: the
    second put takes the place of the first.
    """
    jid = jid or uuid.uuid4().hex
    args = ["put", "%.6f" % time.time(), "producer", queue, jid, klass, data, delay]
    for name, value in options.items():
        args += [name, value]
    sha = hashlib.sha1(script.encode()).hexdigest()
    try:
        redis.call("EVALSHA", sha, 0, *args)
    except Refused as error:
        if not str(error).startswith("NOSCRIPT"):
            raise
        redis.call("SCRIPT", "LOAD", script)  # the first call since Redis started
        redis.call("EVALSHA", sha, 0, *args)
    redis.call("PUBLISH", "ql:oarlock:wake", queue)  # optional: an idle pool looks at once
    return jid


if __name__ == "__main__":
    with open(os.environ.get("OARLOCK_LUA", "oarlock.lua")) as file:
        lua = file.read()
    server = Redis(os.environ.get("REDIS_HOST", "127.0.0.1"), int(os.environ.get("REDIS_PORT", 6379)))
    print(put(server, lua, *sys.argv[1:4]))
