#!/bin/sh
# Writes its argument, the beginning of a verdict, and is killed.
read -r job
printf '%s' "$1"
kill -KILL $$
