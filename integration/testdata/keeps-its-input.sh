#!/bin/sh
# Keeps its stdin as it came, in a file named after the job beside the ledger.
note() {
	read -r up _ </proc/uptime
	echo "$OARLOCK_JID $OARLOCK_ATTEMPT $OARLOCK_RUN $1 $up $$" >>"$LEDGER"
}
note begin
cat >"$(dirname "$LEDGER")/$OARLOCK_JID"
note end
