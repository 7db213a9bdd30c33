#!/bin/sh
# Fails before it could take a job.
read -r up _ </proc/uptime
echo "boot-$$ 0 boot-$$ boot $up $$" >>"$LEDGER"
exit 1
