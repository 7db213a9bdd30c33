"""Orders something: python3 order.py CUSTOMER ITEM COUNT. Prints the jid of the job that has the order."""
import json
import subprocess
import sys

customer, item, count = sys.argv[1:]
order = {"item": item, "count": int(count)}
done = subprocess.run(["oarlock", "put", "orders", "--klass", "Order", "--key", customer, "--merge", "all", "--", json.dumps(order)])
sys.exit(done.returncode)
