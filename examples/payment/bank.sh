#!/bin/sh
# What a bank does: bank.sh ORDER ANSWER posts its answer to the address that it was given with the order.
exec curl -sS --data-binary "$2" "$(cat "${ASKED:-asked}/$1")"
