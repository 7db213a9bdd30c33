"""Tells its progress so many times, then acknowledges."""
import sys

sys.stdin.readline()
sys.stdout.write('{"@":"progress","pct":50}\n' * int(sys.argv[1]))
sys.stdout.write('{"@":"progress","pct":100}\n{"@":"ack"}\n')
