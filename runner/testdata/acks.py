"""Acknowledges every job, as fast as a plain Python loop can."""
import json
import os
import sys

out = int(os.environ.get("OARLOCK_STATUS_FD", 1))
for line in sys.stdin.buffer:
    run = json.loads(line)["run"]
    os.write(out, b'{"@":"ack","run":"%s"}\n' % run.encode())
