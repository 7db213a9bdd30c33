"""Begins with its job, and dies of the signal that it is called with."""
import os
import signal
import sys

sys.stdin.readline()
print("at work", flush=True)
os.kill(os.getpid(), signal.Signals["SIG" + sys.argv[1]])
signal.pause()
