"""Says hello, begins with its job, and leaves without a verdict."""
import os
import sys
import time

print('{"@":"hello","run":"%s","v":[1],"lib":"fixture"}' % os.environ.get("OARLOCK_RUN", ""), flush=True)
if os.environ["OARLOCK_MODE"] != "once":
    sys.stdin.readline()  # the answer
sys.stdin.readline()
time.sleep(0.1)
