"""Says hello, begins with its job, and leaves without a verdict."""
import sys
import time

print('{"@":"hello","v":[1],"lib":"fixture"}', flush=True)
sys.stdin.readline()
time.sleep(0.1)
