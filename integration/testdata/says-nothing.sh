#!/bin/sh
# Does its work and leaves with 0, without a word.
note() {
	read -r up _ </proc/uptime
	echo "$OARLOCK_JID $OARLOCK_ATTEMPT $OARLOCK_RUN $1 $up $$" >>"$LEDGER"
}
note begin
note end
