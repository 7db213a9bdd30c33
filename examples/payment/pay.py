"""Charges an order: asks a bank, parks, and goes on when the bank has answered."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "python"))  # or copy oarlock.py beside this

import oarlock

ASKED = os.environ.get("ASKED", "asked")


def ask(order, address):
    """Stands for the request to a bank: what it is told is in a file."""
    os.makedirs(ASKED, exist_ok=True)
    with open(os.path.join(ASKED, order + ".new"), "w") as file:
        file.write(address + "\n")
    os.rename(file.name, os.path.join(ASKED, order))


@oarlock.job("Pay")
def pay(job):
    order = job.data["order"]
    if job.response is None:
        ask(order, job.callback(order))
        job.park(order, timeout=3600, checkpoint={"asked": True})
    elif "error" in job.response:
        raise oarlock.Fail(job.response["error"], group="not-paid")
    else:
        job.ack(data={"order": order, "paid": job.response["data"]["paid"]})


oarlock.serve()
