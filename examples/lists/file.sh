#!/bin/sh
# Adds what it is given, a line of JSON, to a file. One process per job; its exit code is the
# verdict: 0 is done, 75 asks for another try, others fail.

IFS= read -r data || exit 65
printf '%s\n' "$data" >>"${FILED:-filed.txt}"
