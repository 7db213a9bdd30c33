"""Begins its job, and then forks as fast as it can, and so does every fork, in sessions of their own."""
import json
import os
import sys
import time

job = json.loads(sys.stdin.readline())
with open(os.environ["LEDGER"], "ab", buffering=0) as ledger:
    at = time.clock_gettime(time.CLOCK_BOOTTIME)
    ledger.write(b"%s 1 %s begin %.6f %d\n" % (job["jid"].encode(), job["run"].encode(), at, os.getpid()))
while True:
    try:
        if os.fork() == 0:
            os.setsid()
    except OSError:
        time.sleep(0.01)
