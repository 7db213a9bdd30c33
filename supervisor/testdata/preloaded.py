"""A program that is loaded once and forked for each job."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..", "examples", "python"))
import oarlock


@oarlock.job("K")
def work(job):
    job.log("forked")


oarlock.serve()
