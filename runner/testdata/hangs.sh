#!/bin/sh
# Begins with its job and never ends.
read -r job
exec sleep 1000
