"""Writes so many bytes of its verdict and is killed."""
import os
import signal
import sys

sys.stdin.readline()
os.write(1, b'{"@":"ack","data":{"to":"someone","n":12345}}'[: int(sys.argv[1])])
os.kill(os.getpid(), signal.SIGKILL)
