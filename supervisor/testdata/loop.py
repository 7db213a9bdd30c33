"""A reused child: answers each job with what its data asks for."""
import json
import os
import signal
import sys
import time

for line in sys.stdin:
    job = json.loads(line)
    data = job["data"]
    run = job["run"]
    if data.get("ledger"):
        with open(data["ledger"], "a") as f:
            f.write("begin %s %d\n" % (job["jid"], job["attempt"]))
    if "sleep" in data:
        time.sleep(data["sleep"])
    while "until" in data and not os.path.exists(data["until"]):
        time.sleep(0.002)
    do = data.get("do", "ack")
    if do == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if do == "exit":
        sys.exit(1)
    answer = {"@": do, "run": run}
    answer.update(data.get("with", {}))
    if data.get("ledger"):
        with open(data["ledger"], "a") as f:
            f.write("end %s %d\n" % (job["jid"], job["attempt"]))
    print(json.dumps(answer), flush=True)
