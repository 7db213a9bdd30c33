"""Counts the lines, words and bytes of a text; one process per job, no helper.

Oarlock writes one line of JSON to stdin. The answer is a line of JSON on stdout;
without one, the exit code is the answer.
"""

import json
import sys

job = json.loads(sys.stdin.readline())
data = job["data"]
try:
    text = open(data["path"], "rb").read() if "path" in data else data["text"].encode()
except OSError as error:
    print(error, file=sys.stderr)  # becomes the message of the failure
    sys.exit(66)  # the input is not there: no use in trying again

print("counting", len(text), "bytes")  # whatever is printed goes to the job's log
counts = {"lines": text.count(b"\n"), "words": len(text.split()), "bytes": len(text)}
print(json.dumps({"@": "ack", "run": job["run"], "data": counts}))
