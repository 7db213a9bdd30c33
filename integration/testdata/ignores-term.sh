#!/bin/sh
# Hangs, and will not be asked to leave.
trap '' TERM
read -r up _ </proc/uptime
echo "$OARLOCK_JID $OARLOCK_ATTEMPT $OARLOCK_RUN begin $up $$" >>"$LEDGER"
while :; do sleep 1; done
