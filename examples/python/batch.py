"""Takes jobs as they come in one message, and writes them to a file with one write.

A job: {"file": "/path/to/list", "line": "one more line"}
"""

import oarlock

for batch in oarlock.batches():
    files = {}
    for job in batch:
        if not (isinstance(job.data, dict) and "line" in job.data):
            job.fail("there is no line in it", group="no-line")
            continue
        files.setdefault(job.data["file"], []).append(job.data["line"])
    for path, lines in files.items():
        with open(path, "a") as out:
            out.write("%d: %s\n" % (len(lines), " ".join(lines)))
