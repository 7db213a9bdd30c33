"""Asks for an answer and parks, until it has one, and writes what it does to the ledger."""
import json
import os
import sys
import time

LEDGER = os.open(os.environ["LEDGER"], os.O_WRONLY | os.O_APPEND)

for line in sys.stdin:
    job = json.loads(line)
    if job.get("@") != "job":
        continue
    verdict, what = {"@": "ack", "run": job["run"]}, "end"
    if "response" not in job:
        verdict, what = {"@": "park", "run": job["run"], "correlation": job["data"]["order"], "timeout": 600}, "ask"
    elif job["response"]["data"]["of"] != job["data"]["order"]:
        what = "foreign"
    at = time.clock_gettime(time.CLOCK_BOOTTIME)
    os.write(LEDGER, ("%s %d %s %s %.6f %d\n" % (job["jid"], job["attempt"], job["run"], what, at, os.getpid())).encode())
    print(json.dumps(verdict), flush=True)
