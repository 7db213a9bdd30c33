#!/bin/sh
# Prints a file, whatever is in it, then acknowledges on a line of its own.
read -r job
cat "$1"
printf '\n{"@":"ack"}\n'
