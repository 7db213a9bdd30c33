#!/bin/sh
# Says hello, begins with its job, and leaves without a verdict.
echo "{\"@\":\"hello\",\"run\":\"$OARLOCK_RUN\",\"v\":[1],\"lib\":\"fixture\"}"
[ "$OARLOCK_MODE" = once ] || read -r answer
read -r job
sleep 0.1
exit 0
