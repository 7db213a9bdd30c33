"""Prints so many short lines, then acknowledges."""
import sys

sys.stdin.readline()
sys.stdout.write("another line\n" * int(sys.argv[1]))
sys.stdout.write('{"@":"ack"}\n')
