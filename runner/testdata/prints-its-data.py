"""Says hello, prints the text in each job's data as it is, and fails the job."""
import json
import sys

print('{"@":"hello","v":[1],"lib":"fixture"}', flush=True)
sys.stdin.readline()
for line in sys.stdin:
    job = json.loads(line)
    data = job["data"]
    print(data if isinstance(data, str) else json.dumps(data))
    print(json.dumps({"@": "fail", "run": job["run"], "group": "own", "message": ""}), flush=True)
