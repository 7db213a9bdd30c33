#!/bin/sh
# Offers only a version of the protocol that does not exist yet.
echo '{"@":"hello","v":[7,8],"lib":"future/1.0"}'
while read -r job; do echo '{"@":"ack"}'; done
