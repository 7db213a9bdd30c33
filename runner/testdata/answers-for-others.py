"""Acknowledges a run that it was never given, so many times, before its own; on the descriptor."""
import json
import os
import sys

status = os.fdopen(int(os.environ["OARLOCK_STATUS_FD"]), "w")
for job in sys.stdin:
    status.write('{"@":"ack","run":"somebody-else"}\n' * int(sys.argv[1]))
    status.write('{"@":"fail","run":"%s","group":"own","message":""}\n' % json.loads(job)["run"])
    status.flush()
