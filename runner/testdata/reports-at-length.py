"""Leaves a crash report of a mebibyte, not all of it text, on stderr."""
import os
import sys

sys.stdin.readline()
sys.stderr.buffer.write(os.urandom(1000000) + b"\nthe \xc3 cause: no such table")
sys.stderr.flush()
os._exit(1)
