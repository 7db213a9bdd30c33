"""Works the jobs of each message by doing nothing, and says so once for all of them."""
import json
import sys

sys.stdout.write('{"@":"hello","v":[1],"caps":["batch"]}\n')
sys.stdout.flush()
for line in sys.stdin:
    message = json.loads(line)
    if message["@"] in ("batch", "job"):
        sys.stdout.write('{"@":"ack","run":"%s"}\n' % message["run"])
        sys.stdout.flush()
