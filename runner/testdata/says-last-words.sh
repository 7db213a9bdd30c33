#!/bin/sh
# Prints so many bytes, the last without a line feed, and leaves at once.
read -r job
head -c "$1" /dev/zero | tr '\0' w
