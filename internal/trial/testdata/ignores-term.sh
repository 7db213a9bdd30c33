# Cannot be stopped while it works, and has a lot to do.
trap '' TERM
while read -r line; do sleep 1000 & wait $!; sleep 1000; done
