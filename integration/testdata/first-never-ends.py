"""Works with the helper, in any mode. The first attempt at a job gives signs of life until it is killed,
unless its data say "quick"; later ones are done at once. What happens is written to the ledger.
"""
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..", "examples", "python"))
import oarlock

LEDGER = os.open(os.environ["LEDGER"], os.O_WRONLY | os.O_APPEND)


def note(job, what):
    at = time.clock_gettime(time.CLOCK_BOOTTIME)
    paid = job.retries - job.remaining
    os.write(LEDGER, b"%s %d %s %s %.6f %d %d\n" % (
        job.jid.encode(), job.attempt, job.run.encode(), what.encode(), at, os.getpid(), paid))


@oarlock.default
def work(job):
    note(job, "begin")
    while job.attempt == 1 and "quick" not in job.data:
        time.sleep(0.05)
        note(job, "beat")
    note(job, "end")


oarlock.serve()
