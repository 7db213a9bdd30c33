"""Tells its progress so many times, then acknowledges."""
import os
import sys

sys.stdin.readline()
run = os.environ["OARLOCK_RUN"]
sys.stdout.write('{"@":"progress","run":"%s","pct":50}\n' % run * int(sys.argv[1]))
sys.stdout.write('{"@":"progress","run":"%s","pct":100}\n{"@":"ack","run":"%s"}\n' % (run, run))
