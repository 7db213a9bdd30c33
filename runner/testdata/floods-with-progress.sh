#!/bin/sh
# Tells its progress so many times, then acknowledges.
read -r job
yes '{"@":"progress","pct":50}' | head -n "$1"
echo '{"@":"progress","pct":100}'
echo '{"@":"ack"}'
