# Works, but does not notice the end of its input.
while read -r line; do
  run=${line#*\"run\":\"}
  echo "{\"@\":\"ack\",\"run\":\"${run%%\"*}\"}"
done
sleep 1000
