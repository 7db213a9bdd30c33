#!/bin/sh
# Pushes a job: sh push.sh DATA [LIST]. Set REDIS_HOST and REDIS_PORT if it is not here.

redis-cli -h "${REDIS_HOST:-127.0.0.1}" -p "${REDIS_PORT:-6379}" LPUSH "${2:-outbox}" "$1"
