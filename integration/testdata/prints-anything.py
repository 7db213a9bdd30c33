"""Prints what no protocol expects, and then its verdict."""
import json
import os
import sys
import time

out = sys.stdout.buffer


def note(what):
    at = time.clock_gettime(time.CLOCK_BOOTTIME)
    env = os.environ
    line = "%s %s %s %s %.6f %d\n" % (
        env["OARLOCK_JID"], env["OARLOCK_ATTEMPT"], env["OARLOCK_RUN"], what, at, os.getpid())
    with open(env["LEDGER"], "ab", buffering=0) as ledger:
        ledger.write(line.encode())


note("begin")
out.write(b"this is not a status\n")
out.write(b'{"message":"no verb here"}\n{"@":17}\n[{"@":"fail"}]\n')
out.write(b"\x00\x01\x1b[31mred\x1b[0m\x07\xff\xfe\r\n")
out.write(b"x" * 3000000 + b"\n")
out.write(os.urandom(100000) + b"\n")
out.write(b"[" * 20000 + b"\n")
out.write(b'{"@":"ack","run":"half of a line\n')
out.flush()
sys.stderr.write("the last words\n")
note("end")
out.write(json.dumps({"@": "ack", "run": os.environ["OARLOCK_RUN"]}).encode())  # and no newline
