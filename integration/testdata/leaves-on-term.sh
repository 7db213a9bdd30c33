#!/bin/sh
# Works for ever, and leaves with the exit code that its job names when it is told to end.
number() { # the number under the key $1 in the job's line
	number=${line##*\""$1"\":}
	number=${number# }
	number=${number%%[!0-9]*}
}
read -r line
number end && trap 'exit $number' TERM
read -r up _ </proc/uptime
echo "$OARLOCK_JID $OARLOCK_ATTEMPT $OARLOCK_RUN begin $up $$" >>"$LEDGER"
sleep 600 &
wait
