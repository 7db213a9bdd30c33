"""Counts the lines, words and bytes of texts; one process for many jobs, no helper.

Every line of stdin that has an "@" of "job" is a job; each is answered by one
line. The end of the input means: no more jobs, leave.
"""

import json
import sys


def count(data):
    text = open(data["path"], "rb").read() if "path" in data else data["text"].encode()
    return {"lines": text.count(b"\n"), "words": len(text.split()), "bytes": len(text)}


for line in sys.stdin:
    job = json.loads(line)
    if job["@"] != "job":
        continue
    try:
        answer = {"@": "ack", "data": count(job["data"])}
    except FileNotFoundError as error:
        answer = {"@": "fail", "group": "no-such-file", "message": str(error)}
    except Exception as error:
        answer = {"@": "retry", "group": type(error).__name__, "message": str(error)}
    answer["run"] = job["run"]
    print(json.dumps(answer), flush=True)
