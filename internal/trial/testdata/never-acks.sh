# Answers each job by a retry.
while read -r line; do
  run=${line#*\"run\":\"}
  echo "{\"@\":\"retry\",\"run\":\"${run%%\"*}\"}"
done
