"""Prints on stdout and stderr, then acknowledges by the descriptor for status lines."""
import json
import os
import sys

for line in sys.stdin:
    run = json.loads(line)["run"]
    print("out of", run, flush=True)
    print("err of", run, file=sys.stderr, flush=True)
    os.write(int(os.environ["OARLOCK_STATUS_FD"]), json.dumps({"@": "ack", "run": run}).encode() + b"\n")
