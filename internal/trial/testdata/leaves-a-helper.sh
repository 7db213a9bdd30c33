# Each job leaves a process behind.
while read -r line; do
  sleep 1000 >/dev/null 2>&1 </dev/null &
  run=${line#*\"run\":\"}
  echo "{\"@\":\"ack\",\"run\":\"${run%%\"*}\"}"
done
