"""Pushes a job to an hworker's list: python3 hworker.py NAME PAYLOAD. No package is needed.

An entry is a JSON array of an id, which makes it unlike any other, and the payload.
"""

import json
import os
import socket
import sys
import uuid


def push(stream, name, payload):
    """Pushes one job and returns its id."""
    jid = str(uuid.uuid4())
    parts = [b"LPUSH", b"hworker-jobs-" + name.encode(), json.dumps([jid, payload]).encode()]
    stream.write(b"*%d\r\n" % len(parts))
    for part in parts:
        stream.write(b"$%d\r\n%b\r\n" % (len(part), part))
    stream.flush()
    reply = stream.readline().decode()
    if not reply.startswith(":"):
        raise RuntimeError(reply.strip())
    return jid


if __name__ == "__main__":
    address = (os.environ.get("REDIS_HOST", "127.0.0.1"), int(os.environ.get("REDIS_PORT", 6379)))
    with socket.create_connection(address, timeout=5) as connection:
        print(push(connection.makefile("rwb"), sys.argv[1], json.loads(sys.argv[2])))
