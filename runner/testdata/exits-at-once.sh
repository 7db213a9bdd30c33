#!/bin/sh
# Fails at boot.
echo "no such module" >&2
exit 1
