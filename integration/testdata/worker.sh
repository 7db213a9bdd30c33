#!/bin/sh
# What worker.py does, without beats and odd ends: a fresh process for each job.
note() {
	read -r up _ </proc/uptime
	echo "$OARLOCK_JID $OARLOCK_ATTEMPT $OARLOCK_RUN $1 $up $$" >>"$LEDGER"
}
read -r line
note begin
ms=${line##*\"ms\":}
ms=${ms%%[!0-9]*}
sleep "$((${ms:-0} / 1000)).$(printf %03d $((${ms:-0} % 1000)))"
note end
echo "{\"@\":\"ack\",\"run\":\"$OARLOCK_RUN\"}"
