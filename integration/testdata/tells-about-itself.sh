#!/bin/sh
# Keeps what the kernel tells about it in files beside the ledger, under its run's id.
about=$(dirname "$LEDGER")/$OARLOCK_RUN
tr '\0' '\n' </proc/$$/cmdline >"$about.argv"
tr '\0' '\n' </proc/$$/environ >"$about.env"
cat /proc/$$/status >"$about.status"
note() {
	read -r up _ </proc/uptime
	echo "job $OARLOCK_ATTEMPT $OARLOCK_RUN $1 $up $$" >>"$LEDGER"
}
note begin
cat >"$about.stdin"
note end
