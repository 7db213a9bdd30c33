"""Counts the lines, words and bytes of a text, with the helper.

The same file works in all modes: once, reuse and preload.
"""

import oarlock


@oarlock.job("Count")
def count(job):
    try:
        text = open(job.data["path"], "rb").read() if "path" in job.data else job.data["text"].encode()
    except FileNotFoundError as error:
        raise oarlock.Fail(str(error), group="no-such-file")
    job.progress(50, "read %d bytes" % len(text))
    job.ack(data={"lines": text.count(b"\n"), "words": len(text.split()), "bytes": len(text)})


oarlock.serve()
