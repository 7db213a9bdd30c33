"""Begins with its job, never ends, and does not listen to SIGTERM."""
import signal
import sys
import time

signal.signal(signal.SIGTERM, signal.SIG_IGN)
sys.stdin.readline()
while True:
    time.sleep(1)
