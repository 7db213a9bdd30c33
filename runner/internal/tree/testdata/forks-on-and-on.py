"""Starts processes that leave their session, fork and end, again and again: nobody is there for long.

usage: forks-on-and-on.py CHAINS MARK

MARK is what they are found by.
"""
import os
import sys
import time


def chain():
    os.setsid()
    while True:
        time.sleep(0.002)
        if os.fork():
            os._exit(0)
        os.setsid()


for _ in range(int(sys.argv[1])):
    if os.fork() == 0:
        if os.fork():
            os._exit(0)
        null = os.open(os.devnull, os.O_RDWR)
        for fd in range(3):
            os.dup2(null, fd)
        chain()
print("ready", flush=True)
time.sleep(600)
