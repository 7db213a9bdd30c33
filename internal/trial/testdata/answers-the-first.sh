# Says that it reads messages of several jobs, and answers the first of each.
echo '{"@":"hello","v":[1],"caps":["batch"]}'
while read -r line; do
  case $line in
  '{"@":"batch"'*) line=${line#*\"jobs\":} ;;
  *'"run"'*) ;;
  *) continue ;;
  esac
  run=${line#*\"run\":\"}
  echo "{\"@\":\"ack\",\"run\":\"${run%%\"*}\"}"
done
