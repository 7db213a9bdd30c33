#!/bin/sh
# Puts a job over HTTP, and follows it to its end: sh put-http.sh POOL QUEUE KLASS DATA. Needs curl, and nothing of Redis.
#
#   OARLOCK_SOCKET=/var/lib/oarlock/control-123.sock   the control socket of a supervisor; or
#   OARLOCK_URL=http://127.0.0.1:7733                  [web] listen or url, with
#   OARLOCK_TOKEN=…                                    what `oarlock web token NAME --may write` printed

set -eu
pool=$1 queue=$2 klass=$3 data=$4
jid=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n') # of our own making, so that any call may be sent again

api() { # METHOD PATH [more of curl]
	method=$1 path=$2
	shift 2
	if [ -n "${OARLOCK_SOCKET:-}" ]; then
		set -- --unix-socket "$OARLOCK_SOCKET" "$@"
	fi
	curl -sS --fail-with-body -X "$method" -H "Authorization: Bearer ${OARLOCK_TOKEN:-}" "$@" "${OARLOCK_URL:-http://localhost}/api/v1$path"
}
state() { sed -n 's/.*"state":"\([a-z]*\)".*/\1/p'; }

# Put it. After a lost answer send the same again: it is put once. Without a jid, -H "Idempotency-Key: …" does as much.
api PUT "/jobs/$jid" --retry 3 --data-binary "{\"queue\":\"$queue\",\"klass\":\"$klass\",\"data\":$data}"

# See it run.
echo "it is $(api GET "/jobs/$jid?wait=60&until=running,complete,failed" | state)"

# Wait for its end. If that is a bad one, try it once more.
end=$(api GET "/jobs/$jid?wait=60" | state)
echo "it is $end"
if [ "$end" = failed ]; then
	api POST "/jobs/$jid/retry" >/dev/null
	end=$(api GET "/jobs/$jid?wait=60" | state)
	echo "retried, it is $end"
fi

# Read what it printed here, whichever child had it.
slot=0
while log=$(api GET "/pools/$pool/slots/$slot/log?jid=$jid" 2>/dev/null); do
	printf '%s\n' "$log" | sed 's/},{"n":/}\n{"n":/g' | sed -n 's/.*"text":"\(.*\)"}.*/| \1/p' # as in JSON
	slot=$((slot + 1))
done
[ "$end" = complete ]
