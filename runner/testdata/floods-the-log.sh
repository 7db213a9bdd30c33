#!/bin/sh
# Prints so many short lines, then acknowledges.
read -r job
yes "another line" | head -n "$1"
echo "{\"@\":\"ack\",\"run\":\"$OARLOCK_RUN\"}"
