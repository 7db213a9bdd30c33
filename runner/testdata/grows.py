"""Reads a job and then holds more memory every moment, as the arguments say.

usage: grows.py MIB_AT_A_TIME MIB_IN_ALL
"""
import sys
import time

step, total = int(sys.argv[1]), int(sys.argv[2])
hoard = []
sys.stdin.readline()
while len(hoard) * step < total:
    hoard.append(b"x" * (step << 20))
    time.sleep(0.001)
print("grown", flush=True)
time.sleep(600)
