"""Leaves a process of another session behind that keeps stdout and stderr open."""
import os
import subprocess
import sys

sys.stdin.readline()
subprocess.Popen(["sleep", "60"], start_new_session=True)
os._exit(0)
