#!/bin/sh
# Prints what no protocol expects, and then its verdict.
note() {
	read -r up _ </proc/uptime
	echo "$OARLOCK_JID $OARLOCK_ATTEMPT $OARLOCK_RUN $1 $up $$" >>"$LEDGER"
}
note begin
echo 'this is not a status'
echo '{"message":"no verb here"}'
echo '{"@":17}'
echo '[{"@":"fail"}]'
printf '\000\001\033[31mred\033[0m\007\377\376\n'
head -c 3000000 /dev/zero | tr '\0' x
echo
head -c 100000 /dev/urandom
echo
printf '{"@":"ack","run":"half of a line\n'
echo 'the last words' >&2
note end
echo "{\"@\":\"ack\",\"run\":\"$OARLOCK_RUN\"}"
