"""A child that parks its job, and acknowledges it in the next attempt, be there an answer or not."""
import json
import sys

for line in sys.stdin:
    job = json.loads(line)
    if job.get("@") != "job":
        continue
    verdict = {"@": "ack", "run": job["run"]}
    if job["attempt"] == 1 and "response" not in job:
        verdict = {"@": "park", "run": job["run"], "correlation": job["data"].get("correlation", job["jid"]), "timeout": job["data"]["timeout"]}
    print(json.dumps(verdict), flush=True)
