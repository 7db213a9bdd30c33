"""Has four processes print long lines at the same time and leaves with code 65."""
import os
import sys

sys.stdin.readline()
children = []
for letter in b"abcd":
    pid = os.fork()
    if pid == 0:
        for _ in range(20):
            line = bytes([letter]) * 100000 + b"\n"
            while line:
                line = line[os.write(1, line) :]
        os._exit(0)
    children.append(pid)
for pid in children:
    os.waitpid(pid, 0)
os._exit(65)
