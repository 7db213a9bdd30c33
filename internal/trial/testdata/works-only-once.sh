# Takes a second job, and has nothing to say about it.
read -r line
run=${line#*\"run\":\"}
echo "{\"@\":\"ack\",\"run\":\"${run%%\"*}\"}"
while read -r line; do :; done
