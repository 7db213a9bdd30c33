"""Begins with its job and never ends."""
import sys
import time

sys.stdin.readline()
time.sleep(1000)
