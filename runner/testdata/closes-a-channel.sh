#!/bin/sh
# Closes the descriptor that it is called with, works on for a second, leaves.
read -r job
eval "exec $1>&-"
sleep 1
exit 0
