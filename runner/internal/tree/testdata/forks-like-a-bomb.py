"""Forks as fast as it can, and so does every fork, in sessions of their own; up to a number that the
kernel enforces for users other than root.

usage: forks-like-a-bomb.py PROCESSES
"""
import os
import resource
import sys
import time

most = int(sys.argv[1])
resource.setrlimit(resource.RLIMIT_NPROC, (most, most))
first = True
while True:
    try:
        if os.fork() == 0:
            os.setsid()
            null = os.open(os.devnull, os.O_RDWR)
            for fd in range(3):
                os.dup2(null, fd)
            first = False
    except OSError:
        if first:
            print("full", flush=True)
            first = False
        time.sleep(0.01)
