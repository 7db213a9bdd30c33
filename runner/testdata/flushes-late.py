"""Prints log and verdict into a buffer that only its end empties."""
import io
import os
import sys

sys.stdin.readline()
sys.stdout = io.TextIOWrapper(open(1, "wb", buffering=1 << 16), write_through=False)
print("done with it")
print('{"@":"ack","run":"%s"}' % os.environ["OARLOCK_RUN"])
