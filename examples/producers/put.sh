#!/bin/sh
# Puts a job: sh put.sh QUEUE KLASS DATA. Needs redis-cli.
#
# The protocol is one script in Redis; oarlock.lua beside this file is it (see
# README.md). A call is EVALSHA with the script's SHA, a 0 for "no keys", the command,
# the time, and the command's own arguments.

set -eu
queue=$1 klass=$2 data=$3

redis() {
	redis-cli -e -h "${REDIS_HOST:-127.0.0.1}" -p "${REDIS_PORT:-6379}" "$@"
}

# Loading it again changes nothing, and saves us from asking whether it is there.
sha=$(redis -x SCRIPT LOAD <"${OARLOCK_LUA:-oarlock.lua}")
jid=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
redis EVALSHA "$sha" 0 put "$(date +%s)" producer "$queue" "$jid" "$klass" "$data" 0
redis PUBLISH ql:oarlock:wake "$queue" >/dev/null # optional: an idle pool looks at once
