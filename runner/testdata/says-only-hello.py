"""Says hello, begins with its job, and leaves without a verdict."""
import os
import sys
import time

print('{"@":"hello","v":[1],"lib":"fixture"}', flush=True)
if os.environ["OARLOCK_MODE"] != "once":
    sys.stdin.readline()  # the answer
sys.stdin.readline()
time.sleep(0.1)
