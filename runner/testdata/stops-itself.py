"""Begins with its job and is stopped, as by a debugger."""
import os
import signal
import sys

sys.stdin.readline()
os.kill(os.getpid(), signal.SIGSTOP)
