#!/bin/sh
# Runs a command while N other processes keep the machine busy: internal/check/load.sh 4 make test
n=$1
shift
loops=
while [ "$n" -gt 0 ]; do
	(while :; do :; done) &
	loops="$loops $!"
	n=$((n - 1))
done
trap 'kill $loops' EXIT INT TERM
"$@"
