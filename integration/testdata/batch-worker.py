"""Works the jobs of each message at once, and acknowledges them by one word. It adds a line
with their jids to the file that it is called with. The data of a job may be the name of
what is to happen to all that came with it:

  "die"         the process is killed
  "exit"        it exits with 1
  "hang"        it says nothing any more
  "raise"       an exception befalls the whole message
  "supervisor"  the supervisor is killed
"""
import json
import os
import signal
import sys
import time


def say(**line):
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


say(**{"@": "hello", "v": [1], "caps": ["batch"]})
for line in sys.stdin:
    message = json.loads(line)
    if message["@"] != "batch":
        continue
    with open(sys.argv[1], "a") as out:
        out.write(json.dumps([job["jid"] for job in message["jobs"]]) + "\n")
    verdict = {"@": "ack"}
    for job in message["jobs"]:
        if job["data"] == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        elif job["data"] == "exit":
            os._exit(1)
        elif job["data"] == "hang":
            time.sleep(3600)
        elif job["data"] == "raise":
            verdict = {"@": "retry", "raised": True, "message": "oops"}
        elif job["data"] == "supervisor":
            with open(os.environ["SUPERVISOR_PID"]) as f:
                os.kill(int(f.read()), signal.SIGKILL)
            time.sleep(3600)
    say(run=message["run"], **verdict)
