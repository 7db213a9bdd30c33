"""Reads its job and leaves without a word."""
import sys

sys.stdin.readline()
