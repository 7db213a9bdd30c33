"""Counts lines, words, bytes and the longest line of a file.

Reads a path from stdin, as a JSON string. It knows nothing of who calls it. What
stands behind a # is trouble to make, so that the demo has something to show.
"""

import os
import sys

path, _, trouble = sys.stdin.readline().strip().strip('"').partition("#")
first = os.environ.get("OARLOCK_ATTEMPT", "1") == "1"
if trouble == "busy" and first:
    print("the printer is busy", file=sys.stderr)
    sys.exit(75)  # try again later
if trouble == "poison" or trouble == "crash" and first:
    os.kill(os.getpid(), 11)  # a segmentation fault

try:
    with open(path, "rb") as file:
        text = file.read()
except OSError as problem:
    print(problem, file=sys.stderr)
    sys.exit(66)  # no such input: never try again

lines = text.split(b"\n")
if not lines[-1]:
    lines.pop()
words = sum(len([w for w in line.replace(b"\t", b" ").split(b" ") if w]) for line in lines)
print(len(lines), words, len(text), max(map(len, lines), default=0))
