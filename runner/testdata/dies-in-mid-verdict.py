"""Writes its argument, the beginning of a verdict, and is killed."""
import os
import signal
import sys

sys.stdin.readline()
os.write(1, sys.argv[1].encode())
os.kill(os.getpid(), signal.SIGKILL)
