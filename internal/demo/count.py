"""Counts lines, words, bytes and the longest line of a file.

Reads {"path": ...} from stdin. It knows nothing of who calls it; that it now and
then misbehaves is so that the demo has something to show.
"""

import json
import os
import sys

job = json.load(sys.stdin)

attempt = int(os.environ.get("OARLOCK_ATTEMPT", "1"))
trouble = job.get("trouble")
if trouble == "busy" and attempt == 1:
    print("the printer is busy", file=sys.stderr)
    sys.exit(75)  # try again later
if trouble == "poison" or trouble == "crash" and attempt == 1:
    os.kill(os.getpid(), 11)  # a segmentation fault

try:
    with open(job["path"], "rb") as file:
        text = file.read()
except OSError as problem:
    print(problem, file=sys.stderr)
    sys.exit(66)  # no such input: never try again

lines = text.split(b"\n")
if not lines[-1]:
    lines.pop()
words = sum(len([w for w in line.replace(b"\t", b" ").split(b" ") if w]) for line in lines)
print(len(lines), words, len(text), max(map(len, lines), default=0))
