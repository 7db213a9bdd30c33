# Kills itself where data is no object.
while read -r line; do
  case $line in *'"data":[]'*) kill -SEGV $$ ;; esac
  run=${line#*\"run\":\"}
  echo "{\"@\":\"ack\",\"run\":\"${run%%\"*}\"}"
done
