"""Reads only the data of a job and answers with the checksum of that line."""
import hashlib
import json
import os
import sys

line = sys.stdin.buffer.read()
print(json.dumps({"@": "ack", "run": os.environ["OARLOCK_RUN"], "data": hashlib.sha256(line).hexdigest()}))
