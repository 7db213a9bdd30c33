#!/bin/sh
# Leaves a process of another session behind that keeps stdout and stderr open.
# It is gone from our process group before we leave.
read -r job
setsid sh -c 'echo started; exec sleep 60' &
sleep 0.05
exit 0
