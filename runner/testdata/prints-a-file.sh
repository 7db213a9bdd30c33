#!/bin/sh
# Prints a file, whatever is in it, then acknowledges on a line of its own.
read -r job
cat "$1"
printf '\n{"@":"ack","run":"%s"}\n' "$OARLOCK_RUN"
