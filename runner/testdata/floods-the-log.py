"""Prints so many short lines, then acknowledges."""
import os
import sys

sys.stdin.readline()
sys.stdout.write("another line\n" * int(sys.argv[1]))
sys.stdout.write('{"@":"ack","run":"%s"}\n' % os.environ["OARLOCK_RUN"])
