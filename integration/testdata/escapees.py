"""Sends 24 processes out, each forked twice and in a session of its own; then works."""
import os
import runpy

for _ in range(24):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            null = os.open(os.devnull, os.O_RDWR)
            for fd in (0, 1, 2):
                os.dup2(null, fd)
            os.execvp("sleep", ["sleep", "61"])
        os._exit(0)
    os.wait()

runpy.run_path(os.path.join(os.path.dirname(os.path.abspath(__file__)), "worker.py"))
