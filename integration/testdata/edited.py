"""The program of a pool whose operator edits it. It works each job with the copyable helper,
and writes it to the ledger with the version of the code and the slot of the child.

VERSION and KIND are globals of the program that runs this one. KIND is how its jobs end:

good       well
raises     with an exception
hangs      not at all
second     every second one with an exception
thirtieth  with an exception from the thirtieth on

data: ms   how long the work takes
"""
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples", "python"))
import oarlock  # noqa: E402

LEDGER = os.open(os.environ["LEDGER"], os.O_WRONLY | os.O_APPEND)


def note(job, what):
    at = time.clock_gettime(time.CLOCK_BOOTTIME)
    told = (job.jid, job.attempt, job.run, what, at, os.getpid(), job.retries - job.remaining, VERSION, os.environ["OARLOCK_SLOT"])
    os.write(LEDGER, ("%s %d %s %s %.6f %d %d %d %s\n" % told).encode())


def number():
    """How many jobs this version has begun, over all its processes."""
    count = os.open("%s.%d" % (os.environ["LEDGER"], VERSION), os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
    os.write(count, b"x")
    n = os.lseek(count, 0, os.SEEK_CUR)
    os.close(count)
    return n


@oarlock.job("Work")
def work(job):
    note(job, "begin")
    if KIND == "hangs":
        time.sleep(600)
    time.sleep(job.data.get("ms", 0) / 1000)
    n = number()
    if KIND == "raises" or KIND == "second" and n % 2 == 0 or KIND == "thirtieth" and n >= 30:
        note(job, "fail")
        raise ValueError("version %d is broken" % VERSION)
    note(job, "end")


oarlock.serve()
