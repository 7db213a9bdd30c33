# Keeps all rules but those of saying hello.
while read -r line; do
  run=${line#*\"run\":\"}
  echo "{\"@\":\"ack\",\"run\":\"${run%%\"*}\"}"
done
