"""Uses verbs and fields of a later version, beside those of this one."""
import json
import sys

print('{"@":"hello","v":[1,2],"lib":"future/1.0","caps":["teleport"],"mood":"fine"}', flush=True)
sys.stdin.readline()
for line in sys.stdin:
    print('{"@":"weather","sky":"blue"}')
    print(json.dumps({"@": "ack", "run": json.loads(line)["run"], "colour": "green"}), flush=True)
