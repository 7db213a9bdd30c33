"""Leaves with a whole verdict that lacks its line feed."""
import sys

sys.stdin.readline()
sys.stdout.write('{"@":"fail","group":"half","message":"no line feed"}')
