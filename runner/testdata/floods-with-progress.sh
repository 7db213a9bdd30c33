#!/bin/sh
# Tells its progress so many times, then acknowledges.
read -r job
yes "{\"@\":\"progress\",\"run\":\"$OARLOCK_RUN\",\"pct\":50}" | head -n "$1"
echo "{\"@\":\"progress\",\"run\":\"$OARLOCK_RUN\",\"pct\":100}"
echo "{\"@\":\"ack\",\"run\":\"$OARLOCK_RUN\"}"
