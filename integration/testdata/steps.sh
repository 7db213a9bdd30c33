# A plain script that does what steps.py does, with the pool's drain_signal = "USR1": it ends after the step at
# hand, and 99 gives the job back.
trap 'told=1' "$OARLOCK_DRAIN_SIGNAL"
read -r job
field() { printf '%s' "$job" | sed -n "s/.*\"$1\":\([0-9]*\).*/\1/p"; }
note() { printf '%s %s %s %s %s %s 0\n' "$OARLOCK_JID" "$OARLOCK_ATTEMPT" "$OARLOCK_RUN" "$1" "$(cut -d' ' -f1 /proc/uptime)" $$ >> "$LEDGER"; }
step=$(field checkpoint) steps=$(field steps) pause=$(field ms)
note begin
step=${step:-0}
while [ "$step" -lt "$steps" ]; do
    sleep "$(printf '0.%03d' "$pause")"
    note step
    step=$((step + 1))
    echo "{\"@\":\"checkpoint\",\"run\":\"$OARLOCK_RUN\",\"data\":$step}"
    [ -z "$told" ] || exit 99
done
note end
