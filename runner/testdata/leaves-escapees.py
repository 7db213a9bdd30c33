"""Starts processes that leave its process group and its session, writes their numbers to a file, and
then does as told: "exit", "crash", or "wait" for a signal.

usage: leaves-escapees.py FILE COUNT exit|crash|wait
"""
import os
import signal
import sys
import time

path, count, then = sys.argv[1], int(sys.argv[2]), sys.argv[3]


def escape():
    if os.fork():
        return
    os.setsid()
    if os.fork():
        os._exit(0)
    null = os.open(os.devnull, os.O_RDWR)
    for fd in range(3):
        os.dup2(null, fd)
    with open(path, "a") as pids:
        pids.write(f"{os.getpid()}\n")
    time.sleep(600)
    os._exit(0)


for _ in range(count):
    escape()
while not os.path.exists(path) or len(open(path).readlines()) < count:
    time.sleep(0.005)
print("ready", flush=True)
if then == "crash":
    os.kill(os.getpid(), signal.SIGSEGV)
if then == "wait":
    time.sleep(600)
