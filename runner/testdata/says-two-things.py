"""Gives two verdicts for each job, both in its name."""
import json
import sys

for line in sys.stdin:
    run = json.loads(line)["run"]
    sys.stdout.write('{"@":"fail","run":"%s","group":"first","message":""}\n{"@":"ack","run":"%s"}\n' % (run, run))
    sys.stdout.flush()
