"""Works each job by doing nothing: what is left is the cost of handing it over."""
import json
import sys

for line in sys.stdin:
    sys.stdout.write('{"@":"ack","run":"%s"}\n' % json.loads(line)["run"])
    sys.stdout.flush()
