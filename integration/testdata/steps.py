"""Works with the helper, in any mode: data.steps steps of data.ms each, from the last checkpoint on. Each
step is written to the ledger.
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
    for step in range(job.saved or 0, job.data["steps"]):
        time.sleep(job.data["ms"] / 1000)
        note(job, "step")
        job.step(step + 1)
    note(job, "end")


oarlock.serve()
