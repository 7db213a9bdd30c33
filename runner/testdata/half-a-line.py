"""Leaves with a whole verdict that lacks its line feed."""
import os
import sys

sys.stdin.readline()
sys.stdout.write('{"@":"fail","run":"%s","group":"half","message":"no line feed"}' % os.environ["OARLOCK_RUN"])
