#!/bin/sh
# Writes so many bytes of its verdict and is killed.
read -r job
printf '%.'"$1"'s' '{"@":"ack","data":{"to":"someone","n":12345}}'
kill -KILL $$
