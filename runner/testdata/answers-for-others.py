"""Acknowledges a run that it was never given, so many times, before its own."""
import json
import sys

for job in sys.stdin:
    sys.stdout.write('{"@":"ack","run":"somebody-else"}\n' * int(sys.argv[1]))
    sys.stdout.write('{"@":"fail","run":"%s","group":"own","message":""}\n' % json.loads(job)["run"])
    sys.stdout.flush()
