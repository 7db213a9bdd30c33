# Works each job by doing nothing; it has no more need of the line than this.
while read -r line; do
  run=${line#*\"run\":\"}
  echo "{\"@\":\"ack\",\"run\":\"${run%%\"*}\"}"
done
