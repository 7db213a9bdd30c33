"""Begins with its job and loops for ever, silently."""
import sys

sys.stdin.readline()
while True:
    pass
