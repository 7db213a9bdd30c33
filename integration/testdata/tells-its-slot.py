"""Writes down which slot its process has, and works like worker.py."""
import os
import runpy
import time

at = time.clock_gettime(time.CLOCK_BOOTTIME)
with open(os.environ["LEDGER"], "ab", buffering=0) as ledger:
    ledger.write(b"boot-%d 0 %s boot %.6f %d\n" % (os.getpid(), os.environb[b"OARLOCK_SLOT"], at, os.getpid()))
runpy.run_path(os.path.join(os.path.dirname(os.path.abspath(__file__)), "worker.py"))
