"""Acknowledges one job and leaves at once, without a word of farewell."""
import os
import sys

sys.stdin.readline()
os.write(1, b'{"@":"ack"}\n')
os._exit(0)
