"""Packs what a customer has ordered: one parcel for all that came until somebody was free to pack it."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "python"))  # or copy oarlock.py beside this

import oarlock

PARCELS = os.environ.get("PARCELS", "parcels.txt")


@oarlock.job("Order")
def pack(job):
    items = ["%(count)d %(item)s" % order for order in job.data]  # of this customer, the oldest order first
    with open(PARCELS, "a") as file:
        file.write("%s: %s\n" % (job.key, ", ".join(items)))


oarlock.serve()
