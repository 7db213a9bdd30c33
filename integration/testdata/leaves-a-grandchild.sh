#!/bin/sh
# Leaves at once, but for a grandchild that keeps stdout and stderr open.
note() {
	read -r up _ </proc/uptime
	echo "$OARLOCK_JID $OARLOCK_ATTEMPT $OARLOCK_RUN $1 $up $$" >>"$LEDGER"
}
note begin
sleep 60 &
note end
