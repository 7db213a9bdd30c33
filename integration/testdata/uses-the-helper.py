"""Works each job with the copyable helper, and writes what it does to the ledger.

data: ms      how long the work takes
      raise   raise an exception that nobody expects
      notyet  ask for another try after so many seconds, in the first attempts: so many
      version written down with the run, to tell which data was worked
"""
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples", "python"))
import oarlock  # noqa: E402

LEDGER = os.open(os.environ["LEDGER"], os.O_WRONLY | os.O_APPEND)


def note(job, what):
    at = time.clock_gettime(time.CLOCK_BOOTTIME)
    paid = job.retries - job.remaining
    name = "%d-%s" % (job.data.get("version", 0), job.run)
    os.write(LEDGER, ("%s %d %s %s %.6f %d %d\n" % (job.jid, job.attempt, name, what, at, os.getpid(), paid)).encode())


@oarlock.job("Work")
def work(job):
    note(job, "begin")
    time.sleep(job.data.get("ms", 0) / 1000)
    note(job, "end")
    if job.data.get("raise"):
        raise ValueError("this customer is broken")
    delay, tries = job.data.get("notyet", (0, 0))
    if job.attempt <= tries:
        raise oarlock.Retry("not yet", delay=delay)


oarlock.serve()
