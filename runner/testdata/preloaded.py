"""A preloaded program: each job says by its data what becomes of it.

Takes as long to load, and holds as much, as a program with heavy imports.
"""
import ctypes
import os
import resource
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..", "examples", "python"))
import oarlock

began = time.process_time()
table = {n: str(n) for n in range(200_000)}
while time.process_time() - began < float(os.environ.get("LOAD_SECONDS", "0")):
    pass
print("loaded", flush=True)


@oarlock.default
def work(job):
    do = job.data.get("do", "")
    if do == "pid":
        print("pid", os.getpid(), os.getppid())
    elif do == "where":
        print(os.environ["WHERE"] + "|" + os.environ["WHO"])
    elif do == "leave":
        sys.exit(4)
    elif do == "exit":
        os._exit(3)
    elif do == "segfault":
        ctypes.string_at(0)
    elif do == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    elif do == "memory":
        resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
        bytearray(1 << 32)
    elif do == "grow":
        hoard = b"x" * (job.data["mib"] << 20)
        time.sleep(600)
    elif do == "raise":
        raise ValueError("no good")
    elif do == "escape":
        subprocess.run([sys.executable, os.path.join(os.path.dirname(__file__), "leaves-escapees.py"),
                        job.data["file"], str(job.data["count"]), job.data.get("then", "exit")], check=True)
    elif do == "pause":
        print("pausing", flush=True)
        time.sleep(600)
    elif do == "wait":
        print("waiting", flush=True)
        while not os.path.exists(job.data["file"]):
            time.sleep(0.005)
        os._exit(job.data.get("code", 0))


oarlock.serve()
