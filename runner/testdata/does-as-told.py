"""Says hello with the capabilities it is called with, then does for each job what
its data says: a list of steps.

  ["say", {...}]    a status line; its run is filled in
  ["raw", "text"]   a line as it is, on the channel for status lines
  ["print", "text"] a line on stdout
  ["err", "text"]   a line on stderr
  ["write", "name"] an empty file of that name in the private directory
  ["sleep", s]      that
  ["listen"]        waits for one more line and prints it
  ["exit", code]    leaves

Of a batch it does so for its first job, and "of" in a status line is the place of the job
that it is about; without, it is about all of them.
"""
import json
import os
import sys
import time

out = int(os.environ.get("OARLOCK_STATUS_FD", 1))


def say(line):
    os.write(out, line.encode() + b"\n")


say(json.dumps({"@": "hello", "v": [1], "lib": "fixture", "caps": sys.argv[1:]}))
if os.environ["OARLOCK_MODE"] != "once":
    print(sys.stdin.readline().strip(), flush=True)  # the answer to our hello
for line in sys.stdin:
    job = json.loads(line)
    runs = [job.get("run")]
    if job["@"] == "batch":
        runs = [one["run"] for one in job["jobs"]]
        job["data"] = job["jobs"][0]["data"]
    elif job["@"] != "job":
        print(line.strip(), flush=True)
        if job["@"] == "shutdown":
            break
        continue
    for step, *args in job["data"]:
        if step == "say":
            status = dict(args[0])
            run = runs[status.pop("of")] if "of" in status else job["run"]
            say(json.dumps({"run": run, **status}))
        elif step == "raw":
            say(args[0])
        elif step == "print":
            print(args[0], flush=True)
        elif step == "err":
            print(args[0], file=sys.stderr, flush=True)
        elif step == "write":
            open(os.path.join(os.environ["OARLOCK_DIR"], args[0]), "w").close()
        elif step == "sleep":
            time.sleep(args[0])
        elif step == "listen":
            print(sys.stdin.readline().strip(), flush=True)
        elif step == "exit":
            os._exit(args[0])
