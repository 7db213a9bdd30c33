#!/bin/sh
# What worker.py does, without beats and odd ends: a fresh process for each job.
note() {
	read -r up _ </proc/uptime
	echo "$OARLOCK_JID $OARLOCK_ATTEMPT $OARLOCK_RUN $1 $up $$ $paid" >>"$LEDGER"
}
number() { # the number under the key $1 in the job's line
	number=${line##*\""$1"\":}
	number=${number# }
	number=${number%%[!0-9]*}
}
read -r line
number retries && paid=$number
number remaining && paid=$((paid - number))
note begin
number ms && ms=${number:-0}
sleep "$((ms / 1000)).$(printf %03d $((ms % 1000)))"
note end
echo "{\"@\":\"ack\",\"run\":\"$OARLOCK_RUN\"}"
