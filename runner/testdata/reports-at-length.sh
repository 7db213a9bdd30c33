#!/bin/sh
# Leaves a crash report of a mebibyte, not all of it text, on stderr.
read -r job
{
	head -c 1000000 /dev/urandom
	echo "segment of memory"
	printf 'the \303 cause: no such table'
} >&2
exit 1
