# A plain script: one job, one process, and a word about it.
read -r line
echo "{\"@\":\"ack\",\"run\":\"$OARLOCK_RUN\"}"
