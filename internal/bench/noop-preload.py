"""Works each job by doing nothing, in a fork of its own."""
import oarlock


@oarlock.default
def work(job):
    pass


oarlock.serve()
