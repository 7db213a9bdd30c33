#!/bin/sh
# Leaves with a whole verdict that lacks its line feed.
read -r job
printf '{"@":"fail","run":"%s","group":"half","message":"no line feed"}' "$OARLOCK_RUN"
