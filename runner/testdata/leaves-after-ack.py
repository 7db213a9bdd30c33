"""Acknowledges one job and leaves at once, without a word of farewell."""
import json
import os
import sys

run = json.loads(sys.stdin.readline())["run"]
os.write(1, b'{"@":"ack","run":"%s"}\n' % run.encode())
os._exit(0)
