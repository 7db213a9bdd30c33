# Holds the device of its slot for as long as it lives, or anything that it has started, and notes if
# somebody has it already. Then it becomes its arguments.
exec 9>>"$DEVICES/$DEVICE"
flock -n 9 || echo "device $DEVICE, process $$" >>"$DEVICES/meetings"
echo "$$" >>"$DEVICES/holders"
sleep 600 </dev/null >/dev/null 2>&1 &
setsid sleep 600 </dev/null >/dev/null 2>&1 &
exec "$@"
